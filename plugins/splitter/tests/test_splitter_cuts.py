# SPDX-License-Identifier: MIT
"""The cuts are LangChain's, on 10,000 generated texts; positions are true."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
import unicodedata
from typing import Any

import pytest

from rocketride_splitter import Chunk, EstimatedTokens, RecursiveCharacterTextSplitter

theirs = pytest.importorskip("langchain_text_splitters").RecursiveCharacterTextSplitter
logging.getLogger("langchain_text_splitters.base").setLevel(logging.ERROR)

SCRIPTS = {
    "ascii": ["a", "bc", "def", "ghijkl", "mnopqrstuvwx", "x" * 33, "end.", "What?", "1,234"],
    "latin": ["é", "ß", "naïve", "Ærø", "ÿ", "\xa0", "\x85", "façade"],
    "turkish": ["ı", "İ", "ışık", "IĞDIR", "i̇", "çağrı", "dotsuz ı"],
    "cyrillic": ["ж", "объект", "ёлка", "Щ"],
    "greek": ["ς", "Ὀδυσσεύς", "λόγος"],
    "marks": ["e\u0301", "n\u0303\u0323", "क्षि", "ทุกที่", "ศิลปะ", "\u0301", "שָׁלוֹם", "العَرَبِيَّة"],
    "cjk": ["引擎", "读取文件并回答问题", "。", "、", "\u3000", "かな", "한국어", "\u1112\u1161\u11ab", "「数」"],
    "emoji": ["👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "🏴\U000e0067\U000e0062\U000e007f", "😀😀😀"],
    "surrogates": ["\ud800", "\udfff", "\udc80x", "\ud83d", "a\ud800\udc00"],
    "spaces": ["\t", "\x1c", "\x1f", "\x0b", "\r\n", "\r", "\u2028", "\u2003", "\u200b", "\ufeff", "\x00"],
}
BETWEEN = ["\n\n", "\n", " ", " ", " ", "", "  ", "\n\n\n", "\n \n", ",", ",,", ". ", "。", "---", "====", ".*", "aa"]
SEPARATORS: list[list[str] | None] = [
    None, ["\n\n", "\n", " ", ""], ["\n\n", "\n", " "], [""], [" "], [" ", ""], ["\n", ""], [",", " ", ""], ["。", "、", "\n", ""],
    ["aa", ""], ["aa", "a", ""], ["---", "====", ".*", "\n"], ["", "\n"], ["ı", "İ", ""], ["👩", "\u200d", ""], ["\ud800", " ", ""],
    ["\u0301", " "], [". ", "? ", " ", ""], ["  ", " ", ""], ["(", "[", "\\", "^$", ""], ["never there"], ["\n\n", "never there"],
]  # fmt: skip
KEEP: list[Any] = [True, False, "start", "end"]


def text_of(draw: random.Random) -> str:
    names = draw.sample(sorted(SCRIPTS), draw.choice([1, 1, 2, 4]))
    words = [word for name in names for word in SCRIPTS[name]]
    text = "".join(draw.choice(words) + draw.choice(BETWEEN) for _ in range(draw.choice([0, 1, 3, 20, 20, 60])))
    return "".join(draw.choice(BETWEEN) for _ in range(draw.randrange(3))) + text


def arguments(draw: random.Random) -> dict[str, Any]:
    size = draw.choice([1, 2, 3, draw.randrange(1, 12), draw.randrange(1, 60), draw.randrange(1, 400)])
    return {
        "separators": draw.choice(SEPARATORS),
        "keep_separator": draw.choice(KEEP),
        "chunk_size": size,
        "chunk_overlap": draw.choice([0, 0, draw.randrange(size + 1), size]),
        "strip_whitespace": draw.random() < 0.8,
    }


@pytest.mark.parametrize("seed", range(20))
def test_cuts_and_positions_on_generated_texts(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(500):
        text, chosen = text_of(draw), arguments(draw)
        documents = theirs(**chosen, add_start_index=True).create_documents([text])
        splitter = RecursiveCharacterTextSplitter(**chosen)
        chunks = splitter.split(text)
        assert [chunk.text for chunk in chunks] == [document.page_content for document in documents], (text, chosen)
        assert splitter.split_text(text) == [chunk.text for chunk in chunks]
        assert splitter.spans(text) == [(chunk.start, chunk.end) for chunk in chunks]
        positions(text, chunks, [document.metadata["start_index"] for document in documents], chosen)


def positions(text: str, chunks: list[Chunk], indexes: list[int], chosen: dict[str, Any]) -> None:
    kept = bool(chosen["keep_separator"])
    for chunk, index in zip(chunks, indexes, strict=True):
        assert 0 <= chunk.start < chunk.end <= len(text)
        if kept or chunk.end - chunk.start == len(chunk.text):
            assert text[chunk.start : chunk.end] == chunk.text, (text, chosen)
            assert not kept or index <= chunk.start, "LangChain takes the first place with this text, which may be too early"
            if kept and not chosen["chunk_overlap"] and all(chunk.text[0].strip() for chunk in chunks):
                assert index == chunk.start, (text, chosen)
        else:
            assert "".join(text[chunk.start : chunk.end].split()).startswith("".join(chunk.text.split())[:1])
            assert text[chunk.start] == chunk.text[0]
            assert text[chunk.end - 1] == chunk.text[-1]
            assert chunk.end - chunk.start > len(chunk.text)
    for before, after in itertools.pairwise(chunks):
        assert before.start <= after.start
        assert before.end <= after.end
        if kept:
            assert before.end - after.start <= chosen["chunk_overlap"]
            assert chosen["strip_whitespace"] is False or not text[before.end : after.start].strip()


def test_the_generated_texts_are_of_all_widths_and_cut() -> None:
    """What would make the comparison say little: one width only, nothing to cut, nothing joined."""
    widths, many, joined = set(), 0, 0
    for seed in range(20):
        draw = random.Random(seed)
        for _ in range(500):
            text, chosen = text_of(draw), arguments(draw)
            widths.add(
                (max(text, default="a") > "\x7f") + (max(text, default="a") > "\xff") + (max(text, default="a") > "\uffff")
            )
            chunks = RecursiveCharacterTextSplitter(**chosen).split(text)
            many += len(chunks) > 3
            joined += any(chunk.end - chunk.start > len(chunk.text) for chunk in chunks)
    assert widths == {0, 1, 2, 3}
    assert many > 3000
    assert joined > 100


@pytest.mark.parametrize("keep", KEEP)
def test_every_white_space_of_python_is_stripped(keep: Any) -> None:
    for code in [*range(0x3100), 0xFEFF, 0x1D173, 0xE0020, 0x10FFFF]:
        text = f"{chr(code)}a{chr(code)}"
        splitter = RecursiveCharacterTextSplitter(["never"], keep, chunk_size=9, chunk_overlap=0)
        assert splitter.split_text(text) == [text.strip()], hex(code)


def test_long_texts_are_cut_without_the_lock_and_alike() -> None:
    texts = [" ".join(words) * 300 for words in (SCRIPTS["ascii"], SCRIPTS["latin"], SCRIPTS["cjk"], SCRIPTS["emoji"])]
    assert min(map(len, texts)) < 16_384 < max(map(len, texts))
    texts += ["x" * 20_000, "é" * 20_000, "数" * 20_000, "😀\n\n" * 9_000]
    splitter = RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=20)
    expected = [theirs(chunk_size=100, chunk_overlap=20).split_text(text) for text in texts]
    found: list[list[list[str]]] = []
    threads = [threading.Thread(target=lambda: found.append([splitter.split_text(text) for text in texts])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [expected] * 4


def test_other_threads_run_while_a_long_text_is_cut() -> None:
    splitter = RecursiveCharacterTextSplitter([" "], chunk_size=100_000, chunk_overlap=1)
    text = " x" * 2_000_000
    times = 0
    for _ in range(100):  # on a busy machine this thread may not get its turn in time
        span: list[float] = []

        def work(span: list[float] = span) -> None:
            span.append(time.monotonic())
            splitter.spans(text)
            span.append(time.monotonic())

        thread = threading.Thread(target=work)
        thread.start()
        seen = []
        while thread.is_alive():
            seen.append(time.monotonic())
            time.sleep(0.001)
        start, end = span
        if any(start + (end - start) / 4 < at < end - (end - start) / 4 for at in seen):
            times += 1
        if times == 3:
            return
    pytest.fail("other threads stood still while a text was cut")


def test_estimated_tokens_are_those_of_the_whole_chunk() -> None:
    draw = random.Random(7)
    for _ in range(300):
        text, size = text_of(draw), draw.randrange(1, 40)
        length = EstimatedTokens(draw.choice([0.7, 1.0, 3.0, 4.5]))
        overlap = draw.randrange(size)
        splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, length_function=length)
        for chunk in splitter.split(text):
            assert text[chunk.start : chunk.end] == chunk.text
            assert length(chunk.text) <= size or len(chunk.text) == 1
        if length.bytes_per_token == 1.0 and text.isascii():
            assert splitter.split_text(text) == theirs(chunk_size=size, chunk_overlap=overlap).split_text(text)
    words = "word " * 100
    texts = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0, length_function=EstimatedTokens(3.0)).split_text(words)
    assert max(map(EstimatedTokens(3.0), texts)) == 10  # five words are 25 bytes, six 30; LangChain would take five


@pytest.mark.parametrize("whole", [
    "e\u0301", "n\u0303\u0323", "👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f", "🏴\U000e0067\U000e0062\U000e007f", "\u1112\u1161\u11ab", "नि",
])  # fmt: skip
@pytest.mark.parametrize("length", [len, EstimatedTokens(1.0)])
def test_visible_characters_stay_whole_where_that_is_asked(whole: str, length: Any) -> None:
    text = "x" + whole * 20
    for size in range(1, 30):
        for overlap in (0, size // 2, size - 1):
            splitter = RecursiveCharacterTextSplitter(
                [""], chunk_size=size, chunk_overlap=overlap, length_function=length, whole_characters=True
            )
            chunks = splitter.split(text)
            assert all(not chunk.text.removeprefix("x").replace(whole, "") for chunk in chunks)
            assert {at for chunk in chunks for at in range(chunk.start, chunk.end)} == {*range(len(text))}
            assert max(length(chunk.text) for chunk in chunks) <= max(size, length(whole))


def test_the_table_of_marks_is_that_of_python() -> None:
    """A mark belongs to the letter before it; code points that this Python does not know yet are left out."""
    splitter = RecursiveCharacterTextSplitter([""], chunk_size=1, chunk_overlap=0, whole_characters=True)
    other = {*range(0x1F3FB, 0x1F400), *range(0xE0020, 0xE0080), *range(0x1160, 0x1200), 0x200D}
    codes = [code for code in range(0x110000) if unicodedata.category(chr(code)) != "Cn" and code not in other and code > 0x20]
    for start in range(0, len(codes), 5000):
        part = codes[start : start + 5000]
        text = "".join(f"a{chr(code)}" for code in part)
        torn = {span[0] for span in splitter.spans(text)}
        wrong = [hex(code) for n, code in enumerate(part) if (2 * n + 1 not in torn) != (unicodedata.category(chr(code))[0] == "M")
                 and not chr(code).isspace()]  # fmt: skip
        assert not wrong
