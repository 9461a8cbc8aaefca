# SPDX-License-Identifier: MIT
"""The description of `tool_pipe` that the mission was given, its sections 2 to 7 line by line; a test's name is the line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    MANY,
    QUESTIONS,
    TABLE,
    TEXT,
    TOOL,
    Answer,
    Component,
    ControlLink,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Question,
    Tool,
    ToolInput,
    hookimpl,
    on,
)
from rocketride_testing_nodes import recording
from rocketride_tool_pipe import RunPipe, ToolPipe, ToolPipeConfig, normalised

NEEDS_DATA = "tool_pipe: tool requires a non-empty `data` parameter"
LOG: list[str] = []


class Logged(Node[None]):
    """text → text: logs what happens to it; collects, and emits at the flush."""

    spec = NodeSpec("logged", title="Logged")

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        LOG.append(f"open {self.id}")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        LOG.append(f"{self.id} gets {text}")
        instance.state(list[str]).append(text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        LOG.append(f"flush {self.id}")
        parts = instance.state(list[str])
        if parts:
            instance.emit(TEXT, f"{self.id}({'+'.join(parts)})")

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        LOG.append(f"close {self.id}")


class Replies(Node[None]):
    """Answers whatever comes on text, on all lanes."""

    spec = NodeSpec("replies", title="Replies")

    @on(TEXT, emits=[TEXT, ANSWERS, DOCUMENTS, TABLE])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, "first\n")
        instance.emit(TEXT, "第二")
        instance.emit(ANSWERS, Answer({"größe": [1, None]}))
        instance.emit(ANSWERS, Answer("second"))
        instance.emit(DOCUMENTS, [Document("ä", {"page": 1}), Document("b", embedding=memoryview(b"\0" * 8).cast("f"))])
        instance.emit(DOCUMENTS, [Document("c")])
        instance.emit(TABLE, "| ü |\n| --- |")


class Player(Node[None]):
    """An agent whose part is played by the test: `play` gets the instance."""

    spec = NodeSpec("player", title="Player", needs={TOOL: MANY})
    play: Any = None

    @on(QUESTIONS, emits=[ANSWERS])
    def question(self, instance: Instance, question: Question) -> None:
        type(self).play(instance)


def tool_pipe(config: dict[str, Any], id: str = "pipe_tool_1", callers: Sequence[str] = ("agent_1",)) -> Component:
    return Component(id, "tool_pipe", config, control=[ControlLink("tool", caller) for caller in callers])


def wired(id: str, provider: str, *inputs: tuple[str, str], **config: Any) -> Component:
    return Component(id, provider, config, input=[LaneLink(lane, source) for lane, source in inputs])


def pipe_of(*components: Component) -> PipeFile:
    main = [
        Component("chat_1", "chat"),
        wired("agent_1", "player", ("questions", "chat_1")),
        wired("response_1", "response_answers", ("answers", "agent_1")),
    ]
    return PipeFile([*main, *components], source="chat_1")


def during(pipe: PipeFile, play: Any) -> Any:
    """The result of one entry in which the agent does what `play` says."""
    LOG.clear()
    Player.play = staticmethod(play)
    with Kernel(nodes=[Player, Logged, Replies], env={}).load(pipe) as pipeline:
        return pipeline.run(Entry("x"), QUESTIONS(Question.of("q"))).checked()


def called(pipe: PipeFile, *arguments: Any, name: str = "pipe_tool_1.run_pipe") -> list[Any]:
    """What the tool returns for each of these arguments, called one after the other in one entry; errors as values."""
    out: list[Any] = []

    def play(instance: Instance) -> None:
        for one in arguments:
            try:
                out.append(instance.tools.call(name, one))
            except Exception as error:
                out.append(error)

    during(pipe, play)
    return out


def tool_of(config: dict[str, Any] | None = None, id: str = "pipe_tool_1") -> Tool:
    found: list[Tool] = []
    during(pipe_of(tool_pipe(config or {}, id), echo("text", id=id)), lambda instance: found.extend(instance.tools))
    [one] = found
    return one


def echo(lane: str, *, id: str = "pipe_tool_1") -> Component:
    return wired("sub_response_1", f"response_{lane}", (lane, id))


def problems(pipe: PipeFile) -> list[tuple[str, str]]:
    return [(p.code, p.message) for p in Kernel(nodes=[Player, Logged, Replies], env={}).check(pipe)]


# ---- 2. The life of a call


@pytest.mark.parametrize("arguments", [{}, {"data": ""}, {"data": None}, "", None])
def test_seed_2_1_arguments_are_normalised_and_checked_first(arguments: Any) -> None:
    [error] = called(pipe_of(tool_pipe({}), wired("a", "logged", ("text", "pipe_tool_1")), echo("text", id="a")), arguments)
    assert isinstance(error, ToolInput)
    assert isinstance(error, ValueError)
    assert str(error) == NEEDS_DATA
    assert LOG == [], "the sub-pipeline never starts on bad input"


def test_seed_2_2_the_sub_pipeline_is_opened_for_the_call() -> None:
    def play(instance: Instance) -> None:
        LOG.append("before")
        instance.tools.call("pipe_tool_1.run_pipe", {"data": "x"})
        LOG.append("after")

    during(pipe_of(tool_pipe({}), wired("a", "logged", ("text", "pipe_tool_1")), echo("text", id="a")), play)
    assert LOG == ["before", "open a", "a gets x", "flush a", "close a", "after"]


def test_seed_2_3_the_input_is_written_to_every_lane_with_a_listener() -> None:
    pipe = pipe_of(tool_pipe({}), wired("tap_1", "test_tap", ("text", "pipe_tool_1"), ("table", "pipe_tool_1")))
    with recording() as records:
        assert called(pipe, {"data": "x"}) == [{"result": "x"}]
    assert {record.lane for record in records} == {"text", "table"}


def test_seed_2_4_flush_and_close_follow_the_dependencies() -> None:
    """The join is flushed once both branches have been: the merged text, not that of the first branch."""
    parts = [
        wired("join", "logged", ("text", "a"), ("text", "b")),
        wired("b", "logged", ("text", "pipe_tool_1")),
        wired("a", "logged", ("text", "pipe_tool_1")),
        echo("text", id="join"),
    ]
    [told] = called(pipe_of(tool_pipe({}), *parts), {"data": "x"})
    assert told in ({"result": "join(a(x)+b(x))"}, {"result": "join(b(x)+a(x))"})
    assert LOG.index("flush join") > max(LOG.index("flush a"), LOG.index("flush b"))
    assert LOG.index("close join") > LOG.index("flush join")
    assert LOG.count("flush join") == LOG.count("close join") == 1


def test_seed_2_4_it_is_closed_when_a_node_fails() -> None:
    class Fails(Logged):
        spec = NodeSpec("fails", title="Fails")

        @hookimpl
        def flush_instance(self, instance: Instance) -> None:
            raise ValueError("no luck")

    caught: list[Exception] = []

    def play(instance: Instance) -> None:
        try:
            instance.tools.call("pipe_tool_1.run_pipe", {"data": "x"})
        except Exception as error:
            caught.append(error)

    Player.play = staticmethod(play)
    LOG.clear()
    pipe = pipe_of(tool_pipe({}), wired("a", "fails", ("text", "pipe_tool_1")), echo("text", id="a"))
    with Kernel(nodes=[Player, Fails], env={}).load(pipe) as pipeline:
        pipeline.run(Entry("x"), QUESTIONS(Question.of("q"))).checked()
    assert LOG == ["open a", "a gets x", "close a"]
    assert "no luck" in str(caught[0])


def test_seed_2_5_the_response_does_not_leak_into_the_parents() -> None:
    def play(instance: Instance) -> None:
        told: Any = instance.tools.call("pipe_tool_1.run_pipe", {"data": "inner"})
        instance.emit(ANSWERS, Answer(f"outer, {told['result']}"))

    result = during(pipe_of(tool_pipe({}), echo("text")), play)
    assert result[ANSWERS] == [Answer("outer, inner")]
    assert result[TEXT] == []
    assert result.to_json()["result_types"] == {"answers": "answers"}


def test_seed_2_6_it_returns_an_object_with_a_text() -> None:
    assert called(pipe_of(tool_pipe({}), echo("text")), {"data": "x"}) == [{"result": "x"}]


def test_seed_2_7_each_call_is_a_run_of_its_own() -> None:
    pipe = pipe_of(tool_pipe({}), wired("a", "logged", ("text", "pipe_tool_1")), echo("text", id="a"))
    assert called(pipe, {"data": "1"}, {"data": "2"}, {"data": "1"}) == [{"result": f"a({n})"} for n in "121"]
    assert [line for line in LOG if line.startswith(("open", "close"))] == ["open a", "close a"] * 3


# ---- 3. Lanes and payloads


def test_seed_3_1_every_wired_lane_gets_the_input() -> None:
    lanes = ("questions", "documents", "table", "text", "answers")
    with recording() as records:
        called(pipe_of(tool_pipe({}), wired("tap_1", "test_tap", *[(lane, "pipe_tool_1") for lane in lanes])), {"data": "x"})
    assert [record.lane for record in records] == list(lanes)


def received(lane: str, data: str) -> Any:
    with recording() as records:
        called(pipe_of(tool_pipe({}), wired("tap_1", "test_tap", (lane, "pipe_tool_1"))), {"data": data})
    [record] = records
    return record


def test_seed_3_2_text_gets_the_text_itself() -> None:
    assert received("text", " a\r\n\tü€\0 ").payload == " a\r\n\tü€\0 "


def test_seed_3_3_questions_gets_a_question() -> None:
    assert received("questions", "why?").payload == Question.of("why?")


def test_seed_3_4_documents_gets_one_document() -> None:
    record = received("documents", "content")
    assert record.payload == [Document("content", {"objectId": record.entry.object_id, "chunkId": 0})]
    assert record.entry.object_id


def test_seed_3_5_table_gets_the_text_itself() -> None:
    assert received("table", "| a |").payload == "| a |"


def test_seed_3_6_answers_gets_an_answer() -> None:
    assert received("answers", "so").payload == Answer("so")


def test_seed_3_7_retrieval_and_question_branches_get_the_same_input_each_in_its_form() -> None:
    parts = [wired("left", "test_tap", ("documents", "pipe_tool_1")), wired("right", "test_llm", ("questions", "pipe_tool_1"))]
    with recording() as records:
        told = called(pipe_of(tool_pipe({"return_type": "answers"}), *parts, echo("answers", id="right")), {"data": "both"})
    assert told == [{"result": "both"}]
    assert records[0].payload[0].text == "both"


# ---- 4. The contract of run_pipe


def test_seed_4_1_the_tool_is_run_pipe_of_the_component() -> None:
    assert tool_of().name == "pipe_tool_1.run_pipe"
    assert ToolPipe.spec.tile == ["run_pipe"]


def test_seed_4_2_data_is_a_required_text_with_a_description() -> None:
    schema: Any = tool_of().input_schema
    assert schema["required"] == ["data"]
    assert schema["properties"]["data"]["type"] == "string"
    assert schema["properties"]["data"]["minLength"] == 1
    assert schema["properties"]["data"]["description"]


def test_seed_4_3_missing_or_empty_data_is_a_value_error() -> None:
    for arguments in ({}, {"data": ""}):
        with pytest.raises(ValueError, match="^tool_pipe: tool requires a non-empty `data` parameter$"):
            normalised(arguments)


def test_seed_4_4_the_result_is_an_object_with_one_text() -> None:
    schema: Any = tool_of().output_schema
    assert schema["type"] == "object"
    assert list(schema["properties"]) == schema["required"] == ["result"]
    assert schema["properties"]["result"]["type"] == "string"


def test_seed_4_5_the_description_of_the_result_follows_the_return_type() -> None:
    said = {}
    for kind in ("text", "answers", "documents", "table"):
        schema: Any = tool_of({"return_type": kind}).output_schema
        said[kind] = schema["properties"]["result"]["description"]
    assert len(set(said.values())) == 4
    assert "plain text" in said["text"]
    assert "answer" in said["answers"]
    assert "documents" in said["documents"]
    assert "JSON" in said["documents"]
    assert "table" in said["table"]
    assert "JSON" in said["table"]


def test_seed_4_6_a_component_named_as_the_server_gives_the_names_of_the_description() -> None:
    """With us the id of the component is the prefix; `serverName` is kept, and changes no name."""
    assert tool_of(id="tool_pipe").name == "tool_pipe.run_pipe"
    assert tool_of({"serverName": "other"}).name == "pipe_tool_1.run_pipe"


def test_seed_4_7_no_response_on_the_lane_gives_an_empty_result() -> None:
    pipe = pipe_of(tool_pipe({"return_type": "answers"}), echo("text"))
    assert called(pipe, {"data": "x"}) == [{"result": ""}]


# ---- 5. Configuration


def test_seed_5_0_one_default_profile_without_description_that_returns_text() -> None:
    [profile] = ToolPipe.spec.profiles
    assert (profile.id, profile.values) == ("default", {"tool_description": "", "return_type": "text"})
    assert ToolPipeConfig() == ToolPipeConfig(tool_description="", return_type="text")


@pytest.mark.parametrize("place", ["flat", "profile", "default"])
def test_seed_5_1_the_description_is_what_the_agent_reads(place: str) -> None:
    said = {"tool_description": "Summarize a supplied support ticket"}
    config = {"flat": said, "profile": {"profile": "default", "default": said}, "default": {"default": said}}[place]
    assert tool_of(config).description == "Summarize a supplied support ticket"


def test_seed_5_2_each_return_type_reads_its_lane() -> None:
    lanes = ("text", "answers", "documents", "table")
    for kind in lanes:
        responses = [wired(f"r_{lane}", f"response_{lane}", (lane, "all")) for lane in lanes]
        pipe = pipe_of(tool_pipe({"return_type": kind}), wired("all", "replies", ("text", "pipe_tool_1")), *responses)
        [told] = called(pipe, {"data": "x"})
        assert told["result"].startswith({"text": "first", "answers": '{"gr', "documents": '[{"type"', "table": '["| ü'}[kind])


def test_seed_5_2_a_type_that_nothing_responds_on_gives_an_empty_result() -> None:
    for kind in ("answers", "documents", "table"):
        result = called(pipe_of(tool_pipe({"return_type": kind}), echo("text")), {"data": "x"})
        assert result == [{"result": ""}]


def test_seed_5_3_the_two_fields_also_under_the_names_of_the_table() -> None:
    config = {"tool_pipe.return_type": "answers", "tool_pipe.tool_description": "Says it."}
    assert tool_of(config).description == "Says it."
    assert called(pipe_of(tool_pipe(config), echo("answers")), {"data": "x"}) == [{"result": "x"}]


@pytest.mark.parametrize("bad", ["answer", "TEXT", "questions", 5, ["text"]])
@pytest.mark.parametrize("place", ["flat", "profile"])
def test_seed_5_4_another_return_type_is_refused_at_load(bad: Any, place: str) -> None:
    config = {"return_type": bad} if place == "flat" else {"profile": "default", "default": {"return_type": bad}}
    pipe = pipe_of(tool_pipe(config), echo("text"))
    text = "tool_pipe: return_type must be one of ['answers', 'documents', 'table', 'text']"
    [problem] = [p for p in Kernel(nodes=[Player], env={}).check(pipe) if p.severity == "error"]
    assert problem.message == text
    assert problem.path == f"$.components[3].config{'' if place == 'flat' else '.default'}.return_type"
    with pytest.raises(RuntimeError) as refused, Kernel(nodes=[Player], env={}).load(pipe):
        pass
    assert text in str(refused.value)


@pytest.mark.parametrize("kind", [" answers ", "answers\n", "\tanswers"])
def test_seed_5_4_a_return_type_is_stripped(kind: str) -> None:
    assert called(pipe_of(tool_pipe({"return_type": kind}), echo("answers")), {"data": "x"}) == [{"result": "x"}]
    nested = {"profile": "default", "default": {"return_type": kind, "tool_description": "d"}}
    assert called(pipe_of(tool_pipe(nested), echo("answers")), {"data": "x"}) == [{"result": "x"}]


@pytest.mark.parametrize("kind", ["", "  ", None])
def test_seed_5_4_a_blank_return_type_is_text(kind: Any) -> None:
    assert called(pipe_of(tool_pipe({"return_type": kind}), echo("text")), {"data": "x"}) == [{"result": "x"}]


@pytest.mark.parametrize("said", ["", "  \n", None])
def test_seed_5_4_a_blank_description_is_the_default_one(said: Any) -> None:
    assert tool_of({"tool_description": said}).description == "Accepts a text input and returns the pipeline result."


def test_seed_5_4_a_description_is_stripped_and_appears_once() -> None:
    assert tool_of({"tool_description": "  Sums up. \n"}).description == "Sums up."


def test_seed_5_4_forms_offer_the_four_types() -> None:
    [field] = [f for f in attrs.fields(ToolPipeConfig) if f.name == "return_type"]
    [said] = field.metadata.values()
    assert said.choices == ("text", "answers", "documents", "table")


# ---- 6. The result


def replied(kind: str) -> str:
    lanes = ("text", "answers", "documents", "table")
    responses = [wired(f"r_{lane}", f"response_{lane}", (lane, "all"), laneName=f"my {lane}") for lane in lanes]
    pipe = pipe_of(tool_pipe({"return_type": kind}), wired("all", "replies", ("text", "pipe_tool_1")), *responses)
    [told] = called(pipe, {"data": "x"})
    return str(told["result"])


def test_seed_6_1_text_is_returned_as_it_is() -> None:
    assert replied("text") == "first\n\n\n第二"
    for data in ("a", "a\n", "\n\na", "{", '{"a": 1', "x" * 100_000):
        assert called(pipe_of(tool_pipe({}), echo("text")), {"data": data}) == [{"result": data}]


def test_seed_6_2_of_answers_the_first_as_text() -> None:
    assert replied("answers") == '{"größe": [1, null]}'


def test_seed_6_3_documents_and_tables_are_json_that_is_not_escaped() -> None:
    documents = replied("documents")
    assert "ä" in documents
    assert [(d["page_content"], d.get("metadata")) for d in json.loads(documents)] == [
        ("ä", {"page": 1}),
        ("b", None),
        ("c", None),
    ]
    assert "embedding" not in documents
    assert replied("table") == '["| ü |\\n| --- |"]'


def test_seed_6_3_responses_are_joined_in_the_order_of_the_file() -> None:
    parts = [
        wired("one", "response_documents", ("documents", "pipe_tool_1")),
        wired("all", "replies", ("text", "pipe_tool_1")),
        wired("two", "response_documents", ("documents", "all")),
    ]
    for order in (parts, parts[::-1]):
        [told] = called(pipe_of(tool_pipe({"return_type": "documents"}), *order), {"data": "x"})
        texts = [d["page_content"] for d in json.loads(told["result"])]
        assert texts == (["x", "ä", "b", "c"] if order is parts else ["ä", "b", "c", "x"])


@pytest.mark.parametrize("kind", ["text", "answers", "documents", "table"])
def test_seed_6_4_what_is_missing_is_an_empty_text(kind: str) -> None:
    pipe = pipe_of(tool_pipe({"return_type": kind}), wired("sub_response_1", "response_questions", ("questions", "pipe_tool_1")))
    assert called(pipe, {"data": "x"}) == [{"result": ""}]


def test_seed_6_5_an_empty_result_is_warned_of() -> None:
    """It looks like success to the agent; the host and the trace are told."""
    records: list[Any] = []
    Player.play = staticmethod(lambda instance: instance.tools.call("pipe_tool_1.run_pipe", {"data": "x"}))
    pipe = pipe_of(
        tool_pipe({"return_type": "answers"}), wired("tap_1", "test_tap", ("text", "pipe_tool_1"), ("table", "pipe_tool_1"))
    )
    with Kernel(nodes=[Player], env={}, trace="calls", trace_to=records.append).load(pipe) as pipeline:
        result = pipeline.run(Entry("x"), QUESTIONS(Question.of("q"))).checked()
    [warning] = result.warnings
    assert (warning.component, warning.code) == ("pipe_tool_1", "empty-result")
    assert warning.message == "nothing was produced on 'answers'; the pipeline answered on text, table"
    assert [w["code"] for record in records for w in record.get("warnings", ())] == ["empty-result"]


def test_seed_6_5_nothing_at_all_was_produced() -> None:
    pipe = pipe_of(tool_pipe({}), wired("tap_1", "test_tap", ("text", "pipe_tool_1"), respond=False))
    result = during(pipe, lambda instance: instance.tools.call("pipe_tool_1.run_pipe", {"data": "x"}))
    assert [w.message for w in result.warnings] == ["nothing was produced on 'text'; the pipeline answered on no lane"]


def test_seed_6_5_an_empty_answer_is_an_answer() -> None:
    class Mute(Node[None]):
        spec = NodeSpec("mute", title="Mute")

        @on(TEXT, emits=[TEXT, DOCUMENTS])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(TEXT, "")
            instance.emit(DOCUMENTS, [])

    for kind, expected in (("text", ""), ("documents", "[]")):
        pipe = pipe_of(tool_pipe({"return_type": kind}), wired("mute", "mute", ("text", "pipe_tool_1")), echo(kind, id="mute"))
        told: list[Any] = []
        Player.play = staticmethod(
            lambda instance, told=told: told.append(instance.tools.call("pipe_tool_1.run_pipe", {"data": "x"}))
        )
        with Kernel(nodes=[Player, Mute], env={}).load(pipe) as pipeline:
            assert not pipeline.run(Entry("x"), QUESTIONS(Question.of("q"))).checked().warnings
        assert told == [{"result": expected}]


# ---- 7. Who owns a node


MAIN = (
    'Control node "Pipeline Tool" (pipe_tool_1) reaches node "Logged" (shared) that the main flow owns; '
    "a control node's sub-pipeline must not be shared with the main pipeline or another start"
)
TWO = (
    'Pipeline node "Logged" (shared) is reachable from two control roots ( "Pipeline Tool" (pipe_tool_1) and '
    '"Pipeline Tool" (pipe_tool_2) ) - a node has exactly one lifecycle owner'
)


def refused(*components: Component) -> list[str]:
    """The messages; checking and loading must agree, and no node may have begun."""
    pipe = pipe_of(*components)
    begun: list[str] = []

    class Begins(Logged):
        spec = NodeSpec("logged", title="Logged")

        @hookimpl
        def begin_global(self) -> None:
            begun.append(self.id)

    kernel = Kernel(nodes=[Player, Begins, Replies], env={})
    with pytest.raises(PipeError) as error, kernel.load(pipe):
        pass
    assert begun == []
    return [p.message for p in error.value.problems if p.severity == "error"]


def test_seed_7_1_a_node_of_the_main_flow_is_refused() -> None:
    second = wired("webhook_1", "webhook")
    sub = [tool_pipe({}), wired("shared", "logged", ("text", "pipe_tool_1"), ("text", "webhook_1")), echo("text", id="shared")]
    assert refused(second, *sub) == [MAIN]


def test_seed_7_1_a_sub_pipeline_that_flows_back_into_the_main_flow_is_refused() -> None:
    main = [wired("webhook_1", "webhook"), wired("first", "logged", ("text", "webhook_1"))]
    sub = [tool_pipe({}), wired("branch", "logged", ("text", "pipe_tool_1"))]
    shared = wired("shared", "logged", ("text", "first"), ("text", "branch"))
    assert refused(*main, *sub, shared, echo("text", id="shared")) == [MAIN]


def test_seed_7_2_a_node_of_two_tool_pipes_is_refused() -> None:
    shared = wired("shared", "logged", ("text", "pipe_tool_1"), ("text", "pipe_tool_2"))
    assert refused(tool_pipe({}), tool_pipe({}, "pipe_tool_2"), shared, echo("text", id="shared")) == [TWO]


def test_seed_7_3_data_fed_into_it_is_refused() -> None:
    fed = Component(
        "pipe_tool_1", "tool_pipe", {}, input=[LaneLink("questions", "chat_1")], control=[ControlLink("tool", "agent_1")]
    )
    assert refused(fed, echo("text")) == ["Component pipe_tool_1 input lane questions not found in service definition"]


def test_seed_7_4_two_agents_may_call_one() -> None:
    pipe = pipe_of(
        tool_pipe({}, callers=("agent_1", "agent_2")), wired("agent_2", "player", ("questions", "chat_1")), echo("text")
    )
    told: list[Any] = []
    during(pipe, lambda instance: told.append(instance.tools.call("pipe_tool_1.run_pipe", {"data": instance.entry.name})))
    assert told == [{"result": "x"}, {"result": "x"}]


def test_seed_7_5_one_may_stand_in_the_sub_pipeline_of_another() -> None:
    script = [{"call": "pipe_tool_2.run_pipe", "arguments": {"data": "{input}!"}}]
    parts = [
        tool_pipe({"return_type": "answers"}),
        wired("agent_2", "test_agent", ("questions", "pipe_tool_1"), script=script),
        wired("sub_response_1", "response_answers", ("answers", "agent_2")),
        tool_pipe({}, "pipe_tool_2", ["agent_2"]),
        wired("inner", "logged", ("text", "pipe_tool_2")),
        wired("sub_response_2", "response_text", ("text", "inner")),
    ]
    assert called(pipe_of(*parts), {"data": "x"}) == [{"result": "inner(x!)"}]


def test_seed_7_6_the_main_flow_may_not_share_with_a_nested_one_either() -> None:
    parts = [
        tool_pipe({"return_type": "answers"}),
        wired("agent_2", "test_agent", ("questions", "pipe_tool_1")),
        wired("sub_response_1", "response_answers", ("answers", "agent_2")),
        tool_pipe({}, "pipe_tool_2", ["agent_2"]),
        wired("shared", "logged", ("text", "pipe_tool_1"), ("text", "pipe_tool_2")),
        echo("text", id="shared"),
    ]
    assert refused(*parts[:4], parts[4], wired("sub_response_2", "response_text", ("text", "shared"))) == [TWO]


def test_seed_7_7_a_name_on_the_canvas_does_not_change_the_title_in_messages() -> None:
    named = Component("pipe_tool_1", "tool_pipe", {}, control=[ControlLink("tool", "agent_1")], name="My tool")
    shared = wired("shared", "logged", ("text", "pipe_tool_1"), ("text", "pipe_tool_2"))
    assert refused(named, tool_pipe({}, "pipe_tool_2"), shared, echo("text", id="shared")) == [TWO]


def test_a_tool_can_be_told_from_others_by_its_class() -> None:
    assert isinstance(tool_of(), RunPipe)
    assert tool_of().concurrent
