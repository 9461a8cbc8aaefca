# SPDX-License-Identifier: MIT
"""The steps of a script: what the server does with one request. Here those that go wrong; `speech` has the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field, frozen
from attrs.validators import ge, in_, instance_of, optional

from .speech import CallTools, Echo, Interrupted, Say, Think, Usage, count, seconds

if TYPE_CHECKING:
    from .request import Request

__all__ = [
    "CallTools",
    "Drop",
    "Echo",
    "Fail",
    "FailMidway",
    "Hang",
    "Interrupted",
    "Malformed",
    "PlainStep",
    "Say",
    "Step",
    "Think",
    "Usage",
]

KINDS = (
    "bad_key",
    "permission",
    "rate_limit",
    "quota",
    "model_not_found",
    "context_too_long",
    "content_refused",
    "no_tool_support",
    "bad_request",
    "server_error",
    "overloaded",
)


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else value


@frozen
class Fail:
    """An error in the vendor's own JSON. The functions of `failures` make the usual ones.

    Attributes:
        status: the HTTP status; None is what the vendor sends for this kind.
        kind: one of KINDS; None is guessed from the status.
        message: in place of the vendor's usual text.
        headers: sent beside the usual ones.
        code: in place of the error's usual code (OpenAI) or type (Anthropic).
        body: sent as it is, a dict as JSON or a text, in place of all of that.
        delay: seconds before it.
    """

    status: int | None = field(default=None, validator=optional(instance_of(int)))
    kind: str | None = field(default=None, validator=optional(in_(KINDS)))
    message: str | None = field(default=None, validator=optional(instance_of(str)))
    headers: Mapping[str, str] = field(factory=dict, converter=_plain)
    code: str | None = field(default=None, validator=optional(instance_of(str)))
    body: Any = None
    delay: float = seconds()

    def __attrs_post_init__(self) -> None:
        if self.status is None and self.kind is None:
            raise ValueError("Fail needs a status or a kind")
        if self.status is not None and not 400 <= self.status <= 599:
            raise ValueError(f"the status of a failure is 400 to 599, not {self.status}")

    @property
    def sort(self) -> str:
        """The kind, from the status where none is given."""
        if self.kind is not None:
            return self.kind
        known = {
            401: "bad_key",
            403: "permission",
            404: "model_not_found",
            429: "rate_limit",
            503: "overloaded",
            529: "overloaded",
        }
        status = self.status or 500
        return known.get(status, "server_error" if status >= 500 else "bad_request")


SPOKEN = (Say, Think, CallTools, Echo)
BABBLE = Say("This reply will not reach its end.")


@frozen
class Hang:
    """The request is taken and not answered, until the server closes or the client gives up.

    Attributes:
        seconds: after these the connection is closed; None waits for ever.
        after_chunks: in a stream, hang after so many pieces of `reply`; None hangs before the first byte.
    """

    seconds: float | None = field(default=None, validator=optional(ge(0.0)))
    after_chunks: int | None = count()
    reply: Interrupted = field(default=BABBLE, validator=instance_of(SPOKEN), kw_only=True)


@frozen
class Drop:
    """The connection is closed before the reply, or in the middle of it.

    Attributes:
        after_bytes: after so many bytes of the body.
        after_chunks: after so many pieces of a stream; a reply without stream is cut in its middle.
        reset: with a TCP reset in place of an orderly end.
        unframed: the body has neither a length nor chunks, so that only the end of the connection ends it.
        torn: in a stream, half of the next piece comes too.
    """

    after_bytes: int | None = count()
    after_chunks: int | None = count()
    reset: bool = False
    unframed: bool = field(default=False, kw_only=True)
    torn: bool = field(default=False, kw_only=True)
    reply: Interrupted = field(default=BABBLE, validator=instance_of(SPOKEN), kw_only=True)


@frozen
class Malformed:
    """A body that is not what the wire promises; in a stream, one event that is not, after some good ones.

    Attributes:
        text: the body, or the data of the event.
        after_chunks: good pieces of `reply` before it, in a stream.
        status: of a reply without stream.
        content_type: of a reply without stream; anything but JSON also replaces a stream, as a proxy's page does.
    """

    text: str = field(default='{"broken": ', validator=instance_of(str))
    after_chunks: int = field(default=0, validator=[instance_of(int), ge(0)])
    status: int = field(default=200, validator=instance_of(int))
    content_type: str = field(default="application/json", validator=instance_of(str))
    reply: Interrupted = field(default=BABBLE, validator=instance_of(SPOKEN), kw_only=True)


@frozen
class FailMidway:
    """An error event inside a stream, after some pieces; a request without stream just fails.

    Attributes:
        fail: the error.
        after_chunks: good pieces of `reply` before it.
    """

    fail: Fail = field(factory=lambda: Fail(kind="server_error"), validator=instance_of(Fail))
    after_chunks: int = field(default=2, validator=[instance_of(int), ge(0)])
    reply: Interrupted = field(default=BABBLE, validator=instance_of(SPOKEN), kw_only=True)


PlainStep: TypeAlias = Say | Think | CallTools | Echo | Fail | Hang | Drop | Malformed | FailMidway
Step: TypeAlias = "PlainStep | Callable[[Request], PlainStep]"
