# SPDX-License-Identifier: MIT
"""Which components a mode inserts, under which ids, and how they are wired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from rocketride_core import Component, LaneLink

from .configs import ConfigError, get_multi_provider_config

__all__ = ["DEFAULTS", "INDEXER", "MODES", "SECTIONS", "Switches", "missing_chunks", "stack"]

MODES = ("INSTANCE", "TRANSFORM", "INDEX", "CONFIG", "SOURCE_INDEX")
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
    def of(include: object) -> Switches:
        """
        Raises:
            ConfigError: `include` is not a list of objects.
        """
        if include is None:
            return Switches()
        if not isinstance(include, Sequence) or isinstance(include, str) or not all(isinstance(one, Mapping) for one in include):
            raise ConfigError(f"include is a list of objects, as in [{{'ocr': true}}], not {include!r:.80}")
        return Switches(*(any(one.get(key) is True for one in include) for key in ("ocr", "index")))


def stack(
    mode: str, sections: Mapping[str, Any], switches: Switches = Switches(), feed: Sequence[LaneLink] = ()
) -> list[Component]:
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
    given = [section for section in SECTIONS if _given(sections, section)]
    return given[0] if given and given[0] != "preprocessor" else ""


def _section(id: str, section: str, sections: Mapping[str, Any], links: Sequence[LaneLink] = ()) -> Iterator[Component]:
    if _given(sections, section):
        provider, config = get_multi_provider_config(section, sections)
        yield Component(id, provider, config, input=links)


def _given(sections: Mapping[str, Any], section: str) -> bool:
    value = sections.get(section)
    return value is not None and value is not False
