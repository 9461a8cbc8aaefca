# SPDX-License-Identifier: MIT
"""The steps that say something: texts, reasoning, tool calls. Frozen values, the same for every wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs
from attrs import field, frozen
from attrs.validators import ge, in_, instance_of, optional

__all__ = ["CallTools", "Chunks", "Echo", "Finish", "Interrupted", "Say", "Speech", "Think", "Usage", "count", "seconds"]

Finish: TypeAlias = Literal["stop", "length", "content_filter", "refusal"]
Chunks: TypeAlias = int | Sequence[str] | None

FINISHES = ("stop", "length", "content_filter", "refusal")


def _text() -> Any:
    return field(default="", validator=instance_of(str))


def seconds() -> Any:
    return field(default=0.0, converter=float, validator=ge(0))


def count() -> Any:
    return field(default=None, validator=optional([instance_of(int), ge(0)]))


def _strings(value: object) -> object:
    return value if value is None or isinstance(value, int | str) else tuple(value)  # type: ignore[arg-type]


def _whole_or_pieces(instance: object, attribute: attrs.Attribute[Any], value: object) -> None:
    number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    pieces = isinstance(value, tuple) and all(isinstance(piece, str) for piece in value)
    if not (value is None or number or pieces):
        raise ValueError(f"chunks is a number of pieces above 0, a list of texts, or nothing, not {value!r}")


@frozen
class Usage:
    """Tokens that a reply reports.

    Attributes:
        input: all tokens of the prompt, those read from the cache included (the wires count in their own ways).
        output: all tokens of the reply, those of reasoning included.
        cached: tokens of the prompt read from the vendor's cache.
        reasoning: tokens of the reply spent on reasoning.
    """

    input: int = field(default=0, validator=[instance_of(int), ge(0)])
    output: int = field(default=0, validator=[instance_of(int), ge(0)])
    cached: int = field(default=0, validator=[instance_of(int), ge(0)])
    reasoning: int = field(default=0, validator=[instance_of(int), ge(0)])

    def __attrs_post_init__(self) -> None:
        if self.cached > self.input or self.reasoning > self.output:
            raise ValueError(
                "cached tokens are part of the input, reasoning tokens of the output: neither can be more than the whole"
            )


def _usage(value: object) -> object:
    return Usage(**value) if isinstance(value, Mapping) else value


@frozen(kw_only=True)
class Speech:
    """What the replies with content have in common.

    Attributes:
        usage: the tokens reported; None counts four characters as one token; False reports none (Anthropic: zeros).
        chunks: how a stream is cut: None at words, a number into that many pieces, a list of texts into just these.
        delay: seconds before the first byte.
        per_chunk_delay: seconds before each further piece of a stream.
        finish: why the model stopped; a wire that knows no such reason says its nearest.
        honour_stop: cut the text at the first stop word that the request names, as a real server does.
    """

    usage: Usage | Literal[False] | None = field(default=None, converter=_usage)
    chunks: Chunks = field(default=None, converter=_strings, validator=_whole_or_pieces)
    delay: float = seconds()
    per_chunk_delay: float = seconds()
    finish: Finish = field(default="stop", validator=in_(FINISHES))
    honour_stop: bool = True

    @usage.validator
    def _usage_is_one(self, attribute: attrs.Attribute[Any], value: object) -> None:
        if not (value is None or value is False or isinstance(value, Usage)):
            raise TypeError(f"usage is a Usage, None (counted) or False (not reported), not {value!r}")


@frozen
class Say(Speech):
    """A text. With a list of `chunks`, the text may be left out: it is what they make together."""

    text: str = field(default="", validator=instance_of(str))

    def __attrs_post_init__(self) -> None:
        if isinstance(self.chunks, tuple):
            joined = "".join(self.chunks)
            if self.text not in ("", joined):
                raise ValueError("the chunks of Say make another text than its text: give one of the two")
            object.__setattr__(self, "text", joined)


@frozen
class Think(Speech):
    """Reasoning, then a text.

    Attributes:
        thought: the reasoning.
        text: the reply.
        style: `field` sends it in the wire's own field (Anthropic: a thinking block; Ollama: `thinking`; OpenAI: the field
            named by `key`), `tags` as `<think>` text at the start of the reply.
        key: the field on OpenAI's wire: `reasoning_content` (DeepSeek, vLLM) or `reasoning` (OpenRouter, Ollama).
    """

    thought: str = field(validator=instance_of(str))
    text: str = _text()
    style: Literal["field", "tags"] = field(default="field", validator=in_(("field", "tags")))
    key: str = field(default="reasoning_content", validator=in_(("reasoning_content", "reasoning")))


def _calls(value: Any) -> tuple[tuple[str, Any], ...]:
    calls = []
    for call in value:
        name, arguments = (call["name"], call.get("arguments", {})) if isinstance(call, Mapping) else call
        if not isinstance(name, str) or not isinstance(arguments, Mapping | str):
            raise TypeError(f"a call is (name, arguments), arguments a dict or raw text, not {call!r}")
        calls.append((name, arguments if isinstance(arguments, str) else dict(arguments)))
    if not calls:
        raise ValueError("CallTools names at least one tool")
    return tuple(calls)


@frozen
class CallTools(Speech):
    """Native tool calls, in each wire's shape; in a stream, the arguments come in pieces where the vendor's do.

    Attributes:
        calls: `(name, arguments)` each; arguments given as a text go out as they are.
        text: said before the calls.
        thought: reasoning before the text, in the wire's own field.
        broken_arguments: raw text in place of every call's arguments, such as JSON cut in the middle. Anthropic without a
            stream and Ollama send objects, not text: there it arrives as a text where an object is due.
    """

    calls: tuple[tuple[str, Any], ...] = field(converter=_calls)
    text: str = _text()
    thought: str = _text()
    broken_arguments: str | None = field(default=None, validator=optional(instance_of(str)))


@frozen
class Echo(Speech):
    """Answers with the question's own text: the last message of the user.

    Attributes:
        prefix: put before it.
    """

    prefix: str = _text()


Interrupted: TypeAlias = Say | Think | CallTools | Echo
