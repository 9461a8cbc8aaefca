# SPDX-License-Identifier: MIT
"""The router over models that play a script: who is asked, what is told, what it may cost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import pytest

from rocketride_core import (
    ANSWERS,
    LLM,
    ONE,
    QUESTIONS,
    Answer,
    Caller,
    ChatModel,
    Component,
    ControlLink,
    Entry,
    EntryStopped,
    Instance,
    Kernel,
    LaneLink,
    Message,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Question,
    Tool,
    ToolChatModel,
    on,
    serves,
)
from rocketride_llm import LLMError
from rocketride_llm.metering import measured
from rocketride_llm_router import Router

Play = Callable[[], str]
TOOL = Tool("db.search", "Finds things.", {"type": "object"}, lambda *_: None)


@attrs.define
class Scripted:
    """A model: texts are answers, exceptions are raised; ("text", error) says the text first. The last step is played for ever."""

    steps: list[Any] = attrs.field(factory=lambda: ["ok"])
    context_length: int = 1000
    output_length: int = 100
    usage: tuple[int, int, int] | None = None
    asked: int = 0
    lock: Any = attrs.field(factory=threading.Lock)

    def count_tokens(self, text: str, /) -> int:
        return len(text)

    def ask(self, question: Question, /, *, stop: Sequence[str] = (), on_token: Callable[[str], None] | None = None) -> Answer:
        return Answer(self.play(on_token))

    def play(self, on_token: Callable[[str], None] | None) -> str:
        with self.lock:
            self.asked += 1
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        step = step() if callable(step) else step
        said, error = step if isinstance(step, tuple) else ("", step) if isinstance(step, BaseException) else (step, None)
        if on_token is not None and said:
            on_token(said)
        if self.usage is not None and (error is None or said):
            measured(*self.usage)
        if error is not None:
            raise error
        return str(said)


@attrs.define
class Calling(Scripted):
    native_tools: bool = True

    def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), /, *, on_token: Callable[[str], None] | None = None
    ) -> Message:
        return Message("assistant", self.play(on_token))


class Source(Node[None]):
    spec = NodeSpec("router_source", title="Source", emits=[QUESTIONS])


class End(Node[None]):
    spec = NodeSpec("router_end", title="End", responds=True)

    @on(ANSWERS)
    def keep(self, instance: Instance, answer: Answer) -> None:
        instance.respond("answers", ANSWERS(answer))


Work = Callable[[Any, Question], object]


def plain(model: Any, question: Question) -> Any:
    return model.ask(question)


@contextmanager
def routed(
    models: dict[str, Any], work: Work | None = None, kernel: dict[str, Any] | None = None, **config: Any
) -> Iterator[Any]:
    """`source -> asker (llm: router) -> end`, or the router on the lane where nothing is to be done."""

    class Model(Node[None]):
        spec = NodeSpec("router_model", title="Model")

        @serves(LLM)
        def chat(self, instance: Instance, caller: Caller) -> ChatModel:
            found: ChatModel = models[self.id]
            return found

    class Asker(Node[None]):
        spec = NodeSpec("router_asker", title="Asker", needs={LLM: ONE})

        @on(QUESTIONS, emits=[ANSWERS])
        def ask(self, instance: Instance, question: Question) -> None:
            assert work is not None
            told = work(instance.one(LLM), question)
            instance.emit(ANSWERS, told if isinstance(told, Answer) else Answer(str(told)))

    asker = Component("asker", "router_asker", input=[LaneLink("questions", "source")])
    own: dict[str, Any] = (
        {"input": [LaneLink("questions", "source")]} if work is None else {"control": [ControlLink("llm", "asker")]}
    )
    pipe = PipeFile(
        [
            Component("source", "router_source"),
            *([asker] if work is not None else []),
            Component("router", "llm_router", config, **own),
            *(Component(id, "router_model", control=[ControlLink("llm", "router")]) for id in models),
            Component("end", "router_end", input=[LaneLink("answers", "router" if work is None else "asker")]),
        ],
        source="source",
    )
    with Kernel(nodes=[Source, End, Model, Asker, Router], **(kernel or {})).load(pipe) as pipeline:
        yield pipeline


def run(pipeline: Any, question: Question | None = None) -> Any:
    return pipeline.run(Entry("e"), QUESTIONS(question or Question.of("What is it?")))


def cause(result: Any) -> LLMError:
    assert result.error is not None, "it answered"
    assert isinstance(result.error.__cause__, LLMError), repr(result.error)
    return result.error.__cause__


def down(kind: Any = "unavailable", **more: Any) -> LLMError:
    return LLMError(kind, "it is down", vendor="The vendor", **more)


# --- who is asked -----------------------------------------------------------------------------------------------------


def test_the_first_one_answers_and_the_usage_says_so() -> None:
    first, second = Scripted(["one"]), Scripted(["two"])
    with routed({"a": first, "b": second}, plain) as pipeline:
        result = run(pipeline).checked()
    assert result[ANSWERS] == [Answer("one")]
    assert result.usage["router"] == {"requests": 1, "answered_by.a": 1}
    assert (second.asked, list(result.warnings)) == (0, [])


def test_the_config_s_order_goes_before_that_of_the_file() -> None:
    models = {name: Scripted([name]) for name in "abc"}
    with routed(models, plain, order=["c"]) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("c")]
    models["c"].steps = [down()]
    with routed(models, plain, order=["c"]) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("a")]


@pytest.mark.parametrize("kind", ["rate-limit", "timeout", "connection", "unavailable"])
def test_the_next_one_is_asked_where_one_is_not_there(kind: Any) -> None:
    records: list[Any] = []
    with routed(
        {"a": Scripted([down(kind)]), "b": Scripted(["two"])}, plain, {"trace": "calls", "trace_to": records.append}
    ) as p:
        result = run(p).checked()
    assert result[ANSWERS] == [Answer("two")]
    assert result.usage["router"] == {"requests": 1, "answered_by.b": 1, "failed.a": 1}
    (warning,) = result.warnings
    assert (warning.code, warning.component) == ("llm-switched", "router")
    assert warning.message.startswith("b answered in place of a: ")
    assert "it is down" in warning.message
    (entry,) = [record for record in records if record["kind"] == "entry"]
    assert entry["usage"]["router"]["answered_by.b"] == 1
    assert entry["warnings"][0]["code"] == "llm-switched"


@pytest.mark.parametrize("kind", ["authentication", "permission", "quota", "too-long", "refused", "no-json", "bad-reply"])
def test_other_errors_are_told_at_once_unless_the_config_says_otherwise(kind: Any) -> None:
    models = {"a": Scripted([down(kind)]), "b": Scripted(["two"])}
    with routed(models, plain) as pipeline:
        result = run(pipeline)
    assert (cause(result).kind, models["b"].asked) == (kind, 0)
    assert result.usage["router"] == {"failed.a": 1}
    assert str(cause(result)).startswith("a: ")
    with routed(models, plain, switchOn=[kind]) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("two")]


def test_what_went_before_is_a_note_of_an_error_that_ends_it() -> None:
    with routed({"a": Scripted([down("timeout")]), "b": Scripted([down("too-long")])}, plain) as pipeline:
        result = run(pipeline)
    assert cause(result).kind == "too-long"
    assert any("before that, a: The vendor did not answer in time" in note for note in result.error.__notes__)


@pytest.mark.parametrize("error", [TimeoutError("late"), ConnectionResetError("reset")])
def test_plain_exceptions_of_the_network_count_too(error: Exception) -> None:
    with routed({"a": Scripted([error]), "b": Scripted(["two"])}, plain) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("two")]


def test_a_fault_of_a_model_s_own_code_is_no_reason_to_ask_another() -> None:
    second = Scripted(["two"])
    with routed({"a": Scripted([KeyError("mine")]), "b": second}, plain, failures=1) as pipeline:
        for _ in range(2):
            result = run(pipeline)
            assert isinstance(result.error.__cause__, KeyError)
    assert second.asked == 0


def test_where_none_answers_all_are_told() -> None:
    models = {"a": Scripted([down("rate-limit", retry_after=7.0)]), "b": Scripted([down("timeout", retry_after=3.0)])}
    with routed(models, plain) as pipeline:
        error = cause(run(pipeline))
    assert (error.kind, error.retry_after, error.component) == ("unavailable", 3.0, "router")
    assert "None of the 2 language models of router answered: a: Rate limit exceeded" in str(error)
    assert "b: The vendor did not answer in time" in str(error)
    for model in models.values():
        model.steps = [down("rate-limit")]
    with routed(models, plain) as pipeline:
        assert cause(run(pipeline)).kind == "rate-limit"
    with routed({"a": Scripted([down("timeout")])}, plain) as pipeline:
        assert "None of" not in str(cause(run(pipeline)))


def test_on_its_lane_it_streams_tokens() -> None:
    with routed({"a": Scripted([down()]), "b": Scripted(["two"])}) as pipeline:
        with pipeline.start(Entry("e"), QUESTIONS(Question.of("q"))) as run_:
            events = list(run_)
        assert run_.result().checked()[ANSWERS] == [Answer("two")]
    told = [(event.kind, dict(event.data)) for event in events if event.component == "router"]
    assert told == [
        ("token", {"text": "two"}),
        ("routed", {"component": "b", "failed": [{"component": "a", "kind": "unavailable"}]}),
    ]


# --- streams ----------------------------------------------------------------------------------------------------------


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    tokens: list[str] = []
    second = Scripted(["two"])

    def work(model: Any, question: Question) -> Any:
        return model.ask(question, on_token=tokens.append)

    with routed({"a": Scripted([("half", down("connection"))]), "b": second}, work) as pipeline:
        assert cause(run(pipeline)).kind == "connection"
    assert (tokens, second.asked) == (["half"], 0)


def test_a_stream_that_fails_before_its_first_token_goes_to_the_next() -> None:
    tokens: list[str] = []

    def work(model: Any, question: Question) -> Any:
        return model.ask(question, on_token=tokens.append)

    with routed({"a": Scripted([down("connection")]), "b": Scripted(["two"])}, work) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("two")]
    assert tokens == ["two"]


def test_without_a_listener_half_an_answer_is_no_answer() -> None:
    with routed({"a": Scripted([("half", down("connection"))]), "b": Scripted(["two"])}, plain) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("two")]


def test_a_listener_that_has_gone_is_no_fault_of_the_model() -> None:
    first, second = Scripted(["one"]), Scripted(["two"])

    def gone(text: str) -> None:
        raise BrokenPipeError("the browser was closed")

    def work(model: Any, question: Question) -> Any:
        return model.ask(question, on_token=gone)

    with routed({"a": first, "b": second}, work, failures=1) as pipeline:
        for _ in range(2):
            assert isinstance(run(pipeline).error.__cause__, BrokenPipeError)
    assert (first.asked, second.asked) == (2, 0)


# --- circuit breakers -------------------------------------------------------------------------------------------------


def test_a_model_that_fails_again_and_again_is_left_alone_and_tried_later() -> None:
    first, second = Scripted([down(), down(), "back"]), Scripted(["two"])
    with routed({"a": first, "b": second}, plain, failures=2, coolDown=0.3) as pipeline:
        for _ in range(5):
            assert run(pipeline).checked()[ANSWERS] == [Answer("two")]
        assert first.asked == 2
        assert "circuit breaker of a is open" in run(pipeline).warnings[0].message
        time.sleep(0.35)
        assert run(pipeline).checked()[ANSWERS] == [Answer("back")]
        assert run(pipeline).checked()[ANSWERS] == [Answer("back")]


def test_where_all_are_left_alone_the_error_says_for_how_long() -> None:
    with routed({"a": Scripted([down()]), "b": Scripted([down()])}, plain, failures=1, coolDown=60) as pipeline:
        cause(run(pipeline))
        error = cause(run(pipeline))
    assert error.kind == "unavailable"
    assert error.retry_after is not None
    assert 50 < error.retry_after <= 60
    assert "a: The circuit breaker of a is open" in str(error)


def test_an_error_of_the_question_says_that_the_server_is_well() -> None:
    first = Scripted([down(), down("too-long"), down(), down("too-long")])
    with routed({"a": first, "b": Scripted(["two"])}, plain, failures=2, coolDown=60) as pipeline:
        for _ in range(4):
            run(pipeline)
    assert first.asked == 4


def test_a_stopped_trial_leaves_the_next_one_to_try() -> None:
    first = Scripted([down(), EntryStopped(), "back"])
    with routed({"a": first, "b": Scripted(["two"])}, plain, failures=1, coolDown=0.05) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("two")]
        time.sleep(0.06)
        assert run(pipeline).error is not None
        assert run(pipeline).checked()[ANSWERS] == [Answer("back")]


def test_eight_workers_at_once() -> None:
    first, second = Scripted([down()]), Scripted(["two"])
    with routed({"a": first, "b": second}, plain, failures=3, coolDown=60) as pipeline:
        entries = [(Entry(str(n)), (QUESTIONS(Question.of(f"number {n}")),)) for n in range(200)]
        results = [result.checked() for result in pipeline.map(entries, workers=8)]
    assert all(result[ANSWERS] == [Answer("two")] for result in results)
    assert second.asked == 200
    assert 3 <= first.asked <= 3 + 7, "no more than those that had begun before it opened"
    assert sum(result.usage["router"]["answered_by.b"] for result in results) == 200
    assert sum(result.usage["router"]["failed.a"] for result in results) == 200


# --- costs ------------------------------------------------------------------------------------------------------------

DEAR = {"input": 10.0, "output": 100.0, "cached": 1.0}


def test_the_cost_is_what_the_models_count() -> None:
    model = Scripted(["one"], usage=(1_000, 50, 600))
    with routed({"a": model}, plain, prices={"a": DEAR}) as pipeline:
        usage = run(pipeline).checked().usage["router"]
    assert usage["cost"] == pytest.approx((400 * 10 + 600 * 1 + 50 * 100) / 1e6)


def test_a_model_that_does_not_count_is_estimated() -> None:
    question = Question.of("q")
    with routed({"a": Scripted(["four"])}, plain, prices={"a": DEAR}) as pipeline:
        usage = run(pipeline, question).checked().usage["router"]
    assert usage["cost"] == pytest.approx((len(question.prompt()) * 10 + 4 * 100) / 1e6)


def test_the_ceiling_is_of_one_entry() -> None:
    question = Question.of("q")
    most = (len(question.prompt()) * 10 + 100 * 100) / 1e6
    model = Scripted(["one"], usage=(100, 90, 0))

    def work(model: Any, question: Question) -> Any:
        return f"{model.ask(question).text} {model.ask(question).text}"

    with routed({"a": model}, work, prices={"a": DEAR}, maxCost=most * 1.5) as pipeline:
        for _ in range(2):
            error = cause(run(pipeline, question))
            assert error.kind == "quota"
            said = str(error)
            assert f"The ceiling of {most * 1.5:g} (maxCost of router) would be exceeded by asking a" in said
            assert f"0.01 is spent, and this one may cost {most:.6g}" in said
    assert model.asked == 2, "the second question of an entry was not asked"


def test_a_dear_model_may_be_passed_over_for_a_cheap_one() -> None:
    models = {"a": Scripted(["dear"]), "b": Scripted(["cheap"])}
    prices = {"a": DEAR, "b": {"input": 0, "output": 0}}
    with routed(models, plain, prices=prices, maxCost=0.001) as pipeline:
        assert cause(run(pipeline)).kind == "quota"
    with routed(models, plain, prices=prices, maxCost=0.001, switchOn=["cost"]) as pipeline:
        result = run(pipeline).checked()
    assert result[ANSWERS] == [Answer("cheap")]
    assert models["a"].asked == 0
    assert result.usage["router"]["cost"] == 0


def test_answer_tokens_are_what_is_reckoned_with() -> None:
    with routed({"a": Scripted(["one"])}, plain, prices={"a": DEAR}, maxCost=0.002, answerTokens=5) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("one")]


def test_a_question_for_json_is_reckoned_three_times() -> None:
    question = Question(("q",), expect_json=True)
    most = 3 * (len(question.prompt()) * 10 + 100 * 100) / 1e6
    for ceiling, answers in ((most * 1.01, True), (most * 0.99, False)):
        with routed({"a": Scripted(['"one"'])}, plain, prices={"a": DEAR}, maxCost=ceiling) as pipeline:
            assert (run(pipeline, question).error is None) is answers


def test_what_failed_is_paid_for_too() -> None:
    models = {"a": Scripted([("half", down())], usage=(1000, 0, 0)), "b": Scripted(["two"], usage=(100, 0, 0))}
    with routed(models, plain, prices={"a": DEAR, "b": DEAR}) as pipeline:
        assert run(pipeline).checked().usage["router"]["cost"] == pytest.approx(1100 * 10 / 1e6)


def test_questions_at_once_in_one_entry_do_not_pass_the_ceiling() -> None:
    question = Question.of("q")
    most = (len(question.prompt()) * 10 + 100 * 100) / 1e6
    gate = threading.Barrier(8)
    model = Scripted(["one"], usage=(10, 100, 0))

    def work(model: Any, question: Question) -> Any:
        done: list[str] = []

        def ask() -> None:
            gate.wait(5)
            try:
                done.append(model.ask(question).text)
            except LLMError as error:
                done.append(error.kind)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return " ".join(sorted(done))

    with routed({"a": model}, work, prices={"a": DEAR}, maxCost=most * 3.5) as pipeline:
        result = run(pipeline, question).checked()
    said = result[ANSWERS][0].text.split()
    assert set(said) == {"one", "quota"}
    assert said.count("one") == model.asked
    assert result.usage["router"]["cost"] <= most * 3.5


# --- what it says of itself -------------------------------------------------------------------------------------------


def test_its_limits_fit_all_and_the_first_one_counts() -> None:
    class Sevens(Scripted):
        def count_tokens(self, text: str, /) -> int:
            return 7

    first = Sevens(context_length=900, output_length=80)
    seen: list[Any] = []

    def work(model: Any, question: Question) -> Any:
        seen.append((model.context_length, model.output_length, model.count_tokens("abc")))
        return "ok"

    with routed({"a": first, "b": Scripted(context_length=500, output_length=90)}, work) as pipeline:
        run(pipeline).checked()
    assert seen == [(500, 80, 7)]


def test_native_tools_where_all_have_them() -> None:
    def work(model: Any, question: Question) -> Any:
        assert isinstance(model, ToolChatModel)
        return f"{model.native_tools} {model.converse([Message('user', 'q')], [TOOL]).content}"

    for second, has in ((Calling(["two"]), True), (Calling(["two"], native_tools=False), False), (Scripted(["two"]), False)):
        with routed({"a": Calling(["one"]), "b": second}, work) as pipeline:
            assert run(pipeline).checked()[ANSWERS] == [Answer(f"{has} one")]
    with routed({"a": Calling([down()]), "b": Calling(["two"])}, work) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("True two")]


def test_tools_go_to_those_alone_that_call_them() -> None:
    def work(model: Any, question: Question) -> Any:
        return model.converse([Message("user", "q")], [TOOL]).content

    with routed({"a": Calling(["one"], native_tools=False), "b": Scripted(["two"]), "c": Calling(["three"])}, work) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("three")]
    with routed({"a": Scripted()}, work) as pipeline:
        assert cause(run(pipeline)).kind == "no-tools"


def test_a_conversation_is_paid_for() -> None:
    def work(model: Any, question: Question) -> Any:
        return model.converse([Message("user", "x" * 1000)]).content

    with routed({"a": Calling(["ok"], output_length=1)}, work, prices={"a": DEAR}, maxCost=0.02) as pipeline:
        assert run(pipeline).checked().usage["router"]["cost"] == pytest.approx((1000 * 10 + 2 * 100) / 1e6)
    with routed({"a": Calling(["ok"], output_length=1)}, work, prices={"a": DEAR}, maxCost=0.01) as pipeline:
        assert cause(run(pipeline)).kind == "quota"


# --- what is wrong with a file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"order": ["a", "x"]}, "no language model 'x' is connected to router; connected are a, b"),
        ({"order": ["a", "a"]}, "'a' is there twice"),
        ({"maxCost": 1, "prices": {"a": DEAR}}, "maxCost needs a price for b"),
        ({"switchOn": ["bad"]}, "switchOn"),
        ({"prices": {"a": {"input": 1}}}, "output"),
        ({"prices": {"a": {"input": -1, "output": 1}}}, "input"),
    ],
)
def test_settings_that_cannot_be_right(config: dict[str, Any], words: str) -> None:
    with pytest.raises(PipeError) as caught, routed({"a": Scripted(), "b": Scripted()}, plain, **config):
        pass
    assert words in str([f"{problem.path}: {problem.message}" for problem in caught.value.problems])


def test_a_price_for_nobody_is_a_warning() -> None:
    with routed({"a": Scripted()}, plain, prices={"x": DEAR}) as pipeline:
        assert run(pipeline).checked()[ANSWERS] == [Answer("ok")]
    pipe = PipeFile(
        [
            Component("source", "router_source"),
            Component("router", "llm_router", {"prices": {"x": DEAR}}, input=[LaneLink("questions", "source")]),
            Component("end", "router_end", input=[LaneLink("answers", "router")]),
        ],
        source="source",
    )
    found = {(p.code, p.severity) for p in Kernel(nodes=[Source, End, Router]).check(pipe)}
    assert found == {("unused-price", "warning"), ("missing-control", "error")}


def test_every_kind_of_error_can_be_named() -> None:
    from typing import get_args

    from rocketride_llm import Kind
    from rocketride_llm_router.config import Reason

    assert set(get_args(Reason)) == {*get_args(Kind), "cost"}
