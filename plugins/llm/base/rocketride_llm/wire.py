# SPDX-License-Identifier: MIT
"""What goes to a vendor and comes back, in no vendor's format; `Backend` is all that a vendor's distribution has to write."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import attrs

from rocketride_core import Arguments, Message, ToolCall

from .errors import LLMError

__all__ = ["Backend", "Client", "Offer", "Reply", "Request", "Usage", "counted", "read_call"]

DIGITS = 15  # of a count; more are no tokens
Finish = Literal["stop", "tools", "length", "refused"]


@attrs.frozen
class Offer:
    """A tool that the model may call; its name has only letters, digits, `_` and `-`, at most 64 of them."""

    name: str
    description: str
    input_schema: Arguments


@attrs.frozen(kw_only=True)
class Request:
    """One question to a vendor.

    Parameters:
        messages: the conversation; of an `ask` one message of the user.
        tools: may be called.
        stop: the answer is to end before the first of these; the base cuts there too, for vendors that cannot.
        max_tokens: of the answer.
        temperature: None is the vendor's own.
    """

    messages: Sequence[Message]
    tools: Sequence[Offer] = ()
    stop: Sequence[str] = ()
    max_tokens: int = 4096
    temperature: float | None = 0.0


@attrs.frozen
class Usage:
    """Tokens, as the vendor counted them. `cached` are those of `input` that it had read before."""

    input: int = 0
    output: int = 0
    cached: int = 0


def counted(value: Any) -> int | None:
    """A number of tokens as servers write it: a whole number of at least 0, also as a float or a text; None for anything else."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < DIGITS:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**DIGITS else None


def read_call(id: str, name: str, written: str) -> ToolCall:
    """A call whose arguments came as text; what is no JSON object is `ToolCall.broken`, no text is no arguments."""
    try:
        arguments = json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError):
        arguments = None
    return ToolCall(id, name, arguments) if isinstance(arguments, dict) else ToolCall(id, name, broken=written)


@attrs.frozen(kw_only=True)
class Reply:
    """What came back; `usage` is None where the vendor did not say."""

    text: str = ""
    calls: Sequence[ToolCall] = ()
    finish: Finish = "stop"
    usage: Usage | None = None


class Client(Protocol):
    """A vendor's client library. Its coroutines run on the kernel's loop and may be cancelled at every await."""

    def explain(self, error: Exception, /) -> LLMError | None:
        """What an exception of the library means; None where it is none of its exceptions."""
        ...

    async def close(self) -> None: ...


class Backend(Client, Protocol):
    """A vendor's client library for a language model."""

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        """One request, without retries.

        Parameters:
            on_text: None asks for the whole answer at once; else it gets the answer's text piece by piece, as it comes.
        """
        ...
