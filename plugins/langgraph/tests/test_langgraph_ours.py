# SPDX-License-Identifier: MIT
"""Tools of rocketride-core pipelines in a tool executor, and as LangChain tools."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool as langchain_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from rocketride_core import (
    MANY,
    TEXT,
    TOOL,
    Arguments,
    Entry,
    EntryStopped,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    RunTimeout,
    Tool,
    on,
    tool,
)
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile
from rocketride_langgraph import ToolExecutor, as_langchain


class Start(Node[None]):
    spec = NodeSpec("lg_start", title="Start", categories=["source"], emits=[TEXT])


class Work(Node[None]):
    """Does with the tools wired to it whatever a test wants."""

    spec = NodeSpec("lg_work", title="Work", needs={TOOL: MANY})
    job: Callable[[Instance], object] = staticmethod(lambda instance: None)
    got: object = None

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        type(self).got = type(self).job(instance)


class Calc(Node[None]):
    spec = NodeSpec("lg_calc", title="Calc")

    @tool
    def add(self, instance: Instance, a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @tool(concurrent=True)
    def fail(self, instance: Instance, text: str) -> str:
        """Fail."""
        raise ValueError(text)

    release = threading.Event()

    @tool
    def hang(self, instance: Instance) -> str:
        """Hang."""
        self.release.wait(20)
        return "late"

    @tool
    def greet(self, instance: Instance, self_: str = "", config: str = "", run_manager: str = "") -> dict[str, str]:
        """Parameters that LangChain has its own use for."""
        return {"config": config, "run_manager": run_manager}


@contextmanager
def working(job: Callable[[Instance], object], *ids: str) -> Iterator[Callable[[], Any]]:
    """`go()` gives what the job made of an instance with a calculator under each id."""
    calcs = [Component(id, "lg_calc", control=[ControlLink("tool", "work")]) for id in ids or ("calc_1",)]
    pipe = PipeFile([Component("start", "lg_start"), Component("work", "lg_work", input=[LaneLink("text", "start")]), *calcs])
    Work.job = staticmethod(job)
    with Kernel(nodes=[Start, Work, Calc]).load(pipe) as pipeline:

        def go() -> Any:
            pipeline.run(Entry("object"), TEXT("go")).checked()
            return Work.got

        yield go


def asked(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"messages": [AIMessage("", tool_calls=[{"name": n, "args": a, "id": str(i)} for i, (n, a) in enumerate(calls)])]}


def run(job: Callable[[Instance], object], *ids: str) -> Any:
    with working(job, *ids) as go:
        return go()


def test_a_catalog_is_called_by_both_names() -> None:
    def job(instance: Instance) -> Any:
        executor = ToolExecutor(instance.tools, timeout=5)
        given = asked(
            ("calc_1.add", {"a": 1, "b": 2}),
            ("calc_1__add", {"a": 3}),
            ("calc_1__greet", {"config": "c", "run_manager": "r"}),
            ("calc_1__fail", {"text": "broken"}),
            ("calc_1__add", {"a": "x"}),
            ("calc_2__add", {}),
        )
        return executor(given)["messages"], instance.wait(executor.ainvoke(given))["messages"]

    blocking, awaited = run(job)
    assert blocking == awaited
    assert [m.content for m in blocking[:3]] == ["3", "4", '{"config": "c", "run_manager": "r"}']
    assert [m.name for m in blocking[:2]] == ["calc_1.add", "calc_1__add"]
    errors = [json.loads(m.content) for m in blocking[3:]]
    assert [error["type"] for error in errors] == ["ToolFailure", "ToolInput", "UnknownTool"]
    assert "broken" in errors[0]["error"]
    assert "calc_1__add, calc_1__fail" in errors[2]["error"]


def test_a_call_that_is_given_up_frees_its_node() -> None:
    def job(instance: Instance) -> Any:
        executor = ToolExecutor(instance.tools, timeout=0.1)
        update = executor(asked(("calc_1__hang", {}), ("calc_1__add", {"a": 1})))
        return [
            *update["messages"],
            *instance.wait(executor.ainvoke(asked(("calc_1__hang", {}), ("calc_1__add", {"a": 2}))))["messages"],
        ]

    with working(job) as go:
        messages = go()
        Calc.release.set()
    assert [json.loads(m.content) for m in messages[1::2]] == [2, 3]
    for message in messages[::2]:
        error = json.loads(message.content)
        assert error["type"] == "ToolTimeout"
        assert error["error"].startswith("calc_1.hang did not answer within 0.1 s")


def test_one_executor_holds_all_kinds() -> None:
    @langchain_tool
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    def job(instance: Instance) -> Any:
        executor = ToolExecutor([shout, instance.tools, len_of])
        return executor(asked(("shout", {"text": "a"}), ("calc_1__add", {"a": 1}), ("len_of", {"text": "abc"})))["messages"]

    assert [m.content for m in run(job)] == ['"A"', "2", "3"]


def len_of(text: str) -> int:
    """Measure a text."""
    return len(text)


def test_what_a_model_is_told_of_them() -> None:
    described = run(lambda instance: [convert_to_openai_tool(one) for one in ToolExecutor(instance.tools).tools])
    add = next(one["function"] for one in described if one["function"]["name"] == "calc_1__add")
    assert add["description"].startswith("Add two numbers.")
    assert add["parameters"]["properties"]["a"]["type"] == "integer"
    assert add["parameters"]["required"] == ["a"]
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", one["function"]["name"]) for one in described)


def test_they_are_langchain_tools_of_their_own() -> None:
    def job(instance: Instance) -> Any:
        tools = as_langchain(instance.tools)
        return [one.name for one in tools], tools[0].invoke({"a": 4})

    names, result = run(job)
    assert sorted(names) == ["calc_1__add", "calc_1__fail", "calc_1__greet", "calc_1__hang"]
    assert result == 5


def test_an_entry_that_is_over_its_limit_ends_the_executor() -> None:
    seen: list[type[BaseException]] = []

    def job(instance: Instance) -> Any:
        slow = threading.Event()

        def wait() -> None:
            """Wait until the entry is over."""
            with instance.on_cancel(slow.set):
                slow.wait(20)

        try:
            ToolExecutor([wait, instance.tools])(asked(("wait", {})))
            ToolExecutor(instance.tools)(asked(("calc_1__add", {"a": 1}), ("calc_1__add", {"a": 1})))
        except BaseException as error:
            seen.append(type(error))
            raise

    with working(job):
        pipe = PipeFile(
            [
                Component("start", "lg_start"),
                Component("work", "lg_work", input=[LaneLink("text", "start")]),
                Component("calc_1", "lg_calc", control=[ControlLink("tool", "work")]),
            ]
        )
        with Kernel(nodes=[Start, Work, Calc]).load(pipe) as pipeline:
            result = pipeline.run(Entry("object"), TEXT("go"), timeout=0.2)
    assert isinstance(result.error, RunTimeout)
    assert seen == [EntryStopped]


# --- tools as values --------------------------------------------------------------------------------------------------


def value(name: str, call: Callable[[Instance, Arguments], object], **options: Any) -> Tool:
    schema: Any = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
    return Tool(name, "A tool.", schema, call, **options)


def test_a_tool_with_its_instance() -> None:
    peaks: list[int] = []
    running = [0]

    def work(instance: Instance, arguments: Arguments) -> object:
        running[0] += 1
        peaks.append(running[0])
        threading.Event().wait(0.02)
        running[0] -= 1
        return {"entry": instance.entry.name, **arguments}

    def job(instance: Instance) -> Any:
        executor = ToolExecutor([(value("acme.work", work), instance)])
        return executor(asked(*(("acme__work", {"a": n}) for n in range(4)), ("acme.work", {"a": "x"}), ("acme.work", {})))[
            "messages"
        ]

    messages = run(job)
    assert [json.loads(m.content) for m in messages[:4]] == [{"entry": "object", "a": n} for n in range(4)]
    assert max(peaks) == 1, "calls of a tool that is not concurrent do not overlap"
    assert [json.loads(m.content)["type"] for m in messages[4:]] == ["ToolInput", "ToolInput"]


def test_a_tools_own_limit_holds() -> None:
    release = threading.Event()

    def hang(instance: Instance, arguments: Arguments) -> object:
        release.wait(20)
        return None

    def job(instance: Instance) -> Any:
        pairs = [(value("hang", hang, timeout=0.05), instance)]
        return ToolExecutor(pairs)(asked(("hang", {"a": 1}))), ToolExecutor(pairs, timeout=9).tools[0].name

    update, name = run(job)
    release.set()
    assert name == "hang"
    assert json.loads(update["messages"][0].content) == {"error": "hang did not answer within 0.05 s", "type": "ToolTimeout"}


def test_a_tool_without_its_instance_is_refused() -> None:
    with pytest.raises(TypeError, match="the tool 'work' needs the instance that it is called with"):
        ToolExecutor([value("work", lambda instance, arguments: None)])


class Listing:
    """A catalog whose tools change."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def __iter__(self) -> Iterator[Tool]:
        return (value(name, lambda instance, arguments: None) for name in self.names)

    def check(self, name: str, arguments: Arguments, /) -> None: ...

    def call(self, name: str, arguments: Arguments, /, *, timeout: float | None = None) -> Any:
        return [name, dict(arguments)]

    def call_all(self, calls: Sequence[tuple[str, Arguments]], /) -> Any:
        return [self.call(*one) for one in calls]


def names_of(*full: str) -> dict[str, str]:
    executor = ToolExecutor(Listing(*full))
    return {json.loads(executor(asked((one.name, {"a": 1})))["messages"][0].content)[0]: one.name for one in executor.tools}


def test_names_are_what_vendors_accept_and_lead_back() -> None:
    assert names_of("calc_1.add", "plain") == {"calc_1.add": "calc_1__add", "plain": "plain"}
    alike = names_of("a.b", "a__b", "c.d")
    assert alike["c.d"] == "c__d"
    assert len(set(alike.values())) == 3
    assert alike == names_of("a__b", "c.d", "a.b"), "in every order the same"
    odd = names_of("1.x", "工具.run", "x" * 70 + ".a", "x" * 70 + ".b", "a b")
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in odd.values())
    assert len(set(odd.values())) == 5
    assert odd["1.x"] == "_1__x"


def test_a_name_of_another_tool_is_not_taken() -> None:
    def a__b(a: int) -> str:
        """Be named as a tool of a pipeline would be."""
        return "mine"

    executor = ToolExecutor([a__b, Listing("a.b")])
    given = asked(("a__b", {"a": 1}), ("a.b", {"a": 1}), (executor.tools[1].name, {"a": 1}))
    assert [m.content for m in executor(given)["messages"]] == ['"mine"', '["a.b", {"a": 1}]', '["a.b", {"a": 1}]']


def test_two_nodes_under_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two tools are named 'a\.b'"):
        ToolExecutor([Listing("a.b"), Listing("a.b")])


def test_a_tool_that_appears_later_is_found() -> None:
    listing = Listing("a.b")
    executor = ToolExecutor(listing)
    [missing] = executor(asked(("a.c", {"a": 1})))["messages"]
    assert json.loads(missing.content)["type"] == "UnknownTool"
    listing.names.append("a.c")
    assert executor(asked(("a.c", {"a": 1})))["messages"] == [ToolMessage('["a.c", {"a": 1}]', name="a.c", tool_call_id="0")]
