# SPDX-License-Identifier: MIT
"""What the Messages API answers, whole or in events, as a `Reply`. Thinking is no part of the text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from rocketride_core import ToolCall
from rocketride_llm import LLMError, Reply, Usage, counted, lost, read_call

__all__ = ["Reading", "read_message"]

FINISHES: Mapping[str, Literal["stop", "tools", "length", "refused"]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@attrs.define
class Reading:
    """Takes the events of one reply as they come.

    Parameters:
        on_text: gets the text piece by piece; None where nobody waits for it.
    """

    on_text: Callable[[str], None] | None = None
    begun: bool = False
    ended: bool = False
    _texts: list[str] = attrs.field(factory=list)
    _calls: dict[int, tuple[str, str, list[str]]] = attrs.field(factory=dict)
    _counts: dict[str, int] = attrs.field(factory=dict)
    _reason: str = ""
    _why: str = ""

    def take(self, event: Any) -> None:
        """Takes an event; of kinds to come nothing is known, and they are left out.

        Raises:
            LLMError: it is none.
        """
        if not isinstance(event.type, str):
            raise LLMError("bad-reply", "there is an event in it that has no type")
        match event.type:
            case "message_start":
                self.begun = True
                self.count(event.message)
            case "content_block_start":
                block = event.content_block
                if block.type == "tool_use":
                    self._calls[event.index] = (block.id, block.name, [])
                elif block.type == "text":
                    self.say(block.text)
            case "content_block_delta":
                delta = event.delta
                if delta.type == "text_delta":
                    self.say(delta.text)
                elif delta.type == "input_json_delta" and event.index in self._calls:
                    self._calls[event.index][2].append(delta.partial_json)
            case "message_delta":
                self.stopped(event.delta)
                self.count(event)
            case "message_stop":
                self.ended = True

    def say(self, text: str) -> None:
        if text:
            self._texts.append(text)
            if self.on_text is not None:
                self.on_text(text)

    def count(self, part: Any) -> None:
        """Later counts are of the whole reply, and stand in place of earlier ones."""
        usage = getattr(part, "usage", None)
        for name in COUNTS:
            if (count := counted(getattr(usage, name, None))) is not None:
                self._counts[name] = count

    def stopped(self, end: Any) -> None:
        self._reason = end.stop_reason or ""
        details = getattr(end, "stop_details", None)
        self._why = (getattr(details, "explanation", None) or getattr(details, "category", None) or "") if details else ""

    def reply(self, calls: list[ToolCall] | None = None) -> Reply:
        """The reply, once all has come.

        Raises:
            LLMError: it is no whole reply.
        """
        if not self._reason and not self.begun:
            raise LLMError("bad-reply", "it is no message of the Messages API; see 'base_url'")
        if not self._reason:
            raise lost()
        if self._reason == "pause_turn":
            raise LLMError("bad-reply", "the model paused in the middle of its answer (pause_turn)")
        finish = FINISHES.get(self._reason, "stop")
        said = "".join(self._texts)
        return Reply(
            text=(self._why or said) if finish == "refused" else said,
            calls=[read_call(id, name, "".join(pieces)) for _, (id, name, pieces) in sorted(self._calls.items())]
            if calls is None
            else calls,
            finish=finish,
            usage=self._usage(),
        )

    def _usage(self) -> Usage | None:
        if not any(self._counts.values()):
            return None
        read = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(self._counts.get("input_tokens", 0) + read + written, self._counts.get("output_tokens", 0), read)


def read_message(message: Any) -> Reply:
    """A whole message.

    Raises:
        LLMError: it is none.
    """
    reading, calls = Reading(), list[ToolCall]()
    for block in message.content:
        if block.type == "text":
            reading.say(block.text)
        elif block.type == "tool_use":
            given = block.input
            known = isinstance(given, Mapping)
            broken = "" if known else given if isinstance(given, str) else json.dumps(given)
            calls.append(ToolCall(block.id, block.name, dict(given) if known else {}, broken))
    reading.stopped(message)
    reading.count(message)
    return reading.reply(calls)
