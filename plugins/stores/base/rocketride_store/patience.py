# SPDX-License-Identifier: MIT
"""How a store is asked: what its errors mean, retries of those that pass, and how long that may take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import inf
from typing import Any, TypeVar

import attrs

from rocketride_core import Instance

from .errors import StoreError

__all__ = ["Patience", "http_limits", "within"]

R = TypeVar("R")
LONGEST_WAIT = 30.0  # seconds between two attempts, where the server does not ask for more
SLICE = 0.05  # seconds after which a wait looks whether the entry is still wanted
_until: ContextVar[float] = ContextVar("until", default=inf)


def within(seconds: float) -> float:
    """The time limit of one request of a client, in seconds: this one, or what its call and its entry have left, if that is less."""
    return max(0.001, min(seconds, _until.get() - time.monotonic()))


def http_limits(seconds: float) -> dict[str, list[Callable[[Any], None]]]:
    """The `event_hooks` of an httpx client whose requests each have the time limit `within(seconds)`."""

    def limit(request: Any) -> None:
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), within(seconds))

    return {"request": [limit]}


@attrs.frozen(kw_only=True)
class Patience:
    """How a store is asked, and what its errors say of it.

    Parameters:
        store, address, component: what a StoreError names.
        attempts: of one call, the first included.
        delay: seconds before the second attempt; doubled for each further one, up to 30 s.
        seconds: for all attempts and waits of one call.
        hide: secrets that no message may repeat.
        kinds: the kinds of errors that are worth another attempt, None for all that pass.
    """

    store: str
    component: str = ""
    address: str = ""
    attempts: int = 5
    delay: float = 0.5
    seconds: float = 120.0
    hide: Sequence[str] = attrs.field(default=(), repr=False)
    kinds: Sequence[str] | None = None

    def placed(self, error: StoreError) -> StoreError:
        """The error with the names of the store and its component, and without its secrets."""
        error.store, error.address, error.component = self.store, self.address, self.component
        for secret in self.hide:
            if len(secret) > 3:
                error.detail = error.detail.replace(secret, "***")
                error.sentence = error.sentence.replace(secret, "***")
        error.args = (error.kind, error.detail)
        return error

    def repeated(self, error: BaseException | None) -> bool:
        """A secret stands in the text of this exception, or of one in its chain."""
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            if any(len(secret) > 3 and secret in f"{error} {error.args!r}" for secret in self.hide):
                return True
            error = error.__cause__ or error.__context__
        return False

    def do(
        self,
        explain: Callable[[Exception], StoreError | None],
        call: Callable[[], R],
        instance: Instance | None = None,
    ) -> R:
        """The call's result.

        Parameters:
            explain: what an exception of the call means.
            instance: whose entry is served: its end ends the waits, and it tells of each attempt (event `retry`).

        Raises:
            StoreError: the last attempt's.
        """
        started, attempts = time.monotonic(), 0

        def once() -> R:
            nonlocal attempts
            attempts += 1
            remaining = None if instance is None else instance.remaining
            ends = started + self.seconds
            limit = _until.set(ends if remaining is None else min(ends, time.monotonic() + remaining))
            try:
                return call()
            except StoreError as error:
                cause = error.__cause__
                raise self.placed(error) from (None if self.repeated(cause) else cause)
            except Exception as error:
                told = explain(error)
                if told is None:
                    raise
                # A server may repeat the key, and whoever logs the chain would have it there.
                raise self.placed(told) from (None if self.repeated(error) else error)
            finally:
                _until.reset(limit)

        try:
            return once()
        except StoreError as error:
            if not self._again(error):
                raise
            first = error
        try:
            return self._retried(first, once, started, instance)
        except StoreError as error:
            error.attempts = attempts
            raise

    def _again(self, error: BaseException) -> bool:
        return isinstance(error, StoreError) and (error.passing if self.kinds is None else error.kind in self.kinds)

    def _retried(self, first: StoreError, once: Callable[[], R], started: float, instance: Instance | None) -> R:
        """All attempts but the first, whose error is known: most calls need no others, and none of what is made here."""
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        known = [first]

        def attempt() -> R:
            if known:
                raise known.pop()
            return once()

        def wait(state: Any) -> float:
            told = state.outcome.exception()
            grown = min(self.delay * 2.0 ** (state.attempt_number - 1), LONGEST_WAIT)
            return grown if told.retry_after is None else float(told.retry_after)

        def stop(state: Any) -> bool:
            # A wait that ends too late helps nobody: better the server's own words now than a time-out later.
            left = self.seconds - (time.monotonic() - started)
            if instance is not None:
                left = 0 if instance.cancelled else min(left, left if instance.remaining is None else instance.remaining)
            return bool(last_attempt(state)) or wait(state) >= left

        def before_sleep(state: Any) -> None:
            if instance is not None:
                error = str(state.outcome.exception())
                instance.event("retry", error=error, attempt=state.attempt_number, seconds=state.upcoming_sleep)

        def sleep(seconds: float) -> None:
            until = time.monotonic() + seconds
            while (left := until - time.monotonic()) > 0 and not (instance is not None and instance.cancelled):
                time.sleep(min(SLICE, left))

        last_attempt = stop_after_attempt(self.attempts)
        retry = retry_if_exception(self._again)
        return Retrying(stop=stop, wait=wait, retry=retry, before_sleep=before_sleep, sleep=sleep, reraise=True)(attempt)
