# SPDX-License-Identifier: MIT
"""The part of LLMSuite about what goes wrong: kinds, numbers of requests, limits, cancelling."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, Question

from .failures import (
    bad_key,
    content_refused,
    context_too_long,
    model_not_found,
    overloaded,
    permission_denied,
    quota_exhausted,
    rate_limited,
    server_error,
)
from .kit import KEY, TRIES, SuiteKit, asked_by
from .server import ScriptedServer
from .steps import Drop, FailMidway, Hang, Malformed, Say, Step

__all__ = ["Faults"]


class Faults(SuiteKit):
    @pytest.mark.parametrize("streamed", [False, True])
    @pytest.mark.parametrize(
        ("step", "kind", "requests"),
        [
            (bad_key(), "authentication", 1),
            (permission_denied(), "permission", 1),
            (quota_exhausted(), "quota", 1),
            (model_not_found(), "no-such-model", 1),
            (context_too_long(), "too-long", 1),
            (content_refused(), "refused", 1),
            (Say("I will not.", finish="refusal"), "refused", 1),
            (Malformed(), "bad-reply", 1),
            (rate_limited(0.01), "rate-limit", TRIES),
            (server_error(500), "unavailable", TRIES),
            (server_error(503), "unavailable", TRIES),
            (overloaded(), "unavailable", TRIES),
            (Drop(), "connection", TRIES),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    def test_errors_have_their_kind_and_number_of_requests(self, step: Any, kind: str, requests: int, streamed: bool) -> None:
        """Troubleshooting: `Backend.explain` says which kind an exception of the library is; its client must not retry itself."""
        if kind == "refused" and not self.refuses:
            return
        result, _, chats = self.asked(*[step] * requests, streamed=streamed)
        error = self.cause(result)
        assert (error.kind, len(chats)) == (kind, requests), error
        assert error.component == "llm"
        said = str(result.error)
        assert KEY not in said
        assert "\n" not in said

    @pytest.mark.parametrize("streamed", [False, True])
    def test_faults_that_pass_do_not_fail_the_entry(self, streamed: bool) -> None:
        steps: list[Step] = [server_error(500), server_error(502), Say("At last.")]
        result, tokens, chats = self.asked(*steps, streamed=streamed)
        assert result.checked()[ANSWERS] == [Answer("At last.")]
        assert (len(chats), result.usage["llm"]["retries"]) == (3, 2)
        assert tokens == ("At last." if streamed else "")

    @pytest.mark.parametrize("form", ["seconds", "date"])
    def test_retry_after_is_honoured(self, form: Any) -> None:
        result, _, chats = self.asked(rate_limited(1, form), Say("Now."))
        assert result.checked()[ANSWERS] == [Answer("Now.")]
        assert 0.8 <= chats[1].time - chats[0].time < 5

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_silent_server_is_a_time_out(self, streamed: bool) -> None:
        result, _, chats = self.asked(Hang(), Hang(), streamed=streamed, timeout=0.2, maxAttempts=2)
        assert (self.cause(result).kind, len(chats)) == ("timeout", 2)

    @pytest.mark.parametrize(
        ("step", "kind"),
        [
            (Drop(after_chunks=2), "connection"),
            (Hang(after_chunks=2), "timeout"),
            (FailMidway(), "unavailable"),
            (Malformed(after_chunks=2), "bad-reply"),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    def test_an_answer_that_has_begun_is_not_asked_for_again(self, step: Any, kind: str) -> None:
        result, tokens, chats = self.asked(step, Say("Said twice."), streamed=True, timeout=0.5)
        if not self.streams:
            assert not any(chat.stream for chat in chats)
            return
        assert (self.cause(result).kind, len(chats)) == (kind, 1)
        assert tokens
        assert "Said twice." not in tokens

    def test_the_time_of_a_question_is_bounded(self) -> None:
        began = time.monotonic()
        result, _, _ = self.asked(Hang(), maxTime=0.3)
        assert self.cause(result).kind == "timeout"
        assert time.monotonic() - began < 5

    def test_nobody_there_is_a_connection_error(self) -> None:
        with ScriptedServer() as server:
            config = self.config(server, maxAttempts=2)
        with asked_by(self.node, config, lambda model, question: model.ask(question)) as pipeline:
            error = self.cause(pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))))
        assert (error.kind, error.attempts) == ("connection", 2)

    def test_a_proxy_is_gone_through(self) -> None:
        with ScriptedServer() as gone:
            pass
        result, _, chats = self.asked(proxy=gone.url, maxAttempts=1)
        assert (self.cause(result).kind, chats) == ("connection", [])

    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_cancel_closes_the_connection(self, streamed: bool) -> None:
        take: Any = (lambda _: None) if streamed else None
        hang = Hang(after_chunks=1) if streamed else Hang()
        with self.serving(hang, work=lambda model, question: model.ask(question, on_token=take)) as (pipeline, server):
            with pipeline.start(Entry("e"), QUESTIONS(Question.of("q"))) as run:
                deadline = time.monotonic() + 5
                while not server.chats and time.monotonic() < deadline:
                    time.sleep(0.005)
                (chat,) = server.chats
                run.cancel()
                began = time.monotonic()
                assert run.result(10).error is not None
            assert chat.wait(5) == "client gone"
            assert time.monotonic() - began < 5
