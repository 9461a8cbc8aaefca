# SPDX-License-Identifier: MIT
"""The decorators of a node's methods. They only leave a mark; `manifest.py` reads the marks when the class is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

import attrs

from .controls import Control
from .lanes import Lane

if TYPE_CHECKING:
    from .controls import Caller
    from .node import Node
    from .protocols import Feed, Instance

T = TypeVar("T")
R = TypeVar("R")
I = TypeVar("I")  # noqa: E741
N = TypeVar("N", bound="Node[Any]")
P = ParamSpec("P")

__all__ = ["on", "serves", "source", "tool"]

MARK = "_rocketride_"


@attrs.frozen
class OnMark:
    lane: Lane[Any]
    emits: tuple[Lane[Any], ...]


@attrs.frozen
class ToolMark:
    name: str
    concurrent: bool
    timeout: float | None


@attrs.define
class Marks:
    """What decorators have said of one function."""

    on: list[OnMark] = attrs.field(factory=list)
    tool: ToolMark | None = None
    serves: list[Control[Any]] = attrs.field(factory=list)
    source: tuple[Lane[Any], ...] | None = None


def marks(fn: object) -> Marks | None:
    found = getattr(fn, MARK, None)
    return found if isinstance(found, Marks) else None


def _mark(fn: Any) -> Marks:
    found: Marks | None = fn.__dict__.get(MARK)
    if found is None:
        found = Marks()
        setattr(fn, MARK, found)
    return found


def on(
    lane: Lane[T], /, *, emits: Sequence[Lane[Any]] = ()
) -> Callable[[Callable[[N, Instance, T], None]], Callable[[N, Instance, T], None]]:
    """Mark the handler of a lane: `(self, instance, payload)`. May be stacked.

    Parameters:
        lane: what it receives.
        emits: the lanes that such a payload may cause, now or at the flush.
    """

    def decorate(fn: Callable[[N, Instance, T], None]) -> Callable[[N, Instance, T], None]:
        _mark(fn).on.append(OnMark(lane, tuple(emits)))
        return fn

    return decorate


def serves(control: Control[I], /) -> Callable[[Callable[[N, Instance, Caller], I]], Callable[[N, Instance, Caller], I]]:
    """Mark a factory `(self, instance, caller)` of the object that callers of a control get. That object must be safe on several threads."""

    def decorate(fn: Callable[[N, Instance, Caller], I]) -> Callable[[N, Instance, Caller], I]:
        _mark(fn).serves.append(control)
        return fn

    return decorate


def source(*, emits: Sequence[Lane[Any]]) -> Callable[[Callable[[N, Feed], None]], Callable[[N, Feed], None]]:
    """Mark the one method `(self, feed)` of an active source; `pipeline.serve()` runs it until `stop()`.

    Parameters:
        emits: the lanes it feeds.
    """

    def decorate(fn: Callable[[N, Feed], None]) -> Callable[[N, Feed], None]:
        _mark(fn).source = tuple(emits)
        return fn

    return decorate


@overload
def tool(fn: Callable[Concatenate[N, Instance, P], R], /) -> Callable[Concatenate[N, Instance, P], R]: ...
@overload
def tool(
    *, name: str = "", concurrent: bool = False, timeout: float | None = None
) -> Callable[[Callable[Concatenate[N, Instance, P], R]], Callable[Concatenate[N, Instance, P], R]]: ...
def tool(fn: Any = None, /, *, name: str = "", concurrent: bool = False, timeout: float | None = None) -> Any:
    """Mark a method as a tool: its schema comes from the signature, the return annotation and the docstring.

    Parameters:
        name: by default the method's.
        concurrent: calls within one entry may overlap; otherwise they run one after the other.
        timeout: seconds.
    """

    def decorate(fn: Any) -> Any:
        _mark(fn).tool = ToolMark(name or fn.__name__, concurrent, timeout)
        return fn

    return decorate if fn is None else decorate(fn)
