# SPDX-License-Identifier: MIT
"""Inside real LangGraph graphs: state, conditions, a checkpointer, interrupts, injected arguments, commands."""

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from typing_extensions import TypedDict

pytest.importorskip("langgraph")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime, tools_condition
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Send, interrupt

from rocketride_langgraph import ToolExecutor


@tool
def weather(city: str) -> dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "degrees": 21}


def broken(city: str) -> str:
    """Fail."""
    raise ValueError("the service is down")


def asks(*calls: tuple[str, dict[str, Any]], turn: int = 1) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"{turn}.{n}"} for n, (name, args) in enumerate(calls)])


RESUME: Any = Command(resume="yes")


class Scripted(GenericFakeChatModel):
    """A chat model that says what is written, and keeps what it was sent."""

    seen: list[list[BaseMessage]] = []

    def _generate(self, messages: list[BaseMessage], *rest: Any, **more: Any) -> Any:
        self.seen.append(list(messages))
        return super()._generate(messages, *rest, **more)


def scripted(*replies: AIMessage) -> Scripted:
    def each() -> Iterator[AIMessage]:
        yield from replies

    return Scripted(messages=each(), seen=[])


def agent(model: Scripted, tools: Sequence[Any], **options: Any) -> Any:
    """The graph that LangGraph's documentation begins with."""
    graph = StateGraph(MessagesState)
    graph.add_node("chatbot", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolExecutor(tools))
    graph.add_conditional_edges("chatbot", tools_condition)
    graph.add_edge("tools", "chatbot")
    graph.add_edge(START, "chatbot")
    return graph.compile(**options)


def answered(messages: Sequence[BaseMessage]) -> None:
    """After a message that asks comes one answer for each call, in order, as vendors demand."""
    at = 0
    while at < len(messages):
        calls = [call["id"] for call in getattr(messages[at], "tool_calls", ())]
        at += 1
        assert [getattr(one, "tool_call_id", None) for one in messages[at : at + len(calls)]] == calls
        at += len(calls)
        assert at >= len(messages) or not isinstance(messages[at], ToolMessage)


@pytest.mark.parametrize("awaited", [False, True])
async def test_an_agent(awaited: bool) -> None:
    model = scripted(asks(("weather", {"city": "Köln"}), ("weather", {"city": "Rom"})), AIMessage("21 degrees in both"))
    given = {"messages": [HumanMessage("How is it?")]}
    app = agent(model, [weather])
    done = await app.ainvoke(given) if awaited else app.invoke(given)
    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "tool", "ai"]
    assert [m.content for m in done["messages"][2:4]] == ['{"city": "Köln", "degrees": 21}', '{"city": "Rom", "degrees": 21}']
    assert done["messages"][-1].content == "21 degrees in both"
    answered(model.seen[-1])


async def test_a_failing_tool_does_not_end_the_run_and_leaves_a_sound_history() -> None:
    model = scripted(
        asks(("broken", {"city": "Rom"}), ("nothing", {}), ("weather", {"town": "Rom"})),
        asks(("weather", {"city": "Rom"}), turn=2),
        AIMessage("21 degrees"),
        AIMessage("still 21"),
    )
    app = agent(model, [weather, broken], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "a"}}
    app.invoke({"messages": [HumanMessage("How is it?")]}, thread)
    done = await app.ainvoke({"messages": [HumanMessage("And now?")]}, thread)
    assert [m.status for m in done["messages"] if isinstance(m, ToolMessage)] == ["error", "error", "error", "success"]
    assert [m.content for m in done["messages"] if isinstance(m, HumanMessage)] == ["How is it?", "And now?"]
    for seen in model.seen:
        answered(seen)
    assert len(model.seen) == 4
    assert done["messages"][-1].content == "still 21"


def test_a_chosen_exception_ends_the_run() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolExecutor([broken], on_error=(ValueError,)))
    graph.add_edge(START, "tools")
    with pytest.raises(ValueError, match="the service is down"):
        graph.compile().invoke({"messages": [asks(("broken", {"city": "Rom"}))]})


async def test_an_interrupt_waits_for_a_human_and_goes_on() -> None:
    ran: list[str] = []

    @tool
    def book(city: str) -> str:
        """Book a room."""
        answer = interrupt({"book": city})
        ran.append(city)
        return f"booked: {answer}"

    for awaited in (False, True):
        app = agent(scripted(asks(("book", {"city": "Rom"})), AIMessage("done")), [book], checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "a"}}
        given, resume = {"messages": [HumanMessage("Book")]}, RESUME
        paused = await app.ainvoke(given, thread) if awaited else app.invoke(given, thread)
        assert [one.value for one in paused["__interrupt__"]] == [{"book": "Rom"}]
        done = await app.ainvoke(resume, thread) if awaited else app.invoke(resume, thread)
        assert json.loads(done["messages"][-2].content) == "booked: yes"
    assert ran == ["Rom", "Rom"]


class Session(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    user: str


def of_session(node: Any, **options: Any) -> Any:
    graph = StateGraph(Session)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    return graph.compile(**options)


@tool
def whose(x: int, user: Annotated[str, InjectedState("user")], state: Annotated[dict[str, Any], InjectedState]) -> list[Any]:
    """Say whose session it is."""
    return [x, user, sorted(state)]


@tool
def remember(text: str, store: Annotated[Any, InjectedStore()]) -> str:
    """Remember a text."""
    store.put(("notes",), "last", {"text": text})
    return "ok"


@tool
def about(runtime: ToolRuntime, x: int = 0) -> dict[str, Any]:
    """Say what is known."""
    return {"id": runtime.tool_call_id, "user": runtime.state["user"], "tools": [one.name for one in runtime.tools]}


@tool
def film(runtime: int) -> int:
    """A parameter with an unlucky name is still the model's."""
    return runtime


@pytest.mark.parametrize("awaited", [False, True])
async def test_what_the_graph_injects_cannot_be_forged(awaited: bool) -> None:
    store = InMemoryStore()
    app = of_session(ToolExecutor([whose, remember, about, film]), store=store)
    message = asks(
        ("whose", {"x": 1, "user": "eve", "state": {}}), ("remember", {"text": "hi"}), ("about", {}), ("film", {"runtime": 90})
    )
    given = {"messages": [message], "user": "ann"}
    done = await app.ainvoke(given) if awaited else app.invoke(given)
    read = [json.loads(m.content) for m in done["messages"][1:]]
    assert read == [
        [1, "ann", ["messages", "user"]],
        "ok",
        {"id": "1.2", "user": "ann", "tools": ["whose", "remember", "about", "film"]},
        90,
    ]
    assert store.get(("notes",), "last").value == {"text": "hi"}  # type: ignore[union-attr]


def test_a_graph_that_lacks_what_a_tool_is_to_be_given_is_told_so() -> None:
    with pytest.raises(ValueError, match="remember: 'store' is to be given the store: compile the graph with store="):
        of_session(ToolExecutor([remember])).invoke({"messages": [asks(("remember", {"text": "x"}))], "user": "ann"})
    with pytest.raises(ValueError, match="whose: the state has no 'user', which the parameter 'user' is to be given"):
        ToolExecutor([whose])({"messages": [asks(("whose", {"x": 1}))]})


def test_bad_arguments_are_told_without_what_is_injected() -> None:
    [message] = ToolExecutor([whose])({"messages": [asks(("whose", {"x": "many"}))], "user": "ann"})["messages"]
    text = json.loads(message.content)["error"]
    assert "x: Input should be a valid integer" in text
    assert text.endswith("it takes x")


@tool
def promote(name: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
    """Make somebody the user."""
    return Command(update={"user": name, "messages": [ToolMessage("done", tool_call_id=tool_call_id)]})


@tool
def forget() -> Any:
    """Update the state and answer nothing."""
    return Command(update={"user": "nobody"})


async def test_a_tool_may_update_the_state() -> None:
    app = of_session(ToolExecutor([promote, weather]))
    given = {
        "messages": [asks(("weather", {"city": "Rom"}), ("promote", {"name": "bob"}), ("weather", {"city": "Köln"}))],
        "user": "ann",
    }
    for done in (app.invoke(given), await app.ainvoke(given)):
        assert done["user"] == "bob"
        assert [m.name for m in done["messages"][1:]] == ["weather", "promote", "weather"]
        assert done["messages"][2].content == "done"


def test_an_update_without_an_answer_is_refused() -> None:
    done = of_session(ToolExecutor([forget])).invoke({"messages": [asks(("forget", {}))], "user": "ann"})
    assert done["user"] == "ann"
    assert "every call needs one ToolMessage" in done["messages"][-1].content
    assert done["messages"][-1].status == "error"


def test_commands_to_a_parent_graph_are_put_together() -> None:
    @tool
    def hand_over(to: str) -> Any:
        """Hand over."""
        return Command(graph=Command.PARENT, goto=[Send("worker", {"to": to})])

    done = ToolExecutor([hand_over, weather])(
        {"messages": [asks(("hand_over", {"to": "a"}), ("weather", {"city": "Rom"}), ("hand_over", {"to": "b"}))]}
    )
    assert [type(one) for one in done] == [Command, dict]
    assert [send.arg for send in done[0].goto] == [{"to": "a"}, {"to": "b"}]


def test_it_takes_what_send_brings() -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolExecutor([weather]))
    graph.add_node("start", lambda state: {})
    graph.add_edge(START, "start")
    graph.add_conditional_edges(
        "start",
        lambda state: [Send("tools", [{**call, "type": "tool_call"}]) for call in state["messages"][-1].tool_calls],
        ["tools"],
    )
    done = graph.compile().invoke({"messages": [asks(("weather", {"city": "Rom"}), ("weather", {"city": "Köln"}))]})
    assert [json.loads(m.content)["city"] for m in done["messages"][1:]] == ["Rom", "Köln"]


@pytest.mark.parametrize("made", [ToolNode, ToolExecutor])
async def test_a_graph_streams_the_same_with_toolnode_and_with_it(made: Any) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", made([weather]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    app: Any = graph.compile()
    given = {"messages": [asks(("weather", {"city": "Rom"}))]}
    [update] = list(app.stream(given, stream_mode="updates"))
    assert json.loads(update["tools"]["messages"][0].content) == {"city": "Rom", "degrees": 21}
    events = [event async for event in app.astream_events(given, version="v2")]
    assert [event["name"] for event in events if event["event"] == "on_tool_end"] == ["weather"]
    assert "tools" in app.get_graph().draw_mermaid()
