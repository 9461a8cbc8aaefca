# SPDX-License-Identifier: MIT
"""Which components a mode inserts, under which ids, and how they are wired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rocketride_core import Component, LaneLink

from .configs import ConfigError, get_multi_provider_config
from .reading import INDEXER, SECTIONS, Switches, given

__all__ = ["MODES", "missing_chunks", "stack"]

MODES = ("INSTANCE", "TRANSFORM", "INDEX", "CONFIG", "SOURCE_INDEX")


def stack(mode: str, sections: Mapping[str, Any], switches: Switches, feed: Sequence[LaneLink] = ()) -> list[Component]:
    """The components of a mode.

    Parameters:
        sections: the resolved sections; one that is missing, None or False inserts nothing.
        feed: the links that bring tags to `parse_1`.

    Raises:
        ConfigError: the mode does not exist, or a section is not one that `get_multi_provider_config` reads.
    """
    if mode not in MODES:
        raise ConfigError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
    if mode in ("CONFIG", "SOURCE_INDEX"):
        return []
    if mode == "INDEX":
        return [*_section("vector_1", "store", sections), *_section("indexer_1", INDEXER, sections)]
    made = [Component("parse_1", "parse", input=feed)]
    texts = [LaneLink("text", "parse_1")]
    tables = [LaneLink("table", "parse_1")]
    if switches.ocr:
        made.append(Component("ocr_1", "ocr", input=[LaneLink("image", "parse_1")]))
        texts.append(LaneLink("text", "ocr_1"))
        tables.append(LaneLink("table", "ocr_1"))
    before = [link for pair in zip(texts, tables, strict=True) for link in pair]
    if switches.index and mode == "INSTANCE":
        made += _section("indexer_1", INDEXER, sections, before)
    for id, section in (("preprocessor_1", "preprocessor"), ("embedding_1", "embedding"), ("vector_1", "store")):
        for component in _section(id, section, sections, before):
            made.append(component)
            before = [LaneLink("documents", id)]
    return made


def missing_chunks(sections: Mapping[str, Any]) -> str:
    """The section that waits for chunks which nobody makes; "" where there is none."""
    waiting = [section for section in SECTIONS if given(sections, section)]
    return waiting[0] if waiting and waiting[0] != "preprocessor" else ""


def _section(id: str, section: str, sections: Mapping[str, Any], links: Sequence[LaneLink] = ()) -> Iterator[Component]:
    if given(sections, section):
        provider, config = get_multi_provider_config(section, sections)
        yield Component(id, provider, config, input=links)
