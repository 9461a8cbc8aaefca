# SPDX-License-Identifier: MIT
"""What a graph that compiles still gets wrong, and what is said of nodes that are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from nodes import alone, wire

from rocketride_core import (
    DOCUMENTS,
    EMBEDDING,
    LLM,
    ONE,
    OPTIONAL,
    QUESTIONS,
    TEXT,
    Component,
    ControlLink,
    Document,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Profile,
    Question,
    Secret,
    on,
    serves,
    setting,
)


@attrs.frozen(kw_only=True)
class ModelConfig:
    model: str = setting("a")


class Embed(Node[ModelConfig]):
    spec = NodeSpec(
        "embed",
        title="Embed",
        categories=["embedding"],
        profiles=[Profile("small", {"model": "a"}), Profile("big", {"model": "b"})],
    )

    @on(DOCUMENTS, emits=[DOCUMENTS])
    def documents(self, instance: Instance, documents: list[Document]) -> None:
        instance.emit(DOCUMENTS, documents)

    @on(QUESTIONS, emits=[QUESTIONS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.emit(QUESTIONS, question)

    @serves(EMBEDDING)
    def embedder(self, instance: Instance, caller: Any) -> Any:
        return self


class Split(Node[None]):
    spec = NodeSpec("split", title="Split")

    @on(TEXT, emits=[DOCUMENTS])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(DOCUMENTS, [Document(text)])


class Rank(Node[None]):
    spec = NodeSpec("rank", title="Rank")

    @on(DOCUMENTS, emits=[DOCUMENTS])
    def documents(self, instance: Instance, documents: list[Document]) -> None:
        instance.emit(DOCUMENTS, documents)


@attrs.frozen(kw_only=True)
class VaultConfig:
    host: str = setting("here")
    collection: str = setting("c")
    score: float = setting(0.5)


class Vault(Node[VaultConfig]):
    spec = NodeSpec("vault", title="Vault", stores=True, needs={EMBEDDING: OPTIONAL})

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: list[Document]) -> None: ...

    @on(QUESTIONS, emits=[DOCUMENTS])
    def question(self, instance: Instance, question: Question) -> None:
        instance.emit(DOCUMENTS, [])


class Talker(Node[None]):
    spec = NodeSpec("talker", title="Talker", needs={LLM: ONE})

    @on(QUESTIONS, emits=[TEXT])
    def question(self, instance: Instance, question: Question) -> None: ...


class Model(Node[None]):
    spec = NodeSpec("model", title="Model")

    @serves(LLM)
    def llm(self, instance: Instance, caller: Any) -> Any:
        return self


KERNEL = alone(Embed, Split, Rank, Vault, Talker, Model)


def said(pipe: PipeFile) -> list[str]:
    """Code and component, `~` before warnings, in the order of the file."""
    return [f"{'~' if p.severity == 'warning' else ''}{p.code} {p.component}".strip() for p in KERNEL.check(pipe)]


def called(pipe: PipeFile, **callers: tuple[str, str]) -> PipeFile:
    """With control links: `called(pipe, llm_1=("llm", "agent_1"))`."""
    parts = [attrs.evolve(c, control=[ControlLink(*callers[c.id])]) if c.id in callers else c for c in pipe.components]
    return attrs.evolve(pipe, components=parts)


INGEST = "v: vault < documents e"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("s: split < text start", "v: vault < documents s"), ["no-embedding v"]),
        (("s: split < text start", "k: rank < documents s", "v: vault < documents k"), ["no-embedding v"]),
        (("s: split < text start", "e: embed < documents s", "v: vault < documents e"), []),
        (("s: split < text start", "e: embed < documents s", "k: rank < documents e", "v: vault < documents k"), []),
        (("s: split < text start", "x: nowhere < documents s", "v: vault < documents x"), ["unknown-provider x"]),
        (("v: vault < questions start", "r: respond < documents v"), ["~no-embedding v"]),
        (("e: embed < questions start", "v: vault < questions e", "r: respond < documents v"), []),
        (("s: split < text start", "v: vault < documents s, documents s"), ["no-embedding v"]),
    ],
)
def test_documents_without_vectors(lines: tuple[str, ...], expected: list[str]) -> None:
    assert said(wire(*lines)) == expected


def test_an_embedding_that_is_bound_to_the_store_embeds() -> None:
    pipe = wire("s: split < text start", "v: vault < documents s", "e: embed")
    assert said(called(pipe, e=("embedding", "v"))) == []


def test_the_words_for_a_store_without_vectors() -> None:
    [problem] = KERNEL.check(wire("s: split < text start", "v: vault < documents s"))
    assert problem.path == "$.components[2].input[0]"
    assert problem.message == "documents reach v without vectors: s makes them, and nothing embeds them on the way"
    assert '"classType": "embedding", "from": "v"' in problem.hint


BOTH = ("s: split < text start", "e1: embed < documents s", "v1: vault < documents e1", "e2: embed < questions start")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, []),
        ({"e2": {"profile": "big"}}, ["~mixed-embedders v2"]),
        ({"e1": {"model": "b"}, "e2": {"profile": "big"}}, []),
        ({"e2": {"profile": "big"}, "v2": {"collection": "other"}}, []),
        ({"e2": {"profile": "big"}, "v2": {"score": 0.7}}, ["~mixed-embedders v2"]),
        ({"e2": {"profile": "small"}}, []),
    ],
)
def test_one_model_for_writing_and_asking(config: Mapping[str, Mapping[str, Any]], expected: list[str]) -> None:
    assert said(wire(*BOTH, "v2: vault < questions e2", "r: respond < documents v2", **config)) == expected


def test_the_bound_model_counts_too() -> None:
    pipe = wire(*BOTH[:3], "v2: vault < questions start", "e2: embed", "r: respond < documents v2", e2={"model": "b"})
    assert said(called(pipe, e2=("embedding", "v2"))) == ["~mixed-embedders v2"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("d: do < text start", "r: respond < text d"), []),
        (("d: do < text start", "d2: do < text start", "r: respond < answers d"), ["~dead-end d2"]),
        (("d: do < text start", "r: respond < text start"), ["~response-bypass r"]),
        (("d: do < text start",), ["~no-response start"]),
        (("d: do < text start", "r: respond < text d", "a: do", "b: do < text a"), ["~unreachable-component a"]),
        (
            ("d: do < text start", "r: respond < text d", "a: keeper < answers b", "b: keeper < questions a"),
            ["~unreachable-component a"],
        ),
        (("d: do < text start", "r: respond < text d", "q: respond"), ["~unreachable-component q"]),
        (("e: embed < questions start", "r: respond < documents e"), ["~silent-edge r"]),
        (("x: nowhere", "r: respond < text start"), ["~unknown-provider x"]),
        (("x: nowhere < text start", "d: do < text x"), ["unknown-provider x", "~dead-end d"]),
        (("x: nowhere < text start", "r: respond < text x", "e: embed < txt x"), ["unknown-provider x", "~silent-edge e"]),
    ],
)
def test_results_and_components_that_go_nowhere(lines: tuple[str, ...], expected: list[str]) -> None:
    assert said(wire(*lines)) == expected


def test_what_hangs_on_an_unreachable_component_is_in_the_hint() -> None:
    [problem] = KERNEL.check(wire("r: respond < text start", "a: do", "b: do < text a", "q: respond < text b"))
    assert (problem.component, problem.hint) == ("a", "wire it, or remove it; behind it: b, q")
    assert problem.message == "nothing leads to a: no source feeds it, and no node calls it"


def test_the_words_for_a_response_wired_past_a_node() -> None:
    [problem] = KERNEL.check(wire("d: do < text start", "r: respond < text start"))
    assert problem.path == "$.components[2].input[0].from"
    assert problem.message == "r takes 'text' from start past d, whose results go nowhere"
    assert problem.hint == 'write "from": "d", if that is what it should give back'


TALK = ("t: talker < questions start", "r: respond < text t")


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ({"m": ("llm", "t")}, []),
        ({"x": ("llm", "t")}, ["unknown-provider x", "~unreachable-component m"]),
        ({}, ["missing-control t", "~unreachable-component m", "~unknown-provider x"]),
        ({"t": ("llm", "m")}, ["reversed-control t", "~unknown-provider x"]),
        ({"m": ("llm", "t"), "t": ("llm", "m")}, ["~reversed-control t", "~unknown-provider x"]),
        ({"m": ("tool", "t")}, ["missing-control t", "~undeclared-slot m", "~unknown-provider x"]),
        ({"x": ("llm", "m")}, ["missing-control t", "reversed-control x", "unknown-provider x", "~unreachable-component m"]),
    ],
)
def test_controls(control: Mapping[str, tuple[str, str]], expected: list[str]) -> None:
    found = said(called(wire(*TALK, "m: model", "x: nowhere"), **control))
    loose = [one for one in found if "x" in control or one != "~unknown-provider x"]
    assert sorted(loose) == sorted(one for one in expected if "x" in control or one != "~unknown-provider x")


def test_a_missing_node_that_lists_what_it_calls() -> None:
    pipe = PipeFile(
        [
            Component("start", "start"),
            Component("x", "nowhere", input=[LaneLink("text", "start")], control=[ControlLink("llm", "m")]),
            Component("m", "model"),
            Component("r", "respond", input=[LaneLink("text", "x")]),
        ]
    )
    assert sorted(said(pipe)) == ["reversed-control x", "unknown-provider x"]


def test_a_missing_node_may_be_the_source() -> None:
    assert said(wire("start: nowhere", "r: respond < text start", source="start")) == ["unknown-provider start"]
    two = PipeFile([Component("a", "nowhere", {"mode": "Source"}), *wire("r: respond < text start").components])
    assert said(two) == ["ambiguous-source", "unknown-provider a"]


def test_rules_of_owners_hold_around_missing_nodes() -> None:
    class Piped(Node[None]):
        spec = NodeSpec("piped", title="Piped", emits=[TEXT])

        @serves(LLM)
        def llm(self, instance: Instance, caller: Any) -> Any:
            return self

    pipe = wire("g: nowhere < text start", "p: piped", "d: do < text p, text start", "r: respond < text d, text g")
    found = alone(Piped).check(called(pipe, p=("llm", "g")))
    assert [(p.code, p.component) for p in found if p.severity == "error"] == [
        ("unknown-provider", "g"),
        ("shared-with-main", "d"),
    ]


def test_a_variable_of_another_name_is_told() -> None:
    def told(model: str) -> list[tuple[str, str]]:
        pipe = wire("e: embed < questions start", "r: respond < questions e", e={"model": model})
        return [(p.code, p.hint) for p in KERNEL.check(pipe)]

    assert told("${MODEL}") == [("other-variable", "write ${ROCKETRIDE_MODEL}")]
    assert told("x/${MODEL}/y") == [("other-variable", "write ${ROCKETRIDE_MODEL}")]
    for prose in ("say ${MODEL} and go", "${model}", "$MODEL", "${ROCKETRIDE_X:-y}"):
        assert told(prose) == []


def test_a_profile_beside_the_config_is_taken() -> None:
    pipe = wire("e: embed < questions start", "r: respond < questions e")
    parts = [attrs.evolve(c, raw={"profile": "bigg"}) if c.id == "e" else c for c in pipe.components]
    assert said(PipeFile(parts)) == ["unknown-profile e", "~misplaced-key e"]


def test_the_name_of_a_variable_in_a_secret_is_told() -> None:
    @attrs.frozen(kw_only=True)
    class Keyed:
        key: Secret = setting(Secret())

    class Locked(Node[Keyed]):
        spec = NodeSpec("locked", title="Locked", emits=[TEXT])

    pipe = PipeFile([Component("l", "locked", {"key": "${THEIR_KEY}"})], source="l")
    (problem,) = [p for p in Kernel(nodes=[Locked], env={}).check(pipe) if p.code == "other-variable"]
    assert problem.message.startswith("${THEIR_KEY} stays as it is")
