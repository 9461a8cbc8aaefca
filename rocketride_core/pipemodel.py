# SPDX-License-Identifier: MIT
"""What a `.pipe` says, as frozen classes. Public through `rocketride_core.pipefile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from .errors import Problem
from .payloads import Arguments
from .reading import LONGEST, closest, listed

HINTED = 50  # problems that get a guess of what was meant; a file with more is wrong altogether, and guesses cost time
COMPARED = 5000  # words that all guesses of one kind may look at

__all__ = ["Component", "ControlLink", "LaneLink", "PipeFile", "link_problems", "unwrapped"]


def _lanes(links: Iterable[LaneLink]) -> tuple[LaneLink, ...]:
    return tuple(links)


def _controls(links: Iterable[ControlLink]) -> tuple[ControlLink, ...]:
    return tuple(links)


def _components(components: Iterable[Component]) -> tuple[Component, ...]:
    return tuple(components)


@attrs.frozen
class LaneLink:
    """A data edge into the component that holds it.

    Parameters:
        lane: name of the lane.
        source: id of the component that emits on it; `from` in the file.
        at: JSON path of the link.
        raw: what the file says.
    """

    lane: str
    source: str
    at: str = attrs.field(default="", kw_only=True, eq=False, repr=False)
    raw: Arguments = attrs.field(factory=dict, kw_only=True, eq=False, repr=False)


@attrs.frozen
class ControlLink:
    """Says that the component that holds it is called by another.

    Parameters:
        control: name of the control; `classType` in the file.
        caller: id of the calling component; `from` in the file.
        at: JSON path of the link.
        raw: what the file says.
    """

    control: str
    caller: str
    at: str = attrs.field(default="", kw_only=True, eq=False, repr=False)
    raw: Arguments = attrs.field(factory=dict, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Component:
    """One node of a pipeline.

    Parameters:
        id: unique in the file; `components[3]` where a broken file gives none.
        provider: which node it is; "" where a broken file gives none.
        config: as written: profiles and variables unresolved. Not in the repr, because it may hold secrets.
        input: data edges into it, in file order, duplicates kept.
        control: its callers.
        name: display name.
        at: JSON path of the component.
        raw: what the file says, unknown keys and `ui` included.
    """

    id: str
    provider: str
    config: Arguments = attrs.field(factory=dict, repr=False)
    input: Sequence[LaneLink] = attrs.field(default=(), converter=_lanes)
    control: Sequence[ControlLink] = attrs.field(default=(), converter=_controls)
    name: str = ""
    at: str = attrs.field(default="", kw_only=True, eq=False, repr=False)
    raw: Arguments = attrs.field(factory=dict, kw_only=True, eq=False, repr=False)


@attrs.frozen
class PipeFile:
    """What a `.pipe` says. Components made in code get `at` paths by their position.

    Parameters:
        components: in file order.
        source: id of the component that starts the pipeline, "" where the file names none.
        raw: the whole file as read, wrapper included.
        file: its name.
    """

    components: Sequence[Component] = attrs.field(converter=_components)
    source: str = ""
    raw: Arguments = attrs.field(factory=dict, kw_only=True, eq=False, repr=False)
    file: str = attrs.field(default="", kw_only=True, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if not all(c.at for c in self.components):
            placed = [c if c.at else _placed(c, f"$.components[{n}]") for n, c in enumerate(self.components)]
            object.__setattr__(self, "components", tuple(placed))


def _placed(component: Component, at: str) -> Component:
    return attrs.evolve(
        component,
        at=at,
        input=[attrs.evolve(link, at=f"{at}.input[{n}]") for n, link in enumerate(component.input)],
        control=[attrs.evolve(link, at=f"{at}.control[{n}]") for n, link in enumerate(component.control)],
    )


def link_problems(pipe: PipeFile) -> list[Problem]:
    """Duplicate ids, links to components that do not exist, and a `source` that does not exist.

    `parse_pipe` reports them; for a `PipeFile` made in code, ask here.
    """
    problems: list[Problem] = []
    ids: dict[str, Component] = {}
    for component in pipe.components:
        first = ids.setdefault(component.id, component)
        if first is not component:
            listed(problems, lambda: _duplicate(component, first, pipe.file))  # noqa: B023 - called at once
    hinted = min(HINTED, COMPARED // (len(ids) or 1))
    for component in pipe.components:
        links = [("input", link.source, link.at) for link in component.input]
        links += [("control", link.caller, link.at) for link in component.control]
        for kind, target, at in links:
            if target not in ids:
                hint = _meant(target, ids) if len(problems) < hinted else ""
                listed(problems, lambda: _dangling(component, kind, target, at, hint, pipe.file))  # noqa: B023 - at once
    if pipe.source and ids and pipe.source not in ids:
        message = f"'pipeline.source' references unknown component id: {_shown(pipe.source)}"
        at = f"{unwrapped(pipe.raw)[1]}.source"
        problems.append(Problem(at, "unknown-source", message, _meant(pipe.source, ids), file=pipe.file))
    return problems


def _duplicate(component: Component, first: Component, file: str) -> Problem:
    message = f"Duplicate component {_shown(component.id)}"
    return Problem(f"{component.at}.id", "duplicate-id", message, f"{first.at} has this id already", component.id, file=file)


def _dangling(component: Component, kind: str, target: str, at: str, hint: str, file: str) -> Problem:
    message = f"Component {_shown(component.id)} {kind} references unknown component id: {_shown(target)}"
    return Problem(f"{at}.from", "dangling-link", message, hint, component.id, file=file)


def _shown(id: str) -> str:
    return id if len(id) <= LONGEST else f"{id[: LONGEST - 1]}…"


def _meant(word: str, ids: Iterable[str]) -> str:
    known = list(ids)
    found = closest(word, known) if len(known) <= COMPARED else ""
    return f"did you mean {found}?" if found else ""


def unwrapped(root: Any) -> tuple[Any, str]:
    """What is inside of any number of `{"pipeline": …}`, and its JSON path."""
    path = "$"
    while isinstance(root, Mapping) and isinstance(root.get("pipeline"), Mapping) and "components" not in root:
        root, path = root["pipeline"], f"{path}.pipeline"
    return root, path
