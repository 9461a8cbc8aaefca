# SPDX-License-Identifier: MIT
"""Cuts as positions: LangChain's where LangChain keeps the text, and what ours promise beyond."""

from __future__ import annotations

import hashlib
import itertools
import logging
import math
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_preprocessor_langchain.measures import characters, divides, tokens
from rocketride_preprocessor_langchain.separators import separator, separators
from rocketride_preprocessor_langchain.splitters import MARKDOWN, Limits, character, recursive

ALPHABET = ["\n\n", "\n", " ", "a", "bc", "def ", "ghijkl", "x" * 17, "\n# ", "\n## ", "```\n", "\n---\n", "\n***\n", ",", ". "]
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=80).map("".join)
LIMITS = st.integers(2, 40).flatmap(lambda size: st.builds(Limits, st.just(size), st.just(0) | st.integers(0, size - 1)))
ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=120) | st.text("é\u0301\u200d👩🏽🇩🇪한 \n数a", max_size=60)


def cut(text, spans):
    return [text[start:end] for start, end in spans]


# What langchain-text-splitters 1.1.3 makes of this, so that the comparison also holds where it is not installed.
PROSE = (
    "First paragraph, with words.\n\nSecond one\nof two lines that is much longer than the limit.\n\nunbreakable"
    + "y" * 30
    + "\n\nEnd."
)
FROZEN = {
    (24, 0): ["First paragraph, with", "words.", "Second one", "of two lines that is", "much longer than the", "limit.",
              "unbreakableyyyyyyyyyyyy", "yyyyyyyyyyyyyyyyyy", "End."],
    (24, 8): ["First paragraph, with", "with words.", "Second one", "of two lines that is", "that is much longer",
              "longer than the limit.", "unbreakableyyyyyyyyyyyy", "yyyyyyyyyyyyyyyyyyyyyyyy", "yyyyyyyyyy", "End."],
}  # fmt: skip


@pytest.mark.parametrize(("size", "overlap"), FROZEN)
def test_cuts_recorded_from_langchain(size, overlap):
    assert cut(PROSE, recursive(PROSE, characters, Limits(size, overlap))) == FROZEN[size, overlap]


def _made() -> Iterator[tuple[str, Limits]]:
    """1,500 texts with limits, the same on every machine."""
    state = 1

    def draw(below: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % below

    for _ in range(1500):
        text = "".join(ALPHABET[draw(len(ALPHABET))] for _ in range(draw(100)))
        size = 2 + draw(39)
        yield text, Limits(size, draw(size) * draw(2))


def _by_a(text: str, limits: Limits) -> list[str]:
    text = re.sub("a+", "a", text)
    return cut(text, character(text, characters, limits, "a"))


@pytest.mark.parametrize(
    ("split", "digest"),
    [
        (lambda text, limits: cut(text, recursive(text, characters, limits)), "7cbfff2ea35087c3"),
        (lambda text, limits: cut(text, recursive(text, characters, limits, MARKDOWN, regex=True)), "d567f4e59532aa85"),
        (_by_a, "725760c0061e17df"),
    ],
    ids=["recursive", "markdown", "character"],
)
def test_many_cuts_recorded_from_langchain(split, digest):
    """Digests of what langchain-text-splitters 1.1.3 gives for `_made`: recursive, from_language("markdown"), character."""
    found = hashlib.sha256()
    for text, limits in _made():
        found.update(("\x1e".join(split(text, limits)) + "\x1d").encode())
    assert found.hexdigest()[:16] == digest


@settings(deadline=None)
@given(TEXTS, LIMITS)
def test_recursive_cuts_are_langchains(text, limits):
    theirs = pytest.importorskip("langchain_text_splitters").RecursiveCharacterTextSplitter
    expected = theirs(chunk_size=limits.size, chunk_overlap=limits.overlap).split_text(text)
    assert cut(text, recursive(text, characters, limits)) == expected


@settings(deadline=None)
@given(TEXTS, LIMITS)
def test_markdown_cuts_are_langchains(text, limits):
    theirs = pytest.importorskip("langchain_text_splitters").RecursiveCharacterTextSplitter
    expected = theirs.from_language("markdown", chunk_size=limits.size, chunk_overlap=limits.overlap).split_text(text)
    assert cut(text, recursive(text, characters, limits, MARKDOWN, regex=True)) == expected


@settings(deadline=None)
@given(TEXTS, LIMITS, st.sampled_from([",", "a", "\n\n", ""]))
def test_character_cuts_are_langchains_where_no_separator_is_repeated(text, limits, separator):
    theirs = pytest.importorskip("langchain_text_splitters").CharacterTextSplitter
    while separator and separator * 2 in text:
        text = text.replace(separator * 2, separator)
    logging.getLogger("langchain_text_splitters.base").setLevel(logging.ERROR)
    expected = theirs(separator=separator, chunk_size=limits.size, chunk_overlap=limits.overlap).split_text(text)
    if text.strip("\n") == text or separator != "\n\n":
        assert cut(text, character(text, characters, limits, separator)) == expected


@given(ANY_TEXT, LIMITS, st.sampled_from([characters, None]))
@settings(max_examples=300, deadline=None)
def test_chunks_are_stripped_slices_in_order_that_hold_all_but_white_space(text, limits, measure):
    measure = measure or tokens(text, 3.0)
    spans = recursive(text, measure, limits)
    covered = [False] * len(text)
    for start, end in spans:
        assert text[start:end].strip() == text[start:end] != ""
        covered[start:end] = [True] * (end - start)
        assert not divides(text, start) or text[start - 1].isspace()  # a mark of its own, on a blank that was stripped
        assert not divides(text, end)
    assert all(character.isspace() for character, seen in zip(text, covered, strict=True) if not seen)
    assert spans == sorted(spans)
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert start >= end or measure(start, end) <= limits.overlap


@given(ANY_TEXT, LIMITS)
@settings(max_examples=300, deadline=None)
def test_no_chunk_is_longer_than_the_limit_unless_one_character_is(text, limits):
    for measure in (characters, tokens(text, 3.0)):
        for start, end in recursive(text, measure, limits):
            if measure(start, end) > limits.size:
                assert all(divides(text, at) for at in range(start + 1, end))


def test_overlap_repeats_the_end_of_the_chunk_before():
    text = " ".join(f"w{i:02d}" for i in range(30))
    spans = recursive(text, characters, Limits(24, 10))
    assert cut(text, spans)[:3] == ["w00 w01 w02 w03 w04 w05", "w04 w05 w06 w07 w08 w09", "w08 w09 w10 w11 w12 w13"]
    assert all(0 < before[1] - after[0] <= 10 for before, after in itertools.pairwise(spans))
    hard = recursive("x" * 20, characters, Limits(8, 3))
    assert hard == [(0, 8), (5, 13), (10, 18), (15, 20)]


def test_repeated_separators_inside_a_chunk_stay():
    text = "one,,two,three"
    assert cut(text, character(text, characters, Limits(8), ",")) == ["one,,two", "three"]


def test_a_piece_without_the_separator_stays_whole():
    text = "x" * 30 + "\n\n" + "y"
    assert cut(text, character(text, characters, Limits(10))) == ["x" * 30, "y"]
    assert cut("a b", recursive("a b", characters, Limits(2), ("\n",))) == ["a b"]


def test_markdown_is_cut_at_headings():
    text = "# One\nalpha alpha\n## Two\nbeta beta beta\n```\ncode\n```\nafter\n# Three\ngamma"
    chunks = cut(text, recursive(text, characters, Limits(30), MARKDOWN, regex=True))
    assert chunks[0] == "# One\nalpha alpha"
    assert [chunk.splitlines()[0] for chunk in chunks if chunk.startswith("#")] == ["# One", "## Two", "# Three"]


@pytest.mark.parametrize("whole", [
    "e\u0301", "n\u0303\u0323", "👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "❤\ufe0f",
    "🏴\U000e0067\U000e0062\U000e007f", "\u1112\u1161\u11ab", "\r\n", "नि",
])  # fmt: skip
def test_a_hard_cut_never_tears_a_character_apart(whole):
    text = "x" + whole * 20
    for size in range(1, 12):
        chunks = cut(text, recursive(text, characters, Limits(size), ("",)))
        assert "".join(chunks).replace("\r\n", "") == text.replace("\r\n", "")
        for chunk in chunks:
            assert chunk.removeprefix("x").replace(whole, "") == ""
        assert max(map(len, chunks), default=0) <= max(size, len(whole), 1)


def test_flags_are_cut_between_flags_only():
    text = "🇩🇪🇫🇷🇮🇹"
    assert [divides(text, at) for at in range(7)] == [False, True, False, True, False, True, False]


def test_chinese_is_cut_at_the_limit():
    text = "引擎读取文件并回答问题。" * 10
    chunks = cut(text, recursive(text, characters, Limits(50)))
    assert [len(chunk) for chunk in chunks] == [50, 50, 20]
    assert "".join(chunks) == text
    assert [len(chunk) for chunk in cut(text, recursive(text, tokens(text, 3.0), Limits(50)))] == [50, 50, 20]  # three bytes each


@settings(deadline=None)
@given(ANY_TEXT, st.floats(0.5, 8))
def test_tokens_are_estimated_from_bytes(text, ratio):
    measure = tokens(text, ratio)
    for start, end in [(0, len(text)), (len(text) // 3, len(text)), (0, 0)]:
        assert measure(start, end) == math.ceil(len(text[start:end].encode()) / ratio)


def test_tokens_survive_lone_surrogates():
    assert tokens("a\ud800", 1.0)(0, 2) == 4


@pytest.mark.parametrize(("written", "expected"), [
    (r"'\n\n', '\n', ' ', ''", ("\n\n", "\n", " ", "")), ("'\n\n', ' '", ("\n\n", " ")),
    ('["。", "\\n"]', ("。", "\n")), ("'x'", ("x",)), ("", ()), ("  ", ()),
])  # fmt: skip
def test_separators_as_files_write_them(written, expected):
    assert separators(written) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [(r'"\n"', "\n"), ("'\n'", "\n"), ("\n", "\n"), (",", ","), ("---", "---"), ("", ""), ("'", "'"), ("\\", "\\")],
)
def test_one_separator_as_files_write_it(written, expected):
    assert separator(written) == expected


@pytest.mark.parametrize(("function", "written", "message"), [
    (separators, "'a', 1", "Invalid separators specified 'a', 1; write quoted texts"),
    (separators, "\\n", "Invalid input format: "),
    (separators, "'a'; 'b'", "Invalid input format: "),
    (separator, "\\n", r"Invalid separator specified \\n; write a text with escapes in quotes"),
    (separator, "'a', 'b'", "Invalid separator specified 'a', 'b'; write one quoted text"),
    (separator, "'a", "Invalid input format: "),
])  # fmt: skip
def test_what_is_no_separator(function, written, message):
    with pytest.raises(ValueError, match=message):
        function(written)
