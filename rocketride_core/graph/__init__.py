# SPDX-License-Identifier: MIT
"""A pipeline to look at: as SVG, as Mermaid, as text."""

from .mermaid import mermaid
from .picture import Picture, picture_of
from .svg import svg
from .terminal import terminal

__all__ = ["Picture", "mermaid", "picture_of", "svg", "terminal"]
