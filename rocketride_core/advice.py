# SPDX-License-Identifier: MIT
"""What a graph that compiles still gets wrong: components out of reach, results that go nowhere, links that stay silent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs

from .embedders import embedding_problems
from .errors import Problem
from .pipefile import LaneLink
from .profiles import Resolved
from .wires import Wires

if TYPE_CHECKING:
    from .compiler import Part, Plan

__all__ = ["Advice"]

SHOWN = 8  # ids in one hint


class Advice:
    """Looks at one plan.

    Parameters:
        resolved: the configs, by component id.
        torn: whether links lead to components that do not exist; what would have reached a response is not known then.
    """

    def __init__(self, plan: Plan, resolved: Mapping[str, Resolved], *, torn: bool) -> None:
        self.plan, self.resolved, self.torn = plan, resolved, torn
        self.wires = Wires(plan.parts)

    def judged(self, told: Sequence[Problem]) -> list[Problem]:
        """The problems of the graph, without those that are not sure, and what else is to be said."""
        missing = {part.component.id for part in self.plan.parts if part.missing}
        out: list[Problem] = []
        lost: set[str] = set()
        for problem in told:
            if problem.code == "no-response":
                region = self.wires.behind([problem.component])
                if self.torn or region & missing:
                    continue
                lost |= region
            if problem.code == "reversed-control" and self._doubled(problem.component):
                hint = "remove it from this list: the called component has the link already"
                problem = attrs.evolve(problem, severity="warning", hint=hint)
            out.append(problem)
        out += self.unreachable(told, lost)
        out += self.nowhere(lost)
        out += self.never_caused(lost)
        out += embedding_problems(self.plan.parts, self.wires, self.resolved)
        return out

    def warn(self, part: Part, code: str, message: str, hint: str, path: str = "") -> Problem:
        return Problem(path or part.component.at, code, message, hint, part.component.id, "warning")

    def unreachable(self, told: Sequence[Problem], lost: set[str]) -> Iterator[Problem]:
        """Components to which nothing leads. The first one of a branch is told, with what hangs on it; all go to `lost`."""
        parts, wires = self.plan.parts, self.wires
        starts = [parts[n].component.id for n in {*self.plan.compiled.starts, self.plan.compiled.source} if n >= 0]
        if not starts and not any(part.missing for part in parts):
            return
        both_ways = {p.component for p in told if p.code == "reversed-control"}
        unsure = [p.component.id for p in parts if self._may_start(p)]
        edges = {id: [*wires.after.get(id, ()), *wires.called.get(id, ())] for id in wires.parts}
        for id in both_ways:
            edges[id] = [*edges[id], *(link.caller for link in wires.parts[id].component.control)]
        reached = _reach([*starts, *unsure], edges)
        left = dict.fromkeys(id for id in wires.parts if id not in reached)
        lost.update(left)
        places = {id: n for n, id in enumerate(left)}
        behind = {to for id in left for to in edges[id] if to != id}
        for id in [*(id for id in left if id not in behind), *left]:
            if id in left:
                branch = _reach([id], edges)
                others = sorted((other for other in branch if other in left and other != id), key=places.__getitem__)
                for one in (id, *others):
                    left.pop(one, None)
                tail = f"; behind it: {_listed(others)}" if others else ""
                message = f"nothing leads to {id}: no source feeds it, and no node calls it"
                yield self.warn(wires.parts[id], "unreachable-component", message, f"wire it, or remove it{tail}")

    def _doubled(self, id: str) -> bool:
        """Whether each link that stands on the wrong side stands on the right one too."""
        for link in self.wires.parts[id].component.control:
            other = self.wires.parts.get(link.caller)
            if other is None or link.control in {control.name for control in other.cls.spec.needs}:
                continue
            if (link.control, id) not in {(right.control, right.caller) for right in other.component.control}:
                return False
        return True

    def _may_start(self, part: Part) -> bool:
        """A missing node that nothing leads to may be a source; a link from nowhere is reported as such."""
        component = part.component
        if part.missing and not component.input and not component.control:
            return True
        return self.torn and any(link.source not in self.wires.parts for link in component.input)

    def nowhere(self, lost: set[str]) -> Iterator[Problem]:
        """Nodes that make something of what they get, for nobody."""
        for part in self.plan.parts:
            spec, manifest, id = part.cls.spec, part.cls.manifest, part.component.id
            if part.missing or id in lost or id in self.wires.after or spec.responds or spec.stores or manifest.source:
                continue
            fed = [link for link in part.component.input if link.lane in manifest.on and manifest.on[link.lane][2]]
            if not fed:
                continue
            made = list(dict.fromkeys(lane.name for link in fed for lane in manifest.on[link.lane][2]))
            past = self._past(fed, made)
            if past is None:
                message = f"nothing takes the {' and '.join(made)} of {id}"
                yield self.warn(part, "dead-end", message, "wire them on, or remove the component")
            else:
                other, link = past
                message = f"{other.component.id} takes '{link.lane}' from {link.source} past {id}, whose results go nowhere"
                hint = f'write "from": "{id}", if that is what it should give back'
                yield self.warn(other, "response-bypass", message, hint, f"{link.at}.from")

    def _past(self, fed: Sequence[LaneLink], made: Sequence[str]) -> tuple[Part, LaneLink] | None:
        """A response that gets from the same producer what it could get from this node."""
        for source in dict.fromkeys(link.source for link in fed):
            for id in self.wires.after.get(source, ())[:SHOWN]:
                other = self.wires.parts[id]
                if other.cls.spec.responds and any(lane in other.cls.manifest.on for lane in made):
                    return other, next(link for link in other.component.input if link.source == source)
        return None

    def never_caused(self, lost: set[str]) -> Iterator[Problem]:
        """Links on a lane that the producer emits only for inputs which nobody wired."""
        for part in self.plan.parts:
            for link in dict.fromkeys(part.component.input) if part.component.id not in lost else ():
                producer = self.wires.parts.get(link.source)
                if producer is None or producer.missing or not producer.component.input:
                    continue
                manifest = producer.cls.manifest
                causes = [name for name, (_, _, emits) in manifest.on.items() if any(lane.name == link.lane for lane in emits)]
                free = link.lane in {lane.name for lane in producer.cls.spec.emits} or manifest.source
                strange = any(wired.lane not in manifest.on for wired in producer.component.input)  # which is reported
                if causes and not free and not strange and not any(wired.lane in causes for wired in producer.component.input):
                    message = f"{link.source} emits '{link.lane}' only for {' and '.join(causes)}, which nothing sends it"
                    hint = f"wire {' or '.join(causes)} to {link.source}, or remove this link"
                    yield self.warn(part, "silent-edge", message, hint, f"{link.at}.lane")


def _reach(starts: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    reached = set(starts)
    todo = list(reached)
    while todo:
        for id in edges.get(todo.pop(), ()):
            if id not in reached:
                reached.add(id)
                todo.append(id)
    return reached


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids[:SHOWN]) + (", …" if len(ids) > SHOWN else "")
