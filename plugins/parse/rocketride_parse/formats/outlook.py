# SPDX-License-Identifier: MIT
"""Outlook's .msg files (MS-OXMSG): made into the mail they are, which `mail` reads."""

import email.policy
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.headerregistry import HeaderRegistry, UniqueUnstructuredHeader
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from rocketride_parse.encoding import NotText, decode
from rocketride_parse.parts import clean, one_line
from rocketride_parse.source import Source

_SUBJECT, _SENDER, _SENDER_SMTP, _SENDER_ADDRESS, _TO, _CC, _BODY, _HTML = (
    "0037", "0C1A", "5D01", "0C1F", "0E04", "0E03", "1000", "1013",
)  # fmt: skip
_DATA, _LONG_NAME, _NAME, _MIME_TYPE, _CONTENT_ID = "3701", "3707", "3704", "370E", "3712"
_TIMES = (0x0039, 0x0E06)
_TIME = 0x0040
_BEGINNING = datetime(1601, 1, 1, tzinfo=UTC)
_ATTACHMENT = "__attach_version1.0"
_DEEPEST = 20


def as_mail(source: Source) -> EmailMessage:
    """The message in an Outlook file, with its attachments and the messages attached to it."""
    import olefile

    with olefile.OleFileIO(str(source.path)) as ole:
        return _Storage(ole, [], header=32).message(0)


class _Storage:
    """A message or an attachment: a folder of the file, with a stream for each of its properties."""

    def __init__(self, ole: Any, path: list[str], header: int) -> None:
        self.ole, self.path, self.header = ole, path, header

    def binary(self, tag: str, kind: str = "0102") -> bytes:
        place = [*self.path, f"__substg1.0_{tag}{kind}"]
        return bytes(self.ole.openstream(place).read()) if self.ole.exists(place) else b""

    def text(self, tag: str) -> str:
        wide = self.binary(tag, "001F")
        if wide:
            return clean(wide.decode("utf-16-le", "replace"))
        try:
            return clean(decode(self.binary(tag, "001E"))[0])
        except NotText:
            return ""

    def time(self) -> str:
        """When it was sent, else delivered, as mails say it."""
        place = [*self.path, "__properties_version1.0"]
        data = self.ole.openstream(place).read()[self.header :] if self.ole.exists(place) else b""
        known = {}
        for start in range(0, len(data) - 15, 16):
            kind, tag, _, value = struct.unpack_from("<HHIQ", data, start)
            if kind == _TIME and value:
                known[tag] = value
        ticks = next((known[tag] for tag in _TIMES if tag in known), 0)
        try:
            return format_datetime(_BEGINNING + timedelta(microseconds=ticks // 10)) if ticks else ""
        except OverflowError:
            return ""

    def inside(self, start: str) -> Iterator["_Storage"]:
        depth = len(self.path)
        names = {
            item[depth]
            for item in self.ole.listdir(streams=True, storages=True)
            if item[:depth] == self.path and len(item) > depth
        }
        for name in sorted(name for name in names if name.startswith(start)):
            yield _Storage(self.ole, [*self.path, name], header=8)

    def message(self, depth: int) -> EmailMessage:
        # Outlook's lists of people are names, not addresses.
        registry: Any = HeaderRegistry()
        for name in ("from", "to", "cc"):
            registry.map_to_type(name, UniqueUnstructuredHeader)
        mail = EmailMessage(policy=email.policy.default.clone(header_factory=registry))
        sender, address = self.text(_SENDER), self.text(_SENDER_SMTP) or self.text(_SENDER_ADDRESS)
        if "@" in address and address != sender:
            sender = f"{sender} <{address}>".strip()
        headers = {
            "Subject": self.text(_SUBJECT),
            "From": sender,
            "To": self.text(_TO),
            "Cc": self.text(_CC),
            "Date": self.time(),
        }
        for name, value in headers.items():
            if value.strip("\0 "):
                mail[name] = one_line(value.replace("\0", ""))
        body, page = self.text(_BODY), self.binary(_HTML) or self.text(_HTML).encode()
        mail.set_content(body)
        shown = ""
        if page:
            try:
                shown = decode(page)[0]
            except NotText:
                shown = page.decode("utf-8", "replace")
            mail.add_alternative(shown, subtype="html")
        for attachment in self.inside(_ATTACHMENT):
            attachment.attach(mail, shown, depth)
        return mail

    def attach(self, mail: EmailMessage, shown: str, depth: int) -> None:
        embedded = next(self.inside(f"__substg1.0_{_DATA}000D"), None)
        if embedded is not None:
            if depth < _DEEPEST:
                mail.add_attachment(_Storage(self.ole, embedded.path, header=24).message(depth + 1))
            return
        content_id = self.text(_CONTENT_ID)
        kind, _, subtype = self.text(_MIME_TYPE).partition("/")
        mail.add_attachment(
            self.binary(_DATA),
            maintype=kind if kind in ("image", "audio", "video", "application", "text") and subtype else "application",
            subtype=subtype or "octet-stream",
            filename=one_line(self.text(_LONG_NAME) or self.text(_NAME)).replace("\0", "") or "attachment",
            disposition="inline" if content_id and f"cid:{content_id}" in shown else "attachment",
        )
