# SPDX-License-Identifier: MIT
"""Control edges: who is called, with which state, in which order, and what is refused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from nodes import alone, note
from tool_kit import NODES, RERANK, Log, answering, error_of, opened, wired

from rocketride_core import (
    LLM,
    MANY,
    MEMORY,
    ONE,
    OPTIONAL,
    TEXT,
    TOOL,
    Caller,
    Component,
    Control,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Question,
    RunError,
    Secret,
    hookimpl,
    on,
    serves,
    setting,
    tool,
)

CHAT = ("agent: agent < text start", "llm: model", "r: respond < text agent", "agent -llm-> llm")


def ask(instance: Instance, text: str) -> str:
    return instance.one(LLM).ask(Question.of(text)).text


# ---- asking


def test_one_maybe_and_all_give_what_is_wired() -> None:
    seen: dict[str, Any] = {}

    def text(instance: Instance, text: str) -> None:
        seen["one"] = type(instance.one(LLM)).__name__
        seen["maybe"] = instance.maybe(MEMORY)
        seen["all"] = [(s.component, s.title, s.service.best(["a", "c", "b"])) for s in instance.all(RERANK)]

    lines = [*CHAT, "one: ranker", "two: ranker", "agent -acme.rerank-> two", "agent -acme.rerank-> one"]
    with opened(*lines) as p:
        answering(p, agent={"text": text}).checked()
    assert seen == {"one": "Chat", "maybe": None, "all": [("one", "Ranker", "c"), ("two", "Ranker", "c")]}


def test_a_third_partys_control_has_a_dot_in_its_name_and_needs_nothing_else() -> None:
    assert Control("acme.rerank") == RERANK
    lines = ["agent: agent < text start", "best: ranker", "r: respond < text agent", "agent -acme.rerank-> best"]
    with opened(*lines) as p:
        found = answering(p, agent={"text": lambda i, _: i.one(RERANK).best(["x", "y"])})
    assert found.checked()[TEXT] == ["y"]


def test_one_without_anything_wired_says_so() -> None:
    with opened("agent: agent < text start") as p:
        error = error_of(answering(p, agent={"text": lambda i, _: i.one(LLM)}))
    assert (error.code, error.component) == ("missing-control", "agent")
    assert str(error) == "agent asked for one 'llm', but none is wired to it"


def test_a_control_that_the_spec_does_not_declare_is_refused() -> None:
    with opened("a: do < text start") as p:
        error = error_of(answering(p, a={"text": lambda i, _: i.one(LLM)}))
    assert (error.code, error.component, error.phase) == ("undeclared-need", "a", "handler")
    assert str(error) == "a asked for one 'llm', but its spec has no needs={LLM: ONE}"


def test_tools_without_a_need_for_them_are_refused_too() -> None:
    with opened("a: do < text start") as p:
        error = error_of(answering(p, a={"text": lambda i, _: list(i.tools)}))
    assert error.code == "undeclared-need"


def test_tools_are_not_asked_for_like_a_service() -> None:
    with opened(*CHAT) as p:
        error = error_of(answering(p, agent={"text": lambda i, _: i.all(TOOL)}))
    assert "tools are used through instance.tools" in str(error)


def test_what_a_service_raises_is_not_wrapped_on_its_way_to_the_caller() -> None:
    caught: list[Exception] = []

    def fail(instance: Instance, caller: Caller) -> None:
        raise KeyError("mine")

    def text(instance: Instance, text: str) -> None:
        try:
            ask(instance, text)
        except KeyError as error:
            caught.append(error)
            raise

    with opened(*CHAT) as p:
        error = error_of(answering(p, agent={"text": text}, llm={"ask": fail}))
    assert error.__cause__ is caught[0]
    assert error.component == "agent"


def test_controls_are_gone_with_the_entry() -> None:
    kept: list[Instance] = []
    with opened(*CHAT) as p:
        answering(p, agent={"text": lambda i, _: kept.append(i)}).checked()
        with pytest.raises(RunError) as caught:
            kept[0].one(LLM)
    assert caught.value.code == "emit-after-close"


# ---- state and identity


def test_a_model_on_a_lane_and_called_has_two_states() -> None:
    lines = [
        "agent: agent < text start",
        "llm: model < text start",
        "r: respond < text agent, text llm",
        "agent -llm-> llm",
    ]
    with opened(*lines) as p:
        found = answering(p, TEXT("a"), TEXT("b"), agent={"text": ask}).checked()
    assert sorted(found[TEXT]) == ["llm on its lane: a", "llm on its lane: a+b", "llm to agent: a", "llm to agent: a+b"]


def test_two_agents_of_one_entry_share_the_called_instance_and_two_entries_do_not() -> None:
    lines = ["a: agent < text start", "b: agent < text a", "llm: model", "r: respond < text b", "a -llm-> llm", "b -llm-> llm"]
    scripts: dict[str, Any] = {"a": {"text": ask}, "b": {"text": ask}}
    with opened(*lines) as p:
        first = answering(p, TEXT("x"), **scripts).checked()[TEXT]
        again = answering(p, TEXT("y"), **scripts).checked()[TEXT]
    assert first == ["llm to b: x+llm to a: x"]
    assert again == ["llm to b: y+llm to a: y"]


def test_the_caller_is_told_who_asks_in_which_run_and_how_deep() -> None:
    callers: list[tuple[str, Caller]] = []
    lines = [
        "agent: agent < text start", "box: box", "sub: sub", "inner: agent < text sub", "llm: model",
        "r: respond < text agent", "r2: respond < text inner",
        "agent -tool-> box", "agent -tool-> sub", "agent -llm-> llm", "box -llm-> llm", "inner -llm-> llm",
    ]  # fmt: skip

    def text(instance: Instance, text: str) -> None:
        ask(instance, "q")
        instance.tools.call("box.do", {})
        instance.tools.call("box.do", {})
        instance.tools.call("sub.run", {"text": "t"})
        ask(instance, "q")

    with opened(*lines) as p:
        answering(
            p,
            name="ticket",
            agent={"text": text},
            box={"do": lambda i, n: ask(i, "q")},
            inner={"text": ask},
            llm={"ask": lambda i, caller: callers.append((i.entry.name, caller))},
        ).checked()
    components = [(caller.component, caller.depth) for _, caller in callers]
    assert components == [("agent", 0), ("box", 0), ("box", 0), ("inner", 1), ("agent", 0)]
    runs = [caller.run for _, caller in callers]
    assert runs[0] == runs[4] == "entry ticket"
    assert runs[1].startswith("call ")
    assert runs[1] != runs[2]
    assert runs[3] == "entry sub#1"


def test_a_memory_is_one_for_a_run_and_empty_for_each_object() -> None:
    """Seed, memory: empty for each object, and a sub-agent that shares its caller's entry sees nothing of its caller's."""
    lines = [
        "agent: agent < text start", "helper: box", "sub: sub", "inner: agent < text sub", "mem: store",
        "r: respond < text agent", "r2: respond < text inner",
        "agent -tool-> helper", "agent -tool-> sub", "agent -memory-> mem", "helper -memory-> mem", "inner -memory-> mem",
    ]  # fmt: skip
    seen = Log()

    def keys(instance: Instance, who: str) -> None:
        memory = instance.one(MEMORY)
        seen.say(f"{who} {','.join(memory.keys())}")
        memory.put(who, 1)

    def text(instance: Instance, text: str) -> None:
        keys(instance, "agent")
        instance.tools.call("helper.do", {})
        instance.tools.call("helper.do", {})
        instance.tools.call("sub.run", {"text": "t"})
        keys(instance, "agent")

    with opened(*lines) as p:
        for _ in range(2):
            answering(
                p,
                agent={"text": text},
                helper={"do": lambda i, n: keys(i, "helper")},
                inner={"text": lambda i, _: keys(i, "inner")},
            ).checked()
    assert seen == ["agent ", "helper ", "helper ", "inner ", "agent agent"] * 2


# ---- lifecycle


def test_called_instances_open_first_and_close_last_callees_first() -> None:
    journal: list[str] = []
    lines = [
        "agent: agent < text start", "next: do < text agent", "box: box", "deep: box", "llm: model",
        "r: respond < text next", "agent -tool-> box", "box -tool-> deep", "agent -llm-> llm",
    ]  # fmt: skip
    with opened(*lines) as p:
        answering(p, journal=journal, agent={"text": lambda i, _: "said"}).checked()
    opens = [line.removeprefix("open ") for line in journal if line.startswith("open")]
    assert opens.index("deep") < opens.index("box") < opens.index("next") < opens.index("agent")
    assert opens.index("llm (called)") < opens.index("next")
    closes = [line.removeprefix("close ") for line in journal if line.startswith("close")]
    assert closes == list(reversed(opens))
    flushes = [line.removeprefix("flush ") for line in journal if line.startswith("flush")]
    assert flushes == closes
    assert journal.index("flush deep") < journal.index("close agent")


def test_a_called_instance_that_nobody_calls_is_opened_and_closed_all_the_same() -> None:
    journal: list[str] = []
    with opened(*CHAT) as p:
        answering(p, journal=journal, agent={"text": lambda i, _: "quiet"}).checked()
    assert "open llm (called)" in journal
    assert "close llm (called)" in journal


def test_a_called_instance_may_not_emit() -> None:
    caught: list[RunError] = []

    def text(instance: Instance, caller: Caller) -> None:
        with pytest.raises(RunError) as refused:
            instance.emit(TEXT, "x")
        caught.append(refused.value)

    lines = [*CHAT[:2], "r: respond < text agent, text llm", "agent -llm-> llm"]
    with opened("agent: agent < text start", "llm: model < text start", *lines[2:]) as p:
        found = answering(p, agent={"text": ask}, llm={"ask": text}).checked()
    assert caught[0].code == "emit-from-control"
    assert str(caught[0]) == ("llm was called over a control edge and emitted on 'text'; feed its outputs with instance.nested()")
    assert len(found[TEXT]) == 2


def test_a_reported_error_of_a_called_instance_is_the_entrys_and_stops_nothing() -> None:
    with opened(*CHAT) as p:
        found = answering(p, agent={"text": ask}, llm={"ask": lambda i, _: i.report(ValueError("weak answer"))})
    error = error_of(found)
    assert (error.component, error.phase, str(error)) == ("llm", "tool", "llm: weak answer")
    assert found[TEXT] == ["llm to agent: go"]


def test_what_a_called_instance_counts_warns_and_says_is_its_own() -> None:
    def say(instance: Instance, caller: Caller) -> None:
        instance.warn("acme-slow", "took long")
        instance.event("thinking", message="hm")

    heard: list[tuple[str, str]] = []
    with opened(*CHAT) as p:
        flight = p.flight(entry_with(agent={"text": lambda i, t: ask(i, t) and None}, llm={"ask": say}))
        flight.listener = lambda event: heard.append((event.kind, event.component))
        found = p.complete(flight, (TEXT("go"),)).checked()
    assert found.usage == {"llm": {"questions": 1}}
    assert [(w.component, w.code) for w in found.warnings] == [("llm", "acme-slow")]
    assert heard == [("thinking", "llm")]


def entry_with(**scripts: Any) -> Any:
    from nodes import entry

    return entry("e", **scripts)


def test_an_open_that_fails_closes_the_called_instances_that_were_opened() -> None:
    journal: list[str] = []

    class Closed(Node[None]):
        spec = NodeSpec("closed", title="Closed")

        @serves(MEMORY)
        def memory(self, instance: Instance, caller: Caller) -> Any:
            return None

        @hookimpl
        def open_instance(self, instance: Instance) -> None:
            note(instance, f"open {self.id}")
            raise OSError("no disk")

        @hookimpl
        def close_instance(self, instance: Instance) -> None:
            note(instance, f"close {self.id}")

    with opened(*CHAT, "mem: closed", "agent -memory-> mem", nodes=[Closed]) as p:
        error = error_of(answering(p, journal=journal))
    assert (error.component, error.phase) == ("mem", "open")
    assert "close mem" not in journal
    assert sorted(journal) == sorted(
        ["open mem", *[f"{w} llm (called)" for w in ("open", "close") if "open llm (called)" in journal]]
    )


# ---- what is refused when it is loaded


def problems(*lines: str, nodes: tuple[type[Node[Any]], ...] = ()) -> list[tuple[str, str, str, str]]:
    return [(p.code, p.component, p.severity, p.message) for p in alone(*NODES, *nodes).check(wired(*lines))]


class Needy(Node[None]):
    spec = NodeSpec("needy", title="Needy", needs={LLM: ONE, MEMORY: OPTIONAL, TOOL: MANY}, responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None: ...


def test_a_missing_control_names_agent_and_slot() -> None:
    (found,) = problems("n: needy < text start", nodes=(Needy,))
    assert found[:3] == ("missing-control", "n", "error")
    assert "llm" in found[3]
    assert "n" in found[3]


def test_too_many_controls_name_agent_and_slot() -> None:
    (found,) = problems("n: needy < text start", "one: model", "two: model", "n -llm-> one", "n -llm-> two", nodes=(Needy,))
    assert found[:3] == ("too-many-controls", "n", "error")
    assert found[3] == "\"Needy\" (n) takes one 'llm', not 2"


def test_a_slot_that_the_caller_does_not_declare_is_a_warning_and_dropped() -> None:
    found = problems("a: do < text start", "r: respond < text a", "mem: store", "a -memory-> mem")
    assert [(code, severity) for code, _, severity, _ in found] == [("undeclared-slot", "warning")]
    assert "memory" in found[0][3]
    with opened("a: do < text start", "r: respond < text a", "mem: store", "a -memory-> mem") as p:
        assert answering(p).checked()[TEXT] == ["go"]


def test_a_class_that_the_callee_does_not_serve_is_a_warning() -> None:
    found = problems("n: needy < text start", "llm: model", "mem: model", "n -llm-> llm", "n -memory-> mem", nodes=(Needy,))
    assert [f[0] for f in found] == ["undeclared-slot"]


def test_a_control_cycle_is_refused_an_agent_as_its_own_tool_included() -> None:
    (own,) = problems("agent: agent < text start", "r: respond < text agent", "box: box", "agent -tool-> box", "box -tool-> box")
    assert own[0] == "control-cycle"
    (two,) = problems(
        "agent: agent < text start",
        "r: respond < text agent",
        "a: box",
        "b: box",
        "agent -tool-> a",
        "a -tool-> b",
        "b -tool-> a",
    )
    assert two[0] == "control-cycle"


def test_a_reversed_control_list_gets_one_helpful_error() -> None:
    pipe = wired("n: needy < text start", "llm: model")
    turned = [
        Component(c.id, c.provider, c.config, c.input, [ControlLink("llm", "llm")] if c.id == "n" else [])
        for c in pipe.components
    ]
    found = alone(*NODES, Needy).check(PipeFile(turned, source="start"))
    assert [(p.code, p.component) for p in found if p.severity == "error"] == [("reversed-control", "n")]


def test_nothing_begins_where_a_control_is_missing() -> None:
    begun: list[str] = []

    class Eager(Needy):
        spec = NodeSpec("eager", title="Eager", needs={LLM: ONE})

        @hookimpl
        def begin_global(self) -> None:
            begun.append(self.id)

    with pytest.raises(PipeError) as refused, opened("n: eager < text start", nodes=[Eager]):
        pass
    assert [p.code for p in refused.value.problems if p.severity == "error"] == ["missing-control"]
    assert begun == []


def test_callees_begin_before_their_callers() -> None:
    begun: list[str] = []

    class Begun(Node[None]):
        spec = NodeSpec("begun", title="Begun", needs={MEMORY: MANY})

        @hookimpl
        def begin_global(self) -> None:
            begun.append(self.id)

        @serves(MEMORY)
        def memory(self, instance: Instance, caller: Caller) -> Any: ...

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

    with opened("a: begun < text start", "b: begun", "c: begun", "a -memory-> b", "b -memory-> c", nodes=[Begun]):
        pass
    assert begun == ["c", "b", "a"]


def test_a_node_can_hide_the_values_of_variables_in_what_it_sends_by_a_way_of_its_own() -> None:
    from rocketride_core.testing import node_harness

    told: list[str] = []

    @attrs.frozen
    class Keyed:
        key: str = setting("")
        token: Secret = setting(Secret())
        more: tuple[Secret, ...] = setting(())

    class Speaker(Node[Keyed]):
        spec = NodeSpec("speaker", title="Speaker")

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None:
            told.append(instance.redacted(text))

    config = {"key": "${ROCKETRIDE_KEY}", "token": "sesame-open", "more": ["inner-secret"]}
    with node_harness(Speaker, config=config, env={"ROCKETRIDE_KEY": "hunter2hunter2"}) as harness:
        harness.run({"text": ["hunter2hunter2, sesame-open, inner-secret, plain"]})
    assert told == ["***, ***, ***, plain"]


def test_an_error_of_the_kernel_s_own_class_is_redacted_too() -> None:
    from rocketride_core.testing import node_harness

    @attrs.frozen
    class Keyed:
        key: Secret = setting(Secret())

    class Failing(Node[Keyed]):
        spec = NodeSpec("failing", title="Failing")

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None:
            raise RunError(f"refused with {self.config.key.reveal()}")

    with node_harness(Failing, config={"key": "sesame-open"}) as harness:
        assert str(harness.run({"text": ["x"]}, check=False).error) == "refused with ***"


def test_an_exception_whose_text_fails_is_told_by_its_type() -> None:
    class Broken(ValueError):
        def __str__(self) -> str:
            raise KeyError("no text")

    class Offering(Node[None]):
        spec = NodeSpec("offering", title="Offering")

        @tool
        def fail(self, instance: Instance) -> str:
            """Fails."""
            raise Broken

        @tool
        def work(self, instance: Instance) -> str:
            """Works."""
            return "done"

    told: list[Any] = []

    class Caller2(Node[None]):
        spec = NodeSpec("caller_2", title="Caller", needs={TOOL: MANY}, responds=True)

        @on(TEXT)
        def call(self, instance: Instance, text: str) -> None:
            told.extend(instance.tools.call_all([("t.fail", {}), ("t.work", {})]))

    source = type("Src2", (Node,), {"spec": NodeSpec("src_2", title="S", emits=[TEXT]), "__module__": __name__})
    pipe = PipeFile(
        [
            Component("s", "src_2"),
            Component("a", "caller_2", input=[LaneLink("text", "s")]),
            Component("t", "offering", control=[ControlLink("tool", "a")]),
        ],
        source="s",
    )
    with Kernel(nodes=[source, Caller2, Offering]).load(pipe) as pipeline:
        pipeline.run(Entry("e"), TEXT("x")).checked()
    assert told[1] == "done"
    assert "Broken" in str(told[0])
