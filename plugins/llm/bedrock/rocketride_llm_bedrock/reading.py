# SPDX-License-Identifier: MIT
"""What Converse answers, whole or in events, as a `Reply`. Reasoning is no part of the text."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Literal

import attrs

from rocketride_core import ToolCall
from rocketride_llm import LLMError, Reply, Usage, counted, lost, read_call

from .faults import FOREIGN, in_stream

__all__ = ["Reading", "events", "read_whole"]

FINISHES: Mapping[str, Literal["stop", "tools", "length", "refused"]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "refused",
    "content_filtered": "refused",
}
MALFORMED = {"malformed_model_output": "what the model wrote is no answer", "malformed_tool_use": "its call of a tool is none"}


@attrs.define
class Reading:
    """Takes the events of one reply as they come.

    Parameters:
        on_text: gets the text piece by piece; None where nobody waits for it.
    """

    on_text: Callable[[str], None] | None = None
    _texts: list[str] = attrs.field(factory=list)
    _calls: dict[int, tuple[str, str, list[str]]] = attrs.field(factory=dict)
    _reason: str = ""
    _usage: Usage | None = None

    def take(self, kind: str, body: Any) -> None:
        """Takes an event; of kinds to come nothing is known, and they are left out.

        Raises:
            LLMError: it is none.
        """
        match kind, body:
            case "contentBlockStart", {"contentBlockIndex": int(index), "start": Mapping() as start}:
                use = start.get("toolUse")
                if use is not None:
                    self._calls[index] = (str(use["toolUseId"]), str(use["name"]), [])
            case "contentBlockDelta", {"contentBlockIndex": int(index), "delta": Mapping() as delta}:
                self._say(delta.get("text", ""))
                if index in self._calls and "toolUse" in delta:
                    self._calls[index][2].append(delta["toolUse"]["input"])
            case "messageStop", {"stopReason": str(reason)}:
                self._reason = reason
            case "metadata", Mapping():
                self._usage = _usage(body.get("usage"))
            case (("contentBlockStart" | "contentBlockDelta" | "messageStop" | "metadata"), _):
                raise LLMError("bad-reply", FOREIGN)

    def reply(self) -> Reply:
        """The reply, once all has come.

        Raises:
            LLMError: it is no whole reply.
        """
        if not self._reason:
            raise lost()
        calls = [read_call(id, name, "".join(pieces)) for _, (id, name, pieces) in sorted(self._calls.items())]
        return _reply("".join(self._texts), calls, self._reason, self._usage)

    def _say(self, text: Any) -> None:
        if not isinstance(text, str):
            raise LLMError("bad-reply", FOREIGN)
        self._texts.append(text)
        if self.on_text is not None and text:
            self.on_text(text)


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, Any], None]:
    """The events of a stream, as (kind, value); what is broken off at its end is left out.

    Raises:
        LLMError: it is no event stream, its checksums are wrong, or it says that something went wrong.
    """
    from botocore.eventstream import EventStreamBuffer, ParserError  # type: ignore[import-untyped]

    buffer = EventStreamBuffer()
    async for piece in pieces:
        buffer.add_data(piece)
        found: Iterator[Any] = iter(buffer)
        while True:
            try:
                message = next(found, None)
            except (ParserError, ValueError) as error:
                raise LLMError("bad-reply", f"its event stream is damaged: {error}") from error
            if message is None:
                break
            yield _event(message.headers, message.payload)


def _event(headers: Mapping[str, Any], payload: bytes) -> tuple[str, Any]:
    try:
        body = json.loads(payload) if payload else {}
    except ValueError as error:
        raise LLMError("bad-reply", "an event of its stream is no JSON") from error
    if headers.get(":message-type") == "event":
        return str(headers.get(":event-type")), body
    told = body.get("message") if isinstance(body, Mapping) else None
    kind = headers.get(":exception-type") or headers.get(":error-code") or ""
    raise in_stream(str(kind), str(told or headers.get(":error-message") or ""))


def read_whole(body: Any) -> Reply:
    """A reply that came in one piece.

    Raises:
        LLMError: it is none.
    """
    match body:
        case {"output": {"message": {"content": list(blocks)}}, "stopReason": str(reason)}:
            texts = [block["text"] for block in blocks if "text" in block]
            calls = [_call(block["toolUse"]) for block in blocks if "toolUse" in block]
            return _reply("".join(texts), calls, reason, _usage(body.get("usage")))
    raise LLMError("bad-reply", FOREIGN)


def _call(use: Mapping[str, Any]) -> ToolCall:
    given = use["input"]
    if isinstance(given, Mapping):
        return ToolCall(use["toolUseId"], use["name"], dict(given))
    return ToolCall(use["toolUseId"], use["name"], broken=given if isinstance(given, str) else json.dumps(given))


def _reply(text: str, calls: list[ToolCall], reason: str, usage: Usage | None) -> Reply:
    if reason in MALFORMED:
        raise LLMError("bad-reply", f"{MALFORMED[reason]} ({reason})")
    return Reply(text=text, calls=calls, finish=FINISHES.get(reason, "stop"), usage=usage)


def _usage(usage: Any) -> Usage | None:
    """All tokens of the prompt, those read from the cache and written to it included."""
    if not isinstance(usage, Mapping):
        return None
    asked, answered = counted(usage.get("inputTokens")), counted(usage.get("outputTokens"))
    if asked is None or answered is None:
        return None
    read, written = (counted(usage.get(f"cache{way}InputTokens")) or 0 for way in ("Read", "Write"))
    return Usage(asked + read + written, answered, read)
