# SPDX-License-Identifier: MIT
"""rocketride_llm: the base of language models for rocketride-core.

A vendor's distribution subclasses `LLMNode` and writes a `Backend`; retries, streaming, usage, JSON replies, native tool
calling and error messages are here. `rocketride_llm.testing` has a scripted server and the suite that every model passes.
"""

from __future__ import annotations

from rocketride_core import Message, ToolCall

from .addresses import is_address, shown
from .chat import Chat
from .completion import Completion
from .config import CloudConfig, KeyConfig, LLMConfig, ServerConfig
from .conversation import message_json, tool_json
from .ends import broken_off, lost, refuse_broken_off
from .errors import Kind, LLMError, by_status, retry_after, transport
from .http import certificates, http_client, time_limits
from .metering import Meter, metered
from .names import ToolNames
from .node import LLMNode
from .remote import ServerNode
from .sse import blocks, sse
from .tokens import estimate
from .wire import Backend, Client, Offer, Reply, Request, Usage, counted, read_call

__all__ = [
    "Backend",
    "Chat",
    "Client",
    "CloudConfig",
    "Completion",
    "KeyConfig",
    "Kind",
    "LLMConfig",
    "LLMError",
    "LLMNode",
    "Message",
    "Meter",
    "Offer",
    "Reply",
    "Request",
    "ServerConfig",
    "ServerNode",
    "ToolCall",
    "ToolNames",
    "Usage",
    "blocks",
    "broken_off",
    "by_status",
    "certificates",
    "counted",
    "estimate",
    "http_client",
    "is_address",
    "lost",
    "message_json",
    "metered",
    "read_call",
    "refuse_broken_off",
    "retry_after",
    "shown",
    "sse",
    "time_limits",
    "tool_json",
    "transport",
]
