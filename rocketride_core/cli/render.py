# SPDX-License-Identifier: MIT
"""Results and failures as people read them."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rocketride_core.blob import Blob
from rocketride_core.entry import Entry
from rocketride_core.errors import RocketRideError, RunError
from rocketride_core.payloads import Answer, Document, Question
from rocketride_core.results import EntryResult

__all__ = ["failure", "label", "position", "response"]

PASSAGE = 480  # characters of a document that are shown; --json has all of it
WIDTH = 100


def label(entry: Entry) -> str:
    return entry.path or entry.name or entry.object_id


def failure(error: BaseException) -> str:
    """One line: what happened, and in which component and phase where the message does not say."""
    text = str(error) or type(error).__name__
    if not isinstance(error, RunError):
        return text if isinstance(error, (RocketRideError, OSError)) else f"{type(error).__name__}: {text}"
    if error.component and error.component not in text:
        text = f"{error.component}: {text}"
    known = ", ".join(filter(None, (error.phase, error.lane and f"lane {error.lane}", error.code)))
    return f"{text} [{known}]" if known else text


def response(result: EntryResult) -> list[str]:
    """The lines of everything that was responded, lane by lane; none where the pipeline has no response."""
    out: list[str] = []
    lanes = result.lanes
    for lane in lanes:
        payloads = list(result[lane])
        items = [item for payload in payloads for item in payload] if lane.many else payloads
        if len(lanes) > 1:
            out.append(f"{lane.name}:")
        if lane.many and lane.item is Document:
            out += _documents(items)
        else:
            out += [line for item in items for line in _text(item).splitlines() or [""]]
    return out


def _text(item: Any) -> str:
    if isinstance(item, Answer):
        return item.text
    if isinstance(item, Question):
        return "\n".join(item.texts)
    if isinstance(item, Blob):
        return f"{item.name or 'unnamed'} ({item.mime_type or 'unknown type'}, {item.size} bytes)"
    return item if isinstance(item, str) else repr(item)


def _documents(documents: Sequence[Document]) -> Iterator[str]:
    if not documents:
        yield "no documents"
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH)
    for number, document in enumerate(documents, 1):
        score = "" if document.score is None else f"  score {document.score:.3f}"
        yield f"{number:>2}. {position(document)}{score}"
        text = " ".join(document.text.split())
        if len(text) > PASSAGE:
            text = f"{text[: PASSAGE - 1].rstrip()}…"
        yield from textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ", break_long_words=True)


def position(document: Document) -> str:
    """Where a document comes from: its file, and the page, slide, sheet, table, chunk and letters that are known."""
    known = document.metadata
    where = [str(known.get("parent") or known.get("path") or known.get("name") or known.get("objectId") or "unknown origin")]
    where += [f"{word} {known[word]}" for word in ("page", "slide", "sheet") if known.get(word) is not None]
    if known.get("isTable"):
        where.append(f"table {known['tableId']}" if known.get("tableId") else "table")
    if known.get("chunkId") is not None:
        where.append(f"chunk {known['chunkId']}")
    if known.get("start") is not None and known.get("end") is not None:
        where.append(f"characters {known['start']}–{known['end']}")
    return ", ".join(where)
