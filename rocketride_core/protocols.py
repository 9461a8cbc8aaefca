# SPDX-License-Identifier: MIT
"""What nodes and hosts are handed: the types they write in their signatures. The kernel implements them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager as Async
from contextlib import AbstractContextManager as Context
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from .controls import Control, Served
from .entry import Entry, Event
from .errors import Problem, RunError
from .lanes import Lane, Packet
from .payloads import Arguments, Json
from .spec import NodeSpec

if TYPE_CHECKING:
    from .blob import Blob
    from .pipefile import PipeFile
    from .toolbox import ToolCatalog

T = TypeVar("T")
I = TypeVar("I")  # noqa: E741
C = TypeVar("C")
R = TypeVar("R")

__all__ = ["Commands", "Expansion", "Feed", "Instance", "Pipeline", "Result", "Run"]


class Instance(Protocol):
    """One node working on one entry. `emit` and `state` belong to the entry's thread; the rest may be used on any.

    Attributes:
        entry: the object in flight.
        metadata: what is known of it; nodes may add, the result carries it.
        tools: the tools wired to this node.
        cancelled: the entry is cancelled or over its time limit.
        remaining: seconds left, None without a limit.
    """

    @property
    def entry(self) -> Entry: ...
    @property
    def metadata(self) -> dict[str, Json]: ...
    @property
    def tools(self) -> ToolCatalog: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def remaining(self) -> float | None: ...
    def state(self, cls: type[R], /) -> R:
        """What belongs to this entry alone: `cls()` on first use, one per (instance, class), dropped after close."""
        ...

    def per_worker(self, factory: Callable[[], Context[R]], /) -> R:
        """One resource per node and thread, made at first use, closed after `end_global` or when its thread is replaced."""
        ...

    def enter(self, resource: Context[R], /) -> R:
        """Enter a context; it is closed after `close_instance`, the last one first."""
        ...

    def emit(self, lane: Lane[T], payload: T, /) -> None:
        """Deliver to all consumers of the lane, in file order and depth first, before this returns.

        Raises:
            RunError: `undeclared-lane`, `emit-after-close`, `emit-from-control` or `wrong-thread`.
            EntryStopped: the entry has failed meanwhile; let it pass.
        """
        ...

    def wants(self, lane: Lane[Any], /) -> bool:
        """Is anyone wired to it?"""
        ...

    def one(self, control: Control[I], /) -> I:
        """The one provider wired to this slot.

        Raises:
            RunError: `undeclared-need`, or nothing is wired to the slot.
        """
        ...

    def maybe(self, control: Control[I], /) -> I | None: ...
    def all(self, control: Control[I], /) -> Sequence[Served[I]]: ...
    def event(self, kind: str, /, **data: Json) -> None:
        """Tell whoever listens; dropped when nobody does."""
        ...

    def warn(self, code: str, message: str, /) -> None: ...
    def report(self, error: Exception, /) -> str:
        """Record an error of the entry without stopping it; the first one wins, later ones are notes.

        Returns: its text without the values of variables, for whoever tells it to a user.
        """
        ...

    def redacted(self, text: str, /) -> str:
        """The text with `***` for every value of a variable, or of a secret, in it: for what leaves the node by a way of its own."""
        ...

    def count(self, name: str, amount: float, /) -> None:
        """Add to `result.usage[component][name]`."""
        ...

    def respond(self, key: str, packet: Packet, /) -> None:
        """Add to the result; `key` is its name in the client's JSON."""
        ...

    def spawn(self, entry: Entry, /, *packets: Packet) -> None:
        """A child entry, fed from the source, run after this one on the same worker; see `result.children`."""
        ...

    def nested(self, *, timeout: float | None = None) -> Context[Run]:
        """An entry of its own through the sub-pipeline wired to this node's outputs, on this thread."""
        ...

    def on_cancel(self, callback: Callable[[], object], /) -> Context[None]:
        """Inside the `with`, a cancel or a time-out calls this from another thread: end what blocks."""
        ...

    def wait(self, coro: Coroutine[Any, Any, R], /, *, timeout: float | None = None) -> R:
        """Run a coroutine on the kernel's loop and block for it; ends with the entry."""
        ...


class Result(Protocol):
    """What came of one entry.

    Attributes:
        error: None when all went well; the partial response stays beside it.
        usage: component id to counter to sum.
    """

    @property
    def entry(self) -> Entry: ...
    @property
    def error(self) -> RunError | None: ...
    @property
    def warnings(self) -> Sequence[Problem]: ...
    @property
    def children(self) -> Sequence[Result]: ...
    @property
    def usage(self) -> Mapping[str, Mapping[str, float]]: ...
    @property
    def metadata(self) -> Arguments: ...
    def __contains__(self, lane: object, /) -> bool:
        """Was anything responded on this lane?"""
        ...

    def __getitem__(self, lane: Lane[T], /) -> Sequence[T]:
        """What was responded on a lane, whatever `laneName` says; in file order of the responding nodes, then of time."""
        ...

    def to_json(self) -> Arguments:
        """The shape that RocketRide's clients get."""
        ...

    def checked(self) -> Result:
        """Itself, or raises `.error`."""
        ...


class Run(Protocol):
    """One entry in flight. `with` finishes it, or cancels it when the block raises."""

    @property
    def entry(self) -> Entry: ...

    def send(self, packet: Packet, /) -> None:
        """Feed it; never raises for a failure inside, which is in `result().error`."""
        ...

    def wants(self, lane: Lane[Any], /) -> bool: ...
    def cancel(self) -> None: ...
    def result(self, timeout: float | None = None) -> Result:
        """Flush, close and wait.

        Raises:
            RunTimeout: it is not over after `timeout` seconds; it goes on.
        """
        ...

    def __iter__(self) -> Iterator[Event]:
        """Ends the input and gives the events until the entry is over."""
        ...

    def __aiter__(self) -> AsyncIterator[Event]: ...
    def __await__(self) -> Generator[Any, None, Result]: ...


class Feed(Protocol):
    """What hosts and active sources share: ways to send entries through a pipeline. `timeout` is in seconds, None is no limit."""

    def run(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> Result:
        """On the calling thread, to the end."""
        ...

    def arun(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> Coroutine[Any, Any, Result]:
        """On a worker; cancelling the task cancels the entry."""
        ...

    def start(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> Context[Run]:
        """On a worker, with events and further input."""
        ...

    def astart(self, entry: Entry, /, *packets: Packet, timeout: float | None = None) -> Async[Run]: ...
    def submit(self, entry: Entry, /, *packets: Packet) -> None:
        """On a worker; blocks while the queue is full. The result goes to the `finish_entry` hooks."""
        ...

    def route(self, blob: Blob, /) -> Packet:
        """The blob on the lane its mime type belongs on, among those wired to the source; `tags` where none fits."""
        ...

    def ready(self, message: str, /) -> None:
        """Tell the host that the source is up."""
        ...

    def stopping(self, wait: float = 0) -> bool:
        """Has somebody asked the source to stop? Waits up to `wait` seconds for it."""
        ...


class Pipeline(Feed, Protocol):
    """A running plan, between `begin_global` and `end_global`."""

    def map(
        self,
        work: Iterable[tuple[Entry, Sequence[Packet]]],
        /,
        *,
        workers: int = 0,
        ordered: bool = False,
        ahead: int = 0,
        timeout: float | None = None,
    ) -> Iterator[Result]:
        """Many entries on the workers; lazy in, bounded, every outcome carries its `.error`."""
        ...

    def serve(self) -> None:
        """Run the active source on this thread until `stop()`, or until it returns."""
        ...

    def stop(self, *, drain: float | None = None) -> None:
        """Ask the source to end; what is queued or running gets `drain` seconds (None: as long as it takes)."""
        ...

    def close(self, *, grace: float = 5) -> None:
        """Stop, give what runs `grace` seconds, cancel it, end all nodes. What leaving the `with` of `load` does."""
        ...


class Expansion(Protocol):
    """What `expand_component` gets."""

    @property
    def pipe(self) -> PipeFile: ...
    def config(self, cls: type[C], /) -> C:
        """The component's resolved config."""
        ...

    def spec(self, provider: str, /) -> NodeSpec:
        """The spec of another node.

        Raises:
            PluginError: it is not installed, or cannot be loaded.
        """
        ...

    def problem(
        self, code: str, message: str, /, *, path: str = "", hint: str = "", severity: Literal["error", "warning"] = "error"
    ) -> None:
        """Report; `path` is relative to the component's config."""
        ...


class Commands(Protocol):
    """What `add_commands` gets: `add` a command to `rocketride-core`; `run(args, kernel)` answers its exit code."""

    def add(
        self, name: str, run: Callable[[Any, Any], int], /, *, help: str, arguments: Callable[[Any], None] | None = None
    ) -> None: ...
