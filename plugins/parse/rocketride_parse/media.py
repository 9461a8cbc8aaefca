# SPDX-License-Identifier: MIT
"""Pictures, recordings and films: told by their first bytes, put on the lane of that name."""

import base64
import binascii
import re

from .parts import Media

_STARTS = (
    (b"\x89PNG\r\n", "image/png", "a PNG image"), (b"\xff\xd8\xff", "image/jpeg", "a JPEG image"), (b"GIF8", "image/gif", "a GIF image"),
    (b"II*\0", "image/tiff", "a TIFF image"), (b"MM\0*", "image/tiff", "a TIFF image"),
    (b"\0\0\0\x0cjP  ", "image/jp2", "a JPEG 2000 image"), (b"OggS", "audio/ogg", "an Ogg media file"),
    (b"ID3", "audio/mpeg", "an MP3 file"), (b"\xff\xfb", "audio/mpeg", "an MP3 file"), (b"\xff\xf3", "audio/mpeg", "an MP3 file"),
    (b"fLaC", "audio/flac", "a FLAC file"), (b"#!AMR", "audio/amr", "an AMR recording"),
    (b"\x1aE\xdf\xa3", "video/webm", "a Matroska or WebM film"), (b"0&\xb2u\x8ef\xcf\x11", "video/x-ms-wmv", "a Windows Media film"),
)  # fmt: skip
_INSIDE = {
    (b"RIFF", b"WEBP"): ("image/webp", "a WebP image"), (b"RIFF", b"WAVE"): ("audio/wav", "a WAV recording"),
    (b"RIFF", b"AVI "): ("video/x-msvideo", "an AVI film"), (b"FORM", b"AIFF"): ("audio/aiff", "an AIFF recording"),
}  # fmt: skip
_BRANDS = {
    b"M4A ": ("audio/mp4", "an MPEG-4 recording"), b"qt  ": ("video/quicktime", "a QuickTime film"), b"heic": ("image/heic", "a HEIC image"),
    b"mif1": ("image/heif", "a HEIF image"), b"avif": ("image/avif", "an AVIF image"),
}  # fmt: skip
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)[^,]*;base64,(.*)", re.DOTALL)


def media_type(head: bytes) -> tuple[str, str]:
    """The mime type of a media file by its first bytes, and what people call it; two blank texts for any other file."""
    for start, mime_type, title in _STARTS:
        if head.startswith(start):
            return mime_type, title
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], ("video/mp4", "an MP4 media file"))
    if head[:2] == b"BM" and head[6:10] == b"\0\0\0\0" and len(head) > 26:
        return "image/bmp", "a BMP image"
    return _INSIDE.get((head[:4], head[8:12]), ("", ""))


def media(content: bytes, name: str, lanes: object) -> Media | None:
    """`content` as a part, None when it is no media file or not for one of `lanes`."""
    mime_type, _ = media_type(content[:64])
    lane = mime_type.partition("/")[0]
    return Media(lane, mime_type, name, content) if lane and isinstance(lanes, list | tuple) and lane in lanes else None


def embedded(address: str, name: str, lanes: object) -> Media | None:
    """The content of a `data:` address as a part."""
    match = _DATA.match(address)
    if match is None:
        return None
    try:
        return media(base64.b64decode(match[2]), name, lanes)
    except (binascii.Error, ValueError):
        return None
