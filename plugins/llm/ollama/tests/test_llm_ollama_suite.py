# SPDX-License-Identifier: MIT
"""Ollama's models keep to what every language model keeps to, but for what Ollama has not got."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rocketride_core import QUESTIONS, Entry, Question
from rocketride_llm.testing import Hang, ScriptedServer
from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm_ollama import Ollama


class TestOllama(LLMSuite):
    node = Ollama
    wire = "ollama"
    address = "serverbase"
    cached = False
    environment = {"OLLAMA_HOST": "http://127.0.0.1:9", "OLLAMA_API_KEY": "key-of-the-environment"}

    def test_errors_have_their_kind_and_number_of_requests(self, step: Any, kind: str, requests: int, streamed: bool) -> None:
        if kind == "refused":
            pytest.skip("Ollama has no filter: neither an error nor a done_reason says that an answer is refused")
        super().test_errors_have_their_kind_and_number_of_requests(step, kind, requests, streamed)

    marks: Any = LLMSuite.test_errors_have_their_kind_and_number_of_requests
    test_errors_have_their_kind_and_number_of_requests.pytestmark = marks.pytestmark  # type: ignore[attr-defined]

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_cancel_closes_the_connection(self, streamed: bool) -> None:
        """Here the chat may come behind the request for what the model can do."""
        take: Any = (lambda _: None) if streamed else None
        hang = Hang(after_chunks=1) if streamed else Hang()
        with self.serving(hang, work=lambda model, question: model.ask(question, on_token=take)) as (pipeline, server):
            with pipeline.start(Entry("e"), QUESTIONS(Question.of("q"))) as run:
                deadline = time.monotonic() + 5
                while not server.chats and time.monotonic() < deadline:
                    time.sleep(0.005)
                (chat,) = server.chats
                run.cancel()
                assert run.result(10).error is not None
            assert chat.wait(5) == "client gone"

    def test_a_probe_says_whether_it_would_work(self) -> None:
        """Here the probe asks for the model and no question: a question would load the model first."""
        found = []
        for key in (None, "another"):
            with ScriptedServer(key=key) as server:
                found.append(self.probed(server))
                assert not server.chats
        assert not found[0]
        assert "Invalid API key" in found[1][0].message
