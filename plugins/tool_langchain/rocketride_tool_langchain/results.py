# SPDX-License-Identifier: MIT
"""What a LangChain tool returned, as JSON."""

from __future__ import annotations

from typing import Any

from pydantic_core import to_jsonable_python

from rocketride_core import Json

__all__ = ["plain"]


def plain(value: Any, text: str) -> Json:
    """A value as JSON; blocks of content that are all text as that text.

    Parameters:
        text: what stands for a value that has no JSON form.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, dict) and one.get("type") == "text" for one in value):
        return "\n".join(str(one.get("text", "")) for one in value)
    try:
        made: Json = to_jsonable_python(value, inf_nan_mode="null")
    except ValueError:  # of pydantic: a class that it does not know, bytes that are no text, a circle
        return text
    return made
