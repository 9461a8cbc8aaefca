# SPDX-License-Identifier: MIT
"""Loading what an entry point names, with errors that say which distribution is at fault."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import attrs

from .errors import InvalidNode, PluginLoad

if TYPE_CHECKING:
    from .node import Node

__all__ = ["Listing", "load", "load_node", "named", "target"]


@attrs.frozen
class Listing:
    """One entry point, known without importing it.

    Parameters:
        provider: the name in `.pipe` files.
        target: "module:Class".
        distribution, version: where it comes from; both "" for a class that the host gave.
        problem: why it cannot be used, "" where nothing is known against it.
    """

    provider: str
    target: str
    distribution: str = ""
    version: str = ""
    problem: str = ""


def target(cls: type[Any]) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def named(one: Listing) -> str:
    return f"{one.distribution} {one.version}".strip()


def load(one: Listing) -> Any:
    """Imports the target. Every failure is a PluginLoad that names the distribution; an InvalidNode stays one."""
    if one.problem:
        upgrade = f"try: pip install --upgrade {one.distribution}"
        raise PluginLoad(f"{named(one)} was {one.problem}; {upgrade}", distribution=one.distribution)
    module, _, names = one.target.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except InvalidNode as error:
        raise InvalidNode(f"{error} (in {named(one)})", distribution=one.distribution) from error
    except (Exception, SystemExit) as error:
        cause = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise PluginLoad(f"{named(one)} cannot be imported: {module} raised {cause}", distribution=one.distribution) from error
    for name in filter(None, names.split(".")):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            lacks = f"{named(one)} declares '{one.provider}' as {one.target}, but {module} has no {names}"
            raise PluginLoad(lacks, distribution=one.distribution) from error
    return found


def load_node(one: Listing) -> type[Node[Any]]:
    from .node import Node

    found = load(one)
    if not (isinstance(found, type) and issubclass(found, Node)):
        raise InvalidNode(f"{named(one)}: {one.target} is no subclass of Node", distribution=one.distribution)
    spec = getattr(found, "spec", None)
    if spec is None or one.provider not in (spec.provider, *spec.aliases):
        says = f"its spec says '{spec.provider}'" if spec else "it has no spec"
        raise PluginLoad(
            f"{named(one)} declares '{one.provider}' as {one.target}, but {says}; "
            "name the entry point as the spec does, or add the name to its aliases",
            distribution=one.distribution,
        )
    return found
