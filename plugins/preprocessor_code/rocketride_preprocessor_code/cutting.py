# SPDX-License-Identifier: MIT
"""Cutting a source into chunks along its syntax, as positions.

A definition that fits is a chunk of its own, with the comments right above it. One that is too long is cut between its parts, those
between theirs, and so on down to single words. What stands between definitions is joined as far as it fits. The chunks touch
each other: put together they are the source.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .languages import LANGUAGES, Language, grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

__all__ = ["Span", "cut"]

Span: TypeAlias = tuple[int, int]
Place: TypeAlias = Callable[[int], int]
_FUNCTIONS = {"arrow_function", "function_expression", "generator_function", "class"}
_HOLDERS = {"lexical_declaration", "variable_declaration", "expression_statement", "field_definition", "public_field_definition"}
_WRAPPERS = {"decorated_definition", "export_statement", "template_declaration"}
_BODIES = {"function_definition", "struct_specifier", "union_specifier", "enum_specifier", "class_specifier"}
_INDENTED = 100  # characters of indentation that are looked for
_LOOKED_INTO = 8  # children of a holder: a function that is given a name is among the first


class Piece(NamedTuple):
    """A part that is not divided further; `apart` where a chunk must end before it."""

    start: int
    end: int
    apart: bool


def cut(text: str, language: str, size: int) -> list[Span]:
    """The chunks of a source: `text[start:end]`, without a gap, none of them blank; none for a text that is.

    Parameters:
        language: a key of `LANGUAGES`; source that breaks its rules is cut as well as it can be read.
        size: the longest chunk in characters, white space at its end, and blank lines before the first one, not counted.

    Raises:
        MissingGrammar: the grammar is not installed.
    """
    if not text.strip():
        return []
    tree, place = _parsed(text, language)
    return list(_joined(text, _whole(text, _pieces(text, tree.root_node, place, LANGUAGES[language], size), size), size))


def _parsed(text: str, language: str) -> tuple[Tree, Place]:
    """The syntax tree, and what turns its positions into those of the text."""
    from tree_sitter import Parser

    parser = Parser(grammar(language))
    if text.isascii():
        return parser.parse(text.encode()), lambda at: at
    tree = parser.parse(text.encode("utf-16-le", "surrogatepass"), encoding="utf16le")
    pairs = [at + i for i, at in enumerate(at for at, character in enumerate(text) if character > "\uffff")]
    return tree, (lambda at: at // 2 - bisect_left(pairs, at // 2)) if pairs else (lambda at: at // 2)


def _pieces(text: str, root: Node, place: Place, language: Language, size: int) -> Iterator[Piece]:
    """The parts that fit, in order; of a part that cannot be divided by syntax, however long it is, the whole."""
    # Not recursive: sources nest deeper than Python's stack. None is the end of a definition.
    waiting: list[Node | Piece | None] = [root]
    apart = False
    while waiting:
        one = waiting.pop()
        if one is None:
            apart = True
            continue
        if isinstance(one, Piece):
            yield Piece(one.start, one.end, apart or one.apart)
            apart = False
            continue
        start, end = place(one.start_byte), place(one.end_byte)
        children = one.children if one is root or not _fits(text, start, end, size) else []
        if not children:
            if start < end:
                yield Piece(start, end, apart)
                apart = False
            continue
        # What a decorator or an `export` stands before begins with it, not at the word `def`.
        waiting.extend(reversed(children if one.type in _WRAPPERS else _divided(text, children, place, language, size)))


def _fits(text: str, start: int, end: int, size: int) -> bool:
    """Whether a part fits into a chunk, with its indentation where that is all that stands before it in its line."""
    if end - start > size - _INDENTED and end - start <= size:
        line = text.rfind("\n", 0, start) + 1
        return end - start <= size if text[line:start].strip() else end - line <= size
    return end - start <= size


def _divided(text: str, children: list[Node], place: Place, language: Language, size: int) -> list[Node | Piece | None]:
    out: list[Node | Piece | None] = []
    above: list[Node] = []  # comments, which belong to the definition right below them
    for child in children:
        if above and text.count("\n", place(above[-1].end_byte) - 1, place(child.start_byte)) > 1:
            out.extend(above)
            above = []
        if "comment" in child.type or child.type == "attribute_item":
            above.append(child)
            continue
        if not _defines(child, language):
            out.extend([*above, child])
        else:
            start, end = place((above or [child])[0].start_byte), place(child.end_byte)
            parts = [*above, child]
            out.extend([None, *([Piece(start, end, True)] if _fits(text, start, end, size) else parts), None])
        above = []
    return [*out, *above]


def _defines(node: Node, language: Language) -> bool:
    if node.type not in language.definitions:
        return False
    if node.type in _BODIES:  # `struct point` names a type, `struct point { … }` makes it
        return node.child_by_field_name("body") is not None
    if node.type == "export_statement":
        made = node.child_by_field_name("declaration") or node.child_by_field_name("value")
        return made is not None and (made.type in _FUNCTIONS or _defines(made, language))
    if node.type in _HOLDERS:
        held = [node, *(node.named_child(i) for i in range(min(node.named_child_count, _LOOKED_INTO)))]
        values = (one.child_by_field_name(field) for one in held if one for field in ("value", "right"))
        return any(value is not None and value.type in _FUNCTIONS for value in values)
    return True


def _whole(text: str, pieces: Iterator[Piece], size: int) -> Iterator[Piece]:
    """The same without a gap that says something, which some grammars leave, and without pieces that are too long."""
    last = 0
    for piece in pieces:
        start = max(piece.start, last)
        if text[last:start].strip():
            yield from _hard(text, last, start, size, False)
        if start < piece.end:
            yield from _hard(text, start, piece.end, size, piece.apart)
            last = piece.end
    if text[last:].strip():
        yield from _hard(text, last, len(text), size, False)


def _hard(text: str, start: int, stop: int, size: int, apart: bool) -> Iterator[Piece]:
    """Cut at line ends, else between words, else anywhere but inside a visible character; blank pieces are left out."""
    while start < stop:
        end = min(start + size, stop)
        if end < stop:
            at = text.rfind("\n", start, end) + 1 or text.rfind(" ", start, end) + 1
            end = at if at > start and text[start:at].strip() else _between(text, start, end, stop)
        if text[start:end].strip():
            yield Piece(start, end, apart)
            apart = False
        start = end


def _between(text: str, start: int, end: int, stop: int) -> int:
    """`end`, moved to where it divides no character: back, or forward where that would leave nothing."""
    back = end
    while back > start and _divides(text, back):
        back -= 1
    if back > start:
        return back
    while end < stop and _divides(text, end):
        end += 1
    return end


def _divides(text: str, at: int) -> bool:
    right, left = text[at], text[at - 1]
    if right < "\u0300":
        return right == "\n" and left == "\r"
    joined = right == "\u200d" or left == "\u200d" or "\U0001f3fb" <= right <= "\U0001f3ff"
    return joined or unicodedata.category(right) in ("Mn", "Mc", "Me")


def _joined(text: str, pieces: Iterator[Piece], size: int) -> Iterator[Span]:
    begin = last = 0  # where the chunk begins, where its last piece ends
    first = line = -1  # where it begins to say something, and the last line in it that begins with a piece
    for piece in pieces:
        at = text.rfind("\n", last, piece.start) + 1
        if not at and (not last or text[last - 1] == "\n"):
            at = last
        new_line = at > 0 or not last
        if not new_line or piece.end - at > size:
            at = piece.start
        if first < 0:
            first, last = at, piece.end
            continue
        fits = piece.end - first <= size
        ends = not text[piece.start : min(piece.end, piece.start + size)].strip("})];, \t\r\n")
        if piece.apart and not (fits and (ends or not new_line)):
            yield begin, at
            begin = first = at
            line = -1
        else:
            if not fits and not new_line and line > first:
                yield begin, line
                begin = first = line
                line = -1
                fits = piece.end - first <= size
            if not fits:
                yield begin, at
                begin = first = at
                line = -1
            elif new_line:
                line = at
        last = piece.end
    yield begin, len(text)
