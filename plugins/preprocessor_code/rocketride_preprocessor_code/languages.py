# SPDX-License-Identifier: MIT
"""The languages: where their grammars are, what in them is a definition, and how a source's language is recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING

import attrs

from rocketride_core.errors import RocketRideError

if TYPE_CHECKING:
    import tree_sitter

__all__ = ["LANGUAGES", "Language", "MissingGrammar", "grammar", "recognised"]

LOOKED_AT = 200_000  # characters from which a language is guessed


class MissingGrammar(RocketRideError):
    """The grammar of a language is not installed; the message says how to install it."""


@attrs.frozen
class Language:
    """One language.

    Parameters:
        name: as in the config.
        module: of its grammar.
        definitions: the types of the nodes that are a chunk of their own.
        suffixes: of file names.
        function: of `module`, gives the grammar.
        extra: of the distribution, brings the grammar; "" where it always comes.
    """

    name: str
    module: str
    definitions: frozenset[str]
    suffixes: Sequence[str]
    function: str = "language"
    extra: str = ""


_C = frozenset(
    ["function_definition", "struct_specifier", "union_specifier", "enum_specifier", "type_definition", "linkage_specification"]
)
_CPP = _C | frozenset(["class_specifier", "namespace_definition", "template_declaration", "concept_definition"])
_JAVASCRIPT = frozenset(
    [
        "function_declaration",
        "generator_function_declaration",
        "class_declaration",
        "method_definition",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "expression_statement",
        "field_definition",
    ]
)
_TYPESCRIPT = _JAVASCRIPT | frozenset(
    [
        "abstract_class_declaration",
        "interface_declaration",
        "enum_declaration",
        "module",
        "internal_module",
        "public_field_definition",
        "abstract_method_signature",
    ]
)
_PYTHON = frozenset(["function_definition", "class_definition", "decorated_definition"])
_JAVA = frozenset(
    [
        "class_declaration",
        "method_declaration",
        "constructor_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
        "compact_constructor_declaration",
    ]
)
_GO = frozenset(["function_declaration", "method_declaration", "type_declaration"])
_RUST = frozenset(
    ["function_item", "impl_item", "struct_item", "enum_item", "trait_item", "mod_item", "union_item", "macro_definition"]
)

LANGUAGES: Mapping[str, Language] = {
    one.name: one
    for one in (
        Language("c", "tree_sitter_c", _C, [".c"]),
        Language(
            "cpp",
            "tree_sitter_cpp",
            _CPP,
            [".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".inl", ".tpp", ".cu", ".cuh"],
        ),
        Language("python", "tree_sitter_python", _PYTHON, [".py", ".pyi", ".pyw"]),
        Language("javascript", "tree_sitter_javascript", _JAVASCRIPT, [".js", ".mjs", ".cjs", ".jsx"]),
        Language("typescript", "tree_sitter_typescript", _TYPESCRIPT, [".ts", ".mts", ".cts"], "language_typescript"),
        Language("tsx", "tree_sitter_typescript", _TYPESCRIPT, [".tsx"], "language_tsx"),
        Language("go", "tree_sitter_go", _GO, [".go"], extra="go"),
        Language("java", "tree_sitter_java", _JAVA, [".java"], extra="java"),
        Language("rust", "tree_sitter_rust", _RUST, [".rs"], extra="rust"),
    )
}
_SUFFIXES = {suffix: one.name for one in LANGUAGES.values() for suffix in one.suffixes}
_TYPES = {
    "text/x-c": "c",
    "text/x-csrc": "c",
    "text/x-c++": "cpp",
    "text/x-c++src": "cpp",
    "text/x-c++hdr": "cpp",
    "text/x-python": "python",
    "text/x-script.python": "python",
    "text/javascript": "javascript",
    "application/javascript": "javascript",
    "application/x-javascript": "javascript",
    "application/typescript": "typescript",
    "text/typescript": "typescript",
    "text/x-typescript": "typescript",
    "text/x-go": "go",
    "text/x-java": "java",
    "text/x-java-source": "java",
    "text/x-rust": "rust",
}


@cache
def grammar(name: str) -> tree_sitter.Language:
    """The grammar of a language of `LANGUAGES`.

    Raises:
        MissingGrammar: it is not installed.
    """
    import tree_sitter

    language = LANGUAGES[name]
    try:
        module = import_module(language.module)
    except ImportError as error:
        wanted = f"rocketride-preprocessor-code[{language.extra}]" if language.extra else language.module.replace("_", "-")
        raise MissingGrammar(
            f"the grammar of {name} is not installed (module {language.module}); pip install '{wanted}'"
        ) from error
    return tree_sitter.Language(getattr(module, language.function)())


def recognised(text: str, name: str = "", mime_type: str = "") -> str:
    """The language of a source by its file name, else by its media type, else by what it looks like; "" where none fits."""
    suffix = PurePath(name).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if suffix == ".h":
        return "cpp" if _shows(_NARROWER["c"][1], text[:LOOKED_AT]) else "c"
    return _TYPES.get(mime_type.partition(";")[0].strip().lower(), "") or _looks_like(text[:LOOKED_AT])


# What each family and the narrower language in it show, with weights; the highest total wins, if it is high enough and ahead.
_LEAST, _AHEAD = 3, 2
_FAMILIES: Mapping[str, tuple[tuple[str, int], ...]] = {
    "python": (
        (r"^\s*(async )?def \w+\(.*", 2),
        (r"^\s*class \w+(\(.*\))?:", 2),
        (r"^\s*from [\w.]+ import \w", 3),
        (r"^import \w[\w.]*( as \w+)?\s*$", 2),
        (r"^\s*(if|elif|else|for|while|with|try|except)\b[^{};]*:\s*$", 1),
        (r"\bself\.\w", 1),
        (r"^#!.*python", 3),
        (r"^if __name__ ==", 3),
    ),
    "c": (
        (r"^\s*#\s*(include\s*[<\"]|define \w|ifn?def \w|pragma \w)", 3),
        (r"\b(int|char|void|float|double|long|unsigned|size_t|bool)\s*[*&]*\s*\w+\s*(\(|\[|=|;)", 2),
        (r"\b(struct|union|enum)\s+\w+\s*\{", 1),
        (r"\w->\w+", 1),
        (r"\b(printf|malloc|sizeof|free|memcpy)\s*\(", 1),
        (r"^\s*(typedef|extern|static)\s+\w", 1),
    ),
    "javascript": (
        (r"\bfunction\b\s*\*?\s*\w*\s*\([^)]*\)\s*\{", 2),
        (r"^\s*(export )?(const|let|var) [\w{\[].*=", 2),
        (r"=>\s*[\w({\[]", 1),
        (r"\bconsole\.\w+\(", 2),
        (r"\brequire\(['\"]", 2),
        (r"^\s*import .*\bfrom ['\"]", 3),
        (r"^\s*export (default|async|function|class|interface|type)\b", 2),
        (r"[=!]==", 1),
        (r"\bmodule\.exports\b", 3),
        (r"^\s*(export )?interface \w+[^;]*\{", 2),
        (r":\s*(string|number|boolean|unknown|void)\b\s*[;,)={|\[]", 2),
    ),
    "go": ((r"^package \w+\s*$", 3), (r"^func (\(.*\) )?\w+\(", 3), (r":=", 1)),
    "java": (
        (r"^\s*package [\w.]+;", 3),
        (r"^\s*import (static )?[\w.]+(\.\*)?;", 3),
        (r"\b(public|private|protected) (static |final |abstract )*(class|interface|enum|record|void|int|String)\b", 3),
    ),
    "rust": (
        (r"^\s*(pub(\(\w+\))? )?fn \w+.*[{(]", 3),
        (r"^\s*use \w+(::[\w{}*, ]+)+;", 3),
        (r"\blet mut \w", 2),
        (r"^\s*impl\b.*\{", 2),
    ),
}
_NARROWER: Mapping[str, tuple[str, str]] = {
    "c": (
        "cpp",
        (
            r"\b(std|boost)::|^\s*(template\s*<|namespace \w|using namespace|class \w+[^;]*\{)|^\s*(public|private|protected):|\bclass \w+[^;(]*\{"
            r"|\bnullptr\b|\b\w+::~?\w+\(|#\s*include\s*<(iostream|vector|string|memory|map|algorithm)>"
        ),
    ),
    "javascript": (
        "typescript",
        (
            r"^\s*(export )?(declare )?(interface|enum|namespace) \w+[^;()]*\{|^\s*(export )?type \w+(<.*>)? ="
            r"|[\w)\]?]:\s*(string|number|boolean|unknown|void|any|never)\b(\[\])?\s*[;,)={|\n]|^\s*(private|public|protected|readonly) \w"
        ),
    ),
}


def _shows(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.MULTILINE) is not None


def _looks_like(text: str) -> str:
    narrower = {family: name for family, (name, pattern) in _NARROWER.items() if _shows(pattern, text)}
    totals = {
        family: sum(weight for pattern, weight in shown if _shows(pattern, text)) + _AHEAD * (family in narrower)
        for family, shown in _FAMILIES.items()
    }
    (_, second), (best, first) = sorted(totals.items(), key=lambda one: one[1])[-2:]
    if first < _LEAST or first - second < _AHEAD:
        return ""
    return narrower.get(best, best)
