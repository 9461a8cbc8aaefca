# SPDX-License-Identifier: MIT
"""A request in the words of Chat Completions, without the parameters that its model does not take."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from rocketride_llm import Request, message_json, tool_json

__all__ = ["OPTIONAL", "body", "only_streams", "reasons", "refused_parameters", "told_most"]

OPTIONAL = ("max_completion_tokens", "max_tokens", "stop", "stream_options", "temperature")
MOST_STOPS = 4
REASONING = re.compile(r"(o\d|gpt-[5-9])(?!.*chat)")
REFUSAL = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|not permitted|extra_forbidden|unexpected|not allowed|only the default",
    re.IGNORECASE,
)
# A limit above what the model can say: without any it says as much as it can.
TOO_MUCH = re.compile(r"too large|at most|maximum allowed number of output", re.IGNORECASE)
LIMITS = ("max_completion_tokens", "max_tokens")
# DeepSeek's and DashScope's way to say that a limit is too high, which names the highest.
MOST = re.compile(r"range of max(?:_completion)?_tokens (?:is|should be) \[\d+, ?(\d{1,9})\]", re.IGNORECASE)

# DashScope's, of models that think.
STREAMS = re.compile(r"only supports? stream|false for non-streaming", re.IGNORECASE)


def only_streams(said: str) -> bool:
    """A server says that this model's answers come as streams and not otherwise."""
    return STREAMS.search(said) is not None


def reasons(model: str) -> bool:
    """OpenAI's reasoning models (o1, o3, o4, gpt-5 and later), also behind a gateway: they take no temperature and no stop words.

    `gpt-5-chat-latest` and its like are ordinary.
    """
    return REASONING.match(model.rpartition("/")[2].removeprefix("ft:")) is not None


def told_most(said: str) -> int | None:
    """The highest limit of the answer that a server names when it refuses a higher one."""
    found = MOST.search(said)
    return max(1, int(found[1])) if found else None


def body(model: str, request: Request, refused: Collection[str], *, stream: bool, most: int | None = None) -> dict[str, Any]:
    """What `chat.completions.create` is called with.

    Parameters:
        refused: of `OPTIONAL`, what this model or server does not take.
        most: tokens of the answer, where the server has named a highest limit.
    """
    limit = "max_tokens" if not reasons(model) and "max_tokens" not in refused else "max_completion_tokens"
    if limit in refused:
        limit = "max_tokens"
    optional: dict[str, Any] = {limit: request.max_tokens if most is None else min(most, request.max_tokens)}
    if not reasons(model):
        if request.temperature is not None:
            optional["temperature"] = request.temperature
        if request.stop:
            optional["stop"] = list(request.stop[:MOST_STOPS])
    if stream:
        optional["stream_options"] = {"include_usage": True}
    sent: dict[str, Any] = {"model": model, "messages": [message_json(one) for one in request.messages]}
    sent |= {name: value for name, value in optional.items() if name not in refused}
    if request.tools:
        sent["tools"] = [tool_json(tool) for tool in request.tools]
    return sent | ({"stream": True} if stream else {})


def refused_parameters(said: str, param: str | None, sent: Collection[str]) -> Collection[str]:
    """The parameters of `OPTIONAL` that a server complains about; none where it complains about something else.

    Parameters:
        said: the error's code and message.
        param: the one that it names, OpenAI's way.
        sent: what was sent; nothing else is found.
    """
    too_much = TOO_MUCH.search(said)
    if not too_much and not REFUSAL.search(said):
        return ()
    candidates = [name for name in OPTIONAL if name in sent and (name in LIMITS or not too_much)]
    named = (param or "").partition(".")[0]
    # `stop` is a word of plain English too.
    marks = {name: rf"(['\"`.:]\s?){name}\b" if name == "stop" else rf"\b{name}\b" for name in candidates}
    found = named if named in candidates else next((name for name in candidates if re.search(marks[name], said)), None)
    if found is None:
        return ()
    return LIMITS if too_much else (found,)
