# SPDX-License-Identifier: MIT
"""One request with its retries, inside the time that there is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

import attrs

from .config import ServerConfig
from .errors import LLMError, transport
from .wire import Backend, Client, Reply, Request

__all__ = ["Asking"]

R = TypeVar("R")
B = TypeVar("B", bound=Client)
LONGEST_WAIT = 60.0  # seconds between two attempts, where the server does not ask for more


@attrs.frozen
class Asking(Generic[B]):
    """Who is asked, and how patiently.

    Parameters:
        address: of the server, for messages.
        hide: the API key and other secrets, which no message may repeat.
        on_retry: told what went wrong, and the seconds until the next attempt.
    """

    backend: B
    config: ServerConfig
    vendor: str
    component: str
    address: str
    hide: Sequence[str]
    on_retry: Callable[[LLMError, float], None]

    async def ask(self: Asking[Backend], request: Request, on_text: Callable[[str], None] | None, seconds: float) -> Reply:
        """The reply. Once a piece of an answer was handed on there is no further attempt: it would be said twice.

        Parameters:
            seconds: for all attempts and the waits between them.

        Raises:
            LLMError: the last attempt's.
        """
        said = False

        def hear(piece: str) -> None:
            nonlocal said
            said = said or bool(piece)
            if on_text is not None:
                on_text(piece)

        heard = hear if on_text is not None else None
        return await self.persist(lambda: self.backend.chat(request, heard), seconds, lambda: not said)

    async def persist(self, work: Callable[[], Awaitable[R]], seconds: float, may_repeat: Callable[[], bool] = lambda: True) -> R:
        """What `work` returns, which calls the backend; it is called again after errors that pass.

        Parameters:
            seconds: for all attempts and the waits between them.
            may_repeat: asked after an error that passes.

        Raises:
            LLMError: the last attempt's.
        """
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        started = asyncio.get_running_loop().time()

        def again(error: BaseException) -> bool:
            return isinstance(error, LLMError) and error.passing and may_repeat()

        def wait(state: Any) -> float:
            told = state.outcome.exception()
            grown = min(self.config.retry_delay * 2.0 ** (state.attempt_number - 1), LONGEST_WAIT)
            return grown if told.retry_after is None else float(told.retry_after)

        def stop(state: Any) -> bool:
            # A wait that ends too late helps nobody: better the server's own words now than a time-out later.
            spent = asyncio.get_running_loop().time() - started
            return bool(last_attempt(state)) or spent + wait(state) >= seconds

        def before_sleep(state: Any) -> None:
            self.on_retry(state.outcome.exception(), state.upcoming_sleep)

        last_attempt = stop_after_attempt(self.config.max_attempts)
        retrying = AsyncRetrying(stop=stop, wait=wait, retry=retry_if_exception(again), before_sleep=before_sleep, reraise=True)
        attempts = 0

        async def attempt() -> R:
            nonlocal attempts
            attempts += 1
            return await self._explained(work())

        try:
            return await self.once(lambda: retrying(attempt), seconds)
        except LLMError as error:
            error.attempts = attempts
            raise

    async def once(self, work: Callable[[], Awaitable[R]], seconds: float) -> R:
        """What `work` returns, which calls the backend, with no further attempt than its own.

        Raises:
            LLMError: it failed, or the seconds are over.
        """
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                return await self._explained(work())
        except TimeoutError as error:
            raise self.placed(LLMError("timeout", f"{round(seconds, 1):g} s are over")) from error

    async def _explained(self, work: Awaitable[R]) -> R:
        try:
            return await work
        except LLMError as error:
            self.placed(error)
            raise
        except Exception as error:
            told = self.backend.explain(error) or transport(error)
            if told is None:
                raise
            # A server may repeat the key, and whoever logs the chain would have it there.
            raise self.placed(told) from (None if self.repeated(str(error)) else error)

    def repeated(self, text: str) -> bool:
        """A secret stands in it."""
        return any(secret in text for secret in self.hide)

    def placed(self, error: LLMError) -> LLMError:
        """The error, which says who was asked, and no secret."""
        error.vendor, error.model, error.component = self.vendor, self.config.model, self.component
        error.address = self.address
        for secret in self.hide:
            error.detail = error.detail.replace(secret, "***")
        return error
