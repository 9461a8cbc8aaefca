# SPDX-License-Identifier: MIT
"""From words with boxes to paragraphs and tables in reading order."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from .words import Word

_PROSE = 20


def blocks(words: Sequence[Word]) -> Iterator[str | tuple[tuple[str, ...], ...]]:
    """Texts, paragraphs in them parted by a blank line, and the rows of tables, in reading order."""
    said: list[str] = []
    for paragraph in _placed(words) if words and words[0].place else _ordered(words):
        if isinstance(paragraph, str):
            said.append(paragraph)
            continue
        if said:
            yield "\n\n".join(said)
            said.clear()
        yield paragraph
    if said:
        yield "\n\n".join(said)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table, the first as its head; "|" in a cell is escaped."""
    lines = ["| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)


def _placed(words: Sequence[Word]) -> Iterator[str | tuple[tuple[str, ...], ...]]:
    """By the engine's own blocks, paragraphs and lines."""
    for _, paragraph in groupby(words, lambda word: (word.place[:2], word.place if word.rows else ())):
        members = list(paragraph)
        if members[0].rows:
            yield members[0].rows
        else:
            lines = groupby(members, lambda word: word.place)
            yield "\n".join(" ".join(word.text for word in line) for _, line in lines)


def _ordered(words: Sequence[Word]) -> Iterator[str | tuple[tuple[str, ...], ...]]:
    for column in _columns(list(words)):
        lines = _lines(column)
        usual = median(word.bottom - word.top for word in column if not word.rows) if any(not w.rows for w in column) else 0
        paragraph: list[str] = []
        below = None
        for line in lines:
            top = min(word.top for word in line)
            if paragraph and (line[0].rows or (below is not None and top - below > usual)):
                yield "\n".join(paragraph)
                paragraph.clear()
            if line[0].rows:
                yield line[0].rows
            else:
                paragraph.append(" ".join(word.text for word in line))
            below = max(word.bottom for word in line)
        if paragraph:
            yield "\n".join(paragraph)


def _lines(words: list[Word]) -> list[list[Word]]:
    """Words whose middles are at one height, from the left; a table is alone."""
    lines: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.middle[1] if not word.rows else word.top):
        last = lines[-1][-1] if lines else None
        if last is not None and not word.rows and not last.rows and word.middle[1] < last.bottom - (last.bottom - last.top) / 4:
            lines[-1].append(word)
        else:
            lines.append([word])
    return [sorted(line, key=lambda word: word.left) for line in lines]


def _columns(words: list[Word]) -> list[list[Word]]:
    """Columns of prose, in reading order: cut between columns where all lines leave a gap, else at the widest gap between lines."""
    if len(words) < 4:
        return [words] if words else []
    gap = _gap([(word.left, word.right) for word in words])
    if gap is not None:
        left, right = [w for w in words if w.right <= gap], [w for w in words if w.right > gap]
        if all(len(side) > 1 and median(len(word.text) for word in side) >= _PROSE for side in (left, right)):
            return _columns(left) + _columns(right)
    cut = _gap([(word.top, word.bottom) for word in words])
    if cut is None:
        return [words]
    above, under = [w for w in words if w.bottom <= cut], [w for w in words if w.bottom > cut]
    parts = _columns(above), _columns(under)
    # Nothing was found on either side that is read apart: it stays one.
    return [words] if all(len(part) == 1 for part in parts) else parts[0] + parts[1]


def _gap(spans: list[tuple[float, float]]) -> float | None:
    """The middle of the widest gap that no span covers."""
    best, widest, reached = None, 0.0, None
    for start, end in sorted(spans):
        if reached is not None and start - reached > widest:
            best, widest = (start + reached) / 2, start - reached
        reached = end if reached is None else max(reached, end)
    return best
