# SPDX-License-Identifier: MIT
"""The part of LLMSuite about what goes wrong: kinds, numbers of requests, limits, cancelling."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, PipeError, Question, RunError

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

    @pytest.mark.parametrize(
        "step",
        [
            Drop(unframed=True, after_chunks=0),
            Drop(unframed=True, after_chunks=0, torn=True),
            Drop(unframed=True, after_bytes=20),
            Drop(unframed=True, after_bytes=1),
            Drop(after_bytes=20),
        ],
        ids=["before a piece", "in the first piece", "in the head", "after a byte", "with its length"],
    )
    @pytest.mark.parametrize("streamed", [False, True])
    def test_a_reply_that_breaks_off_before_a_word_is_asked_for_again(self, step: Any, streamed: bool) -> None:
        """Troubleshooting: use `refuse_broken_off` as a response hook; at the end of a stream, look whether its last event was there."""
        result, tokens, chats = self.asked(step, Say("Whole."), streamed=streamed)
        assert result.checked()[ANSWERS] == [Answer("Whole.")]
        assert (len(chats), tokens) == (2, "Whole." if streamed else "")
        error = self.cause(self.asked(step, streamed=streamed, maxAttempts=1)[0])
        assert error.kind == "connection"
        assert "was lost before its answer was complete" in str(error)

    @pytest.mark.parametrize("torn", [False, True])
    def test_a_stream_that_breaks_off_is_a_lost_connection_and_not_asked_for_again(self, torn: bool) -> None:
        step = Drop(
            unframed=True, after_chunks=2, torn=torn, reply=Say("One twö thrée föur", chunks=["One ", "twö ", "thrée ", "föur"])
        )
        if not self.streams:
            return
        result, tokens, chats = self.asked(step, Say("Said twice."), streamed=True)
        error = self.cause(result)
        assert (error.kind, error.lost, len(chats), tokens) == ("connection", True, 1, "One twö ")

    @pytest.mark.parametrize(
        "text", ["5", "[]", "null", '"a text"', '{"choices": [5]}', '{"choices": 5}', "no JSON", "<p>A page</p>"]
    )
    @pytest.mark.parametrize("streamed", [False, True])
    def test_garbage_is_not_asked_for_again(self, text: str, streamed: bool) -> None:
        result, tokens, chats = self.asked(Malformed(text), Say("Never."), streamed=streamed)
        error = self.cause(result)
        assert (error.kind, len(chats), tokens) == ("bad-reply", 1, ""), error

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
        assert f"Failed to connect to {self.node.vendor} at {server.url}" in str(error)
        parts = urlsplit(str(config[self.address]))
        config[self.address] = parts._replace(netloc=f"user:pass%2Fword@{parts.netloc}").geturl()
        with asked_by(self.node, config, lambda model, question: model.ask(question)) as pipeline:
            said = str(pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).error)
        assert f" at {server.url}" in said
        assert not [word for word in ("user", "pass", "word") if word in said]

    def test_a_proxy_is_gone_through(self) -> None:
        with ScriptedServer() as gone:
            pass
        result, _, chats = self.asked(proxy=gone.url, maxAttempts=1)
        assert (self.cause(result).kind, chats) == ("connection", [])
        assert "by way of the proxy" in str(self.cause(result))

    @pytest.mark.parametrize(
        "proxy", ["http://", "proxy:3128", "ftp://u:planted-password@h:1", "http://u:planted-password@h:99999"]
    )
    def test_a_proxy_that_is_none_is_told_before_anything_is_asked(self, proxy: str) -> None:
        with pytest.raises((PipeError, RunError)) as caught:
            self.asked(proxy=proxy)
        problems = caught.value.problems if isinstance(caught.value, PipeError) else ()
        said = str([str(caught.value), *(f"{problem.path}: {problem.message}" for problem in problems)])
        assert "proxy" in said
        assert "planted-password" not in said

    @pytest.mark.parametrize("address", ["http://", "http://h:99999", "ftp://h", "http://a b", "http://[::1"])
    def test_an_address_that_is_none_is_a_problem_of_the_file(self, address: str) -> None:
        wrong: dict[str, Any] = {self.address: address}
        with pytest.raises(PipeError, match=self.address):
            self.asked(**wrong)

    def test_an_address_may_have_blanks_around_it(self) -> None:
        with ScriptedServer([Say("ok")], key=KEY) as server:
            config = self.config(server)
            config[self.address] = f" {config[self.address]}/\n"
            with asked_by(self.node, config, lambda model, question: model.ask(question)) as pipeline:
                assert pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()[ANSWERS] == [Answer("ok")]

    @pytest.mark.parametrize(
        ("setting", "value", "said"),
        [
            ("apikey", "Bearer ${MY_KEY}", "is a variable that is not filled in; only those are that begin with ROCKETRIDE_"),
            ("apikey", "sk-planted 0123", "has spaces or characters that no key has"),
            ("apikey", "sk-planted\n0123", "has spaces or characters that no key has"),
            ("apikey", "sk-plantéd-0123", "has spaces or characters that no key has"),
            ("apikey", " \n", 'There is no API key for {vendor}; write "apikey" in the config of llm'),
            ("proxy", "http://${MY PROXY}:1", "The proxy is a variable that is not filled in"),
            ("proxy", "socks5://u:planted@h:1", "A SOCKS proxy needs the package socksio"),
        ],
    )
    def test_what_cannot_be_sent_ends_the_load(
        self, setting: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Troubleshooting: the base looks at the key before `connect`; `needs_key` says whether there must be one."""
        monkeypatch.setattr("rocketride_llm.remote.find_spec", lambda name: None)
        if said.startswith("There is no") and not self.keyed:
            return
        wrong: dict[str, Any] = {setting: value}
        with pytest.raises(RunError) as caught:
            self.asked(**wrong)
        assert said.format(vendor=self.node.vendor) in str(caught.value)
        assert "plant" not in str(caught.value)

    def test_a_key_may_have_the_line_break_of_its_file(self) -> None:
        assert self.asked(Say("ok"), apikey=f" {KEY}\n")[0].checked()[ANSWERS] == [Answer("ok")]

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
