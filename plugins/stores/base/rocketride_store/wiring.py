# SPDX-License-Identifier: MIT
"""What a store's config means for the file: the name of its collection, and a node for its block `embedding`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rocketride_core import EMBEDDING, Component, ControlLink, Expansion, NodeSpec

from .config import AsWritten

__all__ = ["bad_name", "open_key", "tile", "with_embedding"]


def bad_name(component: Component, context: Expansion, title: str, rule: Callable[[str], str], name: object) -> None:
    """Reports a name that the store does not take; what is no text, or a variable without a value, is reported elsewhere."""
    broken = rule(name) if isinstance(name, str) and "${" not in name else ""
    if broken:
        message = f"the collection's name is not one that {title} takes"
        context.problem("invalid-value", message, path=_place(component, "collection"), hint=f"it takes {broken}")


def open_key(component: Component, context: Expansion, written: AsWritten, in_the_open: Callable[[Any, str, int], bool]) -> None:
    """Warns of an API key that can be read on its way to the server; a host that cannot be read is told of when it is loaded."""
    host, port = written.host, written.port
    if not written.apikey or not isinstance(host, str) or not isinstance(port, int):
        return
    try:
        told = in_the_open(written.mode, host, port)
    except ValueError:
        return
    if told:
        context.problem(
            "unencrypted-key",
            f"the API key is sent unencrypted to {host}",
            hint="write https:// in front of the host where its server can do that",
            severity="warning",
        )


def with_embedding(component: Component, context: Expansion, written: object) -> Sequence[Component] | None:
    """The store, and the node that its block `embedding` asks for, bound to it; None where there is none to add."""
    if not isinstance(written, Mapping) or not isinstance(provider := written.get("provider"), str) or not provider:
        return None
    bound = next((one.id for one in context.pipe.components for link in one.control if _embeds(link, component.id)), "")
    if bound:
        message = f"Component {component.id} has an embedding in its config, and {bound} is bound to it as another"
        context.problem("too-many-controls", message, path=_place(component, "embedding"), hint="keep one of the two")
        return None
    config = written.get(provider)
    made = Component(
        f"{component.id}_embedding",
        provider,
        config if isinstance(config, Mapping) else {},
        control=[ControlLink(EMBEDDING.name, component.id)],
    )
    return [component, made]


def tile(spec: NodeSpec) -> list[str]:
    """What a store's tile shows: its server, where a profile has one, and its collection."""
    of = f"${{parameters.{spec.provider}.${{profile}}"
    server = [f"Host/Port: {of}.host}}:{of}.port}}"] if any("host" in one.values for one in spec.profiles) else []
    return [*server, f"Collection: {of}.collection}}"]


def _embeds(link: ControlLink, id: str) -> bool:
    return link.control == EMBEDDING.name and link.caller == id


def _place(component: Component, key: str) -> str:
    """Where a key of the config stands: in the profile's block, or beside it."""
    profile = component.config.get("profile")
    block = component.config.get(profile) if isinstance(profile, str) else None
    return f"{profile}.{key}" if isinstance(block, Mapping) and key in block else key
