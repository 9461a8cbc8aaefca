# SPDX-License-Identifier: MIT
"""The node by itself: what it takes as arguments, how it fails, what it foresees."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import attrs
import pytest

from rocketride_core import (
    MANY,
    QUESTIONS,
    TEXT,
    TOOL,
    Cancelled,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    ToolDenied,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    hookimpl,
    on,
)
from rocketride_core.testing import HostileNode, NodeSuite
from rocketride_tool_pipe import RunPipe, ToolPipe, normalised
from rocketride_tool_pipe.wiring import findings

NEEDS_DATA = "tool_pipe: tool requires a non-empty `data` parameter"


class TestToolPipe(NodeSuite):
    node = ToolPipe
    config = {"tool_description": "Echoes.", "return_type": "text"}


# ---- arguments


@attrs.frozen
class AttrsModel:
    data: str
    note: str = ""


@dataclasses.dataclass
class DataModel:
    data: str


class DumpingModel:
    """What pydantic's models look like."""

    def model_dump(self) -> dict[str, str]:
        return {"data": "x"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"data": "x"},
        {"data": "x", "security_context": {"user": 1}},
        {"data": "x", "further": 1},
        {"input": {"data": "x"}},
        {"input": {"data": "x"}, "security_context": {}},
        {"input": {"data": "inner"}, "data": "x"},
        {"input": '{"data": "x"}'},
        {"input": DumpingModel()},
        '{"data": "x"}',
        ' \n{"data": "x"}',
        '{"input": {"data": "x"}}',
        "x",
        AttrsModel("x"),
        DataModel("x"),
        DumpingModel(),
    ],
    ids=repr,
)
def test_arguments_in_every_shape(arguments: Any) -> None:
    assert normalised(arguments) == {"data": "x"}


@pytest.mark.parametrize("text", ["5", "[1, 2]", "null", "{", '{"data": ', '"quoted"', " ", "{}{}", "{" * 5000])
def test_any_other_text_is_the_data_itself(text: str) -> None:
    assert normalised(text) == {"data": text}


@pytest.mark.parametrize(
    ("arguments", "path", "said"),
    [
        (None, "$.data", NEEDS_DATA),
        ({}, "$.data", NEEDS_DATA),
        ("", "$.data", NEEDS_DATA),
        ("{}", "$.data", NEEDS_DATA),
        ({"input": {}}, "$.data", NEEDS_DATA),
        ({"input": None}, "$.data", NEEDS_DATA),
        ({"input": {"data": ""}}, "$.data", NEEDS_DATA),
        ({"text": "x"}, "$.data", NEEDS_DATA),
        ('{"data": ""}', "$.data", NEEDS_DATA),
        (5, "$", f"{NEEDS_DATA}: the arguments are an object or a text, not a number"),
        (0, "$", f"{NEEDS_DATA}: the arguments are an object or a text, not a number"),
        (True, "$", f"{NEEDS_DATA}: the arguments are an object or a text, not a truth value"),
        ([], "$", f"{NEEDS_DATA}: the arguments are an object or a text, not a list"),
        (["x"], "$", f"{NEEDS_DATA}: the arguments are an object or a text, not a list"),
        (b"x", "$", f"{NEEDS_DATA}: the arguments are an object or a text, not a bytes"),
        ({"data": 5}, "$.data", f"{NEEDS_DATA}: it is a text, not a number"),
        ({"data": ["x"]}, "$.data", f"{NEEDS_DATA}: it is a text, not a list"),
        ({"data": {"a": 1}}, "$.data", f"{NEEDS_DATA}: it is a text, not an object"),
        ({"data": False}, "$.data", f"{NEEDS_DATA}: it is a text, not a truth value"),
    ],
)
def test_bad_arguments(arguments: Any, path: str, said: str) -> None:
    with pytest.raises(ToolInput) as error:
        normalised(arguments)
    assert str(error.value) == said
    assert error.value.path == path
    assert isinstance(error.value, ValueError)


def test_no_text_of_an_argument_is_changed() -> None:
    given = {"input": {"data": "x"}, "security_context": {"user": "u"}}
    normalised(given)
    assert given == {"input": {"data": "x"}, "security_context": {"user": "u"}}


# ---- in a pipeline

OPENED: list[str] = []


class Inner(Node[None]):
    """text → text, and does what the text says."""

    spec = NodeSpec("inner", title="Inner")

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        OPENED.append(instance.entry.name)

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        if text == "fail":
            raise KeyError("luck")
        if text == "sleep":
            time.sleep(1.0)
        while text == "loop and emit":
            instance.emit(TEXT, "again")
            time.sleep(0.01)
        if text == "loop":
            while True:
                time.sleep(0)
        instance.emit(TEXT, text)


class Guard:
    """A host that denies, rewrites, and looks on."""

    seen: list[Any] = []

    @hookimpl(wrapper=True)
    def invoke_tool(self, name: str, arguments: Any) -> Any:
        if arguments["data"] == "secret":
            raise ToolDenied("not that", tool=name)
        result = yield
        Guard.seen.append((name, dict(arguments), result))
        return result


def pipe(script: list[Any], *inner: Component, config: dict[str, Any] | None = None, lane: str = "text") -> PipeFile:
    return PipeFile(
        [
            Component("chat_1", "chat"),
            Component("agent_1", "test_agent", {"script": script}, input=[LaneLink("questions", "chat_1")]),
            Component("response_1", "response_answers", input=[LaneLink("answers", "agent_1")]),
            Component(
                "pipe_1", "tool_pipe", {"tool_description": "d", **(config or {})}, control=[ControlLink("tool", "agent_1")]
            ),
            *(inner or (Component("inner_1", "inner", input=[LaneLink("text", "pipe_1")]),)),
            *(() if inner else (Component("sub_1", f"response_{lane}", input=[LaneLink(lane, "inner_1")]),)),
        ],
        source="chat_1",
    )


def calls(*arguments: Any, **more: Any) -> list[Any]:
    return [{"call": "pipe_1.run_pipe", "arguments": one, **more} for one in arguments]


def ran(file: PipeFile, plugins: tuple[Any, ...] = (), **settings: Any) -> Any:
    OPENED.clear()
    with Kernel(nodes=[Inner, HostileNode], env={}, plugins=plugins, **settings).load(file) as pipeline:
        return pipeline.run(Entry("x"), QUESTIONS(Question.of("q")))


def said(result: Any) -> str:
    return str(result.checked().to_json()["answers"][0])


@pytest.mark.parametrize("arguments", [{}, "", 5, ["x"], {"data": 5}, {"input": {}}, True])
def test_bad_input_never_starts_the_sub_pipeline(arguments: Any) -> None:
    answer = said(ran(pipe(calls(arguments))))
    assert answer.startswith(f"ToolInput: {NEEDS_DATA}")
    assert OPENED == []


@pytest.mark.parametrize("arguments", ["x", '{"data": "x"}', {"input": {"data": "x"}}, {"data": "x", "security_context": {}}])
def test_good_input_of_every_shape_reaches_it(arguments: Any) -> None:
    assert said(ran(pipe(calls(arguments)))) == "x"
    assert OPENED == ["pipe_1#1"]


def test_check_judges_as_the_call_does() -> None:
    tool = RunPipe("pipe_1.run_pipe", "d", {}, lambda instance, arguments: None)
    assert tool.checked({"input": {"data": "x"}}) == {"data": "x"}
    with pytest.raises(ToolInput) as error:
        tool.checked({})
    assert error.value.tool == "pipe_1.run_pipe"


def test_a_failure_inside_names_the_inner_node() -> None:
    caught: list[Any] = []

    class Agent(Node[None]):
        spec = NodeSpec("test_agent", title="Agent", needs={TOOL: MANY})

        @on(QUESTIONS)
        def question(self, instance: Instance, question: Question) -> None:
            caught.extend(instance.tools.call_all([("pipe_1.run_pipe", {"data": data}) for data in ("fail", "fine")]))

    file = pipe([])
    with Kernel(nodes=[Inner, Agent], env={}).load(
        attrs.evolve(file, components=[c for c in file.components if c.id != "response_1"])
    ) as p:
        assert p.run(Entry("x"), QUESTIONS(Question.of("q"))).error is None
    failure, fine = caught
    assert fine == {"result": "fine"}
    assert isinstance(failure, ToolFailure)
    assert (failure.tool, failure.component) == ("pipe_1.run_pipe", "inner_1")
    assert str(failure) == "pipe_1.run_pipe: inner_1: KeyError: 'luck'"


@pytest.mark.parametrize("phase", ["open", "handler", "flush", "close"])
def test_a_failure_in_any_phase_reaches_the_agent(phase: str) -> None:
    inner = Component("bad_1", "testing_hostile", {"fail": [phase]}, input=[LaneLink("text", "pipe_1")])
    response = Component("sub_1", "response_text", input=[LaneLink("text", "bad_1")])
    assert said(ran(pipe(calls({"data": "x"}), inner, response))) == f"ToolFailure: pipe_1.run_pipe: bad_1: hostile {phase}"


def test_a_failure_of_a_nested_one_names_the_innermost_node() -> None:
    nested = [
        Component(
            "agent_2", "test_agent", {"script": calls_of("pipe_2"), "onError": "fail"}, input=[LaneLink("questions", "pipe_1")]
        ),
        Component("sub_1", "response_answers", input=[LaneLink("answers", "agent_2")]),
        Component("pipe_2", "tool_pipe", {"tool_description": "d"}, control=[ControlLink("tool", "agent_2")]),
        Component("inner_1", "inner", input=[LaneLink("text", "pipe_2")]),
        Component("sub_2", "response_text", input=[LaneLink("text", "inner_1")]),
    ]
    answer = said(ran(pipe(calls({"data": "fail"}), *nested, config={"return_type": "answers"})))
    assert answer.startswith("ToolFailure: pipe_1.run_pipe: ")
    assert "agent_2" in answer
    assert "pipe_2.run_pipe: inner_1: KeyError: 'luck'" in answer


def calls_of(id: str) -> list[Any]:
    return [{"call": f"{id}.run_pipe", "arguments": {"data": "{input}"}}]


def test_a_result_of_another_call_is_not_mixed_in_after_a_failure() -> None:
    answer = said(ran(pipe([*calls({"data": "fail"}, {"data": "a"}, {"data": "fail"}, {"data": "b"}), {"answer": "{1}{3}"}])))
    assert answer == "ab"


def test_hosts_deny_look_on_and_rewrite() -> None:
    Guard.seen.clear()
    script = [*calls({"data": "secret"}, "plain"), {"answer": "{0} {1}"}]
    assert said(ran(pipe(script), plugins=(Guard(),))) == "ToolDenied: not that plain"
    assert Guard.seen == [("pipe_1.run_pipe", {"data": "plain"}, {"result": "plain"})]


@pytest.mark.parametrize("data", ["sleep", "loop"])
def test_a_time_limit_ends_it_and_the_agent_goes_on(data: str) -> None:
    start = time.monotonic()
    script = [*calls({"data": data}, timeout=0.2), *calls({"data": "next"}), {"answer": "{0} {1}"}]
    answer = said(ran(pipe(script)))
    assert answer.startswith("ToolTimeout: pipe_1.run_pipe did not answer within 0.2 s")
    assert "inner_1 was running" in answer
    assert answer.endswith(" next")
    assert time.monotonic() - start < 10


def test_a_limit_of_the_kernel_holds_too() -> None:
    assert said(ran(pipe(calls({"data": "sleep"})), tool_timeout=0.1)).startswith("ToolTimeout")
    assert issubclass(ToolTimeout, Exception)


def test_cancelling_the_entry_ends_the_call() -> None:
    """The inner node emits, and is unwound; the agent's next call is not made."""
    with Kernel(nodes=[Inner], env={}).load(pipe([*calls({"data": "loop and emit"}), *calls({"data": "never"})])) as pipeline:
        OPENED.clear()
        with pipeline.start(Entry("x"), QUESTIONS(Question.of("q"))) as run:
            while not OPENED:
                time.sleep(0.01)
            run.cancel()
            assert isinstance(run.result(timeout=20).error, Cancelled)
    assert OPENED == ["pipe_1#1"]


# ---- what it foresees


def spec_of(provider: str) -> NodeSpec:
    return {
        "prompt": NodeSpec("prompt", title="P"),
        "response_text": NodeSpec("response_text", title="R", responds=True),
        "chroma": NodeSpec("chroma", title="S", stores=True),
    }[provider]


def wired(id: str, provider: str, *sources: str, lane: str = "text") -> Component:
    return Component(id, provider, input=[LaneLink(lane, source) for source in sources])


def foreseen(*inner: Component, return_type: str = "text", description: str = "d") -> list[tuple[str, str]]:
    me = Component("pipe_1", "tool_pipe")
    return [(f.code, f.message) for f in findings(me, PipeFile([me, *inner]), spec_of, return_type, description)]


def test_nothing_is_said_of_a_good_one() -> None:
    assert foreseen(wired("a", "prompt", "pipe_1"), wired("r", "response_text", "a")) == []


def test_no_output_lane_wired() -> None:
    assert foreseen() == [("no-output", "pipe_1 has no output lane wired: its tool runs nothing")]


def test_an_empty_description() -> None:
    found = foreseen(wired("r", "response_text", "pipe_1"), description="")
    assert found == [("empty-description", "pipe_1 has no tool_description, so an agent cannot tell when to call it")]


def test_a_branch_that_ends_nowhere() -> None:
    found = foreseen(wired("r", "response_text", "pipe_1"), wired("a", "prompt", "pipe_1"), wired("b", "prompt", "a"))
    assert found == [("no-response", "b ends a branch of pipe_1 and is no response node: what it produces is lost")]


def test_a_branch_that_ends_in_a_store_is_fine() -> None:
    assert foreseen(wired("r", "response_text", "pipe_1"), wired("a", "prompt", "pipe_1"), wired("s", "chroma", "a")) == []


def test_no_branch_responds_is_the_kernels_to_say() -> None:
    assert foreseen(wired("a", "prompt", "pipe_1")) == []
    found = [(p.code, p.component) for p in Kernel(nodes=[Inner], env={}).check(pipe([], wired("inner_1", "inner", "pipe_1")))]
    assert ("no-response", "pipe_1") in found


def test_a_return_type_that_no_branch_responds_on() -> None:
    found = foreseen(wired("r", "response_text", "pipe_1"), return_type="answers")
    assert found == [("return-type", "pipe_1 returns 'answers', but its branches respond on: text")]


def test_loops_behind_it_end_the_search() -> None:
    found = foreseen(wired("a", "prompt", "pipe_1", "b"), wired("b", "prompt", "a"), wired("r", "response_text", "b"))
    assert found == []


def test_check_warns_and_loads_all_the_same() -> None:
    file = pipe(calls({"data": "x"}), config={"tool_description": " ", "return_type": "answers"})
    found = [(p.code, p.path, p.severity) for p in Kernel(nodes=[Inner], env={}).check(file)]
    assert found == [
        ("return-type", "$.components[3].config.return_type", "warning"),
        ("empty-description", "$.components[3].config.tool_description", "warning"),
    ]
    assert said(ran(file)) == ""
