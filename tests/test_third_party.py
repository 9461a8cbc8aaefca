# SPDX-License-Identifier: MIT
"""Other people's distributions, made outside the repository and installed from there: good ones, and broken ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from rocketride_core import TEXT, Entry, Kernel, PipeError, Result, hookimpl
from rocketride_core.errors import DuplicateProvider, InvalidNode, PluginLoad
from rocketride_core.pipefile import Component, LaneLink, PipeFile
from rocketride_core.registry import Registry

pytestmark = pytest.mark.slow  # of `make quick`: it starts processes, or loads the model

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["rocketride-core{core}"]

[project.entry-points."rocketride.nodes"]
{provider} = "{target}"
"""
REPLACE = '''
import attrs
from rocketride_core import TEXT, Instance, Node, NodeSpec, on, setting

@attrs.frozen(kw_only=True)
class ReplaceConfig:
    old: str = setting(title="Replace")
    new: str = setting("", title="By")

class Replace(Node[ReplaceConfig]):
    """Replaces one text by another."""
    spec = NodeSpec("acme_replace", title="Replace")

    @on(TEXT, emits=[TEXT])
    def replace(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text.replace(self.config.old, self.config.new))
'''
WATCH = """
from pathlib import Path
import attrs
from rocketride_core import TAGS, Blob, Entry, Feed, Node, NodeSpec, setting, source

@attrs.frozen(kw_only=True)
class WatchConfig:
    folder: Path = setting(title="Folder")
    every: float = setting(1.0, ge=0.01, unit="s", title="Look every")

class Watch(Node[WatchConfig]):
    spec = NodeSpec("acme_watch", title="Folder watcher", categories=["source"])

    @source(emits=[TAGS])
    def watch(self, feed: Feed) -> None:
        known: dict[Path, int] = {}
        while not feed.stopping(self.config.every):
            for path in sorted(self.config.folder.iterdir()):
                if known.get(path) != (changed := path.stat().st_mtime_ns):
                    known[path] = changed
                    feed.submit(Entry(path.name, path=str(path)), TAGS(Blob.of(path)))
"""
NODE = """
from rocketride_core import TEXT, Instance, Node, NodeSpec, on

class It(Node[None]):
    spec = NodeSpec("{provider}", title="It")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)
"""
FITS = ">=0.1,<0.2"
UNSIGNED = NODE.format(provider="acme_unsigned").replace("instance: Instance, ", "").replace("instance.emit(TEXT, text)", "...")
# name, source, name of the class, range of core
BROKEN = [
    ("acme_raises", "raise RuntimeError('no licence file found')\n", "It", FITS),
    ("acme_needs", "import a_library_that_nobody_has\n", "It", FITS),
    ("acme_lacks", NODE.format(provider="acme_lacks"), "Thing", FITS),
    ("acme_other", NODE.format(provider="acme_another"), "It", FITS),
    ("acme_old", "raise SystemExit('must not be imported')\n", "It", ">=9,<10"),
    ("acme_unsigned", UNSIGNED, "It", FITS),
    ("acme_function", "def It(): ...\n", "It", FITS),
]


def project(folder: Path, provider: str, source: str, cls: str, core: str = FITS, *, name: str = "") -> Path:
    """Somebody's folder: a pyproject.toml and one module."""
    name = name or provider
    home = folder / name
    home.mkdir(parents=True)
    (home / "pyproject.toml").write_text(
        PROJECT.format(name=name.replace("_", "-"), core=core, provider=provider, target=f"{name}:{cls}")
    )
    (home / f"{name}.py").write_text(dedent(source).lstrip())
    return home


def install(site: Path, *projects: Path) -> None:
    """As `pip install` does, into a folder of its own; nothing is downloaded."""
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    assert uv, "uv is missing; `make setup` installs it"
    words = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--no-build-isolation", "--target", str(site)]
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}
    command = [*words, "--python", sys.executable, *map(str, projects)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site folder with two good distributions, all the broken ones, and two that claim one provider."""
    made = tmp_path_factory.mktemp("acme")
    projects = [project(made, "acme_replace", REPLACE, "Replace"), project(made, "acme_watch", WATCH, "Watch")]
    projects += [project(made, name, source, cls, core) for name, source, cls, core in BROKEN]
    twin = NODE.format(provider="acme_twin")
    projects += [project(made, "acme_twin", twin, "It", name=name) for name in ("acme_twin_left", "acme_twin_right")]
    # One that claims a provider of ours.
    projects.append(project(made, "question", NODE.format(provider="question"), "It", name="acme_question"))
    site = made / "site"
    install(site, *projects)
    return site


@pytest.fixture
def site(acme: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The same, on `sys.path`."""
    monkeypatch.syspath_prepend(str(acme))
    yield acme
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


@pytest.fixture
def start(acme: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the command line where the site is installed."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONPATH": str(acme)}
        command = [sys.executable, "-m", "rocketride_core.cli", *words]
        pipe = subprocess.PIPE
        running.append(subprocess.Popen(command, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True))
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def line(*stages: tuple[str, Mapping[str, Any]], lanes: str) -> PipeFile:
    """Components one behind the other; `lanes` names the links between them."""
    links: list[list[LaneLink]] = [[]]
    links += [[LaneLink(lane, provider)] for lane, (provider, _) in zip(lanes.split(), stages, strict=False)]
    return PipeFile(
        [Component(provider, provider, config, tuple(i)) for (provider, config), i in zip(stages, links, strict=True)]
    )


def replacing(**config: str) -> PipeFile:
    return line(("webhook", {}), ("acme_replace", config), ("response_text", {}), lanes="text text")


def test_the_examples_are_as_short_as_we_say() -> None:
    assert len(REPLACE.strip().splitlines()) <= 15
    assert len(WATCH.strip().splitlines()) <= 20


# ---- a good one


def test_a_node_of_fifteen_lines_between_two_of_ours(site: Path) -> None:
    with Kernel().load(replacing(old="cat", new="dog")) as pipeline:
        assert type(pipeline.bound.nodes[1]).__module__ == "acme_replace"
        assert Path(str(sys.modules["acme_replace"].__file__)).parent == site
        result = pipeline.run(Entry("a"), TEXT("a cat and a cat")).checked()
    assert result[TEXT] == ["a dog and a dog"]


def test_its_config_is_checked_like_ours(site: Path) -> None:
    [problem] = Kernel().check(replacing(new="dog"))
    assert (problem.path, problem.component) == ("$.components[1].config.old", "acme_replace")


def test_it_runs_from_the_command_line(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    components = [
        {"id": "d", "provider": "dropper", "config": {}},
        {"id": "p", "provider": "parse", "config": {}, "input": [{"lane": "tags", "from": "d"}]},
        {"id": "a", "provider": "acme_replace", "config": {"old": "cat"}, "input": [{"lane": "text", "from": "p"}]},
        {"id": "r", "provider": "response_text", "config": {}, "input": [{"lane": "text", "from": "a"}]},
    ]
    (tmp_path / "a.pipe").write_text(json.dumps({"components": components}))
    (tmp_path / "a.txt").write_text("concatenate")
    out, err = start("run", "a.pipe", "a.txt", "--set", "a.new=dog").communicate(timeout=120)
    assert (out.strip(), err) == ("condogenate", "")

    out, err = start("nodes", "list").communicate(timeout=60)
    assert err == ""
    listed = {words[0]: " ".join(words[1:]) for words in map(str.split, out.splitlines()) if words}
    assert listed["acme_replace"] == "acme-replace 1.0"
    assert listed["acme_old"] == "acme-old 1.0 ! built for another core: it needs rocketride-core<10,>=9, installed is 0.1.0"
    assert "claimed by acme-twin-" in listed["acme_twin"]
    assert listed["parse"] == "rocketride-parse 0.1.0"

    out, err = start("nodes", "show", "acme_replace").communicate(timeout=60)
    assert "from: acme-replace 1.0" in out


def test_installed_while_a_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = Registry().listings()
    install(site, project(tmp_path, "acme_later", NODE.format(provider="acme_later"), "It"))
    monkeypatch.delitem(sys.modules, "acme_later", raising=False)
    later = Registry()
    assert {one.provider for one in later.listings()} - {one.provider for one in before} == {"acme_later"}
    assert later.find("acme_later").spec.provider == "acme_later"
    del sys.modules["acme_later"]


# ---- broken ones


SAYS = {
    "acme_raises": "acme-raises 1.0 cannot be imported: acme_raises raised RuntimeError: no licence file found",
    "acme_needs": "acme-needs 1.0 cannot be imported: acme_needs raised "
    "ModuleNotFoundError: No module named 'a_library_that_nobody_has'",
    "acme_lacks": "acme-lacks 1.0 declares 'acme_lacks' as acme_lacks:Thing, but acme_lacks has no Thing",
    "acme_other": "acme-other 1.0 declares 'acme_other' as acme_other:It, but its spec says 'acme_another'; "
    "name the entry point as the spec does, or add the name to its aliases",
    "acme_unsigned": "acme_unsigned.It.text (line 6): a handler of lane 'text' takes (self, instance, payload); "
    "it takes (self, text) (in acme-unsigned 1.0)",
    "acme_function": "acme-function 1.0: acme_function:It is no subclass of Node",
}


@pytest.mark.parametrize("name", SAYS)
def test_a_broken_one_is_reported_with_its_cause(site: Path, name: str) -> None:
    with pytest.raises((PluginLoad, InvalidNode)) as caught:
        Registry().find(name)
    assert str(caught.value) == SAYS[name]
    assert caught.value.distribution == name.replace("_", "-")


def test_one_for_another_core_is_never_imported(site: Path) -> None:
    with pytest.raises(PluginLoad) as caught:
        Registry().find("acme_old")
    assert str(caught.value) == (
        "acme-old 1.0 was built for another core: it needs rocketride-core<10,>=9, installed is 0.1.0; "
        "try: pip install --upgrade acme-old"
    )
    assert "acme_old" not in sys.modules


@pytest.mark.parametrize(
    ("provider", "owners"),
    [
        ("acme_twin", ["acme-twin-left 1.0", "acme-twin-right 1.0"]),
        ("question", ["acme-question 1.0", "rocketride-question 0.1.0"]),
    ],
)
def test_two_that_claim_one_provider_are_both_named(site: Path, provider: str, owners: list[str]) -> None:
    with pytest.raises(DuplicateProvider) as caught:
        Registry().find(provider)
    claimed, _, advice = str(caught.value).partition("; ")
    assert sorted(claimed.removeprefix(f"'{provider}' is claimed by ").split(" and ")) == owners
    assert advice == "uninstall one of them"
    listed = [one for one in Registry().listings() if one.provider == provider]
    assert [f"{one.distribution} {one.version}" for one in listed] == owners
    for one, other in zip(listed, reversed(owners), strict=True):
        assert one.problem == f"'{provider}' is claimed by {other} too; uninstall one of them"


def test_a_pipeline_that_uses_broken_ones_names_each(site: Path) -> None:
    names = [name for name, *_ in BROKEN] + ["acme_twin"]
    components = [Component("webhook", "webhook"), *(Component(n, n, {}, (LaneLink("text", "webhook"),)) for n in names)]
    kernel = Kernel()
    problems = [p for p in kernel.check(PipeFile(components)) if p.severity == "error"]
    codes = {p.component: p.code for p in problems}
    expected = {name: "plugin-load" for name, *_ in BROKEN} | {"acme_twin": "duplicate-provider"}
    expected |= {"acme_unsigned": "invalid-node", "acme_function": "invalid-node"}
    assert codes == expected
    for place, name in enumerate(names, 1):
        [problem] = [p for p in problems if p.component == name]
        assert problem.path == f"$.components[{place}].provider"
        assert name.replace("_", "-") in problem.message
    with pytest.raises(PipeError) as caught, kernel.load(PipeFile(components)):
        pass
    assert [p for p in caught.value.problems if p.severity == "error"] == problems


def test_nothing_else_is_disabled(site: Path) -> None:
    registry = Registry()
    for name in [*SAYS, "acme_old", "acme_twin"]:
        with pytest.raises((PluginLoad, InvalidNode, DuplicateProvider)):
            registry.find(name)
    usable = [one.provider for one in registry.listings() if not one.provider.startswith("acme_") and one.provider != "question"]
    assert {"parse", "chroma", "embedding_transformer", "prompt", "chat"} <= set(usable)
    for provider in usable:
        assert registry.find(provider).spec.provider == provider
    with Kernel().load(replacing(old="x", new="y")) as pipeline:
        assert pipeline.run(Entry("a"), TEXT("x")).checked()[TEXT] == ["y"]


# ---- a source


class Outcomes:
    """Host plugin: keeps what a serving pipeline has finished."""

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.more = threading.Condition()

    @hookimpl
    def finish_entry(self, result: Result) -> None:
        with self.more:
            self.results.append(result)
            self.more.notify_all()

    def wait(self, count: int) -> dict[str, str]:
        """Texts by name, when so many have come."""
        with self.more:
            assert self.more.wait_for(lambda: len(self.results) >= count, 60), [r.entry.name for r in self.results]
            return {r.entry.name: "".join(r[TEXT]) if r.error is None else str(r.error) for r in self.results}


def watching(folder: Path) -> PipeFile:
    config = {"folder": str(folder), "every": 0.02}
    return line(("acme_watch", config), ("parse", {}), ("response_text", {}), lanes="tags text")


def put(path: Path, data: bytes) -> None:
    """Written aside and moved in: a watcher sees whole files."""
    aside = path.parent.parent / "aside"
    aside.write_bytes(data)
    aside.rename(path)


def test_a_folder_watcher_runs_until_stop(site: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder / "one.txt", b"the first")
    outcomes, failures = Outcomes(), list[BaseException]()
    with Kernel(plugins=[outcomes]).load(watching(folder)) as pipeline:

        def serve() -> None:
            try:
                pipeline.serve()
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            assert outcomes.wait(1)["one.txt"].strip() == "the first"
            put(folder / "two.md", b"the second")
            assert outcomes.wait(2)["two.md"].strip() == "the second"
            put(folder / "bad.pdf", b"%PDF-1.7 no")
            assert "bad.pdf" in outcomes.wait(3)["bad.pdf"]
            put(folder / "one.txt", b"the first, changed")
            assert outcomes.wait(4)["one.txt"].strip() == "the first, changed"
            assert thread.is_alive()
        finally:
            pipeline.stop()
            thread.join(30)
        assert not thread.is_alive()
        assert failures == []
        put(folder / "late.txt", b"nobody looks any more")
    assert sorted(r.entry.name for r in outcomes.results) == ["bad.pdf", "one.txt", "one.txt", "two.md"]


def test_a_folder_watcher_from_the_command_line(start: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    components = [
        {"id": "w", "provider": "acme_watch", "config": {"folder": "in", "every": 0.02}},
        {"id": "p", "provider": "parse", "config": {}, "input": [{"lane": "tags", "from": "w"}]},
        {"id": "r", "provider": "response_text", "config": {}, "input": [{"lane": "text", "from": "p"}]},
    ]
    (tmp_path / "w.pipe").write_text(json.dumps({"components": components}))
    put(folder / "one.txt", b"the first")
    running = start("run", "w.pipe", "--json")
    assert running.stdout is not None
    assert json.loads(running.stdout.readline())["text"] == ["the first\n\n"]
    put(folder / "two.txt", b"the second")
    assert json.loads(running.stdout.readline())["name"] == "two.txt"
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, "")
    assert "2 objects, 0 failed" in err
