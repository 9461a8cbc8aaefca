# SPDX-License-Identifier: MIT
"""The object that travels through a pipeline, and what is said about it on the way."""

from __future__ import annotations

import uuid
from pathlib import Path

import attrs

from .payloads import Arguments

__all__ = ["Entry", "Event", "object_id"]


def object_id(name: str, path: str) -> str:
    """RFC 4122 uuid5 of the path relative to the working directory; without a path of the name, without both a random uuid4."""
    if path:
        place = Path(path)
        if place.is_absolute() and place.is_relative_to(Path.cwd()):
            place = place.relative_to(Path.cwd())
        return str(uuid.uuid5(uuid.NAMESPACE_URL, _plain(place.as_posix())))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, _plain(f"null://Stream/{name}")) if name else uuid.uuid4())


def _plain(text: str) -> str:
    """Names that are not UTF-8 come with lone surrogates, which no hash takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@attrs.frozen
class Entry:
    """One object: a file, a question, a message.

    Parameters:
        name: what people call it; the file name of a file.
        object_id: its identity in stores; made by `object_id()` at first use where it is not given.
        path: where it comes from, relative to the working directory where possible.
        mime_type: RFC 6838 media type, "" where unknown.
        metadata: what the host knows of it; nodes add to `instance.metadata`, a copy.
    """

    name: str = ""
    _object_id: str = attrs.field(default="", alias="object_id")
    path: str = ""
    mime_type: str = ""
    metadata: Arguments = attrs.field(factory=dict)

    @property
    def object_id(self) -> str:
        # Lazy: hashing a name costs more than sending an object through a small pipeline.
        if not self._object_id:
            object.__setattr__(self, "_object_id", object_id(self.name, self.path))
        return self._object_id


@attrs.frozen
class Event:
    """Something a node says while it works: `kind` (`thinking`, `token`, …), the component that says it, and data."""

    kind: str
    component: str
    data: Arguments
