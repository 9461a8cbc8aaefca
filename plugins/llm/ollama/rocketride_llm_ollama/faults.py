# SPDX-License-Identifier: MIT
"""What the exceptions of Ollama's client mean."""

from __future__ import annotations

from collections.abc import Mapping

from rocketride_llm import Kind, LLMError, by_status, retry_after, transport

__all__ = ["explained"]

# By a part of the server's message in lower case, the first that fits; a stream's errors have no status at all.
WORDS: Mapping[str, Kind] = {
    "does not support tools": "no-tools",
    "exceeds the context length": "too-long",
    "exceeds the available context": "too-long",
    "usage limit": "quota",
    "unauthorized": "authentication",
    "too many": "rate-limit",
    "server busy": "unavailable",
    "more system memory": "invalid-request",  # it will not have more the next time
}


def explained(error: Exception, model: str) -> LLMError | None:
    """The error's meaning; None for what is no exception of the client."""
    import ollama

    if isinstance(error, ollama.ResponseError):
        return _answered(error, model)
    if type(error) is ConnectionError:  # the client's own, which asks whether Ollama was downloaded
        return LLMError("connection")
    return transport(error)


def _answered(error: Exception, model: str) -> LLMError:
    status = max(0, int(getattr(error, "status_code", 0)))
    said = getattr(error, "error", "")
    told = "" if not isinstance(said, str) or said.lstrip().startswith("<") else said
    low = told.lower()
    # The client hides the reply, but it is what was being handled when the error was made.
    headers: Mapping[str, str] = getattr(getattr(error.__context__, "response", None), "headers", {})
    if "model" in low and "not found" in low:
        return LLMError("no-such-model", f"get it with `ollama pull {model}`", status=status)
    if status == 404:
        return LLMError("invalid-request", "there is no Ollama server at this address, see 'serverbase'", status=status)
    kind = next((found for words, found in WORDS.items() if words in low), None)
    if kind is not None:
        detail = "" if kind == "authentication" else told
        return LLMError(kind, detail, status=status, retry_after=retry_after(headers))
    return by_status(status, told, headers) if status else LLMError("unavailable", told)
