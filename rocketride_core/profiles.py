# SPDX-License-Identifier: MIT
"""From a component's config as people write it to one flat set of values.

Who wins, from the strongest:

- `profile` is given: its block, its block under the tail of its name (an editor's mistake, warned), keys beside
  `profile`, dotted keys (`"store.port"`), `parameters`, the preset.
- no `profile`: top-level keys, the block of the default profile (or of the only other profile that has one, which is
  then the profile), dotted keys, `parameters`, the preset.

`parameters` may hold a whole config, also one level down under the provider's name: its profile counts where the config
itself names none and has no block, its block beats its keys.

Null never overrides; `0`, `""` and `false` do. Objects are merged, lists replaced.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import attrs

from .errors import Problem
from .payloads import Arguments
from .reading import child, closest
from .spec import NodeSpec, Profile
from .variables import Filled

__all__ = ["BOOKKEEPING", "Resolved", "resolve"]

# What editors write beside the settings of a node.
BOOKKEEPING = frozenset(
    {"type", "mode", "hideForm", "name", "title", "key", "sync", "actions", "estimation", "include", "description"}
    | {"profile", "parameters", "secureParameters", "provider", "modelSource", "ui", "formDataValid"}
)
_FILE_ONLY = {"profile", "parameters", "secureParameters"}


@attrs.frozen
class Resolved:
    """A resolved config.

    Parameters:
        values: setting keys and their values; no `profile`, no blocks.
        paths: key -> JSON path of where its value stands; also where a member of a merged object stands, by the path
            it would have beside its siblings.
        problems: `unknown-profile`, `invalid-value`; warnings `deprecated-profile`, `misnamed-block`.
        profile: the profile that applies, "" where the node has none.
        at: JSON path of where a missing setting belongs.
        preset: keys whose values are the profile's alone.
    """

    values: Arguments = attrs.field(repr=False)
    paths: Mapping[str, str]
    problems: tuple[Problem, ...] = ()
    profile: str = ""
    at: str = "$"
    taken: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    preset: frozenset[str] = attrs.field(default=frozenset(), repr=False)

    def uses(self, path: str) -> bool:
        """Whether the value at that JSON path takes effect: false in left-over blocks and for what is overridden."""
        return any(path.startswith(taken) and path[len(taken) :][:1] in {"", ".", "["} for taken in self.taken)


class _Branch(dict[str, "tuple[Any, str]"]):
    """Key -> (value or branch, JSON path). An object that stands in one place only is a value as it is."""


def resolve(
    spec: NodeSpec,
    config: Mapping[str, Any],
    path: str = "$",
    *,
    keys: Collection[str] = (),
    aliases: Collection[tuple[str, ...]] = (),
) -> Resolved:
    """The values that a node gets. Variables must be filled in already (`Variables.substitute`).

    Parameters:
        spec: the node's; its first profile is the default.
        config: the component's.
        path: JSON path of the config.
        keys: the keys that the node's config class reads (`structure.keys_of`). They are never taken for bookkeeping,
            and tell settings among dotted keys and `parameters`. Without them everything is kept.
        aliases: keys that mean the same (`structure.aliases_of`): one in a stronger place replaces the others in weaker ones.
    """
    return _Resolver(spec, config, path, frozenset(keys), {key: group for group in aliases for key in group}).resolved()


class _Resolver:
    def __init__(
        self,
        spec: NodeSpec,
        config: Mapping[str, Any],
        path: str,
        keys: frozenset[str],
        same: Mapping[str, tuple[str, ...]],
    ) -> None:
        self.spec, self.config, self.path, self.keys, self.same = spec, config, path, keys, same
        self.profiles = {profile.id: profile for profile in spec.profiles}
        self.problems: list[Problem] = []

    def add(self, path: str, code: str, message: str, hint: str = "", *, warning: bool = False) -> None:
        self.problems.append(Problem(path, code, message, hint, severity="warning" if warning else "error"))

    def resolved(self) -> Resolved:
        name = self.named()
        layers = list(self.by_profile(name) if name else self.by_default())
        profile = self.chosen
        blocks = [at for _, at in layers if at == child(self.path, profile.id if profile else "default")]
        base = blocks[0] if blocks else self.path
        written = {key for layer, _ in layers for key, value in layer.items() if value is not None}
        preset = frozenset(profile.values).difference(written) if profile is not None else frozenset[str]()
        if profile is not None:
            layers.append((profile.values, base))
            if profile.deprecated:
                which = "Default profile" if not name and profile is self.spec.profiles[0] else "Profile"
                at = child(self.path, "profile") if name else self.path
                self.add(at, "deprecated-profile", f'{which} "{profile.id}" is deprecated. {profile.deprecated}', warning=True)
        tree = _Branch()
        for layer, at in reversed(layers):
            for key, value in layer.items():
                for other in self.same.get(key, ()) if value is not None else ():
                    if other != key:
                        tree.pop(other, None)
            _overlay(tree, layer, at)
        paths: dict[str, str] = {key: at for key, (_, at) in tree.items()}
        taken: set[str] = set()
        values = {key: _flat(value, at, paths, taken) for key, (value, at) in tree.items()}
        return Resolved(values, paths, tuple(self.problems), profile.id if profile else "", base, frozenset(taken), preset)

    def named(self) -> str:
        """The profile that the file names, and sets `chosen`; "" where it names none, or none that can be used."""
        name = self.config.get("profile")
        at = child(self.path, "profile")
        if name is None and self.keys:
            dotted = [key for key in self.config if key.endswith(".profile")]
            name, at = (self.config[dotted[0]], child(self.path, dotted[0])) if dotted else (None, at)
        self.chosen: Profile | None = next(iter(self.spec.profiles), None)
        if name is None:
            return self.inner_profile()
        if isinstance(name, Filled) and not name.complete:
            return ""
        if not isinstance(name, str) or not name:
            self.add(at, "invalid-value", "'profile' must be a non-empty string")
            return ""
        if name in self.profiles:
            self.chosen = self.profiles[name]
        elif name == "default" and self.chosen is not None:
            message = f"Profile default is not defined in {self.spec.provider}; {self.chosen.id}, its default profile, is taken"
            self.add(at, "unknown-profile", message, f"write '{self.chosen.id}'", warning=True)
        elif self.profiles or name != "default":
            shown = "***" if isinstance(name, Filled) else name
            likely = closest(name, self.profiles)
            hint = f"it has: {', '.join(self.profiles)}" if self.profiles else "it has no profiles: leave `profile` out"
            message = f"Profile {shown} is not defined in {self.spec.provider}"
            self.add(at, "unknown-profile", message, f"did you mean {likely}? {hint}" if likely else hint)
        return "".join(name)

    def inner(self) -> Iterator[tuple[Mapping[str, Any], str]]:
        """The configs inside of `parameters`, the more special one first."""
        parameters, at = self.config.get("parameters"), child(self.path, "parameters")
        if isinstance(parameters, Mapping):
            own = parameters.get(self.spec.provider)
            if isinstance(own, Mapping) and self.spec.provider not in self.keys:
                yield own, child(at, self.spec.provider)
            yield parameters, at

    def inner_profile(self) -> str:
        """The profile that stands in `parameters`, where nothing in the config itself tells one."""
        if any(isinstance(self.config.get(name), Mapping) for name in self.profiles if name not in self.keys):
            return ""
        for values, _ in self.inner():
            name = values.get("profile")
            if isinstance(name, str) and "".join(name) in self.profiles:
                self.chosen = self.profiles["".join(name)]
                return self.chosen.id
        return ""

    def by_profile(self, name: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        if name not in self.keys and self.config.get(name) is not None:
            block = self.config[name]
            if isinstance(block, Mapping):
                yield block, child(self.path, name)
            else:
                message = f"config missing profile object '{name}'"
                self.add(child(self.path, name), "invalid-value", message, "a profile's settings stand in an object")
        tail = self.misnamed(name)
        if tail:
            message = f"the block '{tail}' is taken for the settings of profile '{name}'"
            self.add(child(self.path, tail), "misnamed-block", message, f"rename it to '{name}'", warning=True)
            yield self.config[tail], child(self.path, tail)
        yield from self.loose({name, tail})

    def misnamed(self, name: str) -> str:
        """The block that an editor named after what follows a dot of the profile's real name (`gemini-3.1-pro` as `1-pro`)."""
        for key, block in self.config.items():
            known = key in self.profiles or key in self.keys or key in BOOKKEEPING
            if not known and isinstance(block, Mapping) and re.search(rf"[._]{re.escape(key)}\Z", name):
                return key
        return ""

    def by_default(self) -> Iterator[tuple[Mapping[str, Any], str]]:
        first = [self.chosen.id] if self.chosen else []
        blocks = [k for k, v in self.config.items() if isinstance(v, Mapping) and k not in self.keys]
        named = [k for k in [*first, "default"] if k in blocks][:1]
        others = [k for k in blocks if k in self.profiles and k not in first]
        if not named and len(others) == 1:
            named = others
            self.chosen = self.profiles[others[0]]
        loose = list(self.loose(set()))
        yield loose[0]
        for key in named:
            yield self.config[key], child(self.path, key)
        yield from loose[1:]

    def loose(self, used: set[str]) -> Iterator[tuple[Mapping[str, Any], str]]:
        """Top-level keys that are settings; then dotted ones, then `parameters`."""
        flat: dict[str, Any] = {}
        dotted: dict[str, str] = {}
        for key, value in self.config.items():
            block = isinstance(value, Mapping) and (key in self.profiles or key in used or key == "default")
            if key in self.keys:
                if not (key == "mode" and isinstance(value, str) and value.lower() in {"source", "target"}):
                    flat[key] = value
            elif self.keys and "." in key and key.rpartition(".")[2] in self.keys:
                dotted[key] = key.rpartition(".")[2]
            elif not block and key not in BOOKKEEPING and not (self.keys and key.endswith(".profile")):
                flat[key] = value
        yield flat, self.path
        for key, setting in dotted.items():
            yield _At({setting: self.config[key]}, {setting: child(self.path, key)}), self.path
        junk: tuple[Any, ...] = (None, {}, "")
        for values, inside in self.inner():
            own = values.get(self.chosen.id) if self.chosen else None
            if self.chosen and isinstance(own, Mapping) and self.chosen.id not in self.keys:
                yield own, child(inside, self.chosen.id)
            passed = {*_FILE_ONLY, self.spec.provider, *self.profiles}
            wanted = {k: v for k, v in values.items() if (k in self.keys if self.keys else k not in passed and v not in junk)}
            yield wanted, inside


class _At(dict[str, Any]):
    """A layer whose keys stand in the file under other names."""

    def __init__(self, values: Mapping[str, Any], paths: Mapping[str, str]) -> None:
        super().__init__(values)
        self.paths = paths


def _overlay(tree: _Branch, layer: Mapping[str, Any], path: str, *, top: bool = True) -> None:
    for key, value in layer.items():
        if value is None and (top or key in tree):
            continue
        at = layer.paths[key] if isinstance(layer, _At) else child(path, key)
        old, place = tree.get(key, (None, ""))
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            branch = old
            if not isinstance(branch, _Branch):
                branch = _Branch()
                _overlay(branch, old, place, top=False)
            _overlay(branch, value, at, top=False)
            tree[key] = (branch, at)
        else:
            tree[key] = (value, at)


def _flat(value: Any, path: str, paths: dict[str, str], taken: set[str]) -> Any:
    if not isinstance(value, _Branch):
        taken.add(path)
        return value
    for key, (_, at) in value.items():
        if at != child(path, key):
            paths[child(path, key)] = at
    return {key: _flat(item, at, paths, taken) for key, (item, at) in value.items()}
