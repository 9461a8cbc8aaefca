# SPDX-License-Identifier: MIT
"""Words to paragraphs, ruled lines to tables, Tesseract's table to words; no engine is needed."""

import time

import numpy as np
import pytest
from PIL import Image, ImageDraw

from rocketride_ocr.layout import blocks, markdown
from rocketride_ocr.ruled import grids, tables_of, with_tables
from rocketride_ocr.tesseract import words_of
from rocketride_ocr.words import Word


def line(text: str, left: float, top: float, height: float = 20) -> Word:
    return Word(text, left, top, left + 10 * len(text), top + height)


def page(*tables: tuple[int, int, int, int], size: tuple[int, int] = (1000, 800), tilt: float = 0) -> Image.Image:
    """left, top, rows, columns: cells of 200 by 50 pixels."""
    image = Image.new("L", size, 250)
    draw = ImageDraw.Draw(image)
    for left, top, rows, columns in tables:
        for row in range(rows + 1):
            draw.line((left, top + 50 * row, left + 200 * columns, top + 50 * row), fill=20, width=2)
        for column in range(columns + 1):
            draw.line((left + 200 * column, top, left + 200 * column, top + 50 * rows), fill=20, width=2)
    return image.rotate(tilt, fillcolor=250) if tilt else image


def test_lines_and_paragraphs():
    words = [line("second line", 10, 30), line("first", 10, 5), line("half", 200, 8), line("new paragraph", 10, 100)]
    assert list(blocks(words)) == ["first half\nsecond line\n\nnew paragraph"]
    assert list(blocks([])) == []


def test_columns_of_prose_are_read_one_after_the_other():
    left = [line(f"left column, line {n}, some prose", 10, 100 + 30 * n) for n in range(5)]
    right = [line(f"right column, line {n}, prose", 500, 100 + 30 * n) for n in range(5)]
    title = Word("A title over both columns", 100, 10, 800, 60)
    [text] = blocks([title, *(word for pair in zip(left, right, strict=True) for word in pair)])
    assert text.split("\n") == ["A title over both columns", "", *(w.text for w in left), "", *(w.text for w in right)]


def test_short_pairs_are_lines_and_no_columns():
    words = [word for n in range(4) for word in (line(f"Item {n}", 10, 30 * n), line(f"{n}.50", 400, 30 * n))]
    assert list(blocks(words)) == ["Item 0 0.50\nItem 1 1.50\nItem 2 2.50\nItem 3 3.50"]


@pytest.mark.parametrize("tilt", [0, 0.15])
def test_ruled_tables_are_found(tilt):
    found = grids(np.asarray(page((50, 40, 3, 2), (300, 400, 2, 3), tilt=tilt)))
    assert [(len(grid.down) - 1, len(grid.across) - 1) for grid in found] == [(3, 2), (2, 3)]
    assert found[0].across == pytest.approx([50, 250, 450], abs=5)
    assert found[1].down == pytest.approx([400, 450, 500], abs=5)


def test_frames_underlines_photos_and_blank_pages_are_no_tables():
    image = page((50, 40, 1, 1))
    draw = ImageDraw.Draw(image)
    draw.line((100, 300, 600, 300), fill=0, width=2)
    draw.rectangle((300, 400, 900, 700), fill=30)
    assert grids(np.asarray(image)) == []
    assert grids(np.full((300, 300), 255, np.uint8)) == []
    noise = np.random.default_rng(7).integers(0, 255, (400, 400), dtype=np.uint8)
    assert grids(noise) == []


def test_drawings_and_large_pages_do_not_take_long():
    began = time.monotonic()
    stripes = np.full((2500, 2500), 255, np.uint8)
    random = np.random.default_rng(7)
    for row in range(0, 2500, 2):
        for start in random.integers(0, 2400, 20):
            stripes[row, start : start + 80] = 0
    assert grids(stripes) == []
    assert time.monotonic() - began < 5
    [grid] = tables_of(page((50, 200, 3, 2)).resize((4000, 3200)))
    assert grid.across == pytest.approx([200, 1000, 1800], abs=16)
    assert grid.down == pytest.approx([800, 1000, 1200, 1400], abs=16)


def test_words_in_cells_come_once_in_their_place():
    cells = [line(f"r{row}c{column}", 70 + 200 * column, 215 + 50 * row) for row in range(3) for column in range(2)]
    words = [line("Before the table", 50, 100), *cells, line("more", 70, 238), line("After the table", 50, 500)]
    got = list(blocks(with_tables(words, grids(np.asarray(page((50, 200, 3, 2)))))))
    assert got == ["Before the table", (("r0c0 more", "r0c1"), ("r1c0", "r1c1"), ("r2c0", "r2c1")), "After the table"]
    assert markdown([("a|b", "c\\d"), ("1", "")]) == "| a\\|b | c\\\\d |\n| --- | --- |\n| 1 |  |"


def test_table_in_a_page_laid_out_by_the_engine():
    def at(text: str, left: float, top: float, *place: int) -> Word:
        return line(text, left, top)._replace(place=place)

    words = [
        at("Two", 50, 100, 1, 1, 1), at("words", 100, 100, 1, 1, 1), at("below", 50, 130, 1, 1, 2), at("next", 50, 160, 1, 2, 1),
        at("a", 70, 215, 2, 1, 1), at("b", 270, 215, 2, 1, 1), at("1", 70, 265, 2, 1, 2), at("2", 270, 265, 2, 1, 2),
        at("After", 50, 500, 3, 1, 1),
    ]  # fmt: skip
    got = list(blocks(with_tables(words, grids(np.asarray(page((50, 200, 2, 2)))))))
    assert got == ["Two words\nbelow\n\nnext", (("a", "b"), ("1", "2")), "After"]


def test_empty_grid_is_no_table():
    words = [line("only one", 70, 215)]
    assert with_tables(words, grids(np.asarray(page((50, 200, 2, 2))))) == words


def test_words_of_tesseract():
    tsv = (
        "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
        "4\t1\t1\t1\t2\t0\t10\t20\t300\t40\t-1\t\n"
        "5\t1\t1\t1\t2\t1\t10\t20\t30\t40\t95.5\tcafé\n"
        "5\t1\t1\t1\t2\t2\t50\t20\t30\t40\t95\t \n"
    )
    assert words_of(tsv) == [Word("café", 10, 20, 40, 60, 0.955, (1, 1, 2))]
