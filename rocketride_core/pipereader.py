# SPDX-License-Identifier: MIT
"""From JSON to a `PipeFile`, with every structural problem. Public through `rocketride_core.pipefile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .errors import Problem
from .pipemodel import Component, ControlLink, LaneLink, PipeFile, link_problems, unwrapped
from .reading import LISTED, LONGEST, child, listed

__all__ = ["EXAMPLE", "VERSION", "PipeReader"]

VERSION = 1

EXAMPLE = """write a list `components`, each with its inputs:
  {"components": [
    {"id": "chat_1", "provider": "chat", "config": {"mode": "Source"}},
    {"id": "out_1", "provider": "response_questions", "config": {}, "input": [{"lane": "questions", "from": "chat_1"}]}]}"""


class PipeReader:
    """Reads one file; what it finds wrong is added to `problems`."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self.file = file
        self.problems = problems

    def add(self, path: str, code: str, message: str, hint: str = "", component: str = "") -> None:
        listed(self.problems, lambda: Problem(path, code, message, hint, component, file=self.file))

    def pipe(self, root: Any) -> PipeFile:
        body, path = unwrapped(root)
        if not isinstance(body, Mapping):
            self.add(path, "not-a-pipeline", "Pipeline config must be an object", EXAMPLE)
            return PipeFile((), file=self.file)
        self.version(body.get("version"), f"{path}.version")
        source = body.get("source")
        if source is not None and not isinstance(source, str):
            self.add(f"{path}.source", "invalid-source", "'pipeline.source' must be a non-empty string")
        components = []
        for n, item in enumerate(self.listed(body, path)):
            components.append(self.component(item, f"{path}.components[{n}]", n))
            if len(self.problems) > LISTED:
                break
        pipe = PipeFile(
            [c for c in components if c is not None],
            source if isinstance(source, str) else "",
            raw=root,
            file=self.file,
        )
        self.problems += link_problems(pipe)
        return pipe

    def version(self, version: Any, path: str) -> None:
        if version is None:
            return
        if isinstance(version, bool) or not isinstance(version, int | float):
            self.add(path, "unsupported-version", "'pipeline.version' must be a number", f"write {VERSION}")
        elif version != VERSION:
            self.add(
                path, "unsupported-version", "'pipeline.version' is unsupported", f"it is {version}; this release reads {VERSION}"
            )

    def listed(self, body: Mapping[str, Any], path: str) -> Sequence[Any]:
        components = body.get("components")
        others = [key for key in ("nodes", "edges") if key in body]
        if others and not components:
            names = " and ".join(f"`{key}`" for key in others)
            self.add(path, "missing-components", f"'pipeline.components' must be an array; the file has {names}", EXAMPLE)
        elif isinstance(components, list | tuple):
            return components
        elif "components" in body:
            self.add(f"{path}.components", "missing-components", "'pipeline.components' must be an array", EXAMPLE)
        elif inner := [key for key, item in body.items() if isinstance(item, Mapping) and "components" in item]:
            message = f"not one RocketRide pipeline but several: {', '.join(inner[:8])}{', …' if len(inner) > 8 else ''}"
            self.add(path, "not-a-pipeline", message, "put each into a file of its own")
        elif {"source", "project_id", "version"} & set(body):
            self.add(path, "missing-components", "'pipeline.components' must be an array", EXAMPLE)
        else:
            self.add(path, "not-a-pipeline", "not a RocketRide pipeline: it has no `components`", EXAMPLE)
        return ()

    def component(self, item: Any, path: str, index: int) -> Component | None:
        if not isinstance(item, Mapping):
            self.add(path, "invalid-component", "Component must be an object")
            return None
        id = item.get("id")
        if not isinstance(id, str) or not id:
            self.add(f"{path}.id", "invalid-component", "Component 'id' must be a non-empty string")
            id = f"components[{index}]"
        shown = id if len(id) <= LONGEST else f"{id[: LONGEST - 1]}…"
        provider = item.get("provider")
        if not isinstance(provider, str) or not provider:
            message = f"Component {shown} 'provider' must be a non-empty string"
            self.add(f"{path}.provider", "invalid-component", message, component=id)
            provider = ""
        config = item.get("config")
        if not isinstance(config, Mapping):
            self.add(f"{path}.config", "missing-config", f"Component {shown} missing 'config' object", 'write "config": {}', id)
            config = {}
        name = item.get("name")
        return Component(
            id,
            provider,
            config,
            [
                LaneLink(lane, source, at=at, raw=raw)
                for lane, source, at, raw in self.links(item, "input", "lane", path, id, shown)
            ],
            [
                ControlLink(control, caller, at=at, raw=raw)
                for control, caller, at, raw in self.links(item, "control", "classType", path, id, shown)
            ],
            name if isinstance(name, str) else "",
            at=path,
            raw=item,
        )

    def links(
        self, item: Mapping[str, Any], kind: str, word: str, path: str, id: str, shown: str
    ) -> Iterable[tuple[str, str, str, Mapping[str, Any]]]:
        entries = item.get(kind)
        if entries is None:
            return
        if not isinstance(entries, list | tuple):
            self.add(f"{path}.{kind}", "invalid-link", f"Component {shown} {kind} must be an array", component=id)
            return
        for n, entry in enumerate(entries):
            if len(self.problems) > LISTED:  # nothing more will be listed, and the file is refused
                return
            at = f"{path}.{kind}[{n}]"
            if not isinstance(entry, Mapping):
                hint = f'write {{"{word}": …, "from": …}}'
                self.add(at, "invalid-link", f"Component {shown} {kind} entries must be objects", hint, id)
                continue
            found = {key: entry.get(key) for key in (word, "from")}
            for key, value in found.items():
                if not isinstance(value, str) or not value:
                    message = f"Component {shown} {kind} '{key}' must be a non-empty string"
                    self.add(child(at, key), "invalid-link", message, component=id)
            first, second = found.values()
            if isinstance(first, str) and isinstance(second, str) and first and second:
                yield first, second, at, entry
