# SPDX-License-Identifier: MIT
"""From what a file says to a plan: nodes found, configs built, graph compiled; everything that is wrong is said at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from . import _native
from .absent import StandIn, claims_to_start, stand_in
from .advice import Advice
from .diagnostics import graph_problems
from .errors import PluginError, Problem
from .expansion import expand
from .pipefile import Component, PipeFile, link_problems
from .pipemodel import HINTED
from .profiles import Resolved, resolve
from .reading import listed
from .registry import Registry, UnknownProvider
from .structure import aliases_of, build, keys_of
from .variables import Unset, Variables, foreign

if TYPE_CHECKING:
    from .node import Node
    from .relay import Hosts

__all__ = ["Part", "Plan", "compile_pipe"]

GUESSED = 12  # unknown providers that get a guess of what was meant


@attrs.frozen
class Part:
    """One component that is ready to be made; `config` is None where its class has none, or where it is wrong.

    `cls` is a stand-in where the node is missing; a plan with one never runs.
    """

    component: Component
    cls: type[Node[Any]]
    config: Any = attrs.field(repr=False)

    @property
    def missing(self) -> bool:
        return isinstance(self.cls, StandIn)


@attrs.frozen
class Plan:
    """A compiled file. Numbers in `compiled` are places in `parts`, in `lanes`, and values of `controls`.

    Parameters:
        pipe: after substitution and expansion.
        parts: the components, in file order; without those whose node is missing and that are wired to nothing.
        lanes: names of all lanes.
        controls: name to number of all controls.
        compiled: the native result.
    """

    pipe: PipeFile
    parts: Sequence[Part]
    lanes: Sequence[str]
    controls: Mapping[str, int]
    compiled: _native.Compiled


def compile_pipe(
    pipe: PipeFile, registry: Registry, variables: Variables, hosts: Hosts, source: str = ""
) -> tuple[Plan, list[Problem]]:
    """Compile a file as it was read.

    Parameters:
        source: the component that starts the pipeline, instead of the file's choice.

    Returns:
        The plan, and all problems; the plan runs only where none is an error.
    """
    return _Compiler(pipe, registry, variables, hosts, source).compiled()


class _Compiler:
    def __init__(self, pipe: PipeFile, registry: Registry, variables: Variables, hosts: Hosts, source: str) -> None:
        self.pipe, self.registry, self.variables, self.hosts = pipe, registry, variables, hosts
        self.source = source or pipe.source
        self.problems: list[Problem] = []
        self.unset: dict[str, list[Unset]] = {}
        self.resolved: dict[str, Resolved] = {}
        self.unknown = 0

    def add(self, path: str, code: str, message: str, hint: str = "", component: str = "", *, warning: bool = False) -> None:
        severity = "warning" if warning else "error"
        listed(self.problems, lambda: Problem(path, code, message, hint, component, severity, self.pipe.file))  # type: ignore[arg-type]

    def compiled(self) -> tuple[Plan, list[Problem]]:
        pipe = expand(self.filled(), self.registry.find, self.hosts, self.problems)
        self.source = pipe.source
        parts = self.parts(pipe)
        plan = self.graph(pipe, parts)
        advice = Advice(plan, self.resolved, torn=bool(link_problems(pipe)))
        self.problems.extend(advice.judged(graph_problems(plan, pipe)))
        self.report_variables(plan)
        if source := self.source:
            if source not in {c.id for c in pipe.components} and source != self.pipe.source:
                known = ", ".join(c.id for c in pipe.components[:HINTED])
                self.add("$.source", "unknown-source", f'Source "{source}" not found in pipeline', f"components: {known}")
        elif plan.compiled.source < 0 and not plan.compiled.starts and not any(part.missing for part in parts):
            hint = "add a source, for instance a component of provider chat, webhook or dropper"
            empty = not pipe.components
            self.add("$.components", "no-source", "Pipeline does not have a source component defined", hint, warning=empty)
        return plan, [attrs.evolve(p, file=self.pipe.file) if not p.file else p for p in self.problems]

    def filled(self) -> PipeFile:
        """With the variables of all configs."""
        components = []
        for component in self.pipe.components:
            config, unset = self.variables.substitute(component.config, f"{component.at}.config")
            if unset:
                self.unset[component.id] = unset
            components.append(component if config == component.config and not unset else attrs.evolve(component, config=config))
        return attrs.evolve(self.pipe, components=components, source=self.source)

    def parts(self, pipe: PipeFile) -> list[Part]:
        links = [(link.source, link.lane) for c in pipe.components for link in c.input]
        calls = [(link.caller, link.control) for c in pipe.components for link in c.control]
        wired = {id for id, _ in (*links, *calls)}
        classes: dict[str, type[Node[Any]] | None] = {}
        chosen: list[Component] = []
        for component in pipe.components:
            if component.id in classes or not component.provider:
                continue  # both are reported already
            loose = not (component.input or component.control or component.id in wired)
            loose = loose and not claims_to_start(component, self.source)
            classes[component.id] = cls = self.find(component, loose=loose)
            if cls is not None or not loose:
                chosen.append(component)
        emits, needs = _grouped(links), _grouped(calls)
        parts: list[Part] = []
        for component in chosen:
            id, known = component.id, classes[component.id]
            if known is None:
                stand = stand_in(component, emits.get(id, ()), needs.get(id, ()), classes, self.source)
                parts.append(Part(component, stand, None))
            else:
                parts.append(Part(component, known, self.config(component, known)))
        self.one_class_a_lane(parts)
        return parts

    def find(self, component: Component, *, loose: bool) -> type[Node[Any]] | None:
        at, id, provider = f"{component.at}.provider", component.id, component.provider
        try:
            cls = self.registry.find(provider)
        except UnknownProvider as error:
            self.unknown += 1
            hint = error.hint if self.unknown <= GUESSED or error.pip or error.unwritten else ""
            self.add(at, "unknown-provider", str(error), hint, id, warning=loose)
            return None
        except PluginError as error:
            code = {"DuplicateProvider": "duplicate-provider", "InvalidNode": "invalid-node"}.get(
                type(error).__name__, "plugin-load"
            )
            self.add(at, code, str(error), "rocketride-core nodes list shows what is installed", id)
            return None
        current, successors = self.registry.outdated(provider)
        if current:
            self.add(at, "renamed-provider", f"'{provider}' is called '{current}' today", f"write '{current}'", id, warning=True)
        elif successors:
            shown = f"{', '.join(successors[:3])}{', …' if len(successors) > 3 else ''}"
            hint = f"write {shown}: one node for each lane"
            self.add(at, "renamed-provider", f"'{provider}' is an old node, which still works", hint, id, warning=True)
        return cls

    def config(self, component: Component, cls: type[Node[Any]]) -> Any:
        at = f"{component.at}.config"
        written = self.with_profile(component)
        resolved = resolve(cls.spec, written, at, keys=keys_of(cls.config_class), aliases=aliases_of(cls.config_class))
        self.resolved[component.id] = resolved
        found = list(resolved.problems)
        made: Any = None
        if cls.config_class is not None:
            made, wrong = build(cls.config_class, resolved.values, at=resolved.at, paths=resolved.paths, preset=resolved.preset)
            found.extend(wrong)
            self.variables.hide_secrets(made)
        self.problems.extend(attrs.evolve(p, component=component.id) for p in found)
        return made

    def with_profile(self, component: Component) -> Mapping[str, Any]:
        """The config, with a profile that stands beside it instead of in it."""
        beside = component.raw.get("profile")
        if not isinstance(beside, str) or not beside or "profile" in component.config:
            return component.config
        message = "'profile' stands beside 'config'; it is taken as if it stood in it"
        self.add(f"{component.at}.profile", "misplaced-key", message, "move it into 'config'", component.id, warning=True)
        return {**component.config, "profile": beside}

    def one_class_a_lane(self, parts: Sequence[Part]) -> None:
        known: dict[str, tuple[Any, str]] = {}
        for part in parts:
            if part.missing:
                continue
            manifest = part.cls.manifest
            for lane in (*(lane for lane, _, _ in manifest.on.values()), *manifest.outs):
                item, first = known.setdefault(lane.name, (lane.item, part.component.id))
                if item is not lane.item:
                    message = f"lane '{lane.name}' carries {item.__qualname__} in {first} and {lane.item.__qualname__} in {part.component.id}"
                    self.add(part.component.at, "lane-clash", message, "use one lane object, or another name", part.component.id)

    def graph(self, pipe: PipeFile, parts: Sequence[Part]) -> Plan:
        places = {part.component.id: n for n, part in enumerate(parts)}
        lanes, controls = _Numbers(), _Numbers()
        decls = [_declare(part, lanes, controls) for part in parts]
        links = [
            _native.LaneLink(places[link.source], lanes[link.lane], me)
            for me, part in enumerate(parts)
            for link in part.component.input
            if link.source in places
        ]
        calls = [
            _native.ControlLink(places[link.caller], controls[link.control], me)
            for me, part in enumerate(parts)
            for link in part.component.control
            if link.caller in places
        ]
        compiled = _native.compile(decls, links, calls, list(lanes.numbers), places.get(self.source, -1))
        return Plan(pipe, parts, list(lanes.numbers), controls.numbers, compiled)

    def report_variables(self, plan: Plan) -> None:
        reachable = {part.component.id for part, yes in zip(plan.parts, plan.compiled.reachable, strict=True) if yes}
        for id, unset in self.unset.items():
            resolved = self.resolved.get(id)
            for one in unset:
                used = id in reachable and (resolved is None or resolved.uses(one.path))
                hint = f"set it in the environment or in .env, or write ${{{one.name}:-default}}"
                self.add(one.path, "unset-variable", f"variable {one.name} is not set", hint, id, warning=not used)
        for part in plan.parts:
            resolved = self.resolved.get(part.component.id)
            for one in foreign(part.component.config, f"{part.component.at}.config") if resolved is not None else ():
                if resolved is not None and resolved.uses(one.path):
                    message = f"${{{one.name}}} stays as it is: only variables that begin with ROCKETRIDE_ are replaced"
                    hint = f"write ${{ROCKETRIDE_{one.name}}}"
                    self.add(one.path, "other-variable", message, hint, part.component.id, warning=True)


def _grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for key, value in pairs:
        out.setdefault(key, []).append(value)
    return out


class _Numbers:
    """Names to small numbers, in order of appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


def is_source(cls: type[Node[Any]]) -> bool:
    """An active source, or one that the host feeds: it declares lanes and handles none."""
    manifest = cls.manifest
    return bool(manifest.source) or ("source" in cls.spec.categories and bool(manifest.outs) and not manifest.on)


def _declare(part: Part, lanes: _Numbers, controls: _Numbers) -> _native.NodeDecl:
    manifest, spec = part.cls.manifest, part.cls.spec
    number: Callable[[Any], int] = lambda lane: lanes[lane.name]  # noqa: E731
    caused = {lane.name for _, _, emits in manifest.on.values() for lane in emits}
    return _native.NodeDecl(
        [_native.Handler(number(lane), [number(out) for out in emits]) for lane, _, emits in manifest.on.values()],
        [number(lane) for lane in manifest.outs if lane.name not in caused],
        [
            _native.Need(controls[control.name], arity.least, -1 if arity.most is None else arity.most)
            for control, arity in spec.needs.items()
        ],
        [controls[name] for name in manifest.offers],
        is_source(part.cls),
        spec.responds,
        spec.stores,
    )
