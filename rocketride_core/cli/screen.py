# SPDX-License-Identifier: MIT
"""What a chat shows: tokens as they come, answers, and what else there is to say."""

from __future__ import annotations

import argparse
import json
import os
import sys

from rocketride_core.entry import Event
from rocketride_core.results import EntryResult

from .render import failure

__all__ = ["CANCELLED", "Screen", "shown"]

CANCELLED = "cancelled"
# What a terminal would obey instead of showing it; a model's answer is not trusted with that.
OBEYED = {13: None} | dict.fromkeys((*range(9), *range(11, 13), *range(14, 32), *range(127, 160)), "�")


class Screen:
    """What people and scripts see: answers on standard output, everything else on standard error."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.out, self.err = sys.stdout.isatty(), sys.stderr.isatty()
        self.stream = not args.json and (self.out if args.stream is None else args.stream)
        self.verbose, self.as_json = args.verbose, args.json
        self._dim = self.err and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._said: list[tuple[str, list[str]]] = []  # runs of tokens, each of one component
        self._inside = False  # of a line

    def begin(self) -> None:
        self._said.clear()

    def event(self, event: Event) -> None:
        if event.kind == "token" and self.stream:
            self._token(event.component, str(event.data.get("text") or ""))
        elif event.kind == "thinking" and (self.err or self.verbose):
            self.note(str(event.data.get("message") or ""), dim=True)

    def turn(self, question: str, answer: str, wrong: str, result: EntryResult) -> None:
        """What came of a turn; `wrong` says why it is none, "" otherwise."""
        if self.as_json:
            told = {"question": question, "answer": None if wrong else answer, "error": wrong or None, "result": result.to_json()}
            plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
            self._write(json.dumps(told, ensure_ascii=plain, default=repr))
        elif not wrong:
            self._answer(answer)
        self._close()
        for warning in result.warnings:
            self.note(f"warning: {warning.component or '-'}: {warning.message} [{warning.code}]")
        if wrong:
            self.note(wrong if wrong == CANCELLED else f"failed: {wrong}")
            if not self.as_json and answer and answer not in wrong:
                self.note(answer)
        if self.verbose:
            for note in result.notes:
                self.note(f"then {failure(note)}")
            for component, counted in result.usage.items():
                self.note(f"{component}: " + ", ".join(f"{name} {amount:g}" for name, amount in counted.items()), dim=True)
        if self.out and not self.as_json:
            self._write("\n")

    def note(self, text: str, *, dim: bool = False) -> None:
        if self.out and (self.err or not dim):
            self._close()
        for line in text.splitlines() if text else ():
            line = shown(line) if self.err else line
            print(f"\x1b[2m{line}\x1b[0m" if dim and self._dim else line, file=sys.stderr, flush=True)

    def _token(self, component: str, text: str) -> None:
        if not self._said or self._said[-1][0] != component:
            if self._said:
                self._close()
                self._write("\n")
            self._said.append((component, []))
        said = self._said[-1][1]
        text = text if said else text.lstrip()
        if text:
            said.append(text)
            self._write(text)

    def _answer(self, text: str) -> None:
        runs = ["".join(said).strip() for _, said in self._said]
        # As it stands already: all that was streamed, or the last run of it.
        if runs and text.strip() in ("\n\n".join(runs), runs[-1]):
            return
        if runs:
            self._close()
            self._write("\n")
        self._write(text or "\n")

    def _close(self) -> None:
        if self._inside:
            self._write("\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(shown(text) if self.out else text)
        sys.stdout.flush()
        self._inside = not text.endswith("\n")


def shown(text: str) -> str:
    return text.translate(OBEYED)
