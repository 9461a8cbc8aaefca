# SPDX-License-Identifier: MIT
"""Frames between a node and its parser process: two lengths, a JSON header, and bytes that are not worth escaping.

The bytes are the content of a part; a large one lies in a folder that both sides know, and the frame has its name there.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from .parts import File, Media, Meta, Part, Table, Text

# In the place of a name in the folder: the file that was to be parsed.
_ITSELF = "."
_LENGTHS = struct.Struct(">IQ")


def send(stream: BinaryIO, header: Mapping[str, Any], payload: bytes = b"") -> None:
    """Write one frame and flush it."""
    head = json.dumps(header).encode()
    stream.write(_LENGTHS.pack(len(head), len(payload)))
    stream.write(head)
    stream.write(payload)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """Read one frame. EOFError when the other side has gone, also in the middle of a frame."""
    head, payload = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    return json.loads(_exactly(stream, head)), _exactly(stream, payload)


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def send_part(stream: BinaryIO, part: Part, folder: str = "") -> None:
    """Write a part as a frame."""
    match part:
        case Text():
            send(stream, {"part": "text"}, part.text.encode())
        case Table():
            send(stream, {"part": "table"}, json.dumps(part.rows).encode())
        case Meta():
            send(stream, {"part": "meta"}, json.dumps(part.values).encode())
        case Media() | File():
            content = part.content
            head = {**part._asdict(), "part": "media" if isinstance(part, Media) else "file", "content": ""}
            if isinstance(content, Path):
                head["content"], content = content.name if content.parent == Path(folder) else _ITSELF, b""
            send(stream, head, content)


def to_part(header: Mapping[str, Any], payload: bytes, path: Path, folder: str = "") -> Part:
    """The part that a frame carries. path: the file that was to be parsed."""
    place = header.get("content", "")
    content = payload if not place else path if place == _ITSELF else Path(folder, place)
    match header["part"]:
        case "text":
            return Text(payload.decode())
        case "table":
            return Table(json.loads(payload))
        case "meta":
            return Meta(json.loads(payload))
        case "media":
            return Media(header["lane"], header["mime_type"], header["name"], content)
        case "file":
            return File(header["name"], header["mime_type"], content)
        case kind:
            raise ValueError(f"a frame of the unknown part {kind!r}")
