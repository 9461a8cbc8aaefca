# SPDX-License-Identifier: MIT
"""The component of a file that is replaced by the chain it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from rocketride_core import (
    DOCUMENTS,
    TAGS,
    Blob,
    Component,
    Expansion,
    Instance,
    Node,
    NodeSpec,
    Profile,
    RunError,
    hookimpl,
    on,
    setting,
)

from .configs import ConfigError
from .reading import DEFAULTS, Switches, sections_of, writes
from .stacks import MODES, missing_chunks, stack

__all__ = ["NO_CHUNKS", "NO_EFFECT", "Autopipe", "AutopipeConfig"]

NO_EFFECT = "autopipe keeps `remote` as it is, and runs everything here: it has no effect"
NO_CHUNKS = "without a preprocessor, {} gets no documents; keep `preprocessor`, or leave `embedding` and `store` out too (false)"


@attrs.frozen(kw_only=True)
class AutopipeConfig:
    """A section is `{"provider": P, P: {…}}`, merged over its default; `false` leaves it out."""

    mode: str = setting("INSTANCE", choices=MODES, title="Mode", doc="Which chain; INDEX is for programs alone.")
    include: Sequence[Mapping[str, Any]] = setting(
        (),
        title="Include",
        doc="`ocr: true` in an entry reads images too; `index: true` writes the full-text index, in mode INSTANCE.",
    )
    indexer: Any = setting(None, title="Index", doc="Of words, where `include` asks for one.")
    preprocessor: Any = setting(None, title="Preprocessor", doc="Cuts texts into chunks.")
    embedding: Any = setting(None, title="Embedding", doc="Turns chunks into vectors.")
    store: Any = setting(None, title="Store", doc="Keeps them.")
    remote: Any = setting(None, title="Remote", doc="Accepted and kept; has no effect.")


class Autopipe(Node[AutopipeConfig]):
    """Parse, chunk, embed and store, by default or by configured providers. It is gone before the pipeline runs."""

    spec = NodeSpec(
        "autopipe",
        title="Parse/Process/Embed",
        description="Stands for the whole chain that indexes documents.",
        categories=["other"],
        profiles=[Profile("default", DEFAULTS, title="MiniLM and a Qdrant server of this machine")],
        stores=True,
    )

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        """The chain in the place of the component: its tags go to `parse_1`."""
        config = context.config(AutopipeConfig)
        if config.mode == "INDEX":
            hint = "leave `mode` out; programs get the nodes of this mode from rocketride_autopipe.assemble"
            context.problem("invalid-value", "mode INDEX has no wires, so it makes no pipeline", path="mode", hint=hint)
            return None
        if writes(component.config, "remote"):
            context.problem("no-effect", NO_EFFECT, path="remote", hint="leave it out", severity="warning")

        def misspelt(where: str, key: str, likely: str) -> None:
            hint = f"did you mean {likely!r}?"
            context.problem("unknown-key", f"there is no setting {key!r}", path=f"{where}.{key}", hint=hint, severity="warning")

        try:
            switches = Switches.of(config.include, misspelt)
            sections = sections_of(attrs.asdict(config, recurse=False), component.config, misspelt)
            if config.mode in ("INSTANCE", "TRANSFORM") and (waiting := missing_chunks(sections)):
                context.problem("invalid-value", NO_CHUNKS.format(waiting), path="preprocessor")
                return None
            made = stack(config.mode, sections, switches, component.input)
        except ConfigError as error:
            context.problem("invalid-value", str(error))
            return None
        if sections["store"]:
            _refuse_consumers(component, context)
        return made

    @on(TAGS, emits=[DOCUMENTS])
    def tags(self, instance: Instance, blob: Blob) -> None:
        """What it takes, and gives where there is no store; never called, because the component is replaced."""
        raise RunError(f"{self.id} was not replaced by its chain", component=self.id)


def _refuse_consumers(component: Component, context: Expansion) -> None:
    for other in context.pipe.components:
        if any(link.source == component.id and link.lane == DOCUMENTS.name for link in other.input):
            context.problem(
                "no-output",
                f"{other.id} is wired to the documents of {component.id}, which go into its store",
                path="store",
                hint='write `"store": false`, and wire a store of your own behind it',
            )
