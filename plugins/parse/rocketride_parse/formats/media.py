# SPDX-License-Identifier: MIT
"""Pictures, recordings and films: the whole file goes on, to who listens."""

from collections.abc import Iterator

from rocketride_parse.errors import Unsupported
from rocketride_parse.media import media_type
from rocketride_parse.parts import Media, Part
from rocketride_parse.source import Source


def read(source: Source) -> Iterator[Part]:
    """The file itself on its lane. Unsupported when nobody listens there."""
    mime_type, title = media_type(source.head)
    lane = mime_type.partition("/")[0]
    if lane not in source.options.lanes:
        what = " its text is read by ocr," if lane == "image" else ""
        raise Unsupported(f"{source.name}: {title}, not a document with text;{what} wire the {lane} lane to have it passed on")
    yield Media(lane, mime_type, source.name, source.path)
