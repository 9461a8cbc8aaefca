# SPDX-License-Identifier: MIT
"""`--set ID.KEY=VALUE` and `--env FILE`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from rocketride_core.errors import PluginError
from rocketride_core.pipefile import Component, PipeFile
from rocketride_core.registry import Registry
from rocketride_core.settings import Secret
from rocketride_core.variables import read_dotenv

from .arguments import Usage

__all__ = ["apply", "environment"]


def environment(file: str | None) -> dict[str, str] | None:
    """The variables of an `--env` file.

    Raises:
        Usage: it cannot be read.
    """
    if file is None:
        return None
    try:
        return read_dotenv(Path(file))
    except OSError as error:
        raise Usage(f"--env {file}: {error.strerror or error}") from error


def apply(pipe: PipeFile, settings: Iterable[str], registry: Registry | None = None) -> PipeFile:
    """The file with these settings written into the configs of its components.

    A key goes where it counts most: into the block of the profile that `profile` names, else to the top of the config. Dots go
    into nested objects, unless the config has the dotted key itself. A value is JSON, or else a text; `123` stays a text where
    the node's setting is one.

    Parameters:
        registry: where nodes are found, for the types of their settings.
    Raises:
        Usage: a setting is not of the form ID.KEY=VALUE, or no component has this id.
    """
    components = list(pipe.components)
    known = registry or Registry()
    for setting in settings:
        left, sign, text = setting.partition("=")
        # Ids may hold dots themselves: the longest that fits.
        fitting = [n for n, c in enumerate(components) if left.startswith(f"{c.id}.")]
        place = max(fitting, key=lambda n: len(components[n].id), default=-1)
        if not sign or "." not in left or left.endswith("."):
            raise Usage(f"--set {setting}: write it as ID.KEY=VALUE, as in --set parse_1.tables=false")
        if place < 0:
            raise Usage(f"--set {setting}: no component has the id {left.partition('.')[0]}; the file has {_ids(components)}")
        component = components[place]
        key = left[len(component.id) + 1 :]
        value = _value(text)
        if not isinstance(value, str) and _takes_text(component.provider, key, known):
            value = text
        config = _with(component.config, key, value)
        components[place] = attrs.evolve(component, config=config)
    return attrs.evolve(pipe, components=components)


def _ids(components: Iterable[Component]) -> str:
    return ", ".join(c.id for c in components) or "no components"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _takes_text(provider: str, key: str, registry: Registry) -> bool:
    """Whether the node's setting is a text and nothing else: an API key of digits is no number."""
    from typing import get_args

    from rocketride_core.structure import fields_of

    try:
        cls = registry.find(provider).config_class
    except (LookupError, PluginError):
        return False
    for field in fields_of(cls) if cls is not None and attrs.has(cls) else ():
        if key in field.keys:
            kinds = set(get_args(field.kind) or (field.kind,)) - {type(None)}
            return kinds <= {str, Secret, Path}
    return False


def _with(config: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    profile = config.get("profile")
    # The name of a profile that a variable holds is not known yet; beside the blocks, a value beats the preset.
    if isinstance(profile, str) and profile and "${" not in profile and key != "profile":
        block = config.get(profile)
        return {**config, profile: _nested(block if isinstance(block, Mapping) else {}, key, value)}
    return _nested(config, key, value)


def _nested(config: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    head, dot, rest = key.partition(".")
    if not dot or key in config:
        return {**config, key: value}
    inner = config.get(head)
    return {**config, head: _nested(inner if isinstance(inner, Mapping) else {}, rest, value)}
