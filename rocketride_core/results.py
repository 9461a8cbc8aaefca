# SPDX-License-Identifier: MIT
"""What came of one entry, and the JSON that RocketRide's clients get of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from .blob import Blob
from .entry import Entry
from .errors import Problem, RunError
from .lanes import Lane
from .payloads import Arguments, Json

T = TypeVar("T")

__all__ = ["EntryResult", "Response"]

Response = tuple[int, str, Lane[Any], Any]  # place of the responding node in the file, key, lane, payload


class EntryResult:
    """The `Result` of an entry; see there.

    Attributes:
        notes: errors after the first one, and errors while closing.
    """

    __slots__ = ("_children", "_metadata", "_responses", "_usage", "_warnings", "entry", "error", "notes")

    def __init__(
        self,
        entry: Entry,
        error: RunError | None,
        notes: Sequence[RunError],
        responses: list[Response],
        warnings: Sequence[Problem],
        usage: Mapping[str, Mapping[str, float]],
        metadata: Mapping[str, Json] | None,
        children: Sequence[EntryResult],
    ) -> None:
        self.entry, self.error, self.notes = entry, error, notes
        self._responses, self._warnings, self._usage, self._metadata, self._children = (
            responses,
            warnings,
            usage,
            metadata,
            children,
        )
        if len(responses) > 1:
            responses.sort(key=_place)

    def __repr__(self) -> str:
        state = f"failed: {self.error}" if self.error else "ok"
        return f"<Result of {self.entry.name or self.entry.object_id!r}, {state}, {len(self._responses)} responses>"

    @property
    def warnings(self) -> Sequence[Problem]:
        return self._warnings

    @property
    def children(self) -> Sequence[EntryResult]:
        return self._children

    @property
    def usage(self) -> Mapping[str, Mapping[str, float]]:
        return self._usage

    @property
    def metadata(self) -> Arguments:
        return self.entry.metadata if self._metadata is None else self._metadata

    @property
    def lanes(self) -> Sequence[Lane[Any]]:
        """The lanes on which something was responded, in the order of `__getitem__`."""
        return list({lane.name: lane for _, _, lane, _ in self._responses}.values())

    def __getitem__(self, lane: Lane[T], /) -> Sequence[T]:
        if not isinstance(lane, Lane):
            raise TypeError(f"a result is asked by lane, as in result[ANSWERS]; it got {lane!r:.100}")
        return [payload for _, _, at, payload in self._responses if at == lane]

    def checked(self) -> EntryResult:
        if self.error is not None:
            raise self.error
        return self

    def __contains__(self, lane: object) -> bool:
        """Was anything responded on this lane?"""
        return isinstance(lane, Lane) and bool(self[lane])

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        types: dict[str, str] = {}
        texts: dict[str, list[str]] = {}  # all pieces under one key are one text
        for _, key, lane, payload in self._responses:
            types[key] = lane.name
            found = out.setdefault(key, [])
            if lane.many:
                found.extend(_payload_json(lane, payload))
            elif lane.name == "text":
                texts.setdefault(key, []).extend((payload, "\n\n"))
            else:
                found.append(_payload_json(lane, payload))
        for key, pieces in texts.items():
            out[key].append("".join(pieces))
        if types:
            out["result_types"] = types
        if self.metadata:
            out["metadata"] = dict(self.metadata)
        out["name"] = self.entry.name
        folder = str(PurePath(self.entry.path).parent) if self.entry.path else ""
        out["path"] = "" if folder == "." else folder
        out["objectId"] = self.entry.object_id
        if self._warnings:
            out["warnings"] = [{"component": w.component, "code": w.code, "message": w.message} for w in self._warnings]
        if self._usage:
            out["usage"] = {component: dict(counted) for component, counted in self._usage.items()}
        if self._children:
            out["children"] = [child.to_json() for child in self._children]
        if self.error is not None:
            out["error"] = error_json(self.error)
        return out


def error_json(error: RunError) -> dict[str, Json]:
    return {
        "message": str(error),
        "code": error.code,
        "component": error.component,
        "phase": error.phase,
        "lane": error.lane,
    }


def _place(response: Response) -> int:
    return response[0]


def _payload_json(lane: Lane[Any], payload: Any) -> Any:
    if isinstance(payload, Blob) and lane.name == "image":
        return {"mime_type": payload.mime_type, "image": base64.b64encode(payload.read(payload.size)).decode("ascii")}
    if isinstance(payload, Blob) and lane.name in ("audio", "video"):
        return {"name": payload.name, "mimeType": payload.mime_type, "size": payload.size}
    return lane.to_json(payload)
