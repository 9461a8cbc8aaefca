# SPDX-License-Identifier: MIT
"""Tokens of IBM Cloud's IAM, which take the API key's place for an hour."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

from .faults import FOREIGN, refused

if TYPE_CHECKING:
    import httpx2

__all__ = ["Tokens"]

GRANT = "urn:ibm:params:oauth:grant-type:apikey"
EARLY = 0.2  # of its life left, and a token is asked for anew


class Tokens:
    """One token, fetched when it is first needed and again before it ends.

    Parameters:
        http: connections; closed by whoever made them.
        address: IAM's.
    """

    def __init__(self, http: httpx2.AsyncClient, address: str, key: str) -> None:
        self._http, self._address, self._key = http, address, key
        self._token, self._until = "", 0.0
        self._lock = asyncio.Lock()

    async def get(self) -> str:
        """A token that is good.

        Raises:
            LLMError: IAM refuses the API key, or cannot answer.
        """
        async with self._lock:
            if not self._token or time.monotonic() >= self._until:
                self._token, seconds = await self._fetched()
                self._until = time.monotonic() + seconds * (1 - EARLY)
            return self._token

    def forget(self, token: str) -> None:
        """The server did not take this one; the next question gets another."""
        if token == self._token:
            self._token = ""

    async def _fetched(self) -> tuple[str, float]:
        import httpx2

        form = {"grant_type": GRANT, "apikey": self._key}
        headers = {"Accept": "application/json"}
        response = await self._http.post(f"{self._address}/identity/token", data=form, headers=headers, auth=httpx2.Auth())
        if response.status_code != 200:
            raise refused(response.status_code, response.content, response.headers)
        told = json.loads(response.content)
        token, seconds = told["access_token"], float(told["expires_in"])
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise ValueError(FOREIGN)
        return token, seconds
