# SPDX-License-Identifier: MIT
"""From resolved values to an object of a config class (an attrs class of `setting`s)."""

from __future__ import annotations

import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar
from weakref import WeakKeyDictionary

import attrs

from .converting import BAD, Converter
from .errors import Problem
from .kinds import describe, supported
from .profiles import BOOKKEEPING
from .reading import child, closest
from .settings import Secret, Setting, looks_secret, setting_of
from .spec import Profile
from .variables import Filled

C = TypeVar("C")

__all__ = ["Field", "aliases_of", "build", "class_problems", "fields_of", "keys_of"]

# `Json` and `Arguments` name these; a config class need not import them.
_LOCAL = {"Json": Any, "Sequence": Sequence, "Mapping": Mapping}
GUESSED = 50  # unknown keys of one object that are compared with the known ones
SPARED = 5  # a shorter part of a hidden value in a message is chance
_FIELDS: WeakKeyDictionary[type[Any], tuple[Field, ...]] = WeakKeyDictionary()


@attrs.frozen
class Field:
    """One setting of a config class: `argument` of its constructor, `keys` it is read from (the first one is its name)."""

    argument: str
    keys: tuple[str, ...]
    kind: Any
    default: Any
    setting: Setting

    @property
    def required(self) -> bool:
        return self.default is attrs.NOTHING

    @property
    def secret(self) -> bool:
        return self.kind is Secret or Secret in typing.get_args(self.kind)


def fields_of(cls: type[Any]) -> tuple[Field, ...]:
    """The settings of a config class, in order.

    Raises:
        TypeError: it is not an attrs class, or a type in it cannot be found.
    """
    if cls in _FIELDS:
        return _FIELDS[cls]
    if not attrs.has(cls):
        raise TypeError(f"{cls.__qualname__} is not an attrs class; write @attrs.frozen(kw_only=True) above it")
    try:
        hints = typing.get_type_hints(cls, localns=dict(_LOCAL), include_extras=True)
    except NameError as error:
        raise TypeError(f"{cls.__qualname__}: the type {error.name!r} cannot be found; import it at run time") from error
    found: list[Field] = []
    for attribute in attrs.fields(cls):
        if attribute.init:
            setting = setting_of(attribute)
            keys = (setting.key, *setting.aliases)
            found.append(Field(attribute.alias, keys, hints.get(attribute.name, Any), attribute.default, setting))
    return _FIELDS.setdefault(cls, tuple(found))


def keys_of(cls: type[Any] | None) -> frozenset[str]:
    """All keys that a config class is read from; none for None."""
    return frozenset(key for field in fields_of(cls) for key in field.keys) if _real(cls) else frozenset()


def aliases_of(cls: type[Any] | None) -> tuple[tuple[str, ...], ...]:
    """The keys that mean one setting, of each that has several."""
    return tuple(field.keys for field in fields_of(cls) if len(field.keys) > 1) if _real(cls) else ()


def _real(cls: type[C] | None) -> TypeGuard[type[C]]:
    return cls is not None and cls is not type(None)


def build(
    cls: type[C] | None,
    values: Mapping[str, Any],
    *,
    at: str = "$",
    paths: Mapping[str, str] | None = None,
    preset: Collection[str] = (),
    component: str = "",
    file: str = "",
) -> tuple[C | None, list[Problem]]:
    """An object of a config class, and what is wrong with the values, all of it in one go.

    The object is None where there is an error, where `cls` is None (a node without a config class takes any config), and
    where a setting that is not a text has an unset variable (`Variables.substitute` has reported that already).

    Parameters:
        cls: the class.
        values: by key, as `profiles.resolve` gives them.
        at: JSON path of where a missing value belongs (`Resolved.at`).
        paths: key -> JSON path of its value (`Resolved.paths`).
        preset: keys that nobody wrote (`Resolved.preset`): another one may be one of them, misspelt.
        component, file: for the problems.

    Problems: `invalid-value`, `missing-value`; warning `unknown-key`, only where a key looks like a misspelt one,
    because real files carry much that editors left behind.
    """
    if not _real(cls):
        return None, []
    builder = _Builder(paths or {}, frozenset(preset), component, file)
    made = builder.object(cls, values, at, top=True)
    return (None if made is BAD else made), builder.problems


def _hidden(value: Any, hidden: bool) -> Iterable[Any]:
    """The values inside that nobody may see."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _hidden(item, hidden or looks_secret(str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _hidden(item, hidden)
    elif hidden or isinstance(value, Filled):
        yield value


def _tells(message: str, secrets: Iterable[Any]) -> bool:
    """Does a message have a part of a value that nobody may see?"""
    for value in secrets:
        text = (value.reveal() if isinstance(value, Secret) else str(value)).removeprefix("https://").removeprefix("http://")
        if any(text[n : n + SPARED] in message for n in range(max(1, len(text) - SPARED + 1)) if text):
            return True
    return False


class _Builder:
    def __init__(self, paths: Mapping[str, str], preset: Collection[str], component: str, file: str) -> None:
        self.preset = preset
        self.paths, self.component, self.file = paths, component, file
        self.problems: list[Problem] = []
        self.converter = Converter(self.invalid, self.object, paths, self.problems)

    def add(self, path: str, code: str, message: str, hint: str = "", *, warning: bool = False) -> None:
        severity: typing.Literal["error", "warning"] = "warning" if warning else "error"
        self.problems.append(Problem(path, code, message, hint, self.component, severity, self.file))

    def invalid(self, path: str, message: str, hint: str) -> None:
        self.add(path, "invalid-value", message, hint)

    def object(self, cls: type[Any], values: Mapping[str, Any], at: str, top: bool = False) -> Any:
        arguments: dict[str, Any] = {}
        secrets: list[Any] = []
        failed = False
        fields = fields_of(cls)
        for field in fields:
            key = next((key for key in field.keys if values.get(key) is not None), "")
            if not key:
                if field.required:
                    failed = True
                    self.missing(field, at)
                continue
            path = self.paths.get(key, child(at, key)) if top else child(at, key)
            value = values[key]
            if field.required and field.secret and isinstance(value, str) and not value:
                failed = True
                self.missing(field, at)
                continue
            hidden = field.secret or isinstance(value, Filled) or looks_secret(key)
            made = self.converter.convert(value, field.kind, path, hidden=hidden)
            if made is BAD or not self.constrained(made, value, field, path, hidden):
                failed = True
                continue
            arguments[field.argument] = made
            secrets += [*_hidden(value, hidden), *([made] if hidden else [])]
        self.unknown(fields, values, at, top)
        if failed:
            return BAD
        try:
            return cls(**arguments)
        except (ValueError, TypeError) as error:
            shown = "" if _tells(str(error), secrets) else f": {error}"
            self.add(at, "invalid-value", f"{cls.__name__} refuses these values{shown}")
            return BAD

    def constrained(self, made: Any, value: Any, field: Field, path: str, hidden: bool) -> bool:
        if isinstance(value, Filled) and not value.complete:
            return True
        return self.converter.constrain(made, field.setting, path, hidden=hidden)

    def missing(self, field: Field, at: str) -> None:
        key = field.keys[0]
        title = f" ({field.setting.title})" if field.setting.title else ""
        example = f'"${{ROCKETRIDE_{key.upper()}}}"' if field.secret else "…"
        self.add(child(at, key), "missing-value", f"a value for '{key}'{title} is missing", f'write "{key}": {example}')

    def unknown(self, fields: Iterable[Field], values: Mapping[str, Any], at: str, top: bool) -> None:
        known = {key for field in fields for key in field.keys}
        # A key that is written already is not what somebody meant with another one.
        written = values.keys() - self.preset if top else values.keys()
        free = {key for field in fields if written.isdisjoint(field.keys) for key in field.keys}
        if top and self.preset:
            free.add("profile")
        strange = [key for key in values if not (key in known or (top and key in BOOKKEEPING))]
        for key in strange[:GUESSED]:
            likely = _misspelt(key, free)
            if likely:
                path = self.paths.get(key, child(at, key)) if top else child(at, key)
                self.add(path, "unknown-key", f"there is no setting '{key}'", f"did you mean '{likely}'?", warning=True)


def _misspelt(key: str, options: Iterable[str]) -> str:
    bare = {_bare(option): option for option in options}
    if _bare(key) in bare:
        return bare[_bare(key)]
    return bare.get(closest(_bare(key), bare, cutoff=0.8), "") if len(key) > 3 else ""


def _bare(key: str) -> str:
    return "".join(c for c in key.lower() if c.isalnum())


def class_problems(cls: type[Any] | None, profiles: Iterable[Profile] = ()) -> list[str]:
    """What is wrong with a config class and the profiles of its node, for whoever writes the node; empty is good."""
    if not _real(cls):
        return []
    try:
        fields = fields_of(cls)
    except TypeError as error:
        return [str(error)]
    name = cls.__qualname__
    found: list[str] = []
    seen: set[str] = set()
    for field in fields:
        if not supported(field.kind):
            found.append(f"{name}.{field.argument}: a setting cannot have the type {field.kind!r}")
            continue
        found += [f"{name}.{field.argument}: the key {key!r} is taken by another setting" for key in field.keys if key in seen]
        seen |= set(field.keys)
        found += [f"{name}.{field.argument}: its default is wrong: {text}" for text in _default_problems(field)]
    for profile in profiles:
        for key, value in profile.values.items():
            match = next((field for field in fields if key in field.keys), None)
            if match is None:
                found.append(f"{name}: profile {profile.id!r} sets {key!r}, which is no setting")
            elif supported(match.kind) and value is not None:
                found += [f"{name}: profile {profile.id!r}: {key}: {text}" for text in _check(value, match)]
    return found


def _default_problems(field: Field) -> list[str]:
    if not isinstance(field.default, str | int | float | None):
        return []
    made = _check(field.default, field)
    loose = isinstance(field.default, str) and not made and _is_number(field.kind)
    return [f"expected {field.kind.__name__}, got {describe(field.default)}"] if loose else made


def _is_number(kind: Any) -> bool:
    return kind in (int, float, bool)


def _check(value: Any, field: Field) -> list[str]:
    builder = _Builder({}, (), "", "")
    made = builder.converter.convert(value, field.kind, "$", hidden=field.secret)
    if made is not BAD:
        builder.converter.constrain(made, field.setting, "$", hidden=field.secret)
    return [problem.message for problem in builder.problems]
