# SPDX-License-Identifier: MIT
"""Tools as values, and what a node sees of the tools that are wired to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import attrs

from .errors import ToolError
from .payloads import Arguments, Json

if TYPE_CHECKING:
    from .protocols import Instance

__all__ = ["Tool", "ToolCatalog"]


@attrs.frozen
class Tool:
    """Something an agent may call.

    Parameters:
        name: bare in `list_tools`, `<component id>.<tool>` in a catalog.
        description: what it does, for the model.
        input_schema: JSON Schema (draft 2020-12) of the arguments.
        call: `(instance, arguments)`, with the provider's control instance.
        output_schema: JSON Schema of the result, None where unknown.
        concurrent: calls within one entry may overlap.
        timeout: seconds; None is no limit of its own.
    """

    name: str
    description: str
    input_schema: Arguments
    call: Callable[[Instance, Arguments], object]
    output_schema: Arguments | None = None
    concurrent: bool = False
    timeout: float | None = None

    def checked(self, arguments: Arguments) -> Arguments:
        """The arguments, validated against the schema (compiled once).

        Raises:
            ToolInput: `path` is the JSON path of the offending value.
        """
        from .toolcheck import validator

        return validator(self)(arguments)


class ToolCatalog(Protocol):
    """The tools wired to a node, by full name."""

    def __iter__(self) -> Iterator[Tool]: ...
    def check(self, name: str, arguments: Arguments, /) -> None:
        """Validate without calling.

        Raises:
            UnknownTool: it lists what exists.
            ToolInput: the arguments do not fit; `path` says where.
        """
        ...

    def call(self, name: str, arguments: Arguments, /, *, timeout: float | None = None) -> Json:
        """Call one tool and wait.

        Raises:
            ToolError: any of its kinds; an agent may react.
        """
        ...

    def call_all(self, calls: Sequence[tuple[str, Arguments]], /) -> Sequence[Json | ToolError]:
        """The calls of one turn, in parallel where they may; results in their order, errors as values."""
        ...
