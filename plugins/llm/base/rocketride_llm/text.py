# SPDX-License-Identifier: MIT
"""What is done to the text of a model: thinking taken out, cut at stop words, read as JSON. Whole, or piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .stops import Stops

__all__ = ["Spoken", "cleaned", "joined", "joined_in", "read_json", "spoken"]

# Never part of a text that somebody wrote; some servers refuse them.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
HALF = re.compile(r"[\ud800-\udfff]")
BLANK = re.compile(r"\s*")
TAGS = ("<think>", "<thinking>")
# Some servers put the opening tag into the prompt, so that the reply has only the closing one, on a line of its own.
ONLY_CLOSED = re.compile(r"\A.*?^[^\S\n]*</think(?:ing)?>[ \t]*(?:\n|\Z)\s*", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"```[ \t]*(?:[\w+-]+[ \t]*)?\r?\n(.*?)```", re.DOTALL)


def cleaned(prompt: str) -> str:
    """Without control characters, and with nothing that UTF-8 cannot write."""
    return CONTROL.sub("", joined(prompt))


def joined(text: str) -> str:
    """Halves of UTF-16 pairs, which JSON can hold and UTF-8 cannot, made the characters they are of; a lone one is `\ufffd`."""
    if not HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def joined_in(value: Any) -> Any:
    """A JSON value whose texts are all `joined`."""
    if isinstance(value, str):
        return joined(value)
    if isinstance(value, Mapping):
        return {joined(key): joined_in(item) for key, item in value.items()}
    return [joined_in(item) for item in value] if isinstance(value, list) else value


class Spoken:
    """What a reader sees of a reply that comes in pieces: without leading `<think>` blocks, cut before the first stop word.

    A tag in the middle of a text is part of what is said about it, and stays.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._stops = Stops([word for word in stop if word])
        self._held = ""  # what may turn out to be a tag or a stop word
        self._blank: list[str] = []  # shown only where nothing else comes
        self._half = ""  # of a character; some servers cut their pieces there
        self._inside = ""  # the closing tag that is waited for
        self._begun = self._ended = False

    @property
    def thinking(self) -> bool:
        """A block was opened and not closed."""
        return bool(self._inside)

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        if self._ended:
            return ""
        piece = self._half + piece
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        piece = joined(piece.removesuffix(self._half))
        if not self._begun:
            self._held += piece
            if not self._lead():
                return ""
            piece, self._held = self._held, ""
        return self._cut(piece)

    def end(self) -> str:
        """What was held back, when nothing more comes."""
        if self._ended or self._inside:
            return ""
        self._ended = True
        return "".join(self._blank) + self._held + ("\ufffd" if self._half else "")

    def _lead(self) -> bool:
        """False while it cannot be said whether the text itself has begun."""
        text, at = self._held, 0
        while True:
            if self._inside:
                end = text.find(self._inside, at)
                if end < 0:
                    self._held = text[max(at, len(text) - len(self._inside)) :]
                    return False
                at, self._inside = end + len(self._inside), ""
                self._blank.clear()
            blank = BLANK.match(text, at)
            start = blank.end() if blank else at
            if start == len(text):
                self._blank.append(text[at:])
                self._held = ""
                return False
            opened = next((tag for tag in TAGS if text.startswith(tag, start)), "")
            if not opened:
                self._held = text[start:]
                if any(tag.startswith(self._held) for tag in TAGS):
                    self._blank.append(text[at:start])
                    return False
                self._blank.clear()
                self._begun = True
                return True
            at, self._inside = start + len(opened), f"</{opened[1:]}"

    def _cut(self, piece: str) -> str:
        text = self._held + piece
        place = self._stops.find(piece)
        if place is not None:
            self._ended = True
            return text[: len(self._held) + place]
        shown = len(text) - self._stops.pending
        self._held = text[shown:]
        return text[:shown]


def spoken(text: str, stop: Sequence[str] = ()) -> str:
    """A whole reply as a reader sees it; see `Spoken`."""
    if "</think" in text and not any(tag in text for tag in TAGS):
        text = ONLY_CLOSED.sub("", text, count=1)
    shown = Spoken(stop)
    return shown.feed(text) + shown.end()


def read_json(text: str) -> Any:
    """The JSON value of a reply: all of it, or what stands in its first code fence, or the one object or list in its prose.

    Raises:
        ValueError: there is none, or more than one.
    """
    try:
        return joined_in(_json_of(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _json_of(text: str) -> Any:
    candidates = [text.strip(), *(found.strip() for found in FENCE.findall(text))]
    for candidate in candidates[:2]:
        try:
            return json.loads(candidate, parse_constant=_refuse)
        except ValueError as error:
            wrong = error
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    if not starts:
        raise wrong
    value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, min(starts))
    if re.search(r"[{\[]", text[end:]):
        raise ValueError("there is more than one JSON value in it")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
