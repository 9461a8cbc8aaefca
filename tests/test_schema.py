# SPDX-License-Identifier: MIT
"""The JSON Schemas of config classes and of the file: valid themselves, and judging as the loader does."""

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest

from rocketride_core.payloads import Arguments, Json
from rocketride_core.pipefile import inspect_pipe
from rocketride_core.schema import config_schema, pipe_schema
from rocketride_core.settings import ProviderRef, Secret, setting
from rocketride_core.spec import NodeSpec, Profile
from rocketride_core.structure import build, keys_of

jsonschema = pytest.importorskip("jsonschema")


class Color(enum.Enum):
    RED = "red"


@attrs.frozen(kw_only=True)
class Inner:
    a: int = setting(1, ge=0)
    b: str = setting()


@attrs.frozen(kw_only=True)
class Config:
    host: str = setting("localhost", title="Host", doc="Where it is", pattern="[a-z.]+")
    port: int = setting(8000, ge=1, le=65535, aliases=["tcpPort"])
    apikey: Secret = setting(Secret(), widget="password")
    score: float = setting(0.5, ge=0, le=1, unit="similarity", show_if={"mode": "near"})
    mode: str = setting("near", choices=["near", "far"])
    color: Color = setting(Color.RED)
    kind: Literal["x", "y"] = setting("x")
    on: bool = setting(True)
    names: list[str] = setting(["n"])
    levels: Sequence[int] = setting((), ge=1)
    pair: tuple[int, str] = setting((1, "a"))
    inner: Inner | None = setting(None)
    many: dict[str, float] = setting({})
    store: ProviderRef | None = setting(ProviderRef("chroma", {"a": 1}))
    extra: Arguments = setting({})
    anything: Json = setting(None)
    either: int | list[str] = setting(3)
    noted: Annotated[int, "doc"] = setting(1)
    folder: Path = setting(Path("a"))
    must: str = setting()


SPEC = NodeSpec(
    "odd/provider",
    title="Odd",
    description="An odd one",
    aliases=["odd"],
    profiles=(Profile("local", {}, title="Local"), Profile("old", {}, deprecated="Use local.")),
)
NODES: list[tuple[NodeSpec, type[Any] | None]] = [(SPEC, Config), (NodeSpec("chat", title="Chat"), None)]


def errors(schema: Mapping[str, Any], value: Any) -> list[str]:
    jsonschema.Draft202012Validator.check_schema(schema)
    return sorted(error.json_path for error in jsonschema.Draft202012Validator(schema).iter_errors(value))


def pipeline(config: Any, provider: str = "odd/provider") -> dict[str, Any]:
    return {"components": [{"id": "a", "provider": provider, "config": config}]}


def test_a_config_schema_says_what_the_class_says() -> None:
    schema = config_schema(Config)
    jsonschema.Draft202012Validator.check_schema(schema)
    json.dumps(schema)
    assert schema["required"] == ["must"]
    properties = schema["properties"]
    assert set(properties) == keys_of(Config)
    assert properties["host"] == {
        "type": "string",
        "pattern": "^(?:[a-z.]+)$",
        "title": "Host",
        "description": "Where it is",
        "default": "localhost",
    }
    assert properties["port"] == {"type": "integer", "minimum": 1, "maximum": 65535, "default": 8000}
    assert properties["tcpPort"] == {"type": "integer", "minimum": 1, "maximum": 65535, "deprecated": True}
    assert properties["apikey"] == {"type": "string", "format": "password", "writeOnly": True, "x-widget": "password"}
    assert properties["score"]["x-unit"] == "similarity"
    assert properties["score"]["x-show-if"] == {"mode": "near"}
    assert properties["mode"]["enum"] == ["near", "far"]
    assert properties["color"] == {"enum": ["red"], "default": "red"}
    assert properties["names"] == {"type": "array", "items": {"type": "string"}, "default": ["n"]}
    assert properties["levels"]["items"] == {"type": "integer", "minimum": 1}
    assert properties["pair"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert properties["inner"]["anyOf"][0]["required"] == ["b"]
    assert properties["store"]["default"] == {"provider": "chroma", "chroma": {"a": 1}}
    assert properties["anything"] == {}
    assert properties["folder"]["default"] == "a"
    assert "default" not in properties["must"]
    assert config_schema(None) == config_schema(type(None)) == {"type": "object"}


def test_the_default_object_fits_the_schema() -> None:
    schema = config_schema(Config)
    defaults = {key: item["default"] for key, item in schema["properties"].items() if "default" in item}
    assert errors(schema, {**defaults, "must": "x"}) == []
    assert errors(schema, defaults) == ["$"]


VERDICTS: list[tuple[str, Any]] = [
    ("port", 1),
    ("port", "8000"),
    ("port", " 8000 "),
    ("port", "${ROCKETRIDE_PORT}"),
    ("port", None),
    ("port", "x"),
    ("port", 0),
    ("port", 70000),
    ("port", 1.5),
    ("port", True),
    ("port", []),
    ("host", "a.b"),
    ("host", "A"),
    ("host", "${ROCKETRIDE_HOST}"),
    ("host", 3),
    ("apikey", "k"),
    ("apikey", 3),
    ("score", "0.5"),
    ("score", ".5e0"),
    ("score", "half"),
    ("score", 2),
    ("mode", "far"),
    ("mode", "farr"),
    ("mode", "${ROCKETRIDE_M}"),
    ("color", "red"),
    ("color", "blue"),
    ("kind", "y"),
    ("kind", "z"),
    ("on", True),
    ("on", "yes"),
    ("on", "maybe"),
    ("on", 1),
    ("names", []),
    ("names", ["a", 3]),
    ("names", "a"),
    ("levels", ["1", 2]),
    ("levels", [0]),
    ("pair", ["1", "b"]),
    ("pair", [1]),
    ("inner", {"b": "x", "a": "5"}),
    ("inner", {"b": "x", "a": -1}),
    ("inner", {"b": 3}),
    ("inner", "x"),
    ("many", {"a": "1.5"}),
    ("many", {"a": "x"}),
    ("store", {"provider": "p", "p": {}}),
    ("store", {"p": {}}),
    ("store", False),
    ("extra", {"a": [1, {"b": None}]}),
    ("extra", [1]),
    ("anything", [1, {"a": None}]),
    ("either", 3),
    ("either", ["a"]),
    ("either", {"a": 1}),
    ("noted", "x"),
    ("folder", "a/b"),
    ("folder", 3),
    ("nobody", {"x": 1}),
]


@pytest.mark.parametrize(("key", "value"), VERDICTS)
@pytest.mark.parametrize("by_profile", [False, True])
def test_an_editor_judges_as_the_loader_does(key: str, value: Any, by_profile: bool) -> None:
    loaded = "${" in str(value) or not [p for p in build(Config, {"must": "x", key: value})[1] if p.severity == "error"]
    config: dict[str, Any] = {"profile": "local", "local": {key: value}} if by_profile else {key: value}
    path = f"$.components[0].config{'.local' if by_profile else ''}.{key}"
    found = errors(pipe_schema(NODES), pipeline(config))
    assert (not found) is loaded
    assert all(error.startswith(path) for error in found)


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (pipeline({}), []),
        ({"pipeline": {"pipeline": pipeline({}), "id": 1}}, []),
        ({"pipeline": pipeline({"port": "x"})}, ["$.pipeline.components[0].config.port"]),
        (pipeline({}, "odd"), []),
        (pipeline({"port": "x"}, "odd"), ["$.components[0].config.port"]),
        (pipeline({"port": "x"}, "chat"), []),
        (pipeline({}, "default"), []),
        (pipeline({}, "nobody"), ["$.components[0].provider"]),
        (pipeline({"profile": "old"}), []),
        (pipeline({"profile": "${ROCKETRIDE_P}"}), []),
        (pipeline({"profile": "new"}), ["$.components[0].config.profile"]),
        (pipeline({"local": {}, "old": None, "zzz": 3, "type": "x", "parameters": {}}), []),
        (pipeline([]), ["$.components[0].config", "$.components[0].config"]),
        ({"components": []}, []),
        ({"components": [], "version": 2}, ["$.version"]),
        ({"components": [], "version": 1.0, "source": None, "ui": 3}, []),
        ({"nodes": []}, ["$"]),
        ([], ["$", "$"]),
        ({"components": [{"id": "", "provider": "chat"}]}, ["$.components[0]", "$.components[0].id"]),
        (
            {"components": [{"id": "a", "provider": "chat", "config": {}, "input": [{"lane": "t"}], "control": {}}]},
            ["$.components[0].control", "$.components[0].input[0]"],
        ),
    ],
)
def test_the_schema_of_a_file(value: Any, wrong: list[str]) -> None:
    assert errors(pipe_schema(NODES), value) == wrong


def test_what_editors_offer() -> None:
    schema = pipe_schema(iter(NODES))
    assert json.loads(json.dumps(schema)) == schema
    provider = schema["$defs"]["component"]["properties"]["provider"]
    assert provider["enum"] == ["chat", "odd/provider", "odd", "default"]
    assert {"const": "odd", "title": "Odd", "description": "An odd one"} in provider["x-providers"]
    config = schema["$defs"]["configs"]["odd/provider"]
    assert config["title"] == "Odd"
    assert config["properties"]["profile"]["anyOf"][:2] == [
        {"const": "local", "title": "Local"},
        {"const": "old", "title": "old", "deprecated": True, "description": "Use local."},
    ]
    assert "must" in config["properties"]["local"]["properties"]
    assert "required" not in config


@attrs.frozen(kw_only=True)
class Chroma:
    host: str = setting("localhost")
    port: int = setting(8000, ge=1, le=65535)
    collection: str = setting("ROCKETRIDE")
    score: float = setting(0.5, ge=0, le=1)


@attrs.frozen(kw_only=True)
class Response:
    lane_name: str = setting("", key="laneName")


def real_files() -> Iterator[Path]:
    folder = Path(__file__).resolve().parents[2] / "shared" / "pipes"
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def test_real_files_fit() -> None:
    """Of real files nothing is refused but providers that are not installed, and what the loader refuses too."""
    stores = (Profile("local", {}), Profile("cloud", {}))
    nodes: list[tuple[NodeSpec, type[Any] | None]] = [
        *((NodeSpec(name, title=name, profiles=stores), Chroma) for name in ("chroma", "qdrant")),
        *((NodeSpec(f"response_{lane}", title=lane), Response) for lane in ("answers", "text", "documents")),
        *((NodeSpec(name, title=name), None) for name in ("chat", "webhook", "dropper", "parse", "prompt")),
    ]
    validator = jsonschema.Draft202012Validator(pipe_schema(nodes))
    files = [(path, pipe) for path in real_files() for pipe, problems in [inspect_pipe(path)] if not problems]
    if not files:
        pytest.skip("../shared/pipes is not here")
    wrong = [
        (str(path), error.json_path, error.message)
        for path, pipe in files
        for error in validator.iter_errors(pipe.raw)
        if not error.json_path.endswith(".provider")
    ]
    assert wrong == []
    assert len(files) > 200
