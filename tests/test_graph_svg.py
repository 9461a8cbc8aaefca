# SPDX-License-Identifier: MIT
"""The SVG: everything is in it, nothing else is, and no name breaks it."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from graph_kit import EVERY, NODES, broken, component, draw, nested, small
from hypothesis import given
from hypothesis import strategies as st

from rocketride_core import Kernel
from rocketride_core.graph import picture_of, svg
from rocketride_core.graph.families import FAMILIES, family
from rocketride_core.graph.measure import clean, fitted, width, wrapped
from rocketride_core.graph.style import LANES, ROLES
from rocketride_core.pipefile import parse_pipe
from rocketride_core.registry import Registry

NS = "{http://www.w3.org/2000/svg}"
HOSTILE = '</svg><script>alert("x")</script>&amp; <!-- ]]> \u202e\x1b[31m\ud800'

every_picture = pytest.mark.parametrize("name", EVERY)


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)


def texts(root: ET.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{NS}text")]


def titles(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{NS}title")]


@every_picture
def test_all_components_and_links_are_there(name: str) -> None:
    picture = EVERY[name]()
    root = parsed(svg(picture))
    told = titles(root)
    for box in picture.boxes:
        assert any(title.startswith(f"{box.title} · {box.id} · {box.provider}") for title in told), box
    for wire in picture.wires:
        ends = f"{wire.name}: {picture.boxes[wire.source].id} → {picture.boxes[wire.target].id}"
        assert any(title.partition("\n")[0] == ends for title in told), wire
    words = texts(root)
    for wire in picture.wires:
        assert wire.name in words
    description = root.find(f"{NS}desc")
    assert description is not None
    assert description.text
    assert picture.summary in description.text


@every_picture
def test_it_is_one_accessible_file_without_anything_from_outside(name: str) -> None:
    text = svg(EVERY[name]())
    root = parsed(text)
    assert root.get("role") == "img"
    assert [child.tag for child in root[:3]] == [f"{NS}title", f"{NS}desc", f"{NS}style"]
    assert root.get("aria-labelledby") == f"{root[0].get('id')} {root[1].get('id')}"
    assert not re.search(r"<script|href|url\(|@import|@font-face|\son\w+=", text)
    assert "prefers-color-scheme:dark" in text


@every_picture
def test_all_texts_are_inside_of_the_picture_and_of_their_boxes(name: str) -> None:
    root = parsed(svg(EVERY[name]()))
    right = float(root.get("width", "0"))
    sizes = {"head": 16.0, "title": 13.0, "small": 11.0, "label": 10.5, "mark": 10.0}
    for group in root.iter(f"{NS}g"):
        box = next((r for r in group.findall(f"{NS}rect") if " box" in r.get("class", "")), None)
        end = right if box is None else float(box.get("x", "0")) + float(box.get("width", "0"))
        for one in group.findall(f"{NS}text"):
            kind = one.get("class", "").split()[0]
            wide = width("".join(one.itertext()), sizes[kind], bold=kind in ("head", "title", "mark"))
            assert float(one.get("x", "0")) + wide <= end + 0.5, "".join(one.itertext())


def test_problems_are_marked_where_they_are_and_told_below() -> None:
    picture = broken()
    root = parsed(svg(picture))
    codes = {note.code for note in picture.notes}
    assert {"dangling-link", "duplicate-id", "unknown-lane", "unknown-provider", "unknown-source"} <= codes
    below = " ".join(texts(root))
    for note in picture.notes:
        assert f"{note.severity} {note.code}" in below
    groups = {title.partition("\n")[0]: group for group in root.iter(f"{NS}g") if (title := group.findtext(f"{NS}title") or "")}
    wire = groups["nonsense: ask → one"]
    assert any("error" in path.get("class", "").split() for path in wire.findall(f"{NS}path"))
    assert "[unknown-lane]" in (wire.findtext(f"{NS}title") or "")
    canvas = groups["Default · note · default · not installed"]
    assert "warning" in (canvas.findtext(f"{NS}title") or "")
    [rect] = [r for r in canvas.findall(f"{NS}rect") if " box" in r.get("class", "")]
    assert {"absent", "warning"} <= set(rect.get("class", "").split())
    assert [b for b in canvas.findall(f"{NS}g") if b.get("class") == "badge"]
    assert "ghost · ghost · no such component · not in the file" in groups


def test_a_good_pipeline_has_no_marks() -> None:
    text = svg(small())
    assert "badge" not in text
    assert small().notes == []


def test_equal_problems_have_one_number() -> None:
    picture = draw(*[component(f"n{k}", "nobody_has_this") for k in range(5)])
    [note] = [note for note in picture.notes if note.code == "unknown-provider"]
    assert note.places == ["n0", "n1", "n2", "n3", "n4"]
    assert all(note.number in box.notes for box in picture.boxes)


@pytest.mark.parametrize("where", ["id", "name", "provider", "lane", "control", "file"])
def test_no_name_breaks_it(where: str) -> None:
    names = dict.fromkeys(["id", "name", "provider", "lane", "control", "file"], "plain") | {where: HOSTILE}
    made = component(
        names["id"], names["provider"], (names["lane"], "ask"), calls=((names["control"], "ask"),), name=names["name"]
    )
    pipe, problems = parse_pipe({"components": [component("ask", "g_ask"), made]}, f"{names['file']}.pipe")
    text = svg(picture_of(pipe, problems, Kernel(nodes=NODES).registry))
    text.encode("utf-8")
    root = parsed(text)
    assert not [one for one in root.iter() if one.tag == f"{NS}script"]
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert 'alert("x")' in "".join(root.itertext()) or where == "file"


def test_same_bytes_in_every_process() -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); import graph_kit as k; from rocketride_core.graph import *\n"
    script += "for f in k.EVERY.values(): print(svg(f()), mermaid(f()), terminal(f()))"
    outputs = set()
    for seed in ("0", "1", "2"):
        command = [sys.executable, "-c", script, str(Path(__file__).parent)]
        # What is installed is drawn with, whatever folder this runs in.
        env = {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8", "PYTHONSAFEPATH": "1"}
        done = subprocess.run(command, capture_output=True, check=True, env=env)
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_values_are_never_in_it() -> None:
    secret = "sk-1234567890abcdef"
    source = {
        "components": [
            component("ask", "g_ask", config={"apikey": secret, "x": "${ROCKETRIDE_KEY}"}),
            component("o", "g_out", ("questions", "ask")),
        ]
    }
    pipe, problems = parse_pipe(source, "a.pipe")
    kernel = Kernel(nodes=NODES, env={"ROCKETRIDE_KEY": "the-value-of-it"})
    text = svg(picture_of(pipe, [*problems, *kernel.check(pipe)], kernel.registry))
    assert secret not in text
    assert "the-value-of-it" not in text


def test_it_draws_where_nothing_is_installed(tmp_path: Path) -> None:
    source = {
        "source": "in_1",
        "components": [
            component("in_1", "acme_webhook"),
            component("llm_1", "llm_acme", ("questions", "in_1")),
            component("out_1", "response_acme", ("answers", "llm_1")),
            component("mem", "acme_thing", calls=(("memory", "llm_1"),)),
        ],
    }
    pipe, problems = parse_pipe(source, "a.pipe")
    picture = picture_of(pipe, problems, Registry(path=[], cache=tmp_path))
    assert [box.family for box in picture.boxes] == ["source", "llm", "response", "memory"]
    assert [box.title for box in picture.boxes] == ["Acme Webhook", "LLM Acme", "Response Acme", "Acme Thing"]
    assert {box.state for box in picture.boxes} == {"absent"}
    assert [box.start for box in picture.boxes] == [True, False, False, False]
    root = parsed(svg(picture))
    assert sum("absent" in rect.get("class", "").split() for rect in root.iter(f"{NS}rect")) == 5, "four boxes and the legend"


def test_an_empty_pipeline_says_so() -> None:
    assert any("no components" in text for text in texts(parsed(svg(draw()))))


def test_the_legend_names_what_is_there_and_nothing_else() -> None:
    words = texts(parsed(svg(nested())))
    assert {
        "source",
        "data",
        "agent",
        "llm",
        "tool",
        "response",
        "lane questions",
        "lane answers",
        "calls",
        "not installed",
    } <= set(words)
    assert not {"memory", "store", "lane text", "not in the file", "start"} & set(words)


def test_every_family_and_core_lane_has_its_colours() -> None:
    import rocketride_core as core

    assert set(FAMILIES) == set(ROLES)
    assert set(LANES) == {lane.name for lane in vars(core).values() if isinstance(lane, core.Lane)}


def contrast(one: str, two: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    a, b = sorted((light(one), light(two)))
    return (b + 0.05) / (a + 0.05)


def test_texts_can_be_read_in_light_and_in_dark() -> None:
    for light, dark in LANES.values():
        assert contrast(light, "#ffffff") >= 4.5
        assert contrast(dark, "#0d1117") >= 4.5
    for _, fill, _, dark_fill in ROLES.values():
        assert contrast("#55606e", fill) >= 4.5
        assert contrast("#9fabb9", dark_fill) >= 4.5


@given(st.text(), st.floats(8, 300))
def test_fitted_texts_fit(text: str, most: float) -> None:
    shown = fitted(clean(text), most, 11)
    assert width(shown, 11) <= max(most, width("…", 11))
    assert shown == clean(text) or "…" in shown


@given(st.text(), st.floats(20, 300))
def test_wrapped_lines_fit_and_lose_nothing(text: str, most: float) -> None:
    lines = wrapped(text, most, 11)
    assert all(width(line, 11) <= most for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text())
def test_clean_texts_are_one_line_that_xml_takes(text: str) -> None:
    shown = clean(text)
    assert parsed(f"<a>{shown.replace('&', '').replace('<', '')}</a>") is not None
    assert not {"Cc", "Cs"} & {unicodedata.category(c) for c in shown}


def test_a_family_comes_from_the_class_else_from_names_else_from_wires() -> None:
    def told(
        provider: str,
        pip: str = "",
        *,
        source: bool = False,
        controls: tuple[str, ...] = (),
        ins: bool = False,
        outs: bool = False,
    ) -> str:
        return family(None, provider, pip, declared_source=source, controls=controls, ins=ins, outs=outs)

    assert told("acme", "rocketride-store-acme", ins=True) == "store"
    assert told("tool_acme_search") == "tool"
    assert told("acme", controls=("tool",)) == "tool"
    assert told("acme", ins=True, outs=True) == "data"
    assert told("acme", outs=True) == "source"
    assert told("acme", source=True) == "source"
    assert told("acme") == "other"
