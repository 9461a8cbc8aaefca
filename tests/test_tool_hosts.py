# SPDX-License-Identifier: MIT
"""Host plugins around tool calls and served controls: deny, rewrite, cache, audit, guard and meter."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator, Mapping
from typing import Any

import pytest
from nodes import alone, wire
from tool_kit import LONE, Log, answering, calling, error_of, opened

from rocketride_core import (
    LLM,
    MEMORY,
    TEXT,
    Arguments,
    Control,
    EntryStopped,
    Instance,
    Json,
    Node,
    PluginError,
    Question,
    Tool,
    ToolDenied,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    hookimpl,
)

Steps = Generator[None, Any, Any]
TWO = (*LONE, "plain: plain", "agent -tool-> plain")


def hosted(*plugins: object, **more: Any) -> dict[str, Any]:
    return {"kernel": {"plugins": plugins, **more}}


def using(plugin: object, text: Any, *more: object, lines: Any = TWO, kernel: Mapping[str, Any] = {}, **scripts: Any) -> Any:
    said: list[Any] = []
    with opened(*lines, **hosted(plugin, *more, **kernel)) as p:
        answering(p, agent={"text": lambda i, t: said.append(text(i))}, **scripts).checked()
    return said[0]


class Audit:
    """What a host would write down."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []

    @hookimpl(wrapper=True)
    def invoke_tool(self, node: Node[Any], instance: Instance, name: str, arguments: Arguments) -> Steps:
        try:
            result = yield
        except ToolError as error:
            self.log.append((node.id, instance.entry.name, name, dict(arguments), error))
            raise
        self.log.append((node.id, instance.entry.name, name, dict(arguments), result))
        return result


# ---- invoke_tool


def test_an_audit_sees_node_instance_name_arguments_and_result() -> None:
    audit = Audit()

    def fail(instance: Instance, n: int) -> Json:
        raise KeyError("row")

    def text(instance: Instance) -> None:
        instance.tools.call("plain.add", {"a": "1"})
        calling(ToolFailure, instance, "box.do", {"n": 3})

    using(audit, text, box={"do": fail})
    assert audit.log[0] == ("plain", "e", "plain.add", {"a": "1"}, 2)
    assert audit.log[1][:4] == ("box", "e", "box.do", {"n": 3})
    error = audit.log[1][4]
    assert isinstance(error, ToolFailure)
    assert isinstance(error.__cause__, KeyError)


def test_what_an_audit_sees_is_plain_json() -> None:
    seen: list[str] = []

    class Writer:
        @hookimpl(wrapper=True)
        def invoke_tool(self, arguments: Arguments) -> Steps:
            seen.append(json.dumps(arguments))
            result = yield
            seen.append(json.dumps(result))
            return result

    using(Writer(), lambda i: i.tools.call("box.do", {"n": 1}), box={"do": lambda i, n: {"a": (1, 2)}})
    assert seen == ['{"n": 1}', '{"a": [1, 2]}']


def test_input_that_does_not_fit_never_reaches_a_host() -> None:
    audit = Audit()
    using(audit, lambda i: calling(ToolInput, i, "box.do", {"n": "x"}))
    assert audit.log == []


def test_a_host_denies_with_a_reason_and_the_tool_does_not_run() -> None:
    class Guard:
        @hookimpl(wrapper=True)
        def invoke_tool(self, name: str) -> Steps:
            if name == "box.do":
                raise ToolDenied("no writing on Sundays")
            return (yield)

    journal: list[str] = []

    def text(instance: Instance) -> Any:
        return calling(ToolDenied, instance, "box.do"), instance.tools.call("box.other", {"n": 2})

    error, other = using(Guard(), text, journal=journal)
    assert (str(error), error.tool, other) == ("no writing on Sundays", "box.do", 2)
    assert "do box 0" not in journal


def test_a_denial_that_nobody_handles_fails_the_agent() -> None:
    class Guard:
        @hookimpl(wrapper=True)
        def invoke_tool(self) -> Steps:
            raise ToolDenied("closed")
            yield

    with opened(*LONE, **hosted(Guard())) as p:
        error = error_of(answering(p, agent={"text": lambda i, _: i.tools.call("box.do", {})}))
    assert isinstance(error.__cause__, ToolDenied)
    assert error.component == "agent"


def test_a_host_rewrites_arguments_and_the_callers_own_stay() -> None:
    class Rewrite:
        @hookimpl(wrapper=True)
        def invoke_tool(self, arguments: dict[str, Json]) -> Steps:
            arguments["n"] = 40
            return (yield)

    mine: dict[str, Json] = {"n": 1}
    assert using(Rewrite(), lambda i: i.tools.call("box.do", mine)) == 40
    assert mine == {"n": 1}


def test_rewritten_arguments_are_checked_and_converted_again() -> None:
    class Rewrite:
        def __init__(self, value: Json) -> None:
            self.value = value

        @hookimpl(wrapper=True)
        def invoke_tool(self, arguments: dict[str, Json]) -> Steps:
            arguments["n"] = self.value
            return (yield)

    assert using(Rewrite("7"), lambda i: i.tools.call("box.do", {"n": 1})) == 7
    error = using(Rewrite("seven"), lambda i: calling(ToolInput, i, "box.do", {"n": 1}))
    assert (error.path, error.tool) == ("$.n", "box.do")


def test_a_host_rewrites_a_result_which_must_be_json() -> None:
    class Rewrite:
        def __init__(self, result: Any) -> None:
            self.result = result

        @hookimpl(wrapper=True)
        def invoke_tool(self) -> Steps:
            yield
            return self.result

    assert using(Rewrite({"x": (1,)}), lambda i: i.tools.call("box.do", {})) == {"x": [1]}
    assert using(Rewrite(None), lambda i: i.tools.call("box.do", {"n": 3})) is None
    assert "object has no JSON form" in str(using(Rewrite(object()), lambda i: calling(ToolFailure, i, "box.do")))


def test_a_host_turns_a_failure_into_a_result() -> None:
    class Retry:
        @hookimpl(wrapper=True)
        def invoke_tool(self) -> Steps:
            try:
                return (yield)
            except Exception as error:
                return f"handled {type(error).__name__}"

    def fail(instance: Instance, n: int) -> Json:
        raise KeyError("row")

    assert using(Retry(), lambda i: i.tools.call("box.do", {}), box={"do": fail}).startswith("handled ")


class Cache:
    """Answers in the tool's place; no wrapper."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    @hookimpl
    def invoke_tool(self, name: str, arguments: Arguments) -> Any:
        return self.known.get(f"{name} {json.dumps(arguments)}")


def test_a_cache_answers_in_the_tools_place() -> None:
    cache, journal = Cache(), list[str]()
    cache.known['box.do {"n": 1}'] = "cached"
    assert using(cache, lambda i: [i.tools.call("box.do", {"n": n}) for n in (1, 2)], journal=journal) == ["cached", 2]
    assert [line for line in journal if line.startswith("do ")] == ["do box 2"]


def test_a_wrapper_around_the_cache_sees_its_answers() -> None:
    cache, audit = Cache(), Audit()
    cache.known['box.do {"n": 1}'] = "cached"
    using(audit, lambda i: i.tools.call("box.do", {"n": 1}), cache)
    assert [line[-1] for line in audit.log] == ["cached"]


def test_wrappers_run_by_pluggys_rules_later_ones_outside_tryfirst_outermost() -> None:
    log: list[str] = []

    def named(name: str, tryfirst: bool = False) -> object:
        class Around:
            @hookimpl(wrapper=True, tryfirst=tryfirst)
            def invoke_tool(self) -> Steps:
                log.append(f"> {name}")
                try:
                    return (yield)
                finally:
                    log.append(f"< {name}")

        return Around()

    using(named("first, tryfirst", tryfirst=True), lambda i: i.tools.call("box.do", {}), named("second"), named("third"))
    assert log == ["> first, tryfirst", "> third", "> second", "< second", "< third", "< first, tryfirst"]


def test_hosts_stand_around_dynamic_tools_too() -> None:
    audit = Audit()
    lines = ["agent: agent < text start", "more: listed", "agent -tool-> more"]
    tool = Tool("look", "Looks.", {"type": "object"}, lambda instance, arguments: dict(arguments))
    found = using(audit, lambda i: i.tools.call("more.look", {"a": 1}), lines=lines, more={"list": lambda i: [tool]})
    assert found == {"a": 1}
    assert audit.log == [("more", "e", "more.look", {"a": 1}, {"a": 1})]


def test_a_host_lists_tools_of_its_own_on_a_node() -> None:
    tool = Tool("ping", "Answers.", {"type": "object"}, lambda instance, arguments: "pong")

    class Adder:
        @hookimpl
        def list_tools(self, node: Node[Any]) -> list[Tool] | None:
            return [tool] if node.id == "plain" else None

    def text(instance: Instance) -> Any:
        return [t.name for t in instance.tools], instance.tools.call("plain.ping", {})

    names, said = using(Adder(), text)
    assert names == ["box.do", "box.other", "box.both", "box.soon", "plain.add", "plain.ping"]
    assert said == "pong"


def test_a_hosts_own_error_is_a_failure_of_the_call() -> None:
    class Broken:
        @hookimpl(wrapper=True)
        def invoke_tool(self) -> Steps:
            raise OSError("audit disk full")
            yield

    error = using(Broken(), lambda i: calling(ToolFailure, i, "box.do"))
    assert (error.tool, error.component, str(error)) == ("box.do", "box", "box.do: audit disk full")


def test_hosts_are_called_for_every_level_with_the_entry_of_that_level() -> None:
    audit = Audit()
    lines = ["agent: agent < text start", "sub: sub", "inner: agent < text sub", "box: box", "r: respond < text inner",
             "agent -tool-> sub", "inner -tool-> box"]  # fmt: skip
    using(
        audit,
        lambda i: i.tools.call("sub.run", {"text": "t"}),
        lines=lines,
        inner={"text": lambda i, t: i.emit(TEXT, str(i.tools.call("box.do", {"n": 4})))},
    )
    assert [line[1:3] for line in audit.log] == [("sub#1", "box.do"), ("e", "sub.run")]


def test_calls_of_a_turn_are_wrapped_on_their_own_threads() -> None:
    audit, together = Audit(), threading.Barrier(3)

    def meet(instance: Instance, n: int) -> int:
        together.wait(20)
        return n

    found = using(
        audit,
        lambda i: list(i.tools.call_all([("box.both", {"n": n}) for n in range(3)])),
        kernel={"workers": 3},
        box={"both": meet},
    )
    assert found == [0, 1, 2]
    assert sorted(line[-1] for line in audit.log) == [0, 1, 2]


def test_denials_in_a_turn_are_values() -> None:
    class Guard:
        @hookimpl(wrapper=True)
        def invoke_tool(self, arguments: Arguments) -> Steps:
            if arguments["n"] == 1:
                raise ToolDenied("not one")
            return (yield)

    found = using(Guard(), lambda i: list(i.tools.call_all([("box.both", {"n": n}) for n in range(3)])))
    assert [str(f) for f in found] == ["0", "not one", "2"]
    assert isinstance(found[1], ToolDenied)


def test_a_wrapper_of_a_call_with_a_limit() -> None:
    """It runs with the call, inside its limit; when the call is given up it is unwound with it, and its result is lost."""
    log = Log()
    unwound = threading.Event()

    class Around:
        @hookimpl(wrapper=True)
        def invoke_tool(self, name: str) -> Steps:
            log.say(f"before {name}")
            try:
                result = yield
            except BaseException as error:
                log.say(f"{name} {type(error).__name__}")
                unwound.set()
                raise
            log.say(f"after {name}")
            return result

    flag = threading.Event()
    try:

        def text(instance: Instance) -> Any:
            calling(ToolTimeout, instance, "box.do", timeout=0.1)
            flag.set()
            assert unwound.wait(10)
            return instance.tools.call("box.other", {"n": 2}, timeout=20)

        assert using(Around(), text, box={"do": lambda i, n: flag.wait(20)}) == 2
    finally:
        flag.set()
    assert log == ["before box.do", f"box.do {EntryStopped.__name__}", "before box.other", "after box.other"]


def test_a_wrapper_that_hangs_is_under_the_limit_too() -> None:
    class Slow:
        @hookimpl(wrapper=True)
        def invoke_tool(self, name: str) -> Steps:
            if name == "box.do":
                time.sleep(0.4)
            return (yield)

    journal: list[str] = []

    def text(instance: Instance) -> Any:
        error = calling(ToolTimeout, instance, "box.do", timeout=0.1)
        time.sleep(0.5)
        return error.component

    assert using(Slow(), text, journal=journal) == "box"
    assert "do box 0" not in journal


def test_a_call_that_waits_in_a_wrapper_keeps_its_component_busy() -> None:
    """The serialisation is around the wrappers: an audit sees calls in the order in which they ran."""
    log = Log()

    class Around:
        @hookimpl(wrapper=True)
        def invoke_tool(self, arguments: Arguments) -> Steps:
            log.say(f"> {arguments['n']}")
            time.sleep(0.005)
            result = yield
            log.say(f"< {arguments['n']}")
            return result

    using(Around(), lambda i: i.tools.call_all([("box.do", {"n": n}) for n in range(5)]))
    assert log == [f"{way} {n}" for n in range(5) for way in "><"]


def test_a_kernel_without_host_plugins_calls_directly() -> None:
    audit = Audit()
    with opened(*TWO) as bare, opened(*TWO, **hosted(audit)) as wrapped:
        assert all(relay.wrapped("invoke_tool") is None for relay in bare.bound.relays)
        assert all(relay.wrapped("invoke_tool") is not None for relay in wrapped.bound.relays)
        answering(bare, agent={"text": lambda i, t: i.tools.call("box.do", {}) and None}).checked()
    assert audit.log == []


def test_a_plugin_with_a_wrong_signature_is_refused_when_the_kernel_is_made() -> None:
    class Wrong:
        @hookimpl(wrapper=True)
        def invoke_tool(self, tool: str) -> Steps:
            return (yield)

    with pytest.raises(PluginError, match="tool"):
        alone(plugins=[Wrong()]).check(wire("a: do < text start"))


# ---- wrap_control

CHAT = ("agent: agent < text start", "llm: model", "r: respond < text agent", "agent -llm-> llm")


class Metered:
    """A model that counts what it is asked."""

    def __init__(self, inner: Any, log: list[str]) -> None:
        self.inner, self.log = inner, log

    def ask(self, question: Question, /, **more: Any) -> Any:
        self.log.append(question.texts[0])
        if "secret" in question.texts[0]:
            raise PermissionError("that question is not for a model")
        return self.inner.ask(question, **more)


class Meter:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.seen: list[tuple[str, bool, str]] = []

    @hookimpl(wrapper=True)
    def wrap_control(self, node: Node[Any], instance: Any, control: Control[Any], service: object) -> Steps:
        given = yield
        assert given is service
        self.seen.append((node.id, instance._control, control.name))
        return Metered(given, self.log) if control == LLM else given


def asking(instance: Instance, text: str) -> str:
    return instance.one(LLM).ask(Question.of(text)).text


def test_a_host_meters_a_model() -> None:
    meter = Meter()
    with opened(*CHAT, **hosted(meter)) as p:
        found = answering(p, TEXT("a"), TEXT("b"), agent={"text": asking}).checked()
    assert found[TEXT] == ["llm to agent: a", "llm to agent: a+b"]
    assert meter.log == ["a", "b"]
    assert meter.seen == [("llm", True, "llm")] * 2


def test_a_host_guards_a_model() -> None:
    with opened(*CHAT, **hosted(Meter())) as p:
        error = error_of(answering(p, TEXT("the secret"), agent={"text": asking}))
    assert isinstance(error.__cause__, PermissionError)


def test_every_way_of_asking_is_wrapped_and_every_control_is_seen() -> None:
    meter = Meter()
    lines = [*CHAT, "mem: store", "best: ranker", "agent -memory-> mem", "agent -acme.rerank-> best"]

    def text(instance: Instance, text: str) -> None:
        from tool_kit import RERANK

        assert isinstance(instance.maybe(LLM), Metered)
        assert isinstance(instance.all(LLM)[0].service, Metered)
        instance.one(MEMORY)
        instance.all(RERANK)

    with opened(*lines, **hosted(meter)) as p:
        answering(p, agent={"text": text}).checked()
    assert [name for _, _, name in meter.seen] == ["llm", "llm", "memory", "acme.rerank"]


def test_wrappers_of_two_hosts_stand_inside_each_other() -> None:
    one, two = Meter(), Meter()

    class Outer(Meter):
        @hookimpl(wrapper=True, tryfirst=True)
        def wrap_control(self, service: object) -> Steps:  # type: ignore[override]
            given = yield
            assert isinstance(given, Metered)
            return Metered(given, self.log)

    outer = Outer()
    with opened(*CHAT, **hosted(outer, one)) as p:
        answering(p, agent={"text": asking}).checked()
    assert outer.log == one.log == ["go"]
    assert two.log == []


def test_a_host_that_cannot_wrap_is_an_error_of_who_asks() -> None:
    class Broken:
        @hookimpl(wrapper=True)
        def wrap_control(self) -> Steps:
            raise OSError("no meter")
            yield

    with opened(*CHAT, **hosted(Broken())) as p:
        error = error_of(answering(p, agent={"text": asking}))
    assert (error.component, error.phase) == ("agent", "handler")
    assert "no meter" in str(error)
