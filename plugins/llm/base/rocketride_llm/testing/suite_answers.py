# SPDX-License-Identifier: MIT
"""The part of LLMSuite about answers: whole and streamed, JSON, stop words, tools in the vendor's own format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, Message, Question, Tool, ToolChatModel

from .kit import KEY, SuiteKit
from .server import ScriptedServer
from .steps import CallTools, Say, Step, Think, Usage
from .wires import Piece, Wire, register_wire, unregister_wire, wires

__all__ = ["Answers"]


COUNTS = re.compile(r'("\w*(?:[tT]okens|_count|_duration|TokenCount)": ?)\d+')


@attrs.frozen
class Oddly:
    """A wire that says something else wherever it counts."""

    wire: Wire
    odd: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wire, name)

    def whole(self, request: Any, reply: Any) -> Any:
        return json.loads(self._odd(json.dumps(self.wire.whole(request, reply))))

    def stream(self, request: Any, reply: Any) -> Iterator[Piece]:
        for piece in self.wire.stream(request, reply):
            yield attrs.evolve(piece, data=self._rewritten(piece.data))

    def _rewritten(self, data: bytes) -> bytes:
        """A wire with binary frames rewrites them itself."""
        own = getattr(self.wire, "rewritten", None)
        made: bytes = own(data, self._odd) if own is not None else self._odd(data.decode()).encode()
        return made

    def _odd(self, text: str) -> str:
        return COUNTS.sub(lambda found: found[1] + json.dumps(self.odd).replace("Infinity", "1e999"), text)


class Answers(SuiteKit):
    @pytest.mark.parametrize("streamed", [False, True])
    def test_it_answers_and_counts(self, streamed: bool) -> None:
        """Troubleshooting: `Reply.usage` has what the vendor counted; in a stream it often comes last, and only when asked for."""
        said = Say("Höhe: 3 m", usage=Usage(input=11, output=7, cached=3 if self.cached else 0))
        result, tokens, chats = self.asked(said, streamed=streamed)
        assert result.checked()[ANSWERS] == [Answer("Höhe: 3 m")]
        assert tokens == ("Höhe: 3 m" if streamed else "")
        counted = result.usage["llm"]
        assert (counted["requests"], counted["input_tokens"], counted["output_tokens"]) == (1, 11, 7)
        assert counted["cached_tokens"] == (3 if self.cached else 0)
        if streamed:
            assert chats[0].stream is self.streams
        assert "What is it?" in chats[0].prompt
        assert chats[0].model == "suite-1"

    @pytest.mark.parametrize("odd", ["a text", "12", None, -3, 2.5, 7.0, True, [1], {"a": 1}, 1e999, 10**40], ids=repr)
    @pytest.mark.parametrize("streamed", [False, True])
    def test_odd_counts_lose_no_answer(self, odd: Any, streamed: bool) -> None:
        """Troubleshooting: read what the vendor counts with `counted`; a client library that insists on numbers must not see them."""
        wire = wires()[self.wire]
        register_wire(Oddly(wire, odd))
        try:
            result, tokens, _ = self.asked(Say("Höhe: 3 m"), streamed=streamed)
        finally:
            unregister_wire(self.wire)
            if wires().get(self.wire) is not wire and type(wires().get(self.wire)) is not type(wire):
                register_wire(wire)
        assert result.checked()[ANSWERS] == [Answer("Höhe: 3 m")]
        assert tokens == ("Höhe: 3 m" if streamed else "")
        known = {"12": 12, "7.0": 7}.get(str(odd))
        if known is not None:
            assert result.usage["llm"]["output_tokens"] == known

    def test_on_its_lane_it_streams_tokens(self) -> None:
        from rocketride_core.testing import node_harness

        with (
            ScriptedServer([Say("one two three")], key=KEY) as server,
            node_harness(self.node, config=self.config(server)) as harness,
        ):
            outputs = harness.run({"questions": [Question.of("Count!")]})
        assert outputs["answers"] == [Answer("one two three")]
        assert "".join(str(event.data["text"]) for event in outputs.events if event.kind == "token") == "one two three"

    def test_on_a_lane_and_called_in_one_entry(self) -> None:
        def work(model: ToolChatModel, question: Question) -> Answer:
            first = model.ask(question)
            return Answer(f"{first.text} {model.ask(Question.of('again')).text}")

        with self.serving(Say("a"), Say("b"), work=work) as (pipeline, _):
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert result[ANSWERS] == [Answer("a b")]
        assert result.usage["llm"]["requests"] == 2

    @pytest.mark.parametrize("streamed", [False, True])
    def test_thinking_is_not_part_of_the_answer(self, streamed: bool) -> None:
        for step in (Think("let me see", "Four."), Say("<think>let me see</think>Four.")):
            result, tokens, _ = self.asked(step, streamed=streamed)
            assert result.checked()[ANSWERS] == [Answer("Four.")]
            assert tokens == ("Four." if streamed else "")

    def test_json_is_asked_for_until_it_is_json(self) -> None:
        question = Question(("A list, please",), expect_json=True)
        result, _, chats = self.asked(Say("Sure!"), Say("```json\n[1, 2]\n```"), question=question)
        assert result.checked()[ANSWERS] == [Answer([1, 2])]
        assert len(chats) == 2

    def test_stop_words_end_the_answer(self) -> None:
        def work(model: ToolChatModel, question: Question) -> Answer:
            return model.ask(question, stop=["Observation:"])

        with self.serving(Say("Action: x\nObservation: made up"), work=work) as (pipeline, _):
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert result[ANSWERS][0].text.rstrip() == "Action: x"

    def test_a_cut_answer_is_a_warning(self) -> None:
        result, _, _ = self.asked(Say("half of", finish="length"))
        assert result.checked()[ANSWERS] == [Answer("half of")]
        assert [warning.code for warning in result.warnings] == ["answer-cut"]

    @pytest.mark.parametrize("streamed", [False, True])
    def test_tools_are_called_in_its_own_format(self, streamed: bool) -> None:
        """Troubleshooting: `Request.tools` have fitting names already; a result goes back under the id of its call."""
        tools = [
            Tool(f"db_{n}.search", "Finds things.", {"type": "object", "properties": {"q": {"type": "string"}}}, lambda *_: None)
            for n in (1, 2)
        ]

        def work(model: ToolChatModel, question: Question) -> str:
            if not model.native_tools:
                pytest.skip("it calls no tools")
            take: Any = (lambda _: None) if streamed else None
            start = [Message("system", "Be brief."), Message("user", question.texts[0])]
            turn = model.converse(start, tools, on_token=take)
            results = [Message("tool", f"result of {call.name}", call_id=call.id) for call in turn.calls]
            last = model.converse([*start, turn, *results], tools, on_token=take)
            return f"{[(call.name, dict(call.arguments)) for call in turn.calls]} {last.content}"

        steps: list[Step] = [CallTools([("db_1__search", {"q": "ä"}), ("db_2__search", {})]), Say("Found.")]
        with self.serving(*steps, work=work) as (pipeline, server):
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("Find it"))).checked()
            sent = server.chats[1].prompt
        assert result[ANSWERS] == [Answer("[('db_1.search', {'q': 'ä'}), ('db_2.search', {})] Found.")]
        assert sent.index("result of db_1.search") < sent.index("result of db_2.search")
