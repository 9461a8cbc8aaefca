# SPDX-License-Identifier: MIT
"""The pipeline of a task, for programs: where the config stands depends on the mode."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import attrs

from rocketride_core import Component, LaneLink, PipeFile

from .configs import ConfigError, get_node_config
from .node import NO_CHUNKS, NO_EFFECT, Autopipe
from .stacks import INDEXER, SECTIONS, Switches, missing_chunks, stack

__all__ = ["assemble"]


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
        ConfigError: the mode does not exist, a section names no provider, or what should be an object is none.
    """
    task = _inside("the task's config", task_config)
    switches = Switches()
    settings: Mapping[str, Any] = {}
    if mode in ("INSTANCE", "INDEX"):
        settings = _inside("autopipe", task.get("autopipe"))
    if mode == "INSTANCE":
        switches = Switches.of(_inside("service", task.get("service")).get("include"))
    if mode == "TRANSFORM":
        service = _inside("service", task.get("service") if service_config is None else service_config)
        settings = _inside("autopipe", _inside("parameters", service.get("parameters")).get("autopipe"))
        switches = Switches.of(_inside("source", task.get("source")).get("include"))
    if settings.get("remote") is not None:
        warnings.warn(NO_EFFECT, stacklevel=2)
    resolved = get_node_config(Autopipe.spec, settings, known=("mode", "include"))
    if mode in ("INSTANCE", "TRANSFORM") and (waiting := missing_chunks(resolved)):
        raise ConfigError(NO_CHUNKS.format(waiting))
    feed = [LaneLink("tags", source.id)] if source is not None else []
    made = stack(mode, {section: resolved.get(section) for section in (INDEXER, *SECTIONS)}, switches, feed)
    components = [source, *made] if source is not None else made
    raw: Mapping[str, Any] = {"components": [], "version": 1, "autopipe": {"mode": "INDEX"}} if mode == "INDEX" else {}
    return attrs.evolve(PipeFile(components, source.id if source is not None else ""), raw=raw)


def _inside(what: str, value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{what} is an object, not {value!r:.80}")
    return value
