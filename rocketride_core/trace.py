# SPDX-License-Identifier: MIT
"""Traces: what every entry did, as JSON lines or as mappings for a callable.

One record per span, written when its entry is over. `entry` records come first, then its spans in the order they began:

    {"span": "c4a1-7", "parent": "", "kind": "entry", "name": "a.pdf", "object_id": "…", "start": …, "seconds": …, "status": "ok"}
    {"span": "c4a1-7.0", "parent": "c4a1-7", "kind": "open", "component": "parse_1", …}
    {"span": "c4a1-7.3", "parent": "c4a1-7.1", "kind": "handler", "component": "chunker_1", "lane": "text", …}

`c4a1` stands for the pipeline, as many may append to one file. `start` is in seconds since the epoch, `status` is ok, failed or
stopped. An entry's record has `usage` (component id, counter, sum) where anything was counted. With `payloads` a handler's
record has `payload`.
A nested entry's `parent` is the span of the tool call (kind `tool`) that made it.
"""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from .errors import EntryStopped
from .payloads import Arguments, Json
from .results import error_json

if TYPE_CHECKING:
    from .flight import Flight

__all__ = ["Level", "Tracer"]

Level = Literal["off", "calls", "payloads"]

_STATUS = ("running", "ok", "failed", "stopped")
_KINDS = ("idle", "open", "handler", "flush", "close", "tool")
LONGEST = 10_000  # characters of one payload


class Tracer:
    """Writes the records of the entries of one pipeline as they end. A record that cannot be written is a warning of its entry.

    Parameters:
        level: calls, or payloads too.
        target: a file that is appended to, or a callable that gets each record.
        redact: hides the values of variables in a text.
    """

    def __init__(self, level: Level, target: Path | Callable[[Arguments], None], redact: Callable[[str], str]) -> None:
        self.payloads = level == "payloads"
        self._target, self._redact = target, redact
        self._file: IO[bytes] | None = None
        self._lock = Lock()
        self._numbers = itertools.count(1)
        self._mark = uuid.uuid4().hex[:8]
        self._clock = time.time() - time.monotonic()

    def number(self) -> str:
        return f"{self._mark}-{next(self._numbers)}"

    def write(self, flight: Flight) -> None:
        try:
            self._write(flight)
        except Exception as error:  # noqa: BLE001 - the target is the host's: its failure must not end the entry it records
            self._lost(flight, error)

    def _lost(self, flight: Flight, error: Exception) -> None:
        flight.warn(
            "", "trace-failed", f"the trace of {flight.entry.name or 'an entry'} is incomplete: {error or type(error).__name__}"
        )

    def _write(self, flight: Flight) -> None:
        flight.settle()
        me = flight.trace_id
        if isinstance(self._target, Path) and not self.payloads:
            head = self._line(self._entry(flight, me))
            self._append(head + flight.trace_lines(me, round(self._clock * 1e9), *flight.bound.trace_names))
            return
        records = [self._entry(flight, me)]
        spans = flight.spans()
        ids = [part.component.id for part in flight.bound.plan.parts]
        lanes = flight.bound.plan.lanes
        for n, (parent, node, lane, phase, control, status, start, end, payload) in enumerate(spans):
            record: dict[str, Any] = {
                "span": f"{me}.{n}",
                "parent": f"{me}.{parent}" if parent >= 0 else me,
                "kind": _KINDS[phase],
                "component": ids[node],
                "start": start / 1e9 + self._clock,
                "seconds": (end - start) / 1e9 if end else 0.0,
                "status": _STATUS[status],
            }
            if lane >= 0:
                record["lane"] = lanes[lane]
            if control:
                record["called"] = True
            if payload is not None and lane >= 0:
                record["payload"] = self._payload(flight, node, lanes[lane], payload)
            records.append(record)
        self._put(records)

    def tool(
        self,
        flight: Flight,
        span: str,
        parent: str,
        component: str,
        name: str,
        start: float,
        arguments: Arguments,
        outcome: Json | BaseException,
    ) -> None:
        """One call of a tool, written as it ends; the entry it belongs to follows."""
        failed = isinstance(outcome, BaseException)
        record: dict[str, Any] = {
            "span": span,
            "parent": parent or flight.trace_id,
            "kind": "tool",
            "component": component,
            "tool": name,
            "start": start + self._clock,
            "seconds": time.monotonic() - start,
            "status": "stopped" if isinstance(outcome, EntryStopped) else "failed" if failed else "ok",
        }
        if failed:
            record["error"] = self._redact(f"{type(outcome).__name__}: {outcome}")
        try:
            if self.payloads:
                record["arguments"] = self._shown(arguments)
                if not failed:
                    record["result"] = self._shown(outcome)
            self._put([record])
        except Exception as error:  # noqa: BLE001 - as in `write`
            self._lost(flight, error)

    def _entry(self, flight: Flight, me: str) -> dict[str, Any]:
        start = flight.begun
        status = "failed" if flight.error is not None else "ok"
        record = {
            "span": me,
            "parent": flight.trace_parent,
            "kind": "entry",
            "name": self._redact(flight.entry.name),
            "object_id": flight.entry.object_id,
            "start": start + self._clock,
            "seconds": time.monotonic() - start,
            "status": status,
        }
        if flight.error is not None:
            record["error"] = error_json(flight.error) | {"message": self._redact(str(flight.error))}
        more = flight._more
        if more is not None and more.usage:
            record["usage"] = {component: dict(counted) for component, counted in more.usage.items()}
        if more is not None and more.warnings:
            record["warnings"] = [
                {"component": w.component, "code": w.code, "message": self._redact(w.message)} for w in more.warnings
            ]
        return record

    def _payload(self, flight: Flight, node: int, lane: str, payload: Any) -> Any:
        handled = flight.bound.nodes[node].manifest.on.get(lane)
        try:
            return self._shown(handled[0].to_json(payload) if handled else repr(payload))
        except Exception as error:  # noqa: BLE001 - a payload that cannot be shown must not end the entry it is a record of
            return f"<{type(payload).__name__}: {error}>"

    def _put(self, records: list[dict[str, Any]]) -> None:
        if isinstance(self._target, Path):
            self._append(b"".join(map(self._line, records)))
            return
        for record in records:
            self._target(record)

    def _line(self, record: dict[str, Any]) -> bytes:
        return f"{json.dumps(record, ensure_ascii=False)}\n".encode(errors="replace")

    def _shown(self, value: Any) -> str:
        shown = json.dumps(self._clean(value), ensure_ascii=False)
        return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}… ({len(shown)} characters)"

    def _clean(self, value: Any) -> Any:
        """Plain JSON values without the values of variables: they may stand anywhere, also in keys."""
        if isinstance(value, str):
            return self._redact(value)
        if isinstance(value, Mapping):
            return {self._redact(str(k)): self._clean(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._clean(v) for v in value]
        return value if value is None or isinstance(value, (bool, int, float)) else self._redact(repr(value))

    def _append(self, text: bytes) -> None:
        with self._lock:
            if self._file is None:
                self._file = cast(Path, self._target).open("ab")
            self._file.write(text)
            self._file.flush()

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
