# SPDX-License-Identifier: MIT
"""One request with its retries, inside the time that there is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

import attrs

from .config import LLMConfig
from .errors import LLMError, transport
from .wire import Backend, Reply, Request

__all__ = ["Asking"]

LONGEST_WAIT = 60.0  # seconds between two attempts, where the server does not ask for more


@attrs.frozen
class Asking:
    """Who is asked, and how patiently.

    Parameters:
        hide: the API key, which no message may repeat.
        on_retry: told what went wrong, and the seconds until the next attempt.
    """

    backend: Backend
    config: LLMConfig
    vendor: str
    component: str
    hide: str
    on_retry: Callable[[LLMError, float], None]

    async def ask(self, request: Request, on_text: Callable[[str], None] | None, seconds: float) -> Reply:
        """The reply. Once a piece of an answer was handed on there is no further attempt: it would be said twice.

        Parameters:
            seconds: for all attempts and the waits between them.

        Raises:
            LLMError: the last attempt's.
        """
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        started, said = asyncio.get_running_loop().time(), False

        def hear(piece: str) -> None:
            nonlocal said
            said = said or bool(piece)
            if on_text is not None:
                on_text(piece)

        def again(error: BaseException) -> bool:
            return isinstance(error, LLMError) and error.passing and not said

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

        async def attempt() -> Reply:
            nonlocal attempts
            attempts += 1
            return await self._once(request, hear if on_text is not None else None)

        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                return await retrying(attempt)
        except TimeoutError as error:
            told = self.placed(LLMError("timeout", f"{round(seconds, 1):g} s are over"))
            told.attempts = attempts
            raise told from error
        except LLMError as error:
            error.attempts = attempts
            raise

    async def _once(self, request: Request, on_text: Callable[[str], None] | None) -> Reply:
        try:
            return await self.backend.chat(request, on_text)
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
        """The API key stands in it."""
        return len(self.hide) > 3 and self.hide in text

    def placed(self, error: LLMError) -> LLMError:
        """The error, which says who was asked, and no key."""
        error.vendor, error.model, error.component = self.vendor, self.config.model, self.component
        if self.repeated(error.detail):
            error.detail = error.detail.replace(self.hide, "***")
        return error
