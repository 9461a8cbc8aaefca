# SPDX-License-Identifier: MIT
"""`${ROCKETRIDE_X}` inside the texts of a config. Nothing is read at import."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import attrs

from .reading import child
from .settings import Secret, looks_secret

__all__ = ["Filled", "Unset", "Variables", "foreign", "read_dotenv"]

_OPEN = r"\$\{(ROCKETRIDE_\w+)(:-|\})"
_LINE = r"""(?sm)^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*("(?>[^"\\]|\\.)*"|'[^']*'|[^\n]*)"""
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_SHORT = r"(?i)(^|_)(KEY|TOKEN|AUTH|PASS|PIN)(_|$)"
SHORTEST = 4  # characters of a value that is hidden inside words too, whatever its name
_NESTING = 8  # of defaults inside defaults


class Filled(str):
    """A text that a variable took part in: messages never print it, its repr is `'***'`.

    `complete` is False where a variable was unset and its placeholder stands.
    """

    __slots__ = ("complete",)
    complete: bool

    def __new__(cls, text: str, complete: bool = True) -> Self:
        made = super().__new__(cls, text)
        made.complete = complete
        return made

    def __reduce__(self) -> tuple[type[Filled], tuple[str, bool]]:
        return Filled, ("".join(self), self.complete)

    def __repr__(self) -> str:
        return "'***'"


@attrs.frozen
class Unset:
    """A variable without a value: the JSON path of the text it stands in, and its name."""

    path: str
    name: str


PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
PLAIN = (bool, int, float, type(None))  # in them no variable stands; a file may have a great many


def foreign(value: Any, path: str) -> Iterator[Unset]:
    """Variables of other names, which nobody replaces. A text with blanks is prose or code, where `${X}` may mean anything."""
    if isinstance(value, str):
        if "${" in value and not isinstance(value, Filled) and not re.search(r"\s", value):
            for name in dict.fromkeys(re.findall(r"\$\{([A-Z][A-Z0-9_]*)\}", value)):
                yield Unset(path, name)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from foreign(item, child(path, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        for n, item in enumerate(value):
            if type(item) not in PLAIN:
                yield from foreign(item, child(path, n))


class Variables:
    """Looks names up: the caller's `env` wins over the `.env` file, that over the process environment.

    It remembers every value it gave out, so that `redact` can hide them.

    Parameters:
        env: the caller's.
        dotenv: a file of `NAME=value` lines; one that does not exist counts as empty.
        process: the process environment; by default `os.environ`, looked at when a name is.
    """

    def __init__(
        self, env: Mapping[str, str] | None = None, dotenv: Path | None = None, *, process: Mapping[str, str] | None = None
    ) -> None:
        self._env = dict(env or {})
        self._path = dotenv
        self._process = process
        self._dotenv: dict[str, str] | None = None
        self._hidden: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def get(self, name: str) -> str | None:
        """Its value, without remembering it; None where nobody gives one."""
        if name in self._env:
            return self._env[name]
        if self._dotenv is None:
            self._dotenv = read_dotenv(self._path) if self._path is not None and self._path.is_file() else {}
        if name in self._dotenv:
            return self._dotenv[name]
        return (os.environ if self._process is None else self._process).get(name)

    def substitute(self, value: Any, path: str = "$") -> tuple[Any, list[Unset]]:
        """A copy with the variables of all its texts (not keys) filled in, and those that have no value.

        `${ROCKETRIDE_X:-text}` is `text` where X is unset or empty; any other `${…}` stays. Texts with a variable come
        back as `Filled`; an unset one keeps its placeholder.
        """
        unset: list[Unset] = []
        return self._fill(value, path, unset), unset

    def _fill(self, value: Any, path: str, unset: list[Unset]) -> Any:
        if isinstance(value, str):
            return self._text(value, path, unset) if "${ROCKETRIDE_" in value else value
        if isinstance(value, Mapping):
            return {key: self._fill(item, child(path, str(key)), unset) for key, item in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
            return [item if type(item) in PLAIN else self._fill(item, child(path, n), unset) for n, item in enumerate(value)]
        return value

    def _text(self, text: str, path: str, unset: list[Unset]) -> str:
        missing: list[str] = []
        given: list[str] = []
        filled = self._expand(text, missing, given, 0)
        unset.extend(Unset(path, name) for name in dict.fromkeys(missing))
        return Filled(filled, not missing) if given or missing else filled

    def _expand(self, text: str, missing: list[str], given: list[str], depth: int) -> str:
        out: list[str] = []
        at = 0
        ends = _braces(text)
        for found in re.finditer(_OPEN, text):
            end = ends.get(found.start() + 1)
            if found.start() < at or end is None:
                continue
            name, default = found[1], text[found.end() : end] if found[2] == ":-" else None
            value = self.get(name)
            if default is not None and not value:
                filled = self._expand(default, missing, given, depth + 1) if depth < _NESTING else default
            elif value is None:
                missing.append(name)
                filled = text[found.start() : end + 1]
            else:
                given.append(name)
                if len(value) >= SHORTEST or looks_secret(name) or re.search(_SHORT, name):
                    self.hide(value)
                filled = value
            out += (text[at : found.start()], filled)
            at = end + 1
        return "".join([*out, text[at:]])

    def hide(self, value: str) -> None:
        """Remember one more value that nobody may see, a `Secret` of the file for one."""
        if value and value not in self._hidden:
            self._hidden |= {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
            self._pattern = None

    def hide_secrets(self, config: Any) -> None:
        """A secret that stands in the file itself is as secret as one from a variable."""
        if isinstance(config, Secret):
            if not PLACEHOLDER.fullmatch(config.reveal()):  # the name of a variable is no secret
                self.hide(config.reveal())
        elif attrs.has(type(config)):
            for field in attrs.fields(type(config)):
                self.hide_secrets(getattr(config, field.name))
        elif isinstance(config, Mapping):
            for value in config.values():
                self.hide_secrets(value)
        elif isinstance(config, list | tuple):
            for value in config:
                self.hide_secrets(value)

    @property
    def hidden(self) -> frozenset[str]:
        """All values that must not be shown."""
        return frozenset(self._hidden)

    def redact(self, text: str) -> str:
        """The text with `***` for every hidden value in it."""
        if not self._hidden:
            return text
        if self._pattern is None:
            self._pattern = re.compile("|".join(_told(v) for v in sorted(self._hidden, key=len, reverse=True)))
        return self._pattern.sub("***", text)


def _braces(text: str) -> dict[int, int]:
    """Position of every `{` and of the `}` that closes it."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for found in re.finditer(r"[{}]", text):
        if found.group() == "{":
            opened.append(found.start())
        elif opened:
            ends[opened.pop()] = found.start()
    return ends


def _told(value: str) -> str:
    """Where a value stands in a text. A letter or two are it only as a word: else an API key `x` would garble every message."""
    return re.escape(value) if len(value) >= SHORTEST else rf"(?<!\w){re.escape(value)}(?!\w)"


def read_dotenv(path: Path) -> dict[str, str]:
    """The `NAME=value` lines of a file: `export`, comments, single quotes (verbatim) and double quotes (escapes) are known.

    Raises:
        OSError: it cannot be read.
    """
    out: dict[str, str] = {}
    for found in re.finditer(_LINE, path.read_text("utf-8-sig", "replace")):
        name, value = found.groups()
        if value[:1] == '"' and len(value) > 1 and value.endswith('"'):
            value = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), value[1:-1], flags=re.DOTALL)
        elif value[:1] == "'" and len(value) > 1 and value.endswith("'"):
            value = value[1:-1]
        else:
            value = re.split(r"(?:^|\s)#", value, maxsplit=1)[0].strip()
        out[name] = value
    return out
