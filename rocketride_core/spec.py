# SPDX-License-Identifier: MIT
"""What a node says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from .controls import Control
from .lanes import Lane
from .payloads import Arguments

__all__ = ["MANY", "ONE", "OPTIONAL", "Arity", "NodeSpec", "Param", "Profile"]


@attrs.frozen
class Arity:
    """How many providers of a control a node takes: from `least` to `most`; None is any number."""

    least: int = 0
    most: int | None = None


ONE, OPTIONAL, MANY = Arity(1, 1), Arity(0, 1), Arity()


@attrs.frozen
class Profile:
    """A named set of config values; the first profile of a spec is the default.

    Parameters:
        id: what a `.pipe` names.
        values: config keys (as in the file) and their values.
        title: for forms.
        deprecated: why, and what to use instead; a warning where it is chosen.
    """

    id: str
    values: Arguments
    title: str = ""
    deprecated: str = ""


@attrs.frozen(kw_only=True)
class NodeSpec:
    """A node's manifest; lanes and served controls are derived from its handlers.

    Parameters:
        provider: the id in a `.pipe`, and the name of the entry point.
        title: for people; messages name it.
        description, categories, icon, docs, tile: for editors; `docs` is a URL.
        needs: the controls it calls, and how many providers of each.
        emits: lanes it emits outside of handlers (a source's, a tool's, what only hooks emit).
        profiles: the first is the default.
        aliases: other provider ids that mean this node.
        responds: what it gets is the pipeline's response.
        stores: what it gets is kept for good; a pipeline may end here without a response.
        internal, experimental: not, or marked, in listings.
    """

    provider: str = attrs.field(kw_only=False)
    title: str
    description: str = ""
    categories: Sequence[str] = ()
    needs: Mapping[Control[Any], Arity] = attrs.field(factory=dict)
    emits: Sequence[Lane[Any]] = ()
    profiles: Sequence[Profile] = ()
    aliases: Sequence[str] = ()
    icon: str = ""
    docs: str = ""
    tile: Sequence[str] = ()
    responds: bool = False
    stores: bool = False
    internal: bool = False
    experimental: bool = False


@attrs.frozen
class Param:
    """Says more of a tool's parameter, inside `Annotated`; a bare string there is `Param(doc)`."""

    doc: str = ""
    ge: float | None = None
    le: float | None = None
    min_length: int | None = None
