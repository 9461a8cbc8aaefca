# SPDX-License-Identifier: MIT
"""llm_openai: the suite of language models, its profiles, and the config shapes of real files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import Answer, Component, Kernel, LaneLink, PipeError, PipeFile, Question, RunError
from rocketride_core.testing import Harness, NodeSuite, node_harness, run_node
from rocketride_llm import LLMNode
from rocketride_llm.testing import LLMSuite, Say, ScriptedServer
from rocketride_llm_openai import OpenAI, encoding_of
from rocketride_llm_openai_api import OpenAIAPI

SHARED = Path(__file__).resolve().parents[5] / "shared"
CATALOG = SHARED / "reference" / "catalog.json"
KEY = "sk-planted-0123456789"

# profile: model, modelTotalTokens, modelOutputTokens, encoding, a reasoning model
MODELS = {
    "openai-5-2": ("gpt-5.2", 400000, 128000, "o200k_base", True),
    "openai-5-4": ("gpt-5.4", 1050000, 128000, "o200k_base", True),
    "openai-5-4-pro": ("gpt-5.4-pro", 1050000, 128000, "o200k_base", True),
    "openai-5-4-mini": ("gpt-5.4-mini", 400000, 128000, "o200k_base", True),
    "openai-5-4-nano": ("gpt-5.4-nano", 400000, 128000, "o200k_base", True),
    "openai-4o": ("gpt-4o", 128000, 16384, "o200k_base", False),
    "openai-4o-mini": ("gpt-4o-mini", 128000, 16384, "o200k_base", False),
    "openai-5": ("gpt-5", 400000, 128000, "o200k_base", True),
    "openai-5-1": ("gpt-5.1", 400000, 128000, "o200k_base", True),
    "openai-5-mini": ("gpt-5-mini", 400000, 128000, "o200k_base", True),
    "openai-5-nano": ("gpt-5-nano", 400000, 128000, "o200k_base", True),
    "gpt-3-5-turbo": ("gpt-3.5-turbo", 16385, 4096, "cl100k_base", False),
    "gpt-3-5-turbo-16k": ("gpt-3.5-turbo-16k", 16385, 4096, "cl100k_base", False),
    "gpt-4": ("gpt-4", 8191, 4096, "cl100k_base", False),
    "gpt-4-1": ("gpt-4.1", 1047576, 32768, "o200k_base", False),
    "gpt-4-1-mini": ("gpt-4.1-mini", 1047576, 32768, "o200k_base", False),
    "gpt-4-1-nano": ("gpt-4.1-nano", 1047576, 32768, "o200k_base", False),
    "gpt-4-turbo": ("gpt-4-turbo", 128000, 4096, "cl100k_base", False),
    "gpt-5-1-chat-latest": ("gpt-5.1-chat-latest", 16384, 16384, "o200k_base", False),
    "gpt-5-2-chat-latest": ("gpt-5.2-chat-latest", 16384, 16384, "o200k_base", False),
    "gpt-5-3-chat-latest": ("gpt-5.3-chat-latest", 16384, 16384, "o200k_base", False),
    "gpt-5-chat-latest": ("gpt-5-chat-latest", 16384, 16384, "o200k_base", False),
    "o1": ("o1", 200000, 100000, "o200k_base", True),
    "o3": ("o3", 200000, 100000, "o200k_base", True),
    "o3-mini": ("o3-mini", 200000, 100000, "o200k_base", True),
    "o4-mini": ("o4-mini", 200000, 100000, "o200k_base", True),
    "gpt-5-5": ("gpt-5.5", 1050000, 128000, "o200k_base", True),
}


class TestOpenAI(LLMSuite):
    node = OpenAI
    wire = "openai"
    environment = {
        "OPENAI_API_KEY": "sk-leaked-key",
        "OPENAI_ADMIN_KEY": "sk-leaked-admin",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_ORG_ID": "org-leaked",
        "OPENAI_PROJECT_ID": "proj-leaked",
        "OPENAI_CUSTOM_HEADERS": "X-Leaked: header-leaked",
    }


class TestAsNode(NodeSuite):
    node = OpenAI

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        with ScriptedServer([Say("Always the same.")], repeat=True) as server:
            type(self).config = {"apikey": KEY, "base_url": server.base_url("openai")}
            yield


def node_of(harness: Harness) -> LLMNode[Any]:
    assert isinstance(harness.node, LLMNode)
    return harness.node


def asked(config: dict[str, Any]) -> tuple[Any, Any]:
    with ScriptedServer([Say("ok")]) as server:
        outputs = run_node(
            OpenAI, config={**config, "base_url": server.base_url("openai")}, send={"questions": [Question.of("q")]}
        )
        assert outputs["answers"] == [Answer("ok")]
        assert not server.unexpected
        return server.chats[0].body, server.chats[0].headers


@pytest.mark.parametrize("profile", MODELS)
def test_every_profile(profile: str) -> None:
    model, total, output, encoding, reasoning = MODELS[profile]
    config = {"profile": profile, profile: {"apikey": KEY}, "parameters": {}}
    with ScriptedServer([Say("ok")]) as server:
        with node_harness(OpenAI, config=config | {"base_url": server.base_url("openai")}) as harness:
            assert harness.run({"questions": [Question.of("q")]})["answers"] == [Answer("ok")]
            assert (harness.node.config.total_tokens, harness.node.config.output_tokens) == (total, output)
            assert node_of(harness).exact_tokens is True
        body, headers = server.chats[0].body, server.chats[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body["model"] == model
    limit = body["max_completion_tokens" if reasoning else "max_tokens"]
    assert output - 100 < limit <= output
    assert {"temperature", "stop", "max_tokens"} & set(body) == (set() if reasoning else {"temperature", "max_tokens"})
    assert encoding_of(model) == encoding


def test_the_default_profile_and_the_order() -> None:
    assert [profile.id for profile in OpenAI.spec.profiles] == [*MODELS, "custom"]
    assert asked({"apikey": KEY})[0]["model"] == "gpt-5.2"


def test_custom_needs_a_model() -> None:
    with pytest.raises(PipeError) as caught:
        asked({"profile": "custom", "custom": {"apikey": KEY}})
    assert "Model name was provided but is empty." in str([problem.message for problem in caught.value.problems])
    body, _ = asked({"profile": "custom", "custom": {"apikey": KEY, "model": "gpt-9-new", "modelTotalTokens": 5000}})
    assert (body["model"], body["max_completion_tokens"]) == ("gpt-9-new", 4096)


def test_a_model_that_is_not_openai_s_is_counted_as_a_guess() -> None:
    with node_harness(OpenAI, config={"apikey": KEY, "model": "maker/model-1"}) as harness:
        assert node_of(harness).exact_tokens is False
        assert node_of(harness).count_tokens("hello world") == 2


@pytest.mark.skipif(not CATALOG.is_file(), reason="../shared/reference/catalog.json is not here")
@pytest.mark.parametrize("node", [OpenAI, OpenAIAPI])
def test_profiles_are_those_of_the_catalog(node: Any) -> None:
    services = json.loads(CATALOG.read_text())["services"]
    entry = next(one for one in services if one["name"] == node.spec.provider)
    profiles = node.spec.profiles
    assert profiles[0].id == entry["preconfig"]["default"]
    assert {profile.id for profile in profiles} == set(entry["profiles"])
    for profile in profiles:
        listed = dict(entry["profiles"][profile.id])
        title = listed.pop("title", profile.title)
        assert profile.title == title
        assert {"base_url": "", **profile.values} == {"base_url": "", **listed}
    assert (node.spec.title, list(node.spec.categories), list(node.spec.tile)) == (
        entry["title"],
        entry["classType"],
        entry["tile"],
    )


def test_a_key_is_asked_for_when_the_pipeline_begins() -> None:
    with pytest.raises(RunError) as caught, node_harness(OpenAI, config={"profile": "openai-5", "openai-5": {"apikey": ""}}):
        pass
    said = 'There is no API key for OpenAI; write "apikey" in the config of node, best as "${ROCKETRIDE_…}"'
    assert said in str(caught.value)


ENV = {"ROCKETRIDE_OPENAI_KEY": KEY, "OPENAI_API_KEY": KEY, "ROCKETRIDE_URL": "http://127.0.0.1:1/v1", "ROCKETRIDE_MODEL": "m"}
SHAPES: list[tuple[str, dict[str, Any], str, str]] = [
    ("llm_openai", {"profile": "openai-5-2", "openai-5-2": {"apikey": "${ROCKETRIDE_OPENAI_KEY}"}, "parameters": {}}, "gpt-5.2", KEY),
    ("llm_openai", {"profile": "openai-4o", "openai-4o": {"apikey": "${ROCKETRIDE_OPENAI_KEY}"}, "parameters": {"google": {}}}, "gpt-4o", KEY),
    ("llm_openai", {"profile": "openai-5", "openai-5": {"apikey": "${ROCKETRIDE_OPENAI_KEY}", "project": "Test"}}, "gpt-5", KEY),
    ("llm_openai", {"profile": "openai-5", "openai-5": {"apikey": "${ROCKETRIDE_OPENAI_KEY}"}, "name": "Reasoning"}, "gpt-5", KEY),
    ("llm_openai", {"baseURL": "http://127.0.0.1:1/v1", "model": "maker/model-4.6", "apikey": "${ROCKETRIDE_OPENAI_KEY}"}, "maker/model-4.6", KEY),
    ("llm_openai", {"apikey": "PLACEHOLDER_SECRET"}, "gpt-5.2", "PLACEHOLDER_SECRET"),
    ("llm_openai_api", {"profile": "custom", "custom": {"model": "${ROCKETRIDE_MODEL}", "base_url": "${ROCKETRIDE_URL}", "apikey": "x", "modelTotalTokens": 32768}}, "m", "x"),
    ("llm_openai_api", {"openai_api.profile": "custom", "base_url": "${ROCKETRIDE_URL}", "model": "${ROCKETRIDE_MODEL}", "modelTotalTokens": 128000, "apikey": "k"}, "m", "k"),
    ("llm_openai_api", {"openai_api.profile": "custom", "base_url": "${ROCKETRIDE_URL}", "model": "${ROCKETRIDE_MODEL}", "modelTotalTokens": 128000}, "m", ""),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "config", "model", "key"), SHAPES)
def test_shapes_of_real_files(provider: str, config: dict[str, Any], model: str, key: str) -> None:
    node = {"llm_openai": OpenAI, "llm_openai_api": OpenAIAPI}[provider]
    with node_harness(node, config=config, env=ENV) as harness:
        assert harness.node.config.model == model
        assert node_of(harness).secret == key
        if provider == "llm_openai_api" or "baseURL" in config:
            assert harness.node.config.address == ENV["ROCKETRIDE_URL"]


def test_a_profile_that_is_none_is_refused() -> None:
    with pytest.raises(PipeError, match="Profile openai-9 is not defined in llm_openai"):
        run_node(OpenAI, config={"profile": "openai-9", "parameters": {"model": "gpt-4o-mini"}})


def configs() -> Iterator[tuple[str, str, Any]]:
    """Every config of the two nodes in the files beside the clone."""

    def walk(value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            if value.get("provider") in ("llm_openai", "llm_openai_api") and isinstance(value.get("config"), dict):
                yield value["provider"], value["config"]
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            yield from walk(one)

    for path in sorted((SHARED / "pipes").rglob("*")):
        if (path.is_file() and ".pipe" in path.name) or path.suffix == ".json":
            try:
                found = json.loads(path.read_text())
            except ValueError:
                continue
            yield from ((path.name, *one) for one in walk(found))


@pytest.mark.skipif(not (SHARED / "pipes").is_dir(), reason="../shared/pipes is not here")
def test_configs_of_real_files_are_accepted() -> None:
    found = [one for one in configs() if one[2].get("profile") != "default"]
    names = set(re.findall(r"\$\{(\w+)\}", json.dumps(found)))
    kernel = Kernel(nodes=[OpenAI, OpenAIAPI], env={name: "http://h" if "URL" in name else "m" for name in names})
    seen, wrong = set(), []
    for name, provider, config in found:
        seen.add(f"{provider} {json.dumps(config, sort_keys=True)}")
        pipe = PipeFile([Component("chat", "chat"), Component("llm", provider, config, input=[LaneLink("questions", "chat")])])
        minor = [("warning", "no-response"), ("warning", "other-variable")]
        wrong += [f"{name}: {p}" for p in kernel.check(pipe, source="chat") if (p.severity, p.code) not in minor]
    assert len(seen) > 20
    assert not wrong
