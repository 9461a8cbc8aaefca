# SPDX-License-Identifier: MIT
"""The three ways in which configs of this kind are read: of a node, of one of several providers, of a section of several.

They are for programs that have such configs in hand; a file's components are resolved by the kernel, to the same values.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from rocketride_core import Json, NodeSpec
from rocketride_core.errors import RocketRideError

__all__ = ["ConfigError", "MisnamedKey", "get_multi_provider_config", "get_node_config", "get_provider_config", "merged"]

Config = Mapping[str, Any]


class ConfigError(RocketRideError, ValueError):
    """A config that cannot be read; the message says what is missing."""


class MisnamedKey(UserWarning):
    """A key that nobody reads, and that looks like one that somebody does."""


def get_node_config(spec: NodeSpec, config: Config, *, known: Collection[str] = ()) -> dict[str, Json]:
    """The values that a node of this spec gets: what is written, over the values of its profile.

    `profile` chooses the profile, the spec's first one without it, and is not in the result. The block named after the profile
    counts as if its keys stood beside it. With `profile`, the block is the stronger of the two; without, the keys beside it are.
    Objects are merged, everything else is replaced; None replaces nothing, `False`, `0` and `""` do.

    Parameters:
        known: keys that the node reads; those of its profile are known anyway. Where any are known, an unknown key that looks like
            one of them is a `MisnamedKey` warning.

    Raises:
        ConfigError: the profile does not exist, or the config or the profile's block is no object.
    """
    _object(config, f"the config of {spec.provider}")
    profiles = {profile.id: profile.values for profile in spec.profiles}
    named = config.get("profile")
    chosen = named if named is not None else next(iter(profiles), "default")
    if not isinstance(chosen, str) or (named is not None and profiles and chosen not in profiles):
        raise ConfigError(f"Profile {chosen!r} is not defined in {spec.provider}; it has: {', '.join(profiles) or 'none'}")
    block = config.get(chosen)
    if block is None:
        block = {}
    elif not isinstance(block, Mapping):
        raise ConfigError(f"config missing profile object '{chosen}' of {spec.provider}: a profile's settings stand in an object")
    beside = {key: value for key, value in config.items() if key != "profile" and key not in profiles and key != chosen}
    preset = profiles.get(chosen, {})
    _suspect({*known, *preset}, {*beside, *block}, spec.provider)
    weaker, stronger = (beside, block) if named is not None else (block, beside)
    return merged(merged(preset, weaker), stronger)


def get_provider_config(provider_config: Config) -> tuple[str, dict[str, Json]]:
    """The provider, and its config, of `{"provider": P, P: {…}}` or `{"provider": P, "config": {…}}`.

    Raises:
        ConfigError: there is no provider, or no config for it.
    """
    _object(provider_config, "a provider's config")
    provider = provider_config.get("provider")
    if not isinstance(provider, str) or not provider:
        raise ConfigError("Provider config does not have a provider specified")
    for key in (provider, "config"):
        found = provider_config.get(key)
        if isinstance(found, Mapping):
            return provider, dict(found)
    raise ConfigError(f"Config not specified for provider {provider}")


def get_multi_provider_config(section: str, multi_config: Config) -> tuple[str, dict[str, Json]]:
    """The provider, and its config, of one section of a config of several, as `get_provider_config` reads it.

    Raises:
        ConfigError: there is no such section, or what `get_provider_config` says of it.
    """
    _object(multi_config, "a config of several providers")
    found = multi_config.get(section)
    if found is None:
        raise ConfigError(f"Multiconfig does not have the {section} section")
    return get_provider_config(found)


def _object(value: object, what: str) -> None:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} is an object, not {value!r:.80}")


def merged(below: Config, above: Config) -> dict[str, Any]:
    """Objects are merged, everything else is replaced; None replaces nothing."""
    out = dict(below)
    for key, value in above.items():
        if value is None:
            continue
        old = out.get(key)
        if isinstance(value, Mapping):
            out[key] = merged(old if isinstance(old, Mapping) else {}, value)
        else:
            out[key] = value
    return out


def _suspect(known: Collection[str], written: Collection[str], provider: str) -> None:
    for key in sorted(set(written) - set(known)):
        for likely in get_close_matches(key, sorted(known), n=1, cutoff=0.75):
            warnings.warn(f"{provider} does not read {key!r}; did you mean {likely!r}?", MisnamedKey, stacklevel=4)
