# SPDX-License-Identifier: MIT
"""What the errors of the client library, and the words of the many compatible servers, mean."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rocketride_llm import Kind, LLMError, by_status, lost, transport

__all__ = ["explain", "read_error", "told"]

# Searched in "code type message", the first kind that is found wins. The words are of OpenAI, Azure, vLLM, llama.cpp, LM Studio,
# Ollama, TGI, OpenRouter, Groq, DeepSeek, Mistral, Qwen and xAI.
KINDS: Mapping[Kind, Sequence[str]] = {
    "permission": ("missing_scope", "missing scopes", "insufficient permissions"),
    "authentication": (
        "invalid_api_key",
        "invalid_authentication",
        "(invalid|incorrect|missing|expired|no) api[ _-]?key",
        "api[ _-]?key (is |was )?(not valid|invalid|incorrect|missing|expired|required)",
    ),
    "quota": (
        "insufficient_quota",
        "exceeded your current quota",
        "billing_not_active",
        "billing_hard_limit_reached",
        "insufficient[ _](balance|credits?|funds)",
        "requires more credits",
        "(used all available|not have any|n't have any) credits",
        "spending limit",
        "arrearage",
        "free ?tier ?only",
    ),
    "invalid-request": (r"max_tokens['`]?( or '\w+')? is too large", "v1/responses", "not a chat model"),
    "too-long": (
        "context_length_exceeded",
        "context (length|window|size)",
        "exceed_context_size",
        "context the overflows",
        "string_above_max_length",
        "request too large",
        "maximum (model|input) length",
        "max_model_len",
        "too many tokens",
        "(prompt|input) is too long",
        "max_new_tokens.? must be",
        "reduce the length of",
    ),
    "refused": (
        "content_policy_violation",
        "content_filter",
        "content management policy",
        "safety system",
        "responsibleaipolicy",
        "data_inspection_failed",
        "inappropriate content",
        "usage polic",
        "was flagged",
        "violates usage guidelines",
        "invalid_prompt",
    ),
    "no-tools": (
        "'tools' is not supported",
        "(not|n't) support (tool|function)",
        "support tool use",
        "(tools?|functions?|tool[- ](use|call(s|ing))) (is|are) not supported",
        "enable-auto-tool-choice",
        "tool[- ]call[- ]parser",
        "tools param requires",
    ),
    "no-such-model": (
        "model_not_found",
        "deploymentnotfound",
        "no endpoints found for",
        r"(invalid|unknown|no such) model\b",
        "not a valid model",
        "no models? loaded",
        r"(model|deployment)\b.{0,200}?(does not exist|not exist|not found)",
    ),
}
FOUND = [(kind, re.compile("|".join(words), re.IGNORECASE | re.DOTALL)) for kind, words in KINDS.items()]
# Of an error without an HTTP status, its code and type.
TYPES: Mapping[Kind, re.Pattern[str]] = {
    "rate-limit": re.compile("rate.?limit|too.?many.?requests", re.IGNORECASE),
    "invalid-request": re.compile("invalid|bad.?request", re.IGNORECASE),
}
# Vendors show the first and last letters of a key that they refuse.
MASKED = re.compile(r"\b((sk|rk|gsk|xai)-|Bearer )[\w*.-]{4,}|\w*\*{3,}\w*")


def explain(error: Exception, address: str, api: str = "chat completions") -> LLMError | None:
    """See `Client.explain`.

    Parameters:
        address: the base URL, for a server that answers there and has no such API.
        api: what was asked for there.
    """
    import openai

    if isinstance(error, openai.APIStatusError):
        return _by_status(error.status_code, read_error(error.body), error.response.headers, address, api)
    if isinstance(error, openai.APITimeoutError):
        return LLMError("timeout")
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        return (transport(cause) if cause else None) or LLMError("connection", str(cause or error))
    if isinstance(error, UnicodeDecodeError) and error.reason == "unexpected end of data":  # the end of a stream
        return lost()
    if isinstance(error, openai.APIResponseValidationError | json.JSONDecodeError | UnicodeDecodeError):
        return LLMError("bad-reply", "it is not the JSON that was expected")
    if isinstance(error, openai.APIError):  # an error event inside a stream
        return told(error.body if error.body is not None else error.message)
    return None


def told(error: Any) -> LLMError:
    """What an error object means that came without an HTTP status: in a stream, or in a reply that pretends to be good."""
    said, message = read_error(error)
    status = next((int(one) for one in re.findall(r"\A\s*(\d{3})\b", said) if 400 <= int(one) < 600), 0)
    if status:
        return _error(_kind(said) or by_status(status).kind, message)
    head = said.removesuffix(message)
    typed = [kind for kind, words in TYPES.items() if words.search(head)]
    return _error(_kind(said) or (typed[0] if typed else "unavailable"), message)


def read_error(body: Any) -> tuple[str, str]:
    """An error's code, type and message in one text, and the message alone; an HTML page has none."""
    if isinstance(body, str):
        text = "" if body.lstrip().startswith("<") else body
        return text, text
    if isinstance(body, list) and body:  # Gemini's way
        return read_error(body[0])
    if not isinstance(body, Mapping):
        return "", ""
    inner = body.get("error")
    if isinstance(inner, Mapping):
        return read_error(inner)
    message = next((_words(body[name]) for name in ("message", "detail", "error", "msg") if body.get(name)), "")
    metadata = body.get("metadata")  # OpenRouter's: the words of the server behind it
    if isinstance(metadata, Mapping) and metadata.get("raw"):
        message = f"{message}: {_words(metadata['raw'])}"
    marks = [str(body[name]) for name in ("code", "type") if body.get(name)]
    return " ".join([*marks, message]), message


def _words(said: Any) -> str:
    if isinstance(said, list):  # pydantic's list of what is wrong with a request
        return "; ".join(
            f"{'.'.join(map(str, one.get('loc', ())))}: {one.get('msg', '')}" if isinstance(one, Mapping) else str(one)
            for one in said
        )
    return said if isinstance(said, str) else json.dumps(said, default=str)


def _kind(said: str) -> Kind | None:
    return next((kind for kind, words in FOUND if words.search(said)), None)


def _by_status(status: int, read: tuple[str, str], headers: Mapping[str, str], address: str, api: str) -> LLMError:
    said, message = read
    plain = by_status(status, message, headers)
    kind = _kind(said)
    if kind == "authentication" and status >= 429:  # a busy server that speaks of keys
        kind = None
    if status == 401 and kind != "permission":
        kind = "authentication"
    found = _error(kind or plain.kind, message)
    if kind is None and status in (404, 405) and not re.search(r"\bmodel\b", message, re.IGNORECASE):
        told = f"There is no {api} API at {address}; does base_url end as it should, in /v1 for most servers?"
        found = LLMError("invalid-request", sentence=told)
    found.status, found.retry_after = status, plain.retry_after
    return found


def _error(kind: Kind, message: str) -> LLMError:
    return LLMError(kind, "" if kind == "authentication" else MASKED.sub("***", message))
