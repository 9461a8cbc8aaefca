# SPDX-License-Identifier: MIT
"""What generateContent answers, whole or in parts, as a `Reply`. Thoughts are no part of the text."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from rocketride_core import ToolCall
from rocketride_llm import LLMError, Reply, Usage, counted, lost

__all__ = ["FOREIGN", "Reading"]

FOREIGN = "it is no reply of generateContent; see 'base_url'"
REFUSALS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)
COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount", "cachedContentTokenCount")


@attrs.define
class Reading:
    """Takes the parts of one reply as they come: objects of JSON.

    Parameters:
        names: the tools' names by what they are called there.
        on_text: gets the text piece by piece; None where nobody waits for it.

    Attributes:
        signatures: by the ids of the calls; Gemini wants them back with the calls.
    """

    names: Mapping[str, str]
    on_text: Callable[[str], None] | None = None
    signatures: dict[str, bytes] = attrs.field(factory=dict)
    _taken: bool = False
    _begun: bool = False
    _texts: list[str] = attrs.field(factory=list)
    _calls: list[ToolCall] = attrs.field(factory=list)
    _counts: dict[str, int] = attrs.field(factory=dict)
    _reason: str = ""
    _why: str = ""
    _blocked: str = ""

    def take(self, part: Any) -> None:
        """Takes a part; what is new in it is left out.

        Raises:
            LLMError, AttributeError, TypeError, LookupError: it is none.
        """
        self._taken = True
        usage = part.get("usageMetadata")
        for name in COUNTS:
            if isinstance(usage, Mapping) and (count := counted(usage.get(name))) is not None:
                self._counts[name] = count
        feedback = part.get("promptFeedback") or {}
        if feedback.get("blockReason"):
            self._begun, self._blocked = True, str(feedback["blockReason"])
            self._why = _why(self._blocked, feedback.get("blockReasonMessage"))
        for candidate in (part.get("candidates") or [])[:1]:
            self._begun = True
            for piece in (candidate.get("content") or {}).get("parts") or ():
                self._piece(piece)
            if candidate.get("finishReason"):
                self._reason = str(candidate["finishReason"])
                self._why = _why(self._reason, candidate.get("finishMessage"))

    def _piece(self, piece: Mapping[str, Any]) -> None:
        if piece.get("functionCall") is not None:
            self._call(piece["functionCall"], piece.get("thoughtSignature"))
            return
        text = piece.get("text")
        if not text or piece.get("thought"):
            return
        if not isinstance(text, str):
            raise LLMError("bad-reply", FOREIGN)
        self._texts.append(text)
        if self.on_text is not None:
            self.on_text(text)

    def _call(self, call: Mapping[str, Any], signature: Any) -> None:
        id, name, arguments = call.get("id") or f"call_{uuid.uuid4().hex}", call["name"], call.get("args")
        known = arguments is None or isinstance(arguments, Mapping)
        self._calls.append(
            ToolCall(str(id), self.names.get(name, name), arguments or {} if known else {}, "" if known else str(arguments))
        )
        try:
            signed = base64.b64decode(str(signature or "").translate(str.maketrans("-_", "+/")))
        except (binascii.Error, ValueError):
            return
        if signed:
            self.signatures[str(id)] = signed

    def reply(self, *, streamed: bool) -> Reply:
        """The reply, once all has come.

        Raises:
            LLMError: it is no whole reply.
        """
        if self._taken and not self._begun:
            raise LLMError("bad-reply", FOREIGN)
        if streamed and not (self._reason or self._blocked):
            raise lost()
        finish: Literal["stop", "tools", "length", "refused"] = "tools" if self._calls else "stop"
        if self._blocked or self._reason in REFUSALS:
            finish = "refused"
        elif self._reason == "MAX_TOKENS":
            finish = "length"
        elif self._reason not in ("", "STOP", "FINISH_REASON_UNSPECIFIED"):
            raise LLMError("bad-reply", f"the model broke its answer off: {self._why}")
        text = self._why if finish == "refused" else "".join(self._texts)
        return Reply(text=text, calls=self._calls, finish=finish, usage=self._usage())

    def _usage(self) -> Usage | None:
        if not self._counts:
            return None
        asked, answered, thought, tools, cached = (self._counts.get(name, 0) for name in COUNTS)
        return Usage(asked + tools, answered + thought, cached)


def _why(reason: str, message: Any) -> str:
    """The client leaves the message out of streams."""
    return f"{reason}: {message}" if message else reason
