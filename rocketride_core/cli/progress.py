# SPDX-License-Identifier: MIT
"""What is told while objects are worked on. Results go to standard output; progress, failures and the sum to standard error."""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from rocketride_core.entry import Entry
from rocketride_core.errors import RunError
from rocketride_core.results import EntryResult

from .render import failure, label, response

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Reporter"]


class Reporter:
    """Counts and tells. On a terminal a bar shows counts, rate and failures; elsewhere each object has a line. Thread-safe.

    Parameters:
        total: objects to come; None where nobody knows.
        as_json: one JSON object a line on standard output instead of text.
    """

    def __init__(self, total: int | None, *, as_json: bool = False) -> None:
        self.total, self.as_json = total, as_json
        self.handled = self.failed = self.inside = 0
        self._usage: dict[str, float] = {}
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        # A bar for one object is noise; rich is not imported for it.
        if not self.as_json and self.total != 1 and self.total != 0 and sys.stderr.isatty():
            self._start_bar()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    @property
    def left(self) -> int:
        """Objects that are still to come; 0 where nobody knows."""
        return 0 if self.total is None else self.total - self.handled

    def result(self, result: EntryResult) -> None:
        """One object is through."""
        with self._lock:
            self._count(result)
            if self.as_json:
                self._json(result.to_json())
            else:
                self._tell(result)
            self._advance()

    def refused(self, entry: Entry, error: Exception) -> None:
        """One object never got into the pipeline: its file is gone, or no lane takes it."""
        with self._lock:
            self.handled += 1
            self.failed += 1
            if self.as_json:
                told = {"message": failure(error), "code": error.code if isinstance(error, RunError) else "", "phase": "send"}
                self._json({"name": entry.name, "path": entry.path, "objectId": entry.object_id, "error": told})
            else:
                self._err(f"failed  {label(entry)}: {failure(error)}")
            self._advance()

    def note(self, text: str) -> None:
        """Something else worth telling, on standard error."""
        with self._lock:
            self._err(text)

    def summary(self, *, stopped: bool = False) -> None:
        """What was done, in one line; left out for one object that went well."""
        seconds = time.monotonic() - self._began
        handled, left = self.handled, self.left
        if self.total == 1 and not self.failed and not stopped:
            return
        parts = [f"{handled} object{'' if handled == 1 else 's'}", f"{self.failed} failed"]
        if self.inside:
            parts.insert(1, f"{self.inside} more inside them")
        if left:
            parts.append(f"{left} not done")
        rate = f", {handled / seconds:.1f}/s" if handled and seconds > 0 else ""
        self.note(f"{'stopped: ' if stopped else ''}{', '.join(parts)} in {seconds:.1f} s{rate}")
        if self._usage:
            self.note("used: " + ", ".join(f"{name} {amount:g}" for name, amount in sorted(self._usage.items())))

    def _count(self, result: EntryResult, child: bool = False) -> None:
        self.inside += child
        self.handled += not child
        self.failed += result.error is not None
        for counted in result.usage.values():
            for name, amount in counted.items():
                self._usage[name] = self._usage.get(name, 0) + amount
        for inner in result.children:
            self._count(inner, True)

    def _tell(self, result: EntryResult) -> None:
        lines = response(result)
        if lines:
            if self.total != 1:
                lines = [f"== {label(result.entry)}", *lines, ""]
            print("\n".join(lines), flush=True)
        for warning in result.warnings:
            self._err(f"warning {label(result.entry)}: {warning.component or '-'}: {warning.message} [{warning.code}]")
        if result.error is not None:
            self._err(f"failed  {label(result.entry)}: {failure(result.error)}")
            for note in result.notes:
                self._err(f"        then {failure(note)}")
        elif not lines and self._bar is None:
            self._err(f"ok      {label(result.entry)}")
        for inner in result.children:
            self._tell(inner)

    def _json(self, data: Any) -> None:
        try:
            text = json.dumps(data, ensure_ascii=not _takes_unicode(), default=repr)
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:  # a lone surrogate: of a file name that is not UTF-8, say
            text = json.dumps(data, default=repr)
        print(text, flush=True)

    def _err(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def _advance(self) -> None:
        if self._bar is not None and self._task is not None:
            rate = f"{self.handled / max(time.monotonic() - self._began, 1e-9):.1f}/s"
            self._bar.update(self._task, completed=self.handled, rate=rate, failures=f"{self.failed} failed")

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TextColumn("{task.fields[failures]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            # Results that go into a file must not be drawn on the terminal.
            redirect_stdout=sys.stdout.isatty(),
            transient=True,
        )
        self._task = self._bar.add_task("", total=self.total, rate="", failures="0 failed")
        self._bar.start()


def _takes_unicode() -> bool:
    return (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
