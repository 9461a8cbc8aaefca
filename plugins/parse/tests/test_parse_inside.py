# SPDX-License-Identifier: MIT
"""Files inside files: archives, attachments, and the limits on what comes out of them."""

import bz2
import gc
import gzip
import io
import lzma
import tarfile
import zipfile
from base64 import b64encode
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pypdfium2
import pytest

from rocketride_core import TAGS, TEXT, Blob, Component, Entry, Instance, Kernel, LaneLink, Node, NodeSpec, PipeFile, on
from rocketride_parse import Parse
from rocketride_parse.errors import Damaged, Encrypted, UnpackLimit
from rocketride_parse.formats import parse
from rocketride_parse.parts import File, Meta, Text
from rocketride_parse.source import Options

ALL = Options(files=True)


def zipped(members: dict[str, bytes], level: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", level) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return content.getvalue()


def mail(text: str = "The letter.", **attached: bytes) -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"], message["Date"] = "a@example.org", "Wheels", "Mon, 2 Mar 2026 10:00:00 +0000"
    message.set_content(text)
    for name, content in attached.items():
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name.replace("_", "."))
    return bytes(message)


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., dict[str, bytes]]:
    def reader(content: bytes, name: str = "outer", **limits: int) -> dict[str, bytes]:
        path = tmp_path / name
        path.write_bytes(content)
        return {part.name: part.content for part in parse(path, options=ALL._replace(**limits)) if isinstance(part, File)}

    return reader


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (zipped, "zip"),
        (tarred, "tar"),
        (lambda members: tarred(members, "w:gz"), "tar"),
        (lambda members: tarred(members, "w:bz2"), "tar"),
        (lambda members: tarred(members, "w:xz"), "tar"),
    ],
)
@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.txt"])
def test_members_of_archives_whatever_their_name(make, kind, name, tmp_path):
    path = tmp_path / name
    path.write_bytes(
        make({"one.txt": b"one", "folder/two.html": b"<p>two</p>", "folder/.DS_Store": b"x", "__MACOSX/a": b"x", "empty": b""})
    )
    parts = list(parse(path, options=ALL))
    assert [(part.name, part.content) for part in parts if isinstance(part, File)] == [
        ("one.txt", b"one"),
        ("folder/two.html", b"<p>two</p>"),
    ]
    assert not any(isinstance(part, Text) for part in parts)
    assert {"format": kind} in [part.values for part in parts if isinstance(part, Meta)]
    assert next(part.values for part in parse(path) if isinstance(part, Meta))["files"] == 5


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_one_compressed_file(compress, files):
    assert files(compress(b"some text"), "notes.txt.gz") == {"notes.txt": b"some text"}


def test_archives_and_mails_inside_each_other_come_flat(files):
    inner = zipped({"deep.txt": b"deep", "more/letter.eml": mail(a_txt=b"attached", b_zip=zipped({"last.txt": b"last"}))})
    got = files(tarred({"inner.zip": inner, "top.txt": b"top"}))
    assert list(got) == [
        "inner.zip/deep.txt",
        "inner.zip/more/letter.eml",
        "inner.zip/more/letter.eml/a.txt",
        "inner.zip/more/letter.eml/b.zip/last.txt",
        "top.txt",
    ]
    assert got["inner.zip/more/letter.eml/b.zip/last.txt"] == b"last"


def test_attachments_of_a_mail(files):
    forwarded = EmailMessage()
    forwarded["From"], forwarded["Subject"] = "b@example.org", "Older"
    forwarded.set_content("Older text.")
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "Newer"
    message.set_content("Newer text.")
    message.add_attachment(b"a;b\n1;2\n", maintype="text", subtype="csv", filename="größe.csv")
    message.add_attachment(b"twice", maintype="application", subtype="octet-stream", filename="größe.csv")
    message.add_attachment(forwarded)
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf")
    got = files(bytes(message), "m.eml")
    assert list(got) == ["größe.csv", "größe (2).csv", "forwarded.eml", "attachment.pdf"]
    assert b"Older text." in got["forwarded.eml"]


def test_forwarded_mail_with_bytes_that_are_no_text(files):
    inner = (
        b"From: q@example.org\r\nSubject: s\r\nContent-Type: multipart/mixed; b0undary=I\r\n\r\n--I\r\n"
        b"Content-Type: text/plain\r\n\r\nInner words of Andr\xe9.\r\n--I--\r\n"
    )
    outer = b"From: a@example.org\r\nSubject: o\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: message/rfc822\r\n\r\n"
    assert b"Inner words of" in files(outer + inner + b"\r\n--B--\r\n", "a.eml")["forwarded.eml"]


def test_forwarded_mail_in_base64(files):
    inner = b64encode(b"From: q@example.org\r\nSubject: s\r\n\r\nInner words.\r\n")
    outer = (
        b"From: a@example.org\r\nSubject: o\r\nContent-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\n"
        b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    )
    assert b"Inner words." in files(outer + inner + b"\r\n--B--\r\n", "a.eml")["forwarded.eml"]


def test_files_attached_to_a_pdf(files, make, tmp_path):
    document = pypdfium2.PdfDocument(make["pdf"](tmp_path / "a.pdf"))
    document.new_attachment("numbers.csv").set_data(b"a,b\n1,2\n")
    document.save(str(tmp_path / "with.pdf"))
    assert files((tmp_path / "with.pdf").read_bytes()) == {"numbers.csv": b"a,b\n1,2\n"}


def test_names_lead_nowhere_else(files):
    evil = {"../../etc/passwd": b"1", "/absolute.txt": b"2", "C:\\windows\\x.txt": b"3", "a/./b//c.txt": b"4"}
    assert list(files(zipped(evil))) == ["etc/passwd", "absolute.txt", "windows/x.txt", "a/b/c.txt"]


def test_links_in_a_tar_are_not_followed(files):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, kind in (("soft", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE), ("pipe", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert files(content.getvalue()) == {}


def test_pictures_are_left_out_where_nobody_looks(files):
    assert list(files(zipped({"a.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "a.txt": b"x"}))) == ["a.txt"]
    picture = zipped({"a.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 50})
    assert list(files(picture, lanes=("image",))) == ["a.png"]


# --- limits -----------------------------------------------------------------------------------------------------------


def nest(depth: int) -> bytes:
    content = b"at the bottom"
    for number in range(depth):
        content = zipped({f"{number}.zip" if number else "a.txt": content})
    return content


@pytest.mark.parametrize(
    ("content", "limits", "says"),
    [
        (lambda: zipped({f"{n}.txt": b"x" for n in range(11)}), {"max_files": 10}, "more than the 10 files that max_files allows"),
        (lambda: zipped({"z.zip": zipped({f"{n}.txt": b"x" for n in range(6)}), **{f"{n}.txt": b"x" for n in range(6)}}), {"max_files": 10}, "10 files"),
        (lambda: zipped({"a": b"x" * (3 << 20)}), {"max_unpacked": 2 << 20}, "more than the 2 MiB that max_unpacked allows"),
        (lambda: tarred({"a": b"x" * (3 << 20)}, "w:gz"), {"max_unpacked": 2 << 20}, "2 MiB that max_unpacked"),
        (lambda: gzip.compress(b"x" * (3 << 20)), {"max_unpacked": 2 << 20}, "2 MiB that max_unpacked"),
        (lambda: zipped({"a": bytes(17 << 20)}), {}, r"more than 200 times its size \(max_ratio\)"),
        (lambda: tarred({"a": bytes(17 << 20)}, "w:gz"), {}, "200 times its size"),
        (lambda: nest(5), {}, r"more than 4 deep \(max_depth\)"),
        (lambda: mail(a_zip=zipped({"b.eml": mail(c_zip=zipped({"d.zip": zipped({"e": b"x"})}))})), {"max_depth": 3}, "3 deep"),
        (lambda: mail(a_bin=bytes(3 << 20)), {"max_unpacked": 2 << 20}, "2 MiB that max_unpacked"),
    ],
)  # fmt: skip
def test_bombs_are_refused(content, limits, says, files, tmp_path):
    with pytest.raises(UnpackLimit, match=f"^outer: .*{says}"):
        files(content(), **limits)


def test_what_is_just_within_the_limits_is_read(files):
    assert len(files(zipped({f"{n}.txt": b"x" for n in range(10)}), max_files=10)) == 10
    assert list(files(nest(4))) == ["3.zip/2.zip/1.zip/a.txt"]


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "gz", "bz2", "xz"])
def test_damaged_archives(kind, files):
    text = bytes(range(256)) * 40
    content = {
        "zip": lambda: zipped({"a": text}, zipfile.ZIP_STORED),
        "tar.gz": lambda: tarred({"a": text}, "w:gz"),
        "gz": lambda: gzip.compress(text),
        "bz2": lambda: bz2.compress(text),
        "xz": lambda: lzma.compress(text),
    }[kind]()
    with pytest.raises(Damaged, match=r"^a\.\S+: damaged, not an? (archive|compressed file|ZIP file) that"):
        files(content[: len(content) - 60 if kind != "bz2" else 60], f"a.{kind}")


def test_locked_archive(files):
    content = bytearray(zipped({"a.txt": b"secret"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1
    with pytest.raises(Encrypted, match=r"^locked\.zip: encrypted with a password"):
        files(bytes(content), "locked.zip")
    assert list(files(zipped({"locked.zip": bytes(content), "a.txt": b"x"}))) == ["locked.zip", "a.txt"], "fails alone, later"


# --- in a pipeline ----------------------------------------------------------------------------------------------------


class Drop(Node[None]):
    spec = NodeSpec("drop", title="Drop", categories=["source"], emits=[TAGS])


class Out(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(TEXT)
    def text(self, instance: Instance, text: str) -> None:
        instance.respond("text", TEXT(text))


def run(content: bytes, name: str, **config: object):
    pipe = PipeFile(
        [
            Component("drop", "drop"),
            Component("parse_1", "parse", config, input=[LaneLink("tags", "drop")]),
            Component("out", "out", input=[LaneLink("text", "parse_1")]),
        ]
    )
    with Kernel(nodes=[Drop, Parse, Out]).load(pipe) as pipeline:
        return pipeline.run(Entry(name, path=f"in/{name}", metadata={"title": "Mine"}), TAGS(Blob.of(content, name=name)))


def test_children_are_objects_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run(
        zipped({"a/one.txt": b"one", "two.eml": mail(three_txt=b"three"), "bad.json": b'{"a"', "big.txt": b"big " * 50_000}),
        "all.zip",
    ).checked()
    assert result[TEXT] == []
    assert result.to_json()["metadata"] == {"title": "Mine", "format": "zip", "files": 5}
    assert [(child.entry.name, child.entry.path) for child in result.children] == [
        ("one.txt", "in/all.zip/a/one.txt"),
        ("two.eml", "in/all.zip/two.eml"),
        ("three.txt", "in/all.zip/two.eml/three.txt"),
        ("bad.json", "in/all.zip/bad.json"),
        ("big.txt", "in/all.zip/big.txt"),
    ]
    one, two, three, bad, big = result.children
    assert one[TEXT] == ["one"]
    assert two[TEXT][0].endswith("The letter.")
    assert three[TEXT] == ["three"], "once, though both the archive and the mail hold it"
    assert not two.children
    assert "bad.json: damaged" in str(bad.error)
    assert big[TEXT] == ["big " * 49_999 + "big"]
    assert one.to_json()["metadata"]["unpackedFrom"] == "in/all.zip"
    assert len({child.entry.object_id for child in result.children}) == 5
    del result, one, two, three, bad, big
    gc.collect()
    assert list(tmp_path.iterdir()) == [], "nothing is left on disk"


def test_names_only():
    result = run(mail(three_txt=b"three"), "m.eml", inside="names").checked()
    assert not result.children
    assert result.to_json()["metadata"]["attachments"] == ["three.txt"]


def test_a_bomb_is_one_error_and_no_child(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run(zipped({"fine.txt": b"x", "a.bin": bytes(20 << 20)}), "bomb.zip")
    assert isinstance(result.error.__cause__, UnpackLimit)
    assert not result.children
    assert list(tmp_path.iterdir()) == []
