# SPDX-License-Identifier: MIT
"""Where source code is cut."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_preprocessor_code import LANGUAGES, cut, recognised
from rocketride_preprocessor_code.languages import MissingGrammar, grammar

SOURCES = {
    "python": (
        (
            '"""A module."""\nimport os\nimport re\n\n# what it is for\n@cache\ndef first(x):\n    return x\n\n\n'
            "class Second:\n    '''Says what.'''\n\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n\n\nprint(first(1))\n"
        ),
        [
            '"""A module."""\nimport os\nimport re\n\n',
            "# what it is for\n@cache\ndef first(x):\n    return x\n\n\n",
            "class Second:\n    '''Says what.'''\n\n",
            "    def one(self):\n        return 1\n\n",
            "    def two(self):\n        return 2\n\n\n",
            "print(first(1))\n",
        ],
    ),
    "c": (
        "#include <stdio.h>\nint twice(int);\n\n/* a point */\nstruct point { int x; int y; };\n\nint twice(int n) {\n  return 2 * n;\n}\n",
        [
            "#include <stdio.h>\nint twice(int);\n\n",
            "/* a point */\nstruct point { int x; int y; };\n\n",
            "int twice(int n) {\n  return 2 * n;\n}\n",
        ],
    ),
    "cpp": (
        "namespace a {\nclass B {\npublic:\n  B() = default;\n  int one() { return 1; }\n};\ntemplate <class T>\nT two(T t) { return t + t + t + t; }\n}  // namespace a\n",
        [
            "namespace a {\n",
            "class B {\npublic:\n  B() = default;\n  int one() { return 1; }\n};\n",
            "template <class T>\nT two(T t) { return t + t + t + t; }\n}  // namespace a\n",
        ],
    ),
    "javascript": (
        "const a = require('a');\nconst b = 2;\n\nconst twice = (n) => {\n  return 2 * n;\n};\n\nmodule.exports = function () {};\nclass A { m() { return 1; } }\n",
        [
            "const a = require('a');\nconst b = 2;\n\n",
            "const twice = (n) => {\n  return 2 * n;\n};\n\n",
            "module.exports = function () {};\n",
            "class A { m() { return 1; } }\n",
        ],
    ),
    "typescript": (
        "import { a } from 'a';\n\nexport interface Point { x: number }\nexport const twice = (n: number): number => 2 * n;\nenum E { A, B }\nlet x: string = '';\n",
        [
            "import { a } from 'a';\n\n",
            "export interface Point { x: number }\n",
            "export const twice = (n: number): number => 2 * n;\n",
            "enum E { A, B }\n",
            "let x: string = '';\n",
        ],
    ),
    "tsx": ("const A = () => <b>one</b>;\nconst x = 1;\n", ["const A = () => <b>one</b>;\n", "const x = 1;\n"]),
    "go": (
        'package a\n\nimport "fmt"\n\ntype P struct{ X int }\n\nfunc (p P) M() int {\n\treturn p.X\n}\n',
        ['package a\n\nimport "fmt"\n\n', "type P struct{ X int }\n\n", "func (p P) M() int {\n\treturn p.X\n}\n"],
    ),
    "java": (
        "package a;\nimport java.util.List;\n\nclass B {\n  int one() { return 1; }\n}\n",
        ["package a;\nimport java.util.List;\n\n", "class B {\n  int one() { return 1; }\n}\n"],
    ),
    "rust": (
        "use std::fmt;\n\n/// A point.\n#[derive(Debug)]\nstruct P {\n    x: i32,\n}\n\nfn twice(n: i32) -> i32 {\n    2 * n\n}\n",
        [
            "use std::fmt;\n\n",
            "/// A point.\n#[derive(Debug)]\nstruct P {\n    x: i32,\n}\n\n",
            "fn twice(n: i32) -> i32 {\n    2 * n\n}\n",
        ],
    ),
}
ALPHABET = [
    "def f(x):\n",
    "    ",
    "return ",
    "class A",
    "{",
    "}",
    "(",
    ")",
    ";",
    "\n",
    "\n\n",
    '"""',
    "'",
    "// c\n",
    "# c\n",
    "é",
    "😀",
    "e\u0301",
]
ALPHABET += [
    "\r\n",
    "x" * 17,
    " = ",
    "/*",
    "*/",
    "\\\n",
    "if (a) ",
    "function g() {",
    "\t",
    "struct s {int a;};",
    "@d\n",
    "\u200d",
    "\ud800",
]
ANY_TEXT = st.lists(st.sampled_from(ALPHABET), max_size=60).map("".join)


def pieces(text, language, size=70):
    return [text[start:end] for start, end in cut(text, language, size)]


def there(language):
    try:
        grammar(language)
    except MissingGrammar:
        return False
    return True


@pytest.mark.parametrize("language", SOURCES)
def test_each_definition_is_a_chunk(language):
    if LANGUAGES[language].extra and not there(language):
        pytest.skip(f"the grammar of {language} is not installed")
    text, expected = SOURCES[language]
    assert pieces(text, language, 75) == expected


def test_every_language_has_a_source_here():
    assert set(SOURCES) == set(LANGUAGES)


@given(ANY_TEXT, st.sampled_from(["python", "c", "cpp", "javascript", "typescript", "tsx"]), st.integers(1, 60))
@settings(max_examples=300, deadline=None)
def test_chunks_are_the_source_and_none_is_blank_or_too_long(text, language, size):
    spans = cut(text, language, size)
    if not text.strip():
        assert not spans
        return
    assert [spans[0][0], spans[-1][1]] == [0, len(text)]
    assert all(before == after for (_, before), (after, _) in itertools.pairwise(spans))
    for start, end in spans:
        assert text[start:end].strip()
        said = text[start:end].rstrip()
        said = said[len(said) - len(said.lstrip()) :] if start == 0 or len(said.lstrip()) > size else said.lstrip("\n")
        if len(said) > size:
            tail = said[1:] if size == 1 else said[size:]
            assert all(one in "\u0301\u200d\n" or said[said.index(one) - 1] == "\u200d" for one in tail), (said, size)


def test_a_long_function_is_cut_between_statements():
    body = "".join(f"    value_{i} = compute({i})\n" for i in range(12))
    found = pieces(f"@decorated\ndef long(x):\n{body}\n\ndef next():\n    pass\n", "python", 100)
    assert found[0].startswith("@decorated\ndef long(x):\n    value_0")
    assert all(one.startswith("    value_") for one in found[1:-1])
    assert found[-1] == "def next():\n    pass\n"
    assert max(map(len, found)) <= 100


def test_a_long_statement_is_cut_at_line_starts_where_it_has_some():
    text = "x = {\n" + "".join(f'    "key {i}": [{i}, {i + 1}],\n' for i in range(20)) + "}\n"
    found = pieces(text, "python", 64)
    assert all(one.endswith("\n") for one in found)
    assert all(one.startswith('    "key') for one in found[1:])


def test_a_long_text_is_cut_by_lines_then_words_then_anywhere():
    assert pieces('"""' + "a line of text\n" * 4 + '"""', "python", 33)[0] == '"""' + "a line of text\n" * 2
    words = pieces('x = "' + "word " * 30 + '"', "python", 33)
    assert all(one.endswith(" ") for one in words[1:-1])
    assert len(pieces("x" * 100, "python", 30)) == 4


@pytest.mark.parametrize("broken", [
    "def f(:\n    return ]\n\nclass\n", "}}}}{{{{", "int main( { return 0", "'''never closed\nand on", "\x00\x01\x02", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n",
])  # fmt: skip
@pytest.mark.parametrize("language", ["python", "c", "typescript"])
def test_broken_source_is_cut_too(broken, language):
    assert "".join(pieces(broken * 5, language, 20)) == broken * 5


def test_nothing_and_white_space_give_nothing():
    assert cut("", "python", 10) == cut(" \n\t\n", "c", 10) == []


def test_deep_nesting_needs_no_deep_stack():
    deep = "(" * 20_000 + ")" * 20_000
    assert "".join(pieces(deep, "python", 512)) == deep


def test_long_sources_take_time_in_proportion():
    part = "# about\ndef f(x):\n    return [x + i for i in range(10)]\n\nclass A:\n" + "    def m(self):\n        pass\n" * 30
    took = []
    for times in (30, 240):
        start = time.perf_counter()
        cut(part * times, "python", 256)
        took.append(time.perf_counter() - start)
    assert took[1] < took[0] * 8 * 5


@pytest.mark.parametrize(("text", "name", "mime_type", "language"), [
    ("", "a.py", "", "python"), ("", "A.CPP", "", "cpp"), ("", "x/a.tsx", "", "tsx"), ("x", "a", "text/x-python; charset=utf-8", "python"),
    ("int twice(int);\nstruct p { int x; };\n", "a.h", "", "c"), ("class A { public: int x; };\nint f(int a);", "a.h", "", "cpp"), ("", "a.h", "", "c"),
    ("An essay about class struggle, import duties and the function of art.\nIf so: who else?\n", "a.txt", "text/plain", ""),
    ("one two three", "", "", ""), ("", "", "", ""), ("<html><body>a</body></html>", "", "", ""), ("a,b\n1,2\n", "a.csv", "", ""),
    *((text, "", "", language) for language, (text, _) in SOURCES.items() if language != "tsx"),
    ("using namespace std;\n#include <vector>\nint main() { return 0; }\n", "", "", "cpp"),
])  # fmt: skip
def test_languages_are_recognised_by_name_then_type_then_text(text, name, mime_type, language):
    assert recognised(text, name, mime_type) == language


def test_a_missing_grammar_says_what_to_install(monkeypatch):
    import attrs

    lost = attrs.evolve(LANGUAGES["java"], module="tree_sitter_not_there")
    monkeypatch.setattr("rocketride_preprocessor_code.languages.LANGUAGES", {"java": lost})
    with pytest.raises(MissingGrammar, match=r"pip install 'rocketride-preprocessor-code\[java\]'"):
        grammar.__wrapped__("java")
