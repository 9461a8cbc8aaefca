# SPDX-License-Identifier: MIT
"""Makes `qdrant_double` importable for the tests beside it, and serves one."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    from qdrant_double import Double

    with Double() as server:
        yield server


@pytest.fixture
def double(served: Any) -> Any:
    """A server without collections."""
    served.engine.reset()
    return served
