# SPDX-License-Identifier: MIT
"""Arguments: what LangChain refuses and more, what goes to LangChain, and positions of chunks that others made."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from typing import Any

import pytest

from rocketride_splitter import Chunk, EstimatedTokens, RecursiveCharacterTextSplitter, located


@pytest.mark.parametrize("arguments", [
    {"chunk_size": 0}, {"chunk_size": -3}, {"chunk_size": 10, "chunk_overlap": -1}, {"chunk_size": 10, "chunk_overlap": 11}, {"chunk_size": 100},
])  # fmt: skip
def test_sizes_are_refused_in_langchains_words(arguments: dict[str, Any]) -> None:
    theirs = pytest.importorskip("langchain_text_splitters").RecursiveCharacterTextSplitter
    with pytest.raises(ValueError) as expected:
        theirs(**arguments)
    with pytest.raises(ValueError) as found:
        RecursiveCharacterTextSplitter(**arguments)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ({"separators": "\n\n"}, TypeError, r"separators is a list of texts, not one text; write \['\\n\\n'\]"),
    ({"separators": ["a", b"b"]}, TypeError, "a separator is a str, not bytes: b'b'"),
    ({"separators": ["a"] * 1001}, ValueError, "1001 separators are more than 1000"),
    ({"keep_separator": "left"}, ValueError, 'keep_separator is True, False, "start" or "end", not \'left\''),
    ({"keep_separator": None}, ValueError, "keep_separator is True"),
    ({"chunk_size": 2.5}, TypeError, "chunk_size is a whole number, not 2.5"),
    ({"chunk_size": True}, TypeError, "chunk_size is a whole number, not True"),
    ({"chunk_overlap": "3"}, TypeError, "chunk_overlap is a whole number, not '3'"),
    ({"is_separator_regex": True, "whole_characters": True}, ValueError, "whole_characters is for literal separators"),
])  # fmt: skip
def test_what_else_is_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        RecursiveCharacterTextSplitter(**arguments)


@pytest.mark.parametrize("ratio", [0, -1, float("nan"), float("inf")])
def test_bytes_of_a_token(ratio: float) -> None:
    with pytest.raises(ValueError, match="bytes_per_token must be > 0, got"):
        EstimatedTokens(ratio)
    assert EstimatedTokens(3.0)("a\ud800") == 2


@pytest.mark.parametrize("text", [b"bytes", None, 3, ["a"]])
@pytest.mark.parametrize("method", ["split_text", "split", "spans"])
def test_what_is_no_text(method: str, text: Any) -> None:
    with pytest.raises(TypeError, match="a text to split is a str, not "):
        getattr(RecursiveCharacterTextSplitter(), method)(text)


def test_nothing_gives_nothing_and_strs_of_any_class_are_texts() -> None:
    class Text(str):
        __slots__ = ()

    splitter = RecursiveCharacterTextSplitter(chunk_size=5, chunk_overlap=0)
    assert splitter.split_text("") == splitter.split_text(" \n\n ") == []
    assert splitter.split_text(Text("one two")) == ["one", "two"]
    assert type(splitter.split_text(Text("one"))[0]) is str
    assert splitter.split("one two") == [Chunk("one", 0, 3), Chunk("two", 4, 7)]


def test_many_levels_of_separators() -> None:
    separators = [f"<{n}>" for n in range(999)]
    text = "".join(f"{separator}{'x' * 3}" for separator in separators)
    assert len(RecursiveCharacterTextSplitter([*separators, ""], chunk_size=2, chunk_overlap=0).split_text(text)) > 3000


def same(ours: str, theirs: str, joined: bool) -> bool:
    return ours.split() == theirs.split() if joined else ours == theirs


def test_regular_expressions_and_other_lengths_are_langchains() -> None:
    theirs = pytest.importorskip("langchain_text_splitters").RecursiveCharacterTextSplitter
    draw = random.Random(3)
    words = ["a", "bc", "def", "1", "22", "333", "é", "数据", "x" * 15]
    for _ in range(300):
        text = "".join(draw.choice(words) + draw.choice([" ", "\n", "\n\n", ",", "; "]) for _ in range(draw.randrange(60)))
        size = draw.randrange(1, 40)
        chosen: dict[str, Any] = {"chunk_size": size, "chunk_overlap": draw.choice([0, draw.randrange(size)])}
        if draw.random() < 0.3:
            chosen |= {"length_function": EstimatedTokens(1.0), "keep_separator": False}
        elif draw.random() < 0.5:
            chosen |= {"separators": [r"\n+", r"[,;]\s?", r"(?<=\d)", " ", ""], "is_separator_regex": True}
        else:
            chosen |= {"length_function": lambda text: len(text.encode())}
        splitter = RecursiveCharacterTextSplitter(**chosen)
        assert splitter.split_text(text) == theirs(**chosen).split_text(text)
        chunks = splitter.split(text)
        assert [chunk.text for chunk in chunks] == splitter.split_text(text)
        assert splitter.spans(text) == [(chunk.start, chunk.end) for chunk in chunks]
        assert all(same(text[chunk.start : chunk.end], chunk.text, "keep_separator" in chosen) for chunk in chunks)
        if not chosen["chunk_overlap"]:
            literal = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0)
            if not chosen.get("is_separator_regex") and text.isascii() and "keep_separator" not in chosen:
                assert chunks == literal.split(text)


def test_without_langchain_the_message_has_the_pip_line() -> None:
    code = (
        "import sys; sys.modules['langchain_text_splitters'] = None\n"
        "from rocketride_splitter import RecursiveCharacterTextSplitter as S\n"
        "assert S(chunk_size=5, chunk_overlap=0).split_text('one two') == ['one', 'two']\n"
        "try: S(['a+'], is_separator_regex=True)\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("pip install rocketride-splitter[langchain]")


@pytest.mark.parametrize(("text", "chunks", "options", "places"), [
    ("a a a", ["a", "a", "a"], {}, [(0, 1), (2, 3), (4, 5)]),
    ("ab ab ab", ["ab ab", "ab ab"], {"overlap": 2}, [(0, 5), (3, 8)]),
    ("One.  Two.\nThree.", ["One.\n\nTwo.", "Three."], {}, [(0, 10), (11, 17)]),
    ("One.  Two.\nOne.\n\nTwo.", ["One.\n\nTwo."], {"separator": re.compile(r"\s")}, [(0, 10)]),
    ("a. a. a.", ["a.", "a.", "a."], {"separator": re.compile(r"\s"), "overlap": 0}, [(0, 2), (3, 5), (6, 8)]),
    ("x,,y,z,,,w", ["x,y", "z,w"], {"separator": ","}, [(0, 4), (5, 10)]),
    ("x,,y,x,y", ["x,y", "x,y"], {"separator": ","}, [(0, 4), (5, 8)]),
    ("a b,b,,ab,a b", ["b,ab", "a b"], {"separator": ","}, [(4, 9), (10, 13)]),
    ("One.Two. Three.", ["One.\n\nTwo.", "Three."], {"separator": re.compile(r"\s")}, [(0, 8), (9, 15)]),
    ("ax  by", ["a\\s+b"], {}, [(0, 5)]),
    ("", [], {}, []),
])  # fmt: skip
def test_chunks_are_found(text: str, chunks: list[str], options: Any, places: list[tuple[int, int]]) -> None:
    assert located(text, chunks, **options) == places
