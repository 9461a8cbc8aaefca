# SPDX-License-Identifier: MIT
"""What odd nodes, hosts and files do: a clear error each time, nothing lost, and the next entry goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nodes import alone, entry, opened, run

from rocketride_core import (
    DOCUMENTS,
    TEXT,
    Blob,
    Entry,
    Instance,
    InvalidNode,
    Kernel,
    Node,
    NodeSpec,
    PipeError,
    PluginLoad,
    RunError,
    RunTimeout,
    on,
)
from rocketride_core.pipefile import Component, LaneLink, PipeFile, parse_pipe

LINE = ("a: do < text start", "r: respond < text a")


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Noted(ValueError):
    __notes__ = 5  # type: ignore[assignment]


@pytest.mark.parametrize("error", [Wordless(), Noted("x")])
def test_an_exception_that_cannot_be_told_is_a_failure_all_the_same(error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    with opened(*LINE) as pipeline:
        result = run(pipeline, TEXT("x"), a={"text": fail})
        assert result.error is not None
        assert (result.error.component, result.error.__cause__) == ("a", error)
        assert run(pipeline, TEXT("x"))[TEXT] == ["x"]


def test_a_handler_that_runs_its_own_pipeline_without_end_is_no_success() -> None:
    with opened(*LINE) as pipeline:

        def again(instance: Instance, text: str) -> None:
            instance.emit(TEXT, "".join(pipeline.run(instance.entry, TEXT(text)).checked()[TEXT]))

        assert pipeline.run(entry("e", a={"text": again}), TEXT("x")).error is not None


def test_children_of_children_without_end_are_an_error() -> None:
    def spawn(instance: Instance, text: str) -> None:
        instance.spawn(instance.entry, TEXT(text))

    with opened(*LINE) as pipeline:
        result = pipeline.run(entry("e", a={"text": spawn}), TEXT("x"))
    generations = 0
    while result.children:
        result, generations = result.children[0], generations + 1
    assert generations == 64
    assert result.error is not None
    assert result.error.code == "nesting-depth"


@pytest.mark.parametrize("endless", [float("inf"), 1e300])
def test_an_endless_limit_leaves_the_next_one_alone(endless: float) -> None:
    with opened(*LINE) as pipeline:
        assert pipeline.run(entry("e"), TEXT("x"), timeout=endless).error is None
        slow = {"text": lambda instance, text: (time.sleep(0.5), instance.emit(TEXT, text))}
        assert isinstance(pipeline.run(entry("e", a=slow), TEXT("x"), timeout=0.1).error, RunTimeout)


def test_a_limit_that_is_no_number_is_refused() -> None:
    with opened(*LINE) as pipeline, pytest.raises(ValueError, match="a number of seconds"):
        pipeline.run(entry("e"), TEXT("x"), timeout=float("nan"))


@pytest.mark.parametrize("arguments", [(1, 2), (Entry("x"), "text")])
def test_a_child_that_is_none_is_an_error_of_the_node(arguments: Any) -> None:
    with opened(*LINE) as pipeline:
        result = run(pipeline, TEXT("x"), a={"text": lambda instance, _: instance.spawn(*arguments)})
    assert "spawn takes an Entry and packets" in str(result.error)


@pytest.mark.parametrize("packet", [5, (TEXT, 5), TEXT, (DOCUMENTS, "abc")])
def test_a_response_must_fit_its_lane(packet: Any) -> None:
    with opened(*LINE) as pipeline:
        result = run(pipeline, TEXT("x"), a={"text": lambda instance, _: instance.respond("k", packet)})
    assert "respond takes a packet whose payload fits its lane" in str(result.error)


def test_a_lane_by_name_says_what_a_lane_is() -> None:
    with opened(*LINE) as pipeline:
        result = run(pipeline, TEXT("x"), a={"text": lambda instance, _: instance.emit("text", "x")})
    assert "a lane is a value: emit(TEXT, …)" in str(result.error)


def test_waiting_for_the_own_workers_is_refused() -> None:
    with opened(*LINE, kernel={"workers": 1}) as pipeline:
        waits = {
            "map": lambda *_: list(pipeline.map([(Entry("x"), [TEXT("x")])])),
            "start": lambda *_: pipeline.start(Entry("x"), TEXT("x")).result(),
        }
        for wait in waits.values():
            error = pipeline.start(entry("e", a={"text": wait}), TEXT("x")).result(10).error
            assert error is not None
            assert error.code == "wrong-thread"


def test_a_generator_is_no_handler() -> None:
    with pytest.raises(InvalidNode, match="a handler does not yield"):

        class Yielding(Node[None]):
            spec = NodeSpec("yielding", title="Yielding")

            @on(TEXT, emits=[TEXT])
            def text(self, instance: Instance, text: str) -> Iterator[str]:
                yield text


def test_a_pipeline_without_components_has_no_source() -> None:
    pipe, _ = parse_pipe('{"components": []}')
    # A file that somebody begins with is no mistake; there is only nothing to run in it.
    assert [(p.code, p.severity) for p in alone().check(pipe)] == [("no-source", "warning")]
    with pytest.raises(PipeError, match="does not have a source component"):
        alone().open(pipe)


@pytest.mark.parametrize("plugin", [5, "x", None, dict])
def test_a_host_plugin_that_is_none_is_refused(plugin: Any) -> None:
    with pytest.raises(PluginLoad, match="give a module, or an object"):
        Kernel(plugins=[plugin])


def test_a_node_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidNode, match="nodes are classes made from Node"):
        Kernel(nodes=[5])  # type: ignore[list-item]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a named pipe")
def test_a_blob_of_a_pipe_is_read(tmp_path: Path) -> None:
    place = tmp_path / "pipe"
    os.mkfifo(place)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(place)!r}, 'wb').write(b'hello')"])
    blob = Blob.of(place)
    assert writer.wait(10) == 0
    assert (blob.read(), blob.size, blob.name) == (b"hello", 5, "pipe")


def test_a_name_that_is_not_utf8_has_an_object_id() -> None:
    assert Entry("bad\udcff").object_id != Entry("bad\udcfe").object_id


def test_a_file_full_of_mistakes_is_told_in_time() -> None:
    """Costs per mistake, not per pair of mistakes: twice as many take about twice as long."""

    def seconds(count: int) -> float:
        parts = [Component(f"a{n}", f"zz{n}", input=[LaneLink("text", f"q{n}")]) for n in range(count)]
        start = time.process_time()
        assert len(alone().check(PipeFile([*parts, *[Component(f"s{n}", "start") for n in range(count)]]))) >= min(
            2 * count, 1000
        )
        return time.process_time() - start

    seconds(50)
    # The least of three: whatever else runs on the machine only adds. Each pair of mistakes would make it nine times.
    assert min(seconds(1200) for _ in range(3)) < 4.5 * min(seconds(400) for _ in range(3))


def test_what_comes_after_the_end_is_refused() -> None:
    kept: list[Any] = []
    with opened(*LINE) as pipeline:
        run(pipeline, TEXT("x"), a={"text": lambda instance, _: kept.append(instance)})
        for late in (lambda: kept[0].respond("k", TEXT("x")), lambda: kept[0].spawn(Entry("x")), lambda: kept[0].state(dict)):
            with pytest.raises(RunError) as caught:
                late()
            assert caught.value.code == "emit-after-close"
