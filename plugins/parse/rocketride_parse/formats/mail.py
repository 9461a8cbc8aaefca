# SPDX-License-Identifier: MIT
"""Mail (RFC 5322, MIME): the headers a reader sees, and the body once, plain text before HTML."""

import email
import email.policy
from collections.abc import Iterator
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from rocketride_parse.encoding import NotText, decode
from rocketride_parse.errors import Damaged
from rocketride_parse.parts import Flow, Meta, Part, Table, Text, facts
from rocketride_parse.source import Source

from .html import read_text

_SHOWN = ("Subject", "From", "To", "Cc", "Date")


def read(source: Source) -> Iterator[Part]:
    """Headers and body in order. Attachments are named in the facts and not read."""
    message = email.message_from_bytes(source.data.lstrip(b"\r\n"), policy=email.policy.default)
    headers = {name: _header(message, name) for name in _SHOWN}
    if not any(headers.values()):
        raise Damaged(f"{source.name}: damaged, not a mail: it has neither sender nor subject nor date")
    attachments: list[str] = []
    flow = Flow()
    flow.add("\n".join(f"{name}: {value}" for name, value in headers.items() if value))
    for leaf in _bodies(message, attachments):
        for part in _body(leaf):
            if isinstance(part, Text):
                flow.add(part.text)
            elif isinstance(part, Table):
                yield from flow.put(part)
    yield from flow.end()
    yield Meta(
        facts(
            title=headers["Subject"],
            author=headers["From"],
            to=headers["To"],
            created=_when(headers["Date"]),
            language=_header(message, "Content-Language"),
            attachments=attachments,
        ).values
    )


def _header(message: EmailMessage, name: str) -> str:
    """A header decoded; one with bare bytes in it by detection; one that breaks the parser of its type, as it stands."""
    raw = next((str(text) for key, text in message.raw_items() if key.lower() == name.lower()), "")
    try:
        if any("\udc80" <= char <= "\udcff" for char in raw):
            return decode(raw.encode("utf-8", "surrogateescape"))[0]
        return str(message.get(name, ""))
    except (ValueError, LookupError, AttributeError, TypeError, MessageError):
        return raw.encode("utf-8", "replace").decode()


def _when(text: str) -> str:
    try:
        return parsedate_to_datetime(text).isoformat() if text else ""
    except ValueError:
        return text


def _bodies(message: EmailMessage, attachments: list[str]) -> Iterator[EmailMessage]:
    """The parts that are the mail's own text: of alternatives the simplest that says something, of related parts the first."""
    kind = message.get_content_type()
    if message.get_content_disposition() == "attachment" or kind == "message/rfc822":
        attachments.append(message.get_filename() or ("forwarded.eml" if kind == "message/rfc822" else "attachment"))
    elif message.is_multipart():
        parts = [part for part in message.iter_parts() if isinstance(part, EmailMessage)]
        if kind == "multipart/alternative":
            by_worth = sorted(parts, key=lambda part: part.get_content_type() != "text/plain")
            chosen = next((part for part in by_worth if _says_something(part)), None)
            parts = [chosen] if chosen is not None else []
        elif kind == "multipart/related":
            attachments += [part.get_filename() or part.get_content_type() for part in parts[1:]]
            parts = parts[:1]
        for part in parts:
            yield from _bodies(part, attachments)
    elif kind in ("text/plain", "text/html", "text/markdown"):
        yield message
    elif kind != "multipart/mixed":
        attachments.append(message.get_filename() or kind)


def _says_something(part: EmailMessage) -> bool:
    return part.is_multipart() or (part.get_content_maintype() == "text" and bool(_content(part).strip()))


def _content(part: EmailMessage) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    try:
        return decode(payload, [str(part.get_content_charset() or "")])[0]
    except NotText:
        return ""


def _body(part: EmailMessage) -> Iterator[Part]:
    text = _content(part)
    if part.get_content_type() == "text/html":
        yield from read_text(text)
    else:
        yield Text(text)
