# SPDX-License-Identifier: MIT
"""Put, get, keys and clear; and who sees what."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import attrs
import pytest

from rocketride_core import (
    ANSWERS,
    MEMORY,
    QUESTIONS,
    Caller,
    Component,
    ControlLink,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Memory,
    PipeFile,
    Question,
    serves,
)
from rocketride_core.testing import NodeSuite
from rocketride_memory_internal import InternalMemory, Notes


class TestMemory(NodeSuite):
    node = InternalMemory


def ask(pipe: PipeFile, *texts: str) -> list[str]:
    """The answers, one entry for each text, one after the other on one thread."""
    with Kernel().load(pipe) as pipeline:
        return [pipeline.run(Entry(text), QUESTIONS(Question.of(text))).checked()[ANSWERS][0].text for text in texts]


def agent(id: str, script: list[Any], source: str = "", caller: str = "") -> Component:
    return Component(
        id,
        "test_agent",
        {"script": script},
        input=[LaneLink("questions", source)] if source else [],
        control=[ControlLink("tool", caller)] if caller else [],
    )


def remembers(*callers: str) -> Component:
    return Component("memory_1", "memory_internal", control=[ControlLink("memory", caller) for caller in callers])


def answers(*sources: str) -> Component:
    return Component("response_1", "response_answers", input=[LaneLink("answers", source) for source in sources])


def test_put_get_keys_clear() -> None:
    notes: Memory = Notes()
    value = object()
    assert notes.get("a") is None
    notes.put("b", value)
    notes.put("a", 1)
    notes.put("a", 2)
    assert (notes.get("a"), notes.get("b")) == (2, value)
    assert notes.keys() == ["a", "b"]
    assert notes.clear("a") == ["a"]
    assert notes.clear("a") == []
    notes.put("c", None)
    assert notes.clear() == ["b", "c"]
    assert notes.keys() == []


@pytest.mark.parametrize("key", ["", None, 1, ["a"]])
def test_a_key_is_a_text(key: Any) -> None:
    notes = Notes()
    with pytest.raises(ValueError, match=r'^"key" is required and must be a non-empty string$'):
        notes.put(key, 1)
    with pytest.raises(ValueError, match=r'^"key" is required and must be a non-empty string$'):
        notes.get(key)
    if key:
        with pytest.raises(ValueError, match=r'^"key" must be a string if provided$'):
            notes.clear(key)
    assert notes.keys() == []


def test_many_threads_lose_nothing() -> None:
    notes = Notes()

    def work(thread: int) -> None:
        for n in range(500):
            notes.put(f"{thread}.{n}", n)
            assert notes.get(f"{thread}.{n}") == n
            notes.keys()
            assert n % 2 or notes.clear(f"{thread}.{n}") == [f"{thread}.{n}"]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(notes.keys()) == 8 * 250


def test_two_objects_on_one_worker_never_see_each_others_keys() -> None:
    script = [{"keys": True}, {"put": "{input}", "value": "x"}, {"keys": True}, {"answer": "{0}|{2}"}]
    pipe = PipeFile(
        [Component("chat_1", "chat"), agent("agent_1", script, "chat_1"), remembers("agent_1"), answers("agent_1")],
        source="chat_1",
    )
    assert ask(pipe, "one", "two", "one") == ["|one", "|two", "|one"]


def test_an_agent_and_its_sub_agent_never_see_each_others_keys() -> None:
    sub = [{"keys": True}, {"put": "{input}", "value": "sub"}, {"keys": True}, {"answer": "{0}|{2}"}]
    main = [
        {"put": "mine", "value": 1},
        {"call": "agent_2.run_agent", "arguments": {"query": "first"}},
        {"call": "agent_2.run_agent", "arguments": {"query": "second"}},
        {"keys": True},
        {"answer": "{1} {2} {3}"},
    ]
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            agent("agent_1", main, "chat_1"),
            agent("agent_2", sub, caller="agent_1"),
            remembers("agent_1", "agent_2"),
            answers("agent_1"),
        ],
        source="chat_1",
    )
    assert ask(pipe, "call 1") == ["|first |second mine"]


def test_calls_of_one_turn_have_separate_notes() -> None:
    sub = [{"put": "{input}", "value": 1}, {"keys": True}]
    turn = [{"call": "agent_2.run_agent", "arguments": {"query": str(n)}} for n in range(8)]
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            agent("agent_1", [{"turn": turn}], "chat_1"),
            agent("agent_2", sub, caller="agent_1"),
            remembers("agent_2"),
            answers("agent_1"),
        ],
        source="chat_1",
    )
    assert ask(pipe, "x") == ["0\n1\n2\n3\n4\n5\n6\n7"]


class Overheard(InternalMemory):
    """Keeps the names of the runs that ask."""

    runs: ClassVar[list[str]] = []

    @serves(MEMORY)
    def memory(self, instance: Instance, caller: Caller) -> Memory:
        self.runs.append(caller.run)
        return super().memory(instance, caller)


def test_an_entry_that_is_named_like_a_call_shares_nothing_with_it() -> None:
    """The kernel names the runs of calls, people name entries."""
    main = [{"put": "mine", "value": 1}, {"call": "agent_2.run_agent", "arguments": {"query": "x"}}]
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            agent("agent_1", main, "chat_1"),
            agent("agent_2", [{"keys": True}], caller="agent_1"),
            remembers("agent_1", "agent_2"),
            answers("agent_1"),
        ],
        source="chat_1",
    )
    with Kernel(nodes=[Overheard]).load(pipe) as pipeline:
        pipeline.run(Entry("x"), QUESTIONS(Question.of("x"))).checked()
        entry, call = Overheard.runs
        assert entry != call
        guess = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), call)
        assert pipeline.run(Entry(guess), QUESTIONS(Question.of("x"))).checked()[ANSWERS][0].text == ""
        assert Overheard.runs[3] == guess


def test_agents_on_one_object_share_the_memory_that_is_wired_to_both() -> None:
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            agent("agent_1", [{"put": "a", "value": "from agent_1"}, {"answer": "done"}], "chat_1"),
            agent("agent_2", [{"get": "a"}], "chat_1"),
            remembers("agent_1", "agent_2"),
            answers("agent_2"),
        ],
        source="chat_1",
    )
    assert ask(pipe, "x") == ["from agent_1"]


def test_it_takes_the_config_that_editors_write() -> None:
    script = [{"put": "k", "value": "v"}, {"get": "k"}]
    config = {"type": "memory_internal", "profile": "default", "default": {}}
    pipe = PipeFile(
        [
            Component("chat_1", "chat"),
            agent("agent_1", script, "chat_1"),
            attrs.evolve(remembers("agent_1"), config=config),
            answers("agent_1"),
        ],
        source="chat_1",
    )
    assert Kernel().check(pipe) == []
    assert ask(pipe, "x") == ["v"]
