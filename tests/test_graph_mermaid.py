# SPDX-License-Identifier: MIT
"""The Mermaid text, read by a small grammar of our own; the terminal's text."""

from __future__ import annotations

import html
import re

import pytest
from graph_kit import EVERY, broken, component, draw, nested, small

from rocketride_core.graph import Picture, mermaid, terminal

TEXT = r'"((?:[^"#;<>&`\\%\n]|#\d+;|<br/>)+)"'
GRAMMAR = {
    "title": re.compile(r"(?:accTitle|accDescr): [^#;\n{}]+"),
    "node": re.compile(rf"([np]\d+)(?:\[{TEXT}\]|\({TEXT}\)):::(\w+)"),
    "edge": re.compile(rf"(n\d+) (-->|-\.->)\|{TEXT}\| (n\d+)"),
    "open": re.compile(rf"subgraph (r\d+|problems)\[{TEXT}\]"),
    "close": re.compile(r"end"),
    "style": re.compile(r"classDef (\w+) \S[\w#:,. -]*"),
    "class": re.compile(r"class ((?:n\d+,)*n\d+) (\w+)"),
    "line": re.compile(r"linkStyle ((?:\d+,)*\d+) stroke:#[0-9a-f]{6}"),
}


class Chart:
    """What a flowchart says; raises on a line that is none."""

    def __init__(self, text: str) -> None:
        head, *lines = text.splitlines()
        assert head == "flowchart LR"
        self.nodes: dict[str, tuple[list[str], str]] = {}
        self.edges: list[tuple[str, str, str, str]] = []
        self.inside: dict[str, list[str]] = {}
        classes, styled, used = set[str](), set[int](), set[str]()
        stack: list[str] = []
        for line in lines:
            kind, found = next(((k, m) for k, rule in GRAMMAR.items() if (m := rule.fullmatch(line.strip()))), ("", None))
            assert found is not None, f"not Mermaid: {line}"
            if kind == "node":
                assert found[1] not in self.nodes
                self.nodes[found[1]] = [read(part) for part in (found[2] or found[3]).split("<br/>")], found[4]
                self.inside[found[1]] = list(stack)
                used.add(found[4])
            elif kind == "edge":
                self.edges.append((found[1], found[2], read(found[3]), found[4]))
            elif kind == "open":
                stack.append(read(found[2]))
            elif kind == "close":
                stack.pop()
            elif kind == "style":
                classes.add(found[1])
            elif kind == "class":
                assert set(found[1].split(",")) <= set(self.nodes)
                used.add(found[2])
            elif kind == "line":
                numbers = {int(n) for n in found[1].split(",")}
                assert not numbers & styled
                styled |= numbers
        assert not stack
        assert used <= classes
        assert {a for a, *_, b in self.edges for a in (a, b)} <= set(self.nodes)
        assert styled == {n for n, edge in enumerate(self.edges) if edge[1] == "-->"}


def read(text: str) -> str:
    return html.unescape(re.sub(r"#(\d+);", r"&#\1;", text))


def flat(picture: Picture) -> str:
    return "\n".join("".join(word for word, _ in line) for line in terminal(picture))


@pytest.mark.parametrize("name", EVERY)
def test_it_is_mermaid_and_says_all(name: str) -> None:
    picture = EVERY[name]()
    chart = Chart(mermaid(picture))
    for box in picture.boxes:
        lines, kind = chart.nodes[f"n{box.place}"]
        assert (lines[0].removeprefix("▶ "), lines[1], kind) == (box.title, box.id, box.family)
        assert lines[2].startswith(box.provider)
        assert [n for line in lines[3:] for n in re.findall(r"\d+", line)] == [str(n) for n in box.notes]
    arrows = {True: "-.->", False: "-->"}
    wanted = [(f"n{w.source}", arrows[w.control], w.name, f"n{w.target}") for w in picture.wires]
    assert [(a, arrow, name.partition(" ⚠")[0], b) for a, arrow, name, b in chart.edges] == wanted
    for note in picture.notes:
        [first, *_], kind = chart.nodes[f"p{note.number}"]
        assert first == f"{note.number} {note.severity} {note.code}: {note.message}"
        assert kind == note.severity


def test_sub_pipelines_are_subgraphs() -> None:
    picture = nested()
    chart = Chart(mermaid(picture))
    place = {box.id: f"n{box.place}" for box in picture.boxes}
    assert chart.inside[place["agent0"]] == []
    assert chart.inside[place["agent1"]] == ["sub-pipeline of pipe0"]
    assert chart.inside[place["join"]] == ["sub-pipeline of pipe0", "sub-pipeline of pipe1"]


def test_no_name_breaks_it() -> None:
    names = ['"]; click n0 "x"', "end", "%%{init: {}}%%", "a|b", "`md`", "<b>&amp;</b>", "#35;", "\\n", "subgraph", "a\nb", "```"]
    made = [component("ask", "g_ask")]
    made += [component(name, name, (name, "ask"), calls=((name, "ask"),), name=name) for name in names]
    chart = Chart(mermaid(draw(*made, file='x"]\n;.pipe')))
    assert [lines[1] for id, (lines, _) in chart.nodes.items() if id[0] == "n"] == ["ask", *(" ".join(n.split()) for n in names)]
    assert Chart(mermaid(draw())).nodes.keys() <= {"p1", "p2"}


def test_the_grammar_refuses_what_is_wrong() -> None:
    good = mermaid(small())
    for wrong in (good.replace('"]', "]", 1), good + "  end\n", good.replace("n1", "n9", 1), good + "hello\n"):
        with pytest.raises((AssertionError, IndexError)):
            Chart(wrong)


@pytest.mark.parametrize("name", EVERY)
def test_the_terminal_shows_all(name: str) -> None:
    picture = EVERY[name]()
    lines = flat(picture).splitlines()
    arrows = {True: "╌{}╌▷ {}", False: "─{}─▶ {}"}
    said = "\n".join(re.sub(r"([▷▶]) [✖▲][\d,]+ ", r"\1 ", line) for line in lines)
    for wire in picture.wires:
        assert arrows[wire.control].format(wire.name, picture.boxes[wire.target].id) in said
    assert len([line for line in lines if "─▶" in line or "╌▷" in line]) == len(picture.wires)
    for note in picture.notes:
        assert any(f"{note.message} [{note.code}]" in line for line in lines)
    for box in picture.boxes:
        full = [line for line in lines if f"  {box.provider or 'no provider'}" in line and box.id in line and "↑" not in line]
        assert full, box


def test_the_terminal_is_a_tree() -> None:
    assert flat(small()) == (
        "test.pipe  3 components, 2 lane links, 0 control links\n"
        "\n"
        "a  Ask  g_ask\n"
        "└─questions─▶ b  Plain  g_plain\n"
        "   └─questions─▶ c  Out  g_out"
    )


def test_the_terminal_gets_no_escapes_from_a_file() -> None:
    text = flat(draw(component("a\x1b[2J\r\nb", "g_ask", name="\x9b31m\u202e")))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_problems_of_wires_stand_at_their_wires() -> None:
    lines = flat(broken()).splitlines()
    [line] = [line for line in lines if "─nonsense─▶" in line]
    assert re.search(r"▶ ✖\d+ one", line)
