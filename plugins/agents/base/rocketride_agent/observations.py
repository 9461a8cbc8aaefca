# SPDX-License-Identifier: MIT
"""What a model reads of a tool's result: text, cut where it is long, and read on page by page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from rocketride_core import Arguments, Json, Tool, ToolInput

__all__ = ["READ", "Observations", "dumped", "rendered"]

READ = "read_observation"


def dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def rendered(value: Json, limit: int = 0) -> str:
    """A text as it is, any other value as JSON; longer than `limit`, with each item of its lists on a line of its own."""
    if isinstance(value, str):
        return value
    text = dumped(value)
    return _in_lines(value) if limit and len(text) > limit else text


def _in_lines(value: Json) -> str:
    if isinstance(value, Mapping):
        return "{\n" + ",\n".join(f"{dumped(key)}: {_in_lines(item)}" for key, item in value.items()) + "\n}"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(dumped(item) for item in value) + "\n]"
    return dumped(value)


class Observations:
    """The long results of one run.

    Parameters:
        limit: characters that a model gets at once; 0 is no limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._texts: list[str] = []

    @property
    def any(self) -> bool:
        """Something was cut."""
        return bool(self._texts)

    @property
    def tool(self) -> Tool:
        """Reads on. It is local: no component has it, and it is no tool call."""
        return Tool(
            READ,
            "Reads on in a result that was cut.",
            {
                "type": "object",
                "properties": {
                    "id": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": max(1, len(self._texts)),
                        "description": "of the cut result",
                    },
                    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "first character to read"},
                    "find": {"type": "string", "description": "read around the first place at or after offset with this text"},
                },
                "required": ["id"],
                "additionalProperties": False,
            },
            lambda instance, arguments: self.read(arguments),
        )

    def shown(self, value: Json) -> str:
        text = rendered(value, self._limit)
        if not self._limit or len(text) <= self._limit:
            return text
        self._texts.append(text)
        size = f" It is a list of {len(value)} items." if isinstance(value, list | tuple) else ""
        return self._page(len(self._texts), 0) + size

    def read(self, arguments: Arguments) -> str:
        """A page, and where the next one begins.

        Raises:
            ToolInput: there is no such place.
        """
        given = self.tool.checked(arguments)
        id, offset, find = cast(int, given["id"]), cast(int, given.get("offset") or 0), cast(str, given.get("find") or "")
        if not self._texts:
            raise ToolInput("$.id: no result was cut", tool=READ, path="$.id")
        text = self._texts[id - 1]
        if offset >= len(text):
            raise ToolInput(f"$.offset: result {id} has {len(text)} characters", tool=READ, path="$.offset")
        if not find:
            return self._page(id, offset)
        found = text.lower().find(find.lower(), offset)
        if found < 0:
            raise ToolInput(f"$.find: result {id} has no {find!r} from character {offset} on", tool=READ, path="$.find")
        start = text.rfind("\n", max(0, found - self._limit // 2), found) + 1
        return self._page(id, start or max(0, found - self._limit // 4))

    def _page(self, id: int, start: int) -> str:
        text, end = self._texts[id - 1], start + self._limit
        if end >= len(text):
            return f"{text[start:]}\n[end of result {id}: characters {start} to {len(text)} of {len(text)}]"
        # Between two lines rather than within one, where that does not cost half a page.
        line = text.rfind("\n", start + self._limit // 2, end)
        end = line + 1 if line >= 0 else end
        on = dumped({"id": id, "offset": end})
        return (
            f"{text[start:end]}\n[cut: this is character {start} to {end} of {len(text)}; "
            f'to read on, call {READ} with {on}, or with "find" to look for a text]'
        )
