# SPDX-License-Identifier: MIT
"""Frames between a node and its parser process: two lengths, a JSON header, and bytes that are not worth escaping.

The bytes are the text of a part today; an image or an attachment fits as well.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

from .parts import Meta, Part, Table, Text

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


def send_part(stream: BinaryIO, part: Part) -> None:
    """Write a part as a frame."""
    match part:
        case Text():
            send(stream, {"part": "text"}, part.text.encode())
        case Table():
            send(stream, {"part": "table"}, json.dumps(part.rows).encode())
        case Meta():
            send(stream, {"part": "meta"}, json.dumps(part.values).encode())


def to_part(kind: str, payload: bytes) -> Part:
    """The part that a frame carries."""
    match kind:
        case "text":
            return Text(payload.decode())
        case "table":
            return Table(json.loads(payload))
        case "meta":
            return Meta(json.loads(payload))
        case _:
            raise ValueError(f"a frame of the unknown part {kind!r}")
