# SPDX-License-Identifier: MIT
"""rocketride_sources: where entries come in. All are passive: the host feeds them with `run`, `start`, `map` or `submit`."""

from __future__ import annotations

from rocketride_core import AUDIO, IMAGE, QUESTIONS, TAGS, TEXT, VIDEO, Node, NodeSpec

__all__ = ["Chat", "Dropper", "Webhook"]


class Chat(Node[None]):
    """Takes questions."""

    spec = NodeSpec("chat", title="Chat", description="Questions of a chat.", categories=["source"], emits=[QUESTIONS])


class Webhook(Node[None]):
    """Takes anything; the mime type decides the lane (`pipeline.route`), and what fits no wired lane goes to `tags`."""

    spec = NodeSpec(
        "webhook",
        title="Web Hook",
        description="Data of any kind, sent by another program.",
        categories=["source"],
        emits=[TAGS, TEXT, AUDIO, VIDEO, IMAGE, QUESTIONS],
    )


class Dropper(Node[None]):
    """Takes files."""

    spec = NodeSpec("dropper", title="Dropper", description="Files, as they are dropped.", categories=["source"], emits=[TAGS])
