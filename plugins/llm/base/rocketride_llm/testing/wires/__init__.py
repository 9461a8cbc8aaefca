# SPDX-License-Identifier: MIT
"""The vendors' protocols. One more is a class with the methods of `Wire`, given to `register_wire`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Protocol

import attrs

from ..request import Reply, Request
from ..steps import Fail

__all__ = ["Answer", "Piece", "Wire", "body_of", "event", "register_wire", "text_of", "unregister_wire", "wire_for", "wires"]


@attrs.frozen
class Answer:
    """A whole HTTP reply: a JSON value, or a text."""

    status: int
    body: Any
    headers: Mapping[str, str] = attrs.field(factory=dict)
    content_type: str = "application/json"


@attrs.frozen
class Piece:
    """Bytes of a stream, already in the wire's frame; `counted` pieces carry content: delays and breaks go by them."""

    data: bytes
    counted: bool = False


class Wire(Protocol):
    """One vendor's protocol.

    Attributes:
        name: for `ScriptedServer.base_url` and `Request.wire`.
        base_path: what comes behind the host in the base URL that the official client wants.
        stream_type: the content type of a stream.
    """

    @property
    def name(self) -> str: ...
    @property
    def base_path(self) -> str: ...
    @property
    def stream_type(self) -> str: ...

    def operation(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        """The operation that this request asks for (`chat`, `embeddings`, …); None if it is not this wire's."""
        ...

    def key(self, headers: Mapping[str, str]) -> str | None:
        """The key that came with the request."""
        ...

    def read(self, request: Request) -> None:
        """Fills model, prompt, question, last, stream and stops from the body; and the key, where that stands there."""
        ...

    def complaint(self, request: Request) -> str | None:
        """What the real server would refuse about this request."""
        ...

    def whole(self, request: Request, reply: Reply) -> Any:
        """The body of a chat without stream."""
        ...

    def stream(self, request: Request, reply: Reply) -> Iterator[Piece]:
        """The pieces of a chat's stream."""
        ...

    def failure(self, request: Request, fail: Fail) -> Answer:
        """The vendor's error; `fail.body`, `delay` and extra headers are the server's business."""
        ...

    def broken(self, text: str) -> bytes:
        """One event of a stream with this text where JSON belongs."""
        ...

    def midway(self, request: Request, fail: Fail) -> bytes:
        """The vendor's error as an event inside a stream."""
        ...

    def other(self, request: Request) -> Answer:
        """The reply to an operation that is no chat."""
        ...


def event(data: Any, name: str | None = None) -> bytes:
    """One server-sent event; a text goes out as it is."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    head = f"event: {name}\n" if name else ""
    lines = "".join(f"data: {line}\n" for line in text.split("\n"))
    return f"{head}{lines}\n".encode()


def text_of(content: Any) -> str:
    """The text of a message's content, in any of the vendors' forms: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := text_of(part)))
    if isinstance(content, Mapping):
        return text_of(content.get("text", content.get("content", "")))
    return ""


def read_messages(request: Request, messages: Any, system: Any = None) -> None:
    """Fills prompt, question and last from a list of `{"role", "content"}`."""
    said = [(message.get("role"), text_of(message.get("content"))) for message in messages or [] if isinstance(message, Mapping)]
    request.prompt = "\n".join(text for text in [text_of(system), *(text for _, text in said)] if text)
    request.question = next((text for role, text in reversed(said) if role == "user" and text), "")
    request.last = said[-1][1] if said else ""


def body_of(request: Request) -> dict[str, Any]:
    """The body, where it is an object."""
    return request.body if isinstance(request.body, dict) else {}


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token of the Authorization header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


_added: dict[str, Wire] = {}


def register_wire(wire: Wire) -> None:
    """Adds a protocol, or takes the place of the one with its name. The last one registered is asked first."""
    _added.pop(wire.name, None)
    _added[wire.name] = wire
    wires.cache_clear()


def unregister_wire(name: str) -> None:
    """Takes a registered protocol away again; one of ours that it stood for is back."""
    del _added[name]
    wires.cache_clear()


@cache
def wires() -> Mapping[str, Wire]:
    """The protocols by name."""
    from . import anthropic, bedrock, gemini, mistral, ollama, openai, watsonx

    ours: tuple[Wire, ...] = (
        openai.OpenAIWire(),
        ollama.OllamaWire(),
        anthropic.AnthropicWire(),
        gemini.GeminiWire(),
        bedrock.BedrockWire(),
        mistral.MistralWire(),
        watsonx.WatsonxWire(),
    )
    return {wire.name: wire for wire in ours if wire.name not in _added} | _added


def wire_for(method: str, path: str, headers: Mapping[str, str]) -> tuple[Wire, str] | None:
    """The protocol and the operation of a request."""
    for wire in reversed(list(wires().values())):
        if (operation := wire.operation(method, path, headers)) is not None:
            return wire, operation
    return None
