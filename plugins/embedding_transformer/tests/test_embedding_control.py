# SPDX-License-Identifier: MIT
"""The node as the control `embedding` of another one, over a control edge."""

from __future__ import annotations

import numpy as np

from rocketride_core import (
    EMBEDDING,
    ONE,
    TEXT,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    on,
)


class Start(Node[None]):
    spec = NodeSpec("test_start", title="Start", categories=["source"], emits=[TEXT])


class Nearest(Node[None]):
    """Which of three sentences is nearest to the text?"""

    spec = NodeSpec("test_nearest", title="Nearest", needs={EMBEDDING: ONE}, responds=True)
    sentences = ("The cat sleeps on the sofa.", "The parliament passed a law.", "A volcano erupted last night.")

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        embedder = instance.one(EMBEDDING)
        known = np.array([np.frombuffer(v, np.float32) for v in embedder.embed(self.sentences)])
        asked = np.frombuffer(embedder.embed([text], query=True)[0], np.float32)
        assert known.shape == (3, embedder.dimension)
        assert embedder.model.endswith("all-MiniLM-L6-v2")
        instance.respond("text", TEXT(self.sentences[int(np.argmax(known @ asked))]))


def test_a_node_asks_it_over_a_control_edge() -> None:
    pipe = PipeFile(
        [
            Component("start", "test_start"),
            Component("nearest", "test_nearest", input=[LaneLink("text", "start")]),
            Component("model", "embedding_transformer", {"profile": "miniAll"}, control=[ControlLink("embedding", "nearest")]),
        ]
    )
    with Kernel(nodes=[Start, Nearest]).load(pipe) as pipeline:
        asked = ["a kitten naps", "politicians vote", "lava and ash"]
        found = [pipeline.run(Entry("x"), TEXT(text)).checked()[TEXT][0] for text in asked]
    assert found == list(Nearest.sentences)
