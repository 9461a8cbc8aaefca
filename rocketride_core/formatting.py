# SPDX-License-Identifier: MIT
"""White space of a `.pipe` file, and nothing else: every key, number, text and comment stays as it is written."""

from __future__ import annotations

import re

import attrs

from .errors import PipeError, Problem
from .reading import decode, read_text

__all__ = ["formatted"]

_PIECE = r'(?s)(?P<text>"(?>[^"\\]|\\.)*+")|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<mark>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"/]+)'
INDENT = "  "
WIDEST = 160


def formatted(data: bytes | str, file: str = "") -> str:
    """The same file with one member a line, indented as its own first indented line is, or by two blanks.

    What stands on one line and fits there stays as it is, {"lane": "text", "from": "parse_1"} for one. Gone are trailing commas, a byte order mark and carriage returns outside of texts.

    Raises:
        PipeError: it is no JSON, even with comments and trailing commas tolerated.
    """
    text = decode(data, file)
    if isinstance(text, Problem):
        raise PipeError(problems=[text])
    problems = [p for p in read_text(text, file)[1] if p.severity == "error"]
    if problems:
        raise PipeError(problems=problems)
    # The lines of a comment are no measure: /*, then " * so" and " */".
    bare = re.sub(_PIECE, lambda m: "#" if m.lastgroup == "comment" else m.group(), text)
    found = re.search(r"(?m)^([ \t]+)(?=\S)", bare)
    return _Printer(found[1] if found else INDENT).printed(text)


@attrs.define
class _Printer:
    indent: str
    out: list[str] = attrs.field(factory=list)
    open: list[bool] = attrs.field(factory=list)
    """For each open bracket, whether something stands in it already."""
    comma: bool = False
    after_key: bool = False

    def printed(self, text: str) -> str:
        end = 0
        tokens = list(re.finditer(_PIECE, text))
        whole = _on_one_line(tokens, text)
        for token in tokens:
            kind, word = token.lastgroup, token.group()
            if token.start() < end:
                continue
            if (stop := whole.get(token.start(), 0)) and self.fits(stop - token.start()):
                self.begin()
                self.out.append(text[token.start() : stop])
                end = stop
                continue
            if kind == "comment":
                self.comment(word.rstrip(), beside="\n" not in text[end : token.start()] and end > 0)
            elif word == ",":
                self.comma = True
            elif word == ":":
                if self.out[-1].startswith("//"):
                    self.line()
                self.out.append(": ")
                self.after_key = True
            elif word in ("}", "]"):
                self.close(word)
            else:
                self.begin()
                self.out.append(word)
                if word in ("{", "["):
                    self.open.append(False)
            end = token.end()
        return "".join(self.out).strip("\n") + ("\n" if text.endswith("\n") else "")

    def fits(self, length: int) -> bool:
        return len(self.indent) * len(self.open) + length <= WIDEST

    def line(self) -> None:
        self.out.append("\n" + self.indent * len(self.open))

    def begin(self) -> None:
        """A value, or a key, where it belongs; the comma before it is written here, so that none trails."""
        if self.after_key:
            self.after_key = False
            if self.out[-1].startswith("//"):
                self.line()
            elif self.out[-1].endswith("*/"):
                self.out.append(" ")
            return
        if self.comma:
            self.put_comma()
        if self.open:
            self.line()
            self.open[-1] = True
        elif self.out:
            self.line()

    def put_comma(self) -> None:
        """Behind the last value: comments may have come since."""
        at = len(self.out)
        while at and (self.out[at - 1].startswith(("//", "/*")) or not self.out[at - 1].strip()):
            at -= 1
        self.out.insert(at, ",")
        self.comma = False

    def close(self, word: str) -> None:
        self.comma = False
        filled = self.open.pop()
        if filled or self.out[-1] not in ("{", "["):
            self.line()
        self.out.append(word)

    def comment(self, word: str, *, beside: bool) -> None:
        if self.out and self.out[-1].startswith("//"):
            self.line()  # else it would be a part of that one
        elif self.after_key:
            self.out[-1] = self.out[-1].rstrip() + " "
        elif beside:
            self.out.append(" ")
        else:
            self.line()
        self.out.append(word)


def _on_one_line(tokens: list[re.Match[str]], text: str) -> dict[int, int]:
    """Where brackets open that close on the same line, and where they close; none with a comment or a trailing comma inside."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for n, token in enumerate(tokens):
        word = token.group()
        if token.lastgroup == "comment" or "\n" in word:
            opened = [-1] * len(opened)
        elif word in ("{", "["):
            opened.append(token.start())
        elif word in ("}", "]"):
            start = opened.pop()
            if tokens[n - 1].group() == ",":
                opened = [-1] * len(opened)
            elif start >= 0 and "\n" not in text[start : min(token.end(), start + WIDEST + 1)] and token.end() - start <= WIDEST:
                found[start] = token.end()
    return found
