# SPDX-License-Identifier: MIT
"""Mail (RFC 5322, MIME, and Outlook's files): the headers a reader sees, and the body once, plain text before HTML; attachments on request."""

import binascii
import email
import email.policy
import mimetypes
import re
from collections.abc import Callable, Iterator
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from rocketride_parse.encoding import NotText, decode
from rocketride_parse.errors import Damaged
from rocketride_parse.media import media
from rocketride_parse.parts import Flow, Media, Meta, Part, Table, Text, facts
from rocketride_parse.source import Source
from rocketride_parse.unpack import OLE, loose

from .html import read_text
from .outlook import as_mail

_DECODERS: dict[str, Callable[[bytes], bytes]] = {"base64": binascii.a2b_base64, "quoted-printable": binascii.a2b_qp}
_HEADED = re.compile(rb"[!-9;-~]+:")
_SHOWN = ("Subject", "From", "To", "Cc", "Date")


def read(source: Source) -> Iterator[Part]:
    """Headers and body in order, then pictures that stand in the body, then attached files."""
    message = _message(source)
    headers = {name: _header(message, name) for name in _SHOWN}
    if not any(headers.values()):
        raise Damaged(f"{source.name}: damaged, not a mail: it has neither sender nor subject nor date")
    attached: list[EmailMessage] = []
    pictures: list[EmailMessage] = []
    flow = Flow()
    flow.add("\n".join(f"{name}: {value}" for name, value in headers.items() if value))
    shown: list[Media] = []
    for leaf in _bodies(message, attached, pictures):
        for part in _body(leaf, source):
            if isinstance(part, Text):
                flow.add(part.text)
            elif isinstance(part, Table):
                yield from flow.put(part)
            elif isinstance(part, Media):
                shown.append(part)
    yield from flow.end()
    yield from shown
    for leaf in pictures:
        content = _payload(leaf)
        source.budget.add(len(content))
        if picture := media(content, _name(leaf), source.options.lanes):
            yield picture
    for leaf in attached if source.options.files else ():
        yield from loose(_name(leaf), _payload(leaf), source, source.budget)
    yield Meta(
        facts(
            title=headers["Subject"],
            author=headers["From"],
            to=headers["To"],
            created=_when(headers["Date"]),
            language=_header(message, "Content-Language"),
            attachments=[_name(leaf) for leaf in (*pictures, *attached)],
        ).values
    )


def attachments(source: Source) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the attached files; not of what stands in the body."""
    attached: list[EmailMessage] = []
    for _ in _bodies(_message(source), attached, []):
        pass
    for leaf in attached:
        yield _name(leaf), _payload(leaf)


def _message(source: Source) -> EmailMessage:
    if source.head.startswith(OLE):
        return as_mail(source)
    return email.message_from_bytes(source.data.lstrip(b"\r\n"), policy=email.policy.default)


def _name(leaf: EmailMessage) -> str:
    kind = leaf.get_content_type()
    if kind == "message/rfc822":
        return leaf.get_filename() or "forwarded.eml"
    return leaf.get_filename() or "attachment" + (mimetypes.guess_extension(kind) or "")


def _payload(leaf: EmailMessage) -> bytes:
    if leaf.is_multipart():
        content = b"".join(_written(part) for part in leaf.get_payload() if isinstance(part, EmailMessage))
        # Not allowed for a mail in a mail, and yet some write it; the parser then takes the encoded lines for its body.
        decoder = _DECODERS.get(str(leaf.get("Content-Transfer-Encoding", "")).strip().lower())
        if decoder is None or _HEADED.match(content):
            return content
        try:
            return decoder(content)
        except ValueError:
            return content
    payload = leaf.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _written(part: EmailMessage) -> bytes:
    try:
        return bytes(part)
    except UnicodeError:  # bytes that are no ASCII where the parser found no structure
        return part.as_string().encode("utf-8", "surrogateescape")


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


def _bodies(message: EmailMessage, attached: list[EmailMessage], pictures: list[EmailMessage]) -> Iterator[EmailMessage]:
    """The parts that are the mail's own text: of alternatives the simplest that says something, of related parts the first."""
    kind = message.get_content_type()
    if message.get_content_disposition() == "attachment" or kind == "message/rfc822":
        attached.append(message)
    elif message.is_multipart():
        parts = [part for part in message.iter_parts() if isinstance(part, EmailMessage)]
        if kind == "multipart/alternative":
            by_worth = sorted(parts, key=lambda part: part.get_content_type() != "text/plain")
            chosen = next((part for part in by_worth if _says_something(part)), None)
            parts = [chosen] if chosen is not None else []
        elif kind == "multipart/related":
            for part in parts[1:]:
                (pictures if part.get_content_maintype() == "image" else attached).append(part)
            parts = parts[:1]
        for part in parts:
            yield from _bodies(part, attached, pictures)
    elif kind in ("text/plain", "text/html", "text/markdown"):
        yield message
    elif kind.startswith("image/"):
        pictures.append(message)
    elif kind != "multipart/mixed":
        attached.append(message)


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


def _body(part: EmailMessage, source: Source) -> Iterator[Part]:
    text = _content(part)
    if part.get_content_type() == "text/html":
        yield from read_text(text, source.options.lanes)
    else:
        yield Text(text)
