# SPDX-License-Identifier: MIT
"""generateContent of Vertex AI: as of the Gemini API, with tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rocketride_llm import LLMError, Reply, Request
from rocketride_llm_gemini.backend import GenerateContent

from .tokens import Tokens

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client

__all__ = ["VertexBackend"]


class VertexBackend(GenerateContent):
    """See `rocketride_llm.Backend`.

    Parameters:
        tokens: None where an API key stands for them.
    """

    def __init__(self, client: Client, http: httpx2.AsyncClient, model: str, tokens: Tokens | None = None) -> None:
        super().__init__(client, http, model)
        self._tokens = tokens

    @property
    def token(self) -> str:
        """The access token in use; "" for none."""
        return self._tokens.token if self._tokens else ""

    async def chat(self, request: Request, on_text: Callable[[str], None] | None, /) -> Reply:
        if self._tokens:
            await self._tokens.ready()
        return await super().chat(request, on_text)

    async def describe(self) -> None:
        if self._tokens:
            await self._tokens.ready()
        await super().describe()

    def explain(self, error: Exception, /) -> LLMError | None:
        found = super().explain(error)
        if found is not None and found.kind == "authentication" and self._tokens:
            self._tokens.forget()
            found.sentence = "Vertex AI refused the access token; see 'serviceKey' and 'accessToken'"
        return found
