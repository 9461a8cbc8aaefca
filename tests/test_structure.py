# SPDX-License-Identifier: MIT
"""Values into config classes: what fits, what is said of what does not, and what is never printed."""

import enum
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import attrs
import pytest

from rocketride_core.payloads import Arguments, Json
from rocketride_core.profiles import resolve
from rocketride_core.settings import ProviderRef, Secret, looks_secret, setting, setting_of
from rocketride_core.spec import NodeSpec, Profile
from rocketride_core.structure import build, class_problems, fields_of, keys_of
from rocketride_core.variables import Filled, Variables


class Color(enum.Enum):
    RED = "red"
    ONE = 1


@attrs.frozen(kw_only=True)
class Inner:
    a: int = setting(1, ge=0)
    word: str = setting("w", key="aWord")


@attrs.frozen(kw_only=True)
class Other:
    b: int = setting()


def one(kind: Any, **details: Any) -> type[Any]:
    """A config class with one setting `x` of that type."""
    made: type[Any] = attrs.make_class(
        "One", {"x": attrs.field(type=kind, metadata=cast("Any", setting)(**details).metadata)}, frozen=True
    )
    return made


def texts(kind: Any, value: Any, **details: Any) -> list[str]:
    made, problems = build(one(kind, **details), {"x": value}, at="$.c")
    assert (made is None) == bool(problems)
    assert {p.code for p in problems} <= {"invalid-value", "missing-value"}
    return [f"{p.path}: {p.message}" for p in problems]


def converted(kind: Any, value: Any) -> Any:
    made, problems = build(one(kind), {"x": value})
    assert problems == []
    assert made is not None
    return made.x


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, 3, 3),
        (int, 3.0, 3),
        (int, " -3 ", -3),
        (float, 3, 3.0),
        (float, "1e-3", 0.001),
        (float, ".5", 0.5),
        (bool, True, True),
        (bool, "Yes", True),
        (bool, " off", False),
        (bool, "0", False),
        (str, "3", "3"),
        (str, "", ""),
        (Any, {"a": (1, None)}, {"a": [1, None]}),
        (object, [1], [1]),
        (int | None, "3", 3),
        (int | str, "3", "3"),
        (int | str, 3, 3),
        (str | int, 3, 3),
        (int | bool, True, True),
        (int | float, 3, 3),
        (float | list[float], [1, "2"], [1.0, 2.0]),
        (list[int], ["1", 2], [1, 2]),
        (list, [1, "a"], [1, "a"]),
        (Sequence[str], ["a"], ["a"]),
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (tuple[int, str], ["1", "b"], (1, "b")),
        (tuple[str, ...], [], ()),
        (frozenset[int], [1, 1], frozenset({1})),
        (dict[str, int], {"a": "1"}, {"a": 1}),
        (Mapping[int, list[str]], {"1": ["a"]}, {1: ["a"]}),
        (dict, {"a": None}, {"a": None}),
        (Arguments, {"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        (Literal["a", 3], "3", 3),
        (Literal["a", 3], "a", "a"),
        (Color, "red", Color.RED),
        (Color, "1", Color.ONE),
        (Path, "a/b", Path("a/b")),
        (Annotated[int, "doc"], "3", 3),
        (Secret, "k", Secret("k")),
        (ProviderRef, {"provider": "p", "p": {"a": 1}}, ProviderRef("p", {"a": 1})),
        (ProviderRef, {"provider": "p", "config": {"a": 1}}, ProviderRef("p", {"a": 1})),
        (ProviderRef, {"provider": "p", "p": None, "config": {"a": 1}}, ProviderRef("p")),
        (ProviderRef, {"provider": "p"}, ProviderRef("p")),
        (ProviderRef | None, False, None),
        (Inner, {"a": "5"}, Inner(a=5)),
        (list[Inner], [{}, {"aWord": "z"}], [Inner(), Inner(word="z")]),
        (Inner | None, {}, Inner()),
        (Inner | Other, {"b": 3, "a": -1}, Other(b=3)),
    ],
)
def test_what_fits(kind: Any, value: Any, expected: Any) -> None:
    made = converted(kind, value)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (int, "local", "$.c.x: expected int, got str 'local'"),
        (int, "3.5", "$.c.x: expected int, got str '3.5'"),
        (int, "", "$.c.x: expected int, got str ''"),
        (int, "1_0", "$.c.x: expected int, got str '1_0'"),
        (int, 3.5, "$.c.x: expected int, got float 3.5"),
        (int, True, "$.c.x: expected int, got bool true"),
        (int, "9" * 5000, "$.c.x: expected int, got str '" + "9" * 58 + "…"),
        (float, "nan", "$.c.x: expected float, got str 'nan'"),
        (float, "1e999", "$.c.x: expected float, got str '1e999'"),
        (float, 10**400, "$.c.x: expected float, got int 1" + "0" * 58 + "…"),
        (bool, 1, "$.c.x: expected bool, got int 1"),
        (bool, "maybe", "$.c.x: expected bool, got str 'maybe'"),
        (str, 3, "$.c.x: expected str, got int 3"),
        (str, ["a"], "$.c.x: expected str, got a list"),
        (str, {}, "$.c.x: expected str, got an object"),
        (int | None, "x", "$.c.x: expected int, got str 'x'"),
        (int | bool, "x", "$.c.x: expected int or bool, got str 'x'"),
        (list[str], "abc", "$.c.x: expected a list of str, got str 'abc'"),
        (list[str], {"a": 1}, "$.c.x: expected a list of str, got an object"),
        (list[list[int]], [[1], [2, "z"]], "$.c.x[1][1]: expected int, got str 'z'"),
        (tuple[int, str], [1], "$.c.x: expected 2 items, got 1"),
        (dict[str, int], {"a b": "z"}, "$.c.x[\"a b\"]: expected int, got str 'z'"),
        (dict[str, int], [1], "$.c.x: expected an object, got a list"),
        (Literal["a", "b"], "c", "$.c.x: expected one of 'a', 'b', got str 'c'"),
        (Color, "blue", "$.c.x: expected one of 'red', 1, got str 'blue'"),
        (ProviderRef, "p", "$.c.x: expected an object with a provider, got str 'p'"),
        (ProviderRef, {}, "$.c.x: expected an object with a provider, got an object"),
        (ProviderRef | None, True, "$.c.x: expected an object with a provider, got bool true"),
        (Inner, "x", "$.c.x: expected an object, got str 'x'"),
        (Inner, {"a": -1}, "$.c.x.a: must be at least 0, got -1"),
        (Inner | None, {"aWord": 3}, "$.c.x.aWord: expected str, got int 3"),
        (Inner | Other, {"a": -1}, "$.c.x.a: must be at least 0, got -1"),
        (list[Other], [{"b": 1}, {}], "$.c.x[1].b: a value for 'b' is missing"),
        (Secret, 3, "$.c.x: expected str, got int ***"),
    ],
)
def test_what_does_not_fit(kind: Any, value: Any, said: str) -> None:
    assert texts(kind, value) == [said]


def test_every_item_is_reported() -> None:
    assert texts(list[int], ["a", 1, "b"]) == ["$.c.x[0]: expected int, got str 'a'", "$.c.x[2]: expected int, got str 'b'"]


@pytest.mark.parametrize(
    ("kind", "value", "details", "said"),
    [
        (int, 0, {"ge": 1}, ["must be at least 1, got 0"]),
        (int, "0", {"ge": 1, "unit": "characters"}, ["must be at least 1 characters, got 0"]),
        (float, 1.5, {"le": 1}, ["must be at most 1, got 1.5"]),
        (int, 1, {"ge": 1, "le": 1}, []),
        (bool, False, {"ge": 1}, []),
        (str, "tokns", {"choices": ["strlen", "tokens"]}, ["must be one of 'strlen', 'tokens', got 'tokns'"]),
        (int, 3, {"choices": [1, 2]}, ["must be one of 1, 2, got 3"]),
        (str, "a b", {"pattern": "[a-z]+"}, ["does not match the pattern [a-z]+: 'a b'"]),
        (str, "ab", {"pattern": "[a-z]+"}, []),
        (Secret, "a b", {"pattern": "[a-z]+"}, ["does not match the pattern [a-z]+: ***"]),
    ],
)
def test_limits(kind: Any, value: Any, details: dict[str, Any], said: list[str]) -> None:
    assert texts(kind, value, **details) == [f"$.c.x: {text}" for text in said]


def test_limits_of_lists_hold_for_their_items() -> None:
    assert texts(list[int], [1, 0, 5], ge=1, le=4) == [
        "$.c.x[1]: must be at least 1, got 0",
        "$.c.x[2]: must be at most 4, got 5",
    ]


@attrs.frozen(kw_only=True)
class Store:
    host: str = setting("localhost", aliases=["server"])
    port: int = setting(6333, ge=1, le=65535, title="Port")
    api_key: Secret = setting(key="apikey", title="API key")
    collection: str = setting(title="Collection")
    token: str = setting("")
    names: list[str] = setting(["a"])
    plain: int = 3
    _private: int = 4
    hidden: int = attrs.field(default=5, init=False)


GOOD = {"apikey": "k", "collection": "c"}


def test_keys_aliases_and_defaults() -> None:
    made, problems = build(Store, {**GOOD, "server": "h", "plain": "7", "_private": 8, "port": None})
    assert problems == []
    assert made is not None
    assert (made.host, made.port, made.api_key.reveal(), made.plain, made._private) == ("h", 6333, "k", 7, 8)
    assert build(Store, {**GOOD, "host": "a", "server": "h"})[0] == build(Store, {**GOOD, "host": "a"})[0]
    assert keys_of(Store) == {"host", "server", "port", "apikey", "collection", "token", "names", "plain", "_private"}
    assert (keys_of(None), keys_of(type(None))) == (frozenset(), frozenset())


def test_a_default_list_is_not_shared() -> None:
    first, second = build(Store, GOOD)[0], build(Store, GOOD)[0]
    assert first is not None
    assert second is not None
    first.names.append("b")
    assert second.names == ["a"]


def test_all_problems_in_one_go() -> None:
    made, problems = build(
        Store,
        {"port": "x", "host": 3, "colection": "x"},
        at="$.c.local",
        paths={"port": "$.c.port"},
        component="s",
        file="f.pipe",
    )
    assert made is None
    assert [(p.path, p.code, p.message, p.hint, p.severity) for p in problems] == [
        ("$.c.local.host", "invalid-value", "expected str, got int 3", "", "error"),
        ("$.c.port", "invalid-value", "expected int, got str 'x'", "", "error"),
        (
            "$.c.local.apikey",
            "missing-value",
            "a value for 'apikey' (API key) is missing",
            'write "apikey": "${ROCKETRIDE_APIKEY}"',
            "error",
        ),
        (
            "$.c.local.collection",
            "missing-value",
            "a value for 'collection' (Collection) is missing",
            'write "collection": …',
            "error",
        ),
        ("$.c.local.colection", "unknown-key", "there is no setting 'colection'", "did you mean 'collection'?", "warning"),
    ]
    assert {(p.component, p.file) for p in problems} == {("s", "f.pipe")}


def test_an_empty_secret_that_is_required_is_missing() -> None:
    assert [p.code for p in build(Store, {**GOOD, "apikey": ""})[1]] == ["missing-value"]


@pytest.mark.parametrize(
    ("key", "likely"),
    [
        ("Token", "token"),
        ("tokne", "token"),
        ("to_ken", "token"),
        ("hots", ""),
        ("prot", ""),
        ("api_key", ""),
        ("colection", ""),
        ("toke", "token"),
        ("serverName", ""),
        ("zzz", ""),
        ("name", ""),
        ("type", ""),
        ("parameters", ""),
        ("hosts", ""),
    ],
)
def test_only_a_key_that_looks_misspelt_is_warned(key: str, likely: str) -> None:
    problems = build(Store, {**GOOD, "host": "h", "port": 1, key: 1})[1]
    assert [(p.severity, p.code, p.hint) for p in problems] == (
        [("warning", "unknown-key", f"did you mean '{likely}'?")] if likely else []
    )


def test_a_node_without_a_config_class_takes_anything() -> None:
    assert build(None, {"a": 1}) == (None, [])
    assert build(type(None), {"a": 1}) == (None, [])


def test_values_from_variables_and_secrets_are_never_printed() -> None:
    variables = Variables({"ROCKETRIDE_V": "h4sh", "ROCKETRIDE_N": "99999"}, process={})
    values = {
        "port": "${ROCKETRIDE_N}",
        "host": ["h4sh"],
        "apikey": ["h4sh"],
        "collection": "x${ROCKETRIDE_V}",
        "plain": "${ROCKETRIDE_V}",
    }
    problems = build(Store, variables.substitute({**values, "token": {"h4sh": 1}})[0])[1]
    assert [(p.path, p.message) for p in problems] == [
        ("$.host", "expected str, got a list"),
        ("$.port", "must be at most 65535, got ***"),
        ("$.apikey", "expected str, got a list"),
        ("$.token", "expected str, got an object"),
        ("$.plain", "expected int, got str ***"),
    ]
    made, problems = build(Store, variables.substitute({**GOOD, "apikey": "${ROCKETRIDE_V}", "host": "${ROCKETRIDE_V}"})[0])
    assert (problems, type(made and made.host), made and made.api_key.reveal()) == ([], str, "h4sh")
    assert "h4sh" not in repr(made and made.api_key)
    assert texts(int, variables.substitute("${ROCKETRIDE_V}")[0], choices=[1]) == ["$.c.x: expected int, got str ***"]
    assert build(one(int, key="password"), {"password": "p4ss"})[1][0].message == "expected int, got str ***"


def test_an_unset_variable_gives_no_second_problem() -> None:
    values, unset = Variables({}, process={}).substitute({**GOOD, "port": "${ROCKETRIDE_P}", "collection": "${ROCKETRIDE_C}"})
    assert len(unset) == 2
    assert build(Store, values) == (None, [])
    made, problems = build(Store, {**values, "port": 1})
    assert (problems, made and made.collection) == ([], "${ROCKETRIDE_C}")
    assert build(one(str, pattern="x"), Variables({}, process={}).substitute({"x": "${ROCKETRIDE_P}"})[0])[1] == []


def test_paths_through_profiles_and_merged_objects() -> None:
    config = attrs.make_class("C", {"inner": attrs.field(type=Inner), "port": attrs.field(type=int)})
    spec = NodeSpec("s", title="S", profiles=(Profile("local", {"inner": {"a": 1}}),))
    written = {"profile": "local", "local": {"inner": {"a": "x"}, "port": "local"}, "inner": {"aWord": 3}}
    found = resolve(spec, written, "$.components[5].config", keys=keys_of(config))
    problems = build(config, found.values, at=found.at, paths=found.paths)[1]
    assert [(p.path, p.message) for p in problems] == [
        ("$.components[5].config.local.inner.a", "expected int, got str 'x'"),
        ("$.components[5].config.inner.aWord", "expected str, got int 3"),
        ("$.components[5].config.local.port", "expected int, got str 'local'"),
    ]


@attrs.frozen
class Picky:
    n: int = setting(1)
    password: str = setting("")

    @n.validator  # type: ignore[attr-defined, untyped-decorator, unused-ignore]
    def _even(self, _attribute: Any, value: int) -> None:
        if value % 2 == 0:
            raise ValueError(f"{value} is even")

    @password.validator  # type: ignore[attr-defined, untyped-decorator, unused-ignore]
    def _long(self, _attribute: Any, value: str) -> None:
        if len(value) == 7:
            raise ValueError(f"{value[:5]}… is too short" if "/" not in value else "it begins with http:// and names a host")


def test_validators_of_the_class_are_heard() -> None:
    assert [(p.path, p.message) for p in build(Picky, {"n": 2}, at="$.c")[1]] == [
        ("$.c", "Picky refuses these values: 2 is even")
    ]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"n": 2, "password": "x"}, "Picky refuses these values: 2 is even"),
        ({"n": 3, "password": "hunter2"}, "Picky refuses these values"),
        ({"n": 3, "password": Filled("http://")}, "Picky refuses these values: it begins with http:// and names a host"),
        ({"n": Filled("2")}, "Picky refuses these values"),
    ],
)
def test_what_a_class_says_is_told_unless_it_tells_a_hidden_value(values: dict[str, Any], message: str) -> None:
    (problem,) = build(Picky, values)[1]
    assert problem.message == message


@attrs.frozen(kw_only=True)
class Wrong:
    number: int = setting("x")  # type: ignore[assignment]
    text_number: int = setting("3")  # type: ignore[assignment]
    small: int = setting(0, ge=1)
    nothing: str = setting(None)  # type: ignore[assignment]
    twice: int = setting(1, key="small")
    odd: complex = setting(1j)
    deep: list[dict[str, bytes]] = setting([])


def test_mistakes_of_a_class_are_found_when_it_is_made() -> None:
    assert class_problems(Wrong, [Profile("p", {"number": "y", "port": 1, "small": None})]) == [
        "Wrong.number: its default is wrong: expected int, got str 'x'",
        "Wrong.text_number: its default is wrong: expected int, got str '3'",
        "Wrong.small: its default is wrong: must be at least 1, got 0",
        "Wrong.nothing: its default is wrong: expected str, got null",
        "Wrong.twice: the key 'small' is taken by another setting",
        "Wrong.odd: a setting cannot have the type <class 'complex'>",
        "Wrong.deep: a setting cannot have the type list[dict[str, bytes]]",
        "Wrong: profile 'p': number: expected int, got str 'y'",
        "Wrong: profile 'p' sets 'port', which is no setting",
    ]
    assert class_problems(Store, [Profile("p", {"port": "8000"})]) == []
    assert class_problems(None) == []
    assert class_problems(int) == ["int is not an attrs class; write @attrs.frozen(kw_only=True) above it"]


def typed(**kinds: Any) -> type[Any]:
    made: type[Any] = attrs.make_class("Typed", {name: attrs.field(type=kind) for name, kind in kinds.items()})
    return made


def test_a_type_that_cannot_be_found() -> None:
    made = typed(x="Nowhere")
    assert class_problems(made) == ["Typed: the type 'Nowhere' cannot be found; import it at run time"]


def test_json_annotations_need_no_imports() -> None:
    made = typed(x="Json", y="Mapping[str, Json]")
    assert class_problems(made) == []
    assert build(made, {"x": [1], "y": {"a": [None]}})[0] == made([1], {"a": [None]})


@attrs.frozen
class WithJson:
    any: Json = setting(None)


def test_json_values_come_as_they_are() -> None:
    for value in (None, True, 3, 2.5, "3", [1, "2", [None]], {"a": {"b": [1]}}):
        made, problems = build(WithJson, {"any": value})
        assert (problems, made and made.any) == ([], value)


def test_secrets_show_nothing() -> None:
    secret = Secret("k3y")
    shown = (
        f"{secret} {secret!r} {secret:>5} {[secret]} {Store(api_key=secret, collection='c')} {json.dumps(secret, default=str)}"
    )
    assert "k3y" not in shown
    assert (bool(Secret()), bool(secret), secret == Secret("k3y"), secret == Secret("x"), secret == "k3y") == (
        False,
        True,
        True,
        False,
        False,
    )
    assert len({secret, Secret("k3y")}) == 1
    assert "apikey" not in repr(ProviderRef("p", {"apikey": "k"}))


@pytest.mark.parametrize(
    "name", ["apikey", "API_KEY", "OPENAI_APIKEY", "token", "sshPassphrase", "password", "clientSecret", "bearer"]
)
def test_names_of_secrets(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("name", ["host", "modelTotalTokens", "tokens", "token_limit", "keyword", "path", "passive"])
def test_names_of_other_things(name: str) -> None:
    assert not looks_secret(name)


def test_metadata_of_settings() -> None:
    fields = {field.argument: field for field in fields_of(Store)}
    assert (fields["port"].setting.title, fields["port"].setting.le, fields["port"].required) == ("Port", 65535, False)
    assert (fields["api_key"].keys, fields["api_key"].secret, fields["api_key"].required) == (("apikey",), True, True)
    assert fields["private"].keys == ("_private",)
    assert setting_of(attrs.fields(Store).plain).key == "plain"


@pytest.mark.parametrize(("key", "told"), [("profle", True), ("Profile", True), ("file", False)])
def test_a_misspelt_profile_is_told(key: str, told: bool) -> None:
    @attrs.frozen(kw_only=True)
    class Config:
        model: str = setting("A")

    spec = NodeSpec("embed", title="Embed", profiles=[Profile("small", {"model": "B"}), Profile("large", {"model": "C"})])
    resolved = resolve(spec, {key: "large"}, keys=keys_of(Config))
    _, problems = build(Config, resolved.values, preset=resolved.preset)
    assert [p.hint for p in problems] == (["did you mean 'profile'?"] if told else [])


def test_a_misspelt_key_is_told_though_the_profile_has_a_value_for_the_right_one() -> None:
    @attrs.frozen(kw_only=True)
    class Config:
        collection: str = setting("A")

    spec = NodeSpec("store", title="Store", profiles=[Profile("local", {"collection": "B"})])
    for config, told in [
        ({"profile": "local", "local": {"colection": "C"}}, True),
        ({"colection": "C"}, True),
        ({"profile": "local", "local": {"collection": "D", "colection": "C"}}, False),
    ]:
        resolved = resolve(spec, config, keys=keys_of(Config))
        made, problems = build(Config, resolved.values, preset=resolved.preset)
        assert made is not None
        assert [p.hint for p in problems] == (["did you mean 'collection'?"] if told else []), config
