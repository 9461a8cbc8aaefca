# SPDX-License-Identifier: MIT
"""Lanes: the typed channels between nodes. A lane's identity is its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import attrs

from .blob import Blob
from .payloads import Answer, Document, Json, Question

T = TypeVar("T")
R = TypeVar("R")

__all__ = ["ANSWERS", "AUDIO", "DOCUMENTS", "IMAGE", "QUESTIONS", "TABLE", "TAGS", "TEXT", "VIDEO", "Lane", "Packet"]


class Packet(NamedTuple):
    """One payload and the lane it belongs on; made by calling a lane, `TEXT("abc")`."""

    lane: Lane[Any]
    payload: Any


@attrs.frozen(cache_hash=True)
class Lane(Generic[T]):
    """A typed channel.

    Parameters:
        name: identity; a third party's is dotted, `acme.frames`. Two payload classes for one name in a plan are a Problem.
        item: class of the payload, or of its items where `many`.
        many: the payload is a sequence of items.
        to_json, from_json: how clients and traces see a payload; by default what the class offers under these names.
    """

    name: str
    item: type[Any] = attrs.field(eq=False)
    many: bool = attrs.field(default=False, eq=False)
    to_json: Callable[[Any], Json] = attrs.field(default=cast(Any, None), eq=False, repr=False, kw_only=True)
    from_json: Callable[[Any], Any] = attrs.field(default=cast(Any, None), eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        given: tuple[Any, Any] = self.to_json, self.from_json
        encode = given[0] or getattr(self.item, "to_json", None) or (lambda payload: payload)
        decode = given[1] or getattr(self.item, "from_json", None) or (lambda data: data)
        if self.many:
            one_out, one_in = encode, decode
            encode = lambda payload: [one_out(item) for item in payload]  # noqa: E731
            decode = lambda data: [one_in(item) for item in (data if isinstance(data, list) else [data])]  # noqa: E731
        object.__setattr__(self, "to_json", encode)
        object.__setattr__(self, "from_json", decode)

    @staticmethod
    def of(
        name: str,
        item: type[R],
        *,
        to_json: Callable[[R], Json] | None = None,
        from_json: Callable[[Json], R] | None = None,
    ) -> Lane[R]:
        """A lane that carries one `item` at a time."""
        codecs: dict[str, Any] = {"to_json": to_json, "from_json": from_json}
        return cast("Lane[R]", Lane(name, item, **codecs))

    @staticmethod
    def many_of(name: str, item: type[R]) -> Lane[Sequence[R]]:
        """A lane that carries a sequence of `item`s at a time."""
        return cast("Lane[Sequence[R]]", Lane(name, item, True))

    def takes(self, payload: object, /) -> bool:
        """Does a payload have the lane's class? The items of a sequence are not looked at."""
        if self.many:
            return isinstance(payload, Sequence) and not isinstance(payload, str | bytes)
        return isinstance(payload, self.item)

    def __call__(self, payload: T, /) -> Packet:
        return tuple.__new__(Packet, (self, payload))  # half the price of Packet(…), and paid once an object


def _blob_json(blob: Blob) -> Json:
    return {"name": blob.name, "mime_type": blob.mime_type, "size": blob.size}


def _answer_json(answer: Answer) -> Json:
    return answer.content


TEXT = Lane.of("text", str)
TABLE = Lane.of("table", str)
TAGS = Lane.of("tags", Blob, to_json=_blob_json)
IMAGE = Lane.of("image", Blob, to_json=_blob_json)
AUDIO = Lane.of("audio", Blob, to_json=_blob_json)
VIDEO = Lane.of("video", Blob, to_json=_blob_json)
QUESTIONS = Lane.of("questions", Question)
ANSWERS = Lane.of("answers", Answer, to_json=_answer_json, from_json=Answer.from_json)
DOCUMENTS = Lane.many_of("documents", Document)
