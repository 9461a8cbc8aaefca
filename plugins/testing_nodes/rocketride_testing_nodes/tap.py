# SPDX-License-Identifier: MIT
"""test_tap: records what comes, on every lane."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import attrs

from rocketride_core import (
    ANSWERS,
    AUDIO,
    DOCUMENTS,
    IMAGE,
    QUESTIONS,
    TABLE,
    TAGS,
    TEXT,
    VIDEO,
    Entry,
    Instance,
    Lane,
    Node,
    NodeSpec,
    Profile,
    on,
    setting,
)

__all__ = ["Record", "Tap", "TapConfig", "recording"]

T = TypeVar("T")

# Recordings that are open now; taps append to those of their name from any thread.
_open: list[tuple[str, list[Record]]] = []
_lock = threading.Lock()


@attrs.frozen
class Record:
    """One payload that reached a tap: the tap's component id, the entry, the lane's name, and the payload itself."""

    component: str
    entry: Entry
    lane: str
    payload: Any


@contextmanager
def recording(name: str = "") -> Iterator[list[Record]]:
    """The records of all taps with this `recording` in their config, of every pipeline of the process, while the block runs.

    ```python
    with recording() as records:
        pipeline.run(Entry("a"), TEXT("hello"))
    assert [record.payload for record in records] == ["hello"]
    ```
    """
    mine: tuple[str, list[Record]] = (name, [])
    with _lock:
        _open.append(mine)
    try:
        yield mine[1]
    finally:
        with _lock:
            _open[:] = [other for other in _open if other is not mine]


def record(lane: Lane[T]) -> Callable[[Any, Instance, T], None]:
    """The handler that records the payloads of one lane."""

    @on(lane)
    def handler(self: Any, instance: Instance, payload: T) -> None:
        tap: Tap = self
        tap.keep(instance, lane, payload)

    return handler


@attrs.frozen(kw_only=True)
class TapConfig:
    recording: str = setting("", title="Recording", doc="The name for `recording(name)`.")
    respond: bool = setting(True, title="Respond", doc="What comes is in the result too, under the name of its lane.")


class Tap(Node[TapConfig]):
    """A sink for everything: a host finds it in the result by lane, a test gets it in order from `recording()`."""

    spec = NodeSpec(
        "test_tap",
        title="Test tap",
        description="Records what comes, on every lane.",
        categories=["infrastructure"],
        profiles=[Profile("default", {})],
        responds=True,
    )
    text, table, documents = record(TEXT), record(TABLE), record(DOCUMENTS)
    questions, answers, tags = record(QUESTIONS), record(ANSWERS), record(TAGS)
    image, audio, video = record(IMAGE), record(AUDIO), record(VIDEO)

    def keep(self, instance: Instance, lane: Lane[T], payload: T) -> None:
        if _open:
            made = Record(self.id, instance.entry, lane.name, payload)
            with _lock:
                for name, records in _open:
                    if name == self.config.recording:
                        records.append(made)
        if self.config.respond:
            instance.respond(lane.name, lane(payload))
