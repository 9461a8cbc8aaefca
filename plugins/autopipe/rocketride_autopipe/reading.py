# SPDX-License-Identifier: MIT
"""What is written in the settings: sections, each with its provider, and switches; and what in them nobody would read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import attrs

from .configs import ConfigError, merged

__all__ = ["DEFAULTS", "INDEXER", "SECTIONS", "Switches", "Warn", "given", "sections_of", "writes"]

Warn = Callable[[str, str, str], None]
"""Told of what looks misspelt: where it is written, the key, the likely one."""

SECTIONS = ("preprocessor", "embedding", "store")
INDEXER = "indexer"
DEFAULTS: Mapping[str, Any] = {
    "remote": {"provider": "remote", "remote": {"profile": "local"}},
    "indexer": {"provider": "indexer", "indexer": {}},
    "preprocessor": {"provider": "preprocessor_langchain", "preprocessor_langchain": {"profile": "default"}},
    "embedding": {"provider": "embedding_transformer", "embedding_transformer": {"profile": "miniLM"}},
    "store": {
        "provider": "qdrant",
        "qdrant": {"profile": "local", "local": {"collection": "ROCKETRIDE", "host": "localhost", "port": 6333}},
    },
}


@attrs.frozen
class Switches:
    """What the entries of `include` switch on: one that says so is enough."""

    ocr: bool = False
    index: bool = False

    @staticmethod
    def of(include: object, warn: Warn) -> Switches:
        """
        Raises:
            ConfigError: `include` is not a list of objects, or a switch in it is neither true nor false.
        """
        if include is None:
            return Switches()
        if not isinstance(include, Sequence) or isinstance(include, str) or not all(isinstance(one, Mapping) for one in include):
            raise ConfigError(f"include is a list of objects, as in [{{'ocr': true}}], not {include!r:.80}")
        names = [field.name for field in attrs.fields(Switches)]
        for place, one in enumerate(include):
            for key, value in one.items():
                where = f"include[{place}]"
                if key in names and not (value is None or isinstance(value, bool)):
                    raise ConfigError(f"{where}.{key} is true or false, not {value!r:.80}")
                if key not in names and isinstance(value, bool):
                    for likely in get_close_matches(str(key).lower(), names, n=1, cutoff=0.6):
                        warn(where, str(key), likely)
        return Switches(**{name: any(one.get(name) is True for one in include) for name in names})


def given(sections: Mapping[str, Any], section: str) -> bool:
    """Whether a resolved section inserts something."""
    value = sections.get(section)
    return value is not None and value is not False


def sections_of(resolved: Mapping[str, Any], written: Mapping[str, Any], warn: Warn) -> dict[str, Any]:
    """The sections as `get_multi_provider_config` reads them: what is written under `config` is merged over the default too.

    Parameters:
        resolved: the settings over the defaults.
        written: the settings alone.

    Raises:
        ConfigError: a section has the config of a provider which it does not name.
    """
    return {section: _section(section, resolved.get(section), written, warn) for section in (INDEXER, *SECTIONS)}


def _section(section: str, value: Any, written: Mapping[str, Any], warn: Warn) -> Any:
    if not isinstance(value, Mapping):
        return value
    provider, default = value.get("provider"), DEFAULTS[section]
    own = value.get(provider) if isinstance(provider, str) else None
    extra = value.get("config")
    if isinstance(own, Mapping) and isinstance(extra, Mapping) and own == default.get(provider):
        value = {**value, provider: merged(own, extra)}
    names_one = any(isinstance(one, Mapping) and one.get("provider") for one in _written(written, section))
    read = ["provider", "config", *([provider] if isinstance(provider, str) else [])]
    for key in [key for key in value if key not in read]:
        likely = get_close_matches(key, read, n=1, cutoff=0.75)
        if not names_one and provider == default["provider"] and isinstance(value[key], Mapping):
            hint = f"did you mean {likely[0]!r}?" if likely else f'write "provider": "{key}" beside it'
            raise ConfigError(f"{section} names no provider, so it has {provider!r}, which does not read {key!r}; {hint}")
        for name in likely:
            warn(section, key, name)
    return value


def _written(config: Mapping[str, Any], key: str) -> Iterator[Any]:
    for one in (config, *config.values()):
        if isinstance(one, Mapping) and one.get(key) is not None:
            yield one[key]


def writes(config: Mapping[str, Any], key: str) -> bool:
    """Whether a setting is written, in the config or in the block of a profile."""
    return any(True for _ in _written(config, key))
