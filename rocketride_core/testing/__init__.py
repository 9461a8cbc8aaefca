# SPDX-License-Identifier: MIT
"""The test kit for authors of nodes and hosts: real kernel, no mocks of it. `pip install rocketride-core[testing]` brings pytest.

from rocketride_core.testing import NodeSuite, run_node

class TestChunker(NodeSuite):
    node = Chunker
    config = {"size": 3}

def test_cuts() -> None:
    out = run_node(Chunker, config={"size": 2}, send={"text": ["abc"]})
    assert [d.text for d in out[DOCUMENTS][0]] == ["ab", "c"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fakes import FakeChatModel, FakeEmbedder, FakeMemory
from .harness import Harness, Outputs, node_harness, run_node
from .hostile import HostileNode

if TYPE_CHECKING:
    from .suite import NodeSuite

__all__ = [
    "FakeChatModel",
    "FakeEmbedder",
    "FakeMemory",
    "Harness",
    "HostileNode",
    "NodeSuite",
    "Outputs",
    "node_harness",
    "run_node",
]


def __getattr__(name: str) -> Any:
    if name == "NodeSuite":  # pytest is wanted only by those who use the suite
        from .suite import NodeSuite

        return NodeSuite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
