# SPDX-License-Identifier: MIT
"""rocketride_node_template: write each text in capitals, and at the end say how much was shouted."""

import attrs

from rocketride_core import TEXT, Instance, Node, NodeSpec, hookimpl, on, setting

__all__ = ["Shout", "ShoutConfig"]


@attrs.frozen(kw_only=True)
class ShoutConfig:
    mark: str = setting("!", title="Mark", doc="Written behind each text.")
    summary: bool = setting(False, title="Summary", doc="End each object with a line of counts.")


@attrs.define
class Shouted:
    """What one object has brought so far."""

    texts: int = 0
    characters: int = 0


class Shout(Node[ShoutConfig]):
    """Every text of an object in capitals; with `summary`, one more text when the object ends."""

    spec = NodeSpec("shout", title="Shout", description="Writes a text in capitals", categories=["text"])

    @on(TEXT, emits=[TEXT])
    def shout(self, instance: Instance, text: str) -> None:
        shouted = instance.state(Shouted)
        shouted.texts += 1
        shouted.characters += len(text)
        instance.emit(TEXT, text.upper() + self.config.mark)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        if self.config.summary:
            shouted = instance.state(Shouted)
            instance.emit(TEXT, f"{shouted.texts} texts, {shouted.characters} characters")
