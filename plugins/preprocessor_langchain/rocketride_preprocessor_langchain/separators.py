# SPDX-License-Identifier: MIT
"""Separators as `.pipe` files write them: Python literals inside a text, or the text itself."""

from __future__ import annotations

import ast

_CONTROL = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def separators(written: str) -> tuple[str, ...]:
    r"""The separators in `"'\n\n', '\n', ' ', ''"` or in the same with brackets; none in a blank text.

    Real line ends inside the quotes are taken as they are. Raises ValueError for anything else.
    """
    if not written.strip(" "):
        return ()
    found = _literal(written)
    values = (found,) if isinstance(found, str) else found
    if not isinstance(values, (tuple, list)) or not all(isinstance(value, str) for value in values):
        raise ValueError(
            f"Invalid separators specified {written}; write quoted texts with commas between, like '\\n\\n', '\\n', ' ', ''"
        )
    return tuple(values)


def separator(written: str) -> str:
    r"""The separator in `"'\n'"`, or, without quotes, the text itself.

    Raises ValueError for an escape such as `\n` outside of quotes, which would hardly ever be meant letter by letter.
    """
    if written[:1] in {"'", '"'} and len(written) > 1:
        found = _literal(written)
        if isinstance(found, str):
            return found
        raise ValueError(f"Invalid separator specified {written}; write one quoted text, like '\\n'")
    if "\\" in written and len(written) > 1:
        raise ValueError(f"Invalid separator specified {written}; write a text with escapes in quotes, like '\\n'")
    return written


def _literal(written: str) -> object:
    try:
        return ast.literal_eval(written.strip().translate(_CONTROL))
    except (ValueError, SyntaxError) as error:
        raise ValueError(f"Invalid input format: {error}: {written}") from None
