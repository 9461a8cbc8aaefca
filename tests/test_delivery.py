# SPDX-License-Identifier: MIT
"""How payloads travel: order, joins, depth, what may be emitted where."""

from __future__ import annotations

import itertools
import random
import statistics
import threading
import time
from typing import Any

import attrs
import pytest
from nodes import Do, Parts, Script, alone, opened, run, straight, wire

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    QUESTIONS,
    TEXT,
    Answer,
    Component,
    Document,
    Instance,
    Lane,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    RunError,
    hookimpl,
    on,
)
from rocketride_core.pipeline import RunningPipeline

# ---- joins and flushes


def test_a_diamond_joins_once_after_both_branches() -> None:
    with opened("a: mark < text start", "b: mark < text start", "join: collect < text a, text b", "r: respond < text join") as p:
        assert run(p, TEXT("x"))[TEXT] == ["join(x>a+x>b)"]


def test_a_diamond_joins_once_when_its_branches_emit_only_at_the_flush() -> None:
    lines = "a: collect < text start", "b: collect < text start", "join: collect < text a, text b", "r: respond < text join"
    for order in itertools.permutations(lines):
        with opened(*order, join={"sort": True}) as p:
            assert run(p, TEXT("x"), TEXT("y"))[TEXT] == ["join(a(x+y)+b(x+y))"]


def test_a_diamond_of_unequal_branches_waits_for_the_long_one() -> None:
    lines = ["a: collect < text start", "b: mark < text start", "c: collect < text b", "d: collect < text c"]
    with opened(*lines, "join: collect < text a, text d", "r: respond < text join", join={"sort": True}) as p:
        assert run(p, TEXT("x"))[TEXT] == ["join(a(x)+d(c(x>b)))"]


def test_a_chain_of_nodes_that_emit_only_at_the_flush() -> None:
    with opened("c: collect < text b", "b: collect < text a", "a: collect < text start", "r: respond < text c") as p:
        assert run(p, TEXT("x"), TEXT("y"))[TEXT] == ["c(b(a(x+y)))"]
        assert run(p)[TEXT] == []


def test_consumers_get_a_payload_in_file_order_each_to_its_depth() -> None:
    journal: list[str] = []
    with opened("a: mark < text start", "b: mark < text a", "c: mark < text start", "r: respond < text b, text c") as p:
        assert run(p, TEXT("x"), TEXT("y"), journal=journal)[TEXT] == ["x>a>b", "x>c", "y>a>b", "y>c"]
    assert journal == ["a x", "b x>a", "c x", "a y", "b y>a", "c y"]


def test_nothing_is_forwarded_that_nobody_emitted() -> None:
    class Silent(Node[None]):
        spec = NodeSpec("silent", title="Silent")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

    with opened("a: silent < text start", "r: respond < text a", nodes=[Silent]) as p:
        assert run(p, TEXT("x"))[TEXT] == []


def test_one_payload_object_is_shared_by_all_consumers() -> None:
    seen: list[object] = []
    keep: Script = {"text": lambda _, text: seen.append(text)}
    text = f"not {len(seen)} interned"
    with opened("a: do < text start", "b: do < text start", "r: respond < text a, text b") as p:
        run(p, TEXT(text), a=keep, b=keep)
    assert seen[0] is text
    assert seen[1] is text


def test_hooks_run_once_in_order_and_close_as_flush() -> None:
    journal: list[str] = []
    with opened("b: do < text a", "a: do < text start", "r: respond < text b") as p:
        assert run(p, TEXT("x"), journal=journal).error is None
    assert journal == ["open b", "open a", "text a x", "text b x", "flush a", "flush b", "close a", "close b"]


def test_a_node_may_emit_while_it_opens() -> None:
    with opened("a: do < text start", "b: mark < text a", "r: respond < text b") as p:
        assert run(p, TEXT("x"), a={"open": lambda i: i.emit(TEXT, "first")})[TEXT] == ["first>b", "x>b"]


def test_a_memory_before_and_after_an_agent_is_no_cycle() -> None:
    journal: list[str] = []
    lines = "k: keeper < questions start, answers t", "t: thinker < questions k", "r: respond < answers k"
    for order in itertools.permutations(lines):
        journal.clear()
        with opened(*order) as p:
            result = run(p, QUESTIONS(Question.of("why")), journal=journal).checked()
            assert [answer.text for answer in result[ANSWERS]] == ["re: why"]
        assert journal == ["k asks why", "k hears re: why", "flush t", "flush k"]


def test_lanes_are_told_apart_by_name_alone() -> None:
    again = Lane.of("text", str)

    class Twin(Node[None]):
        spec = NodeSpec("twin", title="Twin")

        @on(again, emits=[again])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(TEXT, text + "!")

    with opened("a: twin < text start", "r: respond < text a", nodes=[Twin]) as p:
        assert run(p, TEXT("x"))[again] == ["x!"]


def test_a_lane_of_a_third_party() -> None:
    @attrs.frozen
    class Frame:
        number: int

    frames = Lane.many_of("acme.frames", Frame)

    class Cut(Node[None]):
        spec = NodeSpec("cut", title="Cut")

        @on(TEXT, emits=[frames])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(frames, [Frame(n) for n in range(len(text))])

    class Show(Node[None]):
        spec = NodeSpec("show", title="Show", responds=True)

        @on(frames)
        def show(self, instance: Instance, payload: Any) -> None:
            instance.respond("frames", frames(payload))

    with opened("a: cut < text start", "b: show < acme.frames a", nodes=[Cut, Show]) as p:
        assert run(p, TEXT("xy"))[frames] == [[Frame(0), Frame(1)]]


# ---- wants


def test_wants_says_whether_anyone_is_wired() -> None:
    said: list[tuple[bool, bool, bool]] = []
    ask: Script = {"text": lambda i, _: said.append((i.wants(TEXT), i.wants(ANSWERS), i.wants(DOCUMENTS)))}
    with opened("a: do < text start", "r: respond < text a") as p:
        run(p, TEXT("x"), a=ask)
    assert said == [(True, False, False)]


# ---- depth


class Split(Node[None]):
    """text → text: "ab" becomes "a" and "b" where it is longer than one; the pieces keep their order only depth first."""

    spec = NodeSpec("split", title="Split")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)
        if self.id in ("n0", "n40", "n63", "n64", "n65", "n130"):
            instance.emit(TEXT, f"{text}'{self.id[1:]}")


def test_past_the_limit_of_nested_deliveries_the_order_stays_depth_first() -> None:
    expected = ["x"]
    for n in (130, 65, 64, 63, 40, 0):  # the last splitter cuts first
        expected = [piece for text in expected for piece in (text, f"{text}'{n}")]

    def plain(text: str, at: int) -> list[str]:
        if at == 200:
            return [text]
        more = plain(f"{text}'{at}", at + 1) if at in (0, 40, 63, 64, 65, 130) else []
        return plain(text, at + 1) + more

    with opened(*straight("split", 200), nodes=[Split]) as p:
        got = run(p, TEXT("x")).checked()[TEXT]
    assert got == plain("x", 0)
    assert len(got) == len(expected) == 64


def depth_first(pipe: PipeFile, text: str) -> list[str]:
    """The deliveries of marks by plain recursion."""
    out: list[str] = []

    def emit(source: str, text: str) -> None:
        for component in pipe.components:
            if any(link.source == source for link in component.input) and component.provider == "mark":
                out.append(f"{component.id} {text}")
                emit(component.id, f"{text}>{component.id}")

    emit("start", text)
    return out


@pytest.mark.parametrize("seed", range(12))
def test_graphs_deeper_than_the_limit_deliver_as_recursion_does(seed: int) -> None:
    chance = random.Random(seed)
    lines, length = [], 90
    shortcuts = chance.sample(range(4, length), 6)
    for n in range(length):
        sources = {f"n{n - 1}"} if n else {"start"}
        if n in shortcuts:
            sources.add(f"n{n - chance.randint(2, 3)}")
        lines.append(f"n{n}: mark < {', '.join(f'text {s}' for s in sorted(sources))}")
    chance.shuffle(lines)
    pipe = wire(*lines, f"r: respond < text n{length - 1}")
    journal: list[str] = []
    with alone().load(pipe) as p:
        run(p, TEXT("x"), journal=journal).checked()
    assert journal == depth_first(pipe, "x")


def test_a_failing_handler_past_the_limit_drops_what_it_put_off() -> None:
    def emit_and_fail(instance: Instance, text: str) -> None:
        instance.emit(TEXT, "never")
        raise ValueError("after the emit")

    journal: list[str] = []
    with opened(*straight("do", 66)) as p:
        result = run(p, TEXT("x"), journal=journal, n63={"text": emit_and_fail})
    assert result.error is not None
    assert (result.error.component, str(result.error.__cause__)) == ("n63", "after the emit")
    assert not any(line.startswith("text n64") for line in journal)
    assert result[TEXT] == []


def test_a_line_of_a_thousand_nodes_neither_overflows_nor_costs_more_than_linear_time() -> None:
    def once(p: RunningPipeline) -> float:
        begun = time.perf_counter()
        assert run(p, TEXT("x"), TEXT("y")).checked()[TEXT] == ["x", "y"]
        return time.perf_counter() - begun

    with opened(*straight("split", 500), nodes=[Plain]) as short, opened(*straight("split", 1000), nodes=[Plain]) as long:
        took = [(once(short), once(long)) for _ in range(15)]
    ratio = statistics.median(long / short for short, long in took)
    assert ratio < 3, f"twice the nodes took {ratio:.1f} times as long"


class Plain(Node[None]):
    spec = NodeSpec("split", title="Plain")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)


def test_a_thousand_nodes_that_emit_only_at_the_flush() -> None:
    with opened(*straight("collect", 1000)) as p:
        (text,) = run(p, TEXT("x")).checked()[TEXT]
    assert text.startswith("n999(n998(")
    assert text.count("(") == 1000


def test_a_node_that_emits_many_payloads_past_the_limit() -> None:
    many: Script = {"text": lambda i, _: [i.emit(TEXT, str(n)) for n in range(1000)]}
    with opened(*straight("do", 70)) as p:
        assert run(p, TEXT("x"), n66=many).checked()[TEXT] == [str(n) for n in range(1000)]


# ---- the order in the file


def _wide() -> list[Component]:
    def part(id: str, provider: str, *sources: str, **config: Any) -> Component:
        return Component(id, provider, config, input=[LaneLink("text", source) for source in sources])

    return [
        Component("start", "start"),
        part("a", "mark", "start", times=2),
        part("b", "collect", "start", sort=True),
        part("c", "mark", "a"),
        part("d", "collect", "a", "b", sort=True),
        part("e", "mark", "b", "c"),
        part("f", "collect", "c", "d", "e", sort=True),
        part("r", "respond", "f"),
        part("s", "respond", "d", laneName="side"),
    ]


def test_shuffling_the_components_changes_nothing_but_the_order_of_independent_branches() -> None:
    seen = set()
    for seed in range(50):
        components = _wide()
        random.Random(seed).shuffle(components)
        with alone().load(PipeFile(components, source="start")) as p:
            result = run(p, TEXT("x"), TEXT("y")).checked()
            seen.add(tuple(sorted(result[TEXT])))
    assert len(seen) == 1


# ---- what is refused


def refused(result: Any, code: str, component: str, phase: str) -> str:
    error = result.error
    assert isinstance(error, RunError), result
    assert (error.code, error.component, error.phase, error.entry) == (code, component, phase, "e")
    return str(error)


def test_an_undeclared_lane() -> None:
    with opened("a: mark < text start", "b: wrong < text a", "r: respond < text b", nodes=[Wrong]) as p:
        result = run(p, TEXT("x"))
        text = (
            "b emitted on 'answers', which Wrong does not declare; write @on(TEXT, emits=[ANSWERS]) or NodeSpec(emits=[ANSWERS])"
        )
        assert refused(result, "undeclared-lane", "b", "handler") == text
        assert result.error is not None
        assert result.error.lane == "text"
        assert result.error.__cause__ is None


class Wrong(Node[None]):
    """Emits a lane that its handler does not declare, but another one does."""

    spec = NodeSpec("wrong", title="Wrong")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(ANSWERS, Answer(text))


def test_a_handler_may_emit_only_what_it_declares_itself() -> None:
    class Two(Wrong):
        spec = NodeSpec("two", title="Two")

        @on(QUESTIONS, emits=[ANSWERS])
        def question(self, instance: Instance, question: Question) -> None: ...

        @hookimpl
        def flush_instance(self, instance: Instance) -> None:
            instance.emit(ANSWERS, Answer("at the flush"))

    with opened("a: two < text start, questions start", "r: respond < answers a", nodes=[Two]) as p:
        refused(run(p, TEXT("x")), "undeclared-lane", "a", "handler")
        result = run(p, QUESTIONS(Question.of("q"))).checked()
        assert [answer.text for answer in result[ANSWERS]] == ["at the flush"]


def test_a_refusal_is_an_ordinary_error_that_the_node_may_handle() -> None:
    caught: list[RunError] = []

    def careful(instance: Instance, text: str) -> None:
        try:
            instance.emit(DOCUMENTS, [Document(text)])
        except RunError as error:
            caught.append(error)
        instance.emit(TEXT, text)

    with opened("a: do < text start", "r: respond < text a") as p:
        assert run(p, TEXT("x"), a={"text": careful}).checked()[TEXT] == ["x"]
    assert [error.code for error in caught] == ["undeclared-lane"]


def test_an_emit_while_closing() -> None:
    with opened("a: do < text start", "r: respond < text a") as p:
        result = run(p, TEXT("x"), a={"close": lambda i: i.emit(TEXT, "late")})
    assert "after its last chance, the flush" in refused(result, "emit-after-close", "a", "close")
    assert result[TEXT] == ["x"]


def test_an_instance_that_outlives_its_entry_is_inert() -> None:
    kept: list[Instance] = []
    with opened("a: do < text start", "r: respond < text a") as p:
        run(p, TEXT("x"), a={"text": lambda i, _: kept.append(i)}).checked()
        late = kept[0]
        for call in (lambda: late.emit(TEXT, "late"), lambda: late.state(Parts), lambda: late.enter(threading.Lock())):
            with pytest.raises(RunError) as caught:
                call()
            assert caught.value.code == "emit-after-close"
        refused(run(p, TEXT("y"), a={"text": lambda *_: late.emit(TEXT, "late")}), "emit-after-close", "a", "handler")
        assert late.wants(TEXT)
        assert late.entry.name == "e"
    assert late.entry.name == "e"


def test_a_host_that_sends_a_lane_the_source_does_not_feed() -> None:
    frames = Lane.of("acme.frames", str)
    with opened("a: mark < text start", "r: respond < text a") as p:
        result = run(p, TEXT("x"), frames("f"), TEXT("y"))
        assert refused(result, "undeclared-lane", "start", "send").startswith(
            "start does not feed lane 'acme.frames'; it feeds: text"
        )
        assert result[TEXT] == ["x>a"]


def test_a_lane_that_is_fed_but_wired_to_nobody_is_no_error() -> None:
    with opened("a: mark < text start", "r: respond < text a") as p:
        assert run(p, DOCUMENTS([Document("x")])).error is None


def test_emit_says_how_it_is_called() -> None:
    with opened("a: do < text start", "r: respond < text a") as p:
        result = run(p, TEXT("x"), a={"text": lambda i, text: i.emit(text)})
    assert result.error is not None
    assert 'instance.emit(TEXT, "abc")' in str(result.error.__cause__)


def test_the_source_has_no_instance() -> None:
    class Loud(Node[None]):
        spec = NodeSpec("loud", title="Loud", categories=["source"], emits=[TEXT])

        @hookimpl
        def open_instance(self, instance: Instance) -> None:
            raise AssertionError("a root is not in its own region")

    with opened("start: loud", "a: mark < text start", "r: respond < text a", nodes=[Loud]) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]


def test_what_the_chosen_source_does_not_reach_is_left_alone() -> None:
    touched: list[str] = []

    class Far(Do):
        spec = NodeSpec("far", title="Far")

        @hookimpl
        def begin_global(self) -> None:
            touched.append(self.id)

    lines = "a: mark < text start", "other: start", "b: far < text other", "r: respond < text a, text b"
    with opened(*lines, nodes=[Far]) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]
    assert touched == []
