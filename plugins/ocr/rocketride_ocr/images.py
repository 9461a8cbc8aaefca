# SPDX-License-Identifier: MIT
"""From bytes to pixels: every frame of an image file, upright, in RGB on white."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from .errors import BadImage

if TYPE_CHECKING:
    from PIL.Image import Image

MILLION = 1_000_000
_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM", b"RIFF")


def frames(stream: BinaryIO, megapixels: float) -> Iterator[Image]:
    """The frames of an image file: one, or those of an animation or of a TIFF of several pages.

    Raises:
        BadImage: it is none, is damaged, or a frame has more than that many million pixels.
    """
    from PIL import Image, ImageOps, ImageSequence, UnidentifiedImageError

    try:
        with Image.open(stream) as file:
            for frame in ImageSequence.Iterator(file):
                if frame.width * frame.height > megapixels * MILLION:
                    raise BadImage(
                        f"{frame.width} x {frame.height} pixels, more than max_megapixels allows ({megapixels:g} million)"
                    )
                yield _rgb(ImageOps.exif_transpose(frame))
    except UnidentifiedImageError:
        stream.seek(0)
        if stream.read(8).startswith(_STARTS):
            raise BadImage("damaged, not an image that can be read") from None
        raise BadImage("not an image of a kind that can be read here; PNG, JPEG, TIFF, GIF, BMP and WebP can") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BadImage(f"more pixels than max_megapixels allows ({megapixels:g} million): {error}") from error
    except (OSError, SyntaxError, ValueError, EOFError, ArithmeticError, IndexError, TypeError) as error:
        raise BadImage(f"damaged, not an image that can be read ({error})") from error


def _rgb(frame: Image) -> Image:
    """What is transparent lies on white, as paper."""
    from PIL import Image

    if frame.mode in ("RGBA", "LA", "PA") or "transparency" in frame.info:
        frame = frame.convert("RGBA")
        paper = Image.new("RGBA", frame.size, "white")
        return Image.alpha_composite(paper, frame).convert("RGB")
    if frame.mode.startswith("I;16"):
        frame = frame.point(lambda value: value / 256).convert("L")
    return frame.convert("RGB")
