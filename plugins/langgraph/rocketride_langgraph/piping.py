# SPDX-License-Identifier: MIT
"""One tool of a pipeline, or a whole one, as a LangChain tool: called on threads and on loops, with its events, its errors, its documents."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from langchain_core.documents import Document
from langchain_core.runnables.config import ensure_config, get_async_callback_manager_for_config, get_callback_manager_for_config
from langchain_core.tools import ToolException
from pydantic import Field

from rocketride_core import (
    ANSWERS,
    TABLE,
    TEXT,
    Entry,
    Event,
    Json,
    Packet,
    Pipeline,
    Result,
    RunError,
    ToolError,
)

from .adapting import HostedTool
from .feeding import objects, responses, together
from .hosting import CALLS, Asked
from .jsontext import JsonText, json_text

__all__ = ["HostCall", "PipelineTool", "WholeRun"]

NOTHING = "The pipeline gave no response."


@attrs.define
class HostCall:
    """A call of one tool, as the entry of a pipeline that was made ready for it."""

    call: Asked

    @property
    def packet(self) -> Packet:
        return CALLS(self.call)

    def value(self, result: Result) -> Json:
        """What the tool gave.

        Raises:
            ToolError, RunError: it failed, or its entry did.
        """
        if self.call.error is not None:
            raise self.call.error
        result.checked()
        return self.call.result


@attrs.define
class WholeRun:
    """An entry of a pipeline as its host loaded it."""

    packet: Packet

    def value(self, result: Result) -> Json:
        return responses(result)


class PipelineTool(HostedTool):
    """A tool that is an entry of a pipeline.

    Each call is an entry of its own, so calls share nothing and may overlap. What the pipeline says meanwhile goes to the callbacks as
    custom events, `rocketride.token` for one, and to the stream writer of the graph it runs in. A call that is cancelled cancels its entry.

    Parameters:
        pipeline: holds the running pipeline, and closes it with its last holder.
        handler: makes an entry of arguments.
        seconds: the entry's time limit, None is none.
        whole: it runs everything: its content is what was responded, without the names of lanes where there is one. What nodes make
            meanwhile, such as attachments, is part of it.
    """

    pipeline: Any = Field(exclude=True, repr=False)
    handler: Callable[[dict[str, Any]], HostCall | WholeRun] = Field(exclude=True, repr=False)
    seconds: float | None = None
    whole: bool = False

    def _run(self, /, **arguments: Any) -> tuple[Any, Any]:
        try:
            job, pipeline = self.handler(arguments), self._pipeline()
            with pipeline.start(self._entry(), job.packet, timeout=self.seconds) as run:
                tell = self._teller()
                for event in run:
                    tell(event)
                result = run.result()
            return self._answer(job.value(result), result)
        except (ToolError, RunError) as error:
            raise ToolException(str(error)) from error

    async def _arun(self, /, **arguments: Any) -> tuple[Any, Any]:
        try:
            job, pipeline = self.handler(arguments), self._pipeline()
            async with pipeline.astart(self._entry(), job.packet, timeout=self.seconds) as run:
                manager, writer = get_async_callback_manager_for_config(ensure_config()), _writer()
                async for event in run:
                    said = self._said(event)
                    if manager.parent_run_id is not None and manager.handlers:
                        await manager.on_custom_event(f"rocketride.{event.kind}", said, run_id=manager.parent_run_id)
                    writer(said)
                result = await run
            return self._answer(job.value(result), result)
        except (ToolError, RunError) as error:
            raise ToolException(str(error)) from error

    def _pipeline(self) -> Pipeline:
        running: Pipeline = self.pipeline.running
        return running

    def _entry(self) -> Entry:
        # Stores know objects by their id, which is made of the name where it is not given: calls would be one object.
        return Entry(self.full_name, object_id=str(uuid.uuid4()))

    def _teller(self) -> Callable[[Event], None]:
        manager, writer = get_callback_manager_for_config(ensure_config()), _writer()

        def tell(event: Event) -> None:
            said = self._said(event)
            if manager.parent_run_id is not None and manager.handlers:
                manager.on_custom_event(f"rocketride.{event.kind}", said, run_id=manager.parent_run_id)
            writer(said)

        return tell

    def _said(self, event: Event) -> dict[str, Any]:
        return {"kind": event.kind, "tool": self.name, "component": event.component, "data": dict(event.data)}

    def _answer(self, value: Any, result: Result) -> tuple[Any, dict[str, Any]]:
        made = objects(result)
        if self.whole:
            value = together(value, made)
            content, told = _whole(value), [value]
        else:
            plain = isinstance(value, str)
            content, told = value if plain else JsonText(json_text(value)), [value, *(one.get("responses") for one in made)]
            if telling := [one for one in made if one.get("responses") or "error" in one]:
                content = JsonText(json_text({"result": value, "objects": telling}))
        entries = list(_entries(result))
        usage: dict[str, dict[str, float]] = {}
        for entry in entries:
            for component, counted in entry.usage.items():
                sums = usage.setdefault(component, {})
                sums |= {name: sums.get(name, 0) + amount for name, amount in counted.items()}
        warnings = [warning.message for entry in entries for warning in entry.warnings]
        documents = [document for one in told for document in _documents(one)]
        return content, {"value": value, "documents": documents, "objects": made, "usage": usage, "warnings": warnings}


def _entries(result: Result) -> Iterator[Result]:
    yield result
    for child in result.children:
        yield from _entries(child)


def _whole(value: Mapping[str, Sequence[Any]]) -> Any:
    if not value:
        return NOTHING
    if len(value) == 1:
        [(lane, found)] = value.items()
        if lane in (ANSWERS.name, TEXT.name, TABLE.name) and all(isinstance(one, str) for one in found):
            return "\n\n".join(found)
        return JsonText(json_text(found[0] if len(found) == 1 else found))
    return JsonText(json_text(value))


def _documents(value: Any) -> list[Document]:
    """The documents in a result: of a pipeline, of a store's search, of a `tool_pipe` that returns them as text."""
    if isinstance(value, Mapping):
        inner = next((value[key] for key in ("documents", "results", "result") if key in value), None)
        if isinstance(inner, str) and inner.startswith("[{"):
            try:
                inner = json.loads(inner)
            except ValueError:
                return []
        value = inner
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    found = [_document(one) for one in value if isinstance(one, Mapping)]
    return [one for one in found if one is not None]


def _document(one: Mapping[str, Any]) -> Document | None:
    text, metadata = one.get("page_content"), one.get("metadata")
    if text is None and isinstance(metadata, Mapping):
        text = one.get("content")
    if not isinstance(text, str):
        return None
    known = dict(metadata) if isinstance(metadata, Mapping) else {}
    if one.get("score") is not None:
        known.setdefault("score", one["score"])
    return Document(page_content=text, metadata=known)


def _writer() -> Callable[[Any], None]:
    """What streams `custom` out of the graph that this runs in; nothing is written where there is none."""
    if "langgraph" in sys.modules:
        from langgraph.config import get_stream_writer

        try:
            write: Callable[[Any], None] = get_stream_writer()
            return write
        except (KeyError, RuntimeError):
            pass
    return lambda said: None
