# SPDX-License-Identifier: MIT
"""What stands for the arguments of a call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from rocketride_core import Arguments, Json, Tool

__all__ = ["NO_TOOL", "Unreadable", "arguments_of", "object_of", "unfenced"]

FENCE = re.compile(r"\A\s*`{3}[ \t]*\w*[ \t]*\r?\n?|`{3}\s*\Z")
NO_TOOL = re.compile(
    r"\W*+(none|null|nil|n/?a|nothing|final answer|(no|not)\b[ _-]?(action|tool|further|more|need|applicable|required).*)?\W*",
    re.IGNORECASE | re.DOTALL,
)


class Unreadable(ValueError):
    """A call that cannot be read; the text tells the model what is wrong with it."""


def arguments_of(given: str | None, tool: Tool | None) -> Arguments | None:
    """The arguments where they can be read without guessing; None where a more lenient reader has to try.

    Parameters:
        given: what stands for them.
        tool: the one that is meant, None for one that does not exist, whose arguments do not matter.

    Raises:
        Unreadable: they are missing, or what is there cannot be an object.
    """
    text = unfenced((given or "").strip())
    if tool is None:
        return object_of(text) or {}
    properties = cast("Mapping[str, Json]", tool.input_schema.get("properties") or {})
    required = cast("Sequence[str]", tool.input_schema.get("required") or ())
    if not text or NO_TOOL.fullmatch(text):
        if required:
            raise Unreadable("`Action Input:` is missing; write the arguments as a JSON object after it")
        return {}
    if text.startswith("{"):
        return object_of(text)
    if text.startswith('"') and (made := object_of("{" + text.splitlines()[0] + "}")) is not None:
        return made
    alone = [name for name in required or properties if name in properties]
    about = properties[alone[0]] if len(alone) == 1 else None
    takes_text = isinstance(about, Mapping) and about.get("type") == "string"
    if text.startswith("[") and (value := _only_one(text)) is not None:
        if isinstance(value, dict):
            return value
        if takes_text and isinstance(value, str):
            return {alone[0]: value}
    if "{" in text:
        return None
    if takes_text and not text.startswith("["):
        return {alone[0]: _bare(re.sub(rf"\A{re.escape(alone[0])}[ \t]*[:=][ \t]*", "", text))}
    raise Unreadable(f"`Action Input:` is no JSON object but: {text[:100]}")


def object_of(text: str, *, whole: bool = False) -> dict[str, Json] | None:
    """The object that the text begins with, whatever follows it, or with `whole` nothing does."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and (not whole or end == len(text)) else None


def unfenced(text: str) -> str:
    """Without a code fence around all of it."""
    bare = text.strip()
    if bare.startswith("```") and bare.find("```", 3) in (-1, len(bare) - 3):
        return FENCE.sub("", bare).strip()
    return text


def _only_one(text: str) -> Json:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value[0] if isinstance(value, list) and len(value) == 1 else None


def _bare(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) else text
