# SPDX-License-Identifier: MIT
"""The executor by itself: what it takes, what it answers, how it runs."""

import asyncio
import contextvars
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Annotated, Any, cast

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, Tool, ToolException, tool
from pydantic import BaseModel

from rocketride_core import ToolInput, ToolTimeout, UnknownTool
from rocketride_langgraph import BasicToolNode, NotJson, ToolExecutor

Calls = tuple[str, dict[str, Any]]


def asked(*calls: Calls) -> dict[str, Any]:
    wanted = [{"name": name, "args": args, "id": f"call_{n}", "type": "tool_call"} for n, (name, args) in enumerate(calls)]
    return {"messages": [HumanMessage("go"), AIMessage("", tool_calls=wanted)]}


async def both(executor: ToolExecutor, given: Any, **config: Any) -> list[ToolMessage]:
    """The answers, which are the same when it is called, invoked and awaited."""
    called = await asyncio.to_thread(executor, given, cast(RunnableConfig, config))
    awaited = await executor.ainvoke(given, cast(RunnableConfig, config))
    assert called == awaited
    return called["messages"]  # type: ignore[no-any-return]


def read(message: ToolMessage) -> Any:
    assert isinstance(message.content, str)
    return json.loads(message.content)


def failure(message: ToolMessage) -> tuple[str, str]:
    assert message.status == "error"
    found = read(message)
    return found["type"], found["error"]


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def fail(text: str = "no such file") -> str:
    """Fail."""
    raise ValueError(text)


# --- the document the node comes from ---------------------------------------------------------------------------------


async def test_the_example_of_the_tutorial() -> None:
    @tool
    def search_tool(query: str) -> dict[str, list[str]]:
        """Search the internet."""
        return {"results": ["教程1", "教程2"]} if query == "Python 教程" else {"results": []}

    @tool
    def lookup_policy(query: str) -> str:
        """Look up the policy."""
        return f"政策: {query}"

    @tool
    def query_sqldb(sql: str) -> list[dict[str, Any]]:
        """Query the database."""
        return [{"id": 1, "name": "张三"}]

    node = BasicToolNode(tools=[search_tool, lookup_policy, query_sqldb])
    assert list(node.tools_by_name) == ["search_tool", "lookup_policy", "query_sqldb"]
    wanted = [
        {"id": "123", "name": "search_tool", "args": {"query": "Python 教程"}},
        {"id": "124", "name": "lookup_policy", "args": {"query": "退款"}},
        {"id": "125", "name": "query_sqldb", "args": {"sql": "select 1"}},
    ]
    assert node({"messages": [AIMessage("", tool_calls=wanted)]}) == {
        "messages": [
            ToolMessage('{"results": ["教程1", "教程2"]}', name="search_tool", tool_call_id="123"),
            ToolMessage('"政策: 退款"', name="lookup_policy", tool_call_id="124"),
            ToolMessage('[{"id": 1, "name": "张三"}]', name="query_sqldb", tool_call_id="125"),
        ]
    }


@pytest.mark.parametrize("given", [{}, {"messages": []}, {"messages": None}, [], {"other": [AIMessage("")]}])
async def test_no_message(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^No message found in input$"):
        ToolExecutor([add])(given)
    with pytest.raises(ValueError, match=r"^No message found in input$"):
        await ToolExecutor([add]).ainvoke(given)


def test_a_last_message_that_is_no_models_is_refused_by_its_type() -> None:
    earlier = asked(("add", {"a": 1}))["messages"]
    with pytest.raises(ValueError, match="HumanMessage, not an AIMessage"):
        ToolExecutor([add])({"messages": [*earlier, ("user", "hello")]})


async def test_no_calls_are_no_messages() -> None:
    assert await both(ToolExecutor([add]), {"messages": [AIMessage("done")]}) == []


# --- what it takes ----------------------------------------------------------------------------------------------------


async def test_the_forms_of_an_input() -> None:
    executor, answer = ToolExecutor([add]), ToolMessage("3", name="add", tool_call_id="x")
    call = {"name": "add", "args": {"a": 1, "b": 2}, "id": "x", "type": "tool_call"}
    openai = {"id": "x", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}

    class State(BaseModel):
        messages: list[Any]

    message = AIMessage("", tool_calls=[call])
    for given in (
        {"messages": [message]},
        {"messages": message},
        {"messages": [{"role": "assistant", "content": "", "tool_calls": [openai]}]},
        State(messages=[message]),
        [call],
        {"__type": "tool_call_with_context", "tool_call": call, "state": {}},
    ):
        assert await both(executor, given) == [answer]
    assert executor([message]) == [answer]
    assert ToolExecutor([add], messages_key="chat")({"chat": [message]}) == {"chat": [answer]}


class Counting(BaseTool):
    """A tool that keeps a state of its own."""

    name: str = "counting"
    description: str = "Count."
    count: int = 0

    def _run(self, step: int) -> int:
        self.count += step
        return self.count


class AsyncOnly(BaseTool):
    name: str = "async_only"
    description: str = "Has no blocking form."

    def _run(self, x: int) -> int:
        raise NotImplementedError("use arun")

    async def _arun(self, x: int) -> int:
        await asyncio.sleep(0)
        return -x


async def test_every_kind_of_tool() -> None:
    def plain(text: str, times: int = 2) -> str:
        """Repeat a text."""
        return text * times

    async def waiting(text: str) -> str:
        """Give a text back."""
        await asyncio.sleep(0)
        return text

    class Duck:
        name = "duck"

        def invoke(self, arguments: dict[str, Any]) -> dict[str, Any]:
            return {"got": arguments}

    counting = Counting()
    structured = StructuredTool.from_function(func=lambda x: x + 1, name="structured", description="Add one.", infer_schema=True)
    single = Tool(name="single", description="One text.", func=lambda text: text.upper())
    executor = ToolExecutor([add, plain, waiting, counting, AsyncOnly(), structured, single, Duck()])
    given = asked(
        ("add", {"a": 1}),
        ("plain", {"text": "ab"}),
        ("waiting", {"text": "x"}),
        ("async_only", {"x": 4}),
        ("structured", {"x": 1}),
        ("single", {"__arg1": "up"}),
        ("duck", {"any": [1]}),
    )
    assert [read(m) for m in await both(executor, given)] == [2, "abab", "x", -4, 2, "UP", {"got": {"any": [1]}}]
    for _ in range(2):
        executor(asked(("counting", {"step": 2})))
    await executor.ainvoke(asked(("counting", {"step": 1})))
    assert counting.count == 5
    assert executor.tools_by_name["plain"].args["times"]["default"] == 2
    assert executor.tools_by_name["plain"].description == "Repeat a text."


async def test_a_tool_without_a_blocking_form_runs_where_a_loop_runs_already() -> None:
    assert read(ToolExecutor([AsyncOnly()])(asked(("async_only", {"x": 4})))["messages"][0]) == -4

    async def waiting() -> str:
        return "x"

    assert read(ToolExecutor([waiting])(asked(("waiting", {})))["messages"][0]) == "x"


async def test_a_tool_with_a_json_schema_as_those_of_mcp_servers() -> None:
    async def remote(**arguments: Any) -> tuple[Any, Any]:
        if not arguments:
            raise ToolException("x is wanted")
        return arguments, ["raw"]

    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    served = StructuredTool(
        name="remote", description="Far.", args_schema=schema, coroutine=remote, response_format="content_and_artifact"
    )
    first, second = await both(ToolExecutor([served]), asked(("remote", {"x": 1}), ("remote", {})))
    assert (first.content, first.artifact) == ('{"x": 1}', ["raw"])
    assert failure(second) == ("ToolException", "x is wanted")

    def local(x: int) -> int:
        """Near, with a schema written by hand."""
        return x

    [message] = await both(ToolExecutor([StructuredTool.from_function(local, args_schema=schema)]), asked(("local", {"x": 1})))
    assert message.content == "1"


async def test_an_error_deep_inside_is_not_taken_for_a_missing_blocking_form() -> None:
    ran: list[str] = []

    class Half(AsyncOnly):
        name: str = "half"

        def _run(self, x: int) -> int:
            def inner() -> int:
                raise NotImplementedError("not on this platform")

            ran.append("blocking")
            return inner()

    [message] = ToolExecutor([Half()])(asked(("half", {"x": 1})))["messages"]
    assert failure(message) == ("NotImplementedError", "not on this platform")
    assert ran == ["blocking"]


async def test_content_and_artifact() -> None:
    @tool(response_format="content_and_artifact")
    def draw(size: int) -> tuple[dict[str, int], bytes]:
        """Draw."""
        return {"size": size}, b"\x00" * size

    @tool(response_format="content_and_artifact")
    def broken() -> Any:
        """Forget the artifact."""
        return "only this"

    first, second = await both(ToolExecutor([draw, broken]), asked(("draw", {"size": 2}), ("broken", {})))
    assert (first.content, first.artifact, first.name, first.tool_call_id) == ('{"size": 2}', b"\x00\x00", "draw", "call_0")
    assert failure(second)[0] == "ValueError"
    assert "two-tuple" in failure(second)[1]


async def test_the_id_of_the_call_is_injected_and_cannot_be_forged() -> None:
    @tool
    def whoami(x: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Say which call this is."""
        return tool_call_id

    [message] = await both(ToolExecutor([whoami]), asked(("whoami", {"x": 1, "tool_call_id": "forged"})))
    assert read(message) == "call_0"


async def test_a_message_of_the_tool_is_passed_on_and_must_answer_the_call() -> None:
    @tool
    def own(tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Answer in its own words."""
        return ToolMessage("as it is", tool_call_id=tool_call_id, artifact=[1])

    def wrong() -> ToolMessage:
        """Answer another call."""
        return ToolMessage("as it is", tool_call_id="other")

    first, second = await both(ToolExecutor([own, wrong]), asked(("own", {}), ("wrong", {})))
    assert first == ToolMessage("as it is", name="own", tool_call_id="call_0", artifact=[1])
    assert second.tool_call_id == "call_1"
    assert "0 messages for the call 'call_1', not one" in failure(second)[1]


# --- errors -----------------------------------------------------------------------------------------------------------


async def test_an_exception_is_an_observation_and_the_others_run() -> None:
    given = asked(("fail", {}), ("add", {"a": 1}), ("nothing", {}), ("add", {"a": "one"}), ("fail", {"text": ""}))
    messages = await both(ToolExecutor([add, fail]), given)
    assert [(m.tool_call_id, m.name) for m in messages] == [
        (f"call_{n}", name) for n, name in enumerate(["fail", "add", "nothing", "add", "fail"])
    ]
    assert failure(messages[0]) == ("ValueError", "no such file")
    assert (messages[1].content, messages[1].status) == ("2", "success")
    assert failure(messages[2]) == ("UnknownTool", "there is no tool 'nothing'; the tools are: add, fail")
    kind, text = failure(messages[3])
    assert kind == "ToolInput"
    assert text.startswith("add: the arguments do not fit: a: Input should be a valid integer")
    assert text.endswith("; it takes a, b")
    assert failure(messages[4]) == ("ValueError", "ValueError")


async def test_unreadable_calls_are_answered_too() -> None:
    broken = {"name": "add", "args": '{"a": 1', "id": "bad", "error": "unclosed", "type": "invalid_tool_call"}
    nameless = {"name": None, "args": None, "id": "worse", "error": None, "type": "invalid_tool_call"}
    dropped = {"name": "add", "args": "", "id": None, "error": None, "type": "invalid_tool_call"}
    good = {"name": "add", "args": {"a": 1}, "id": "good"}
    message = AIMessage("", tool_calls=[good], invalid_tool_calls=[broken, nameless, dropped])
    messages = await both(ToolExecutor([add]), {"messages": [message]})
    assert [m.tool_call_id for m in messages] == ["good", "bad", "worse"]
    assert failure(messages[1]) == ("ToolInput", "add: the arguments are not a JSON object: unclosed")
    assert failure(messages[2])[0] == "UnknownTool"
    with pytest.raises(ToolInput, match="unclosed"):
        ToolExecutor([add], on_error="raise")({"messages": [message]})


def test_a_call_without_an_id_cannot_be_answered() -> None:
    with pytest.raises(ValueError, match="'add' has no id"):
        ToolExecutor([add])({"messages": [AIMessage("", tool_calls=[{"name": "add", "args": {}, "id": None}])]})


@pytest.mark.parametrize("on_error", ["raise", ValueError, (KeyError, ValueError)])
async def test_chosen_exceptions_are_raised_as_they_are(on_error: Any) -> None:
    executor, given = ToolExecutor([add, fail], on_error=on_error), asked(("add", {"a": 1}), ("fail", {}))
    with pytest.raises(ValueError, match="no such file") as sync:
        executor(given)
    assert type(sync.value) is ValueError
    with pytest.raises(ValueError, match="no such file"):
        await executor.ainvoke(given)


async def test_other_exceptions_stay_messages() -> None:
    [first, second] = await both(ToolExecutor([fail], on_error=(KeyError, OSError)), asked(("fail", {}), ("gone", {})))
    assert (failure(first)[0], failure(second)[0]) == ("ValueError", "UnknownTool")
    with pytest.raises(UnknownTool, match="there is no tool 'gone'; the tools are: add, fail"):
        ToolExecutor([add, fail], on_error=UnknownTool)(asked(("gone", {})))
    with pytest.raises(ToolInput) as caught:
        ToolExecutor([add], on_error="raise")(asked(("add", {"b": 1})))
    assert (caught.value.path, caught.value.tool) == ("a", "add")


def test_nothing_is_begun_after_an_error_that_is_raised() -> None:
    begun: list[int] = []

    def note(n: int) -> int:
        """Note a number."""
        begun.append(n)
        return n

    with pytest.raises(ValueError, match="no such file"):
        ToolExecutor([note, fail], on_error="raise", max_concurrency=1)(
            asked(("note", {"n": 1}), ("fail", {}), ("note", {"n": 2}))
        )
    assert begun == [1]


async def test_errors_that_a_tool_handles_itself() -> None:
    @tool
    def picky(x: int) -> int:
        """Fail politely."""
        raise ToolException("try another x")

    picky.handle_tool_error = True
    picky.handle_validation_error = "x is a number"
    messages = await both(ToolExecutor([picky], on_error="raise"), asked(("picky", {"x": 1}), ("picky", {"x": "a"})))
    assert [failure(m) for m in messages] == [("ToolException", "try another x"), ("ToolException", "x is a number")]


async def test_a_validation_error_of_the_body_is_not_one_of_the_arguments() -> None:
    class Reply(BaseModel):
        size: int

    def fetch(x: int) -> Reply:
        """Read a reply."""
        return Reply.model_validate({"size": "big"})

    [message] = await both(ToolExecutor([fetch]), asked(("fetch", {"x": 1})))
    assert failure(message)[0] == "ValidationError"


async def test_what_has_no_json_form_says_so() -> None:
    def picture() -> dict[str, Any]:
        """Give bytes."""
        return {"png": b"\x89"}

    executor = ToolExecutor([picture])
    [message] = await both(executor, asked(("picture", {})))
    kind, text = failure(message)
    assert kind == "NotJson"
    assert text == "picture: the result cannot be written as JSON: $.png: bytes has no JSON form; return a text, such as base64"
    with pytest.raises(NotJson):
        ToolExecutor([picture], on_error=NotJson)(asked(("picture", {})))


class Stop(BaseException):
    """Ends everything, as Ctrl-C does."""


@pytest.mark.parametrize("calls", [1, 3])
async def test_what_is_no_exception_ends_the_run_at_once(calls: int) -> None:
    hanging = threading.Event()

    def stop(n: int) -> None:
        """Stop all, or hang."""
        if n == 0:
            raise Stop
        hanging.wait(20)

    executor, given = ToolExecutor([stop]), asked(*(("stop", {"n": n}) for n in range(calls)))
    start = time.monotonic()
    with pytest.raises(Stop):
        executor(given)
    with pytest.raises(Stop):
        await executor.ainvoke(given)
    assert time.monotonic() - start < 10
    hanging.set()


def test_ctrl_c_waits_for_no_call_and_begins_no_other() -> None:
    release, begun = threading.Event(), list[int]()

    def hang(n: int) -> None:
        """Hang, the second with Ctrl-C."""
        begun.append(n)
        if n == 1:
            os.kill(os.getpid(), signal.SIGINT)
        release.wait(20)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ToolExecutor([hang], max_concurrency=2)(asked(*(("hang", {"n": n}) for n in range(4))))
    assert time.monotonic() - start < 10
    release.set()
    time.sleep(0.05)
    assert sorted(begun) == [0, 1]


async def test_a_tool_that_hangs_is_given_up() -> None:
    release, cancelled = threading.Event(), list[str]()

    def hang() -> None:
        """Hang."""
        release.wait(20)

    async def hang_too() -> None:
        """Hang on a loop."""
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            cancelled.append("yes")
            raise

    def slow_error() -> None:
        """Raise a TimeoutError of its own."""
        raise TimeoutError("the server is slow")

    executor = ToolExecutor([hang, hang_too, slow_error, add], timeout=0.15, max_concurrency=2)
    start = time.monotonic()
    given = asked(("hang", {}), ("hang_too", {}), ("slow_error", {}), ("add", {"a": 1}))
    messages = await both(executor, given)
    assert time.monotonic() - start < 5
    assert [failure(m) for m in messages[:3]] == [
        ("ToolTimeout", "hang did not answer within 0.15 s"),
        ("ToolTimeout", "hang_too did not answer within 0.15 s"),
        ("TimeoutError", "the server is slow"),
    ]
    assert messages[3].content == "2"
    for _ in range(100):
        if len(cancelled) == 2:
            break
        await asyncio.sleep(0.01)
    assert cancelled == ["yes", "yes"]
    with pytest.raises(ToolTimeout) as caught:
        ToolExecutor([hang], timeout=0.05, on_error=ToolTimeout)(asked(("hang", {})))
    assert (caught.value.tool, caught.value.elapsed) == ("hang", 0.05)
    release.set()


async def test_cancelling_the_run_cancels_its_calls_and_waits_for_no_thread() -> None:
    begun, release, seen = threading.Event(), threading.Event(), list[str]()

    def hang() -> None:
        """Hang."""
        begun.set()
        release.wait(20)

    async def patient() -> None:
        """Wait."""
        try:
            await asyncio.sleep(20)
        finally:
            seen.append("ended")

    task = asyncio.create_task(ToolExecutor([hang, patient]).ainvoke(asked(("hang", {}), ("patient", {}))))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    assert seen == ["ended"]
    release.set()


async def test_a_call_that_is_cancelled_from_inside_is_a_failure_of_that_call() -> None:
    async def lost() -> None:
        """Be cancelled by somebody else."""
        raise asyncio.CancelledError

    def lost_too() -> None:
        """Raise what a future that was cancelled raises."""
        raise asyncio.CancelledError("a future")

    for calls in (("lost", "lost_too", "add"), ("lost_too",), ("lost",)):
        messages = await both(
            ToolExecutor([lost, lost_too, add]), asked(*((name, {"a": 1} if name == "add" else {}) for name in calls))
        )
        for name, message in zip(calls, messages, strict=True):
            if name == "add":
                assert message.content == "2"
            else:
                assert failure(message) == ("RuntimeError", f"{name} was cancelled from inside")


async def test_a_stop_iteration_of_a_tool_is_reported_as_itself() -> None:
    def first() -> Any:
        """Take the first of nothing."""
        return next(iter(()))

    async def first_too() -> Any:
        """Take the first of nothing, on a loop."""
        raise StopIteration("nothing")

    async def first_of_all() -> Any:
        """Take the first of nothing that comes."""
        raise StopAsyncIteration

    executor = ToolExecutor([first, first_too, first_of_all, add])
    messages = await both(executor, asked(("first", {}), ("first_too", {}), ("first_of_all", {}), ("add", {"a": 1})))
    assert [failure(m) for m in messages[:3]] == [
        ("StopIteration", "StopIteration"),
        ("StopIteration", "nothing"),
        ("StopAsyncIteration", "StopAsyncIteration"),
    ]
    assert messages[3].content == "2"
    raising = ToolExecutor([first], on_error=StopIteration)
    with pytest.raises(StopIteration):
        raising.invoke(asked(("first", {})))
    with pytest.raises(RuntimeError) as told:
        await raising.ainvoke(asked(("first", {})))
    assert isinstance(told.value.__cause__, StopIteration)


# --- running ----------------------------------------------------------------------------------------------------------


def measured() -> tuple[Callable[[int], int], Callable[[int], Any], list[int]]:
    lock, running, peaks = threading.Lock(), [0], list[int]()

    def enter(step: int) -> None:
        with lock:
            running[0] += step
            peaks.append(running[0])

    def work(n: int) -> int:
        """Work."""
        enter(1)
        time.sleep(0.03 * (4 - n % 4))
        enter(-1)
        return n

    async def awork(n: int) -> int:
        """Work on the loop."""
        enter(1)
        await asyncio.sleep(0.03 * (4 - n % 4))
        enter(-1)
        return n

    return work, awork, peaks


async def test_calls_run_at_once_up_to_the_limit_and_answers_keep_their_order() -> None:
    for limit, config in ((3, {}), (8, {"max_concurrency": 3})):
        work, awork, peaks = measured()
        executor = ToolExecutor([work, awork], max_concurrency=limit)
        given = asked(*(("work" if n % 2 else "awork", {"n": n}) for n in range(8)))
        start = time.monotonic()
        messages = await both(executor, given, **config)
        assert time.monotonic() - start < 2 * 0.6 + 2
        assert [read(m) for m in messages] == list(range(8))
        assert max(peaks) == 3


async def test_context_variables_reach_the_tools() -> None:
    who = contextvars.ContextVar("who", default="nobody")

    def look() -> str:
        """Look."""
        return who.get()

    async def look_too() -> str:
        """Look on a loop."""
        return who.get()

    who.set("ann")
    executor = ToolExecutor([look, look_too], timeout=5)
    messages = await both(executor, asked(("look", {}), ("look_too", {}), ("look", {})))
    assert [read(m) for m in messages] == ["ann"] * 3


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.runs: dict[Any, tuple[str, Any]] = {}
        self.ends: list[Any] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **rest: Any) -> None:
        self.runs[run_id] = (rest["name"], parent_run_id)

    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: Any, parent_run_id: Any = None, **rest: Any) -> None:
        self.runs[run_id] = (f"{serialized['name']} {rest['tool_call_id']} {rest.get('metadata')}", parent_run_id)

    def on_tool_end(self, output: Any, **rest: Any) -> None:
        self.ends.append(output)

    def on_tool_error(self, error: BaseException, **rest: Any) -> None:
        self.ends.append(type(error).__name__)


@pytest.mark.parametrize("awaited", [False, True])
async def test_callbacks_see_the_node_and_its_tools(awaited: bool) -> None:
    heard = Heard()
    config: RunnableConfig = {"callbacks": [heard], "run_name": "my tools", "metadata": {"team": "a"}}
    executor, given = ToolExecutor([add, fail]), asked(("add", {"a": 1}), ("fail", {}))
    await executor.ainvoke(given, config) if awaited else executor.invoke(given, config)
    (root, _), *inner = heard.runs.values()
    assert root == "my tools"
    assert sorted(name for name, _ in inner) == ["add call_0 {'team': 'a'}", "fail call_1 {'team': 'a'}"]
    assert {parent for _, parent in inner} == {next(iter(heard.runs))}
    assert sorted(map(str, heard.ends)) == ["ValueError", str(ToolMessage("2", name="add", tool_call_id="call_0"))]


async def test_a_tool_gets_the_config() -> None:
    @tool
    def tenant(x: int, config: RunnableConfig) -> str:
        """Say whose it is."""
        return str(config["configurable"]["tenant"])

    [message] = await both(ToolExecutor([tenant]), asked(("tenant", {"x": 1})), configurable={"tenant": "acme"})
    assert read(message) == "acme"


async def test_it_is_a_runnable() -> None:
    executor = ToolExecutor([add])
    assert isinstance(executor, Runnable)
    given = [asked(("add", {"a": n})) for n in range(3)]
    expected = [{"messages": [ToolMessage(str(n + 1), name="add", tool_call_id="call_0")]} for n in range(3)]
    assert executor.batch(given) == expected
    assert await executor.abatch(given) == expected
    assert list(executor.stream(given[0])) == expected[:1]
    assert (executor | (lambda update: len(update["messages"]))).invoke(given[0]) == 1
    assert executor.with_config(tags=["x"]).invoke(given[0]) == expected[0]
    assert executor.get_name() == "tools"
    assert ToolExecutor([add], name="calc").get_name() == "calc"


# --- construction -----------------------------------------------------------------------------------------------------


def test_two_tools_of_one_name_are_refused() -> None:
    def twin(a: int) -> int:
        """Be like the other."""
        return a

    twin.__name__ = "add"
    with pytest.raises(ValueError, match="two tools are named 'add'"):
        ToolExecutor([add, twin])


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        (add, "tools is a list, not a StructuredTool"),
        ("add", "tools is a list, not a str"),
        (None, "tools is a list, not a NoneType"),
        ([3], "3 is no tool"),
        ([BaseModel], "is no tool"),
        ([lambda x: x], "has no name that a model could call"),
    ],
)
def test_what_is_no_tool_is_refused(tools: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        ToolExecutor(tools)


def test_settings_out_of_their_range_are_refused() -> None:
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="max_concurrency"):
            ToolExecutor([add], max_concurrency=wrong)  # type: ignore[arg-type]
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            ToolExecutor([add], timeout=seconds)
    for kind in ("ignore", 3, (ValueError, "x"), BaseException):
        with pytest.raises(TypeError, match="on_error"):
            ToolExecutor([add], on_error=kind)  # type: ignore[arg-type]


async def test_no_tools_at_all() -> None:
    [message] = await both(ToolExecutor([]), asked(("add", {})))
    assert failure(message) == ("UnknownTool", "there is no tool 'add'; the tools are: none")


def test_functions_under_ainvoke_have_threads_of_their_own_that_nobody_waits_for() -> None:
    release, together = threading.Event(), threading.Barrier(16)

    def meet() -> str:
        """Waits for fifteen others."""
        together.wait(5)
        return "met"

    def hang() -> None:
        """Never answers."""
        release.wait(10)

    def asked(name: str, times: int) -> dict[str, Any]:
        return {"messages": [AIMessage("", tool_calls=[{"name": name, "args": {}, "id": str(n)} for n in range(times)])]}

    found = asyncio.run(ToolExecutor([meet], max_concurrency=16).ainvoke(asked("meet", 16)))
    assert {message.content for message in found["messages"]} == {'"met"'}
    begun = time.monotonic()
    [late] = asyncio.run(ToolExecutor([hang], timeout=0.1).ainvoke(asked("hang", 1)))["messages"]
    assert "ToolTimeout" in late.content
    assert time.monotonic() - begun < 3
    release.set()


def test_importing_the_package_imports_neither_langchain_nor_langgraph() -> None:
    look = "print([name for name in sys.modules if name.startswith(('langchain', 'langgraph'))])"
    code = f"import sys, rocketride_langgraph as r; {look}; r.json_text; {look}; print(sorted(r.__all__) == [n for n in dir(r) if n in r.__all__])"
    end = "\nprint(r.ToolExecutor is r.BasicToolNode)\ntry:\n    r.Nothing\nexcept AttributeError as error:\n    print(error)"
    told = subprocess.run([sys.executable, "-c", code + end], capture_output=True, text=True, check=True, timeout=60).stdout
    assert told.splitlines() == ["[]", "[]", "True", "True", "module 'rocketride_langgraph' has no attribute 'Nothing'"]
