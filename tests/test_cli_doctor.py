# SPDX-License-Identifier: MIT
"""`rocketride-core doctor`: every kind of line, with what it says to type."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rocketride_core.cli import main

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import fake_site

CORE = "rocketride-core>=0.1,<0.2"
VALUE = "sk-never-to-be-seen"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def node(site: Path, name: str, *requires: str, source: str = "", extra: str = "", more: str = "") -> None:
    """A distribution `acme-NAME` with a node NAME that takes text and gives text."""
    module = f"acme_{name}"
    source = source or fake_site.NODE.format(cls="It", provider=name, more=more)
    info = fake_site.add(
        site, f"acme-{name}", nodes=[(name, f"{module}:It")], requires=(CORE, *requires), modules={module: source}
    )
    if extra:
        file = info / "METADATA"
        file.write_text(file.read_text().replace("Classifier: Fake :: 0", f"Provides-Extra: {extra}", 1))


def library(site: Path, name: str, version: str, *requires: str) -> None:
    fake_site.add(site, name, version=version, requires=requires)


def pipe(*providers: str, config: Mapping[str, Any] | None = None) -> str:
    """Questions through test_llm, as of the book, and a component of each provider behind the source."""
    components: list[dict[str, Any]] = [
        {"id": "chat_1", "provider": "chat", "config": {}},
        {
            "id": "llm_1",
            "provider": "test_llm",
            "config": config or {},
            "input": [{"lane": "questions", "from": "chat_1"}],
        },
        {"id": "out_1", "provider": "response_answers", "config": {}, "input": [{"lane": "answers", "from": "llm_1"}]},
    ]
    for name in providers:
        components.append({"id": f"{name}_x", "provider": name, "config": {}, "input": [{"lane": "text", "from": "hook"}]})
    if providers:
        components.append({"id": "hook", "provider": "dropper", "config": {}})
        components.append({"id": "prs", "provider": "parse", "config": {}, "input": [{"lane": "tags", "from": "hook"}]})
        for one in components[3:-2]:
            one["input"][0]["from"] = "prs"
    Path("a.pipe").write_text(json.dumps({"components": components, "source": "hook" if providers else "chat_1"}))
    return "a.pipe"


Told = list[dict[str, Any]]


def doctor(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> Told:
    """The checklist as `--json` gives it; the exit code and the verdict agree with it."""
    capsys.readouterr()
    assert main(["doctor", *words, "--json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    told = json.loads(out)
    assert set(told) == {"file", "ok", "checks", "install"}
    assert told["ok"] is (code == 0)
    assert any(one["state"] == "miss" for one in told["checks"]) is (code == 1)
    for one in told["checks"]:
        assert set(one) == {"about", "name", "state", "message", "fix", "components"}
        assert one["message"]
        assert one["fix"] or one["state"] != "miss", one
    checks: Told = told["checks"]
    return checks


def line(checks: Told, about: str, name: str) -> dict[str, Any]:
    [found] = [one for one in checks if (one["about"], one["name"]) == (about, name)]
    return found


def said(checks: Told, about: str, name: str) -> tuple[str, str, str]:
    found = line(checks, about, name)
    return found["state"], found["message"], found["fix"]


# ---- what is installed


def test_a_pipeline_that_would_run(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", pipe()]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    first, *rest = out.splitlines()
    assert first == "a.pipe: would run here"
    assert {one.split()[0] for one in rest} == {"ok"}
    python = next(one for one in rest if "Python" in one)
    assert python.split()[-1] == ".".join(map(str, sys.version_info[:3]))
    [llm] = [one for one in rest if " test_llm " in one]
    assert llm.endswith("rocketride-testing-nodes 0.1.0  (llm_1)")


def test_each_missing_node_says_what_to_type(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rocketride_core.names import Names

    # Of the nodes that are really known, any may be installed one day.
    known: dict[str, Any] = dict(Names()._tables)
    known["pip"] = {**known["pip"], "far_a": "rocketride-far-a", "far_b": "rocketride-far-b"}
    monkeypatch.setattr(Names, "_tables", known)
    checks = doctor(capsys, pipe("far_b", "far_a", "db_mysql", "questoin"), code=1)
    assert said(checks, "node", "far_b") == ("miss", "not installed", "pip install rocketride-far-b")
    assert line(checks, "node", "far_b")["components"] == ["far_b_x"]
    assert said(checks, "node", "db_mysql")[:2] == ("miss", "nobody has written this node yet")
    state, message, fix = said(checks, "node", "questoin")
    assert (state, message) == ("miss", "no such node is known")
    assert "'question'" in fix
    assert not [one for one in checks if one["about"] == "problem" and one["name"] == "unknown-provider"]
    assert main(["doctor", "a.pipe"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0].startswith("a.pipe: would not run here, 4 missing or wrong")
    assert out.endswith("To install what is missing:\n  pip install rocketride-far-a rocketride-far-b\n")


def test_a_note_on_the_canvas_is_no_miss(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(pipe())
    data = json.loads(file.read_text())
    data["components"].append({"id": "note_1", "provider": "default", "config": {}})
    file.write_text(json.dumps(data))
    assert said(doctor(capsys, "a.pipe", code=0), "node", "default")[0] == "warn"


def test_an_old_name_leads_to_the_distribution(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rocketride_core.names import Names

    names = Names()
    assert (names.current("anonymize"), names.unwritten("anonymize")) == ("anonymize_text", True)
    message = said(doctor(capsys, pipe("anonymize"), code=1), "node", "anonymize")[1]
    assert message == "nobody has written this node yet; it is called 'anonymize_text' today"


def test_libraries_that_are_missing_or_of_another_version(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library(site, "half-lib", "1.5")
    library(site, "good-lib", "2.1", "nowhere-either")
    node(site, "acme", "gone-lib[fast] (>=2,<3)", "half_lib>=2", "good-lib~=2.0")
    checks = doctor(capsys, pipe("acme"), code=1)
    assert said(checks, "node", "acme")[:2] == ("ok", "acme-acme 1.0")
    gone = ("miss", "not installed; acme-acme needs gone-lib>=2,<3", "pip install 'gone-lib>=2,<3'")
    assert said(checks, "library", "gone-lib") == gone
    half = ("miss", "1.5 is installed; acme-acme needs half_lib>=2", "pip install 'half_lib>=2'")
    assert said(checks, "library", "half_lib") == half
    # What a library needs itself is not our affair, and one that fits has no line of its own.
    assert not {"good-lib", "nowhere-either"} & {one["name"] for one in checks}


def test_the_bases_of_a_node_are_looked_at_too(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_site.add(site, "acme-base", requires=(CORE, "deep-lib>=1"))
    node(site, "acme", "acme-base")
    message = said(doctor(capsys, pipe("acme"), code=1), "library", "deep-lib")[1]
    assert message == "not installed; acme-base needs deep-lib>=1"


def test_what_a_broken_removal_left_is_not_installed(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "left_lib-1.0.dist-info").mkdir()
    node(site, "acme", "left-lib")
    assert said(doctor(capsys, pipe("acme"), code=1), "library", "left-lib")[1].startswith("not installed")


def test_conditions_are_evaluated(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node(site, "acme", 'old-lib; python_version < "3"', "new-lib; python_version >= '3'")
    checks = doctor(capsys, pipe("acme"), code=1)
    assert line(checks, "library", "new-lib")["state"] == "miss"
    assert "old-lib" not in {one["name"] for one in checks}


def test_without_packaging_conditions_are_left_open_and_said(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("packaging.markers", "packaging.specifiers", "packaging.version"):
        monkeypatch.setitem(sys.modules, name, None)
    library(site, "half-lib", "1.5")
    node(site, "acme", 'old-lib; python_version < "3"', "plug-lib; extra == 'x' and python_version > '3'", "half-lib>=2")
    checks = doctor(capsys, pipe("acme"), code=1)
    state, message, _ = said(checks, "library", "old-lib")
    assert (state, message) == ("note", "acme-acme needs old-lib under a condition that cannot be judged here")
    assert line(checks, "library", "half-lib")["state"] == "miss"
    assert "plug-lib" not in {one["name"] for one in checks}


def test_extras_are_a_note(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node(site, "acme", "engine-lib>=3; extra == 'embedded'", extra="embedded")
    checks = doctor(capsys, pipe("acme"), code=0)
    state, message, fix = said(checks, "extra", "acme-acme[embedded]")
    assert (state, fix) == ("note", "pip install 'acme-acme[embedded]'")
    assert message.startswith("not installed (engine-lib); whether this pipeline needs it cannot be known")
    library(site, "engine-lib", "3.0")
    assert "extra" not in {one["about"] for one in doctor(capsys, "a.pipe", "--rescan", code=0)}
    # What is missing in any case is no reason to name an extra that is whole.
    node(site, "acme", "engine-lib>=3; extra == 'embedded'", "gone-lib", extra="embedded")
    checks = doctor(capsys, "a.pipe", "--rescan", code=1)
    assert line(checks, "library", "gone-lib")["state"] == "miss"
    assert "extra" not in {one["about"] for one in checks}


def test_a_node_that_cannot_be_imported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node(site, "lacks", "gone-lib>=2", source="import gone_lib")
    node(site, "falls", source="raise RuntimeError('no licence')")
    checks = doctor(capsys, pipe("lacks", "falls"), code=1)
    state, message, fix = said(checks, "node", "lacks")
    assert (state, fix) == ("miss", "pip install 'gone-lib>=2'")
    assert "No module named 'gone_lib'" in message
    state, message, fix = said(checks, "node", "falls")
    assert message == "acme-falls 1.0 cannot be imported: acme_falls raised RuntimeError: no licence"
    assert fix == "pip install --upgrade --force-reinstall acme-falls"


def test_a_node_for_another_core(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_site.add(site, "acme-old", nodes=[("older", "acme_old:It")], requires=("rocketride-core>=9",))
    state, message, fix = said(doctor(capsys, pipe("older"), code=1), "node", "older")
    assert (state, fix) == ("miss", "pip install --upgrade acme-old")
    assert "built for another core" in message


def test_two_claims_of_one_provider(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("acme-one", "acme-two"):
        fake_site.add(site, name, nodes=[("same", "acme_same:It")], requires=(CORE,))
    fix = said(doctor(capsys, pipe("same"), code=1), "node", "same")[2]
    assert fix == "pip uninstall acme-one or acme-two"


def test_a_broken_host_plugin_is_a_miss_and_the_rest_is_told(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROCKETRIDE_DR_A", raising=False)
    fake_site.add(
        site, "acme-guard", plugins=[("watch", "acme_guard:It")], modules={"acme_guard": "raise RuntimeError('no policy')"}
    )
    file = pipe("db_mysql", config={"profile": "script", "answers": ["${ROCKETRIDE_DR_A}"]})
    checks = doctor(capsys, file, "--probe", code=1)
    state, message, fix = said(checks, "plugin", "watch")
    assert state == "miss"
    assert "no policy" in message
    assert "pip uninstall acme-guard" in fix
    assert said(checks, "node", "db_mysql")[0] == "miss"
    assert line(checks, "node", "chat")["state"] == "ok"
    assert line(checks, "variable", "ROCKETRIDE_DR_A")["state"] == "miss"
    assert line(checks, "probe", "all")["state"] == "note"


def test_components_that_an_expansion_makes_are_asked_for(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = """
from attrs import evolve
from rocketride_core import TEXT, Node, NodeSpec, hookimpl, on

class It(Node[None]):
    spec = NodeSpec("macro", title="macro")

    @classmethod
    @hookimpl
    def expand_component(cls, component, context):
        return [evolve(component, id="inner", provider="db_mysql")]

    @on(TEXT)
    def text(self, instance, text): ...
"""
    node(site, "macro", source=source)
    checks = doctor(capsys, pipe("macro"), code=1)
    assert line(checks, "node", "db_mysql")["components"] == ["inner"]


# ---- what the file says


def test_variables_by_name_never_by_value(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {name: f"ROCKETRIDE_DR_{name}" for name in ("PROC", "DOT", "FILE", "DEFAULT", "EMPTY", "UNSET")}
    for name in names.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(names["PROC"], f"{VALUE}-1")
    monkeypatch.setenv(names["EMPTY"], "")
    Path(".env").write_text(f"{names['DOT']}={VALUE}-2\n{names['FILE']}={VALUE}-3\n")
    Path("my.env").write_text(f"{names['FILE']}={VALUE}-4\n")
    answers = [f"${{{name}{':-' + VALUE if name.endswith('DEFAULT') else ''}}}" for name in names.values()]
    file = pipe(config={"profile": "script", "answers": answers})
    checks = doctor(capsys, file, "--env", "my.env", code=1)
    assert said(checks, "variable", names["PROC"])[:2] == ("ok", "set in the environment")
    assert said(checks, "variable", names["DOT"])[:2] == ("ok", "set in .env")
    assert said(checks, "variable", names["FILE"])[:2] == ("ok", "set in --env")
    assert said(checks, "variable", names["DEFAULT"])[:2] == ("ok", "not set; the default in the file counts")
    assert line(checks, "variable", names["EMPTY"])["state"] == "warn"
    state, message, fix = said(checks, "variable", names["UNSET"])
    assert (state, fix) == ("miss", f"export {names['UNSET']}=…")
    assert message == "not set, at $.components[1].config.answers[5]"
    assert not [one for one in checks if one["name"] == "unset-variable"]
    assert VALUE not in json.dumps(checks)
    main(["doctor", file])
    assert VALUE not in capsys.readouterr().out
    monkeypatch.setenv(names["UNSET"], "x")
    doctor(capsys, file, code=0)


def test_a_variable_that_takes_no_effect_only_warns(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROCKETRIDE_DR_A", raising=False)
    file = pipe(config={"profile": "echo", "script": {"answers": ["${ROCKETRIDE_DR_A}"]}})
    state, message, _ = said(doctor(capsys, file, code=0), "variable", "ROCKETRIDE_DR_A")
    assert (state, message.partition(":")[0]) == ("warn", "not set, where it takes no effect")


def test_the_problems_of_check_are_lines(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(pipe())
    data = json.loads(file.read_text())
    data["components"][2]["input"][0]["from"] = "llm_9"
    file.write_text(json.dumps(data))
    state, message, fix = said(doctor(capsys, "a.pipe", code=1), "problem", "dangling-link")
    assert state == "miss"
    assert message.startswith("$.components[2].input[0].from: ")
    assert fix == "did you mean llm_1?"
    checks = doctor(capsys, pipe(), "--source", "nowhere", code=1)
    assert line(checks, "problem", "unknown-source")["state"] == "miss"
    doctor(capsys, pipe(), "--set", "llm_1.profile=script", "--set", 'llm_1.answers=["a"]', code=0)


# ---- the world outside

PROBING = """
from pathlib import Path
from rocketride_core import TEXT, Node, NodeSpec, hookimpl, on
from rocketride_core.errors import Problem

class It(Node[None]):
    spec = NodeSpec("asking", title="asking")

    @hookimpl
    def check_global(self):
        Path("asked").touch()
        said = Path("said").read_text()
        if said == "raise":
            raise ConnectionError("nobody answers at localhost:1")
        return [Problem("", "no-model", "the model is not there", "acme pull model")] if said else []

    @on(TEXT)
    def text(self, instance, text): ...
"""


def test_servers_are_asked_under_probe_alone(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node(site, "asking", source=PROBING)
    file = pipe("asking")
    Path("said").write_text("")
    assert "probe" not in {one["about"] for one in doctor(capsys, file, code=0)}
    assert not Path("asked").exists()
    assert said(doctor(capsys, file, "--probe", code=0), "probe", "asking_x")[0] == "ok"
    assert Path("asked").exists()
    Path("said").write_text("raise")
    state, message, fix = said(doctor(capsys, file, "--probe", code=1), "probe", "asking_x")
    assert state == "miss"
    assert "nobody answers at localhost:1 [probe-failed]" in message
    assert fix == "see docs/errors.md#probe-failed"
    Path("said").write_text("no")
    state, message, fix = said(doctor(capsys, file, "--probe", code=1), "probe", "asking_x")
    assert "the model is not there [no-model]" in message
    assert fix == "acme pull model"


def test_nobody_is_asked_while_the_file_is_wrong(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node(site, "asking", source=PROBING)
    checks = doctor(capsys, pipe("asking", "db_mysql"), "--probe", code=1)
    assert line(checks, "probe", "all")["state"] == "note"
    assert not Path("asked").exists()


def test_a_pipeline_that_asks_nobody_says_so(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        said(doctor(capsys, pipe(), "--probe", code=0), "probe", "all")[1]
        == "no node of this pipeline looks at servers or models"
    )


# ---- words, files, time


@pytest.mark.parametrize("text", [None, "a: yaml\n", '{"nodes": [], "edges": []}'])
def test_what_is_no_pipeline_is_2(site: Path, capsys: pytest.CaptureFixture[str], text: str | None) -> None:
    if text is not None:
        Path("b.pipe").write_text(text)
    assert main(["doctor", "b.pipe", "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("b.pipe: 1 problem")


@pytest.mark.parametrize("words", [[], ["a.pipe", "b.pipe"], ["a.pipe", "--env", "nowhere.env"], ["a.pipe", "--set", "x"]])
def test_wrong_words_are_2(site: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    pipe()
    assert main(["doctor", *words]) == 2
    assert capsys.readouterr().err


def test_it_is_quick_and_imports_no_heavy_library(site: Path) -> None:
    code = (
        "import sys, time\nfrom rocketride_core.cli import main\ncode = main(['doctor', 'a.pipe'])\n"
        "print('cpu', time.process_time())\n"
        "print('heavy', sorted({'numpy', 'openai', 'chromadb', 'llama_index', 'httpx', 'aiohttp', 'torch'} & set(sys.modules)))\n"
        "sys.exit(code)"
    )
    pipe()
    times = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        *_, cpu, heavy = done.stdout.splitlines()
        assert heavy == "heavy []"
        times.append(float(cpu.split()[1]))
    # 0.4 s on the slowest machine at hand, the interpreter's start included; twice that for one that is busy.
    assert min(times) < 0.8, times
