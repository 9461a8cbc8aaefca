# SPDX-License-Identifier: MIT
"""Components that replace themselves before the graph is compiled."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from nodes import alone, run, wire

from rocketride_core import (
    TEXT,
    Component,
    Expansion,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeError,
    PipeFile,
    PluginError,
    Problem,
    hookimpl,
    on,
    setting,
)
from rocketride_core.cli import main

Answer = Callable[[Component, Expansion], Sequence[Component] | None]


@attrs.frozen(kw_only=True)
class MacroConfig:
    size: int = setting(2, ge=1)


def macro(answer: Answer, provider: str = "macro") -> type[Node[Any]]:
    """text → text; replaced by what `answer` says."""

    class Macro(Node[MacroConfig]):
        spec = NodeSpec(provider, title="Macro")

        @classmethod
        @hookimpl
        def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
            return answer(component, context)

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(TEXT, f"macro({text})")

    return Macro


def marks(count: int) -> Answer:
    """So many marks in a line in place of the component."""

    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        first = Component(f"{component.id}_0", "mark", input=component.input)
        rest = [
            Component(f"{component.id}_{n}", "mark", input=[LaneLink("text", f"{component.id}_{n - 1}")]) for n in range(1, count)
        ]
        return [first, *rest]

    return answer


PIPE = "a: macro < text start", "r: respond < text a"


def texts(node: type[Node[Any]], *lines: str, **config: Any) -> Sequence[str]:
    with alone(node).load(wire(*(lines or PIPE), **config)) as p:
        return run(p, TEXT("x")).checked()[TEXT]


def problems(
    *nodes: type[Node[Any]], lines: Sequence[str] = PIPE, plugins: Sequence[object] = (), **config: Any
) -> list[Problem]:
    return [p for p in alone(*nodes, plugins=plugins).check(wire(*lines, **config)) if p.severity == "error"]


def test_a_component_is_replaced_and_links_come_from_the_last_that_has_the_lane() -> None:
    assert texts(macro(marks(3))) == ["x>a_0>a_1>a_2"]


def test_none_keeps_it() -> None:
    assert texts(macro(lambda *_: None)) == ["macro(x)"]


def test_a_lane_that_the_last_does_not_declare_comes_from_one_before() -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        return [
            Component("m", "mark", input=component.input),
            Component("log", "respond", {"laneName": "log"}, input=component.input),
        ]

    with alone(macro(answer)).load(wire(*PIPE)) as p:
        result = run(p, TEXT("x")).checked()
    assert sorted(result[TEXT]) == ["x", "x>m"]


def test_a_returned_component_that_keeps_the_id_keeps_its_links_and_is_not_expanded_again() -> None:
    asked: list[str] = []

    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        asked.append(component.id)
        before = Component("before", "mark", input=component.input)
        after = Component("after", "mark", input=[LaneLink("text", component.id)])
        return [before, attrs.evolve(component, input=[LaneLink("text", "before")]), after]

    assert texts(macro(answer)) == ["macro(x>before)"], "the response stays wired to the id, not to the last"
    assert asked == ["a"]


def test_what_is_returned_may_be_replaced_in_turn() -> None:
    def outer(component: Component, context: Expansion) -> Sequence[Component]:
        return [Component("inner", "macro", input=component.input)]

    with alone(macro(outer, "outer"), macro(marks(2))).load(wire("a: outer < text start", "r: respond < text a")) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>inner_0>inner_1"]


def test_a_hook_that_never_ends_is_a_problem_at_depth_eight() -> None:
    asked: list[str] = []

    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        asked.append(component.id)
        return [attrs.evolve(component, id=f"{component.id}x")]

    (problem,) = problems(macro(answer))
    assert (problem.code, problem.path) == ("expansion-depth", "$.components[1]")
    assert "more than 8 times" in problem.message
    assert len(asked) <= 10


def test_an_id_that_exists_is_a_problem_naming_both() -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        return [Component("r", "mark", input=component.input)]

    found = problems(macro(answer))
    assert [p.code for p in found] == ["duplicate-id"]
    assert "$.components[1]" in found[0].hint
    assert "$.components[2]" in found[0].hint


@pytest.mark.parametrize("id", ["a", "new"])
def test_one_expansion_that_gives_an_id_twice_is_a_problem(id: str) -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        return [Component(id, "mark", input=component.input)] * 2 + [Component(id, "collect", input=component.input)]

    assert "duplicate-id" in [p.code for p in problems(macro(answer))]


def test_two_of_a_kind_may_not_make_the_same_ids() -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        return [Component("shared", "mark", input=component.input)]

    found = problems(macro(answer), lines=["a: macro < text start", "b: macro < text start", "r: respond < text a, text b"])
    assert [p.code for p in found] == ["duplicate-id"]


def test_problems_inside_what_was_made_point_at_the_users_component() -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        return [
            Component("one", "mark", {"times": "many"}, input=component.input),
            Component("two", "nobody_has_this", input=component.input),
        ]

    found = problems(macro(answer))
    assert {(p.code, p.path.split(".config")[0].split(".provider")[0]) for p in found} == {
        ("invalid-value", "$.components[1]"),
        ("unknown-provider", "$.components[1]"),
    }


def test_the_context_gives_the_resolved_config_and_other_specs_and_reports() -> None:
    seen: list[Any] = []

    def answer(component: Component, context: Expansion) -> None:
        seen.append((context.config(MacroConfig).size, context.spec("mark").title, len(context.pipe.components)))
        with pytest.raises(PluginError, match="nobody_has_this"):
            context.spec("nobody_has_this")
        context.problem("odd-size", "the size is odd", path="size", hint="take an even one")

    (problem,) = problems(macro(answer), a={"size": "3"})
    assert seen == [(3, "Mark", 3)]
    assert (problem.path, problem.code, problem.component, problem.hint) == (
        "$.components[1].config.size",
        "odd-size",
        "a",
        "take an even one",
    )


def test_a_config_that_is_wrong_is_reported_once_and_nothing_is_expanded() -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        context.config(MacroConfig)
        raise AssertionError("it was given a wrong config")

    found = problems(macro(answer), a={"size": 0})
    assert [p.code for p in found] == ["invalid-value"]


def test_a_hook_that_raises_is_a_problem_beside_all_others() -> None:
    def answer(component: Component, context: Expansion) -> Sequence[Component]:
        raise LookupError("no template of that name")

    found = problems(macro(answer), lines=[*PIPE, "z: mark < table start"])
    assert {p.code for p in found} >= {"expansion-failed"}
    assert "no template of that name" in next(p.message for p in found if p.code == "expansion-failed")
    with pytest.raises(PipeError, match="no template of that name"), alone(macro(answer)).load(wire(*PIPE)):
        pass


def test_variables_are_substituted_before() -> None:
    seen: list[Any] = []

    def answer(component: Component, context: Expansion) -> None:
        seen.append(component.config)

    kernel = alone(macro(answer), env={"ROCKETRIDE_SIZE": "5"})
    assert kernel.check(wire(*PIPE, a={"size": "${ROCKETRIDE_SIZE}"})) == []
    assert seen == [{"size": "5"}]


def test_a_host_plugin_may_expand_any_component() -> None:
    class Tap:
        @hookimpl
        def expand_component(self, component: Component) -> Sequence[Component] | None:
            if component.provider != "mark":
                return None
            return [component, Component(f"{component.id}_tap", "respond", input=[LaneLink("text", component.id)])]

    with alone(plugins=[Tap()]).load(wire("a: mark < text start", "b: mark < text a", "r: respond < text b")) as p:
        assert sorted(run(p, TEXT("x")).checked()[TEXT]) == ["x>a", "x>a>b", "x>a>b"]


def test_nothing_to_expand_gives_the_very_file() -> None:
    kernel = alone()
    pipe = wire("a: mark < text start", "r: respond < text a")
    plan, _ = kernel.plan(pipe, kernel._variables())
    assert isinstance(plan.pipe, PipeFile)
    assert list(plan.pipe.components) == list(pipe.components)


def test_a_source_that_is_replaced_stays_the_source() -> None:
    class Begin(Node[None]):
        spec = NodeSpec("begin", title="Begin", categories=["source"], emits=[TEXT])

        @classmethod
        @hookimpl
        def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component]:
            return [Component("fresh", "start")]

    with alone(Begin).load(
        wire("start: begin", "other: start", "a: mark < text start", "b: mark < text other", "r: respond < text a, text b")
    ) as p:
        assert p.source.id == "fresh"
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]


def test_the_expanded_file_keeps_its_variables_and_can_be_written(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`check --expand` on a store whose config asks for an embedding node."""
    pytest.importorskip("rocketride_store")
    store = {
        "embedding": {"provider": "embedding_transformer", "embedding_transformer": {"profile": "${ROCKETRIDE_WHICH:-miniAll}"}}
    }
    components = [
        {"id": "chat_1", "provider": "chat", "config": {}},
        {"id": "s", "provider": "store_memory", "config": store, "input": [{"lane": "questions", "from": "chat_1"}]},
        {"id": "r", "provider": "response_documents", "config": {}, "input": [{"lane": "documents", "from": "s"}]},
    ]
    file = tmp_path / "a.pipe"
    file.write_text(json.dumps({"pipeline": {"components": components, "note": 1}}))
    assert main(["check", str(file), "--expand"]) == 0
    out, err = capsys.readouterr()
    assert err == f"{file}: ok\n"
    written = json.loads(out)["pipeline"]
    assert [one["id"] for one in written["components"]] == ["chat_1", "s", "s_embedding", "r"]
    assert written["components"][2]["config"] == {"profile": "${ROCKETRIDE_WHICH:-miniAll}"}
    assert written["note"] == 1
    assert main(["check", str(file), "--save", str(tmp_path / "b.pipe")]) == 0
    assert json.loads((tmp_path / "b.pipe").read_text())["pipeline"] == written
    assert Kernel().expand(file).components[2].id == "s_embedding"


def test_what_has_errors_is_not_expanded(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.pipe"
    file.write_text('{"components": [{"id": "a", "provider": "nobody", "config": {}}]}')
    assert main(["check", str(file), "--save", str(tmp_path / "b.pipe")]) == 2
    assert "nobody" in capsys.readouterr().err
    assert not (tmp_path / "b.pipe").exists()
    assert main(["check", str(file), str(file / "x"), "--expand"]) == 2
    assert main(["check", str(file), "--expand", "--json"]) == 2
    file.write_text("{")
    with pytest.raises(PipeError):
        Kernel().expand(file)
