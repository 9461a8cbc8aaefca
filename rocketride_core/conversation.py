# SPDX-License-Identifier: MIT
"""Native tool calling: what a language model may offer beyond `ChatModel`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, runtime_checkable

import attrs

from .controls import ChatModel
from .payloads import Arguments
from .toolbox import Tool

__all__ = ["Message", "ToolCall", "ToolChatModel"]


@attrs.frozen
class ToolCall:
    """A call that a model asks for.

    Parameters:
        id: the model's own, which the result must name.
        name: the tool's full name, as in the catalog that the model was given.
        arguments: what it is called with.
        broken: what the model wrote where that is no JSON object; `arguments` is empty then.
    """

    id: str
    name: str
    arguments: Arguments = attrs.field(factory=dict)
    broken: str = ""


@attrs.frozen
class Message:
    """One turn of a conversation.

    Parameters:
        role: who speaks; `tool` is the result of a call.
        content: the text.
        calls: the tools that the assistant asks for.
        call_id: of a result, the call it answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    calls: Sequence[ToolCall] = ()
    call_id: str = ""


@runtime_checkable
class ToolChatModel(ChatModel, Protocol):
    """A language model that calls tools in its own format. Safe on several threads.

    What is asked of `instance.one(LLM)` is a `ChatModel`; `isinstance(model, ToolChatModel) and model.native_tools` tells
    whether it can do this too.
    """

    @property
    def native_tools(self) -> bool:
        """False where this very model cannot; `converse` with tools would fail then."""
        ...

    def converse(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), /, *, on_token: Callable[[str], None] | None = None
    ) -> Message:
        """The assistant's next turn: a text, calls, or both.

        Parameters:
            messages: the conversation so far, oldest first; each call in it is followed by its result.
            tools: what may be called, under full names; the model maps them to names its vendor accepts, and back.
            on_token: gets the text in pieces, as it comes.
        """
        ...
