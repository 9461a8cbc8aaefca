# SPDX-License-Identifier: MIT
"""Writes pixels as PNG (ISO/IEC 15948), which needs no more than zlib."""

import struct
import zlib

_COLOUR = {1: 0, 3: 2, 4: 6}


def png(width: int, height: int, pixels: bytes, channels: int, stride: int) -> bytes:
    """A PNG of 8 bits a channel.

    pixels: rows from the top, `stride` bytes each. channels: 1 grey, 3 RGB, 4 RGBA.
    """
    used = width * channels
    rows = b"".join(b"\0" + pixels[start : start + used] for start in range(0, height * stride, stride))
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 3)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
