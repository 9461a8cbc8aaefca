# SPDX-License-Identifier: MIT
"""asyncio: the branches are tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

NAME, NEEDS = "asyncio.gather", ""


def diamond() -> Callable[[int], object]:
    async def branch(value: str) -> str:
        return value

    async def many(n: int) -> None:
        for _ in range(n):
            left, right = await asyncio.gather(branch("abc"), branch("abc"))
            await branch(left + right)

    return lambda n: asyncio.run(many(n))
