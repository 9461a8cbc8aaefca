# SPDX-License-Identifier: MIT
"""The tools as a model meets them: every outcome is an observation, mistakes say what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import attrs

from rocketride_core import (
    Json,
    Tool,
    ToolCall,
    ToolCatalog,
    ToolDenied,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    UnknownTool,
)

from .errors import kind_of, text_of
from .observations import READ, Observations, dumped

__all__ = ["ToolView", "resolve"]

MOST_REPEATS = 2  # of one call with the same arguments in a row; a third is stopped


def resolve(name: str, known: Iterable[str]) -> str:
    """The full name that a model means: in quotes, in another case, with `_` for the dot, or without the component. "" if unclear."""
    bare = name.strip().strip("`'\"*[]<> ").removesuffix("()").rstrip(".:")
    names = list(known)
    if bare in names:
        return bare
    for key in (_loose, lambda one: _loose(one.rpartition(".")[2])):
        found = [one for one in names if key(one) == _loose(bare)]
        if found:
            return found[0] if len(found) == 1 else ""
    return ""


def _loose(name: str) -> str:
    return re.sub(r"[^0-9a-z]+", "_", name.lower())


@attrs.define
class _Pending:
    call: ToolCall
    name: str
    observation: Json = None
    ready: bool = False  # to be given to its tool
    wrong: bool = False  # the observation is an error


class ToolView:
    """What one run sees of its tools.

    Parameters:
        catalog: the tools that are connected.
        limit: characters of an observation, 0 for no limit.
        reraise: names of exceptions that end the run instead of being observed.
        on_call: told the name before a tool is called.
        redact: takes the secrets out of the text of an error.
    """

    def __init__(
        self,
        catalog: ToolCatalog,
        *,
        limit: int = 0,
        reraise: Sequence[str] = (),
        on_call: Callable[[str], None] = lambda name: None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._catalog, self._reraise, self._on_call, self._redact = catalog, frozenset(reraise), on_call, redact
        self._observations, self._limit = Observations(limit), limit
        self._listed: dict[str, Tool] | None = None
        self._missed: set[str] = set()
        self._last, self._times = "", 0
        self.calls = 0
        self.steps: list[dict[str, Json]] = []
        self.raised: ToolError | None = None

    @property
    def connected(self) -> Mapping[str, Tool]:
        """By full name.

        Raises:
            ToolFailure: a provider cannot list its tools.
        """
        if self._listed is None:
            self._listed = {tool.name: tool for tool in self._catalog}
        return self._listed

    def offered(self) -> list[Tool]:
        """What a model is offered now: the connected tools, and the one that reads on once something was cut."""
        return [*self.connected.values(), *([self._observations.tool] if self._observations.any else [])]

    def find(self, name: str) -> Tool | None:
        """The tool that a model means by a name.

        One that is not there is looked for once more in each turn, since tools may appear later.
        """
        found = self._known(name)
        if found is None and name not in self._missed:
            with suppress(ToolError):
                self._catalog.check(name, {})  # the catalog asks the provider of such a name again
            self._listed = None
            found = self._known(name)
            if found is None:
                self._missed.add(name)
        return found

    def _known(self, name: str) -> Tool | None:
        there = {tool.name: tool for tool in self.offered()}
        return there.get(resolve(name, there))

    def call(self, name: str, arguments: Mapping[str, Json]) -> str:
        return self.call_all([ToolCall("", name, arguments)])[0]

    def call_all(self, calls: Sequence[ToolCall]) -> list[str]:
        """The calls of one turn, in parallel where they may; the observations in their order. Each is a step.

        Raises:
            ToolError: one that is named in `reraise`; its steps are recorded.
        """
        pending = [self._prepared(call) for call in calls]
        self._missed.clear()
        ready = [one for one in pending if one.ready]
        for one in ready:
            self._on_call(one.name)
        for one, outcome in zip(ready, self._outcomes(ready), strict=True):
            # Refused before the tool was reached: that is no call of it.
            self.calls += not isinstance(outcome, UnknownTool | ToolInput | ToolDenied)
            one.wrong = isinstance(outcome, ToolError)
            one.observation = self._failed(one.name, outcome) if isinstance(outcome, ToolError) else outcome
        told = [self._record(one) for one in pending]
        if self.raised is not None:
            raise self.raised
        return told

    def _outcomes(self, ready: Sequence[_Pending]) -> Sequence[Json | ToolError]:
        try:
            return self._catalog.call_all([(one.name, one.call.arguments) for one in ready])
        except Exception as error:  # noqa: BLE001 - as one whose own text fails, which nobody could make a ToolError of
            failures = [ToolFailure(f"{one.name}: {text_of(error)}", tool=one.name) for one in ready]
            for failure in failures:
                failure.__cause__ = error
            return failures

    def _prepared(self, call: ToolCall) -> _Pending:
        tool = self.find(call.name)
        if tool is None:
            there = f"there are: {', '.join(self.connected)}" if self.connected else "no tools are connected"
            error = f"Tool {call.name} not found in tool catalog; {there}"
            return _Pending(call, call.name, _observed(call.name, error, "UnknownTool"), wrong=True)
        one, name = _Pending(call, tool.name), tool.name
        if call.broken:
            wrong = f"the arguments are no JSON object: {call.broken[:200]}; {name} takes: {_takes(tool)}"
            return _Pending(call, name, _observed(name, wrong, "ToolInput"), wrong=True)
        try:
            if name == READ:
                one.observation = self._observations.read(call.arguments)
                return one
            self._catalog.check(name, call.arguments)
        except ToolError as error:
            wrong = f"{self._redact(text_of(error))}; {name} takes: {_takes(tool)}"
            return _Pending(call, name, _observed(name, wrong, kind_of(error)), wrong=True)
        same = f"{name} {dumped(call.arguments)}"
        self._times = self._times + 1 if same == self._last else 1
        self._last = same
        if self._times > MOST_REPEATS:
            wrong = (
                f"{name} was called with the same arguments {MOST_REPEATS} times in a row already, so it was not called again; "
                "use what it gave, call it with other arguments, or answer"
            )
            return _Pending(call, name, _observed(name, wrong, "RepeatedCall"), wrong=True)
        one.ready = True
        return one

    def _failed(self, name: str, error: ToolError) -> Json:
        if self.raised is None and self._reraise & _names(error):
            self.raised = error
        text = self._redact(text_of(error))
        if self._limit and len(text) > self._limit:
            text = f"{text[: self._limit]} [cut: {len(text)} characters]"
        if isinstance(error, ToolTimeout):
            text += "; it may have been carried out all the same: call it again only if doing it twice does no harm"
        return _observed(name, text, kind_of(error))

    def _record(self, one: _Pending) -> str:
        """The observation as a model reads it. The step keeps the value, or the text where it was cut."""
        value = one.observation
        page = one.name == READ and isinstance(value, str)
        text = str(value) if page else dumped(value) if one.wrong else self._observations.shown(value)
        whole = text == value or text == dumped(value)
        asked: Json = one.call.broken or dict(one.call.arguments)
        self.steps.append({"action": one.name, "action_input": asked, "observation": value if whole else text})
        return text


def _observed(tool: str, error: str, type: str) -> Json:
    return {"tool": tool, "error": error, "type": type}


def _names(error: ToolError) -> set[str]:
    """The names of its classes, and of those of what the tool raised."""
    cause = error.__cause__
    return {cls.__name__ for one in (error, cause) if one is not None for cls in type(one).__mro__}


def _takes(tool: Tool) -> str:
    properties, required = tool.input_schema.get("properties"), tool.input_schema.get("required")
    if not isinstance(properties, Mapping) or not properties:
        return "no arguments"
    must = required if isinstance(required, list | tuple) else ()
    told = []
    for name, schema in properties.items():
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        said = [kind] if isinstance(kind, str) else []
        told.append(f"{name} ({', '.join([*said, 'required' if name in must else 'optional'])})")
    return ", ".join(told)
