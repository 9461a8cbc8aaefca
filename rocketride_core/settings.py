# SPDX-License-Identifier: MIT
"""What a config class says of its fields: `setting`, `Secret`, `ProviderRef`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeVar, overload

import attrs

from .payloads import Arguments, Json

T = TypeVar("T")

__all__ = ["ProviderRef", "Secret", "Setting", "looks_secret", "setting", "setting_of"]

_KEY = "rocketride_core.setting"
_SECRET = ("apikey", "secret", "passw", "passphrase", "pwd", "credential", "privatekey", "bearer", "authkey")


class Secret:
    """A value that is never shown: repr, str and every message, log and trace have `***`; only `reveal()` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        from hmac import compare_digest

        if not isinstance(other, Secret):
            return NotImplemented
        return compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._value))


@attrs.frozen
class ProviderRef:
    """A choice of another node with its config, in a file `{"provider": p, p: {...}}`.

    Parameters:
        provider: the provider id.
        config: its config as written, profiles unresolved.
    """

    provider: str
    config: Arguments = attrs.field(factory=dict, repr=False)


@attrs.frozen
class Setting:
    """The metadata of one setting; see `setting`."""

    key: str = ""
    aliases: Sequence[str] = ()
    title: str = ""
    doc: str = ""
    unit: str = ""
    ge: float | None = None
    le: float | None = None
    choices: Sequence[Json] = ()
    pattern: str = ""
    widget: str = ""
    show_if: Arguments | None = None


@overload
def setting(
    default: T,
    /,
    *,
    key: str = "",
    aliases: Sequence[str] = (),
    title: str = "",
    doc: str = "",
    unit: str = "",
    ge: float | None = None,
    le: float | None = None,
    choices: Sequence[Json] = (),
    pattern: str = "",
    widget: str = "",
    show_if: Arguments | None = None,
) -> T: ...
@overload
def setting(
    *,
    key: str = "",
    aliases: Sequence[str] = (),
    title: str = "",
    doc: str = "",
    unit: str = "",
    ge: float | None = None,
    le: float | None = None,
    choices: Sequence[Json] = (),
    pattern: str = "",
    widget: str = "",
    show_if: Arguments | None = None,
) -> Any: ...
def setting(default: Any = attrs.NOTHING, /, **details: Any) -> Any:
    """A field of a config class; without a default it is required.

    Parameters:
        default: a list or dict is copied for each object.
        key: its name in a `.pipe` (default: the field's name).
        aliases: further names it is read from.
        title, doc: for forms and documentation.
        unit: "s", "MiB", "characters", … shown in forms and messages.
        ge, le: least and greatest number allowed.
        choices: the values allowed.
        pattern: a regular expression that the whole text must match.
        widget: how a form shows it, "textarea" for one.
        show_if: `{key: value}` of other settings for which a form shows it.
    """
    metadata = {_KEY: Setting(**details)}
    if isinstance(default, list | dict | set):
        return attrs.field(factory=lambda: copy.copy(default), metadata=metadata)
    return attrs.field(default=default, metadata=metadata)


def setting_of(attribute: attrs.Attribute[Any]) -> Setting:
    """The metadata of an attrs field, with `key` filled in; a field made without `setting` has only that."""
    found = attribute.metadata.get(_KEY) or Setting()
    return found if found.key else attrs.evolve(found, key=attribute.name)


def looks_secret(name: str) -> bool:
    """Whether a setting or variable of that name most likely holds a secret."""
    bare = name.lower().replace("_", "").replace("-", "")
    token = "token" in bare and not any(word in bare for word in ("tokens", "tokenlimit", "tokencount"))
    return token or any(word in bare for word in _SECRET)
