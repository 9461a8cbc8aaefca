# SPDX-License-Identifier: MIT
"""JSON, and JSON Lines: an outline of `key: value` lines, so that a value is found by its words and by its key."""

import json
from collections.abc import Iterator

from rocketride_parse.errors import Damaged
from rocketride_parse.parts import Part, Text, clean, facts, tidy
from rocketride_parse.source import Source


def read(source: Source) -> Iterator[Part]:
    """The outline as one text; `title`, `author` and `language` of the top level are facts too."""
    text = source.text.lstrip("\ufeff")
    try:
        values = [json.loads(text)]
    except json.JSONDecodeError as error:
        try:
            values = list(_lines(text, error))
        except json.JSONDecodeError as wrong:
            where = f"line {wrong.lineno}, column {wrong.colno}"
            raise Damaged(f"{source.name}: damaged, not JSON that can be read ({wrong.msg}, {where})") from error
    outline = tidy("\n\n".join("\n".join(_outline(value, 0)) for value in values))
    if outline.strip():
        yield Text(outline)
    top = values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
    yield facts(**{key: top[key] for key in ("title", "author", "language") if isinstance(top.get(key), str)})


def _lines(text: str, whole: json.JSONDecodeError) -> Iterator[object]:
    """The values of JSON Lines; `whole` is what is wrong where the first line is no value of its own."""
    begun = False
    start = 0
    for line in text.split("\n"):
        if line.strip():
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise json.JSONDecodeError(error.msg, text, start + error.pos) if begun else whole from error
            begun = True
        start += len(line) + 1
    if not begun:
        raise whole


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return clean(value)
    return json.dumps(value)


def _outline(value: object, depth: int) -> Iterator[str]:
    pad = "  " * depth
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list):
                if item:
                    yield f"{pad}{clean(key)}:"
                    yield from _outline(item, depth + 1)
            elif item is not None and item != "":
                yield f"{pad}{clean(key)}: {_scalar(item)}"
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict | list):
                lines = list(_outline(item, depth + 1))
                if lines:
                    yield f"{pad}- {lines[0].lstrip()}"
                    yield from lines[1:]
            elif item is not None and item != "":
                yield f"{pad}- {_scalar(item)}"
    elif value is not None and value != "":
        yield f"{pad}{_scalar(value)}"
