# SPDX-License-Identifier: MIT
import logging
import re
from typing import Any

import pytest

from rocketride_core import ANSWERS, MANY, TEXT, TOOL, Answer, Entry, Instance, Kernel, Node, NodeSpec, ToolFailure, on, tool
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile
from rocketride_core.testing import node_harness
from rocketride_host_plugin import LOGGER, CallLog


class Echo(Node[None]):
    spec = NodeSpec("plugin_echo", title="Echo")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        if text == "bad":
            raise ValueError("bad text")
        instance.emit(TEXT, text)


class Source(Node[None]):
    spec = NodeSpec("plugin_source", title="Source", categories=["source"], emits=[TEXT])


class Adder(Node[None]):
    spec = NodeSpec("plugin_adder", title="Adder")

    @tool
    def add(self, instance: Instance, first: int, second: int) -> int:
        """Adds two numbers."""
        if second < 0:
            raise ValueError("no negative numbers")
        return first + second


class Asker(Node[None]):
    spec = NodeSpec("plugin_asker", title="Asker", needs={TOOL: MANY}, responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        try:
            instance.respond("sum", ANSWERS(Answer(instance.tools.call("adder_1.add", {"first": 40, "second": int(text)}))))
        except ToolFailure as error:
            instance.respond("sum", ANSWERS(Answer(str(error))))


CALLS = PipeFile(
    [
        Component("source_1", "plugin_source"),
        Component("asker_1", "plugin_asker", input=[LaneLink("text", "source_1")]),
        Component("adder_1", "plugin_adder", control=[ControlLink("tool", "asker_1")]),
    ]
)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [re.sub(r"\d+\.\d{3} s", "N s", record.message) for record in caplog.records if record.name == LOGGER.name]


def ask(kernel: Kernel, text: str) -> Any:
    with kernel.load(CALLS) as pipeline:
        [answer] = pipeline.run(Entry("ticket-7"), TEXT(text)).checked()[ANSWERS]
        return answer.content


def test_every_instance_is_logged_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    with node_harness(Echo, plugins=[CallLog()]) as harness:
        for name in ("a", "b"):
            harness.run({"text": ["hello"]}, entry=Entry(name))
    for name in ("a", "b"):
        assert f"node node had {name} for N s" in logged(caplog)
        assert f"node recorder had {name} for N s" in logged(caplog)


def test_an_instance_that_fails_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    with node_harness(Echo, plugins=[CallLog()]) as harness:
        assert harness.run({"text": ["bad"]}, entry=Entry("a"), check=False).error is not None
    assert "node node had a for N s" in logged(caplog)


def test_tool_calls_are_logged_without_the_values_of_their_arguments(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    assert ask(Kernel(nodes=[Source, Adder, Asker], plugins=[CallLog()]), "2") == 42
    assert "tool adder_1.add(first, second) for ticket-7: ok in N s" in logged(caplog)
    assert not any("40" in line for line in logged(caplog) if line.startswith("tool"))


def test_a_tool_call_that_fails_is_logged_and_still_fails(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    assert "no negative numbers" in ask(Kernel(nodes=[Source, Adder, Asker], plugins=[CallLog()]), "-1")
    assert "tool adder_1.add(first, second) for ticket-7: failed in N s" in logged(caplog)


def test_being_installed_is_enough(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER.name)
    assert ask(Kernel(nodes=[Source, Adder, Asker]), "2") == 42
    assert "tool adder_1.add(first, second) for ticket-7: ok in N s" in logged(caplog)


def test_it_takes_part_in_nothing_where_its_level_is_off(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, LOGGER.name)
    kernel = Kernel(nodes=[Source, Adder, Asker])
    caplog.set_level(logging.INFO, LOGGER.name)
    assert ask(kernel, "2") == 42
    assert logged(caplog) == []
