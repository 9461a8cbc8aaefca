# SPDX-License-Identifier: MIT
"""JSON as people write it: strict first, then with trailing commas, comments, byte order marks and UTF-16 tolerated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from .errors import Problem

__all__ = ["LISTED", "child", "closest", "decode", "listed", "read_json", "read_text"]

LISTED = 1000  # problems of one file; who has more reads no further
LONGEST = 80  # characters of a key in a path, and of a word that one guesses at
DEPTH = 200  # of nesting; later passes recurse over what is read here

# Patterns are texts: `re` compiles and keeps them at first use, which most files never need.
_PIECE = r'(?s)"(?>[^"\\]|\\.)*+(?P<end>"?)|//[^\n]*|/\*(?:.*?\*/|.*)|(?P<word>[-+]?[A-Za-z0-9_$.][\w$.+-]*)|\S'
_SIMPLE = r"[A-Za-z_0-9-]+"
_SURROGATE = "[\ud800-\udfff]"
_TEXTS = {
    "Expecting value": "a value is missing here",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing here",
    "Expecting ':' delimiter": "a colon is missing after this key",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing here",
    "Illegal trailing comma before end of object": "a comma too many",
    "Illegal trailing comma before end of array": "a comma too many",
    "Unterminated string starting at": "the text that starts here is never closed",
    "Invalid control character at": "a line break or another control character inside a text",
    "Invalid \\escape": "an unknown escape after a backslash",
    "Invalid \\uXXXX escape": "four hexadecimal digits are missing after \\u",
    "Extra data": "there is more text after the end of the JSON",
}
_HINTS = {
    "Invalid control character at": "write \\n for a line break inside a text",
    "Invalid \\escape": "write \\\\ for a backslash",
    "Expecting value": "JSON knows texts in double quotes, numbers, true, false, null, [lists] and {objects}",
    "Expecting property name enclosed in double quotes": 'write "key": value',
}


def child(path: str, key: str | int) -> str:
    """The JSON path of a member: `$.a[2]`, `$.a.port`, `$.a["an odd.key"]`; of a key that no line could hold its beginning."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if len(key) > LONGEST:
        key = f"{key[: LONGEST - 1]}…"
    return f"{path}.{key}" if re.fullmatch(_SIMPLE, key) else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def listed(problems: list[Problem], problem: Callable[[], Problem]) -> None:
    """Adds one, unless there are so many that nobody reads them; then that is added, once."""
    if len(problems) < LISTED:
        problems.append(problem())
    elif len(problems) == LISTED:
        message = f"more than {LISTED} problems: the rest is not listed"
        problems.append(Problem("$", "too-many-problems", message, severity="warning", file=problems[0].file))


def closest(word: str, options: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The option that `word` most likely means, or ""."""
    if len(word) > LONGEST:
        return ""
    from difflib import SequenceMatcher, get_close_matches

    known = {option.lower(): option for option in options}
    found = get_close_matches(word.lower(), known, 1, cutoff)
    # A number at the end makes no likeness: agent_1 is not chat_1.
    alike = found and SequenceMatcher(None, _stem(word.lower()), _stem(found[0])).ratio() >= cutoff
    return known[found[0]] if alike else ""


def _stem(word: str) -> str:
    return word.rstrip("_-0123456789") or word


def read_json(data: bytes | str, file: str = "") -> tuple[Any, list[Problem]]:
    """The value, and what is wrong; after a `bad-json` error (there is only ever one) the value is None.

    Warned are `duplicate-key` (the last one wins) and `lone-surrogate` (replaced by U+FFFD).
    """
    text = decode(data, file)
    return (None, [text]) if isinstance(text, Problem) else read_text(text, file)


def decode(data: bytes | str, file: str = "") -> str | Problem:
    """UTF-8, UTF-16 or UTF-32, with or without a byte order mark, as text without one."""
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, "replace")
        return _bad(before, len(before), f"a byte that is not {encoding.removesuffix('-sig').upper()}", file, "save it as UTF-8")


def read_text(text: str, file: str = "") -> tuple[Any, list[Problem]]:
    """`read_json` of decoded text."""
    repeated: list[tuple[dict[str, Any], list[str]]] = []
    try:
        try:
            value = _loads(text, repeated)
        except ValueError:
            text = _cleaned(text)
            repeated.clear()
            value = _loads(text, repeated)
    except json.JSONDecodeError as error:
        # How deep a parser goes before it gives up differs among Pythons; what is too deep is so in all of them.
        deep = _too_deep(text[: error.pos])
        if not deep:
            return None, [_explain(error, text, file)]
        return None, [_bad(text, deep, f"nested deeper than {DEPTH} levels", file)]
    except RecursionError:
        return None, [_bad(text, _too_deep(text), f"nested deeper than {DEPTH} levels", file)]
    except ValueError:
        start = next(_numbers(text), 0)
        return None, [_bad(text, start, "not a JSON number: not finite, or of thousands of digits", file)]
    return _checked(value, text, file, repeated)


def _loads(text: str, repeated: list[tuple[dict[str, Any], list[str]]]) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            seen: set[str] = set()
            repeated.append((made, [key for key, _ in items if key in seen or seen.add(key)]))  # type: ignore[func-returns-value]
        return made

    return json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse, parse_float=_finite)


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _finite(digits: str) -> float:
    value = float(digits)
    return value if abs(value) != float("inf") else _refuse(digits)


_WORDS = {"true", "false", "null", "NaN", "Infinity"}


def _cleaned(text: str) -> str:
    """The text with blanks for comments and trailing commas: every other character keeps its line and column."""
    out: list[str] = []
    at = 0
    comma = -1
    before = ""
    for token in re.finditer(_PIECE, text):
        found = token.group()
        if found.startswith(("//", "/*")):
            if found.startswith("/*") and not found.endswith("*/", 2):
                break
            out += (text[at : token.start()], re.sub(r"[^\n]", " ", found))
            at = token.end()
        elif found == ",":
            if before == ",":
                break  # no file gets right by what follows
            out += (text[at : token.start()], ",")
            at = token.end()
            comma = -1 if before in {"", ",", "{", "[", ":"} else len(out) - 1
            before = ","
        else:
            if found[0].isalpha() and found not in _WORDS:
                break  # the same: nothing is wrong earlier
            if found in {"}", "]"} and comma >= 0:
                out[comma] = " "
            comma = -1
            before = found
    return "".join([*out, text[at:]])


def _numbers(text: str) -> Iterator[int]:
    for token in re.finditer(_PIECE, text):
        word = token["word"] or ""
        if word.lstrip("+-") in {"NaN", "Infinity"} or (word[-1:].isdigit() and _unfit(word)):
            yield token.start()


def _unfit(word: str) -> bool:
    try:
        int(word)
    except ValueError:
        try:
            return abs(float(word)) == float("inf")
        except ValueError:
            return False
    return False


def _too_deep(text: str) -> int:
    depth = 0
    for token in re.finditer(_PIECE, text):
        depth += (token.group() in {"{", "["}) - (token.group() in {"}", "]"})
        if depth > DEPTH:
            return token.start()
    return 0


def _explain(error: json.JSONDecodeError, text: str, file: str) -> Problem:
    kind = next((known for known in _TEXTS if error.msg.startswith(known)), "")
    at = error.pos
    if kind == "Expecting ',' delimiter":  # the parser stops at the next token; the gap is behind the last one
        at = len(text[:at].rstrip())
    if not text.strip():
        return _bad(text, 0, "the file is empty", file)
    return _bad(text, at, _TEXTS.get(kind, error.msg), file, _HINTS.get(kind, ""))


def _bad(text: str, at: int, message: str, file: str, hint: str = "") -> Problem:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Problem("$", "bad-json", f"bad JSON at line {line}, column {column}: {message}", hint, file=file)


def _twice(path: str, key: str, file: str) -> Problem:
    shown = re.sub(_SURROGATE, "?", key if len(key) <= LONGEST else f"{key[: LONGEST - 1]}…")
    message = f"the key {shown!r} is given twice; the last one counts"
    return Problem(child(path, key), "duplicate-key", message, severity="warning", file=file)


def _broken(text: str) -> bool:
    """Whether it has a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _checked(value: Any, text: str, file: str, repeated: list[tuple[dict[str, Any], list[str]]]) -> tuple[Any, list[Problem]]:
    """Depth, duplicate keys and lone surrogates, in one walk without recursion."""
    duplicates = {id(made): keys for made, keys in repeated}
    suspicious = "\\ud" in text or "\\uD" in text or _broken(text)
    problems: list[Problem] = []

    def clean(found: str, path: Callable[[], str]) -> str:
        if not _broken(found):
            return found
        message = "half of a character (a lone surrogate) was replaced by U+FFFD"
        listed(problems, lambda: Problem(path(), "lone-surrogate", message, severity="warning", file=file))
        return re.sub(_SURROGATE, "\ufffd", found)

    if not isinstance(value, dict | list):
        return clean(value, lambda: "$") if isinstance(value, str) else value, problems
    todo: list[tuple[Any, Callable[[], str], int]] = [(value, lambda: "$", 1)]
    while todo:
        node, path, depth = todo.pop()
        if depth > DEPTH:
            return None, [_bad(text, _too_deep(text), f"nested deeper than {DEPTH} levels", file)]
        for key in duplicates.get(id(node), ()):
            listed(problems, lambda: _twice(path(), key, file))  # noqa: B023 - called at once
        if suspicious and isinstance(node, dict):
            renamed = {clean(key, path): item for key, item in node.items()}
            node.clear()
            node.update(renamed)
        entries: list[tuple[Any, Any]] = list(node.items() if isinstance(node, dict) else enumerate(node))
        for key, item in entries:
            if suspicious and isinstance(item, str):
                node[key] = clean(item, lambda: child(path(), key))  # noqa: B023 - called at once
            elif isinstance(item, dict | list) and item:
                todo.append((item, lambda path=path, key=key: child(path(), key), depth + 1))  # type: ignore[misc]
    return value, problems
