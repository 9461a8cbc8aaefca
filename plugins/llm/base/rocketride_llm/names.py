# SPDX-License-Identifier: MIT
"""Names of tools as vendors accept them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

__all__ = ["ToolNames"]

LONGEST = 64
UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


class ToolNames:
    """Full names to names that every vendor takes, and back: letters, digits, `_` and `-`, at most 64.

    A dot becomes two underscores. A name is the same in every run; only one that is too long or would be another tool's gets
    a short digest of itself at its end.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._there: dict[str, str] = {}
        full = list(dict.fromkeys(names))
        plain = {name: _fitting(name) for name in full}
        written = list(plain.values())
        for name in full:
            short = plain[name]
            if len(short) > LONGEST or (written.count(short) > 1 and short != name):
                mark = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
                short = f"{short[: LONGEST - 1 - len(mark)]}_{mark}"
            self._there[name] = short
        self._back = {short: name for name, short in self._there.items()}

    def there(self, name: str) -> str:
        """The vendor's name; a tool that is not in the list, from an earlier turn, gets a fitting one too."""
        return self._there.get(name) or _fitting(name)[:LONGEST]

    def back(self, short: str) -> str:
        """The full name; what no tool is called stays, for the agent to refuse."""
        return self._back.get(short, short)


def _fitting(name: str) -> str:
    """No vendor takes the empty name that a model may have called."""
    return UNFIT.sub("_", name.replace(".", "__")) or "_"
