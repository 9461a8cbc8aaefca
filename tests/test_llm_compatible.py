# SPDX-License-Identifier: MIT
"""The vendors whose API is compatible with OpenAI's: profiles, keys, READMEs, and the configs of real files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketride_core import RunError
from rocketride_core.registry import Registry
from rocketride_core.testing import node_harness

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"
CATALOG = SHARED / "reference" / "catalog.json"
VENDORS = ("deepseek", "gmi_cloud", "perplexity", "qwen", "xai")
OURS = {  # what the catalog does not have
    "deepseek-v4-flash": {"serverbase": "https://api.deepseek.com/v1"},
    "deepseek-v4-pro": {"serverbase": "https://api.deepseek.com/v1"},
    "sonar-deep-research": {"timeout": 600.0, "maxTime": 1200.0},
}


def node_of(vendor: str) -> Any:
    return Registry().find(f"llm_{vendor}")


@pytest.mark.skipif(not CATALOG.is_file(), reason="../shared/reference/catalog.json is not here")
@pytest.mark.parametrize("vendor", VENDORS)
def test_profiles_are_those_of_the_catalog(vendor: str) -> None:
    spec = node_of(vendor).spec
    entry = next(one for one in json.loads(CATALOG.read_text())["services"] if one["name"] == spec.provider)
    assert spec.profiles[0].id == entry["preconfig"]["default"]
    assert {profile.id for profile in spec.profiles} - set(entry["profiles"]) <= ({"custom"} if vendor == "qwen" else set())
    for profile in spec.profiles:
        listed = dict(entry["profiles"].get(profile.id, profile.values))
        assert profile.title == listed.pop("title", profile.title)
        assert profile.values == listed | OURS.get(profile.id, {})
    assert (spec.title, list(spec.categories), list(spec.tile)) == (entry["title"], entry["classType"], entry["tile"])


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_readme_has_each_profile(vendor: str) -> None:
    text = (REPOSITORY / "plugins" / "llm" / vendor / "README.md").read_text()
    rows = re.findall(r"(?m)^\| `([\w-]+)`(?: \(default\))? \| (\S+) \| (\d+) \| (\d+) \| (.*)\|$", text)
    told = [(id, model, int(total), int(output), "warns" in note) for id, model, total, output, note in rows]
    assert told == [
        (
            profile.id,
            profile.values["model"] or "yours",
            profile.values.get("modelTotalTokens", 16384),
            profile.values.get("modelOutputTokens", 4096),
            bool(profile.deprecated),
        )
        for profile in node_of(vendor).spec.profiles
    ]


@pytest.mark.parametrize(
    ("vendor", "config", "said"),
    [
        ("deepseek", {}, "Invalid DeepSeek API key format, please check your API key."),
        ("deepseek", {"serverbase": "https://api.deepseek.com:443/v1/"}, "Invalid DeepSeek API key format"),
        ("xai", {}, "Invalid XAI API key format, please check your API key."),
        ("xai", {"base_url": "https://us-east-1.api.x.ai/v1"}, "Invalid XAI API key format"),
        ("qwen", {"region": "cn"}, 'Invalid DashScope API key. Key must start with "sk-".'),
    ],
)
def test_a_key_of_another_vendor_is_told_before_it_is_sent(vendor: str, config: dict[str, Any], said: str) -> None:
    with pytest.raises(RunError) as caught, node_harness(node_of(vendor), config={"apikey": "gsk_planted", **config}):
        pass
    assert said in str(caught.value)
    assert "planted" not in str(caught.value)
    elsewhere = {**config, "base_url": "https://x.ai.gateway.example/v1"}
    with node_harness(
        node_of(vendor), config={"apikey": "gsk_planted", **{k: v for k, v in elsewhere.items() if k != "serverbase"}}
    ):
        pass


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_vendor_wants_a_key(vendor: str) -> None:
    with (
        pytest.raises(RunError, match=r'There is no API key for .*; write "apikey" in the config'),
        node_harness(node_of(vendor)),
    ):
        pass


def written() -> Iterator[tuple[str, str, Any]]:
    """Every config of these nodes in the files beside the clone."""

    def walk(value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            if str(value.get("provider")).removeprefix("llm_") in VENDORS and isinstance(value.get("config"), dict):
                yield value["provider"].removeprefix("llm_"), value["config"]
            value = list(value.values())
        for one in value if isinstance(value, list) else ():
            yield from walk(one)

    for path in sorted((SHARED / "pipes").rglob("*.pipe")):
        try:
            yield from ((path.name, *one) for one in walk(json.loads(path.read_text())))
        except ValueError:
            continue


@pytest.mark.skipif(not (SHARED / "pipes").is_dir(), reason="../shared/pipes is not here")
def test_configs_of_real_files_are_accepted() -> None:
    seen = set()
    for name, vendor, config in written():
        seen.add(json.dumps(config, sort_keys=True))
        variables = {v: "https://h.example/v1" if "URL" in v else "sk-1" for v in re.findall(r"\$\{(\w+)\}", json.dumps(config))}
        text = re.sub(r"\$\{(\w+)\}", lambda found: variables[found[1]], json.dumps(config))  # noqa: B023
        with node_harness(node_of(vendor), config=json.loads(text)) as harness:
            assert harness.node.config.address.endswith("/v1"), name
    assert len(seen) >= 9


def test_they_are_known_by_their_distributions() -> None:
    known = json.loads((REPOSITORY / "rocketride_core" / "data" / "providers.json").read_text())
    text = json.dumps(known)
    assert not [vendor for vendor in VENDORS if f'"llm_{vendor}": "rocketride-llm-{vendor.replace("_", "-")}"' not in text]
