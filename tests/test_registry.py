# SPDX-License-Identifier: MIT
"""Finding nodes: by name, lazily, with clear reports of what is wrong with an installation."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketride_core import Node, NodeSpec
from rocketride_core.errors import DuplicateProvider, InvalidNode, PluginLoad
from rocketride_core.loading import Listing
from rocketride_core.names import Names
from rocketride_core.registry import Registry, UnknownProvider

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import fake_site


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def node(
    site: Path,
    name: str,
    *,
    spec: str = "",
    requires: tuple[str, ...] = ("rocketride-core>=0.1,<0.2",),
    more: str = "",
    source: str = "",
) -> None:
    module = f"site_{name}"
    source = source or fake_site.NODE.format(cls="It", provider=spec or name, more=more)
    fake_site.add(site, f"rocketride-{name}", nodes=[(name, f"{module}:It")], requires=requires, modules={module: source})


def find(site: Path, provider: str) -> type[Node[object]]:
    return Registry(path=[str(site)], cache=site.parent / "cache").find(provider)


def test_listing_fifty_nodes_imports_none(site: Path, cache: Path) -> None:
    for number in range(50):
        node(site, f"n{number:02}")
    before = set(sys.modules)
    listings = Registry(path=[str(site)], cache=cache).listings()
    assert [one.provider for one in listings] == [f"n{number:02}" for number in range(50)]
    assert listings[7] == Listing("n07", "site_n07:It", "rocketride-n07", "1.0")
    assert not {name for name in set(sys.modules) - before if name.startswith("site_")}


def test_a_node_is_imported_when_asked_for_and_only_it(site: Path) -> None:
    node(site, "left")
    node(site, "right")
    cls = find(site, "left")
    assert issubclass(cls, Node)
    assert cls.spec.provider == "left"
    assert "site_left" in sys.modules
    assert "site_right" not in sys.modules


def test_one_question_reads_the_index_once_and_the_class_stays(site: Path, cache: Path) -> None:
    node(site, "left")
    registry = Registry(path=[str(site)], cache=cache)
    first = registry.find("left")
    node(site, "later")
    assert registry.find("left") is first
    assert [one.provider for one in registry.listings()] == ["left"]


def test_raising_on_import_is_reported_and_disables_nothing_else(site: Path, cache: Path) -> None:
    node(site, "bad", source="raise ValueError('no licence')")
    node(site, "quits", source="import sys; sys.exit(3)")
    node(site, "lacks", source="import no_such_library_anywhere")
    node(site, "good")
    registry = Registry(path=[str(site)], cache=cache)
    with pytest.raises(PluginLoad) as caught:
        registry.find("bad")
    assert str(caught.value) == "rocketride-bad 1.0 cannot be imported: site_bad raised ValueError: no licence"
    assert caught.value.distribution == "rocketride-bad"
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(PluginLoad, match=r"rocketride-quits 1\.0 cannot be imported: site_quits raised SystemExit: 3"):
        registry.find("quits")
    with pytest.raises(PluginLoad, match="No module named 'no_such_library_anywhere'"):
        registry.find("lacks")
    assert registry.find("good").spec.provider == "good"
    assert len(registry.listings()) == 4


def test_a_failure_is_remembered_but_every_report_is_new(site: Path, cache: Path) -> None:
    node(
        site, "bad", source="import builtins\nbuiltins.rr_imports = getattr(builtins, 'rr_imports', 0) + 1\nraise ValueError('x')"
    )
    registry = Registry(path=[str(site)], cache=cache)
    errors = []
    for _ in range(3):
        with pytest.raises(PluginLoad) as caught:
            registry.find("bad")
        errors.append(caught.value)
    import builtins

    assert builtins.__dict__.pop("rr_imports") == 1
    assert len({id(error) for error in errors}) == 3
    assert len({str(error) for error in errors}) == 1


def test_a_missing_class(site: Path) -> None:
    node(site, "empty", source="x = 1")
    with pytest.raises(PluginLoad, match=r"rocketride-empty 1\.0 declares 'empty' as site_empty:It, but site_empty has no It"):
        find(site, "empty")


def test_another_provider_than_the_entry_point(site: Path) -> None:
    node(site, "left", spec="right")
    with pytest.raises(PluginLoad, match=r"rocketride-left 1\.0 declares 'left' as site_left:It, but its spec says 'right'"):
        find(site, "left")


def test_a_target_that_is_no_node(site: Path) -> None:
    node(site, "thing", source="class It: pass")
    with pytest.raises(InvalidNode, match=r"rocketride-thing 1\.0: site_thing:It is no subclass of Node") as caught:
        find(site, "thing")
    assert caught.value.distribution == "rocketride-thing"


def test_a_node_that_breaks_a_rule_names_its_distribution(site: Path) -> None:
    node(site, "wrong", source="from rocketride_core.errors import InvalidNode\nraise InvalidNode('site_wrong.It: bad handler')")
    with pytest.raises(InvalidNode, match=r"site_wrong\.It: bad handler \(in rocketride-wrong 1\.0\)") as caught:
        find(site, "wrong")
    assert caught.value.distribution == "rocketride-wrong"


def test_built_for_another_core_is_found_without_importing(site: Path, cache: Path) -> None:
    node(site, "old", requires=("attrs", "rocketride-core <0.1,>=0.0.1"), source="raise AssertionError('imported')")
    node(site, "good")
    registry = Registry(path=[str(site)], cache=cache)
    problem = {one.provider: one.problem for one in registry.listings()}
    assert problem["good"] == ""
    assert problem["old"].startswith("built for another core: it needs rocketride-core<0.1,>=0.0.1, installed is ")
    with pytest.raises(
        PluginLoad, match=r"rocketride-old 1\.0 was built for another core.*: pip install --upgrade rocketride-old"
    ):
        registry.find("old")


def test_two_distributions_with_one_provider_names_both(site: Path, cache: Path) -> None:
    for name in ("one", "two"):
        fake_site.add(site, f"rocketride-{name}", nodes=[("same", f"site_{name}:It")])
    node(site, "good")
    registry = Registry(path=[str(site)], cache=cache)
    with pytest.raises(DuplicateProvider) as caught:
        registry.find("same")
    assert "rocketride-one 1.0" in str(caught.value)
    assert "rocketride-two 1.0" in str(caught.value)
    assert [(one.distribution, one.problem) for one in registry.listings() if one.provider == "same"] == [
        ("rocketride-one", "'same' is claimed by rocketride-two 1.0 too; uninstall one of them"),
        ("rocketride-two", "'same' is claimed by rocketride-one 1.0 too; uninstall one of them"),
    ]
    assert registry.find("good")


class Mine(Node[None]):
    spec = NodeSpec("mine", title="Mine", aliases=["my_own"])


class AlsoMine(Node[None]):
    spec = NodeSpec("mine", title="Mine again")


def test_classes_of_the_host(site: Path, cache: Path) -> None:
    node(site, "left")
    registry = Registry([Mine], path=[str(site)], cache=cache)
    assert registry.find("mine") is Mine
    assert registry.find("my_own") is Mine
    assert [one.provider for one in registry.listings()] == ["left", "mine", "my_own"]
    with pytest.raises(DuplicateProvider, match="claimed by two classes of the host"):
        Registry([Mine, AlsoMine], path=[], cache=cache).find("mine")
    assert Registry([Mine, Mine], path=[], cache=cache).find("mine") is Mine


def test_a_class_of_the_host_wins_over_an_installed_one(site: Path, cache: Path) -> None:
    node(site, "mine")
    registry = Registry([Mine], path=[str(site)], cache=cache)
    assert registry.find("mine") is Mine
    assert [one.distribution for one in registry.listings() if one.provider == "mine"] == [""]


def test_an_unknown_provider_says_what_to_install(site: Path, cache: Path) -> None:
    registry = Registry(path=[str(site)], cache=cache)
    with pytest.raises(UnknownProvider) as caught:
        registry.find("qdrant")
    assert isinstance(caught.value, LookupError)
    assert str(caught.value) == "no installed node provides 'qdrant'"
    assert caught.value.pip == "rocketride-store-qdrant"
    assert caught.value.hint == "try: pip install rocketride-store-qdrant"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("qdrnat", "qdrant"),
        ("store_qdrant", "qdrant"),
        ("openai", "llm_openai"),
        ("respones_text", "response_text"),
        ("lefd", "left"),
        ("rocketride-store-chroma", "chroma"),
        ("store-milvus", "milvus"),
        ("rocketride-site-left", "left"),
        ("index_search", "elasticsearch"),
        ("conditional", "conditional_text"),
        ("store_pinecone", "pinecone"),
        ("database_postgres", "postgres"),
    ],
)
def test_an_unknown_provider_says_what_was_meant(site: Path, cache: Path, written: str, meant: str) -> None:
    node(site, "left")
    with pytest.raises(UnknownProvider) as caught:
        Registry(path=[str(site)], cache=cache).find(written)
    assert meant in caught.value.close
    assert meant in caught.value.hint


def test_nothing_is_guessed_for_a_name_like_no_other(site: Path, cache: Path) -> None:
    with pytest.raises(UnknownProvider) as caught:
        Registry(path=[str(site)], cache=cache).find("zzzz")
    assert (caught.value.close, caught.value.pip, caught.value.hint) == ((), "", "")


def test_a_node_that_nobody_has_written_is_said_to_be_that(site: Path, cache: Path) -> None:
    registry = Registry(path=[str(site)], cache=cache)
    for name, hint in (
        ("ner", "nobody has written this node yet"),
        ("anonymize", "it is called 'anonymize_text' today; nobody has written this node yet"),
        ("vectordb_postgres", "try: pip install rocketride-store-postgres\nit is called 'postgres' today"),
    ):
        with pytest.raises(UnknownProvider) as caught:
            registry.find(name)
        assert caught.value.hint == hint


def test_guesses_are_made_only_when_somebody_wants_to_know(site: Path, cache: Path) -> None:
    registry = Registry(path=[str(site)], cache=cache)
    before = time.process_time()
    for n in range(2000):
        with pytest.raises(UnknownProvider):
            registry.find(f"nothing{n}")
    assert time.process_time() - before < 1
    assert registry.close("x" * 100_000) == []


CATALOG = Path(__file__).resolve().parents[2] / "shared" / "reference" / "catalog.json"


@pytest.mark.skipif(not CATALOG.is_file(), reason="../shared/reference is not here")
def test_every_provider_of_the_format_has_a_distribution_or_is_unwritten() -> None:
    names = Names()
    for service in json.loads(CATALOG.read_text())["services"]:
        assert bool(names.pip(service["name"])) != names.unwritten(service["name"]), service["name"]


def test_every_provider_of_this_repository_is_in_the_table() -> None:
    import tomllib

    names = Names()
    for file in sorted((Path(__file__).resolve().parents[1] / "plugins").glob("**/pyproject.toml")):
        project = tomllib.loads(file.read_text())["project"]
        for provider in project.get("entry-points", {}).get("rocketride.nodes", {}):
            assert names.pip(provider) == project["name"], f"{provider}: rocketride_core/data/providers.json"
            assert not names.unwritten(provider)


def test_aliases(site: Path, cache: Path) -> None:
    source = fake_site.NODE.format(cls="It", provider="left", more=', aliases=["links"]')
    fake_site.add(
        site, "rocketride-left", nodes=[("left", "site_left:It"), ("links", "site_left:It")], modules={"site_left": source}
    )
    node(site, "anonymize_text")
    registry = Registry(path=[str(site)], cache=cache)
    assert registry.find("links") is registry.find("left")
    assert registry.find("anonymize") is registry.find("anonymize_text")
    assert registry.outdated("anonymize") == ("anonymize_text", ())
    assert registry.outdated("links") == ("", ())
    assert "response_text" in registry.outdated("response")[1]


def test_host_plugins(site: Path, cache: Path) -> None:
    fake_site.add(site, "rocketride-audit", plugins=[("audit", "site_audit")], modules={"site_audit": "seen = []"})
    registry = Registry(path=[str(site)], cache=cache)
    assert [(one.provider, one.distribution) for one in registry.plugin_listings()] == [("audit", "rocketride-audit")]
    assert "site_audit" not in sys.modules
    [(name, plugin)] = registry.plugins()
    assert name == "audit"
    assert plugin is sys.modules["site_audit"]


def test_a_broken_host_plugin_is_not_passed_over(site: Path, cache: Path) -> None:
    fake_site.add(
        site,
        "rocketride-guard",
        plugins=[("guard", "site_guard:Guard")],
        modules={"site_guard": "raise RuntimeError('no policy')"},
    )
    node(site, "good")
    registry = Registry(path=[str(site)], cache=cache)
    with pytest.raises(PluginLoad, match=r"rocketride-guard 1\.0 cannot be imported: site_guard raised RuntimeError: no policy"):
        registry.plugins()
    assert registry.find("good")
