# SPDX-License-Identifier: MIT
"""Profiles, keys, addresses, and the files that people wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import Answer, PipeError, Question, RunError
from rocketride_core.testing import node_harness
from rocketride_llm import estimate
from rocketride_llm.testing import Say, ScriptedServer
from rocketride_llm_gemini import Gemini

SHARED = Path(__file__).resolve().parents[4] / ".." / "shared"
KEY = "AIza-secret-0123456789"
PROFILES = {profile.id: profile for profile in Gemini.spec.profiles}


def ask(config: dict[str, Any], *, env: dict[str, str] | None = None) -> Any:
    with node_harness(Gemini, config=config, env=env) as harness:
        return harness.run({"questions": [Question(("Why?",))]}, check=False)


def test_the_profiles() -> None:
    assert len(PROFILES) == 20
    assert Gemini.spec.profiles[0].id == "gemini-3_1-pro-preview"
    assert PROFILES["gemini-2_5-flash"].values == {
        "model": "models/gemini-2.5-flash",
        "modelSource": "manual",
        "modelTotalTokens": 1048576,
        "modelOutputTokens": 65535,
        "apikey": "",
    }
    ends = {"gemini-3-pro-preview", "gemini-3-pro-image", "gemini-2_0-flash", "gemini-2_0-flash-lite"}
    assert {id for id, profile in PROFILES.items() if profile.deprecated} == ends


@pytest.mark.skipif(not (SHARED / "reference").is_dir(), reason="../shared/reference is not here")
def test_the_profiles_are_those_of_the_catalogue() -> None:
    services = json.loads((SHARED / "reference" / "catalog.json").read_text())["services"]
    [service] = [one for one in services if one["name"] == "llm_gemini"]
    assert set(PROFILES) == set(service["profiles"])
    assert Gemini.spec.profiles[0].id == service["preconfig"]["default"]
    for id, values in service["profiles"].items():
        assert PROFILES[id].title == values.get("title", "Custom")
        assert PROFILES[id].deprecated == values.get("migration", "")
        told = {"title", "deprecated", "migration"}
        assert dict(PROFILES[id].values) == {key: value for key, value in values.items() if key not in told}


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_asks_its_model(profile: str) -> None:
    model = str(PROFILES[profile].values["model"])
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        block = {"apikey": KEY, "base_url": server.url, **({} if model else {"model": "my-model"})}
        assert ask({"profile": profile, profile: block})["answers"] == [Answer("Yes.")]
        [request] = server.requests
        assert request.model == (model or "my-model").removeprefix("models/")
        total, output = (PROFILES[profile].values.get(key, 16384) for key in ("modelTotalTokens", "modelOutputTokens"))
        room = int(str(total)) - estimate(request.question)
        assert request.body["generationConfig"]["maxOutputTokens"] == min(int(str(output)), room)


def test_custom_needs_a_model_and_an_unknown_profile_says_what_there_is() -> None:
    with pytest.raises(PipeError, match="Model name was provided but is empty"):
        ask({"profile": "custom", "apikey": KEY})
    with pytest.raises(PipeError, match="Profile gemini-3-pro is not defined in llm_gemini") as told:
        ask({"profile": "gemini-3-pro", "apikey": KEY})
    assert "gemini-3_1-pro-preview" in told.value.problems[0].hint
    with pytest.raises(RunError, match="two dots in a row"):
        ask({"model": "a/../b", "apikey": KEY})


def test_without_a_key_it_is_told_at_once_and_no_variable_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with pytest.raises(RunError, match="There is no API key for Gemini"):
        ask({"base_url": "http://127.0.0.1:9"})


def test_the_key_comes_from_a_variable() -> None:
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        config = {"apikey": "${ROCKETRIDE_GEMINI_KEY}", "base_url": server.url}
        assert ask(config, env={"ROCKETRIDE_GEMINI_KEY": f" {KEY}\n"})["answers"] == [Answer("Yes.")]


@pytest.mark.parametrize("variables", [{}, {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9", "GOOGLE_GENAI_API_VERSION": "v9"}])
def test_googles_own_address(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from rocketride_llm_gemini.client import client_for, http_for

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    client = client_for(http_for(5), Gemini.address, vertexai=False, api_key=KEY)
    options = client._api_client._http_options
    assert (options.base_url, options.api_version) == ("https://generativelanguage.googleapis.com", "v1beta")


@pytest.mark.parametrize("installed", [True, False])
def test_the_variable_that_names_an_http_client(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx")
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx")
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        config = {"apikey": KEY, "base_url": server.url}
        if installed:
            assert ask(config)["answers"] == [Answer("Yes.")]
            return
        monkeypatch.setattr("google.genai._api_client.httpx", None)
        with pytest.raises(RunError, match="cannot use what GOOGLE_GENAI_HTTP_CLIENT names; unset that variable"):
            ask(config)


def test_a_server_that_has_no_such_model_fails_the_probe() -> None:
    from rocketride_llm.testing import Rule, model_not_found

    for rules, found in (([], []), ([Rule("", model_not_found(), operation="models")], ["probe-failed"])):
        with (
            ScriptedServer(rules=rules, key=KEY) as server,
            node_harness(Gemini, config={"apikey": KEY, "base_url": server.url}) as harness,
        ):
            problems = list(harness.node.check_global())
            assert [problem.code for problem in problems] == found
            assert [request.path for request in server.requests] == ["/v1beta/models/gemini-3.1-pro-preview"]


def test_the_client_is_imported_when_a_pipeline_begins() -> None:
    code = "import sys, rocketride_llm_gemini; print([m for m in ('google.genai', 'httpx2', 'pydantic') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def configs(folder: Path) -> Iterator[dict[str, Any]]:
    """Those of llm_gemini in all JSON files below a folder."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if value.get("provider") == "llm_gemini" and isinstance(value.get("config"), dict):
                yield value["config"]
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    for path in sorted(folder.rglob("*")):
        if path.is_file() and "llm_gemini" in (text := path.read_text(errors="replace")):
            try:
                data = json.loads(text)
            except ValueError:
                continue
            yield from walk(data)


@pytest.mark.skipif(not (SHARED / "pipes").is_dir(), reason="../shared/pipes is not here")
def test_every_config_in_public_files_is_read() -> None:
    unique = {json.dumps(config, sort_keys=True): config for config in configs(SHARED / "pipes")}
    assert len(unique) > 5
    answered, unknown = 0, set[str]()
    for config in unique.values():
        with ScriptedServer([Say("Yes.")]) as server:
            profile = config.get("profile", "gemini-3_1-pro-preview")
            own = {**config, "base_url": server.url}
            if profile not in PROFILES:
                unknown.add(profile)
                with pytest.raises(PipeError, match=f"Profile {profile} is not defined in llm_gemini"):
                    ask(own)
                continue
            own = {**own, profile: {**config.get(profile, {}), "apikey": KEY}}
            assert ask(own)["answers"] == [Answer("Yes.")]
            answered += 1
    assert answered
    assert unknown == {"gemini-3-pro", "gemini"}
