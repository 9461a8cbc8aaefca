# SPDX-License-Identifier: MIT
"""Outlook's .msg. No free library writes them, so the compound file (MS-CFB) is written here, property by property (MS-OXMSG)."""

import struct
from itertools import pairwise

import pytest

from rocketride_parse.errors import Damaged
from rocketride_parse.formats import parse
from rocketride_parse.parts import File, Media
from rocketride_parse.source import Options

Tree = dict[str, "bytes | Tree"]
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
MADE = 134_169_192_000_000_000  # 2 March 2026, 10:00 UTC, in 100 ns since 1601


def compound(tree: Tree) -> bytes:
    """A compound file: streams below 4,096 bytes in the mini stream, others in sectors of 512."""
    entries: list[list[object]] = [["Root Entry", 5, FREE, FREE, END, 0]]
    mini, minifat, large = bytearray(), [], []

    def add(name: str, content: "bytes | Tree") -> int:
        index = len(entries)
        entry: list[object] = [name, 1 if isinstance(content, dict) else 2, FREE, FREE, END, 0]
        entries.append(entry)
        if isinstance(content, dict):
            entry[3], entry[4] = fill(content), 0
        elif len(content) >= 4096:
            large.append((entry, content))
        elif content:
            count = -(-len(content) // 64)
            entry[4], entry[5] = len(minifat), len(content)
            minifat.extend([*range(len(minifat) + 1, len(minifat) + count), END])
            mini.extend(content.ljust(count * 64, b"\0"))
        return index

    def fill(folder: Tree) -> int:
        made = [add(name, content) for name, content in sorted(folder.items(), key=lambda item: (len(item[0]), item[0].upper()))]
        for one, following in pairwise(made):
            entries[one][2] = following
        return made[0] if made else FREE

    entries[0][3] = fill(tree)
    sectors, fat = bytearray(), []

    def put(data: bytes) -> int:
        start, count = len(fat), -(-len(data) // 512)
        fat.extend([*range(start + 1, start + count), END])
        sectors.extend(data.ljust(count * 512, b"\0"))
        return start

    for entry, content in large:
        entry[4], entry[5] = put(content), len(content)
    entries[0][4], entries[0][5] = put(bytes(mini)), len(mini)
    first_minifat = put(struct.pack(f"<{len(minifat)}I", *minifat).ljust(-(-len(minifat) // 128) * 512, b"\xff"))
    directory = b"".join(
        name.encode("utf-16-le").ljust(64, b"\0")
        + struct.pack("<HBBIII16sIQQIQ", len(name) * 2 + 2, kind, 1, FREE, right, child, b"", 0, 0, 0, start, size)
        for name, kind, right, child, start, size in entries
    )
    first_directory = put(directory)
    count = -(-(len(fat) + 2) // 128)
    first_fat = len(fat)
    fat += [FAT] * count
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(count * 512, b"\xff")
    header = struct.pack(
        "<8s16sHHHHH6sIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, b"", 0, count, first_directory, 0,
        4096, first_minifat, -(-len(minifat) // 128), END, 0,
    )  # fmt: skip
    places = [*range(first_fat, first_fat + count)]
    return header + struct.pack("<109I", *places, *[FREE] * (109 - count)) + bytes(sectors) + table


def message(header: int = 32, wide: bool = True, html: str = "", **texts: str) -> Tree:
    kind, codec = ("001F", "utf-16-le") if wide else ("001E", "cp1252")
    tree: Tree = {f"__substg1.0_{tag.removeprefix('t')}{kind}": text.encode(codec) for tag, text in texts.items()}
    if html:
        tree["__substg1.0_10130102"] = html.encode()
    return noted(tree, header)


def noted(tree: Tree, header: int) -> Tree:
    """With the stream that names every property, its kind and its length."""
    notes = bytes(header) + struct.pack("<HHIQ", 0x40, 0x39, 6, MADE)
    for name, content in tree.items():
        if name.startswith("__substg1.0_") and isinstance(content, bytes):
            tag, kind = int(name[12:16], 16), int(name[16:], 16)
            notes += struct.pack("<HHIII", kind, tag, 6, len(content) + {0x1F: 2, 0x1E: 1}.get(kind, 0), 0)
    tree["__properties_version1.0"] = notes
    return tree


def attachment(name: str, content: "bytes | Tree", **texts: str) -> Tree:
    tree = message(8, t3707=name, **texts)
    tree["__substg1.0_3701000D" if isinstance(content, dict) else "__substg1.0_37010102"] = content
    return noted(tree, 8)


LETTER = {
    "t0037": "Wheels",
    "t0C1A": "Zoë",
    "t5D01": "zoe@example.org",
    "t0E04": "Ada Long; Bob",
    "t1000": "Größe of wheels.\r\nSecond line.",
}


@pytest.mark.parametrize("wide", [True, False])
def test_text_headers_and_facts(wide, read, tmp_path):
    (tmp_path / "a.msg").write_bytes(compound(message(wide=wide, **LETTER)))
    got = read(tmp_path / "a.msg")
    head = "Subject: Wheels\nFrom: Zoë <zoe@example.org>\nTo: Ada Long; Bob\nDate: Mon, 02 Mar 2026 10:00:00 +0000"
    assert got.texts == [f"{head}\n\nGröße of wheels.\nSecond line."]
    assert got.facts["format"] == "msg"
    assert (got.facts["title"], got.facts["created"]) == ("Wheels", "2026-03-02T10:00:00+00:00")


def test_html_only(read, tmp_path):
    (tmp_path / "a.dat").write_bytes(compound(message(t0037="s", html="<p>One <b>bold</b> word</p>")))
    assert read(tmp_path / "a.dat").texts[0].endswith("One bold word")


def test_attachments_inline_pictures_and_messages(tmp_path):
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
    tree = message(html='<p>Look: <img src="cid:pic1"></p>', **LETTER)
    tree["__attach_version1.0_#00000000"] = attachment("numbers.csv", b"a,b\n1,2\n" * 700)
    tree["__attach_version1.0_#00000001"] = attachment("seen.png", png, t370E="image/png", t3712="pic1")
    tree["__attach_version1.0_#00000002"] = attachment("old.msg", message(24, t0037="Older", t1000="Older text."))
    (tmp_path / "a.msg").write_bytes(compound(tree))
    parts = list(parse(tmp_path / "a.msg", options=Options(files=True, lanes=("image",))))
    assert [(part.name, part.content) for part in parts if isinstance(part, Media)] == [("seen.png", png)]
    numbers, older = (part for part in parts if isinstance(part, File))
    assert (numbers.name, numbers.content) == ("numbers.csv", b"a,b\n1,2\n" * 700)
    assert older.name == "forwarded.eml"
    (tmp_path / "older.eml").write_bytes(older.content)
    assert "Older text." in str(list(parse(tmp_path / "older.eml")))


@pytest.mark.parametrize("keep", [600, 1100, 1600])
def test_damaged(keep, tmp_path):
    content = compound(message(**LETTER))
    path = tmp_path / "a.msg"
    path.write_bytes(content[:keep] + "__properties_version1.0".encode("utf-16-le"))
    with pytest.raises(Damaged, match=r"^a\.msg: damaged, not an Outlook mail"):
        list(parse(path))
