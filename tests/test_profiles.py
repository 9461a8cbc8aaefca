# SPDX-License-Identifier: MIT
"""From a config as people write it to one set of values: a table of shapes."""

from typing import Any

import attrs
import pytest

from rocketride_core.profiles import Resolved, resolve
from rocketride_core.settings import setting
from rocketride_core.spec import NodeSpec, Profile
from rocketride_core.structure import aliases_of, build, keys_of
from rocketride_core.variables import Variables

LOCAL = Profile("local", {"host": "localhost", "port": 8000, "tls": None, "nested": {"a": 1, "b": {"c": 2}}, "tags": ["x"]})
CLOUD = Profile("cloud", {"host": "", "port": 443, "apikey": ""})
GEMINI = Profile("gemini-3_1-pro", {"model": "g"}, deprecated="Use local.")
SPEC = NodeSpec("store", title="Store", profiles=(LOCAL, CLOUD, GEMINI))
BARE = NodeSpec("bare", title="Bare")
KEYS = {"host", "port", "apikey", "collection", "nested", "tags", "model", "tls", "mode"}
PRESET = {"host": "localhost", "port": 8000, "nested": {"a": 1, "b": {"c": 2}}, "tags": ["x"]}
CLOUDY = {"host": "", "port": 443, "apikey": ""}
JUNK = {"type": "store", "mode": "Source", "hideForm": True, "name": "My store", "parameters": {"google": {}}}


def resolved(config: dict[str, Any], spec: NodeSpec = SPEC, keys: set[str] = KEYS) -> Resolved:
    return resolve(spec, config, "$.c", keys=keys)


@pytest.mark.parametrize(
    ("config", "values", "profile", "at"),
    [
        pytest.param({}, PRESET, "local", "$.c", id="empty"),
        pytest.param(JUNK, PRESET, "local", "$.c", id="only what editors write"),
        pytest.param({"port": 7000}, {**PRESET, "port": 7000}, "local", "$.c", id="flat"),
        pytest.param({"profile": None, "port": 7000}, {**PRESET, "port": 7000}, "local", "$.c", id="null profile"),
        pytest.param({"profile": "cloud"}, CLOUDY, "cloud", "$.c", id="profile only"),
        pytest.param({"profile": "cloud", "cloud": None}, CLOUDY, "cloud", "$.c", id="null block"),
        pytest.param({"profile": "cloud", "cloud": {"port": 1}}, {**CLOUDY, "port": 1}, "cloud", "$.c.cloud", id="block"),
        pytest.param(
            {"profile": "local", "port": 7000, **JUNK}, {**PRESET, "port": 7000}, "local", "$.c", id="flat beside profile"
        ),
        pytest.param(
            {"profile": "local", "port": 1, "collection": "x", "local": {"port": 2}},
            {**PRESET, "port": 2, "collection": "x"},
            "local",
            "$.c.local",
            id="with profile the block beats flat siblings",
        ),
        pytest.param(
            {"port": 1, "local": {"port": 2, "collection": "x"}},
            {**PRESET, "port": 1, "collection": "x"},
            "local",
            "$.c.local",
            id="without profile top-level beats the default profile's block",
        ),
        pytest.param({"default": {"port": 2}}, {**PRESET, "port": 2}, "local", "$.c", id="a block named default"),
        pytest.param(
            {"default": {"port": 2}, "local": {"port": 3}},
            {**PRESET, "port": 3},
            "local",
            "$.c.local",
            id="its name wins over default",
        ),
        pytest.param(
            {"cloud": {"apikey": "k"}}, {**CLOUDY, "apikey": "k"}, "cloud", "$.c.cloud", id="the only other known profile"
        ),
        pytest.param(
            {"cloud": {"apikey": "k"}, "port": 1},
            {**CLOUDY, "apikey": "k", "port": 1},
            "cloud",
            "$.c.cloud",
            id="and top-level beats it",
        ),
        pytest.param(
            {"cloud": {"apikey": "k"}, "gemini-3_1-pro": {"apikey": "k"}},
            PRESET,
            "local",
            "$.c",
            id="two other profiles say nothing",
        ),
        pytest.param(
            {"profile": "local", "local": {"port": 1}, "cloud": {"port": 2}, "default": {"port": 3}},
            {**PRESET, "port": 1},
            "local",
            "$.c.local",
            id="left-over blocks",
        ),
        pytest.param(
            {"profile": "local", "port": None, "host": "h", "local": {"port": None, "host": None}},
            {**PRESET, "host": "h"},
            "local",
            "$.c.local",
            id="null never overrides",
        ),
        pytest.param(
            {"port": 0, "host": "", "tags": [], "nested": {"a": False}},
            {"port": 0, "host": "", "tags": [], "nested": {"a": False, "b": {"c": 2}}},
            "local",
            "$.c",
            id="0, empty text, false and empty list do",
        ),
        pytest.param(
            {"profile": "local", "nested": {"b": {"d": 4}, "a": 5}, "local": {"nested": {"a": 6}}},
            {**PRESET, "nested": {"a": 6, "b": {"c": 2, "d": 4}}},
            "local",
            "$.c.local",
            id="objects are merged",
        ),
        pytest.param({"nested": 3}, {**PRESET, "nested": 3}, "local", "$.c", id="a scalar in place of an object"),
        pytest.param({"host": {"x": 1}}, {**PRESET, "host": {"x": 1}}, "local", "$.c", id="an object in place of a scalar"),
        pytest.param(
            {"parameters": {"port": 1, "google": {}, "host": None, "type": "x"}},
            {**PRESET, "port": 1},
            "local",
            "$.c",
            id="parameters",
        ),
        pytest.param(
            {"parameters": {"port": 1}, "store.port": 2}, {**PRESET, "port": 2}, "local", "$.c", id="dotted beats parameters"
        ),
        pytest.param({"port": 3, "store.port": 2}, {**PRESET, "port": 3}, "local", "$.c", id="flat beats dotted"),
        pytest.param({"store.profile": "cloud", "store.port": 2}, {**CLOUDY, "port": 2}, "cloud", "$.c", id="dotted profile"),
        pytest.param(
            {"parameters": {"store": {"profile": "cloud", "cloud": {"apikey": "k"}, "port": 9}}},
            {**CLOUDY, "apikey": "k", "port": 9},
            "cloud",
            "$.c",
            id="a whole config under the provider in parameters",
        ),
        pytest.param(
            {"parameters": {"profile": "cloud", "cloud": {"port": 9}, "apikey": "k"}},
            {**CLOUDY, "apikey": "k", "port": 9},
            "cloud",
            "$.c",
            id="profile and block in parameters",
        ),
        pytest.param(
            {"profile": "local", "parameters": {"store": {"profile": "cloud", "cloud": {"port": 9}}}},
            PRESET,
            "local",
            "$.c",
            id="the profile of the config itself wins over one in parameters",
        ),
        pytest.param(
            {"local": {"port": 7}, "parameters": {"profile": "cloud", "port": 9}},
            {**PRESET, "port": 7},
            "local",
            "$.c.local",
            id="and so does a block of it",
        ),
        pytest.param(
            {"parameters": {"profile": "zzz"}}, PRESET, "local", "$.c", id="a profile in parameters that is none is junk"
        ),
        pytest.param({"mode": "tokens"}, {**PRESET, "mode": "tokens"}, "local", "$.c", id="a setting named like bookkeeping"),
        pytest.param({"colection": "x"}, {**PRESET, "colection": "x"}, "local", "$.c", id="unknown keys are kept"),
    ],
)
def test_shapes(config: dict[str, Any], values: dict[str, Any], profile: str, at: str) -> None:
    found = resolved(config)
    assert (found.values, found.profile, found.at, found.problems) == (values, profile, at, ())


@pytest.mark.parametrize(
    ("config", "values"),
    [
        ({}, {}),
        ({"a": 1, "x.y": 2, **JUNK}, {"a": 1, "x.y": 2}),
        ({"default": {"a": 1}, "a": None}, {"a": 1}),
        ({"profile": "default", "default": {"a": 1}, "a": 2, "b": 3}, {"a": 1, "b": 3}),
        ({"parameters": {"a": 1, "secureParameters": {"token": "x"}, "empty": {}}}, {"a": 1}),
        ({"parameters": 3}, {}),
    ],
)
def test_a_node_without_profiles_or_config_class(config: dict[str, Any], values: dict[str, Any]) -> None:
    found = resolved(config, BARE, set())
    assert (found.values, found.profile, found.problems) == (values, "", ())


def test_paths_say_where_each_value_stands() -> None:
    found = resolved(
        {
            "profile": "local",
            "local": {"nested": {"a": 6}, "host": "h"},
            "nested": {"b": {"d": 4}},
            "collection": "x",
            "store.apikey": "k",
            "parameters": {"model": "m"},
        }
    )
    assert found.paths == {
        "host": "$.c.local.host",
        "nested": "$.c.local.nested",
        "$.c.local.nested.b": "$.c.nested.b",
        "$.c.nested.b.c": "$.c.local.nested.b.c",
        "collection": "$.c.collection",
        "apikey": '$.c["store.apikey"]',
        "model": "$.c.parameters.model",
        "port": "$.c.local.port",
        "tags": "$.c.local.tags",
    }


def test_which_values_take_effect() -> None:
    found = resolved(
        {"profile": "local", "local": {"nested": {"a": 1}}, "cloud": {"apikey": "k"}, "nested": {"a": 2, "z": 3}, "tags": [1]}
    )
    used = {"$.c.local.nested.a", "$.c.nested.z", "$.c.tags", "$.c.tags[0]", "$.c.tags[0].deep"}
    unused = {"$.c.cloud.apikey", "$.c.nested.a", "$.c.tagsy", "$.c.profile", "$.c"}
    assert {path for path in used | unused if found.uses(path)} == used


@pytest.mark.parametrize(
    ("config", "path", "code", "message", "hint"),
    [
        (
            {"profile": "lokal"},
            "$.c.profile",
            "unknown-profile",
            "Profile lokal is not defined in store",
            "did you mean local? it has: local, cloud, gemini-3_1-pro",
        ),
        (
            {"store.profile": "zzz"},
            '$.c["store.profile"]',
            "unknown-profile",
            "Profile zzz is not defined in store",
            "it has: local, cloud",
        ),
        ({"profile": ""}, "$.c.profile", "invalid-value", "'profile' must be a non-empty string", ""),
        ({"profile": 3}, "$.c.profile", "invalid-value", "'profile' must be a non-empty string", ""),
        (
            {"profile": "cloud", "cloud": "x"},
            "$.c.cloud",
            "invalid-value",
            "config missing profile object 'cloud'",
            "in an object",
        ),
    ],
)
def test_errors(config: dict[str, Any], path: str, code: str, message: str, hint: str) -> None:
    (problem,) = resolved(config).problems
    assert (problem.path, problem.code, problem.message, problem.severity) == (path, code, message, "error")
    assert hint in problem.hint


def test_default_means_the_default_profile_whatever_its_name_is() -> None:
    found = resolved({"profile": "default", "default": {"port": 7}, "host": "h"})
    assert (found.values, found.profile) == ({**PRESET, "port": 7, "host": "h"}, "local")
    (problem,) = found.problems
    assert (problem.code, problem.severity, problem.hint) == ("unknown-profile", "warning", "write 'local'")


def test_after_an_unknown_profile_the_default_one_goes_on() -> None:
    found = resolved({"profile": "lokal", "lokal": {"port": 1}, "host": "h"})
    assert (found.values, found.profile) == ({**PRESET, "port": 1, "host": "h"}, "local")


def test_a_node_without_profiles_names_none() -> None:
    (problem,) = resolved({"profile": "latin"}, BARE).problems
    assert (problem.code, problem.hint) == ("unknown-profile", "it has no profiles: leave `profile` out")


@pytest.mark.parametrize(
    ("spec", "config", "path", "message"),
    [
        (SPEC, {"profile": "gemini-3_1-pro"}, "$.c.profile", 'Profile "gemini-3_1-pro" is deprecated. Use local.'),
        (SPEC, {"gemini-3_1-pro": {}}, "$.c", 'Profile "gemini-3_1-pro" is deprecated. Use local.'),
        (NodeSpec("x", title="X", profiles=(GEMINI,)), {}, "$.c", 'Default profile "gemini-3_1-pro" is deprecated. Use local.'),
    ],
)
def test_a_deprecated_profile_is_a_warning(spec: NodeSpec, config: dict[str, Any], path: str, message: str) -> None:
    found = resolved(config, spec)
    (problem,) = found.problems
    assert (problem.path, problem.code, problem.message, problem.severity) == (path, "deprecated-profile", message, "warning")
    assert found.values == {"model": "g"}


@pytest.mark.parametrize("name", ["pro", "1-pro"])
def test_a_block_named_after_the_tail_of_a_dotted_profile_is_used_with_a_warning(name: str) -> None:
    spec = NodeSpec("llm", title="LLM", profiles=(LOCAL, attrs_like("gemini-3_1-pro"), attrs_like("other.pro")))
    profile = "gemini-3_1-pro" if name == "1-pro" else "other.pro"
    found = resolved({"profile": profile, name: {"apikey": "k", "model": "tail"}, "model": "flat"}, spec)
    assert found.values == {"model": "tail", "apikey": "k"}
    assert found.paths["apikey"] == f"$.c.{name}.apikey"
    (problem,) = found.problems
    assert (problem.path, problem.code, problem.severity) == (f"$.c.{name}", "misnamed-block", "warning")
    assert profile in problem.message


def attrs_like(id: str) -> Profile:
    return Profile(id, {"model": "preset"})


def test_the_right_block_beats_the_misnamed_one() -> None:
    spec = NodeSpec("llm", title="LLM", profiles=(attrs_like("g_1-pro"),))
    found = resolved({"profile": "g_1-pro", "1-pro": {"model": "a", "apikey": "k"}, "g_1-pro": {"model": "b"}}, spec)
    assert found.values == {"model": "b", "apikey": "k"}


def test_a_profile_from_a_variable_works_and_is_not_shown() -> None:
    variables = Variables({"ROCKETRIDE_P": "cloud", "ROCKETRIDE_BAD": "hushed"}, process={})
    for text, profile, codes in (
        ("${ROCKETRIDE_P}", "cloud", []),
        ("${ROCKETRIDE_BAD}", "local", ["unknown-profile"]),
        ("${ROCKETRIDE_UNSET}", "local", []),
    ):
        found = resolved(variables.substitute({"profile": text}, "$.c")[0])
        assert (found.profile, [p.code for p in found.problems]) == (profile, codes)
        assert "hushed" not in str(found.problems)


def test_nothing_given_is_changed() -> None:
    config = {"nested": {"z": 1}}
    found = resolved(config)
    assert found.values["nested"] == {"a": 1, "b": {"c": 2}, "z": 1}
    assert config == {"nested": {"z": 1}}
    assert LOCAL.values["nested"] == {"a": 1, "b": {"c": 2}}


@pytest.mark.parametrize(
    ("config", "url"),
    [
        ({"address": "mine"}, "mine"),
        ({"profile": "p", "address": "mine"}, "mine"),
        ({"profile": "p", "p": {"address": "mine"}}, "mine"),
        ({"profile": "p", "p": {"address": "block"}, "url": "flat"}, "block"),
        ({"profile": "p", "p": {"url": "block"}, "address": "flat"}, "block"),
        ({"url": "first", "address": "second"}, "first"),
        ({"profile": "p", "address": None}, "preset"),
    ],
)
def test_an_alias_is_as_strong_as_the_key_it_stands_for(config: dict[str, Any], url: str) -> None:
    @attrs.frozen(kw_only=True)
    class Config:
        url: str = setting("default", aliases=["address"])

    spec = NodeSpec("n", title="N", profiles=(Profile("p", {"url": "preset"}),))
    found = resolve(spec, config, "$.c", keys=keys_of(Config), aliases=aliases_of(Config))
    made, problems = build(Config, found.values, at=found.at, paths=found.paths)
    assert not problems
    assert made is not None
    assert made.url == url
