# SPDX-License-Identifier: MIT
"""Cutting texts into chunks of 512 characters, beside other splitters; and how much two cores do of what one does.

LangChain's cuts and ours are compared before anything is measured: they are the same. The other splitters cut at places of their own.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rocketride_core import DOCUMENTS, TAGS, Blob, Document, Entry, Instance, Kernel, Node, NodeSpec, Pipeline, on
from rocketride_core.pipefile import Component, LaneLink, PipeFile

from .. import peers
from ..judging import Row, best, speed
from ..measuring import Case, Options, Unmeasured, timed

__all__ = ["ROWS", "texts"]

SIZE = 512
LETTERS = "aabcdeeefghiiklmnnoopqrrsstttuuvwxyz"
SIGNS = "引擎读取文件并回答问题的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动"
EXTRA = ["Müller", "naïve", "ışık", "İzmir", "данные", "λόγος", "한국어", "👍🏽", "😀", "e\u0301tude"]
WORKERS, FILES, TIMES = 8, 48, 8  # workers start parsers of their own at each run: it must be long beside that


def texts(name: str, characters: int) -> str:
    """The same on every machine.

    Parameters:
        name: "paragraphs", "words" (no line breaks), "mixed" (paragraphs in many scripts) or "signs" (Chinese, neither spaces nor line breaks).
        characters: about how long.
    """
    draw = random.Random(5)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(3000)]

    def latin(count: int) -> str:
        return " ".join(draw.choices(words, k=count)) + "."

    def signs(count: int) -> str:
        return "，".join("".join(draw.choices(SIGNS, k=draw.randint(4, 16))) for _ in range(count)) + "。"

    def mixed() -> str:
        made = latin(40) if draw.random() < 0.4 else signs(draw.randint(5, 70))
        return f"{draw.choice(EXTRA)} {made} {draw.choice(EXTRA)}"

    kinds: Mapping[str, tuple[Callable[[], str], str]] = {
        "paragraphs": (lambda: latin(draw.randint(20, 110)), "\n\n"),
        "words": (lambda: latin(100), " "),
        "mixed": (mixed, "\n\n"),
        "signs": (lambda: signs(100), ""),
    }
    pieces, gap = kinds[name]
    parts: list[str] = []
    length = 0
    while length < characters:
        parts.append(pieces())
        length += len(parts[-1]) + len(gap)
    return gap.join(parts)


def _times(split: Callable[[str], Sequence[object]], text: str) -> Callable[[int], object]:
    def run(n: int) -> None:
        for _ in range(n):
            split(text)

    return run


@contextmanager
def _cuts(name: str, millions: float, options: Options) -> Iterator[Mapping[str, Case]]:
    from rocketride_splitter import RecursiveCharacterTextSplitter

    others = dict(peers.splitters(SIZE))
    if "LangChain" not in others:
        raise Unmeasured("needs langchain-text-splitters: make peers")
    text = texts(name, int(millions * (1e5 if options.quick else 1e6)))
    ours = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=0)
    if ours.split_text(text) != others["LangChain"](text):
        raise Unmeasured("the cuts are not LangChain's")
    cases: dict[str, Callable[[str], Sequence[object]]] = {"core": ours.split_text, "with positions": ours.split, **others}
    yield {case: timed(_times(split, text), options) for case, split in cases.items()}


class Count(Node[None]):
    """The end: what a pipeline without a store does with documents."""

    spec = NodeSpec("bench_count", title="Count", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        pass


class Files(Node[None]):
    spec = NodeSpec("bench_files", title="Files", categories=["source"], emits=[TAGS])


def _written(folder: Path) -> list[Path]:
    """HTML pages of some 150 kB."""
    text = texts("mixed", FILES * 60_000).split("\n\n")
    each = len(text) // FILES
    files = []
    for number in range(FILES):
        rows = "".join(f"<h2>Part {n}</h2><p class='text'>{part}</p>\n" for n, part in enumerate(text[number * each :][:each]))
        files.append(folder / f"{number}.html")
        files[-1].write_text(
            f"<!DOCTYPE html><html><head><title>{number}</title></head><body>{rows}</body></html>", encoding="utf-8"
        )
    return files


def _wall(pipeline: Pipeline, files: Sequence[Path], workers: int) -> float:
    work = ((Entry(file.name), (TAGS(Blob.of(file)),)) for file in files)
    began = time.monotonic()
    for result in pipeline.map(work, workers=workers):
        result.checked()
    return time.monotonic() - began


@contextmanager
def _scaling(options: Options) -> Iterator[Mapping[str, Case]]:
    try:
        from rocketride_parse import Parse
        from rocketride_preprocessor_langchain import LangchainPreprocessor
    except ImportError as error:
        raise Unmeasured("needs rocketride-parse and rocketride-preprocessor-langchain") from error
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores < 2:
        raise Unmeasured("needs two cores")
    parts = [
        Component("files", "bench_files"),
        Component("parse", "parse", input=[LaneLink("tags", "files")]),
        Component("cut", "preprocessor_langchain", input=[LaneLink("text", "parse")]),
        Component("count", "bench_count", input=[LaneLink("documents", "cut")]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        files = _written(Path(folder)) * (1 if options.quick else TIMES)
        print(f"    {cores} cores, load before it starts: {os.getloadavg()[0]:.2f}", file=sys.stderr)
        with Kernel(nodes=[Files, Count, Parse, LangchainPreprocessor]).load(PipeFile(parts, "files")) as pipeline:
            _wall(pipeline, files[:FILES], WORKERS)
            yield {"core": lambda: _wall(pipeline, files, WORKERS), "_one": lambda: _wall(pipeline, files, 1)}


def _row(name: str, what: str, millions: float, budget: float, stretch: float) -> Row:
    setup = functools.partial(_cuts, name, millions)
    told = f"recursive splitter, {SIZE}, {millions:g} M characters, {what}"
    return Row(f"split_{name}", told, "× LangChain's speed", setup, speed("LangChain"), budget, stretch, at_least=True, rounds=3)


ROWS = [
    _row("paragraphs", "ASCII in paragraphs", 4, 1.3, 3),
    _row("words", "ASCII without line breaks", 1, 8, 25),
    _row("mixed", "many scripts in paragraphs", 2, 1.3, 3),
    _row("signs", "Chinese without spaces", 2, 8, 25),
    Row(
        "split_scaling",
        f"parse and split {FILES * TIMES} HTML pages, {WORKERS} workers, best of 5",
        "× one worker's speed",
        _scaling,
        best("_one"),
        1.6,
        at_least=True,
        rounds=5,
    ),
]
