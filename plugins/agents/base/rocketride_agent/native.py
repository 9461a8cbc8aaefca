# SPDX-License-Identifier: MIT
"""The loop over a model that calls tools in its own format, and the choice between it and an agent's own."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from rocketride_core import Json, Message, ToolChatModel

from .endings import STOPPED
from .errors import AgentError, text_of
from .finalanswer import finished
from .observations import rendered
from .prompts import LAST_STEP, conversation
from .run import AgentRun

__all__ = ["by_mode", "native_model", "solve_natively"]

SAY_SOMETHING = "Your reply was empty. Call a tool, or give the final answer."


def by_mode(run: AgentRun, react: Callable[[], Json]) -> Json:
    """Solves it as `tool_mode` says; `react` is the way that works with any model.

    Raises:
        AgentError: native calling is asked for, and the model does not offer it.
    """
    wanted = run.config.tool_mode
    model = native_model(run) if wanted != "react" else None
    if model is None and wanted == "native":
        raise AgentError(
            f"{run.node.id}: tool_mode is native, but the connected LLM does not call tools in its own format; "
            "set tool_mode to react or auto, or connect another model"
        )
    if model is not None:
        try:
            return solve_natively(run, model)
        except Exception as error:
            # The model's server knows better than its node what it can do; nothing has happened yet.
            first = run.iterations <= 1 and not run.tools.steps
            if wanted != "auto" or not first or getattr(error, "kind", "") != "no-tools":
                raise
            run.instance.warn("no-native-tools", f"{run.node.id} goes on in ReAct, in plain text: {text_of(error)}")
            run.iterations = 0
    run.mode = "react"
    return react()


def native_model(run: AgentRun) -> ToolChatModel | None:
    """The connected model where it calls tools in its own format."""
    model = run.llm
    return model if isinstance(model, ToolChatModel) and model.native_tools else None


def solve_natively(run: AgentRun, model: ToolChatModel) -> Json:
    """Turn by turn until the model answers; the calls of one turn run in parallel where they may.

    A turn may bring a text and calls, so only of a turn that can bring no calls are pieces told as they come.
    """
    run.mode = "native"
    messages = conversation(run.question, run.config)
    asked_again = False
    while not run.last:
        tools = run.tools.offered()
        run.turn()
        reply = model.converse(messages, tools, on_token=None if tools else run.on_token)
        if reply.calls:
            observed = run.tools.call_all(reply.calls)
            results = [Message("tool", text, call_id=call.id) for call, text in zip(reply.calls, observed, strict=True)]
            messages += [attrs.evolve(reply, role="assistant"), *results]
        elif reply.content.strip():
            return finished(run, reply.content.strip())
        elif asked_again:
            raise AgentError(f"{run.node.id}: the model answered with nothing, twice")
        else:
            asked_again, run.retries, run.iterations = True, run.retries + 1, run.iterations - 1
            messages.append(Message("user", SAY_SOMETHING))
    return _last_turn(run, model)


def _last_turn(run: AgentRun, model: ToolChatModel) -> Json:
    """Without tools. What they gave is told as text: vendors refuse calls in a conversation that offers no tools."""
    run.last_turn()
    messages = conversation(run.question, run.config)
    found = [
        f"{step['action']} was called with {rendered(step['action_input'])} and gave:\n{rendered(step['observation'])}"
        for step in run.tools.steps
    ]
    messages.append(Message("user", "\n\n".join([*found, LAST_STEP])))
    reply = model.converse(messages, on_token=run.on_token)
    text = reply.content.strip()
    return STOPPED if reply.calls or not text else finished(run, text)
