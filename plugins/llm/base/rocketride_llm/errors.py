# SPDX-License-Identifier: MIT
"""What can go wrong with a language model, whoever its vendor is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias, get_args

from rocketride_core.errors import RocketRideError

__all__ = ["Kind", "LLMError", "by_status", "retry_after", "transport"]

Kind: TypeAlias = Literal[
    "authentication",
    "permission",
    "quota",
    "rate-limit",
    "timeout",
    "connection",
    "unavailable",
    "no-such-model",
    "too-long",
    "refused",
    "no-tools",
    "invalid-request",
    "bad-reply",
    "no-json",
]
SENTENCES: Mapping[str, str] = {
    "authentication": "Invalid API key: {vendor} refused it; see 'apikey'",
    "permission": "{vendor} does not let this API key use the model '{model}'",
    "quota": "The account at {vendor} has no credit left",
    "rate-limit": "Rate limit exceeded at {vendor}; please try again later",
    "timeout": "{vendor} did not answer in time",
    "connection": "Failed to connect to {vendor}{place}; is it running, and is its address right?",
    "unavailable": "{vendor} is overloaded or has a fault of its own",
    "no-such-model": "{vendor} has no model '{model}' for this account",
    "too-long": "The question is too long for the model '{model}'",
    "refused": "{vendor} refused to answer this",
    "no-tools": "The model '{model}' cannot call tools in its own format; set tool_mode to react",
    "invalid-request": "{vendor} did not accept the request",
    "bad-reply": "{vendor} sent a reply that cannot be read",
    "no-json": "The model '{model}' did not answer with valid JSON",
}
assert set(SENTENCES) == set(get_args(Kind))  # noqa: S101 - a kind without its sentence is a mistake of this file
LOST = "The connection to {vendor}{place} was lost before its answer was complete"
# To ask again may help. All others say the same again, or would be paid twice.
PASSING = frozenset({"rate-limit", "timeout", "connection", "unavailable"})


class LLMError(RocketRideError):
    """A language model gave no answer.

    Attributes:
        kind: what happened, the same for every vendor.
        vendor, model: who was asked.
        address: where, without user and password; "" where that is not known.
        lost: of kind `connection`, there was a connection, and it broke.
        component: the LLM node.
        among: the LLM node, where it is one of several that were meant by one name; begins the message then.
        status: of the HTTP reply, 0 where there was none.
        retry_after: seconds after which the vendor wants to be asked again, None where it did not say.
        attempts: how often it was asked, the last time included.
        sentence: in place of the kind's usual one, where that would not be true: of a key that was never sent, say.
    """

    def __init__(
        self,
        kind: Kind,
        detail: str = "",
        *,
        vendor: str = "the server",
        model: str = "",
        status: int = 0,
        retry_after: float | None = None,
        sentence: str = "",
        lost: bool = False,
    ) -> None:
        self.kind, self.detail, self.vendor, self.model, self.sentence = kind, detail, vendor, model, sentence
        self.lost, self.address, self.among = lost, "", ""
        self.status, self.retry_after, self.component, self.attempts = status, retry_after, "", 1
        super().__init__(kind, detail)

    @property
    def passing(self) -> bool:
        """To ask again may help."""
        return self.kind in PASSING

    def __str__(self) -> str:
        usual = LOST if self.lost and self.kind == "connection" else SENTENCES[self.kind]
        place = f" at {self.address}" if self.address else ""
        said = self.sentence or usual.format(vendor=self.vendor, model=self.model, place=place)
        said = f"{said[:1].upper()}{said[1:]}"
        said = f"{self.among}: {said}" if self.among else said
        told = " ".join(self.detail.split())
        if told:
            said += f": {told[:LONGEST]}{'…' if len(told) > LONGEST else ''}"
        facts = [f"HTTP {self.status}"] if self.status else []
        facts += [f"asked {self.attempts} times"] if self.attempts > 1 else []
        return f"{said} ({', '.join(facts)})" if facts else said


LONGEST = 500  # characters of a vendor's own words


def by_status(status: int, detail: str = "", headers: Mapping[str, str] | None = None) -> LLMError:
    """The error that an HTTP status stands for, where a vendor's reply says nothing more exact."""
    kind: Kind = "invalid-request"
    if status == 401:
        kind, detail = "authentication", ""  # vendors repeat a part of the key
    elif status == 402:
        kind = "quota"
    elif status == 403:
        kind = "permission"
    elif status == 404:
        kind = "no-such-model"
    elif status == 408:
        kind = "timeout"
    elif status == 413:
        kind = "too-long"
    elif status == 429:
        kind = "rate-limit"
    elif status == 504:
        kind = "timeout"
    elif status >= 500:
        kind = "unavailable"
    return LLMError(kind, detail, status=status, retry_after=retry_after(headers or {}))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `Retry-After` (a number or a date) or `retry-after-ms`; None where neither can be read."""
    low = {name.lower(): value for name, value in headers.items()}
    try:
        if "retry-after-ms" in low:
            return max(0.0, float(low["retry-after-ms"]) / 1000)
    except ValueError:
        pass
    told = low.get("retry-after", "").strip()
    if not told:
        return None
    try:
        return max(0.0, float(told))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(told)
    except (ValueError, OverflowError):  # OverflowError: a year, or an offset, of many digits
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp())


# Of httpx, and Python's own; by all others there never was a connection.
BROKEN = {"ReadError", "WriteError", "CloseError", "ProtocolError"}
BREAKS = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError)


def transport(error: BaseException) -> LLMError | None:
    """What an exception of the HTTP client below a vendor's library means, None for any other exception.

    Libraries let them through while a stream is read. They are known by name: which of httpx and httpx2 is below is the
    library's own affair.
    """
    if isinstance(error, LLMError):  # one that our own hook in the client has raised
        return error
    names = {
        base.__name__ for base in type(error).__mro__ if base.__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore")
    }
    if "TimeoutException" in names:
        return LLMError("timeout")
    if names & {"TransportError", "NetworkError", "ProtocolError"} or isinstance(error, ConnectionError):
        return LLMError("connection", str(error), lost=bool(names & BROKEN) or isinstance(error, BREAKS))
    if "DecodingError" in names:
        return LLMError("bad-reply", str(error))
    if isinstance(error, RecursionError):
        return LLMError("bad-reply", "its JSON is nested too deeply")
    return LLMError("timeout") if isinstance(error, TimeoutError) else None
