# SPDX-License-Identifier: MIT
"""The node: its arguments, its config, its secrets, and the files that people have written."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fastjsonschema
import jsonschema
import pytest

from rocketride_core import (
    Component,
    Kernel,
    PipeFile,
    Secret,
    ToolInput,
    hookimpl,
)
from rocketride_core.testing import NodeSuite, node_harness
from rocketride_tool_http_request import HttpRequest, HttpRequestConfig
from rocketride_tool_http_request.arguments import normalised
from rocketride_tool_http_request.concealed import Scrubber, conceal, is_secret, revealed
from rocketride_tool_http_request.config import METHODS

PIPES = Path(__file__).resolve().parents[4] / "shared" / "pipes"
PLANTED = "planted-secret-77"


class TestHttpRequest(NodeSuite):
    node = HttpRequest
    config = {"urlWhitelist": ["https://api.example.com/"]}


# ---- arguments


@pytest.mark.parametrize(
    ("arguments", "path", "said"),
    [
        ([], "$", "Tool input must be a JSON object (dict)"),
        ("x", "$", "Tool input must be a JSON object (dict)"),
        (None, "$", "Tool input must be a JSON object (dict)"),
        ({"input": "x"}, "$", "Tool input must be a JSON object (dict)"),
        ({}, "$.method", "method is required and must be a non-empty string"),
        ({"method": " ", "url": "http://h"}, "$.method", "method is required and must be a non-empty string"),
        ({"method": 5, "url": "http://h"}, "$.method", "method is required and must be a non-empty string"),
        ({"method": "BREW", "url": "http://h"}, "$.method", f"method must be one of {sorted(METHODS)}; got 'BREW'"),
        ({"method": "GET"}, "$.url", "url is required and must be a non-empty string"),
        ({"method": "GET", "url": ""}, "$.url", "url is required and must be a non-empty string"),
        ({"method": "GET", "url": ["http://h"]}, "$.url", "url is required and must be a non-empty string"),
        ({"auth": 5}, "$.auth", "auth must be a JSON object"),
        ({"auth": {"type": 5}}, "$.auth.type", "auth.type must be a string"),
        ({"auth": {"type": "x"}}, "$.auth.type", "auth.type must be one of ['api_key', 'basic', 'bearer', 'none']"),
        ({"auth": {"type": "basic"}}, "$.auth.basic", "auth.basic must be a JSON object with username and password"),
        ({"basic_auth": {"username": "u"}}, "$.auth.basic", "auth.basic must be a JSON object with username and password"),
        ({"bearer_token": 5}, "$.auth.bearer", "auth.bearer must be a JSON object with token"),
        ({"bearer_token": "a\r\nX: y"}, "$.auth.bearer", "auth.bearer must not hold line breaks or control characters"),
        ({"body": 5}, "$.body", "body must be a JSON object"),
        (
            {"body": {"type": "x"}},
            "$.body.type",
            "body.type must be one of ['form_data', 'none', 'raw', 'x_www_form_urlencoded']",
        ),
        ({"body": {"type": "raw", "raw": "x"}}, "$.body.raw", "body.raw must be a JSON object"),
        (
            {"body": {"type": "raw", "raw": {"content_type": "x"}}},
            "$.body.raw.content_type",
            "body.raw.content_type must be one of ['application/json', 'application/xml', 'text/html', 'text/javascript', 'text/plain']",
        ),
        ({"body_json": 5}, "$.body_json", "body_json must be a JSON object, an array, or a text"),
        ({"timeout": "soon"}, "$.timeout", "timeout must be a number of seconds above 0, and at most 300"),
        ({"timeout": 0}, "$.timeout", "timeout must be a number of seconds above 0, and at most 300"),
        ({"timeout": True}, "$.timeout", "timeout must be a number of seconds above 0, and at most 300"),
        ({"headers": []}, "$.headers", "headers must be a JSON object"),
        ({"headers": {"a": [1]}}, "$.headers.a", "headers.a must be a text, a number or a truth value"),
        ({"headers": {"a": "x\r\nEvil: 1"}}, "$.headers.a", "headers.a must not hold line breaks or control characters"),
        ({"headers": {"a\r\n": "x"}}, "$.headers", "headers has a name that HTTP does not allow: letters, digits and - only"),
        ({"query_params": {"a": {}}}, "$.query_params.a", "query_params.a must be a text, a number or a truth value"),
        ({"form_data": {}}, "$.form_data", "form_data is no argument of this tool; there are url, method, query_params, "),
        ({"url": "http://h/:id", "path_params": {"id": ".."}}, "$.path_params.id", "path_params.id must not be empty, '.' or"),
        ({"url": "example.com/x"}, "$.url", "url must be a valid absolute URL, as https://api.example.com/items"),
        ({"url": "http://h:99999/"}, "$.url", "url must be a valid absolute URL, as https://api.example.com/items"),
        ({"url": f"http://h/{'x' * 20_000}"}, "$.url", "url must be a valid absolute URL, as https://api.example.com/items"),
        ({"url": "http:///x"}, "$.url", "url must "),
        ({"url": "ftp://h/x"}, "$.url", "url must begin with http:// or https:// and name a host"),
        ({"url": "file:///etc/passwd"}, "$.url", "url must "),
        ({"url": "http://a b/"}, "$.url", "url must "),
        ({"url": "http://h/\r\nX: y"}, "$.url", "url must not hold backslashes, line breaks or control characters"),
        ({"url": "http://h\\@evil.test/"}, "$.url", "url must not hold backslashes, line breaks or control characters"),
        (
            {"url": f"http://u:{PLANTED}@h/"},
            "$.url",
            "url must not hold a user name or password; give them as basic_auth",
        ),
        ({"headers": {"Host": "evil.test"}}, "$.headers.Host", "headers.Host must be the host of the url; leave it out"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_arguments_that_are_refused(arguments: Any, path: str, said: str) -> None:
    if isinstance(arguments, dict) and arguments and "method" not in arguments and "input" not in arguments:
        arguments = {"method": "GET", "url": "http://h/", **arguments}
    with node_harness(HttpRequest, called=True) as harness, pytest.raises(ToolInput) as caught:
        harness.node.tool.checked(arguments)  # type: ignore[attr-defined]
    assert str(caught.value).startswith(said)
    assert caught.value.path == path
    assert PLANTED not in str(caught.value)


def test_arguments_in_several_shapes() -> None:
    plain = {"method": "GET", "url": "http://h/", "headers": {"a": "1"}}
    for given in (
        {"method": " get ", "url": " http://h/ ", "headers": {"a": 1, "b": None}, "body": None, "security_context": {"u": 1}},
        {"input": {**plain, "timeout": None}},
        {"input": json.dumps(plain), "security_context": {}},
        {**plain, "headers": '{"a": "1"}', "url": "http://h/#fragment"},
    ):
        assert normalised(given) == plain
    assert normalised({**plain, "timeout": "900"})["timeout"] == 300
    assert normalised({**plain, "timeout": 2})["timeout"] == 2


MANY: list[dict[str, Any]] = [
    {"url": f"http://h/?a=1&api_key={PLANTED}&sig={PLANTED}&api_key=x%20y#t"},
    {"headers": {"Authorization": PLANTED, "X-Auth-Token": PLANTED, "Cookie": PLANTED, "Accept": "x"}},
    {"bearer_token": PLANTED},
    {"basic_auth": {"username": "u", "password": PLANTED}},
    {"auth": {"type": "api_key", "api_key": {"key": "X", "value": PLANTED}}},
    {"query_params": {"access_token": PLANTED, "n": 1}, "path_params": {"token": PLANTED}},
    {"body_json": {"user": {"password": PLANTED, "tokens": [{"a": PLANTED}], "name": "x"}}},
    {"body_json": f'{{"password": "{PLANTED}"}}'},
    {"body": {"type": "raw", "raw": {"content": f'[{{"client_secret": "{PLANTED}"}}]'}}},
    {"body": {"type": "x_www_form_urlencoded", "urlencoded": {"client_secret": PLANTED, "grant": "x"}}},
    {"body": {"type": "form_data", "form_data": {"apiKey": PLANTED}}},
]


@pytest.mark.parametrize("arguments", MANY, ids=str)
def test_checked_arguments_hold_no_secret_in_the_open(arguments: dict[str, Any]) -> None:
    given = {"method": "POST", "url": "http://h/", **arguments}
    if "tokens" in str(arguments):
        given["body_json"]["user"]["tokens"] = ["x"]
    found = normalised(given)
    assert PLANTED not in repr(found)
    assert PLANTED in repr(revealed(found))
    assert normalised(found) == found, "a host plugin may hand it in again"


def test_what_is_a_secret() -> None:
    secret = (
        "Authorization Proxy-Authorization Cookie X-API-Key apikey api_key key token access_token id_token X-Amz-Signature sig"
    )
    secret += " password passwd client_secret Ocp-Apim-Subscription-Key X-Amz-Credential auth"
    plain = "Accept Content-Type author page_token nextPageToken max_tokens keyword q id monkey signal Authority"
    assert [name for name in secret.split() if not is_secret(name)] == []
    assert [name for name in plain.split() if is_secret(name)] == []
    assert conceal({"a": [{"token": ["x"]}]}) == {"a": [{"token": [Secret("x")]}]}


def test_scrubbing() -> None:
    scrub = Scrubber(["own key", "abc", 'q"uote'], ["Bearer given-token-1", "word"])
    assert scrub('own key own%20key abc q\\"uote given-token-1 word b3duIGtleQ==') == "*** *** abc *** *** word ***"
    assert Scrubber([])("x") == "x"


# ---- the schema


def test_the_schema_says_what_the_tool_takes(server: Any, open_agent: Any) -> None:
    with open_agent() as agent:
        tool = agent.tool
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        fastjsonschema.compile(dict(tool.input_schema))
        assert tool.input_schema["required"] == ["url", "method"]
        assert all(one["description"] for one in tool.input_schema["properties"].values())
        takes = jsonschema.Draft202012Validator(tool.input_schema)
        for arguments in MANY:
            takes.validate({"method": "POST", "url": "http://h/", **arguments})
        for wrong in ({"method": "BREW"}, {"timeout": 301}, {"timeout": 0}, {"auth": {}}, {"extra": 1}):
            assert list(takes.iter_errors({"method": "POST", "url": "http://h/", **wrong})), wrong
        jsonschema.validate(agent.get(server.url), tool.output_schema)
        assert tool.concurrent


# ---- secrets


def everything(records: list[Any], agent: Any, outcome: Any) -> str:
    return repr([records, outcome, agent.last.to_json(), agent.last.warnings, agent.last.usage])


@pytest.mark.parametrize("arguments", MANY, ids=str)
def test_no_trace_and_no_result_holds_what_the_model_gave(server: Any, open_agent: Any, arguments: dict[str, Any]) -> None:
    records: list[Any] = []
    arguments = {**arguments, "url": arguments.get("url", "http://h/").replace("http://h", server.url)}
    with open_agent(trace=records.append) as agent:
        outcome = agent.call(method="POST", **arguments)
        assert outcome["status_code"] == 200
        found = everything(records, agent, outcome)
    sent = repr(server.seen)
    assert PLANTED in sent or "cGxhbnRlZC1zZWNyZXQ" in sent or "dTpwbGFudGVk" in sent, "the server got it"
    assert "***" in found
    assert PLANTED not in found
    assert "dTpwbGFudGVk" not in found, "not in base64 either"
    [call] = [record for record in records if record["kind"] == "tool"]
    assert call["arguments"].startswith('{"method": "POST", "url": "http://127.0.0.1:'), "what is no secret is there"


@pytest.mark.parametrize(
    ("config", "header", "value"),
    [
        ({"authType": "bearer", "token": PLANTED}, "Authorization", f"Bearer {PLANTED}"),
        ({"authType": "basic", "username": "u", "password": PLANTED}, "Authorization", "Basic dTpwbGFudGVkLXNlY3JldC03Nw=="),
        ({"authType": "api_key", "apikey": PLANTED}, "X-API-Key", PLANTED),
        ({"headers": {"Cookie": PLANTED}}, "Cookie", PLANTED),
        ({"headers": {"Authorization": f"Token {PLANTED}"}}, "Authorization", f"Token {PLANTED}"),
    ],
    ids=str,
)
def test_credentials_of_the_config(
    server: Any, other: Any, open_agent: Any, config: dict[str, Any], header: str, value: str
) -> None:
    records: list[Any] = []
    server.answers["/leave"] = lambda handler: handler.reply(b"", 307, [("Location", f"{other.url}/x")])
    other.answers["/back"] = lambda handler: handler.reply(b"", 307, [("Location", f"{server.url}/x")])
    with open_agent(trace=records.append, authOrigins=[server.url], **config) as agent:
        got = agent.get(f"{server.url}/echo", headers={header: "of the model"})
        found = everything(records, agent, got) + repr(agent.node.config)
        agent.get(f"{server.url}/leave")
        agent.get(f"{other.url}/back")
        agent.get(other.url)
        assert PLANTED not in agent.tool.description + repr(agent.tool)
    assert [seen.headers.get(header) for seen in server.seen] == [value] * 3
    assert not [seen for seen in other.seen if header in seen.headers]
    assert got["json"]["headers"][header].endswith("***"), "a server that repeats it gives nothing away"
    assert PLANTED not in found
    assert "dTpwbGFudGVk" not in found


def test_an_api_key_of_the_config_in_the_query(server: Any, open_agent: Any) -> None:
    config = {"authType": "api_key", "apikey": PLANTED, "apikeyName": "appid", "apikeyIn": "query_param"}
    server.answers["/a"] = lambda handler: handler.reply(b"", 302, [("Location", "/b")])
    with open_agent(authOrigins=[server.url], urlWhitelist=[f"^{server.url}/.*$"], **config) as agent:
        got = agent.get(f"{server.url}/a?q=1")
    assert [seen.path for seen in server.seen] == [f"/a?q=1&appid={PLANTED}", f"/b?appid={PLANTED}"]
    assert PLANTED not in repr(got)
    assert got["url"] == f"{server.url}/b"


def test_secrets_from_variables_and_plain_headers(server: Any, open_agent: Any) -> None:
    with open_agent(
        env={"ROCKETRIDE_KEY": PLANTED},
        authType="bearer",
        token="${ROCKETRIDE_KEY}",
        authOrigins=[server.url],
        headers={"X-Client": "demo"},
    ) as agent:
        agent.get(server.url)
    assert server.seen[0].headers["Authorization"] == f"Bearer {PLANTED}"
    assert server.seen[0].headers["X-Client"] == "demo"


def test_failures_hold_no_secret(open_agent: Any) -> None:
    records: list[Any] = []
    with open_agent(trace=records.append) as agent:
        for url in (f"http://127.0.0.1:1/x?token={PLANTED}", f"http://10.0.0.0.0/{PLANTED}"):
            error = agent.call(method="GET", url=url, bearer_token=PLANTED)
            assert PLANTED not in repr(error)
        assert PLANTED not in repr([record for record in records if "10.0.0.0.0" not in str(record)])


class Auditor:
    """A host plugin around every call: it sees no secret, and what it rewrites is checked again."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    @hookimpl(wrapper=True)
    def invoke_tool(self, instance: Any, name: str, arguments: Any) -> Any:
        self.seen.append(repr(arguments))
        return (yield)


def test_host_plugins(server: Any, open_agent: Any) -> None:
    auditor = Auditor()
    with open_agent(plugins=[auditor]) as agent:
        assert agent.get(server.url, bearer_token=PLANTED)["status_code"] == 200
    assert server.seen[0].headers["Authorization"] == f"Bearer {PLANTED}"
    assert len(auditor.seen) == 1
    assert "***" in auditor.seen[0]
    assert PLANTED not in auditor.seen[0]


class Rewriter:
    """Sends every call elsewhere."""

    @hookimpl(tryfirst=True)
    def invoke_tool(self, instance: Any, name: str, arguments: Any) -> Any:
        arguments["url"] = arguments["url"].replace("/from", "/to")


def test_what_a_host_plugin_rewrites_keeps_its_secrets(server: Any, open_agent: Any) -> None:
    with open_agent(plugins=[Rewriter()]) as agent:
        agent.get(f"{server.url}/from", bearer_token=PLANTED)
    assert server.seen[0].path == "/to"
    assert server.seen[0].headers["Authorization"] == f"Bearer {PLANTED}"


# ---- the config


def test_the_defaults() -> None:
    config = HttpRequestConfig()
    assert config.methods == ("GET", "POST", "PUT", "PATCH", "DELETE")
    assert (config.rate_per_second, config.rate_per_minute, config.max_concurrent) == (10, 100, 5)
    assert config.server_name == "http"
    assert HttpRequest.spec.title == "HTTP Request"
    assert [profile.id for profile in HttpRequest.spec.profiles] == ["default"]


def problems(config: dict[str, Any]) -> list[Any]:
    pipe = PipeFile([Component("source", "testing_texts"), Component("http_1", "tool_http_request", config)], source="source")
    return [p for p in Kernel(nodes=[HttpRequest]).check(pipe) if p.component == "http_1"]


def told(config: dict[str, Any], severity: str = "error") -> list[tuple[str, str]]:
    """Of the config alone; where the node stands is nobody's matter here."""
    found = [(p.path.partition(".config."), p) for p in problems(config) if p.severity == severity]
    return [(key, problem.message) for (_, inside, key), problem in found if inside]


ORIGIN = {"authOrigins": ["https://api.example.com"]}


@pytest.mark.parametrize(
    ("config", "key", "said"),
    [
        ({f"allow{method}": False for method in METHODS}, "allowGET", "no HTTP method is allowed"),
        ({"urlWhitelist": ["("]}, "urlWhitelist", "Invalid URL whitelist regex '(': "),
        ({"urlWhitelist": [{"whitelistPattern": "[a"}]}, "urlWhitelist", "Invalid URL whitelist regex '[a': "),
        ({"allowedAddresses": ["10.0.0.0/99"]}, "allowedAddresses", "an item of allowedAddresses is no host name"),
        ({"authOrigins": ["api.example.com"]}, "authOrigins", "an item is not an origin"),
        ({**ORIGIN, "authType": "bearer"}, "token", "authType is bearer, and 'token' is empty"),
        ({**ORIGIN, "authType": "basic"}, "username", "authType is basic, and 'username' is empty"),
        ({**ORIGIN, "authType": "api_key"}, "apikey", "authType is api_key, and 'apikey' is empty"),
        ({"authType": "bearer", "token": "x"}, "authOrigins", "there are credentials, and authOrigins does not say who"),
        ({"headers": {"Cookie": "x"}}, "authOrigins", "there are credentials, and authOrigins does not say who"),
        ({"headers": {"X": f"{PLANTED}\r\nY: z"}}, "headers", "a header has a name or a value that HTTP does not allow"),
        ({"timeout": 301}, "timeout", "must be at most 300 s"),
        ({"rateLimitPerSecond": -1}, "rateLimitPerSecond", "must be at least 0"),
    ],
    ids=str,
)
def test_configs_that_are_refused(config: dict[str, Any], key: str, said: str) -> None:
    [(path, message)] = told(config)
    assert path == key
    assert message.startswith(said)
    assert PLANTED not in message


def test_an_open_whitelist_is_warned_of() -> None:
    warning = ("urlWhitelist", "URL whitelist is empty — all URLs will be allowed")
    for config in ({}, {"urlWhitelist": []}, {"urlWhitelist": [{"whitelistPattern": " "}]}):
        assert told(config, "warning") == [warning]
        assert told(config) == []
    assert told({"urlWhitelist": ["^https://x/"]}, "warning") == []


def test_keys_are_read_as_in_old_files() -> None:
    pipe = {"http_request.allowGET": False, "default": {"serverName": "web", "allowHEAD": "true"}, "type": "tool_http_request"}
    with node_harness(HttpRequest, config=pipe) as harness:
        config = harness.node.config
    assert (config.allow_get, config.allow_head, config.server_name) == (False, True, "web")


def configs() -> dict[str, dict[str, Any]]:
    """The config of every tool_http_request in the files of others."""
    found: dict[str, dict[str, Any]] = {}

    def walk(value: Any, at: str) -> None:
        if isinstance(value, dict):
            if value.get("provider") == "tool_http_request":
                found[f"{at}:{value.get('id')}"] = value.get("config") or {}
            value = list(value.values())
        for item in value if isinstance(value, list) else ():
            walk(item, at)

    for path in sorted(PIPES.rglob("*")) if PIPES.is_dir() else ():
        if path.suffix in {".pipe", ".json"} and "tool_http_request" in (text := path.read_text("utf-8", "replace")):
            try:
                walk(json.loads(text), path.relative_to(PIPES).as_posix())
            except ValueError:
                continue
    return found


@pytest.mark.skipif(not PIPES.is_dir(), reason="../shared/pipes is not here")
def test_every_config_that_people_have_written_loads() -> None:
    found = configs()
    assert len(found) > 20
    wrong = {name: told(config) for name, config in found.items() if told(config)}
    # One is a pattern from a variable, which is reported as unset where it is.
    assert {message for many in wrong.values() for _, message in many} <= set(), wrong
    for config in {json.dumps(config, sort_keys=True): config for config in found.values()}.values():
        env = {"ROCKETRIDE_BRIDGE_COMMAND_URL_PATTERN": "^https://x/"}
        with node_harness(HttpRequest, config=config, env=env, called=True) as harness:
            assert harness.node.tool  # type: ignore[attr-defined]


def test_it_is_imported_without_aiohttp() -> None:
    code = "import sys, rocketride_tool_http_request; sys.exit(any(m in sys.modules for m in ('aiohttp', 'yarl', 'multidict')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_calls_of_one_turn_overlap(server: Any, open_agent: Any) -> None:
    gate = threading.Barrier(4, timeout=5)

    def together(handler: Any) -> None:
        gate.wait()
        handler.reply(handler.path.encode())

    server.answers["/x"] = together
    with open_agent(workers=4) as agent:
        outcomes = agent.run([{"method": "GET", "url": f"{server.url}/x?{n}"} for n in range(4)])
    assert [one["body"] for one in outcomes] == [f"/x?{n}" for n in range(4)], "none waits for another, none gets another's"


def test_many_threads_at_once(server: Any, open_agent: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply(handler.path.encode())
    none = {"rateLimitPerSecond": 0, "rateLimitPerMinute": 0, "maxConcurrentRequests": 0}
    with open_agent(**none) as agent, ThreadPoolExecutor(8) as threads:
        bodies = list(threads.map(lambda n: agent.get(f"{server.url}/x?{n}")["body"], range(200)))
    assert bodies == [f"/x?{n}" for n in range(200)]
