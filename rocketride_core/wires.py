# SPDX-License-Identifier: MIT
"""Who is wired to whom, by component id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compiler import Part

__all__ = ["Wires"]


class Wires:
    """The edges among the parts of a plan, whether anything ever flows over them or not.

    `after` leads from a producer to its consumers, `called` from a caller to those it calls; who has none is in neither.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = {part.component.id: part for part in parts}
        self.after: dict[str, list[str]] = {}
        self.called: dict[str, list[str]] = {}
        for part in parts:
            for link in part.component.input:
                if link.source in self.parts:
                    self.after.setdefault(link.source, []).append(part.component.id)
            for call in part.component.control:
                if call.caller in self.parts:
                    self.called.setdefault(call.caller, []).append(part.component.id)

    def behind(self, starts: Iterable[str]) -> set[str]:
        """What is reached over data edges, the starts with it."""
        reached = set(starts)
        todo = list(reached)
        while todo:
            for id in self.after.get(todo.pop(), ()):
                if id not in reached:
                    reached.add(id)
                    todo.append(id)
        return reached
