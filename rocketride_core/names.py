# SPDX-License-Identifier: MIT
"""What is known of provider names beyond those that are installed: one data file, for hints and for old names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

__all__ = ["Names"]

LONGEST = 64  # characters of a name that one guesses at; comparing longer ones costs time and finds nothing
GUESSES = 3


class Names:
    """The tables of `data/providers.json`, read at the first question."""

    @cached_property
    def _tables(self) -> Mapping[str, Any]:
        tables: Mapping[str, Any] = json.loads((Path(__file__).parent / "data" / "providers.json").read_text("utf-8"))
        return tables

    def current(self, provider: str) -> str:
        """The name that an old one stands for today, "" where it is no old one."""
        return str(self._tables["aliases"].get(provider, ""))

    def successors(self, provider: str) -> tuple[str, ...]:
        """The nodes that took the place of one that still may work; none where it is not outdated."""
        return tuple(self._tables["replaced"].get(provider, ()))

    def pip(self, provider: str) -> str:
        """The distribution that is known to have this provider, "" for none."""
        return str(self._tables["pip"].get(self.current(provider) or provider, ""))

    def unwritten(self, provider: str) -> bool:
        """Whether the reference has this node, and nobody has written it for this engine."""
        return (self.current(provider) or provider) in self._tables["unwritten"]

    def close(self, provider: str, installed: Mapping[str, Iterable[str]]) -> list[str]:
        """Providers that one may have meant, the likeliest first: compared are providers, folders and distributions.

        Parameters:
            installed: providers, and the names of the distributions that have each.
        """
        if not 1 < len(provider) <= LONGEST:
            return []
        import difflib

        meant = dict.fromkeys([*self._tables["unwritten"], *self._tables["pip"], *installed], "")
        targets = {name: [name] for name in meant}
        for name, target in (*self._tables["folders"].items(), *self._tables["aliases"].items()):
            targets.setdefault(name, []).append(target)
        for name, successors in self._tables["replaced"].items():
            targets[name] = [*targets.get(name, ()), *successors]
        for name, distributions in ({name: [pip] for name, pip in self._tables["pip"].items()} | dict(installed)).items():
            for distribution in distributions:
                targets.setdefault(_plain(distribution), []).append(name)
        word = _plain(provider)
        # People write the folder's name for the provider's (`store_qdrant`), or leave its family out (`openai`).
        exact = targets.get(word, [])
        family = [name for name in sorted(meant) if name.endswith(f"_{word}") or word.endswith(f"_{name}")]
        alike = [one for name in difflib.get_close_matches(word, sorted(targets), GUESSES, 0.75) for one in targets[name]]
        return [name for name in dict.fromkeys([*exact, *family, *alike]) if name != provider][:GUESSES]


def _plain(name: str) -> str:
    return name.lower().removeprefix("rocketride-").replace("-", "_").replace(" ", "_")
