# SPDX-License-Identifier: MIT
"""How a document lies in the index, and what the conditions of a filter are there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import tantivy
from tantivy import FieldType, Occur, Query

from rocketride_core import Document
from rocketride_store import Condition, Where, chunk_uuid

from .words import phrases, sought, tokens, unspaced

__all__ = ["all_words", "any_word", "document", "matching", "open_index", "schema", "stored"]

_TEXTS: Final = ("objectId", "nodeId", "parent", "name")
_NUMBERS: Final = ("chunkId", "tableId", "permissionId")
_FLAGS: Final = ("isTable", "isDeleted")
_BIGGEST: Final = 2**63
_MOST_CLAUSES = 200  # words of a question that are looked for


@cache
def schema() -> tantivy.Schema:
    made = tantivy.SchemaBuilder()
    made.add_text_field("words", tokenizer_name="whitespace")
    made.add_bytes_field("kept", stored=True)
    made.add_unsigned_field("order", fast=True)
    for name in _TEXTS:
        made.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in _NUMBERS:
        made.add_integer_field(name, indexed=True, fast=True)
    for name in _FLAGS:
        made.add_boolean_field(name, indexed=True)
    return made.build()


def open_index(path: str | None) -> tantivy.Index:
    """The index of a folder, made where there is none; without a path one in memory."""
    index = tantivy.Index(schema(), path=path)
    # Words are told apart by `words.tokens`; here they are only taken off their string.
    index.register_tokenizer("whitespace", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    index.config_reader("manual", 0)
    return index


def document(chunk: Document) -> tantivy.Document:
    """A chunk as it is written; `stored` gives it back as it was, without embedding and score."""
    made = tantivy.Document()
    made.add_text("words", " ".join(tokens(chunk.text)))
    kept = {"text": chunk.text, "kind": chunk.kind, "metadata": chunk.metadata}
    made.add_bytes("kept", json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    made.add_unsigned("order", int(chunk_uuid(chunk).replace("-", "")[:16], 16))
    for name, value in chunk.metadata.items():
        if name in _TEXTS and isinstance(value, str):
            made.add_text(name, whole(value))
        elif name in _NUMBERS and type(value) is int and -_BIGGEST <= value < _BIGGEST:
            made.add_integer(name, value)
        elif name in _FLAGS and isinstance(value, bool):
            made.add_boolean(name, value)
    return made


def stored(found: tantivy.Document) -> Document:
    kept = json.loads(bytes(found.get_first("kept") or b"").decode("utf-8", "surrogatepass"))
    return Document(kept["text"], kept["metadata"], kind=kept["kind"])


def whole(text: str) -> str:
    """The text with replacement characters in place of halves of surrogate pairs, which the index does not take."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def all_words(query: str) -> Query | None:
    """Finds what has all words of a query; None for a query without a word."""
    wanted = [_phrase(found) for phrase in phrases(query) if (found := sought(phrase))]
    return Query.boolean_query([(Occur.Must, one) for one in wanted]) if wanted else None


def any_word(query: str) -> Query | None:
    """Finds what has a word of a query; None for a query without a word."""
    wanted = [_phrase([token]) for token in list(dict.fromkeys(sought(query, together=False)))[:_MOST_CLAUSES]]
    return Query.boolean_query([(Occur.Should, one) for one in wanted]) if wanted else None


def _phrase(found: Sequence[str]) -> Query:
    if len(found) > 1:
        return Query.phrase_query(schema(), "words", list(found))
    [token] = found
    if len(token) == 1 and unspaced(token):
        return Query.regex_query(schema(), "words", f"{token}.?")
    return Query.term_query(schema(), "words", token)


def matching(words: Query | None, where: Where) -> Query:
    """What fulfils the conditions, and has the words; only these count for the rank."""
    parts: list[tuple[Occur, Query]] = [(Occur.Must, words if words is not None else Query.all_query())]
    for condition in where:
        occur = Occur.MustNot if condition.operator == "ne" else Occur.Must
        parts.append((occur, Query.const_score_query(_condition(condition), 0.0)))
    return Query.boolean_query(parts)


def _condition(condition: Condition) -> Query:
    name, value = condition.key, condition.value
    if condition.operator in ("ge", "le"):
        bounds: dict[str, Any] = {"lower_bound" if condition.operator == "ge" else "upper_bound": value}
        return Query.range_query(schema(), name, FieldType.Integer, **bounds)
    if condition.operator == "in":
        return Query.term_set_query(schema(), name, [whole(one) if isinstance(one, str) else one for one in value])
    return Query.term_query(schema(), name, whole(value) if isinstance(value, str) else value)
