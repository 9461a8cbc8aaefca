# SPDX-License-Identifier: MIT
"""Node: the class that authors write."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractContextManager as Context
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin

from .errors import InvalidNode, Problem, RunError
from .hookspecs import hookimpl
from .manifest import Manifest, read_manifest
from .spec import NodeSpec
from .structure import class_problems

if TYPE_CHECKING:
    from .pipefile import Component
    from .protocols import Expansion, Instance
    from .toolbox import Tool

C = TypeVar("C")
R = TypeVar("R")
T = TypeVar("T")

__all__ = ["Node", "hookimpl"]


class Node(Generic[C]):
    """One component of one running pipeline, shared by all entries; written only in `begin_global`.

    `Node[Config]` names the attrs class of its config, `Node[None]` accepts any and reads none. What belongs to one entry is
    `instance.state(Cls)`.

    Attributes:
        spec: the manifest.
        config: the resolved config.
        id: the component's id in the file.
        title: the component's name in the file, else the spec's title.
    """

    _node_base: ClassVar[bool] = True
    spec: ClassVar[NodeSpec]
    manifest: ClassVar[Manifest]
    config_class: ClassVar[type[Any] | None] = None
    config: C
    id: str = ""
    title: str = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        spec = cls.__dict__.get("spec") or getattr(cls, "spec", None)
        if spec is not None and not isinstance(spec, NodeSpec):
            raise InvalidNode(
                f'{cls.__module__}.{cls.__qualname__}: spec must be a NodeSpec("provider", title="…"), not {type(spec).__name__}'
            )
        if spec is not None and not (spec.provider and spec.title):
            raise InvalidNode(f"{cls.__module__}.{cls.__qualname__}: its NodeSpec needs a provider and a title")
        cls.config_class = _config_class(cls)
        cls.manifest = read_manifest(cls, spec)
        if spec is not None and cls.config_class is not None:
            for problem in class_problems(cls.config_class, spec.profiles):
                raise InvalidNode(f"{cls.__module__}.{cls.__qualname__}: {problem}")
        if cls.manifest.tools:
            from .toolschema import read_tools

            read_tools(cls)

    def enter(self, resource: Context[R], /) -> R:
        """Enter a context in `begin_global`; closed after `end_global`, the last one first, also when a later line fails."""
        return self._resources().enter_context(resource)

    def wait(self, coro: Coroutine[Any, Any, R], /, *, timeout: float | None = None) -> R:
        """Run a coroutine on the kernel's loop and block for it; for `begin_global`, `end_global` and sources.

        Raises:
            TimeoutError: it took more than `timeout` seconds.
        """
        pipeline = self.__dict__.get("_pipeline")
        if pipeline is None:
            coro.close()
            raise RunError(f"{type(self).__qualname__}.wait needs a running pipeline", component=self.id)
        result: R = pipeline.wait(coro, timeout)
        return result

    def batcher(self, fn: Callable[[Sequence[T]], Sequence[R]], /, *, size: int = 64) -> Callable[[Sequence[T]], Sequence[R]]:
        """A function that gives the results of `fn`, asked for the items of several entries at once; made in `begin_global`.

        A batch is computed when it is full, when every entry in flight waits for one and none is being computed, or after 5 ms, by
        one of those who wait.
        Where it fails, each caller's items are asked for alone, so that the error reaches whom it belongs to.

        Parameters:
            fn: gives one result an item, in their order; it is called on several threads at once.
            size: most items of one call of `fn`.

        Raises:
            RunError: of the function it returns, where `fn` gives another number of results.
            EntryStopped: of the function it returns, where the entry is stopped while it waits.
        """
        if size < 1:
            raise ValueError(f"a batch has one item or more, not {size}")
        pipeline = self.__dict__.get("_pipeline")
        if pipeline is None:
            raise RunError(
                f"{type(self).__qualname__}.batcher needs a running pipeline; call it in begin_global", component=self.id
            )
        made: Callable[[Sequence[T]], Sequence[R]] = pipeline.batcher(self.id, fn, size)
        return made

    def _resources(self) -> ExitStack:
        stack: ExitStack = self.__dict__.setdefault("_stack", ExitStack())
        return stack

    if TYPE_CHECKING:

        @classmethod
        def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None: ...
        def begin_global(self) -> None: ...
        def prepare_global(self) -> None: ...
        def check_global(self) -> Iterable[Problem]: ...
        def open_instance(self, instance: Instance) -> None: ...
        def flush_instance(self, instance: Instance) -> None: ...
        def close_instance(self, instance: Instance) -> None: ...
        def list_tools(self, instance: Instance) -> Sequence[Tool]: ...
        def end_global(self) -> None: ...


def _config_class(cls: type[Any]) -> type[Any] | None:
    """What stands for C in `Node[C]`, followed through generic bases; None for `Node[None]` or an open type variable."""
    found = _argument(cls, {})
    return found if isinstance(found, type) and found is not type(None) else None


def _argument(cls: type[Any], bound: dict[Any, Any]) -> Any:
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if origin is None or not (isinstance(origin, type) and issubclass(origin, Node)):
            continue
        args = [bound.get(a, a) for a in get_args(base)]
        if origin is Node:
            found = args[0]
        else:
            found = _argument(origin, dict(zip(getattr(origin, "__parameters__", ()), args, strict=False)))
        if isinstance(found, TypeVar):
            found = found.__bound__
        if found is not None:
            return found
    for plain in cls.__bases__:
        if (
            issubclass(plain, Node)
            and plain is not Node
            and plain.config_class is not None
            and "__orig_bases__" not in cls.__dict__
        ):
            return plain.config_class
    return None
