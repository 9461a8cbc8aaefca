# SPDX-License-Identifier: MIT
"""Replies in the form that began with OpenAI's Chat Completions, whole or in pieces, from servers that keep to it more or less."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from rocketride_core import ToolCall

from .ends import lost
from .errors import LLMError
from .wire import Reply, Usage, counted, read_call

__all__ = ["Completion", "get"]

LENGTH = ("length", "max_tokens", "model_length", "time_limit")


def get(value: Any, name: str) -> Any:
    """A field of an object of the library or of plain JSON; None where there is none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


class Completion:
    """One reply, fed with objects of a client library or of JSON.

    A vendor whose replies have more overrides `choice`, `beside`, `add` and `reply`.
    """

    def __init__(self) -> None:
        self.finish = ""
        self.usage: Usage | None = None
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._calls: list[_Call] = []

    def failed(self, error: Any) -> LLMError:
        """What an error means that stands where a reply should."""
        message = get(error, "message")
        return LLMError("unavailable", message if isinstance(message, str) else "")

    def whole(self, completion: Any) -> Reply:
        """The reply in a completion.

        Raises:
            LLMError: it is an error that came with a good status, or no completion at all.
        """
        choice = self.choice(completion)
        if choice is None or (get(choice, "message") is None and get(choice, "finish_reason") != "error"):
            raise LLMError("bad-reply", "there is no message in it")
        self.add(choice, "message")
        self.finish = self.finish or "stop"
        self.beside(completion)
        return self.reply()

    def feed(self, chunk: Any) -> str:
        """The text in a chunk of a stream; "" where there is none.

        Raises:
            LLMError: it is an error, or no chunk.
        """
        self.beside(chunk)
        choice = self.choice(chunk)
        return "" if choice is None else self.add(choice, "delta")

    def beside(self, completion: Any) -> None:
        """Takes what stands beside the choices of a completion or chunk: the usage."""
        self.usage = _usage(completion) or self.usage

    def add(self, choice: Any, place: Literal["message", "delta"]) -> str:
        """Takes a choice's message; its text."""
        said = get(choice, place)
        text = _text(get(said, "content"))
        self._texts.append(text)
        self._refusals.append(_text(get(said, "refusal")))
        for piece in get(said, "tool_calls") or ():
            self._call(piece)
        self.finish = str(get(choice, "finish_reason") or self.finish)
        if self.finish == "error":
            raise self.failed(get(choice, "error"))
        return text

    def reply(self) -> Reply:
        """All of it.

        Raises:
            LLMError: it has not come to its end.
        """
        if not self.finish:
            raise lost()
        text, refusal = "".join(self._texts), "".join(self._refusals)
        calls = tuple(call.made() for call in self._calls)
        if refusal or self.finish == "content_filter":
            return Reply(text=refusal or text, finish="refused", usage=self.usage)
        finish: Any = "length" if self.finish in LENGTH else "tools" if calls else "stop"
        return Reply(text=text, calls=calls, finish=finish, usage=self.usage)

    def choice(self, completion: Any) -> Any:
        """The first choice; None where there is none, as in a stream's last chunk, which only has the usage.

        Raises:
            LLMError: it is an error, or no completion at all.
        """
        choices = get(completion, "choices")
        if choices:
            first = choices[0] if isinstance(choices, list) else None
            if isinstance(first, str | int | float | list | None):
                raise LLMError("bad-reply", "its choices are none")
            return first
        if error := get(completion, "error"):
            raise self.failed(error)
        if get(completion, "object") == "error":
            fields = {name: get(completion, name) for name in ("code", "type", "message")}
            raise self.failed(fields)
        if choices is None and get(completion, "usage") is None:
            raise LLMError("bad-reply", "it is no chat completion")
        return None

    def _call(self, piece: Any) -> None:
        function, index, id = get(piece, "function"), get(piece, "index"), get(piece, "id") or ""
        name = get(function, "name") or ""
        found = None
        if isinstance(index, int):
            found = next((call for call in reversed(self._calls) if call.index == index), None)
        elif not id and not name and self._calls:
            found = self._calls[-1]
        # Some servers count no calls: all have the index 0, and only a new id tells them apart.
        if found is None or (id and found.id and id != found.id):
            found = _Call(index)
            self._calls.append(found)
        found.id, found.name = found.id or str(id), found.name or str(name)
        arguments = get(function, "arguments")
        if arguments is not None:
            found.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))


class _Call:
    def __init__(self, index: Any) -> None:
        self.index, self.id, self.name = index, "", ""
        self.arguments: list[str] = []

    def made(self) -> ToolCall:
        return read_call(self.id or f"call_{uuid.uuid4().hex}", self.name, "".join(self.arguments))


def _text(content: Any) -> str:
    """A text, or the texts of a list of parts; thoughts among the parts are left out."""
    if isinstance(content, list):
        return "".join(str(get(part, "text") or "") for part in content if get(part, "type") == "text")
    return content if isinstance(content, str) else ""


def _usage(completion: Any) -> Usage | None:
    usage = get(completion, "usage")
    asked, answered = counted(get(usage, "prompt_tokens")), counted(get(usage, "completion_tokens"))
    if asked is None:
        return None
    cached = counted(get(get(usage, "prompt_tokens_details"), "cached_tokens"))
    if cached is None:
        cached = counted(get(usage, "prompt_cache_hit_tokens"))
    return Usage(asked, answered or 0, cached or 0)
