# SPDX-License-Identifier: MIT
"""Plain text."""

from collections.abc import Iterator

from rocketride_parse.parts import Part, Text, tidy
from rocketride_parse.source import Source


def read(source: Source) -> Iterator[Part]:
    """The whole text, its line breaks kept."""
    text = tidy(source.text)
    if text.strip():
        yield Text(text)
