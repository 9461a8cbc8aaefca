# SPDX-License-Identifier: MIT
"""Components that replace themselves before the graph is compiled (hook `expand_component`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import attrs

from .errors import PluginError, Problem
from .pipefile import Component, PipeFile
from .profiles import resolve
from .spec import NodeSpec
from .structure import aliases_of, build, keys_of

if TYPE_CHECKING:
    from .node import Node
    from .relay import Hosts

C = TypeVar("C")

__all__ = ["Context", "expand"]

DEEPEST = 8

Finder = Callable[[str], "type[Node[Any]]"]


class Context:
    """The `Expansion` of one component."""

    def __init__(self, pipe: PipeFile, component: Component, cls: type[Node[Any]], find: Finder, problems: list[Problem]) -> None:
        self.pipe, self._component, self._cls, self._find, self._problems = pipe, component, cls, find, problems
        self.warned: Sequence[Problem] = ()  # of the component's own config; the compiler tells them of one that stays

    def config(self, cls: type[C], /) -> C:
        at = f"{self._component.at}.config"
        resolved = resolve(self._cls.spec, self._component.config, at, keys=keys_of(cls), aliases=aliases_of(cls))
        made, problems = build(cls, resolved.values, at=resolved.at, paths=resolved.paths, preset=resolved.preset)
        if (
            made is None
        ):  # the compiler reports the problems of the component's own class; those of another class are only known here
            if cls is not self._cls.config_class:
                self._problems.extend(attrs.evolve(p, component=self._component.id) for p in (*resolved.problems, *problems))
            raise Refused
        if cls is self._cls.config_class:
            self.warned = [
                attrs.evolve(p, component=self._component.id, file=self.pipe.file) for p in (*resolved.problems, *problems)
            ]
        return made

    def spec(self, provider: str, /) -> NodeSpec:
        try:
            return self._find(provider).spec
        except LookupError as error:
            raise PluginError(str(error)) from error

    def problem(
        self, code: str, message: str, /, *, path: str = "", hint: str = "", severity: Literal["error", "warning"] = "error"
    ) -> None:
        at = f"{self._component.at}.config{'.' if path and not path.startswith('[') else ''}{path}"
        self._problems.append(Problem(at, code, message, hint, self._component.id, severity, self.pipe.file))


class Refused(Exception):
    """The config that an expansion needs is wrong; the problems are reported."""


def expand(pipe: PipeFile, find: Finder, hosts: Hosts, problems: list[Problem]) -> PipeFile:
    """The file with all components replaced that want to be, up to eight times over.

    Parameters:
        find: a node class by provider; LookupError or PluginError where there is none (the compiler reports it).
        problems: gets `expansion-failed`, `expansion-depth`, `duplicate-id`, and what the hooks report.
    """
    return _Expander(pipe, find, hosts, problems).expanded()


@attrs.define
class _Expander:
    pipe: PipeFile
    find: Finder
    hosts: Hosts
    problems: list[Problem]
    moved: dict[str, list[Component]] = attrs.field(factory=dict)

    def expanded(self) -> PipeFile:
        out: list[Component] = []
        for component in self.pipe.components:
            out.extend(self.one(component, frozenset(), 0))
        if all(a is b for a, b in zip(out, self.pipe.components, strict=False)) and len(out) == len(self.pipe.components):
            return self.pipe
        self.unique(out)
        return attrs.evolve(self.pipe, components=[self.relinked(c) for c in out], source=self.started(self.pipe.source))

    def one(self, component: Component, done: frozenset[tuple[str, type[Any]]], depth: int) -> Sequence[Component]:
        cls = self.node_class(component.provider)
        if cls is None or (component.id, cls) in done:
            return [component]
        answer = self.ask(cls, component)
        if answer is None:
            return [component]
        if depth >= DEEPEST:
            message = f"Component {component.id} is replaced more than {DEEPEST} times over"
            self.problems.append(Problem(component.at, "expansion-depth", message, component=component.id, file=self.pipe.file))
            return [component]
        placed = [_placed(c, component) for c in answer]
        if not any(c.id == component.id for c in placed):
            self.moved[component.id] = placed
        out: list[Component] = []
        for new in placed:
            out.extend(self.one(new, done | {(new.id, cls)} if new.id == component.id else done, depth + 1))
        return out

    def node_class(self, provider: str) -> type[Node[Any]] | None:
        try:
            return self.find(provider)
        except (LookupError, PluginError):
            return None

    def ask(self, cls: type[Node[Any]], component: Component) -> Sequence[Component] | None:
        context = Context(self.pipe, component, cls, self.find, self.problems)
        try:
            answer = cls.expand_component(component, context) if "expand_component" in cls.manifest.hooks else None
            if answer is None and self.hosts.take_part("expand_component"):
                answer = self.hosts.call("expand_component", component=component, context=context)
        except Refused:
            return None
        except Exception as error:  # noqa: BLE001 - a problem of the file, beside all others
            message = f"Component {component.id} ({component.provider}) cannot be expanded: {str(error) or type(error).__name__}"
            self.problems.append(Problem(component.at, "expansion-failed", message, component=component.id, file=self.pipe.file))
            return None
        if answer is not None and not (isinstance(answer, Sequence) and all(isinstance(c, Component) for c in answer)):
            message = (
                f"Component {component.id} ({component.provider}) cannot be expanded: expand_component returned {answer!r:.80}"
            )
            hint = "it returns a list of Component, or None"
            self.problems.append(Problem(component.at, "expansion-failed", message, hint, component.id, file=self.pipe.file))
            return None
        if answer is not None and all(c.id != component.id for c in answer):
            self.problems.extend(context.warned)
        return answer

    def unique(self, components: Sequence[Component]) -> None:
        given: dict[str, Component] = {}
        written = {(c.id, c.at) for c in self.pipe.components}  # two of the file itself are reported by its reader
        for component in components:
            first = given.setdefault(component.id, component)
            ours = {(first.id, first.at), (component.id, component.at)}
            if first is not component and not (len(ours) == 2 and ours <= written):
                message = f"Duplicate component {component.id}"
                hint = f"{first.at} and {component.at} both give a component of this id"
                self.problems.append(Problem(component.at, "duplicate-id", message, hint, component.id, file=self.pipe.file))

    def relinked(self, component: Component) -> Component:
        """Links from a replaced id come from the last of its successors that declares the lane, or needs the control."""
        if not self.moved:
            return component
        return attrs.evolve(
            component,
            input=[attrs.evolve(link, source=self.successor(link.source, link.lane, control=False)) for link in component.input],
            control=[
                attrs.evolve(link, caller=self.successor(link.caller, link.control, control=True)) for link in component.control
            ],
        )

    def started(self, id: str) -> str:
        """The source that stands in the place of a replaced one."""
        while id in self.moved:
            found = [c.id for c in self.moved[id] if c.id in self.moved or self.is_source(c)]
            if not found:
                return id
            id = found[-1]
        return id

    def is_source(self, component: Component) -> bool:
        cls = self.node_class(component.provider)
        return cls is not None and (bool(cls.manifest.source) or "source" in cls.spec.categories)

    def successor(self, id: str, name: str, *, control: bool) -> str:
        while id in self.moved:
            successors = self.moved[id]
            able = [c for c in successors if self.declares(c, name, control)]
            if not successors or (after := (able or successors)[-1].id) == id:
                return id
            id = after
        return id

    def declares(self, component: Component, name: str, control: bool) -> bool:
        if component.id in self.moved:
            return any(self.declares(c, name, control) for c in self.moved[component.id])
        cls = self.node_class(component.provider)
        if cls is None:
            return False
        names: Mapping[str, object] | set[str] = (
            {c.name for c in cls.spec.needs} if control else {lane.name for lane in cls.manifest.outs}
        )
        return name in names


def _placed(component: Component, user: Component) -> Component:
    """Problems of what an expansion made point at the component that the user wrote."""
    if component.at:
        return component
    return attrs.evolve(
        component,
        at=user.at,
        input=[link if link.at else attrs.evolve(link, at=user.at) for link in component.input],
        control=[link if link.at else attrs.evolve(link, at=user.at) for link in component.control],
    )
