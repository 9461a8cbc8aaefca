# SPDX-License-Identifier: MIT
"""Plays one step on one connection."""

from __future__ import annotations

import json

import attrs

from .connection import Connection
from .request import Request, reply_to
from .steps import Drop, Fail, FailMidway, Hang, Interrupted, Malformed, PlainStep
from .wires import Answer, Piece, Wire

__all__ = ["play"]


def play(line: Connection, wire: Wire, request: Request, step: PlainStep) -> None:
    """Plays a step to its end.

    Raises:
        Cut: the step wants the connection closed.
        ClientGone: the client went before the end.
        ServerClosed: the server closes.
    """
    streams = request.stream and request.operation == "chat"
    match step:
        case Fail():
            _fail(line, wire, request, step)
        case FailMidway():
            if not streams:
                _fail(line, wire, request, step.fail)
                return
            _speak(line, wire, request, step.reply, step.after_chunks)
            line.write(wire.midway(request, step.fail))
            line.end("failed")
        case Malformed():
            if streams and "json" in step.content_type:
                _speak(line, wire, request, step.reply, step.after_chunks)
                line.write(wire.broken(step.text))
                line.end("failed")
            else:
                line.send(Answer(step.status, step.text, content_type=step.content_type), "failed")
        case Hang():
            if streams and step.after_chunks is not None:
                _speak(line, wire, request, step.reply, step.after_chunks)
            line.wait(step.seconds)
            line.cut()
        case Drop():
            _drop(line, wire, request, step, streams=streams)
        case _:
            _speak(line, wire, request, step)


def _drop(line: Connection, wire: Wire, request: Request, step: Drop, *, streams: bool) -> None:
    line.reset, line.framed = step.reset, not step.unframed
    if step.after_bytes:
        line.allowed = step.after_bytes
        _speak(line, wire, request, step.reply)
    elif step.after_chunks is not None and streams:
        _speak(line, wire, request, step.reply, step.after_chunks, torn=step.torn)
    elif step.after_chunks is not None:
        line.allowed = max(1, len(json.dumps(_whole(wire, request, step.reply).body)) // 2)
        line.send(_whole(wire, request, step.reply))
    line.cut(reset=step.reset)


def _whole(wire: Wire, request: Request, step: Interrupted) -> Answer:
    return Answer(200, wire.whole(request, reply_to(request, step))) if request.operation == "chat" else wire.other(request)


def _speak(
    line: Connection, wire: Wire, request: Request, step: Interrupted, limit: int | None = None, *, torn: bool = False
) -> None:
    """Sends a reply; with a limit only so many counted pieces of its stream, which is left open, and half of the next if `torn`."""
    line.wait(step.delay)
    if not request.stream or request.operation != "chat":
        line.send(_whole(wire, request, step))
        return
    pieces = list(wire.stream(request, reply_to(request, step)))
    if limit is not None:
        first = _first(pieces, limit)
        half = pieces[len(first)].data if torn and len(first) < len(pieces) else b""
        pieces = [*first, Piece(half[: len(half) // 2])]
    line.start(wire.stream_type)
    began = False
    for piece in pieces:
        if piece.counted and began:
            line.wait(step.per_chunk_delay)
        began = began or piece.counted
        if piece.data:
            line.write(piece.data)
    if limit is None:
        line.end()


def _first(pieces: list[Piece], limit: int) -> list[Piece]:
    """Up to the counted piece number `limit`, at most up to the last counted one; 0 is all that comes before the first."""
    counted = [n for n, piece in enumerate(pieces) if piece.counted]
    if not counted:
        return pieces[:1]
    return pieces[: counted[0] if limit == 0 else counted[min(limit, len(counted)) - 1] + 1]


def _fail(line: Connection, wire: Wire, request: Request, fail: Fail) -> None:
    line.wait(fail.delay)
    answer = wire.failure(request, fail)
    if fail.body is not None:
        content_type = "text/html; charset=utf-8" if isinstance(fail.body, str) else answer.content_type
        answer = attrs.evolve(answer, body=fail.body, content_type=content_type)
    line.send(attrs.evolve(answer, headers={**answer.headers, **fail.headers}), "failed")
