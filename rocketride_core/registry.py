# SPDX-License-Identifier: MIT
"""Node classes by provider, imported when they are asked for, and the host plugins that are installed.

A provider is the name of an entry point in the group `rocketride.nodes`. A node with aliases gives each an entry point of its
own, to the same class; then every name is found without importing anything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from .distinfo import CORE, fits
from .errors import DuplicateProvider, InvalidNode, PluginError
from .index import Distribution, cache_folder, installed
from .loading import Listing, load, load_node, named, target
from .names import Names

if TYPE_CHECKING:
    from .node import Node

__all__ = ["PIP", "Listing", "Registry", "UnknownProvider"]

PIP = "try: pip install "
UNWRITTEN = "nobody has written this node yet"


class UnknownProvider(LookupError):
    """No installed node has this provider.

    Parameters:
        provider: what was asked for.
        pip: the distribution that is known to have it, "" for none.
        current: the provider's name today, where an old one was asked for.
        unwritten: whether it is known, and nobody has written it yet.
        guess: gives known providers of a similar name; asked only when somebody wants to know.
    """

    def __init__(
        self,
        provider: str,
        pip: str = "",
        *,
        current: str = "",
        unwritten: bool = False,
        guess: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        super().__init__(f"no installed node provides '{provider}'")
        self.provider, self.pip, self.current, self.unwritten, self._guess = provider, pip, current, unwritten, guess

    @cached_property
    def close(self) -> tuple[str, ...]:
        """Known providers that may have been meant, the most similar first; they need not be installed."""
        return () if self.pip or self.unwritten else tuple(self._guess())

    @property
    def hint(self) -> str:
        """What to do about it, in one line, a second one for an old name; "" where nothing is known."""
        renamed = f"it is called '{self.current}' today" if self.current else ""
        if self.pip:
            return f"{PIP}{self.pip}" + (f"\n{renamed}" if renamed else "")
        if self.unwritten:
            return f"{renamed + '; ' if renamed else ''}{UNWRITTEN}"
        return f"did you mean {' or '.join(repr(name) for name in self.close)}?" if self.close else ""


class Registry:
    """What this installation offers. Making one reads nothing; the index is read at the first question.

    Parameters:
        nodes: node classes of the host; they win over installed ones of the same provider.
        path: folders to search, `sys.path` where it is not given.
        cache: folder of the index; the user's cache folder where it is not given.
        rescan: do not believe the cached index.
    """

    def __init__(
        self,
        nodes: Sequence[type[Node[Any]]] = (),
        *,
        path: Sequence[str] | None = None,
        cache: Path | None = None,
        rescan: bool = False,
    ) -> None:
        self._path, self._cache, self._rescan = path, cache, rescan
        self._own: dict[str, list[type[Node[Any]]]] = {}
        for node in nodes:
            if not hasattr(node, "manifest") or getattr(node, "spec", None) is None:
                raise InvalidNode(f"nodes are classes made from Node, with a spec; {node!r} is none")
            for name in (node.spec.provider, *node.spec.aliases):
                if node not in self._own.setdefault(name, []):
                    self._own[name].append(node)
        self._installed: list[Distribution] | None = None
        self._claims: dict[str, list[Listing]] = {}
        self._found: dict[str, type[Node[Any]]] = {}
        self._failed: dict[str, PluginError] = {}
        self.names = Names()

    def listings(self) -> Sequence[Listing]:
        """Every provider, alphabetically, no node imported. One that is claimed twice is listed twice, with the problem."""
        out = [Listing(name, target(cls)) for name, classes in self._own.items() for cls in classes]
        for provider, claims in self._read().items():
            if provider in self._own:
                continue
            if len(claims) == 1:
                out += claims
                continue
            for one in claims:
                others = [named(other) for other in claims if other.distribution != one.distribution]
                also = f"'{one.provider}' is claimed by {' and '.join(others)} too; uninstall one of them" if others else ""
                out.append(attrs.evolve(one, problem=one.problem or also))
        return sorted(out, key=lambda one: (one.provider, one.distribution))

    def find(self, provider: str) -> type[Node[Any]]:
        """The class of this provider, or of this alias.

        Raises:
            UnknownProvider: nothing that is installed has it.
            DuplicateProvider: two distributions, or two classes of the host, claim it.
            PluginLoad: it cannot be imported, lacks its class, has another provider than its entry point, or was built for
                another core.
            InvalidNode: its class breaks a rule of the node API.
        """
        if provider in self._failed:
            known = self._failed[provider]
            raise type(known)(str(known), distribution=known.distribution) from known.__cause__
        if provider not in self._found:
            try:
                self._found[provider] = self._search(provider)
            except PluginError as error:
                self._failed[provider] = error
                raise
        return self._found[provider]

    def plugins(self) -> Sequence[tuple[str, object]]:
        """The host plugins of the group `rocketride.plugins`, loaded, as `(name, module or object)` in alphabetical order.

        Raises:
            PluginLoad: one cannot be loaded. It is not passed over: a plugin that guards tools must not go missing in silence.
        """
        return [(one.provider, load(one)) for one in self.plugin_listings()]

    def plugin_listings(self) -> Sequence[Listing]:
        """The host plugins that are installed, not imported; `provider` is the name of the entry point."""
        self._read()
        found = [_listing(name, where, one) for one in self._installed or () for name, where in one.plugins]
        return sorted(found, key=lambda one: (one.provider, one.distribution))

    def outdated(self, provider: str) -> tuple[str, tuple[str, ...]]:
        """What a provider that is found is called today, and the nodes that took its place; a host's own is never outdated."""
        if provider in self._own:
            return "", ()
        current = "" if provider in self._read() else self.names.current(provider)
        return current, self.names.successors(provider)

    def close(self, provider: str) -> list[str]:
        """Known providers, installed or not, that one may have meant; at most three, the likeliest first."""
        own = {name: [""] for name in self._own}
        return self.names.close(provider, own | {name: [c.distribution for c in claims] for name, claims in self._read().items()})

    def pip(self, provider: str) -> str:
        """The distribution that is known to have this provider, "" for none."""
        return self.names.pip(provider)

    def _read(self) -> dict[str, list[Listing]]:
        if self._installed is None:
            path = sys.path if self._path is None else self._path
            found = installed(path, self._cache or cache_folder(), rescan=self._rescan)
            claims: dict[str, list[Listing]] = {}
            for one in found:
                for name, where in one.nodes:
                    claims.setdefault(name, []).append(_listing(name, where, one))
            self._claims, self._installed = claims, found
        return self._claims

    def _search(self, provider: str) -> type[Node[Any]]:
        own, claims = self._own.get(provider, []), self._read().get(provider, [])
        if len(own) > 1:
            names = " and ".join(map(target, own))
            raise DuplicateProvider(f"'{provider}' is claimed by two classes of the host: {names}; leave one out")
        if own:  # what a host hands in wins over what is installed: a test replaces a node by its double
            return own[0]
        if len({one.distribution for one in claims}) > 1:
            names = " and ".join(sorted(named(one) for one in claims))
            raise DuplicateProvider(
                f"'{provider}' is claimed by {names}; uninstall one of them", distribution=claims[0].distribution
            )
        if claims:
            return load_node(claims[0])
        current = self.names.current(provider)
        if current in self._own or current in self._read():
            return self.find(current)
        raise UnknownProvider(
            provider,
            self.names.pip(provider),
            current=current,
            unwritten=self.names.unwritten(provider),
            guess=lambda: self.close(provider),
        )


def _listing(name: str, where: str, one: Distribution) -> Listing:
    from . import __version__

    problem = ""
    if not fits(one.core, __version__):
        problem = f"built for another core: it needs {CORE}{one.core}, installed is {__version__}"
    return Listing(name, where, one.name, one.version, problem)
