# SPDX-License-Identifier: MIT
"""LLMSuite: what every language model must keep to, whoever its vendor is. Subclass it, name the node and its wire; pytest does the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Component, Entry, Kernel, LaneLink, PipeFile, Question, ToolChatModel

from .failures import bad_key
from .kit import KEY, End, Source, asked_by
from .server import ScriptedServer
from .steps import Echo, Say
from .suite_answers import Answers
from .suite_faults import Faults

__all__ = ["LLMSuite"]


class LLMSuite(Answers, Faults):
    """Attributes to set in a subclass: `node` and `wire` at least, see `SuiteKit`."""

    def test_twenty_at_once_get_their_own_answers(self) -> None:
        def work(model: ToolChatModel, question: Question) -> Answer:
            return model.ask(question, on_token=lambda _: None)

        rules = [("number", Echo())]
        with (
            ScriptedServer(rules=rules, key=KEY) as server,
            asked_by(self.node, self.config(server), work) as pipeline,
        ):
            entries = [(Entry(str(n)), (QUESTIONS(Question.of(f"number {n}")),)) for n in range(20)]
            found = {result.entry.name: result.checked()[ANSWERS][0].text for result in pipeline.map(entries, workers=8)}
            assert not server.unexpected
        assert all(found[str(n)].rstrip().endswith(f"number {n}") for n in range(20)), found

    def test_the_key_is_nowhere_but_in_the_request(self) -> None:
        records: list[Any] = []
        kernel = {"trace": "payloads", "trace_to": records.append}

        def work(model: ToolChatModel, question: Question) -> Answer:
            return model.ask(question)

        with self.serving(Say("ok"), bad_key(), work=work, kernel=kernel) as (pipeline, server):
            for _ in range(2):
                result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q")))
                assert KEY not in str(result.to_json())
            assert any(KEY in value for value in server.chats[0].headers.values()), "the key is not sent"
        assert KEY not in str(records)

    def test_variables_of_the_library_change_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        result, _, chats = self.asked(Say("ok"))
        assert result.checked()[ANSWERS] == [Answer("ok")]
        headers = " ".join(chats[0].headers.values())
        assert not [value for value in self.environment.values() if value in headers]

    def test_no_thread_outlives_the_pipeline(self) -> None:
        before = set(threading.enumerate())
        self.asked(Say("ok"))
        deadline = time.monotonic() + 5
        while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not left

    def test_it_is_a_language_model_with_profiles(self) -> None:
        spec = self.node.spec
        assert "llm" in spec.categories
        assert set(self.node.manifest.on) == {"questions"}
        assert list(self.node.manifest.outs) == [ANSWERS]
        assert "llm" in self.node.manifest.serves
        assert spec.profiles
        for profile in spec.profiles:
            config: dict[str, Any] = {
                "profile": profile.id,
                profile.id: {"apikey": KEY, "model": profile.values.get("model") or "suite-1"},
            }
            source = PipeFile([Component("llm", spec.provider, config)])
            problems = [p for p in Kernel(nodes=[self.node]).check(source, source="llm") if p.code == "invalid-value"]
            assert not problems, f"profile {profile.id}: {problems}"

    def test_a_probe_says_whether_it_would_work(self) -> None:
        found = []
        for key in (KEY, "another"):
            with ScriptedServer([Say("Hello")], key=key) as server:
                found.append(self.probed(server))
                assert {request.operation for request in server.requests} == {self.probe}
        assert not found[0]
        assert "Invalid API key" in found[1][0].message

    def probed(self, server: ScriptedServer) -> Sequence[Any]:
        pipe = PipeFile(
            [
                Component("source", "suite_source"),
                Component("llm", self.node.spec.provider, self.config(server), input=[LaneLink("questions", "source")]),
                Component("end", "suite_end", input=[LaneLink("answers", "llm")]),
            ],
            source="source",
        )
        problems = Kernel(nodes=[Source, End, self.node]).check(pipe, probe=True)
        return [problem for problem in problems if problem.code != "deprecated-profile"]
