# SPDX-License-Identifier: MIT
"""Every mode and option, as a table; in a file it equals the chain that is written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rocketride_autopipe import MODES, ConfigError, MisnamedKey, assemble
from rocketride_core import DOCUMENTS, QUESTIONS, Blob, Component, Entry, Kernel, LaneLink, PipeFile, Problem, Question
from rocketride_core.pipefile import dump_pipe, parse_pipe

STORE = {
    "provider": "qdrant",
    "qdrant": {"profile": "local", "local": {"collection": "MY_DOCS", "host": "localhost", "port": 6333}},
}
# The configuration that the description of the node gives as its example.
EXAMPLE = {
    "autopipe": {
        "embedding": {"provider": "embedding_transformer", "embedding_transformer": {"profile": "miniLM"}},
        "store": STORE,
    },
    "service": {"include": [{"ocr": True, "index": True}]},
}


def wires(pipe: PipeFile) -> dict[str, list[str]]:
    return {one.id: [f"{link.source}.{link.lane}" for link in one.input] for one in pipe.components}


def providers(pipe: PipeFile) -> dict[str, str]:
    return {one.id: one.provider for one in pipe.components}


def task(mode: str, settings: Mapping[str, Any], include: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The same settings and switches where this mode looks for them; where others look, the opposite."""
    wrong = {"store": False, "embedding": False, "preprocessor": False}
    if mode == "TRANSFORM":
        return {
            "autopipe": wrong,
            "service": {"parameters": {"autopipe": settings}, "include": []},
            "source": {"include": include},
        }
    return {"autopipe": settings, "service": {"parameters": {"autopipe": wrong}, "include": include}, "source": {"include": []}}


def wanted(mode: str, ocr: bool, index: bool, sections: Sequence[str]) -> list[str]:
    if mode in ("CONFIG", "SOURCE_INDEX"):
        return []
    ids = {"preprocessor": "preprocessor_1", "embedding": "embedding_1", "store": "vector_1"}
    if mode == "INDEX":
        return [*(["vector_1"] if "store" in sections else []), "indexer_1"]
    return [
        "parse_1",
        *(["ocr_1"] if ocr else []),
        *(["indexer_1"] if index and mode == "INSTANCE" else []),
        *(ids[section] for section in sections),
    ]


SECTIONS = [
    (),
    ("preprocessor",),
    ("preprocessor", "embedding"),
    ("preprocessor", "store"),
    ("preprocessor", "embedding", "store"),
]


@pytest.mark.parametrize(("mode", "ocr", "index", "sections"), list(product(MODES, (False, True), (False, True), SECTIONS)))
def test_each_mode_inserts_what_is_configured(mode: str, ocr: bool, index: bool, sections: tuple[str, ...]) -> None:
    settings = {section: False for section in ("preprocessor", "embedding", "store") if section not in sections}
    include = [{"ocr": False}, {"ocr": ocr}, {"index": index}]
    made = assemble(task(mode, settings, include), mode)
    assert list(providers(made)) == wanted(mode, ocr, index, sections)
    known = {
        "parse_1": "parse",
        "ocr_1": "ocr",
        "indexer_1": "indexer",
        "preprocessor_1": "preprocessor_langchain",
        "embedding_1": "embedding_transformer",
        "vector_1": "qdrant",
    }
    assert providers(made) == {id: known[id] for id in providers(made)}
    if mode in ("INSTANCE", "TRANSFORM"):
        both = ["parse_1.text", "parse_1.table", *(["ocr_1.text", "ocr_1.table"] if ocr else [])]
        before = {"embedding_1": "preprocessor_1", "vector_1": "embedding_1" if "embedding" in sections else "preprocessor_1"}
        expected = {
            "parse_1": [],
            "ocr_1": ["parse_1.image"],
            "indexer_1": both,
            "preprocessor_1": both,
            **{id: [f"{source}.documents"] for id, source in before.items()},
        }
        assert wires(made) == {id: expected[id] for id in providers(made)}
    else:
        assert not any(wires(made).values())
    assert json.loads(dump_pipe(made)).get("autopipe") == ({"mode": "INDEX"} if mode == "INDEX" else None)


def test_the_example_as_instance() -> None:
    made = assemble(EXAMPLE)
    assert list(providers(made)) == ["parse_1", "ocr_1", "indexer_1", "preprocessor_1", "embedding_1", "vector_1"]
    assert made.components[-1].config == {
        "profile": "local",
        "local": {"collection": "MY_DOCS", "host": "localhost", "port": 6333},
    }
    assert made.components[3].config == {"profile": "default"}
    assert made.components[4].config == {"profile": "miniLM"}


def test_the_example_as_transform_has_no_indexer() -> None:
    moved = {"service": {"parameters": {"autopipe": EXAMPLE["autopipe"]}}, "source": EXAMPLE["service"]}
    made = assemble(moved, "TRANSFORM")
    assert list(providers(made)) == ["parse_1", "ocr_1", "preprocessor_1", "embedding_1", "vector_1"]
    assert assemble({"source": EXAMPLE["service"]}, "TRANSFORM", service_config=moved["service"]) == made


def test_nothing_configured_is_the_default_stack() -> None:
    made = assemble({})
    assert {one.id: one.config for one in made.components} == {
        "parse_1": {},
        "preprocessor_1": {"profile": "default"},
        "embedding_1": {"profile": "miniLM"},
        "vector_1": {"profile": "local", "local": {"collection": "ROCKETRIDE", "host": "localhost", "port": 6333}},
    }


def test_a_source_makes_it_a_whole_pipeline() -> None:
    made = assemble({}, source=Component("dropper_1", "dropper"))
    assert made.source == "dropper_1"
    assert wires(made)["parse_1"] == ["dropper_1.tags"]
    read, problems = parse_pipe(dump_pipe(made))
    assert not problems
    assert read == made


@pytest.mark.parametrize(
    ("given", "mode", "said"),
    [
        ({}, "INSTANT", "mode is one of INSTANCE, TRANSFORM, INDEX, CONFIG, SOURCE_INDEX, not 'INSTANT'"),
        ({"autopipe": []}, "INSTANCE", "autopipe is an object, not []"),
        ({"autopipe": {"store": {"provider": "chroma"}}}, "INSTANCE", "Config not specified for provider chroma"),
        ({"autopipe": {"store": {"provider": ""}}}, "INSTANCE", "Provider config does not have a provider specified"),
        ({"autopipe": {"store": True}}, "INSTANCE", "a provider's config is an object, not True"),
        ({"service": {"include": {"ocr": True}}}, "INSTANCE", "include is a list of objects"),
        ({"autopipe": {"preprocessor": False}}, "INSTANCE", "without a preprocessor, embedding gets no documents"),
        (
            {"autopipe": {"preprocessor": False, "embedding": False}},
            "INSTANCE",
            "without a preprocessor, store gets no documents",
        ),
        ({"autopipe": {"profile": "fast"}}, "INSTANCE", "Profile 'fast' is not defined in autopipe; it has: default"),
        ({"service": {"parameters": 3}}, "TRANSFORM", "parameters is an object, not 3"),
        (
            {"autopipe": {"store": {"chroma": {}}}},
            "INSTANCE",
            "has 'qdrant', which does not read 'chroma'; write \"provider\": \"chroma\"",
        ),
        ({"autopipe": {"store": {"qdrnt": {}}}}, "INSTANCE", "does not read 'qdrnt'; did you mean 'qdrant'?"),
        ({"autopipe": {"default": {"store": {"chroma": {}}}}}, "INDEX", "which does not read 'chroma'"),
        ({"service": {"include": [{"ocr": "true"}]}}, "INSTANCE", "include[0].ocr is true or false, not 'true'"),
        ({"source": {"include": [{}, {"index": 1}]}}, "TRANSFORM", "include[1].index is true or false, not 1"),
    ],
)
def test_what_cannot_be_read_is_said(given: Mapping[str, Any], mode: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        assemble(given, mode)
    assert said in str(caught.value)


def test_the_chain_has_the_ids_alone() -> None:
    with pytest.raises(ConfigError, match="id parse_1, which is one of the chain's own"):
        assemble({}, source=Component("parse_1", "dropper"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"autopipe": {"sotre": False}}, "autopipe does not read 'sotre'; did you mean 'store'?"),
        ({"autopipe": {"store": {"provder": "qdrant"}}}, "store does not read 'provder'; did you mean 'provider'?"),
        ({"autopipe": {"store": {"provider": "qdrant", "confg": {}}}}, "store does not read 'confg'; did you mean 'config'?"),
        ({"service": {"include": [{"path": "*", "orc": True}]}}, r"include\[0\] does not read 'orc'; did you mean 'ocr'?"),
        ({"autopipe": {"include": [{"ocr": True}]}}, r'from task_config\["service"\]\["include"\]'),
        ({"autopipe": {"mode": "TRANSFORM"}}, "`mode` beside the sections is for files"),
    ],
)
def test_what_nobody_reads_is_warned_of(given: Mapping[str, Any], said: str) -> None:
    with pytest.warns(MisnamedKey, match=said.replace("?", r"\?")):
        assemble(given)


@pytest.mark.parametrize("key", ["qdrant", "config"])
def test_both_ways_to_write_a_config_are_merged_over_the_default(key: str) -> None:
    made = assemble({"autopipe": {"store": {"provider": "qdrant", key: {"local": {"host": "far"}}}}})
    assert made.components[-1].config == {
        "profile": "local",
        "local": {"collection": "ROCKETRIDE", "host": "far", "port": 6333},
    }


def test_other_keys_of_an_include_are_let_be() -> None:
    include = [{"path": "in", "exclude": True, "signing": True, "ocr": None, "comment": "ocr is off"}]
    assert len(assemble({"service": {"include": include}}).components) == 4


def test_remote_is_kept_and_reported() -> None:
    with pytest.warns(UserWarning, match="has no effect"):
        made = assemble({"autopipe": {"remote": {"provider": "remote", "remote": {"host": "far"}}}})
    assert made == assemble({})


# ---- in a file


def expanded(pipe: PipeFile) -> PipeFile:
    return Kernel().expand(pipe)


def problems_of(pipe: PipeFile) -> list[Problem]:
    return list(Kernel().check(pipe))


def in_file(config: Mapping[str, Any], *more: Component) -> PipeFile:
    components = [Component("dropper_1", "dropper"), Component("auto", "autopipe", config, input=[LaneLink("tags", "dropper_1")])]
    return PipeFile([*components, *more], "dropper_1")


MINI = {"embedding": {"embedding_transformer": {"profile": "miniAll"}}}


def chroma(folder: Path) -> dict[str, Any]:
    return {"provider": "chroma", "chroma": {"profile": "embedded", "embedded": {"path": str(folder), "collection": "notes"}}}


def by_hand(folder: Path) -> PipeFile:
    return PipeFile(
        [
            Component("dropper_1", "dropper"),
            Component("parse_1", "parse", input=[LaneLink("tags", "dropper_1")]),
            Component(
                "preprocessor_1",
                "preprocessor_langchain",
                {"profile": "default"},
                input=[LaneLink("text", "parse_1"), LaneLink("table", "parse_1")],
            ),
            Component(
                "embedding_1", "embedding_transformer", {"profile": "miniAll"}, input=[LaneLink("documents", "preprocessor_1")]
            ),
            Component("vector_1", "chroma", chroma(folder)["chroma"], input=[LaneLink("documents", "embedding_1")]),
        ],
        "dropper_1",
    )


def test_it_is_the_chain_written_by_hand(tmp_path: Path) -> None:
    made = expanded(in_file({**MINI, "store": chroma(tmp_path)}))
    assert made == by_hand(tmp_path)
    assert not problems_of(in_file({**MINI, "store": chroma(tmp_path)}))
    assert assemble({"autopipe": {**MINI, "store": chroma(tmp_path)}}, source=Component("dropper_1", "dropper")) == made


def test_it_indexes_files_as_the_chain_written_by_hand(tmp_path: Path) -> None:
    chromadb = pytest.importorskip("chromadb")
    documents = {"a.md": "# Boats\n\nThe red boat.", "b.txt": "An old engine needs water. " * 60}
    found = []
    for name, pipe in {
        "auto": in_file({**MINI, "store": chroma(tmp_path / "auto")}),
        "hand": by_hand(tmp_path / "hand"),
    }.items():
        with Kernel().load(pipe) as pipeline:
            for file, text in documents.items():
                (tmp_path / file).write_text(text)
                entry, blob = Entry(file, object_id=file), Blob.of(tmp_path / file)
                pipeline.run(entry, pipeline.route(blob)).checked()
        client = chromadb.PersistentClient(str(tmp_path / name))
        rows = client.get_collection("notes").get(include=["documents", "embeddings"])
        found.append(sorted(zip(rows["ids"], rows["documents"], [tuple(one) for one in rows["embeddings"]], strict=True)))
    assert found[0] == found[1]
    assert len(found[0]) >= 4


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        ({}, {"indexer_1": ("indexer", {})}),
        ({"indexer": {"indexer": {"path": "here"}}}, {"indexer_1": ("indexer", {"path": "here"})}),
        ({"indexer": {"provider": "acme_index", "acme_index": {"host": "h"}}}, {"indexer_1": ("acme_index", {"host": "h"})}),
        ({"indexer": False}, {}),
    ],
)
def test_the_index_can_be_configured(settings: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    include = [{"index": True}]
    for pipe in (
        assemble({"autopipe": settings, "service": {"include": include}}),
        assemble({"autopipe": settings}, "INDEX"),
        *([expanded(in_file({**settings, "include": include}))] if "acme_index" not in str(settings) else []),
    ):
        assert {one.id: (one.provider, one.config) for one in pipe.components if one.id == "indexer_1"} == made


def test_with_an_index_a_keyword_finds_the_document(tmp_path: Path) -> None:
    settings = {"include": [{"index": True}], "indexer": {"indexer": {"path": str(tmp_path / "index")}}}
    pipe = in_file({**MINI, **settings, "store": chroma(tmp_path / "store")})
    assert not problems_of(pipe)
    table = "<table><tr><th>Part</th></tr><tr><td>Propeller</td></tr></table>"
    documents = {"a.md": "# Boats\n\nThe red boat.", "b.txt": "引擎读取文件。", "c.html": f"<p>Parts</p>{table}"}
    with Kernel().load(pipe) as pipeline:
        for name, text in documents.items():
            (tmp_path / name).write_text(text, "utf-8")
            pipeline.run(Entry(name, object_id=name), pipeline.route(Blob.of(tmp_path / name))).checked()
    asked = PipeFile(
        [
            Component("chat_1", "chat"),
            Component("index_1", "indexer", {"path": str(tmp_path / "index")}, [LaneLink("questions", "chat_1")]),
            Component("out_1", "response_documents", {}, [LaneLink("documents", "index_1")]),
        ]
    )
    with Kernel().load(asked) as pipeline:
        for words, name in {"RED boat": "a.md", "读取": "b.txt", "propeller": "c.html"}.items():
            result = pipeline.run(Entry("q"), QUESTIONS(Question((words,), type="keyword"))).checked()
            assert [one.metadata["objectId"] for one in result[DOCUMENTS][0]] == [name]


def test_without_a_store_its_documents_can_be_wired() -> None:
    out = Component("out", "response_documents", input=[LaneLink("documents", "auto")])
    pipe = in_file({**MINI, "store": False}, out)
    assert wires(expanded(pipe))["out"] == ["embedding_1.documents"]
    assert not problems_of(pipe)


@pytest.mark.parametrize(
    ("config", "code", "said"),
    [
        ({"mode": "INDEX"}, "invalid-value", "mode INDEX has no wires"),
        ({"mode": "index"}, "invalid-value", "must be one of 'INSTANCE'"),
        ({"store": {"provider": "chroma"}}, "invalid-value", "Config not specified for provider chroma"),
        ({"preprocessor": False}, "invalid-value", "without a preprocessor, embedding gets no documents"),
        ({"include": {"ocr": True}}, "invalid-value", "expected a list of an object"),
        ({"remote": {"provider": "remote", "remote": {}}}, "no-effect", "it has no effect"),
        ({"stor": {}}, "unknown-key", "there is no setting 'stor'"),
        ({"store": {"chroma": {}}}, "invalid-value", "which does not read 'chroma'"),
        ({"store": {"provder": "qdrant"}}, "unknown-key", "there is no setting 'provder'"),
        ({"include": [{"orc": True}]}, "unknown-key", "there is no setting 'orc'"),
        ({"include": [{"ocr": "true"}]}, "invalid-value", "include[0].ocr is true or false"),
        ({"embedding": {"embedding_transformer": {"profle": "miniAll"}}}, "unknown-key", "there is no setting 'profle'"),
        ({"preprocessor": {"preprocessor_langchain": {"strln": 5}}}, "unknown-key", "there is no setting 'strln'"),
    ],
)
def test_a_file_says_what_is_wrong(config: Mapping[str, Any], code: str, said: str) -> None:
    problems = problems_of(in_file(config))
    assert [problem for problem in problems if problem.code == code and said in problem.message], problems


def test_what_is_wired_to_its_documents_gets_none_from_a_store(tmp_path: Path) -> None:
    out = Component("out", "response_documents", input=[LaneLink("documents", "auto")])
    problems = problems_of(in_file({**MINI, "store": chroma(tmp_path)}, out))
    assert [problem.message for problem in problems if problem.code == "no-output"] == [
        "out is wired to the documents of auto, which go into its store"
    ]


def test_an_id_that_exists_already_is_named_twice(tmp_path: Path) -> None:
    other = Component("parse_1", "parse", input=[LaneLink("tags", "dropper_1")])
    problems = problems_of(in_file({**MINI, "store": chroma(tmp_path)}, other))
    [found] = [problem for problem in problems if problem.code == "duplicate-id"]
    assert found.message == "Duplicate component parse_1"
    assert "$.components[1]" in found.hint
    assert "$.components[2]" in found.hint


def test_a_distribution_that_is_missing_is_named() -> None:
    problems = problems_of(in_file({"store": {"provider": "weviate", "config": {}}, "include": [{"index": True}]}))
    missing = {problem.message for problem in problems if problem.code == "unknown-provider"}
    assert "no installed node provides 'weviate'" in missing
