# SPDX-License-Identifier: MIT
"""The node: a tool on one side, the start of a sub-pipeline on the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    TABLE,
    TEXT,
    Answer,
    Arguments,
    Component,
    Document,
    Expansion,
    Instance,
    Json,
    Lane,
    Node,
    NodeSpec,
    Profile,
    Question,
    Run,
    RunError,
    Tool,
    ToolError,
    ToolFailure,
    ToolInput,
    hookimpl,
    setting,
)

from .arguments import normalised
from .extraction import RETURN_TYPES, answered_on, extracted
from .wiring import findings

__all__ = ["RunPipe", "ToolPipe", "ToolPipeConfig"]

DEFAULT_DESCRIPTION = "Accepts a text input and returns the pipeline result."
BAD_RETURN_TYPE = f"tool_pipe: return_type must be one of {sorted(RETURN_TYPES)}"
INPUT: Arguments = {
    "type": "object",
    "properties": {"data": {"type": "string", "minLength": 1, "description": "The input of the pipeline."}},
    "required": ["data"],
}


def _document(data: str, child: Run) -> Sequence[Document]:
    return [Document(data, {"objectId": child.entry.object_id, "chunkId": 0})]


PAYLOADS: Sequence[tuple[Lane[Any], Callable[[str, Run], Any]]] = (
    (QUESTIONS, lambda data, _: Question.of(data)),
    (DOCUMENTS, _document),
    (TABLE, lambda data, _: data),
    (TEXT, lambda data, _: data),
    (ANSWERS, lambda data, _: Answer(data)),
)


@attrs.frozen(kw_only=True)
class ToolPipeConfig:
    tool_description: str = setting(
        "",
        title="Tool Description",
        widget="textarea",
        doc="What the sub-pipeline is good for, in a sentence: by it an agent decides when to call this tool.",
    )
    return_type: str = setting(
        "text",
        choices=tuple(RETURN_TYPES),
        title="Return Type",
        doc="The lane whose response the agent gets.",
    )


@attrs.frozen(kw_only=True)
class AsWritten:
    """The config before anything is known to be right."""

    tool_description: Any = setting("")
    return_type: Any = setting("text")


class RunPipe(Tool):
    """The tool. It takes its input in more shapes than its schema tells an agent to use."""

    def checked(self, arguments: Arguments) -> Arguments:
        try:
            return normalised(arguments)
        except ToolInput as error:
            error.tool = self.name
            raise


class ToolPipe(Node[ToolPipeConfig]):
    """The nodes wired behind it are a tool of the agents it is wired to.

    Each call is an entry of its own: opened, fed on every wired lane, flushed in dependency order, closed. Calls share
    nothing, and what a call responds does not reach the response of the agent's own entry.
    """

    spec = NodeSpec(
        "tool_pipe",
        title="Pipeline Tool",
        description="A sub-pipeline as a tool of an agent.",
        categories=["tool"],
        emits=[lane for lane, _ in PAYLOADS],
        profiles=[Profile("default", {"tool_description": "", "return_type": "text"}, title="Pipeline Tool")],
        tile=["run_pipe"],
    )

    tool: RunPipe

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        written = context.config(AsWritten)
        kind = _bare(written.return_type)
        if kind is None:
            context.problem("invalid-value", BAD_RETURN_TYPE, path=_path(_place(component.config, "return_type")))
            kind = "text"
        if not component.input:
            told = written.tool_description
            said = told.strip() if isinstance(told, str) else "wrong, and reported as such"
            for found in findings(component, context.pipe, context.spec, kind, said):
                context.problem(found.code, found.message, path=found.path, hint=found.hint, severity="warning")
        if written.return_type == kind:
            return None
        return [attrs.evolve(component, config=_with(component.config, _place(component.config, "return_type"), kind))]

    @hookimpl
    def begin_global(self) -> None:
        result = {"type": "string", "description": RETURN_TYPES[self.config.return_type][2]}
        self.tool = RunPipe(
            "run_pipe",
            self.config.tool_description.strip() or DEFAULT_DESCRIPTION,
            INPUT,
            self.run_pipe,
            {"type": "object", "properties": {"result": result}, "required": ["result"]},
            concurrent=True,
        )

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        return [self.tool]

    def run_pipe(self, instance: Instance, arguments: Arguments) -> Mapping[str, Json]:
        """One run of the sub-pipeline on arguments that are checked: `{"result": text}`.

        Raises:
            ToolFailure: a node of the sub-pipeline failed; `component` is the innermost one.
        """
        data = cast(str, arguments["data"])
        with instance.nested() as child:
            for lane, make in PAYLOADS:
                if child.wants(lane):
                    child.send(lane(make(data, child)))
        result = child.result()
        if result.error is not None:
            raise self._failure(result.error) from result.error
        text = extracted(result, self.config.return_type)
        if text is None:
            lanes = ", ".join(answered_on(result)) or "no lane"
            instance.warn(
                "empty-result", f"nothing was produced on '{self.config.return_type}'; the pipeline answered on {lanes}"
            )
        return {"result": text or ""}

    def _failure(self, error: RunError) -> ToolFailure:
        component, cause = error.component, error.__cause__
        while cause is not None:
            if isinstance(cause, RunError | ToolError):
                component = getattr(cause, "component", "") or component
            cause = cause.__cause__
        said = str(error) if component in str(error) else f"{component}: {error}"
        name = f"{self.id}.run_pipe"
        return ToolFailure(f"{name}: {said}", tool=name, component=component)


def _bare(written: object) -> str | None:
    """The return type that is meant, None for one that does not exist."""
    if not isinstance(written, str):
        return None
    if "${" in written:  # a variable that is not set, which is reported; what it would say nobody knows
        return written
    kind = written.strip() or "text"
    return kind if kind in RETURN_TYPES else None


def _place(config: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Where a value stands in a config, flat or by profile; strongest first, as the kernel reads it."""
    profile = config.get("profile")
    blocks: list[tuple[str, ...]] = [(name, key) for name in (profile or "default", "parameters")]
    dotted = [(name,) for name in config if name.endswith(f".{key}")]
    places = [blocks[0], (key,)] if profile else [(key,), blocks[0]]
    for place in (*places, *dotted, blocks[1]):
        at: Any = config
        for step in place:
            at = at.get(step) if isinstance(at, Mapping) else None
        if at is not None:
            return place
    return (key,)


def _path(place: Sequence[str]) -> str:
    return f'["{place[0]}"]' if "." in place[0] else ".".join(place)


def _with(config: Mapping[str, Any], place: tuple[str, ...], value: str) -> dict[str, Any]:
    first, *rest = place
    return {**config, first: _with(config[first], tuple(rest), value) if rest else value}
