# SPDX-License-Identifier: MIT
"""A node that misbehaves on purpose, for tests of kernels, hosts and neighbours."""

from __future__ import annotations

import time

import attrs

from ..handlers import on
from ..lanes import ANSWERS, TEXT
from ..node import Node, hookimpl
from ..payloads import Answer
from ..protocols import Instance
from ..settings import setting
from ..spec import NodeSpec

__all__ = ["HostileConfig", "HostileNode"]


@attrs.frozen(kw_only=True)
class HostileConfig:
    fail: tuple[str, ...] = setting((), doc="phases that raise: begin, open, handler, flush, close, end")
    when: str = setting("", doc="the handler raises only for this text")
    emit_late: bool = setting(False, doc="emit while closing")
    emit_wrong: bool = setting(False, doc="emit on a lane that is not declared")
    sleep: float = setting(0.0, unit="s", doc="the handler blocks that long")


class HostileNode(Node[HostileConfig]):
    """text → text; what it does wrong is configured."""

    spec = NodeSpec("testing_hostile", title="Hostile", internal=True)

    def _raise(self, phase: str) -> None:
        if phase in self.config.fail:
            raise ValueError(f"hostile {phase}")

    @hookimpl
    def begin_global(self) -> None:
        self._raise("begin")

    @hookimpl
    def end_global(self) -> None:
        self._raise("end")

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        self._raise("open")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        if self.config.sleep:
            time.sleep(self.config.sleep)
        if not self.config.when or self.config.when == text:
            self._raise("handler")
        if self.config.emit_wrong:
            instance.emit(ANSWERS, Answer(text))
        instance.emit(TEXT, text)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        self._raise("flush")

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        if self.config.emit_late:
            instance.emit(TEXT, "late")
        self._raise("close")
