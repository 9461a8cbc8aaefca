# SPDX-License-Identifier: MIT
"""LangChain tools of every kind, called by an agent of ours: what it is told, what it gets, what goes wrong."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
import sys
import threading
import types
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pydantic.v1
import pytest
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import (
    BaseTool,
    BaseToolkit,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    ToolException,
    tool,
)
from langchain_core.tools import Tool as SingleInput
from pydantic import BaseModel, Field, field_validator

from rocketride_core import (
    MANY,
    TEXT,
    TOOL,
    Component,
    ControlLink,
    Entry,
    Event,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Result,
    RunError,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    on,
)
from rocketride_core import Tool as OurTool
from rocketride_core.testing import NodeSuite
from rocketride_tool_langchain import ToolLangchain, ToolLangchainConfig

KIT = types.ModuleType("lc_kit")
KIT.__spec__ = ModuleSpec("lc_kit", None)
sys.modules["lc_kit"] = KIT


def kit(made: Any) -> Any:
    setattr(KIT, getattr(made, "name", "") if isinstance(made, BaseTool) else made.__name__, made)
    return made


# ---- the tools


@kit
@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class Search(BaseModel):
    """What to look for."""

    query: str = Field(description="Words.", min_length=2)
    kind: Literal["web", "news"] = "web"
    day: dt.date | None = None

    @field_validator("query")
    @classmethod
    def no_numbers(cls, value: str) -> str:
        if value.isdigit():
            raise ValueError("a number is no query")
        return value


@kit
@tool(args_schema=Search)
def search(query: str, kind: str, day: dt.date | None = None) -> dict[str, Any]:
    """Search."""
    return {"query": query, "kind": kind, "day": day, "score": float("nan")}


class Old(pydantic.v1.BaseModel):
    text: str
    times: int = 2


kit(StructuredTool.from_function(lambda text, times=2: text * times, name="old", description="Repeat.", args_schema=Old))
SCHEMA = {
    "title": "Lookup",
    "type": "object",
    "properties": {"key": {"type": "string", "enum": ["a", "b"]}},
    "required": ["key"],
}
kit(StructuredTool.from_function(lambda key: {"found": key}, name="lookup", description="Look up.", args_schema=SCHEMA))
kit(SingleInput(name="shout", description="Upper case.", func=lambda text: text.upper()))


@kit
@tool
async def fetch(url: str) -> str:
    """Fetch a page."""
    await adispatch_custom_event("fetching", {"url": url})
    await asyncio.sleep(0)
    return f"page of {url} on {threading.current_thread() is threading.main_thread()}"


@kit
class OnlyAsync(BaseTool):
    name: str = "only async"
    description: str = "Only asynchronous."

    def _run(self, text: str) -> str:
        raise NotImplementedError("use it asynchronously")

    async def _arun(self, text: str) -> str:
        return f"async {text}"


@kit
class Greeter(BaseTool):
    name: str = "greet"
    description: str = "Greets."
    greeting: str = "Hello"

    def _run(self, whom: str, config: RunnableConfig, user: Annotated[str, InjectedToolArg] = "nobody") -> str:
        return f"{self.greeting} {whom} from {user} of {config.get('configurable', {}).get('firm')}"


@kit
@tool
def mine(what: str, user: Annotated[str, InjectedToolArg], call: Annotated[str, InjectedToolCallId]) -> str:
    """What belongs to the user."""
    return f"{what} of {user}, {call[:5]}"


@kit
@tool(response_format="content_and_artifact")
def retrieve(query: str) -> tuple[str, list[Document]]:
    """Retrieve."""
    return f"one about {query}", [Document("long", metadata={"n": 1})]


@kit
@tool
def refuse(why: str) -> str:
    """Refuse."""
    raise ToolException(f"not possible: {why}")


kit(StructuredTool.from_function(refuse.func, name="handles", description="Handles.", handle_tool_error="Try tomorrow."))


@kit
@tool
def crash(secret: str = "") -> str:
    """Crash."""
    raise KeyError("no such key as s3cr3t-value")


@kit
@tool
def inner(text: str) -> str:
    """Its own validation fails inside."""
    return str(Search.model_validate({"query": text}))


@kit
@tool
def blocks(text: str) -> list[dict[str, str]]:
    """Blocks of content."""
    return [{"type": "text", "text": text}, {"type": "text", "text": "more"}]


class Opaque:
    def __str__(self) -> str:
        return "opaque"


@kit
@tool
def opaque() -> Any:
    """No JSON."""
    return Opaque()


@kit
@tool
def message(call: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """A message."""
    return ToolMessage("said", tool_call_id=call)


@kit
@tool
def report(text: str) -> str:
    """Says something meanwhile."""
    dispatch_custom_event("progress", {"text": text})
    return "done"


MEET = threading.Barrier(2)


@kit
@tool
def meet() -> str:
    """Returns when there are two."""
    MEET.wait(5)
    return "met"


@kit
@tool
async def hang() -> str:
    """Hangs."""
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        HUNG.set()
        raise
    return "late"


HUNG = threading.Event()


@kit
@tool
async def stopped() -> str:
    """Waits for what is cancelled."""
    task = asyncio.ensure_future(asyncio.sleep(30))
    task.cancel()
    await task
    return "late"


@kit
@tool
def stopped_too() -> str:
    """Runs what is cancelled."""
    raise asyncio.CancelledError


@kit
class Kit(BaseToolkit):
    firm: str

    def get_tools(self) -> list[BaseTool]:
        return [add, search]


@kit
async def later(names: list[str]) -> list[BaseTool]:
    await asyncio.sleep(0)
    return [getattr(KIT, name) for name in names]


@kit
def broken(key: str) -> BaseTool:
    raise OSError("no connection to the server")


@kit
def text_factory() -> str:
    return "x"


@kit
class Strict(BaseTool):
    name: str = "strict"
    description: str = "Strict."
    server: str

    def _run(self, text: str) -> str:
        return self.server + text


KIT.number = 7  # type: ignore[attr-defined]
KIT.Opaque = Opaque  # type: ignore[attr-defined]
KIT.nested = types.SimpleNamespace(add=add)  # type: ignore[attr-defined]


# ---- an agent


class Agent(Node[None]):
    """Makes one call, `name {arguments}`, and keeps what came of it."""

    spec = NodeSpec("lc_agent", title="Agent", needs={TOOL: MANY})
    tools: list[OurTool] = []
    outcome: Any = None
    turn: list[tuple[str, dict[str, Any]]] = []

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        cls = type(self)
        cls.tools = list(instance.tools)
        name, _, arguments = text.partition(" ")
        if name == "turn":
            cls.outcome = list(instance.tools.call_all(self.turn))
        elif name:
            try:
                cls.outcome = instance.tools.call(f"t_1.{name}", json.loads(arguments or "{}"))
            except ToolError as error:
                cls.outcome = error


def pipe(path: str, **config: Any) -> PipeFile:
    return PipeFile(
        [
            Component("hook_1", "webhook"),
            Component("agent_1", "lc_agent", {}, [LaneLink("text", "hook_1")]),
            Component("t_1", "tool_langchain", {"tool": path, **config}, control=[ControlLink("tool", "agent_1")]),
        ],
        "hook_1",
    )


def ran(
    text: str, path: str, *, env: Mapping[str, str] | None = None, timeout: float | None = None, **config: Any
) -> tuple[Any, Result]:
    """What a call gave, and the result of the entry."""
    with Kernel(nodes=[Agent], env=env).load(pipe(path, **config)) as pipeline:
        result = pipeline.run(Entry("e"), TEXT(text), timeout=timeout)
    return Agent.outcome, result


def call(text: str, path: str = "", **config: Any) -> Any:
    outcome, result = ran(text, path or f"lc_kit:{text.partition(' ')[0]}", **config)
    result.checked()
    return outcome


def listed(path: str, **config: Any) -> list[OurTool]:
    ran("", path, **config)[1].checked()
    return Agent.tools


def refused(path: str, **config: Any) -> str:
    with pytest.raises(RunError) as caught, Kernel(nodes=[Agent]).load(pipe(path, **config)):
        raise AssertionError
    assert (caught.value.component, caught.value.phase) == ("t_1", "begin")
    return str(caught.value)


class TestToolLangchain(NodeSuite):
    node = ToolLangchain
    config = {"tool": "lc_kit:add"}


# ---- what a model is told


def test_a_pydantic_model_becomes_the_schema() -> None:
    [one] = listed("lc_kit:search")
    assert (one.name, one.description) == ("t_1.search", "Search.")
    assert one.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 2, "description": "Words."},
            "kind": {"type": "string", "enum": ["web", "news"], "default": "web"},
            "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
        },
        "required": ["query"],
    }


def test_a_pydantic_1_model_a_json_schema_and_a_plain_tool_do_too() -> None:
    old = listed("lc_kit:old")[0].input_schema
    assert old["properties"] == {"text": {"type": "string"}, "times": {"type": "integer", "default": 2}}
    assert listed("lc_kit:lookup")[0].input_schema == {key: value for key, value in SCHEMA.items() if key != "title"}
    assert SCHEMA["title"] == "Lookup"
    assert listed("lc_kit:shout")[0].input_schema["required"] == ["input"]


@pytest.mark.parametrize("path", ["lc_kit:Greeter", "lc_kit:mine"])
def test_injected_arguments_are_not_shown(path: str) -> None:
    [one] = listed(path, injected={"user": "Ada"})
    assert list(one.input_schema["properties"]) == ["whom" if "Greeter" in path else "what"]
    assert not {"user", "$defs", "RunnableConfig"} & set(re.findall(r"[$\w]+", json.dumps(one.input_schema)))


def test_definitions_that_arguments_use_are_kept() -> None:
    class Leaf(BaseModel):
        kind: Literal["leaf"] = "leaf"

    class Branch(BaseModel):
        leaves: list[Leaf]

    def grow(branch: Branch) -> int:
        """Grow."""
        return len(branch.leaves)

    grow.__annotations__["branch"] = Branch
    kit(tool(grow))
    [one] = listed("lc_kit:grow")
    assert sorted(one.input_schema["$defs"]) == ["Branch", "Leaf"]  # type: ignore[arg-type]
    assert call('grow {"branch": {"leaves": [{}, {}]}}') == 2
    error = call('grow {"branch": {"leaves": [{"kind": "x"}]}}')
    assert (type(error), error.path) == (ToolInput, "$.branch.leaves[0].kind")


def test_names_and_descriptions_can_be_set() -> None:
    [one] = listed("lc_kit:OnlyAsync")
    assert one.name == "t_1.only_async"
    [one] = listed("lc_kit:nested.add", name="plus", tool_description="For sums.")
    assert (one.name, one.description) == ("t_1.plus", "For sums.\n\nAdd two numbers.")


# ---- what a call gives


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('add {"a": 1, "b": 2}', 3),
        ('add {"a": "41"}', 42),
        ('add {"a": 1, "b": null}', 2),
        ('old {"text": "ab"}', "abab"),
        ('lookup {"key": "a"}', {"found": "a"}),
        ('shout {"input": "abc"}', "ABC"),
        ('blocks {"text": "one"}', "one\nmore"),
        ("opaque", "opaque"),
        ("message", "said"),
        ('fetch {"url": "u"}', "page of u on False"),
    ],
)
def test_results_are_json(text: str, result: Any) -> None:
    assert call(text) == result


def test_pydantic_s_values_reach_the_tool_and_dates_come_back_as_text() -> None:
    found = call('search {"query": "ab", "day": "2026-11-30"}')
    assert found == {"query": "ab", "kind": "web", "day": "2026-11-30", "score": None}


def test_a_run_that_only_says_not_implemented_is_asked_asynchronously() -> None:
    assert call('only_async {"text": "x"}', "lc_kit:OnlyAsync") == "async x"


def test_what_models_may_not_set_is_set_by_the_config_alone() -> None:
    config = {"injected": {"user": "Ada"}, "configurable": {"firm": "Acme"}}
    text = 'greet {"whom": "you", "user": "root"}'
    assert call(text, "lc_kit:Greeter", **config, arguments={"greeting": "Hi"}) == "Hi you from Ada of Acme"
    assert call(text, "lc_kit:Greeter") == "Hello you from nobody of None"
    assert call('mine {"what": "all", "user": "root", "call": "x"}', injected={"user": "Ada"}) == "all of Ada, call_"


def test_an_artifact_is_an_event() -> None:
    heard: list[Event] = []
    text = TEXT('retrieve {"query": "q"}')
    with Kernel(nodes=[Agent]).load(pipe("lc_kit:retrieve")) as pipeline, pipeline.start(Entry("e"), text) as run:
        heard.extend(run)
    assert Agent.outcome == "one about q"
    [event] = heard
    assert (event.kind, event.component, event.data["tool"]) == ("artifact", "t_1", "t_1.retrieve")
    [document] = event.data["artifact"]  # type: ignore[misc, union-attr]
    assert document["page_content"] == "long"  # type: ignore[index, call-overload]


@pytest.mark.parametrize(("text", "kind"), [('report {"text": "half"}', "progress"), ('fetch {"url": "u"}', "fetching")])
def test_custom_events_are_events(text: str, kind: str) -> None:
    heard: list[Event] = []
    loading = Kernel(nodes=[Agent]).load(pipe(f"lc_kit:{text.partition(' ')[0]}"))
    with loading as pipeline, pipeline.start(Entry("e"), TEXT(text)) as run:
        heard.extend(run)
    assert [(event.kind, event.component) for event in heard] == [(kind, "t_1")]


def test_calls_overlap_unless_they_may_not() -> None:
    Agent.turn = [("t_1.meet", {}), ("t_1.meet", {})]
    assert call("turn", "lc_kit:meet") == ["met", "met"]
    assert not listed("lc_kit:meet", concurrent=False)[0].concurrent


# ---- what goes wrong in a call


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("add", "$.a", "$.a: Field required; it takes: a, b"),
        ('add {"a": "x"}', "$.a", "$.a: Input should be a valid integer"),
        ('search {"query": "a"}', "$.query", "at least 2"),
        ('search {"query": "12"}', "$.query", "a number is no query"),
        ('old {"times": "x", "text": "a"}', "$.times", "not a valid integer"),
        ('lookup {"key": "c"}', "$.key", "must be one of"),
        ("shout", "$", "must contain"),
    ],
)
def test_arguments_that_do_not_fit_are_tool_input(text: str, path: str, said: str) -> None:
    error = call(text)
    assert isinstance(error, ToolInput)
    assert error.path == path
    assert said in str(error)
    assert error.tool == f"t_1.{text.partition(' ')[0]}"


def test_a_tool_exception_is_its_text_and_so_is_one_that_the_tool_handles() -> None:
    for text, said in [
        ('refuse {"why": "no"}', "t_1.refuse: not possible: no"),
        ('handles {"why": "no"}', "t_1.handles: Try tomorrow."),
    ]:
        error = call(text)
        assert isinstance(error, ToolFailure)
        assert (str(error), error.tool) == (said, text.partition(" ")[0].join(["t_1.", ""]))


def test_any_other_exception_is_a_failure_without_secrets() -> None:
    outcome, _ = ran(
        "crash", "lc_kit:crash", env={"ROCKETRIDE_S": "s3cr3t-value"}, injected={}, configurable={"key": "${ROCKETRIDE_S}"}
    )
    assert isinstance(outcome, ToolFailure)
    assert "***" in str(outcome)
    assert "s3cr3t" not in str(outcome)
    assert isinstance(outcome.__cause__, KeyError)


def test_an_injected_value_that_does_not_fit_is_no_fault_of_the_model() -> None:
    error = call('mine {"what": "all"}', injected={"user": 7})
    assert type(error) is ToolFailure
    assert "what `injected` of the pipe file gives it does not fit" in str(error)


def test_a_validation_error_of_the_tool_s_own_work_is_no_wrong_input() -> None:
    error = call('inner {"text": "1"}')
    assert type(error) is ToolFailure
    assert "at least 2" in str(error)


def test_a_command_of_langgraph_is_refused() -> None:
    types_of = pytest.importorskip("langgraph.types")

    @kit
    @tool
    def jump(call: Annotated[str, InjectedToolCallId]) -> Any:
        """Jumps."""
        return types_of.Command(update={"messages": [ToolMessage("x", tool_call_id=call)]})

    assert str(call("jump")) == "t_1.jump: it returned a Command, which only a graph of LangGraph can carry out"


def test_a_time_limit_cancels_a_coroutine() -> None:
    HUNG.clear()
    with Kernel(nodes=[Agent]).load(pipe("lc_kit:hang", timeout=0.1)) as pipeline:
        pipeline.run(Entry("e"), TEXT("hang")).checked()
        assert HUNG.wait(5)
    assert isinstance(Agent.outcome, ToolTimeout)


@pytest.mark.parametrize("name", ["stopped", "stopped_too"])
def test_a_tool_that_is_cancelled_from_inside_fails_alone(name: str) -> None:
    error = call(f"{name} {{}}")
    assert isinstance(error, ToolFailure)
    assert str(error) == f"t_1.{name}: it was cancelled from inside"


# ---- what is imported


def test_a_class_a_factory_and_a_toolkit_make_tools() -> None:
    assert call('greet {"whom": "x"}', "lc_kit:Greeter", arguments={"greeting": "Hey"}).startswith("Hey x")
    assert [one.name for one in listed("lc_kit:Kit", arguments={"firm": "Acme"})] == ["t_1.add", "t_1.search"]
    assert [one.name for one in listed("lc_kit:later", arguments={"names": ["add", "old"]}, only=["old"])] == ["t_1.old"]


@pytest.mark.parametrize(
    ("path", "config", "said"),
    [
        ("lc_kit:ad", {}, "t_1: 'lc_kit:ad': 'lc_kit' has no 'ad'; there are add, search, old"),
        ("lc_kit:add.x", {}, "'lc_kit' has no 'add.x'"),
        ("lc_kit:number", {}, "'lc_kit:number' is a int, not a tool, a class of tools, a toolkit, or a function that returns such"),
        ("lc_kit:Opaque", {}, "'lc_kit:Opaque' is the class Opaque, not a tool"),
        ("lc_kit:add", {"arguments": {"a": 1}}, "is made already, so it takes no arguments"),
        ("lc_kit:text_factory", {}, "returned a str, not a tool, .*write @tool of langchain_core.tools above it"),
        ("lc_kit:later", {"arguments": {"names": []}}, "returned an empty list"),
        ("lc_kit:broken", {"arguments": {"key": "k3y"}}, r"failed with `arguments` \(key\): OSError: no connection to the server"),
        ("lc_kit:broken", {}, r"does not fit `arguments` \(none\): missing a required argument: 'key'; it takes: key; if the function itself is the tool"),
        ("lc_kit:Strict", {}, r"does not fit `arguments` \(none\): missing a required argument: 'server'; it takes: server$"),
        ("lc_kit:Kit", {"arguments": {"firm": "a"}, "only": ["sub"]}, "makes no tool 'sub', which `only` names; there are add, search"),
        ("lc_kit:Kit", {"arguments": {"firm": "a"}, "name": "x"}, "`name` is for one tool, and 'lc_kit:Kit' makes 2"),
        ("lc_kit:mine", {}, "the tool 'mine' wants 'user', which no model may set; set `injected.user`"),
        ("lc_kit:add", {"injected": {"b": 1}}, "`injected` has 'b', which is no injected argument"),
    ],
)  # fmt: skip
def test_what_makes_no_tool_is_said_when_the_pipeline_opens(path: str, config: Any, said: str) -> None:
    text = refused(path, **config)
    assert re.search(said, text), text
    assert "k3y" not in text


def test_a_tool_that_wants_the_state_of_a_graph_is_refused() -> None:
    prebuilt = pytest.importorskip("langgraph.prebuilt")

    def stateful(text: str, state: Any) -> str:
        """Stateful."""
        return text

    stateful.__annotations__["state"] = Annotated[dict[str, Any], prebuilt.InjectedState]
    kit(tool(stateful))
    assert "wants 'state'" in refused("lc_kit:stateful")
    assert "only a graph of LangGraph has" in refused("lc_kit:stateful")


def test_modules_that_fail_are_told_from_modules_that_are_missing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "lc_here.py").write_text(
        "from langchain_core.tools import tool\n@tool\ndef two() -> int:\n    'Two.'\n    return 2\n"
    )
    (tmp_path / "lc_needs.py").write_text("import lc_not_there\n")
    (tmp_path / "lc_wrong.py").write_text("1 / 0\n")
    (tmp_path / "lc_lazy.py").write_text("def __getattr__(name):\n    import lc_not_there_either\n")
    (tmp_path / "lc_list.py").write_text("__all__ = ['SearchRun', 'Other']\n")
    assert call("two", "lc_here:two") == 2  # of the working directory
    assert "'lc_needs' needs the module 'lc_not_there', which is not installed; pip install it" in refused("lc_needs:x")
    assert "importing 'lc_wrong' failed with ZeroDivisionError: division by zero" in refused("lc_wrong:x")
    assert "cannot give 'x': ModuleNotFoundError: No module named 'lc_not_there_either'" in refused("lc_lazy:x")
    assert refused("lc_list:SearchRum").endswith("'lc_list' has no 'SearchRum'; there are SearchRun")
    assert "there is no module 'lc_here.sub'; look at how lc_here spells it" in refused("lc_here.sub:x")


# ---- check


def problems(path: str, *, probe: bool = False, **config: Any) -> list[tuple[str, str, str]]:
    found = Kernel(nodes=[Agent]).check(pipe(path, **config), probe=probe)
    return [(one.code, one.path, one.message) for one in found if one.component == "t_1"]


def test_check_says_what_can_be_seen_without_importing(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "$.components[2].config.tool"
    assert problems("lc_kit:add") == []
    assert problems("lc_kit.add") == [("invalid-value", place, "'lc_kit.add' is no import path of a tool")]
    assert problems("lc_missing.x:add") == [
        ("missing-library", place, "'lc_missing.x:add': there is no package or module 'lc_missing'")
    ]
    monkeypatch.setattr("rocketride_tool_langchain.config.is_here", lambda package: package != "langchain_core")
    assert problems("lc_kit:add") == [
        ("missing-library", place, "langchain-core is not installed, which every LangChain tool needs")
    ]


def test_check_with_probe_imports() -> None:
    [(code, _, message)] = problems("lc_kit:nothing", probe=True)
    assert code == "probe-failed"
    assert message.startswith("t_1: 'lc_kit:nothing': 'lc_kit' has no 'nothing'")
    assert problems("lc_kit:add", probe=True) == []


def test_without_langchain_core_the_pipeline_does_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("langchain_core", "rocketride_tool_langchain"))]:
        monkeypatch.setitem(sys.modules, name, sys.modules[name])
    monkeypatch.setitem(sys.modules, "langchain_core.tools", None)
    monkeypatch.setattr("rocketride_tool_langchain.node.faults", lambda config: ())
    said = refused("lc_kit:add")
    assert "langchain-core" in said
    assert "pip install 'langchain-core>=1.0,<2'" in said


# ---- the README


def test_the_readme_s_tool_runs_and_its_table_is_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    [program] = re.findall(r"(?ms)^```python\n(.*?)^```", readme)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_tools", raising=False)
    Path("my_tools.py").write_text(program)
    config = json.loads(re.findall(r"(?ms)^```json\n(.*?)^```", readme)[0])["config"]
    assert call('opening_hours {"day": "Monday"}', config["tool"]) == "closed"
    table = dict(re.findall(r"^\| `(\w+)` \| (?:`([^`]+)`|required) \|", readme.partition("## Configuration")[2], re.MULTILINE))
    defaults = ToolLangchainConfig(tool="")
    assert table == {
        "tool": "",
        **{
            field.name: json.dumps(getattr(defaults, field.name))
            for field in attrs.fields(ToolLangchainConfig)
            if field.name != "tool"
        },
    }
