# SPDX-License-Identifier: MIT
"""Profiles, keys, addresses, variables of the machine, and the files that people wrote."""

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
from rocketride_llm.testing import Say, ScriptedServer, bad_key
from rocketride_llm_anthropic import Anthropic

SHARED = Path(__file__).resolve().parents[4] / ".." / "shared"
KEY = "sk-ant-secret-0123456789"
RETIRED = pytest.mark.filterwarnings("ignore:The model '.*' is deprecated:DeprecationWarning")
# Profile: model, context, output.
PROFILES = {
    "custom": ("", 200_000, None),
    "claude-sonnet-4-6": ("claude-sonnet-4-6", 1_000_000, 128_000),
    "claude-opus-4-6": ("claude-opus-4-6", 1_000_000, 128_000),
    "claude-haiku-4-5": ("claude-haiku-4-5", 200_000, 64_000),
    "claude-sonnet-4-5": ("claude-sonnet-4-5", 1_000_000, 64_000),
    "claude-opus-4-5": ("claude-opus-4-5", 200_000, 64_000),
    "claude-opus-4-7": ("claude-opus-4-7", 1_000_000, 128_000),
}


def ask(config: dict[str, Any], *, env: dict[str, str] | None = None) -> Any:
    with node_harness(Anthropic, config=config, env=env) as harness:
        return harness.run({"questions": [Question(("Why?",))]}, check=False)


def test_the_profiles() -> None:
    found = {profile.id: profile.values for profile in Anthropic.spec.profiles}
    assert Anthropic.spec.profiles[0].id == "claude-sonnet-4-6"
    assert {id: (one["model"], one["modelTotalTokens"], one.get("modelOutputTokens")) for id, one in found.items()} == PROFILES


@pytest.mark.skipif(not (SHARED / "reference").is_dir(), reason="../shared/reference is not here")
def test_the_profiles_are_those_of_the_catalogue() -> None:
    services = json.loads((SHARED / "reference" / "catalog.json").read_text())["services"]
    [service] = [one for one in services if one["name"] == "llm_anthropic"]
    ours = {profile.id: profile for profile in Anthropic.spec.profiles}
    assert set(ours) == set(service["profiles"])
    assert Anthropic.spec.profiles[0].id == service["preconfig"]["default"]
    for id, values in service["profiles"].items():
        assert ours[id].title == values.get("title", "Custom")
        assert dict(ours[id].values) == {key: value for key, value in values.items() if key != "title"}


@RETIRED
@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_asks_its_model(profile: str) -> None:
    model, _, output = PROFILES[profile]
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        block = {"apikey": KEY, "base_url": server.url, **({} if model else {"model": "my-model"})}
        outputs = ask({"profile": profile, profile: block})
        assert outputs["answers"] == [Answer("Yes.")]
        [request] = server.requests
        assert (request.model, request.body["max_tokens"]) == (model or "my-model", output or 4096)


def test_models_that_end_are_told_when_the_pipeline_is_checked() -> None:
    assert {profile.id for profile in Anthropic.spec.profiles if profile.deprecated} == {"claude-sonnet-4-5", "claude-opus-4-5"}


def test_custom_needs_a_model_and_an_unknown_profile_says_what_there_is() -> None:
    with pytest.raises(PipeError, match="Model name was provided but is empty"):
        ask({"profile": "custom", "apikey": KEY})
    with pytest.raises(PipeError, match="Profile claude-3-5-sonnet is not defined in llm_anthropic") as told:
        ask({"profile": "claude-3-5-sonnet", "apikey": KEY})
    assert "claude-sonnet-4-6, claude-opus-4-6" in told.value.problems[0].hint


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, 'There is no API key for Anthropic; write "apikey" in the config of node, best as "${ROCKETRIDE_…}"'),
        ({"apikey": "  "}, "There is no API key for Anthropic"),
        ({"apikey": "sk-proj-123456789"}, "Invalid Anthropic API key format, please check your API key."),
        ({"apikey": "sk-ant-123 456789"}, "The API key for Anthropic has spaces or characters that no key has"),
        ({"apikey": "sk-ant-1234567é9"}, "The API key for Anthropic has spaces or characters that no key has"),
    ],
)
def test_a_key_that_cannot_be_right_is_told_at_once(config: dict[str, Any], said: str) -> None:
    with pytest.raises(RunError) as told:
        ask(config)
    assert said in str(told.value)
    assert "123456789" not in str(told.value)
    assert "refused" not in str(told.value)


def test_the_key_comes_from_a_variable_with_or_without_space_around_it() -> None:
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        config = {"apikey": "${ROCKETRIDE_ANTHROPIC_KEY}", "base_url": server.url}
        assert ask(config, env={"ROCKETRIDE_ANTHROPIC_KEY": f" {KEY}\n"})["answers"] == [Answer("Yes.")]


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_a_gateway_has_keys_of_its_own_form(end: str) -> None:
    with ScriptedServer([Say("Yes.")], key="gateway-key") as server:
        assert ask({"apikey": "gateway-key", "base_url": server.url + end})["answers"] == [Answer("Yes.")]
        assert not server.unexpected


def test_an_address_without_scheme_is_refused() -> None:
    with pytest.raises(PipeError, match="base_url"):
        ask({"apikey": KEY, "base_url": "gateway.example"})


def test_no_variable_of_the_client_and_no_file_has_a_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-leak: yes\nauthorization: Bearer wrong")
    monkeypatch.setenv("ANTHROPIC_PROFILE", "nobody")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    with ScriptedServer([Say("Yes.")], key=KEY) as server:
        assert ask({"apikey": KEY, "base_url": server.url})["answers"] == [Answer("Yes.")]
        [request] = server.requests
        assert "x-leak" not in request.headers
        assert "of-the-environment" not in str(request.headers)
    with pytest.raises(RunError, match="There is no API key"):
        ask({"base_url": "http://127.0.0.1:9"})
    from rocketride_llm_anthropic.backend import MessagesBackend

    backend = MessagesBackend(key=KEY, model="m", base_url=Anthropic.address, timeout=1)
    assert str(backend._client.base_url) == "https://api.anthropic.com"


def test_the_probe_asks_one_word() -> None:
    for step, found in [(Say("Hi"), []), (bad_key(), ["probe-failed"])]:
        with (
            ScriptedServer([step, step]) as server,
            node_harness(Anthropic, config={"apikey": KEY, "base_url": server.url}) as harness,
        ):
            problems = list(harness.node.check_global())
            assert [problem.code for problem in problems] == found
            assert KEY not in str(problems)
            assert len(server.requests) == 1


def test_the_client_is_imported_when_a_pipeline_begins() -> None:
    code = "import sys, rocketride_llm_anthropic; print([m for m in ('anthropic', 'httpx2', 'pydantic') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


# --- files of others ----------------------------------------------------------------------------------------------------


def components(folder: Path) -> Iterator[dict[str, Any]]:
    """The configs of llm_anthropic in all JSON files below a folder."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if value.get("provider") == "llm_anthropic" and isinstance(value.get("config"), dict):
                yield value["config"]
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    for path in sorted(folder.rglob("*")):
        if path.is_file() and "llm_anthropic" in (text := path.read_text(errors="replace")):
            try:
                data = json.loads(text)
            except ValueError:
                continue
            yield from walk(data)


@pytest.mark.skipif(not (SHARED / "pipes").is_dir(), reason="../shared/pipes is not here")
def test_every_config_in_public_files_is_read() -> None:
    known = {profile.id for profile in Anthropic.spec.profiles}
    unique = {json.dumps(config, sort_keys=True): config for config in components(SHARED / "pipes")}
    assert len(unique) > 30
    env = {"ROCKETRIDE_ANTHROPIC_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    unknown, keyless, foreign = set[str](), 0, 0
    for config in unique.values():
        with ScriptedServer([Say("Yes.")]) as server:
            own = {**config, "base_url": server.url}
            if config["profile"] not in known:
                with pytest.raises(PipeError, match=f"Profile {config['profile']} is not defined in llm_anthropic"):
                    ask(own, env=env)
                unknown.add(config["profile"])
            elif config == {"profile": "claude-sonnet-4-6", "claude-sonnet-4-6": {}}:
                with pytest.raises(RunError, match="There is no API key"):
                    ask(own, env=env)
                keyless += 1
            elif "${" in (key := {**config, **config.get(config["profile"], {})}["apikey"]) and "${ROCKETRIDE_" not in key:
                with pytest.raises(RunError, match="is a variable that is not filled in"):
                    ask(own, env=env)
                foreign += 1
            else:
                assert ask(own, env=env)["answers"] == [Answer("Yes.")]
                assert server.requests[0].model == config["profile"]
    assert foreign
    assert (unknown, keyless) == ({"claude", "claude-3-5-sonnet", "claude-haiku-4-5-20251001"}, 1)
