# SPDX-License-Identifier: MIT
"""The pipeline of a task, for programs: where the config stands depends on the mode."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import attrs

from rocketride_core import Component, LaneLink, PipeFile

from .configs import ConfigError, MisnamedKey, get_node_config
from .node import NO_CHUNKS, NO_EFFECT, Autopipe
from .reading import Switches, sections_of, writes
from .stacks import missing_chunks, stack

__all__ = ["assemble"]

_SWITCHES = {"INSTANCE": 'task_config["service"]["include"]', "TRANSFORM": 'task_config["source"]["include"]'}


def assemble(
    task_config: Mapping[str, Any],
    mode: str = "INSTANCE",
    *,
    service_config: Mapping[str, Any] | None = None,
    source: Component | None = None,
) -> PipeFile:
    """The pipeline that autopipe makes of a task.

    ============  =========================================  ==============================  ===================================
    mode          settings                                   switches                        components, as far as configured
    ============  =========================================  ==============================  ===================================
    INSTANCE      `task_config["autopipe"]`                  `task_config["service"]`        parse, ocr, indexer, preprocessor,
                                                             `["include"]`                   embedding, store
    TRANSFORM     `service_config["parameters"]`             `task_config["source"]`         parse, ocr, preprocessor,
                  `["autopipe"]`                             `["include"]`                   embedding, store
    INDEX         `task_config["autopipe"]`                  none                            store, indexer; nothing is wired
    CONFIG        none                                       none                            none
    SOURCE_INDEX  none                                       none                            none
    ============  =========================================  ==============================  ===================================

    A section that is not written has its default; `False` leaves it out. The file of mode INDEX is marked with
    `"autopipe": {"mode": "INDEX"}`, because it is no pipeline that can run: its nodes have no wires.

    Parameters:
        service_config: of mode TRANSFORM; by default `task_config["service"]`.
        source: feeds `parse_1` with tags, as in `Component("dropper_1", "dropper")`; without it the chain has no source yet.

    Raises:
        ConfigError: the mode does not exist, a section names no provider, what should be an object is none, or the source's id is
            one of the chain's.
    """
    task = _inside("the task's config", task_config)
    switches = Switches()
    settings: Mapping[str, Any] = {}
    if mode in ("INSTANCE", "INDEX"):
        settings = _inside("autopipe", task.get("autopipe"))
    if mode == "INSTANCE":
        switches = Switches.of(_inside("service", task.get("service")).get("include"), _misspelt)
    if mode == "TRANSFORM":
        service = _inside("service", task.get("service") if service_config is None else service_config)
        settings = _inside("autopipe", _inside("parameters", service.get("parameters")).get("autopipe"))
        switches = Switches.of(_inside("source", task.get("source")).get("include"), _misspelt)
    if writes(settings, "remote"):
        warnings.warn(NO_EFFECT, stacklevel=2)
    for key, place in (("mode", "the argument"), ("include", _SWITCHES.get(mode, ""))):
        if place and writes(settings, key):
            message = f"`{key}` beside the sections is for files: assemble does not read it there, but from {place}"
            warnings.warn(message, MisnamedKey, stacklevel=2)
    resolved = get_node_config(Autopipe.spec, settings, known=("mode", "include"))
    sections = sections_of(resolved, settings, _misspelt)
    if mode in ("INSTANCE", "TRANSFORM") and (waiting := missing_chunks(sections)):
        raise ConfigError(NO_CHUNKS.format(waiting))
    feed = [LaneLink("tags", source.id)] if source is not None else []
    made = stack(mode, sections, switches, feed)
    if source is not None and source.id in {one.id for one in made}:
        raise ConfigError(f"the source has the id {source.id}, which is one of the chain's own; give it another")
    components = [source, *made] if source is not None else made
    raw: Mapping[str, Any] = {"components": [], "version": 1, "autopipe": {"mode": "INDEX"}} if mode == "INDEX" else {}
    return attrs.evolve(PipeFile(components, source.id if source is not None else ""), raw=raw)


def _misspelt(where: str, key: str, likely: str) -> None:
    warnings.warn(f"{where} does not read {key!r}; did you mean {likely!r}?", MisnamedKey, stacklevel=4)


def _inside(what: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} is an object, not {value!r:.80}")
    return value
