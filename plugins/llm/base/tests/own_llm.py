# SPDX-License-Identifier: MIT
"""A vendor of one's own: a server that speaks OpenAI's wire, by httpx. The README shows this file."""

import json
from collections.abc import Callable

import attrs
import httpx

from rocketride_core import Message, NodeSpec, Profile
from rocketride_llm import CloudConfig, LLMError, LLMNode, Reply, Request, Usage, by_status, counted, read_call, refuse_broken_off


class OwnLLM(LLMNode[CloudConfig]):
    spec = NodeSpec("llm_own", title="Own", categories=["llm"], profiles=[Profile("small", {"model": "own-small"})])
    vendor = "Own"

    def connect(self) -> "OwnBackend":
        hooks = {"response": [refuse_broken_off]}
        options = {"timeout": self.config.timeout, "proxy": self.proxy or None, "trust_env": False, "event_hooks": hooks}
        return OwnBackend(self.config, self.secret, httpx.AsyncClient(**options))


@attrs.frozen
class OwnBackend:
    config: CloudConfig
    key: str
    client: httpx.AsyncClient

    async def chat(self, request: Request, on_text: Callable[[str], None] | None) -> Reply:
        body = {
            "model": self.config.model,
            "messages": [_message(message) for message in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
        }
        if request.stop:
            body["stop"] = request.stop
        if request.tools:
            functions = [{"name": t.name, "description": t.description, "parameters": t.input_schema} for t in request.tools]
            body["tools"] = [{"type": "function", "function": function} for function in functions]
        headers = {"Authorization": f"Bearer {self.key}"}
        response = await self.client.post(f"{self.config.address}/chat/completions", json=body, headers=headers)
        if response.status_code >= 400:
            raise _error(response)
        body = response.json()
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content") or message.get("refusal") or ""
        if on_text is not None:  # a server that cannot stream says everything at once
            on_text(text)
        calls = [
            read_call(call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]
        refused = message.get("refusal") or choice["finish_reason"] == "content_filter"
        finish = "refused" if refused else "length" if choice["finish_reason"] == "length" else "stop"
        return Reply(text=text, calls=calls, finish=finish, usage=_usage(body.get("usage") or {}))

    def explain(self, error: Exception) -> LLMError | None:
        return LLMError("bad-reply", str(error)) if isinstance(error, ValueError | LookupError | TypeError) else None

    async def close(self) -> None:
        await self.client.aclose()


def _message(message: Message) -> dict[str, object]:
    if message.role == "tool":
        return {"role": "tool", "content": message.content, "tool_call_id": message.call_id}
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))}}
        for call in message.calls
    ]
    return {"role": message.role, "content": message.content} | ({"tool_calls": calls} if calls else {})


def _usage(usage: dict[str, object]) -> Usage | None:
    """What it counted, however oddly; None where that is no number."""
    asked, answered, details = (
        counted(usage.get("prompt_tokens")),
        counted(usage.get("completion_tokens")),
        usage.get("prompt_tokens_details"),
    )
    cached = counted(details.get("cached_tokens")) if isinstance(details, dict) else None
    return None if asked is None or answered is None else Usage(asked, answered, cached or 0)


def _error(response: httpx.Response) -> LLMError:
    """Only what the status does not say is looked for in the body."""
    error = response.json().get("error", {})
    found = by_status(response.status_code, error.get("message", ""), response.headers)
    kinds = {"insufficient_quota": "quota", "context_length_exceeded": "too-long", "content_policy_violation": "refused"}
    if error.get("code") in kinds:
        found.kind = kinds[error["code"]]  # type: ignore[assignment]
    return found
