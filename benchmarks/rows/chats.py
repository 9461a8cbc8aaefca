# SPDX-License-Identifier: MIT
"""A hundred chats at once: eight workers, a language model behind a socket that takes its time, and no time lost beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rocketride_core import ANSWERS, QUESTIONS, Entry, Kernel, Pipeline, Question
from rocketride_core.pipefile import Component, ControlLink, LaneLink, PipeFile

from ..judging import Row, raw
from ..measuring import Case, Options, Unmeasured

__all__ = ["ROWS"]

CHATS, WORKERS = 100, 8
SECONDS = 0.4  # that the model takes for an answer
PIECES = 8


def _pipe(server: str, agent: bool) -> PipeFile:
    config = {"custom": {"base_url": server, "model": "slow"}, "profile": "custom"}
    if agent:
        between = [
            Component("agent", "agent_llamaindex", input=[LaneLink("questions", "chat")]),
            Component("llm", "llm_openai_api", config, control=[ControlLink("llm", "agent")]),
        ]
    else:
        between = [Component("llm", "llm_openai_api", config, input=[LaneLink("questions", "chat")])]
    end = Component("end", "response_answers", input=[LaneLink("answers", between[0].id)])
    return PipeFile([Component("chat", "chat"), *between, end], source="chat")


def _ratio(pipeline: Pipeline) -> float:
    """Wall time over the ideal: the workers do nothing but wait for the model."""
    work = [(Entry(f"chat {n}"), (QUESTIONS(Question.of(f"Say number {n}.")),)) for n in range(CHATS)]
    began = time.monotonic()
    mixed = [
        result.entry.name
        for result in pipeline.map(work, workers=WORKERS)
        if not result.checked()[ANSWERS][0].text.endswith(f"number {result.entry.name[5:]}.")
    ]
    taken = time.monotonic() - began
    if mixed:
        raise Unmeasured(f"answers are mixed up: {', '.join(mixed)}")
    return taken / (math.ceil(CHATS / WORKERS) * SECONDS)


@contextmanager
def chats(options: Options) -> Iterator[Mapping[str, Case]]:
    try:
        from rocketride_llm.testing import Echo, ScriptedServer
    except ImportError as error:
        raise Unmeasured("needs rocketride-llm, rocketride-llm-openai-api and rocketride-agent-llamaindex") from error
    slow = Echo(chunks=PIECES, delay=SECONDS / 2, per_chunk_delay=SECONDS / 2 / (PIECES - 1))
    with (
        ScriptedServer(rules=[("", slow)]) as server,
        Kernel().load(_pipe(server.base_url("openai"), agent=True)) as agent,
        Kernel().load(_pipe(server.base_url("openai"), agent=False)) as plain,
    ):
        yield {"core": lambda: _ratio(agent), "without an agent": lambda: _ratio(plain)}


ROWS = [
    Row(
        "chats",
        f"{CHATS} chats at once through an agent, {WORKERS} workers, a model that takes {SECONDS:g} s",
        "× the ideal wall time",
        chats,
        raw(),
        budget=1.3,
        rounds=1,
    )
]
