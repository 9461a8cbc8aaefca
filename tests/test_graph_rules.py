# SPDX-License-Identifier: MIT
"""Which graphs are refused or warned of, with code, place and words. Control edges: test_controls and the executable model."""

from __future__ import annotations

import itertools
import random
from typing import Any

import attrs
import pytest
from nodes import alone, opened, run, wire

from rocketride_core import (
    ANSWERS,
    QUESTIONS,
    TEXT,
    Component,
    Instance,
    Lane,
    LaneLink,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    Problem,
    Question,
    on,
)


def check(*lines: str, nodes: tuple[type[Node[Any]], ...] = (), source: str = "start") -> list[Problem]:
    return list(alone(*nodes).check(wire(*lines, source=source)))


def only(found: list[Problem], severity: str = "error") -> Problem:
    picked = [p for p in found if p.severity == severity]
    assert len(picked) == 1, found
    return picked[0]


# ---- cycles


def test_a_port_cycle_is_refused_with_its_path() -> None:
    problem = only(check("a: mark < text start, text c", "b: mark < text a", "c: mark < text b", "r: respond < text c"))
    assert (problem.code, problem.message) == ("port-cycle", "Cycle detected in pipeline: a-[text]->b-[text]->c-[text]->a")
    assert problem.path.startswith("$.components[")
    assert problem.hint


def test_a_node_that_feeds_itself() -> None:
    problem = only(check("a: mark < text start, text a", "r: respond < text a"))
    assert problem.message == "Cycle detected in pipeline: a-[text]->a"


def test_the_path_begins_at_the_first_node_in_the_file() -> None:
    lines = "b: mark < text a", "a: mark < text start, text b", "r: respond < text b"
    assert only(check(*lines)).message == "Cycle detected in pipeline: b-[text]->a-[text]->b"


def test_every_loop_is_one_problem() -> None:
    lines = [
        "a: mark < text start, text b",
        "b: mark < text a",
        "c: mark < text b, text d",
        "d: mark < text c",
        "r: respond < text d",
    ]
    assert [p.code for p in check(*lines) if p.severity == "error"] == ["port-cycle", "port-cycle"]


def test_a_loop_of_nodes_that_is_no_loop_of_ports_is_legal() -> None:
    lines = "k: keeper < questions start, answers t", "t: thinker < questions k", "r: respond < answers k"
    for order in itertools.permutations(lines):
        assert check(*order) == []
        with opened(*order) as p:
            assert [a.text for a in run(p, QUESTIONS(Question.of("q"))).checked()[ANSWERS]] == ["re: q"]


def test_a_cycle_that_the_chosen_source_does_not_reach_is_refused_all_the_same() -> None:
    lines = "a: mark < text start", "r: respond < text a", "other: start", "b: mark < text other, text c", "c: mark < text b"
    assert "port-cycle" in [p.code for p in check(*lines) if p.severity == "error"]


def test_no_node_begins_where_a_file_is_refused() -> None:
    class Loud(Node[None]):
        spec = NodeSpec("loud", title="Loud")

        def __init__(self) -> None:
            raise AssertionError("it was made")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

    with pytest.raises(PipeError) as caught, opened("a: loud < text start, text a", nodes=[Loud]):
        pass
    assert [p.code for p in caught.value.problems if p.severity == "error"] == ["port-cycle"]


# ---- lanes


def test_an_input_lane_that_the_node_does_not_declare() -> None:
    problem = only(check("a: mark < table start", "r: respond < text a"))
    assert (problem.code, problem.component) == ("unknown-lane", "a")
    assert problem.path == "$.components[1].input[0].lane"
    assert problem.message == "Component a input lane table not found in service definition"
    assert problem.hint == "it accepts: text"


def test_a_lane_that_nobody_has_ever_heard_of() -> None:
    assert only(check("a: mark < nonsense start", "r: respond < text a")).code == "unknown-lane"


def test_a_lane_that_the_producer_never_emits_is_a_warning() -> None:
    found = check("a: mark < text start", "b: thinker < questions a", "r: respond < answers b, text a")
    problem = only(found, "warning")
    assert (problem.code, problem.component) == ("silent-edge", "b")
    assert problem.message == "a never emits 'questions', which b waits for"
    assert problem.hint == "it emits: text"


def test_an_undeclared_input_of_a_sink_is_a_warning() -> None:
    class Sink(Node[None]):
        spec = NodeSpec("sink", title="Sink", responds=True)

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

    problem = only(check("a: sink < text start, table start", nodes=(Sink,)), "warning")
    assert (problem.code, problem.path, problem.hint) == ("silent-edge", "$.components[1].input[1].lane", "it accepts: text")
    with opened("a: sink < text start, table start", nodes=[Sink]) as p:
        assert run(p, TEXT("x")).error is None


def test_two_payload_classes_for_one_lane_are_a_problem() -> None:
    @attrs.frozen
    class Mine:
        n: int

    @attrs.frozen
    class Theirs:
        n: int

    one, two = Lane.of("acme.frames", Mine), Lane.of("acme.frames", Theirs)

    class Maker(Node[None]):
        spec = NodeSpec("maker", title="Maker")

        @on(TEXT, emits=[one])
        def text(self, instance: Instance, text: str) -> None: ...

    class Taker(Node[None]):
        spec = NodeSpec("taker", title="Taker", responds=True)

        @on(two)
        def frames(self, instance: Instance, payload: Theirs) -> None: ...

    problem = only(check("a: maker < text start", "b: taker < acme.frames a", nodes=(Maker, Taker)))
    assert (problem.code, problem.component) == ("lane-clash", "b")
    assert "acme.frames" in problem.message
    assert "in a and" in problem.message


def test_duplicate_links_deliver_once() -> None:
    with opened("a: mark < text start, text start", "r: respond < text a") as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]


# ---- sources and ends


def test_a_source_that_reaches_no_response_is_a_warning() -> None:
    problem = only(check("a: mark < text start"), "warning")
    assert (problem.code, problem.severity) == ("no-response", "warning")
    with opened("a: mark < text start") as p:
        assert run(p, TEXT("x")).error is None


def test_a_store_is_an_end_too() -> None:
    class Store(Node[None]):
        spec = NodeSpec("store", title="Store", stores=True)

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

    assert check("a: store < text start", nodes=(Store,)) == []


def test_two_sources_and_none_chosen_is_an_error_that_names_both() -> None:
    problem = only(check("other: start", "r: respond < text start, text other", source=""))
    assert (problem.code, problem.message) == ("ambiguous-source", "choose a source: start, other")


def test_one_source_needs_no_choice() -> None:
    with alone().load(wire("r: respond < text start", source="")) as p:
        assert p.source.id == "start"


def test_the_host_may_choose_the_source() -> None:
    pipe = wire("other: start", "a: mark < text start", "b: mark < text other", "r: respond < text a, text b")
    with alone().load(pipe, source="other") as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>b"]
    with pytest.raises(PipeError) as caught, alone().load(pipe, source="nobody"):
        pass
    assert "nobody" in str(caught.value)


def test_starts_may_share_nodes() -> None:
    pipe = wire("other: start", "a: mark < text start, text other", "r: respond < text a")
    for source in ("start", "other"):
        with alone().load(pipe, source=source) as p:
            assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]


def test_a_file_without_a_source_is_refused() -> None:
    found = alone().check(PipeFile([Component("a", "mark"), Component("b", "mark", input=[LaneLink("text", "a")])]))
    assert "no-source" in [p.code for p in found if p.severity == "error"]


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    lines = ["a: mark < table start", "b: nobody < text a", "c: mark < text c", "r: respond < text c, text a"]
    found = list(alone().check(wire(*lines, a={"times": "many"})))
    errors = [(p.code, p.component) for p in found if p.severity == "error"]
    assert sorted(errors) == sorted(
        [("unknown-lane", "a"), ("invalid-value", "a"), ("unknown-provider", "b"), ("port-cycle", "c")]
    )


# ---- order


def test_orders_depend_on_the_edges_and_only_among_independent_nodes_on_the_file() -> None:
    parts = [
        Component("start", "start"),
        *(
            Component(id, "do", input=[LaneLink("text", source) for source in sources])
            for id, sources in {"a": ["start"], "b": ["start"], "c": ["a"], "d": ["a", "b"], "e": ["c", "d"]}.items()
        ),
        Component("r", "respond", input=[LaneLink("text", "e")]),
    ]
    edges = [("a", "c"), ("a", "d"), ("b", "d"), ("c", "e"), ("d", "e")]
    seen = set()
    for seed in range(50):
        shuffled = list(parts)
        random.Random(seed).shuffle(shuffled)
        journal: list[str] = []
        with alone().load(PipeFile(shuffled, source="start")) as p:
            run(p, journal=journal).checked()
        opens, flushes, closes = (
            [line.split()[1] for line in journal if line.startswith(word)] for word in ("open", "flush", "close")
        )
        assert flushes == closes == opens[::-1]
        assert all(flushes.index(one) < flushes.index(two) for one, two in edges)
        place = {component.id: n for n, component in enumerate(shuffled)}
        left, ready = dict.fromkeys("abcde", 0), list[str]()
        for _, two in edges:
            left[two] += 1
        expected: list[str] = []
        while len(expected) < 5:
            ready = sorted((id for id in left if left[id] == 0 and id not in expected), key=place.__getitem__)
            expected.append(ready[0])
            for one, two in edges:
                left[two] -= one == ready[0]
        assert flushes == expected
        seen.add(tuple(flushes))
    assert len(seen) > 1
