# SPDX-License-Identifier: MIT
"""Perplexity says where it has read what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from rocketride_llm import Reply
from rocketride_llm_openai_api import ChatCompletions
from rocketride_llm_openai_api.reading import Gathering, get

__all__ = ["Sonar", "Sourced"]

FIELDS = ("title", "url", "date")


@attrs.frozen(kw_only=True)
class Sourced(Reply):
    """A reply with its sources, in the order of the numbers `[1]`, `[2]`, … in its text."""

    sources: Sequence[Mapping[str, str]] = ()


class Reading(Gathering):
    def __init__(self) -> None:
        super().__init__()
        self._sources: list[Mapping[str, str]] = []

    def beside(self, completion: Any) -> None:
        super().beside(completion)
        self._sources = _found(get(completion, "search_results")) or _found(get(completion, "citations")) or self._sources

    def reply(self) -> Reply:
        reply = super().reply()
        return Sourced(text=reply.text, calls=reply.calls, finish=reply.finish, usage=reply.usage, sources=self._sources)


class Sonar(ChatCompletions):
    gathering = Reading


def _found(listed: Any) -> list[Mapping[str, str]]:
    """Search results, or the older plain list of URLs."""
    found = [{"url": one} if isinstance(one, str) else one for one in listed] if isinstance(listed, list) else []
    return [{name: str(get(one, name)) for name in FIELDS if get(one, name)} for one in found if isinstance(get(one, "url"), str)]
