# SPDX-License-Identifier: MIT
"""Profiles, addresses, keys, variables of the machine, and the files that people wrote."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import Answer, PipeError, Question, RunError
from rocketride_core.testing import node_harness
from rocketride_llm.testing import Rule, Say, ScriptedServer, model_not_found
from rocketride_llm_ollama import Ollama, OllamaConfig
from rocketride_llm_ollama.node import host_of

SHARED = Path(__file__).resolve().parents[4] / ".." / "shared"
# Profile: model, context.
PROFILES = {
    "custom": ("", 16385),
    "llama3_3": ("llama3.3:latest", 128000),
    "llama3_1-8b": ("llama3.1:8b", 128000),
    "llama3_1-70b": ("llama3.1:70b", 128000),
    "llama3_1-405b": ("llama3.1:405b", 128000),
    "phi4-14b": ("phi4", 16000),
    "llama3_2-3b": ("llama3.2", 128000),
    "llama3_2-1b": ("llama3.2:1b", 128000),
    "llama4-latest": ("llama4:latest", 10000000),
    "mistral-7b": ("mistral", 32000),
    "qwen2_5-7b": ("qwen2.5", 128000),
    "qwen2_5-0_5b": ("qwen2.5:0.5b", 128000),
    "qwen2_5-1_5b": ("qwen2.5:1.5b", 128000),
    "qwen2_5-3b": ("qwen2.5:3b", 128000),
    "qwen2_5-14b": ("qwen2.5:14b", 128000),
    "qwen2_5-32b": ("qwen2.5:32b", 128000),
    "qwen2_5-72b": ("qwen2.5:72b", 128000),
    "qwen3-latest": ("qwen3:latest", 128000),
    "deepseek-r1-1_5b": ("deepseek-r1:1.5b", 128000),
    "deepseek-r1-7b": ("deepseek-r1:7b", 128000),
    "deepseek-r1-14b": ("deepseek-r1:14b", 128000),
    "deepseek-r1-32b": ("deepseek-r1:32b", 128000),
    "deepseek-r1-671b": ("deepseek-r1:671b", 128000),
}


def ask(config: dict[str, Any], *, env: dict[str, str] | None = None) -> Any:
    with node_harness(Ollama, config=config, env=env) as harness:
        return harness.run({"questions": [Question(("Why?",))]}, check=False)


def test_the_profiles() -> None:
    found = {profile.id: (profile.values["model"], profile.values["modelTotalTokens"]) for profile in Ollama.spec.profiles}
    assert found == PROFILES
    assert Ollama.spec.profiles[0].id == "llama3_3"


@pytest.mark.skipif(not (SHARED / "reference").is_dir(), reason="../shared/reference is not here")
def test_the_profiles_are_those_of_the_catalogue() -> None:
    services = json.loads((SHARED / "reference" / "catalog.json").read_text())["services"]
    [service] = [one for one in services if one["name"] == "llm_ollama"]
    ours = {profile.id: profile for profile in Ollama.spec.profiles}
    assert set(ours) == set(service["profiles"])
    assert Ollama.spec.profiles[0].id == service["preconfig"]["default"]
    for id, values in service["profiles"].items():
        default = attrs.fields(OllamaConfig).server_base.default
        assert {"title": ours[id].title, "serverbase": default, **ours[id].values} == values


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_asks_its_model(profile: str) -> None:
    model, total = PROFILES[profile]
    with ScriptedServer([Say("Yes.")]) as server:
        block = {"serverbase": f"{server.url}/v1", **({} if model else {"model": "my-model"})}
        with node_harness(Ollama, config={"profile": profile, profile: block}) as harness:
            assert harness.run({"questions": [Question(("Why?",))]})["answers"] == [Answer("Yes.")]
            assert harness.node.config.total_tokens == total
        [request] = server.requests
        assert (request.model, request.body["options"]["num_predict"]) == (model or "my-model", 4096)


def test_custom_needs_a_model_and_an_unknown_profile_says_what_there_is() -> None:
    with pytest.raises(PipeError, match="Model name was provided but is empty"):
        ask({"profile": "custom"})
    with pytest.raises(PipeError, match="Profile llama9 is not defined in llm_ollama") as told:
        ask({"profile": "llama9"})
    assert "llama3_3, llama3_1-8b" in told.value.problems[0].hint


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("http://localhost:11434/v1", "http://localhost:11434"),
        ("http://localhost:11434/v1/", "http://localhost:11434"),
        ("http://localhost:11434/", "http://localhost:11434"),
        ("localhost:11434", "localhost:11434"),
        ("https://ollama.com", "https://ollama.com"),
        ("https://gateway.example/ollama/v1", "https://gateway.example/ollama"),
        ("http://[::1]:11434/v1", "http://[::1]:11434"),
    ],
)
def test_addresses(address: str, host: str) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize("address", ["", "ftp://a", "http://", "http://a:port", "http://a:99999"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(PipeError, match="serverbase"):
        ask({"serverbase": address})


@pytest.mark.parametrize("key", ["serverbase", "base_url"])
@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
def test_the_address_has_two_names_and_any_end(key: str, end: str) -> None:
    with ScriptedServer([Say("Yes.")]) as server:
        assert ask({key: server.url + end})["answers"] == [Answer("Yes.")]
        assert [request.path for request in server.requests] == ["/api/chat"]


def test_no_variable_of_the_machine_has_a_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("OLLAMA_API_KEY", "key-of-the-environment")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with ScriptedServer([Say("Yes."), Say("Yes.")]) as server:
        assert ask({"serverbase": server.url})["answers"] == [Answer("Yes.")]
        assert ask({"serverbase": server.url, "apikey": " my-key "})["answers"] == [Answer("Yes.")]
        assert [request.headers.get("authorization") for request in server.requests] == [None, "Bearer my-key"]


def test_a_key_that_cannot_be_sent_is_told_at_once() -> None:
    with pytest.raises(RunError, match="The API key for Ollama has spaces or characters that no key has") as told:
        ask({"apikey": "sécret-key"})
    assert "cret-key" not in str(told.value)


def test_the_probe_asks_whether_the_model_is_there_and_generates_nothing() -> None:
    for rules, found in [((), []), ([Rule("", model_not_found(), operation="show")], ["probe-failed"])]:
        with ScriptedServer(rules=rules) as server, node_harness(Ollama, config={"serverbase": server.url}) as harness:
            problems = list(harness.node.check_global())
            assert [problem.code for problem in problems] == found
            assert all("`ollama pull llama3.3:latest`" in problem.message for problem in problems)
            assert [request.operation for request in server.requests] == ["show"]
    with node_harness(Ollama, config={"serverbase": server.url}) as harness:
        [problem] = list(harness.node.check_global())
        assert "Failed to connect to Ollama" in problem.message


def test_the_client_is_imported_when_a_pipeline_begins() -> None:
    code = "import sys, rocketride_llm_ollama; print([m for m in ('ollama', 'httpx', 'pydantic') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


# --- files of others ----------------------------------------------------------------------------------------------------


def components(folder: Path) -> Iterator[dict[str, Any]]:
    """The configs of llm_ollama in all JSON files below a folder."""

    def walk(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if value.get("provider") == "llm_ollama" and isinstance(value.get("config"), dict):
                yield value["config"]
            for inner in value.values():
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    for path in sorted(folder.rglob("*")):
        if path.is_file() and "llm_ollama" in (text := path.read_text(errors="replace")):
            try:
                data = json.loads(text)
            except ValueError:
                continue
            yield from walk(data)


@pytest.mark.skipif(not (SHARED / "pipes").is_dir(), reason="../shared/pipes is not here")
def test_every_config_in_public_files_is_read() -> None:
    unique = {json.dumps(config, sort_keys=True): config for config in components(SHARED / "pipes")}
    assert len(unique) == 3
    for written in unique:
        with ScriptedServer([Say("Yes.")]) as server:
            config = json.loads(written.replace("http://localhost:11434", server.url))
            assert ask(config)["answers"] == [Answer("Yes.")]
            assert server.requests[0].model == "llama3.1:8b"
