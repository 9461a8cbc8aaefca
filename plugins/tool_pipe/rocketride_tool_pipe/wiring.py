# SPDX-License-Identifier: MIT
"""What a file lets one foresee: a tool that runs nothing, whose results are lost, or that no agent will choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from rocketride_core import Component, NodeSpec, PipeFile, PluginError

__all__ = ["Finding", "findings"]


@attrs.frozen
class Finding:
    """A warning; `path` is relative to the component's config."""

    code: str
    message: str
    hint: str
    path: str = ""


def findings(
    component: Component, pipe: PipeFile, spec: Callable[[str], NodeSpec], return_type: str, description: str
) -> Iterator[Finding]:
    """The warnings about one `tool_pipe`.

    Parameters:
        spec: of a provider; PluginError where there is none, of which nothing is said here.
    """
    me = component.id
    if not description:
        message = f"{me} has no tool_description, so an agent cannot tell when to call it"
        yield Finding("empty-description", message, "say in a sentence what it does and for what", "tool_description")
    branches = _Branches(me, pipe, spec)
    if not branches.reached:
        message = f"{me} has no output lane wired: its tool runs nothing"
        yield Finding("no-output", message, "wire questions, documents, table, text or answers of it to a node")
        return
    if not branches.kept:
        return  # the kernel says so: no-response
    for end in branches.lost:
        message = f"{end} ends a branch of {me} and is no response node: what it produces is lost"
        yield Finding("no-response", message, f"wire {end} to a response node")
    if branches.responses and return_type not in branches.responses:
        message = f"{me} returns '{return_type}', but its branches respond on: {', '.join(sorted(branches.responses))}"
        yield Finding("return-type", message, "choose one of these, or add a response node", "return_type")


class _Branches:
    """The nodes behind a component.

    Attributes:
        reached: their ids.
        lost: ids of those that end a branch, respond nothing and keep nothing.
        kept: some node responds or stores.
        responses: the lanes that come to responding nodes.
    """

    def __init__(self, start: str, pipe: PipeFile, spec: Callable[[str], NodeSpec]) -> None:
        consumers: dict[str, list[str]] = {}
        for one in pipe.components:
            for link in one.input:
                consumers.setdefault(link.source, []).append(one.id)
        todo, self.reached = list(consumers.get(start, ())), dict[str, None]()
        while todo:
            if (id := todo.pop(0)) not in self.reached and id != start:
                self.reached[id] = None
                todo.extend(consumers.get(id, ()))
        known = {one.id: one for one in pipe.components}
        self.lost: list[str] = []
        self.kept, self.responses = False, set[str]()
        for id in self.reached:
            try:
                said = spec(known[id].provider)
            except PluginError:
                self.kept = True  # nobody knows; that it is missing is reported already
                continue
            if said.responds:
                links = known[id].input
                self.responses.update(link.lane for link in links if link.source == start or link.source in self.reached)
            if said.responds or said.stores:
                self.kept = True
            elif id not in consumers:
                self.lost.append(id)
