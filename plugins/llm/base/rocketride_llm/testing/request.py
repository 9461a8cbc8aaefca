# SPDX-License-Identifier: MIT
"""What the server keeps of a request, and what a wire is given to answer it."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Any, Literal

import attrs

from .steps import CallTools, Echo, Interrupted, Think, Usage

__all__ = ["Call", "Outcome", "Reply", "Request", "reply_to"]

Outcome = Literal["pending", "answered", "failed", "dropped", "client gone", "server closed"]


@attrs.define(eq=False)
class Request:
    """One request, as it came, and how it ended.

    Attributes:
        number: 1 for the first that the server saw.
        wire: one of `wires()`, or "" for a path that no wire knows.
        operation: `chat`, `embeddings`, `models`, `count_tokens`, …
        method: the HTTP method.
        path: without the query.
        headers: by names in lower case.
        body: the parsed JSON; None where there is none.
        key: that came with the request; "" where there was none.
        time: when it came, of `time.monotonic`, in seconds.
        model: the model asked for.
        prompt: the texts of all messages, the system's included, one after another on lines of their own.
        question: the text of the user's last message.
        last: the text of the last message, whoever's: of a tool's result, for one.
        stream: whether a stream is asked for.
        stops: the stop words.
        outcome: `answered` (to the end), `failed` (an error was sent), `dropped` (by the script), `client gone`, `server closed`.
        done: set once the outcome is known.
    """

    number: int
    wire: str
    operation: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    time: float
    key: str = ""
    model: str = ""
    prompt: str = ""
    question: str = ""
    last: str = ""
    stream: bool = False
    stops: tuple[str, ...] = ()
    outcome: Outcome = "pending"
    done: threading.Event = attrs.field(factory=threading.Event, repr=False)

    def wait(self, timeout: float = 5.0) -> Outcome:
        """Waits until it has ended, at most `timeout` seconds, and tells how."""
        self.done.wait(timeout)
        return self.outcome


@attrs.frozen
class Call:
    """One tool call of a reply.

    Attributes:
        name: of the tool.
        arguments: the raw text, JSON unless the script broke it.
        index: 0 for the first of the reply.
    """

    name: str
    arguments: str
    index: int

    @property
    def value(self) -> Any:
        """The arguments as an object, or the raw text where it is no JSON."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return self.arguments


@attrs.frozen
class Reply:
    """A step made ready for the wires: texts cut into pieces, tokens counted.

    Attributes:
        text: the whole text; `pieces` make it together.
        thought: reasoning for the wire's own field; `thought_pieces` make it together.
        thought_key: the name of that field on OpenAI's wire.
        usage: None reports none.
        finish: as of the step, or `tool_calls`.
        stop_word: the request's stop word that ended the text.
    """

    text: str
    pieces: tuple[str, ...]
    thought: str = ""
    thought_pieces: tuple[str, ...] = ()
    thought_key: str = "reasoning_content"
    calls: tuple[Call, ...] = ()
    usage: Usage | None = None
    finish: Literal["stop", "length", "content_filter", "refusal", "tool_calls"] = "stop"
    stop_word: str | None = None


def words(text: str) -> tuple[str, ...]:
    """The text in pieces that begin at words and make it together again."""
    return tuple(re.findall(r"\s*\S+|\s+\Z", text))


def _pieces(text: str, chunks: object) -> tuple[str, ...]:
    if isinstance(chunks, tuple):
        sizes = [len(piece) for piece in chunks]
    elif isinstance(chunks, int):
        count = max(1, min(chunks, len(text)))
        sizes = [len(text) * (n + 1) // count - len(text) * n // count for n in range(count)]
    else:
        return words(text)
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    return tuple(piece for piece in [*pieces, text[at:]] if piece)


def _cut(text: str, stops: tuple[str, ...]) -> tuple[str, str | None]:
    found = [(text.index(stop), stop) for stop in stops if stop and stop in text]
    if not found:
        return text, None
    at, stop = min(found)
    return text[:at], stop


def reply_to(request: Request, step: Interrupted) -> Reply:
    """What a step says to this request."""
    thought = ""
    calls: tuple[Call, ...] = ()
    if isinstance(step, Echo):
        text = step.prefix + request.question
    else:
        text = step.text
    if isinstance(step, Think):
        if step.style == "tags":
            text = f"<think>\n{step.thought}\n</think>\n\n{text}"
        else:
            thought = step.thought
    if isinstance(step, CallTools):
        thought = step.thought
        calls = tuple(
            Call(name, raw if raw is not None else arguments if isinstance(arguments, str) else json.dumps(arguments), index)
            for index, (name, arguments) in enumerate(step.calls)
            for raw in [step.broken_arguments]
        )
    text, stop_word = _cut(text, request.stops) if step.honour_stop else (text, None)
    finish: Any = "stop" if stop_word else step.finish
    if calls and finish == "stop":
        finish = "tool_calls"
    usage: Usage | None = None
    if step.usage is None:
        spoken = len(text) + len(thought) + sum(len(call.name) + len(call.arguments) for call in calls)
        usage = Usage(input=-(-len(request.prompt) // 4), output=-(-spoken // 4), reasoning=len(thought) // 4)
    elif isinstance(step.usage, Usage):
        usage = step.usage
    return Reply(
        text=text,
        pieces=_pieces(text, step.chunks),
        thought=thought,
        thought_pieces=words(thought),
        thought_key=step.key if isinstance(step, Think) else "reasoning_content",
        calls=() if stop_word else calls,
        usage=usage,
        finish=finish,
        stop_word=stop_word,
    )
