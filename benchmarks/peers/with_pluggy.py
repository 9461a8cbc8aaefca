# SPDX-License-Identifier: MIT
"""pluggy: every step is a hook with one implementation, called by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import LENGTH

NAME, NEEDS = "pluggy", "pluggy"


def chain() -> Callable[[int], object]:
    import pluggy

    specification, implementation = pluggy.HookspecMarker("bench"), pluggy.HookimplMarker("bench")

    class Specifications:
        @specification(firstresult=True)
        def step(self, value: object) -> object: ...

    class Step:
        @implementation
        def step(self, value: object) -> object:
            return value

    hooks: list[Any] = []
    for _ in range(LENGTH):
        manager = pluggy.PluginManager("bench")
        manager.add_hookspecs(Specifications)
        manager.register(Step())
        hooks.append(manager.hook)

    def run(n: int) -> None:
        for _ in range(n):
            value: object = "abc"
            for hook in hooks:
                value = hook.step(value=value)

    return run
