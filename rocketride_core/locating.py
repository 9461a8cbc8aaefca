# SPDX-License-Identifier: MIT
"""From JSON paths to lines and columns of the text."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator

from .reading import child

__all__ = ["places"]

_TOKEN = r'(?s)"(?>[^"\\]|\\.)*+"|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"/]+'  # noqa: S105 - of JSON


def places(text: str, paths: Collection[str]) -> dict[str, tuple[int, int]]:
    """Line and column, from 1, where the value of each path begins; the nearest object around it where it is not there.

    Columns count characters. A text that is no JSON is read as far as it goes.
    """
    wanted = {path: list(_ancestors(path)) for path in paths}
    needed = {one for chain in wanted.values() for one in chain}
    found = _walk(text, needed)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(offset: int) -> tuple[int, int]:
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    return {path: place(next((found[one] for one in chain if one in found), 0)) for path, chain in wanted.items()}


def _ancestors(path: str) -> Iterator[str]:
    """The path, then that without its last step, and so on."""
    steps = re.findall(r'\$|\.[\w-]+|\[\d+\]|\["(?:[^"\\]|\\.)*"\]', path)
    for n in range(len(steps), 0, -1):
        yield "".join(steps[:n])


def _walk(text: str, needed: Collection[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    stack: list[tuple[str, int]] = []  # path of an open container, and the next index; -1 in an object
    path, key = "$", ""
    for token in re.finditer(_TOKEN, text):
        word = token.group()
        if word[:2] in ("//", "/*") or word == ",":
            continue
        if word == ":":
            path = child(stack[-1][0], key) if stack else "$"
            continue
        if word in ("}", "]"):
            if stack:
                stack.pop()
            continue
        inside, index = stack[-1] if stack else ("", -1)
        if stack and index < 0 and not path and word.startswith('"'):
            try:
                key = json.loads(word)
            except ValueError:
                key = word[1:-1]
            continue
        if stack and index >= 0:
            path = f"{inside}[{index}]"
            stack[-1] = (inside, index + 1)
        if path in needed:
            found[path] = token.start()
        if word in ("{", "["):
            # Nothing that is looked for stands in what is not on the way to it.
            stack.append((path, 0 if word == "[" else -1))
        path = ""
    return found
