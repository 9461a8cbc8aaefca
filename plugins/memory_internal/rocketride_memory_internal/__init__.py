# SPDX-License-Identifier: MIT
"""rocketride_memory_internal: what an agent keeps in mind while it works on one object."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from rocketride_core import MEMORY, Caller, Instance, Memory, Node, NodeSpec, Profile, serves

__all__ = ["InternalMemory", "Notes"]


class InternalMemory(Node[None]):
    """Serves the control `memory`. Empty for each object, gone with it, and never in a file.

    An agent and the sub-agents that it calls as tools have separate notes, because a tool call is a run of its own
    (`caller.run`). Agents that work on the same object over lanes, and are wired to the same memory, share them.
    """

    spec = NodeSpec(
        "memory_internal",
        title="Memory (Internal)",
        description="Values by key, for as long as one object is worked on.",
        categories=["memory"],
        profiles=[Profile("default", {})],
    )

    @serves(MEMORY)
    def memory(self, instance: Instance, caller: Caller) -> Memory:
        return instance.state(Runs).notes(caller.run)


class Runs:
    """The notes of one object, by run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._notes: dict[str, Notes] = {}

    def notes(self, run: str) -> Notes:
        with self._lock:
            return self._notes.setdefault(run, Notes())


class Notes:
    """A `Memory`: any object by key, kept by reference. Safe on several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: dict[str, object] = {}

    def put(self, key: str, value: object, /) -> None:
        """Keep a value, in the place of an older one.

        Raises:
            ValueError: the key is not a non-empty text.
        """
        _check(key)
        with self._lock:
            self._values[key] = value

    def get(self, key: str, /) -> object:
        """The value, None when absent.

        Raises:
            ValueError: the key is not a non-empty text.
        """
        _check(key)
        with self._lock:
            return self._values.get(key)

    def keys(self) -> Sequence[str]:
        """All keys, sorted."""
        with self._lock:
            return sorted(self._values)

    def clear(self, key: str | None = None, /) -> Sequence[str]:
        """Forget one key, or all of them.

        Returns:
            The keys that were there, sorted.

        Raises:
            ValueError: the key is given and is no text.
        """
        if key is not None and not isinstance(key, str):
            raise ValueError('"key" must be a string if provided')
        with self._lock:
            if key is not None:
                return [key] if self._values.pop(key, self) is not self else []
            gone = sorted(self._values)
            self._values.clear()
            return gone


def _check(key: object) -> None:
    if not isinstance(key, str) or not key:
        raise ValueError('"key" is required and must be a non-empty string')
