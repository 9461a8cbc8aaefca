# SPDX-License-Identifier: MIT
"""Where things of a picture are: nothing lies on anything, and every wire leads from its box to its box."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from pathlib import Path

import pytest
from graph_kit import EVERY, component, draw, loops, nested, points, wide
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketride_core.graph import picture_of, svg
from rocketride_core.graph.geometry import Spot
from rocketride_core.graph.layers import layered
from rocketride_core.graph.layout import Layout, layout_of
from rocketride_core.graph.picture import Box, Picture, Wire
from rocketride_core.graph.placing import nearest
from rocketride_core.graph.structure import MAIN, structure_of
from rocketride_core.pipefile import inspect_pipe
from rocketride_core.registry import Registry

PIPES = sorted(path for path in (Path(__file__).resolve().parents[2] / "shared" / "pipes").rglob("*") if path.is_file())

every_picture = pytest.mark.parametrize("name", EVERY)


def apart(a: Spot, b: Spot, gap: float = 0) -> bool:
    return a.right + gap <= b.x or b.right + gap <= a.x or a.bottom + gap <= b.y or b.bottom + gap <= a.y


def inside(a: Spot, b: Spot) -> bool:
    return b.x <= a.x and b.y <= a.y and a.right <= b.right and a.bottom <= b.bottom


def on_border(point: tuple[float, float], spot: Spot) -> bool:
    x, y = point
    return (
        spot.x - 0.1 <= x <= spot.right + 0.1
        and spot.y - 0.1 <= y <= spot.bottom + 0.1
        and min(abs(x - spot.x), abs(x - spot.right), abs(y - spot.y), abs(y - spot.bottom)) < 0.1
    )


def check(picture: Picture) -> Layout:
    layout = layout_of(picture)
    assert sorted(layout.spots) == list(range(len(picture.boxes)))
    for (a, one), (b, two) in itertools.combinations(layout.spots.items(), 2):
        assert apart(one, two, 8), (picture.boxes[a].id, picture.boxes[b].id)
    whole = Spot(-0.1, -0.1, layout.w + 0.2, layout.h + 0.2)
    assert all(inside(spot, whole) for spot in layout.spots.values())
    assert Counter(route.wire for route in layout.routes) == Counter(range(len(picture.wires)))
    for route in layout.routes:
        wire = picture.wires[route.wire]
        assert on_border(route.start, layout.spots[wire.source]), wire
        assert on_border(route.end, layout.spots[wire.target]), wire
        assert all(-0.1 <= x <= layout.w + 0.1 and -0.1 <= y <= layout.h + 0.1 for x, y in points(route)), wire
    for frame in layout.frames:
        for box, spot in layout.spots.items():
            mine = frame.root in structure_of(picture).regions_of(box)
            assert inside(spot, frame.spot) if mine else apart(spot, frame.spot), picture.boxes[box].id
    return layout


@every_picture
def test_nothing_lies_on_anything_and_wires_lead_from_box_to_box(name: str) -> None:
    check(EVERY[name]())


@pytest.mark.parametrize("name", ["small", "nested", "wide", "two_sources"])
def test_wires_run_around_boxes(name: str) -> None:
    picture = EVERY[name]()
    runs_around(picture, layout_of(picture))


@pytest.mark.skipif(not PIPES, reason="../shared/pipes is not here")
def test_real_files_are_laid_out_well() -> None:
    registry = Registry()
    for path in PIPES:
        picture = picture_of(inspect_pipe(path)[0], [], registry)
        if picture.boxes:
            runs_around(picture, check(picture))


def runs_around(picture: Picture, layout: Layout) -> None:
    for route in layout.routes:
        wire = picture.wires[route.wire]
        for box, spot in layout.spots.items():
            crossing = box not in (wire.source, wire.target) and any(
                spot.x < x < spot.right and spot.y < y < spot.bottom for x, y in points(route)
            )
            assert not crossing, f"{wire} runs through {picture.boxes[box].id}"


def test_lanes_go_from_left_to_right_and_calls_down() -> None:
    picture = nested()
    layout = layout_of(picture)
    for wire in picture.wires:
        one, two = layout.spots[wire.source], layout.spots[wire.target]
        assert one.bottom < two.y if wire.control else one.right < two.x, wire


def test_a_chain_is_one_straight_line() -> None:
    layout = layout_of(EVERY["small"]())
    assert len({spot.middle for spot in layout.spots.values()}) == 1
    assert all(y == route.start[1] for route in layout.routes for _, y in points(route))


def test_sub_pipelines_are_in_each_other() -> None:
    picture = nested(3)
    ids = [box.id for box in picture.boxes]
    found = structure_of(picture)
    assert [ids[root] for root in found.outer] == ["pipe0", "pipe1", "pipe2"]
    assert [MAIN if outer == MAIN else ids[outer] for outer in found.outer.values()] == [MAIN, "pipe0", "pipe1"]
    assert {ids[box] for box in range(len(ids)) if found.region[box] == ids.index("pipe1")} == {
        "pipe1", "agent2", "llm2", "out2",
    }  # fmt: skip
    assert len(layout_of(picture).frames) == 3


def test_what_two_tools_share_belongs_to_neither() -> None:
    picture = EVERY["broken"]()
    ids = [box.id for box in picture.boxes]
    found = structure_of(picture)
    assert found.region[ids.index("both")] == MAIN


def test_a_loop_runs_above_its_boxes() -> None:
    picture = loops()
    layout = layout_of(picture)
    ids = [box.id for box in picture.boxes]
    [back] = [r for r in layout.routes if (w := picture.wires[r.wire]) and ids[w.source] == "agent" and w.name == "answers"]
    assert min(y for _, y in points(back)) < min(layout.spots[ids.index(id)].y for id in ("agent", "memory"))


def test_38_components_take_less_than_300_ms() -> None:
    picture = wide()
    assert len(picture.boxes) == 38
    spent = []
    for _ in range(3):
        began = time.process_time()
        svg(picture)
        spent.append(time.process_time() - began)
    assert min(spent) < 0.3
    layout = layout_of(picture)
    assert layout.w < 1700, "a page is not as wide"
    assert layout.h < 1700


def test_a_long_chain_of_anything_is_drawn() -> None:
    length = 600
    boxes = [Box(n, f"b{n}", f"b{n}", "p", "other") for n in range(length)]
    for control in (False, True):
        wires = [Wire(n, n + 1, "x", control) for n in range(length - 1)]
        mixed = [Wire(n, n + 1, "x", n % 2 == 0) for n in range(length - 1)]
        for some in (wires, mixed):
            layout = layout_of(Picture("t", boxes, some, ()))
            assert len(layout.routes) == length - 1


def graphs() -> st.SearchStrategy[Picture]:
    def made(count: int, pairs: list[tuple[int, int, str, bool]]) -> Picture:
        boxes = [Box(n, f"b{n}", f"Box {n}", "p", "other") for n in range(count)]
        wires = dict.fromkeys(Wire(a % count, b % count, name, control) for a, b, name, control in pairs)
        return Picture("t", boxes, list(wires), ())

    number = st.integers(0, 40)
    wire = st.tuples(number, number, st.sampled_from(["text", "questions", "tool"]), st.booleans())
    return st.builds(made, st.integers(1, 14), st.lists(wire, max_size=24))


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_any_graph_is_laid_out(picture: Picture) -> None:
    check(picture)
    assert svg(picture).endswith("</svg>\n")


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20, unique=True))
def test_edges_go_to_later_layers_unless_they_close_a_circle(count: int, pairs: list[tuple[int, int]]) -> None:
    edges = list(dict.fromkeys((a % count, b % count) for a, b in pairs))
    layers = layered(count, edges)
    for edge in edges:
        a, b = (layers.rank[n] for n in edge)
        assert (b <= a) if edge in layers.backward else (b > a)
    assert sorted(n for column in layers.columns for n in column) == list(range(len(layers.rank)))
    forward = {edge for edge in edges if edge not in layers.backward}
    assert len(layers.backward) == 0 or len(forward) < len(edges)


def test_an_avoidable_crossing_is_avoided() -> None:
    layers = layered(4, [(0, 3), (1, 2)])
    left, right = layers.columns
    assert [left.index(0) < left.index(1)] == [right.index(3) < right.index(2)]


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(0.1, 9)), min_size=1, max_size=9), st.floats(1, 90))
def test_the_nearest_places_keep_their_gaps(wishes: list[tuple[float, float]], gap: float) -> None:
    wanted, weights = [w for w, _ in wishes], [w for _, w in wishes]
    found = nearest(wanted, weights, [gap] * (len(wishes) - 1))
    assert all(b - a >= gap - 1e-6 for a, b in itertools.pairwise(found))
    fits = all(b - a >= gap for a, b in itertools.pairwise(wanted))
    assert not fits or found == pytest.approx(wanted)


def test_control_that_is_written_the_wrong_way_round_can_be_seen() -> None:
    picture = draw(
        component("ask", "g_ask"),
        component("agent", "g_think", ("questions", "ask"), calls=(("llm", "llm"), ("tool", "tool"))),
        component("llm", "llm_x"),
        component("tool", "g_tool"),
    )
    layout = check(picture)
    runs_around(picture, layout)
    assert layout.spots[2].right < layout.spots[1].x


def test_a_long_flow_goes_on_in_a_new_row() -> None:
    chain = [component("n0", "g_ask")]
    chain += [component(f"n{n}", "g_plain", ("questions", f"n{n - 1}")) for n in range(1, 14)]
    chain.append(component("agent", "g_think", ("questions", "n6"), calls=(("tool", "n3"),)))
    picture = draw(*chain)
    layout = check(picture)
    assert layout.w < 1750
    returns = [n for n in range(13) if layout.spots[n + 1].x < layout.spots[n].x]
    assert 1 <= len(returns) <= 2
    assert all(layout.spots[n + 1].y > max(layout.spots[k].bottom for k in range(n + 1)) for n in returns)
    for route in layout.routes:
        wire = picture.wires[route.wire]
        others = [spot for box, spot in layout.spots.items() if box not in (wire.source, wire.target)]
        lane_hits = [s for s in others if any(s.x < x < s.right and s.y < y < s.bottom for x, y in points(route))]
        assert wire.control or not lane_hits, wire


def test_a_shared_callee_hangs_once_and_has_both_wires() -> None:
    picture = draw(
        component("ask", "g_ask"),
        component("agent", "g_think", ("questions", "ask")),
        component("llm", "llm_x", calls=(("llm", "agent"), ("llm", "db"))),
        component("db", "db_x", calls=(("tool", "agent"),)),
        component("out", "g_out", ("answers", "agent")),
    )
    layout = check(picture)
    assert sum(picture.wires[route.wire].control for route in layout.routes) == 3
