# SPDX-License-Identifier: MIT
"""From JSON values to the types of a config class, with exact paths and without ever printing what must not be seen."""

from __future__ import annotations

import enum
import re
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import attrs

from .errors import Problem
from .kinds import LISTS, describe, name_of, plain
from .reading import child, closest
from .settings import ProviderRef, Secret, Setting
from .variables import Filled

__all__ = ["BAD", "Converter"]

WRONG = 20  # items of one list that are told of
BAD: Any = object()  # what could not be converted; the report says why

_INT = r"\s*[+-]?[0-9]{1,300}\s*"
_FLOAT = r"\s*[+-]?([0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})([eE][+-]?[0-9]{1,4})?\s*"
_BOOLS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}

Report = Callable[[str, str, str], None]  # path, message, hint


class Converter:
    """Converts values; what is wrong goes to `report` and gives `BAD`.

    Parameters:
        report: takes path, message and hint.
        build: makes an object of an attrs class from (class, mapping, path), or BAD.
        paths: where a member of a merged object really stands, by the path it would have.
        problems: what `report` and `build` add to; taken back where one member of a union fits and another does not.
    """

    def __init__(
        self,
        report: Report,
        build: Callable[[type[Any], Mapping[str, Any], str], Any],
        paths: Mapping[str, str],
        problems: list[Problem],
    ) -> None:
        self.report, self.build, self.paths, self.problems = report, build, paths, problems

    def convert(self, value: Any, kind: Any, path: str, *, hidden: bool = False) -> Any:
        path = self.paths.get(path, path)
        made = self._try(value, kind, path, hidden)
        if made is _NO:
            if not (isinstance(value, Filled) and not value.complete):
                self.report(path, f"expected {name_of(kind)}, got {describe(value, hidden=hidden)}", "")
            return BAD
        return made

    def _try(self, value: Any, kind: Any, path: str, hidden: bool) -> Any:
        """The converted value, BAD where that was reported, _NO where the value is of the wrong kind."""
        origin, args = get_origin(kind), get_args(kind)
        if kind in (Any, object) or isinstance(kind, TypeVar):
            return plain(value)
        if origin is Annotated:
            return self._try(value, args[0], path, hidden)
        if origin in (Union, types.UnionType):
            return self._union(value, args, path, hidden)
        if origin is Literal:
            return self._literal(value, args)
        if (origin or kind) in LISTS:
            return self._list(value, origin or kind, args, path, hidden)
        if (origin or kind) in (dict, Mapping):
            return self._mapping(value, args, path, hidden)
        if kind in _SCALARS:
            return _SCALARS[kind](value)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            found = self._literal(value, [member.value for member in kind])
            return _NO if found is _NO else kind(found)
        if attrs.has(kind):
            return self.build(kind, value, path) if isinstance(value, Mapping) else _NO
        raise TypeError(f"a setting cannot have the type {kind!r}")

    def _union(self, value: Any, args: tuple[Any, ...], path: str, hidden: bool) -> Any:
        members = [a for a in args if a is not type(None)]
        if len(members) < len(args) and (value is None or (value is False and members == [ProviderRef])):
            return None
        if len(members) == 1:
            return self._try(value, members[0], path, hidden)
        mark = len(self.problems)
        reasons: list[Problem] = []
        for exact in (True, False):
            for member in members:
                if exact and (get_origin(member) or member) in _SCALARS and type(plain(value)) is not member:
                    continue
                made = self._try(value, member, path, hidden)
                if made is not _NO and made is not BAD:
                    return made
                reasons = reasons or self.problems[mark:]
                del self.problems[mark:]
        self.problems += reasons
        return BAD if reasons else _NO

    def _literal(self, value: Any, options: Sequence[Any]) -> Any:
        for option in options:
            if type(option) is type(plain(value)) and option == value:
                return option
        for option in options:
            if isinstance(value, str) and type(option) in _SCALARS and _SCALARS[type(option)](value) == option:
                return option
        return _NO

    def _list(self, value: Any, kind: Any, args: tuple[Any, ...], path: str, hidden: bool) -> Any:
        if not isinstance(value, list | tuple):
            return _NO
        if kind is tuple and args and Ellipsis not in args:
            if len(value) != len(args):
                self.report(path, f"expected {len(args)} items, got {len(value)}", "")
                return BAD
            kinds: Sequence[Any] = args
        else:
            kinds = [args[0] if args else Any] * len(value)
        made: list[Any] = []
        bad = 0
        for n, (item, k) in enumerate(zip(value, kinds, strict=True)):
            made.append(self.convert(item, k, child(path, n), hidden=hidden))
            bad += made[-1] is BAD
            if bad == WRONG:
                break
        return BAD if bad else LISTS[kind](made)

    def _mapping(self, value: Any, args: tuple[Any, ...], path: str, hidden: bool) -> Any:
        if not isinstance(value, Mapping):
            return _NO
        of_key, of_item = args or (str, Any)
        made: dict[Any, Any] = {}
        for key, item in value.items():
            at = child(path, str(key))
            made[self.convert(key, of_key, at)] = self.convert(item, of_item, at, hidden=hidden)
        return BAD if BAD in made or any(m is BAD for m in made.values()) else made

    def constrain(self, value: Any, setting: Setting, path: str, *, hidden: bool = False) -> bool:
        """Whether the converted value keeps `ge`, `le`, `choices` and `pattern`; lists are judged item by item."""
        if isinstance(value, list | tuple | set | frozenset):
            return all([self.constrain(v, setting, child(path, n), hidden=hidden) for n, v in enumerate(value)])  # noqa: C419
        bare: Any = value.reveal() if isinstance(value, Secret) else value
        hidden = hidden or isinstance(value, Secret)
        got = "***" if hidden else describe(bare).partition(" ")[2]
        unit = f" {setting.unit}" if setting.unit else ""
        number = isinstance(bare, int | float) and not isinstance(bare, bool)
        message = hint = ""
        if number and setting.ge is not None and not bare >= setting.ge:
            message = f"must be at least {setting.ge:g}{unit}, got {got}"
        elif number and setting.le is not None and not bare <= setting.le:
            message = f"must be at most {setting.le:g}{unit}, got {got}"
        elif setting.choices and bare is not None and bare not in setting.choices:
            message = f"must be one of {', '.join(map(repr, setting.choices))}, got {got}"
            likely = closest(bare, map(str, setting.choices)) if isinstance(bare, str) and not hidden else ""
            hint = f"did you mean {likely!r}?" if likely else ""
        elif setting.pattern and isinstance(bare, str) and not re.fullmatch(setting.pattern, bare):
            message = f"does not match the pattern {setting.pattern}: {got}"
        if message:
            self.report(self.paths.get(path, path), message, hint)
        return not message


_NO: Any = object()


def _int(value: Any) -> Any:
    if isinstance(value, str):
        return int(value) if re.fullmatch(_INT, value) else _NO
    if isinstance(value, float):
        return int(value) if value.is_integer() else _NO
    return value if isinstance(value, int) and not isinstance(value, bool) else _NO


def _float(value: Any) -> Any:
    if isinstance(value, str) and not re.fullmatch(_FLOAT, value):
        return _NO
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return _NO
    try:
        made = float(value)
    except OverflowError:
        return _NO
    return made if abs(made) != float("inf") else _NO


def _bool(value: Any) -> Any:
    return _BOOLS.get(value.strip().lower(), _NO) if isinstance(value, str) else value if isinstance(value, bool) else _NO


def _str(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else _NO


def _secret(value: Any) -> Any:
    return value if isinstance(value, Secret) else Secret(plain(value)) if isinstance(value, str) else _NO


def _path(value: Any) -> Any:
    return Path(value) if isinstance(value, str) else value if isinstance(value, Path) else _NO


def _reference(value: Any) -> Any:
    if isinstance(value, ProviderRef):
        return value
    provider = value.get("provider") if isinstance(value, Mapping) else None
    if not isinstance(provider, str) or not provider:
        return _NO
    config = value.get(provider, value.get("config"))
    return (
        ProviderRef(plain(provider), config)
        if isinstance(config, Mapping)
        else ProviderRef(plain(provider))
        if config is None
        else _NO
    )


def _none(value: Any) -> Any:
    return None if value is None else _NO


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    int: _int,
    float: _float,
    bool: _bool,
    str: _str,
    Secret: _secret,
    Path: _path,
    ProviderRef: _reference,
    type(None): _none,
    None: _none,
}
