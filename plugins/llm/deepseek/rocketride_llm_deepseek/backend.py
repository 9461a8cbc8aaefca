# SPDX-License-Identifier: MIT
"""DeepSeek's thoughts go back to it, where its models have called tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from rocketride_core import ToolCall
from rocketride_llm import Reply, Request
from rocketride_llm_openai_api import ChatCompletions
from rocketride_llm_openai_api.reading import Gathering, get

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["Thinking"]

KEPT = 1000  # turns


@attrs.frozen(kw_only=True)
class Thought(Reply):
    thought: str = ""


class Reading(Gathering):
    """Reads the thoughts too."""

    def __init__(self) -> None:
        super().__init__()
        self._thoughts: list[str] = []

    def add(self, choice: Any, place: Literal["message", "delta"]) -> str:
        thought = get(get(choice, place), "reasoning_content")
        self._thoughts += [thought] if isinstance(thought, str) else []
        return super().add(choice, place)

    def reply(self) -> Reply:
        reply = super().reply()
        return Thought(
            text=reply.text, calls=reply.calls, finish=reply.finish, usage=reply.usage, thought="".join(self._thoughts)
        )


class Thinking(ChatCompletions):
    """Among tools, a turn without what the model thought before it is refused with status 400: thoughts are kept and sent along.

    Parameters:
        at_vendor: turns of which there are no thoughts, because another model made them, are sent with empty ones; other
            servers may not know the field.
    """

    gathering = Reading

    def __init__(self, client: AsyncOpenAI, model: str, *, at_vendor: bool) -> None:
        super().__init__(client, model)
        self._at_vendor = at_vendor
        self._thoughts: dict[str, str] = {}

    def body(self, request: Request, refused: Collection[str], *, stream: bool) -> dict[str, Any]:
        sent = super().body(request, refused, stream=stream)
        for message, written in zip(request.messages, sent["messages"] if request.tools else (), strict=False):
            if message.role == "assistant":
                thought = self._thoughts.get(_turn(message.content, message.calls), "")
                if thought or self._at_vendor:
                    written["reasoning_content"] = thought
        return sent

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        reply = await super().chat(request, on_text)
        if request.tools and isinstance(reply, Thought) and reply.thought:
            self._thoughts[_turn(reply.text, reply.calls)] = reply.thought
            for oldest in list(self._thoughts)[:-KEPT]:
                del self._thoughts[oldest]
        return reply


def _turn(text: str, calls: Sequence[ToolCall]) -> str:
    return f"call {calls[0].id}" if calls else f"text {text.strip()}"
