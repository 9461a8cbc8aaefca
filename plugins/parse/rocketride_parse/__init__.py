# SPDX-License-Identifier: MIT
"""rocketride_parse: documents of many formats to text, tables and facts.

`Parse` is the node; `rocketride_parse.formats.parse` does the same for a path, without a pipeline.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .node import Parse as Parse
    from .node import ParseConfig as ParseConfig

__all__ = ["Parse", "ParseConfig"]


def __getattr__(name: str) -> object:
    # The parser process imports this package and has no use for the kernel.
    if name in __all__:
        from . import node

        return getattr(node, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
