# SPDX-License-Identifier: MIT
"""Access tokens: one that was given, or those that a service account's key is exchanged for."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from typing import TYPE_CHECKING, Any

import attrs

from rocketride_llm import LLMError, by_status, is_address, shown, transport

if TYPE_CHECKING:
    import httpx2

__all__ = ["Account", "Tokens"]

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFE = 3600  # seconds that a token is asked for
EARLY = 240.0  # seconds before its end at which another one is fetched


@attrs.frozen
class Account:
    """A service account's key.

    Attributes:
        project: the account's own.
        token_uri: where its key is exchanged for tokens.
    """

    email: str
    project: str
    token_uri: str
    _signer: Any = attrs.field(repr=False)

    @classmethod
    def read(cls, text: str) -> Account:
        """The key file's JSON, or a data URL of it.

        Raises:
            LLMError: it is none.
        """
        from google.auth.crypt import RSASigner

        if "${" in text and not text.lstrip().startswith("{"):
            told = "The service account is a variable that is not filled in; only those are that begin with ROCKETRIDE_"
            raise LLMError("authentication", sentence=told)
        try:
            if text.lstrip().startswith("data:"):
                text = base64.b64decode(text.partition(",")[2]).decode()
            data = json.loads(text)
            if data["type"] != "service_account" or not is_address(data["token_uri"]):
                raise ValueError
            signer = RSASigner.from_service_account_info(data)  # type: ignore[no-untyped-call]
            return cls(str(data["client_email"]), str(data.get("project_id", "")), str(data["token_uri"]), signer)
        except (ValueError, LookupError, TypeError, AttributeError):  # whose texts may show the key
            told = "Invalid serviceKey: it is not the JSON key file of a service account, as Google Cloud gives it out"
            raise LLMError("authentication", sentence=told) from None

    def assertion(self) -> str:
        """A signed claim to be this account, good for an hour."""
        from google.auth import jwt

        now = int(time.time())
        claim = {"iss": self.email, "scope": SCOPE, "aud": self.token_uri, "iat": now, "exp": now + LIFE}
        signed: bytes = jwt.encode(self._signer, claim)  # type: ignore[no-untyped-call]
        return signed.decode()


class Tokens:
    """The token in `credentials`, which the client sends; exchanged anew in time by the same connections as all else.

    Parameters:
        account: whose tokens; None for the one that is given.
    """

    def __init__(self, http: httpx2.AsyncClient, account: Account | None, given: str = "") -> None:
        from google.oauth2.credentials import Credentials

        self.credentials = Credentials(token=given)  # type: ignore[no-untyped-call]
        self._http, self._account, self._until = http, account, 0.0
        self._fetching = asyncio.Lock()

    @property
    def token(self) -> str:
        """The one that is sent now; "" before the first exchange."""
        return self.credentials.token or ""

    async def ready(self) -> None:
        """Sees to it that there is a token.

        Raises:
            LLMError: the account's key could not be exchanged for one.
        """
        if self._account is None:
            return
        async with self._fetching:
            if time.monotonic() >= self._until:
                await self._exchange(self._account)

    def forget(self) -> None:
        """The token was refused: the next request fetches another one."""
        self._until = 0.0

    async def _exchange(self, account: Account) -> None:
        place = shown(account.token_uri)
        try:
            answer = await self._http.post(account.token_uri, data={"grant_type": GRANT, "assertion": account.assertion()})
        except Exception as error:
            if told := transport(error):
                told.sentence = f"The token server of the service account at {place} did not answer"
                raise told from error
            raise
        try:
            body = answer.json()
            if answer.status_code == 200:
                token, seconds = str(body["access_token"]), float(body.get("expires_in", LIFE))
                if not token:
                    raise ValueError
        except (ValueError, LookupError, TypeError, AttributeError):
            body = {}
            if answer.status_code == 200:
                raise LLMError("bad-reply", sentence=f"The token server at {place} sent no token") from None
        if answer.status_code != 200:
            raise _refused(answer, body, place)
        self.credentials.token, self._until = token, time.monotonic() + max(0.0, seconds - EARLY)


def _refused(answer: httpx2.Response, body: Any, place: str) -> LLMError:
    said = str(body.get("error_description") or body.get("error") or "") if isinstance(body, dict) else ""
    found = by_status(answer.status_code, said, answer.headers)
    if answer.status_code in (400, 401, 403):
        found.kind = "authentication"
    found.detail = said
    found.sentence = f"The token server at {place} gave no token for the service account, see 'serviceKey'"
    return found
