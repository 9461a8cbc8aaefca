# SPDX-License-Identifier: MIT
"""`pipeline_tools`: what of a pipeline is offered, under which names, and what a call gives, alone and in graphs."""

import asyncio
import gc
import inspect
import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    TEXT,
    Answer,
    Arguments,
    Document,
    Feed,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    PipeError,
    Question,
    Tool,
    ToolFailure,
    hookimpl,
    on,
    source,
    tool,
)
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile, dump_pipe
from rocketride_langgraph import PipelineTools, ToolExecutor, pipeline_tools
from rocketride_langgraph.pipelines import KernelOptions

SECRET = "tr0ub4dor-and-3"


class Desk(Node[None]):
    """Tools of every kind of result."""

    spec = NodeSpec("pt_desk", title="Desk", categories=["tool"])
    both = threading.Barrier(2)
    begun = threading.Event()
    stopped = threading.Event()
    ended = 0

    @hookimpl
    def end_global(self) -> None:
        type(self).ended += 1

    @tool
    def add(self, instance: Instance, a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @tool
    def say(self, instance: Instance, config: str = "", run_manager: str = "") -> str:
        """Parameters that LangChain has its own use for."""
        return config + run_manager

    @tool
    def names(self, instance: Instance) -> list[str]:
        """A list, which LangChain would take for content blocks."""
        return ["Ada", "Grüße"]

    @tool
    def search(self, instance: Instance, query: str) -> dict[str, Any]:
        """What a store gives."""
        return {"results": [{"content": query, "score": 0.5, "metadata": {"parent": "a.txt"}}, {"other": 1}], "total": 2}

    @tool
    def meet(self, instance: Instance) -> str:
        """Return when there are two."""
        self.both.wait(5)
        return instance.entry.object_id

    @tool
    def talk(self, instance: Instance) -> str:
        """Say something meanwhile."""
        instance.event("thinking", message="hm")
        instance.event("token", text="a")
        instance.warn("worn", "the chair is worn")
        instance.count("words", 2)
        return "done"

    @tool
    def hang(self, instance: Instance) -> str:
        """Hang until it is over."""
        over = threading.Event()
        self.begun.set()
        try:
            with instance.on_cancel(over.set):
                over.wait(10)
        finally:  # its thread is given an exception at the time limit
            self.stopped.set()
        return "late"

    @tool
    def leak(self, instance: Instance) -> str:
        """Fail with a secret."""
        raise ValueError(f"the key {SECRET} is wrong")


class Shelf(Node[None]):
    """A store: it is fed, and has tools for whoever is given them."""

    spec = NodeSpec("pt_shelf", title="Shelf", stores=True)

    @on(QUESTIONS, emits=[DOCUMENTS])
    def question(self, instance: Instance, question: Question) -> None:
        found = [Document(text, {"parent": "b.txt"}, score=0.25) for text in question.texts]
        instance.emit(DOCUMENTS, found)

    @tool
    def delete(self, instance: Instance) -> str:
        """Delete everything."""
        return "gone"


class Model(Node[None]):
    """Answers, and says a token."""

    spec = NodeSpec("pt_model", title="Model")

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        if question.texts[0] == "fail":
            raise ValueError(f"no answer with {SECRET}")
        instance.event("token", text="To")
        instance.emit(ANSWERS, Answer(f"To {question.texts[0]}"))


class Broken(Node[None]):
    spec = NodeSpec("pt_broken", title="Broken")
    ended = 0

    @hookimpl
    def end_global(self) -> None:
        type(self).ended += 1

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        raise OSError("the server is down")


class Timer(Node[None]):
    spec = NodeSpec("pt_timer", title="Timer", categories=["source"])

    @source(emits=[TEXT])
    def run(self, feed: Feed) -> None:
        raise AssertionError


NODES = [Desk, Shelf, Model, Broken, Timer]
CHAT = Component("chat_1", "chat")
ASKED: list[Component] = [
    CHAT,
    Component("model_1", "pt_model", {"key": "${ROCKETRIDE_PT_KEY:-none}"}, [LaneLink("questions", "chat_1")]),
    Component("response_1", "response_answers", input=[LaneLink("answers", "model_1")]),
]
FOUND: list[Component] = [
    CHAT,
    Component("shelf_1", "pt_shelf", input=[LaneLink("questions", "chat_1")]),
    Component("response_1", "response_documents", input=[LaneLink("documents", "shelf_1")]),
]


def agent(*tools: Component) -> PipeFile:
    """An agent in the main flow, with these on its `tool` slot."""
    link = ControlLink("tool", "agent_1")
    wired = [Component(one.id, one.provider, one.config, one.input, [link]) for one in tools]
    main = [
        CHAT,
        Component("agent_1", "test_agent", {}, [LaneLink("questions", "chat_1")]),
        Component("response_1", "response_answers", input=[LaneLink("answers", "agent_1")]),
    ]
    return PipeFile([*main, *wired], "chat_1", file="support.pipe")


def of(pipe: Any, **options: Any) -> PipelineTools:
    return pipeline_tools(pipe, nodes=NODES, **options)


@pytest.fixture
def desk() -> Iterator[PipelineTools]:
    Desk.begun.clear()
    Desk.stopped.clear()
    with of(agent(Component("desk_1", "pt_desk", {"key": "${ROCKETRIDE_PT_KEY}"})), env={"ROCKETRIDE_PT_KEY": SECRET}) as tools:
        yield tools


def called(one: BaseTool, **arguments: Any) -> ToolMessage:
    message = one.invoke({"type": "tool_call", "name": one.name, "id": "7", "args": arguments})
    assert isinstance(message, ToolMessage)
    return message


# --- what is offered --------------------------------------------------------------------------------------------------


def test_the_whole_comes_first_and_then_the_tools_in_file_order(desk: PipelineTools) -> None:
    names = [one.name for one in desk]
    assert names[:3] == ["support", "desk_1__add", "desk_1__say"]
    assert len(names) == len(desk) == 9
    add = convert_to_openai_tool(desk.by_name("desk_1.add"))["function"]
    assert add["description"] == "Add two numbers."
    assert add["parameters"]["required"] == ["a"]
    assert desk.by_name("desk_1__add") is desk[1]
    assert convert_to_openai_tool(desk[0])["function"]["parameters"]["required"] == ["question"]
    more = [desk[1]]
    assert [*desk, *more] == desk + more
    assert more + desk == [*more, *desk]
    with pytest.raises(KeyError, match=r"desk_1\.sub: there are support, desk_1__add"):
        desk.by_name("desk_1.sub")


def test_a_store_that_is_fed_keeps_its_tools_to_itself() -> None:
    with of(PipeFile(FOUND, file="ask.pipe")) as tools:
        assert [one.name for one in tools] == ["ask"]


def test_what_can_only_be_a_tool_is_one_though_nothing_is_wired_to_it() -> None:
    loose = [Component("desk_1", "pt_desk"), Component("pipe_1", "tool_pipe", {"tool_description": "Echo."})]
    loose.append(Component("end_1", "response_text", input=[LaneLink("text", "pipe_1")]))
    with of(PipeFile(loose)) as tools:
        assert {one.full_name.partition(".")[0] for one in tools} == {"desk_1", "pipe_1"}  # type: ignore[attr-defined]
        assert called(tools.by_name("pipe_1.run_pipe"), data="abc").content == '{"result": "abc"}'


def test_only_and_whole_choose(tmp_path: Path) -> None:
    pipe = agent(Component("desk_1", "pt_desk"), Component("shelf_1", "pt_shelf"), Component("broken_1", "pt_broken"))
    path = tmp_path / "support.pipe"
    path.write_text(dump_pipe(pipe))
    with of(path, only=["desk_1.add", "shelf_1"], whole=False) as tools:
        assert [one.name for one in tools] == ["desk_1__add", "shelf_1__delete"]
    with of(str(path), only=[], name="Hélp me", description="Helps.") as tools:
        assert [(one.name, one.description) for one in tools] == [("H_lp_me", "Helps.")]
    with of(path, only=["shelf_1"], whole=False, prefix="support") as tools:
        assert [one.name for one in tools] == ["support__shelf_1__delete"]


def test_a_provider_that_cannot_list_its_tools_takes_none_of_the_others_away() -> None:
    pipe = agent(Component("broken_1", "pt_broken"), Component("desk_1", "pt_desk"))
    tools = of(pipe)
    with pytest.warns(
        RuntimeWarning, match=r"^support\.pipe: broken_1 cannot list its tools: the server is down; the other tools are offered"
    ):
        assert len(tools) == 9
    assert dict(tools.unlisted) == {"broken_1": "broken_1 cannot list its tools: the server is down"}
    assert called(tools.by_name("desk_1.add"), a=1).content == "2"
    tools.close()


def test_where_no_tool_can_be_listed_it_is_said_and_everything_closed_again() -> None:
    before = Broken.ended
    with pytest.raises(ToolFailure, match="broken_1 cannot list its tools: the server is down"):
        len(of(agent(Component("broken_1", "pt_broken"), Component("desk_1", "pt_desk")), only=["broken_1"], whole=False))
    assert Broken.ended == before + 1


@pytest.mark.parametrize(
    ("pipe", "options", "why"),
    [
        (PipeFile([Component("timer_1", "pt_timer"), Component("end_1", "response_text", input=[LaneLink("text", "timer_1")])]), {}, "fetches by itself"),
        (PipeFile([*ASKED, Component("chat_2", "chat")]), {}, "choose a source, chat_1, chat_2"),
        (PipeFile(ASKED), {"source": "model_1"}, "model_1 is no source"),
        (PipeFile(ASKED[1:2]), {}, "it has no source"),
        (PipeFile([CHAT]), {}, "no text can be sent on the lanes of chat_1"),
        (PipeFile(ASKED), {"whole": False, "only": ["desk_1"]}, "offers no tools among desk_1"),
    ],
)  # fmt: skip
def test_nothing_to_offer_is_said_with_the_reason(pipe: PipeFile, options: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        len(of(pipe, **options))
    if "only" not in options:
        with pytest.raises(ValueError, match=f"the pipeline cannot be one tool as a whole: .*{why}"):
            len(of(pipe, whole=True, **options))


def test_another_source_may_be_chosen() -> None:
    parts = [*ASKED, Component("hook_1", "webhook")]
    parts.append(Component("echo_1", "response_text", input=[LaneLink("text", "hook_1")]))
    with of(PipeFile(parts), source="hook_1") as tools:
        assert called(tools[0], text="abc").content == "abc"
    with of(PipeFile(parts), source="chat_1") as tools:
        assert called(tools[0], question="abc").content == "To abc"


def test_a_file_that_is_wrong_is_said_at_the_first_use_with_its_places(tmp_path: Path) -> None:
    path = tmp_path / "bad.pipe"
    path.write_text(dump_pipe(PipeFile([*ASKED, Component("x_1", "pt_missing", input=[LaneLink("answers", "model_1")])])))
    tools = of(path)
    assert repr(tools) == "<PipelineTools: not open yet>"
    with pytest.raises(PipeError) as caught:
        tools[0]
    [problem] = [one for one in caught.value.problems if one.severity == "error"]
    assert (problem.path, problem.code, problem.file) == ("$.components[3].provider", "unknown-provider", str(path))


def test_ids_of_ours_give_way() -> None:
    parts = [Component("chat_1", "chat"), Component("pipeline", "pt_model", input=[LaneLink("questions", "chat_1")])]
    parts.append(Component("host", "response_answers", input=[LaneLink("answers", "pipeline")]))
    with of(PipeFile([*parts, Component("calls", "pt_desk")])) as tools:
        assert called(tools[0], question="x").content == "To x"
        assert called(tools.by_name("calls.add"), a=1).content == "2"


# --- what a call gives ------------------------------------------------------------------------------------------------


def test_results_are_json_and_texts_are_texts(desk: PipelineTools) -> None:
    assert called(desk.by_name("desk_1.add"), a=4).content == "5"
    assert called(desk.by_name("desk_1.names")).content == '["Ada", "Grüße"]'
    assert called(desk.by_name("desk_1.say"), config="a", run_manager="b").content == "ab"
    assert desk.by_name("desk_1.add").invoke({"a": 1, "b": 2}) == "3"
    message = called(desk.by_name("desk_1.talk"))
    assert message.artifact == {
        "value": "done",
        "documents": [],
        "objects": [],
        "usage": {"desk_1": {"words": 2}},
        "warnings": ["the chair is worn"],
    }


def test_documents_are_the_artifact(desk: PipelineTools) -> None:
    [hit] = called(desk.by_name("desk_1.search"), query="q").artifact["documents"]
    assert (hit.page_content, hit.metadata) == ("q", {"parent": "a.txt", "score": 0.5})
    with of(PipeFile(FOUND)) as tools:
        message = called(tools[0], question="why")
    [found] = message.artifact["documents"]
    assert (found.page_content, found.metadata) == ("why", {"parent": "b.txt", "score": 0.25})
    assert json.loads(str(message.content))["page_content"] == "why"
    parts = [Component("pipe_1", "tool_pipe", {"return_type": "documents"}, control=[])]
    parts.append(Component("shelf_1", "pt_shelf", input=[LaneLink("questions", "pipe_1")]))
    parts.append(Component("end_1", "response_documents", input=[LaneLink("documents", "shelf_1")]))
    with of(PipeFile(parts)) as tools:
        assert called(tools[0], data="deep").artifact["documents"][0].page_content == "deep"


def test_several_lanes_are_told_apart_and_none_is_said() -> None:
    parts = [*ASKED, Component("shelf_1", "pt_shelf", input=[LaneLink("questions", "chat_1")])]
    parts.append(Component("end_1", "response_documents", input=[LaneLink("documents", "shelf_1")]))
    with of(PipeFile(parts)) as tools:
        content = json.loads(str(called(tools[0], question="x").content))
    assert content["answers"] == ["To x"]
    assert content["documents"][0]["page_content"] == "x"
    with of(PipeFile([CHAT, Component("shelf_1", "pt_shelf", input=[LaneLink("questions", "chat_1")])])) as tools:
        assert called(tools[0], question="x").content == "The pipeline gave no response."


def test_ainvoke_is_the_same(desk: PipelineTools) -> None:
    async def go() -> tuple[Any, ...]:
        add, talk = desk.by_name("desk_1.add"), desk.by_name("desk_1.talk")
        return await add.ainvoke({"a": 1}), (
            await talk.ainvoke({"type": "tool_call", "name": "t", "id": "1", "args": {}})
        ).artifact

    value, artifact = asyncio.run(go())
    assert value == "2"
    assert artifact["usage"] == {"desk_1": {"words": 2}}


def test_calls_overlap_and_share_nothing(desk: PipelineTools) -> None:
    meet = desk.by_name("desk_1.meet")
    assert len(set(meet.batch([{}, {}]))) == 2

    async def both() -> Any:
        return await asyncio.gather(meet.ainvoke({}), meet.ainvoke({}))

    assert len(set(asyncio.run(both()))) == 2


# --- errors -----------------------------------------------------------------------------------------------------------


def test_errors_are_our_sentence_without_secrets(desk: PipelineTools) -> None:
    wrong = called(desk.by_name("desk_1.add"), a="x")
    assert wrong.status == "error"
    assert str(wrong.content).startswith("$.a: ")
    assert called(desk.by_name("desk_1.leak")).content == "desk_1.leak: the key *** is wrong"
    with of(PipeFile(ASKED), env={"ROCKETRIDE_PT_KEY": SECRET}, on_error="raise") as tools:
        with pytest.raises(ToolException, match=r"^model_1: no answer with \*\*\*$") as caught:
            tools[0].invoke({"question": "fail"})
        assert isinstance(caught.value.__cause__, ToolFailure)
        with pytest.raises(ToolException, match=r"question"):
            asyncio.run(tools[0].ainvoke({"text": "x"}))
    assert SECRET not in repr(tools[0])


def test_a_call_has_a_time_limit() -> None:
    Desk.stopped.clear()
    with of(agent(Component("desk_1", "pt_desk")), timeout=0.1, on_error="raise") as tools:
        with pytest.raises(ToolException, match=r"desk_1\.hang.* 0\.1\d* s"):
            tools.by_name("desk_1.hang").invoke({})
        assert Desk.stopped.wait(5)


def test_a_task_that_is_cancelled_cancels_its_entry(desk: PipelineTools) -> None:
    async def go() -> None:
        task = asyncio.create_task(desk.by_name("desk_1.hang").ainvoke({}))
        await asyncio.to_thread(Desk.begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert Desk.stopped.wait(5)


def test_options_are_checked() -> None:
    for options, why in [
        ({"timeout": 0}, "timeout is a number of seconds over 0"),
        ({"on_error": "ignore"}, "on_error is 'message' or 'raise'"),
        ({"only": "desk_1"}, r"write only=\['desk_1'\]"),
    ]:
        with pytest.raises(ValueError, match=why):
            of(PipeFile(ASKED), **options)  # type: ignore[arg-type]


# --- events -----------------------------------------------------------------------------------------------------------


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append((name, data))


THINKING = {"kind": "thinking", "tool": "desk_1__talk", "component": "desk_1", "data": {"message": "hm"}}


def test_what_the_pipeline_says_reaches_callbacks(desk: PipelineTools) -> None:
    talk = desk.by_name("desk_1.talk")
    for call in (lambda config: talk.invoke({}, config), lambda config: asyncio.run(talk.ainvoke({}, config))):
        heard = Heard()
        call({"callbacks": [heard]})
        assert [name for name, _ in heard.events] == ["rocketride.thinking", "rocketride.token"]
        assert heard.events[0][1] == THINKING
    assert called(desk[0], question="x").content == "x"


def test_astream_events_has_them_before_the_end(desk: PipelineTools) -> None:
    async def go() -> list[str]:
        return [event["name"] async for event in desk.by_name("desk_1.talk").astream_events({}, version="v2")]

    assert asyncio.run(go()) == ["desk_1__talk", "rocketride.thinking", "rocketride.token", "desk_1__talk"]


# --- in graphs --------------------------------------------------------------------------------------------------------


def asking(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    made = [{"name": name, "args": args, "id": str(n)} for n, (name, args) in enumerate(calls)]
    return {"messages": [HumanMessage("go"), AIMessage("", tool_calls=made)]}


def graph(node: Any, **options: Any) -> Any:
    langgraph = pytest.importorskip("langgraph.graph")
    built = langgraph.StateGraph(langgraph.MessagesState)
    built.add_node("tools", node)
    built.add_edge(langgraph.START, "tools")
    return built.compile(**options)


@pytest.mark.parametrize("ours", [False, True], ids=["ToolNode", "ToolExecutor"])
def test_parallel_calls_stream_and_checkpoints_in_a_graph(desk: PipelineTools, ours: bool) -> None:
    prebuilt = pytest.importorskip("langgraph.prebuilt")
    from langgraph.checkpoint.memory import InMemorySaver

    node = ToolExecutor(desk) if ours else prebuilt.ToolNode(list(desk))
    app = graph(node, checkpointer=InMemorySaver())
    given = asking(("desk_1__meet", {}), ("desk_1__meet", {}), ("desk_1__names", {}), ("desk_1__leak", {}), ("desk_1__talk", {}))
    config: Any = {"configurable": {"thread_id": "1"}}
    said = list(app.stream(given, config, stream_mode="custom"))
    assert [one["kind"] for one in said] == ["thinking", "token"]
    assert said[0] == THINKING

    async def again() -> list[Any]:
        other: Any = {"configurable": {"thread_id": "2"}}
        return [one async for one in app.astream(given, other, stream_mode="custom")]

    assert asyncio.run(again()) == said
    messages = app.get_state(config).values["messages"][2:]
    assert messages[0].content != messages[1].content
    assert messages[2].content == '["Ada", "Grüße"]'
    assert messages[3].status == "error"
    assert "the key *** is wrong" in messages[3].content
    assert messages[4].artifact["usage"] == {"desk_1": {"words": 2}}


def test_an_executor_takes_both_names(desk: PipelineTools) -> None:
    done = ToolExecutor(desk)(asking(("desk_1.add", {"a": 1}), ("desk_1__say", {"config": "x"}), ("support", {"question": "q"})))
    assert [json.loads(message.content) for message in done["messages"]] == [2, "x", "q"]


# --- opened and closed ------------------------------------------------------------------------------------------------


def test_with_closes_and_calls_after_it_are_told() -> None:
    before = Desk.ended
    with of(agent(Component("desk_1", "pt_desk")), on_error="raise") as tools:
        assert Desk.ended == before
    assert Desk.ended == before + 1
    with pytest.raises(ToolException, match="the pipeline is closed"):
        tools[1].invoke({"a": 1})
    tools.close()
    assert Desk.ended == before + 1


def test_the_last_tool_closes_what_nobody_closed() -> None:
    before = Desk.ended
    kept = of(agent(Component("desk_1", "pt_desk"))).by_name("desk_1.add")
    gc.collect()
    assert kept.invoke({"a": 1}) == "2"
    assert Desk.ended == before
    del kept
    for _ in range(50):
        gc.collect()
        if Desk.ended == before + 1:
            break
        time.sleep(0.02)
    assert Desk.ended == before + 1


def test_async_with_opens_beside_the_loop() -> None:
    before = Desk.ended

    async def go() -> Any:
        async with of(agent(Component("desk_1", "pt_desk"))) as tools:
            return await tools[1].ainvoke({"a": 1})

    assert asyncio.run(go()) == "2"
    assert Desk.ended == before + 1


def test_threads_that_come_first_together_open_once() -> None:
    before = Desk.ended
    tools = of(agent(Component("desk_1", "pt_desk")))
    threads = [threading.Thread(target=len, args=(tools,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tools.close()
    assert Desk.ended == before + 1


def test_a_running_pipeline_is_one_tool_and_stays_open() -> None:
    with Kernel(nodes=NODES, env={"ROCKETRIDE_PT_KEY": SECRET}).load(PipeFile(ASKED)) as pipeline:
        with pipeline_tools(pipeline, name="ask", description="Answers.", on_error="raise") as tools:
            [one] = tools
            heard = Heard()
            assert (one.name, one.description) == ("ask", "Answers.")
            assert one.invoke({"question": "x"}, {"callbacks": [heard]}) == "To x"
            assert heard.events[0][1]["data"] == {"text": "To"}
            with pytest.raises(ToolException, match=r"^model_1: no answer with \*\*\*$"):
                one.invoke({"question": "fail"})
            for wrong in ({}, {"text": "x"}, {"question": ""}):
                with pytest.raises(ToolException, match="question"):
                    one.invoke(wrong)
        assert one.invoke({"question": "y"}) == "To y"
        for option in ({"only": ["a"]}, {"whole": False}, {"source": "chat_1"}, {"env": {"A": "b"}}):
            with pytest.raises(ValueError, match=f"{next(iter(option))} does not go with a running pipeline"):
                pipeline_tools(pipeline, **option)  # type: ignore[arg-type]
    with pytest.raises(ToolException, match="the pipeline is closed"):
        one.invoke({"question": "x"})
    with Kernel(nodes=NODES).load(PipeFile([CHAT])) as pipeline, pytest.raises(ValueError, match="no text can be sent"):
        len(pipeline_tools(pipeline))


def test_options_of_a_kernel_are_those_of_the_kernel() -> None:
    assert list(KernelOptions.__annotations__) == list(inspect.signature(Kernel).parameters)


def test_a_host_plugin_guards_these_calls_too() -> None:
    seen: list[tuple[str, Arguments]] = []

    class Watch:
        @hookimpl
        def invoke_tool(self, name: str, arguments: Arguments) -> None:
            seen.append((name, dict(arguments)))

    with of(agent(Component("desk_1", "pt_desk")), plugins=[Watch()]) as tools:
        called(tools.by_name("desk_1.add"), a=1)
        called(tools[0], question="x")
    assert seen == [("desk_1.add", {"a": 1}), ("pipeline.run", {"question": "x"})]
