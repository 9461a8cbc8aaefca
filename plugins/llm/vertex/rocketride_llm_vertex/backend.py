# SPDX-License-Identifier: MIT
"""generateContent of Vertex AI: as of the Gemini API, with tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from rocketride_llm import LLMError, Reply, Request
from rocketride_llm_gemini.backend import GenerateContent

from .tokens import Tokens

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client

__all__ = ["VertexBackend"]

R = TypeVar("R")


class VertexBackend(GenerateContent):
    """See `rocketride_llm.Backend`.

    Parameters:
        tokens: None where an API key stands for them.
    """

    def __init__(self, client: Client, http: httpx2.AsyncClient, model: str, tokens: Tokens | None = None) -> None:
        super().__init__(client, http, model)
        self._tokens = tokens

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        return await self._with_token(lambda: super(VertexBackend, self).chat(request, on_text))

    async def describe(self) -> None:
        await self._with_token(super().describe)

    async def _with_token(self, work: Callable[[], Awaitable[R]]) -> R:
        if self._tokens is None:
            return await work()
        await self._tokens.ready()
        try:
            return await work()
        except Exception as error:
            # The base knows a token that was given, and not one that has come since.
            found, token = self.explain(error), self._tokens.token
            if found is None or not token or token not in str(error):
                raise
            found.detail = found.detail.replace(token, "***")
            raise found from None

    def explain(self, error: Exception, /) -> LLMError | None:
        found = super().explain(error)
        if found is not None and found.kind == "authentication" and self._tokens:
            self._tokens.forget()
            found.sentence = "Vertex AI refused the access token; see 'serviceKey' and 'accessToken'"
        return found
