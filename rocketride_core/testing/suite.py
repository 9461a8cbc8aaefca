# SPDX-License-Identifier: MIT
"""NodeSuite: what every node must keep to. Subclass it, name the node; pytest does the rest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import attrs
import pytest

from ..blob import Blob
from ..compiler import is_source
from ..controls import Control
from ..entry import Entry
from ..errors import EntryStopped
from ..lanes import Lane
from ..node import Node
from ..payloads import Answer, Document, Question
from ..profiles import resolve
from ..registry import Registry
from ..settings import Secret
from ..structure import aliases_of, build, class_problems, fields_of, keys_of
from ..toolschema import class_tools
from .harness import Harness, Outputs, node_harness

__all__ = ["NodeSuite"]

_OFFLINE = """
import socket, sys
def refuse(*args, **kwargs):
    raise OSError("the network is touched while importing")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = socket.getaddrinfo = refuse
import {module}
"""

SAMPLES: Mapping[str, Any] = {
    "text": "A sample text.",
    "table": "| a | b |\n| --- | --- |\n| 1 | 2 |",
    "questions": Question.of("What is a sample?"),
    "answers": Answer("A sample answer."),
    "documents": [Document("A sample document.", {"objectId": "sample", "chunkId": 0})],
}


class NodeSuite:
    """Attributes to set in a subclass:

    node: the class (required).
    config: as in a `.pipe`.
    send: payloads by lane for one entry; by default one sample for each lane of text, table, questions, answers, documents,
        and a small blob for the others.
    controls: what serves its slots.
    installed: it is found through an entry point; False for a node that lives in a test.
    """

    node: ClassVar[type[Node[Any]]]
    config: ClassVar[Mapping[str, Any]] = {}
    send: ClassVar[Mapping[str, Sequence[Any]] | None] = None
    controls: ClassVar[Mapping[Control[Any], object]] = {}
    installed: ClassVar[bool] = True

    def sent(self) -> Mapping[str, Sequence[Any]]:
        """What one entry sends."""
        if self.send is not None:
            return self.send
        lanes = self.node.manifest.outs if is_source(self.node) else [lane for lane, _, _ in self.node.manifest.on.values()]
        return {lane.name: [sample(lane)] for lane in lanes}

    def comparable(self, outputs: Outputs) -> Any:
        """What two runs of the same input must agree in; override it where ids or times differ."""
        return [(lane.name, payload) for lane, payload in outputs.packets]

    @pytest.fixture
    def harness(self) -> Any:
        with node_harness(self.node, config=self.config, controls=self.controls) as harness:
            yield harness

    # ---- what it says of itself

    def test_its_provider_is_found_through_its_entry_point(self) -> None:
        """Troubleshooting: `[project.entry-points."rocketride.nodes"]` needs `<provider> = "module:Class"`; install again."""
        if self.installed:
            assert Registry().find(self.node.spec.provider) is self.node

    def test_its_import_is_offline(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _OFFLINE.format(module=self.node.__module__)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if self.installed:
            assert done.returncode == 0, done.stderr

    def test_its_manifest_speaks(self) -> None:
        assert self.node.spec.title
        assert self.node.spec.provider == self.node.spec.provider.strip()
        assert self.node.manifest.on or self.node.manifest.outs or self.node.manifest.offers, "it takes, emits and serves nothing"

    def test_its_profiles_fit_its_config_class(self) -> None:
        if self.node.config_class is not None:
            assert not class_problems(self.node.config_class, self.node.spec.profiles)

    def test_its_config_hides_secrets(self) -> None:
        cls = self.node.config_class
        if cls is None:
            return
        secrets = {f.argument: Secret("planted-secret") for f in fields_of(cls) if f.secret}
        resolved = resolve(self.node.spec, self.config, keys=keys_of(cls), aliases=aliases_of(cls))
        rest = {f.keys[0]: "planted" for f in fields_of(cls) if f.secret and f.required} | dict(resolved.values)
        made, problems = build(cls, rest)
        assert made is not None, f"set `config` to one that the node takes: {problems}"
        assert "planted-secret" not in repr(attrs.evolve(made, **secrets))

    def test_its_tools_are_described_and_have_valid_schemas(self) -> None:
        """Troubleshooting: a tool's docstring is what a model reads; `Annotated[int, Param("How many")]` says what a parameter is."""
        import fastjsonschema

        for tool in class_tools(self.node):
            assert tool.description, f"{tool.name} needs a docstring"
            fastjsonschema.compile(dict(tool.input_schema))
            fastjsonschema.compile(dict(tool.output_schema or {}))

    # ---- how it runs

    def test_two_entries_give_the_same(self, harness: Harness) -> None:
        """Troubleshooting: what belongs to one entry lives in `instance.state(Cls)`, not on `self`."""
        first, second = harness.run(self.sent()), harness.run(self.sent())
        assert self.comparable(first) == self.comparable(second)

    def test_entries_at_once_do_not_mix(self, harness: Harness) -> None:
        alone = self.comparable(harness.run(self.sent()))
        with ThreadPoolExecutor(4) as threads:
            futures = [threads.submit(harness.run, self.sent()) for _ in range(8)]
            for future in futures:
                assert self.comparable(future.result()) == alone

    def test_an_empty_entry_is_fine(self, harness: Harness) -> None:
        assert harness.run({}, entry=Entry("empty")).error is None

    def test_it_lets_a_failure_downstream_pass(self) -> None:
        """Troubleshooting: `except BaseException` around an emit swallows EntryStopped; catch Exception at most."""

        def broken(lane: Lane[Any], payload: Any) -> None:
            raise ConnectionError("downstream is broken")

        with node_harness(self.node, config=self.config, controls=self.controls, consumer=broken) as harness:
            outputs = harness.run(self.sent(), check=False)
            if outputs.error is not None:
                assert outputs.error.component == "recorder", f"it hides who failed: {outputs.error!r}"
                assert not isinstance(outputs.error.__cause__, EntryStopped)
            assert harness.run({}, entry=Entry("next")).error is None

    def test_called_and_on_its_lanes_it_keeps_two_states(self) -> None:
        """A node that is called over a control edge and stands on a lane has two instances in one entry."""
        if not self.node.manifest.offers or is_source(self.node):
            return
        with node_harness(self.node, config=self.config, controls=self.controls, called=True) as harness:
            first, second = harness.run(self.sent()), harness.run(self.sent())
            assert self.comparable(first) == self.comparable(second)

    def test_it_begins_and_ends_twice(self) -> None:
        for _ in range(2):
            with node_harness(self.node, config=self.config, controls=self.controls) as harness:
                assert harness.node.id == "node"


def sample(lane: Lane[Any]) -> Any:
    """A payload for a lane of the core; for a lane of a third party, set `send`."""
    if lane.name in SAMPLES:
        return SAMPLES[lane.name]
    if lane.item is Blob:
        kind = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}.get(lane.name, "text/plain")
        return Blob.of(b"A sample file.", mime_type=kind, name="sample.txt")
    if attrs.has(lane.item) or lane.many:
        raise ValueError(f"there is no sample for lane '{lane.name}': set `send` in the suite's subclass")
    return lane.item()
