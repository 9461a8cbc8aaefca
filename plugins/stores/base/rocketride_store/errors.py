# SPDX-License-Identifier: MIT
"""What can go wrong with a store, whoever its vendor is."""

from __future__ import annotations

from collections.abc import Mapping
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from typing import Any, Literal, TypeAlias, get_args

from rocketride_core.errors import RocketRideError

__all__ = ["Kind", "StoreError", "by_status", "transport"]

Kind: TypeAlias = Literal[
    "connection",
    "timeout",
    "unavailable",
    "rate-limit",
    "authentication",
    "permission",
    "version",
    "not-found",
    "invalid",
    "too-large",
    "full",
    "not-confirmed",
    "mismatch",
    "bad-reply",
]
SENTENCES: Mapping[str, str] = {
    "connection": "{store} cannot be reached{at}; is it running, and is its address right?",
    "timeout": "{store} did not answer in time{at}",
    "unavailable": "{store} is there but cannot serve requests now{at}",
    "rate-limit": "{store} takes no more requests for now",
    "authentication": "{store} refused the key or password of the config",
    "permission": "{store} does not let this account do that",
    "version": "{store} has a version that cannot be used",
    "not-found": "{store} has no such database, tenant or collection",
    "invalid": "{store} did not accept the request",
    "too-large": "{store} does not take so much at once; set a smaller payloadLimit",
    "full": "{store} has no room left",
    "not-confirmed": "{store} did not confirm a write; what it was to write may be missing",
    "mismatch": "This does not fit the collection in {store}",
    "bad-reply": "{store} sent a reply that cannot be read; is it really the server that the config means?",
}
assert set(SENTENCES) == set(get_args(Kind))  # noqa: S101 - a kind without its sentence is a mistake of this file
# To ask again may help; every call of a store may be repeated, because the ids of chunks are stable.
PASSING = frozenset({"connection", "timeout", "unavailable", "rate-limit"})
LONGEST = 500  # characters of a server's own words


class StoreError(RocketRideError):
    """A store did not do what it was asked.

    Attributes:
        kind: what happened, the same for every store.
        detail: the server's own words.
        store: its name, filled in by the node; `address` of its server, "" where it has none; `component` is the node's id, which
            the run's error and the probe's problem name.
        status: of the HTTP reply, 0 where there was none.
        retry_after: seconds after which the server wants to be asked again, None where it did not say.
        attempts: how often it was asked, the last time included.
        sentence: in place of the kind's usual one, where another tells more.
    """

    def __init__(
        self, kind: Kind, detail: str = "", *, sentence: str = "", status: int = 0, retry_after: float | None = None
    ) -> None:
        self.kind, self.detail, self.sentence, self.status, self.retry_after = kind, detail, sentence, status, retry_after
        self.store, self.address, self.component, self.attempts = "the store", "", "", 1
        super().__init__(kind, detail)

    @property
    def passing(self) -> bool:
        """To ask again may help."""
        return self.kind in PASSING

    def __str__(self) -> str:
        at = f" at {self.address}" if self.address else ""
        said = self.sentence or SENTENCES[self.kind].format(store=self.store, at=at)
        told = " ".join(self.detail.split())
        if told:
            said += f": {told[:LONGEST]}{'…' if len(told) > LONGEST else ''}"
        facts = [f"HTTP {self.status}"] if self.status else []
        facts += [f"asked {self.attempts} times"] if self.attempts > 1 else []
        return f"{said} ({', '.join(facts)})" if facts else said


_STATUS: Mapping[int, Kind] = {
    401: "authentication",
    403: "permission",
    404: "not-found",
    408: "timeout",
    413: "too-large",
    429: "rate-limit",
    504: "timeout",
    507: "full",
}


def by_status(status: int, detail: str = "", *, retry_after: float | None = None) -> StoreError:
    """The error that an HTTP status stands for, where a server's reply says nothing more exact."""
    kind = _STATUS.get(status, "unavailable" if status >= 500 else "invalid")
    # Some servers repeat the key that they refuse.
    return StoreError(kind, "" if kind == "authentication" else detail, status=status, retry_after=retry_after)


_GRPC: Mapping[str, Kind] = {
    "UNAVAILABLE": "connection",
    "DEADLINE_EXCEEDED": "timeout",
    "UNAUTHENTICATED": "authentication",
    "PERMISSION_DENIED": "permission",
    "NOT_FOUND": "not-found",
    "RESOURCE_EXHAUSTED": "rate-limit",
    "INVALID_ARGUMENT": "invalid",
    "FAILED_PRECONDITION": "invalid",
    "OUT_OF_RANGE": "invalid",
    "UNIMPLEMENTED": "version",
    "ABORTED": "unavailable",
    "CANCELLED": "connection",
    "UNKNOWN": "invalid",  # what a server throws of its own; to say it again changes nothing
}


def transport(error: BaseException) -> StoreError | None:
    """What an exception of httpx, requests, urllib3, grpc, a socket or a folder means; None for any other exception.

    They are known by name, also as the cause of a vendor's own exception, so that none of these libraries need be installed.
    """
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if (told := _transport(at)) is not None:
            return told
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return None


def _transport(error: BaseException) -> StoreError | None:
    bases = type(error).__mro__
    names = {base.__name__ for base in bases if base.__module__.partition(".")[0] in _LIBRARIES}
    code = getattr(error, "code", None)
    if "grpc" in {base.__module__.partition(".")[0] for base in bases} and callable(code):
        name = getattr(code(), "name", "")
        details = getattr(error, "details", None)
        said = str(details() if callable(details) else details or name)
        kind = _GRPC.get(name, "unavailable")
        # grpc's own words of a limit of ours, and of a server that speaks HTTP and no gRPC.
        kind = "too-large" if "larger than max" in said else "bad-reply" if kind == "version" and "http2 header" in said else kind
        # As by_status: some servers repeat the key that they refuse.
        return StoreError(kind, "" if kind == "authentication" else said)
    status = getattr(getattr(error, "response", None), "status_code", None)
    if names and isinstance(status, int):
        response: Any = error.response  # type: ignore[attr-defined]
        told = response.headers.get("retry-after", "")
        return by_status(status, response.text, retry_after=float(told) if told.isdecimal() else None)
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return StoreError("timeout")
    if isinstance(error, ConnectionError) or names & _BROKEN:
        return StoreError("connection", str(error))
    if names & {"DecodingError", "InvalidJSONError"}:
        return StoreError("bad-reply", str(error))
    if isinstance(error, OSError) and (error.filename is not None or error.errno in _FULL):
        kinds: Mapping[int, Kind] = {
            EACCES: "permission",
            EPERM: "permission",
            EROFS: "permission",
            **dict.fromkeys(_FULL, "full"),
        }
        return StoreError(kinds.get(error.errno or 0, "invalid"), str(error))
    return None


_FULL = (ENOSPC, EDQUOT)
_LIBRARIES = frozenset({"httpx", "httpcore", "requests", "urllib3", "aiohttp"})
_BROKEN = frozenset({"TransportError", "NetworkError", "ProtocolError", "ConnectionError", "ClientConnectionError"})
