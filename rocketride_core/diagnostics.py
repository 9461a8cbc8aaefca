# SPDX-License-Identifier: MIT
"""The words for what the native graph compile finds, with JSON paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _native
from .errors import Problem
from .pipefile import ControlLink, LaneLink, PipeFile

if TYPE_CHECKING:
    from .compiler import Plan

__all__ = ["graph_problems"]

Code = _native.Code


def graph_problems(plan: Plan, pipe: PipeFile) -> list[Problem]:
    told = _Told(plan)
    return [told.problem(found, pipe.file) for found in plan.compiled.problems]


class _Told:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        known = {part.component.id for part in plan.parts}
        components = [part.component for part in plan.parts]
        self.links: list[LaneLink] = [link for c in components for link in c.input if link.source in known]
        self.controls: list[ControlLink] = [link for c in components for link in c.control if link.caller in known]
        self.control_names = list(plan.controls)

    def id(self, node: int) -> str:
        return self.plan.parts[node].component.id

    def named(self, node: int) -> str:
        return f'"{self.plan.parts[node].cls.spec.title}" ({self.id(node)})'

    def at(self, node: int) -> str:
        return self.plan.parts[node].component.at if node >= 0 else "$.components"

    def lane(self, found: _native.Diagnostic) -> str:
        return self.plan.lanes[found.lane_or_control]

    def control(self, found: _native.Diagnostic) -> str:
        return self.control_names[found.lane_or_control]

    def problem(self, found: _native.Diagnostic, file: str) -> Problem:
        code, path, message, hint = _WORDS[found.code](self, found)
        component = self.id(found.node) if found.node >= 0 else ""
        return Problem(path, code, message, hint, component, "error" if found.error else "warning", file)


Words = tuple[str, str, str, str]


def _port_cycle(t: _Told, f: _native.Diagnostic) -> Words:
    ids = [t.id(n) for n in f.nodes]
    path = "".join(f"{id}-[{t.plan.lanes[lane]}]->" for id, lane in zip(ids, f.lanes, strict=True)) + ids[0]
    return (
        "port-cycle",
        t.links[f.link].at if f.link >= 0 else t.at(f.node),
        f"Cycle detected in pipeline: {path}",
        "remove one of these links",
    )


def _control_cycle(t: _Told, f: _native.Diagnostic) -> Words:
    at = t.controls[f.link].at if f.link >= 0 else t.at(f.node)
    return (
        "control-cycle",
        at,
        f"control cycle: {', '.join(t.id(n) for n in f.nodes)}",
        "a node may not call itself, directly or through others",
    )


def _shared_with_main(t: _Told, f: _native.Diagnostic) -> Words:
    message = (
        f"Control node {t.named(f.nodes[0])} reaches node {t.named(f.node)} that the main flow owns; "
        "a control node's sub-pipeline must not be shared with the main pipeline or another start"
    )
    return "shared-with-main", t.at(f.node), message, f"give {t.id(f.nodes[0])} a copy of {t.id(f.node)} of its own"


def _two_owners(t: _Told, f: _native.Diagnostic) -> Words:
    one, two = f.nodes
    message = (
        f"Pipeline node {t.named(f.node)} is reachable from two control roots ( {t.named(one)} and {t.named(two)} ) "
        "- a node has exactly one lifecycle owner"
    )
    return (
        "two-owners",
        t.at(f.node),
        message,
        f"give each of them a copy of {t.id(f.node)}, or let both agents call one of the two",
    )


def _missing_control(t: _Told, f: _native.Diagnostic) -> Words:
    control = t.control(f)
    hint = f'the {control} node lists its caller: "control": [{{"classType": "{control}", "from": "{t.id(f.node)}"}}]'
    return "missing-control", t.at(f.node), f"{t.named(f.node)} needs one '{control}'", hint


def _too_many_controls(t: _Told, f: _native.Diagnostic) -> Words:
    wired = ", ".join(t.id(n) for n in f.nodes)
    return "too-many-controls", t.at(f.node), f"{t.named(f.node)} takes one '{t.control(f)}', not {f.count}", f"wired are {wired}"


def _reversed_control(t: _Told, f: _native.Diagnostic) -> Words:
    listed = ", ".join(t.id(n) for n in f.nodes)
    hint = f'move it to {listed}: "control": [{{"classType": "{t.control(f)}", "from": "{t.id(f.node)}"}}]'
    at = f"{t.at(f.node)}.control"
    return "reversed-control", at, f"{t.id(f.node)} lists what it calls; the list belongs on the called component", hint


def _undeclared_slot(t: _Told, f: _native.Diagnostic) -> Words:
    caller = t.plan.parts[f.nodes[0]]
    slots = ", ".join(control.name for control in caller.cls.spec.needs) or "none"
    message = f"{caller.component.id} has no slot '{t.control(f)}' for {t.id(f.node)}"
    if t.control(f) in {control.name for control in caller.cls.spec.needs}:
        serves = ", ".join(t.plan.parts[f.node].cls.manifest.offers) or "nothing"
        return "undeclared-slot", f"{t.controls[f.link].at}.classType", message, f"{t.id(f.node)} serves {serves}"
    return "undeclared-slot", f"{t.controls[f.link].at}.classType", message, f"its slots: {slots}"


def _no_response(t: _Told, f: _native.Diagnostic) -> Words:
    hint = "wire its end to a response node, or its results are lost"
    return "no-response", t.at(f.node), f"{t.id(f.node)} reaches no response", hint


def _ambiguous_source(t: _Told, f: _native.Diagnostic) -> Words:
    starts = ", ".join(t.id(n) for n in f.nodes)
    hint = f'write "source": "{t.id(f.nodes[0])}" into the file, or choose one when you run it'
    return "ambiguous-source", "$.components", f"choose a source: {starts}", hint


def _accepts(t: _Told, node: int) -> str:
    lanes = ", ".join(t.plan.parts[node].cls.manifest.on)
    return f"it accepts: {lanes}" if lanes else "it takes no input"


def _unknown_lane(t: _Told, f: _native.Diagnostic) -> Words:
    message = f"Component {t.id(f.node)} input lane {t.lane(f)} not found in service definition"
    return "unknown-lane", f"{t.links[f.link].at}.lane", message, _accepts(t, f.node)


def _silent_undeclared_input(t: _Told, f: _native.Diagnostic) -> Words:
    message = f"{t.id(f.node)} does not take '{t.lane(f)}' from {t.id(f.nodes[0])}"
    return "silent-edge", f"{t.links[f.link].at}.lane", message, _accepts(t, f.node)


def _silent_never_emitted(t: _Told, f: _native.Diagnostic) -> Words:
    emits = ", ".join(lane.name for lane in t.plan.parts[f.nodes[0]].cls.manifest.outs)
    message = f"{t.id(f.nodes[0])} never emits '{t.lane(f)}', which {t.id(f.node)} waits for"
    return "silent-edge", f"{t.links[f.link].at}.lane", message, f"it emits: {emits}" if emits else "it emits nothing"


_WORDS: dict[_native.Code, Callable[[_Told, _native.Diagnostic], Words]] = {
    Code.port_cycle: _port_cycle,
    Code.control_cycle: _control_cycle,
    Code.shared_with_main: _shared_with_main,
    Code.two_owners: _two_owners,
    Code.missing_control: _missing_control,
    Code.too_many_controls: _too_many_controls,
    Code.reversed_control: _reversed_control,
    Code.undeclared_slot: _undeclared_slot,
    Code.no_response: _no_response,
    Code.ambiguous_source: _ambiguous_source,
    Code.silent_undeclared_input: _silent_undeclared_input,
    Code.silent_never_emitted: _silent_never_emitted,
    Code.unknown_lane: _unknown_lane,
}
