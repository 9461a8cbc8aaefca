# SPDX-License-Identifier: MIT
"""Requests over a real socket: what is sent, and what comes back."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import pytest

from rocketride_core import ToolFailure


def test_a_get(server: Any, open_agent: Any) -> None:
    with open_agent() as agent:
        got = agent.get(f"{server.url}/items?b=2", query_params={"a": "x y", "n": 1, "t": True, "l": [1, 2]})
    assert got["status_code"] == 200
    assert got["status_text"] == "OK"
    assert got["content_type"] == "application/json"
    assert got["json"]["path"] == "/items?b=2&a=x%20y&n=1&t=true&l=1&l=2"
    assert json.loads(got["body"]) == got["json"]
    assert got["encoding"] == "utf-8"
    assert got["truncated"] is False
    assert got["redirects"] == 0
    assert got["url"].startswith(f"{server.url}/items?")
    assert isinstance(got["elapsed_ms"], int)
    assert got["headers"]["Content-Type"] == "application/json"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_methods(server: Any, open_agent: Any, method: str) -> None:
    with open_agent(allowOPTIONS=True) as agent:
        got = agent.call(method=method.lower(), url=f"{server.url}/x", body_json={"a": ["ü", 1]})
    assert got["json"]["method"] == method
    assert server.seen[0].headers["Content-Type"] == "application/json"
    assert json.loads(server.seen[0].body) == {"a": ["ü", 1]}


def test_head_has_no_body(server: Any, open_agent: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply(b"12345", headers=[("Content-Encoding", "gzip")])
    with open_agent(allowHEAD=True) as agent:
        got = agent.call(method="HEAD", url=f"{server.url}/x")
    assert got["body"] == ""
    assert got["headers"]["Content-Length"] == "5"


@pytest.mark.parametrize("status", [400, 404, 418, 500, 503])
def test_http_errors_are_results(server: Any, open_agent: Any, status: int) -> None:
    server.answers["/x"] = lambda handler: handler.reply(b"sorry", status)
    with open_agent() as agent:
        got = agent.get(f"{server.url}/x")
    assert (got["status_code"], got["body"], got["json"]) == (status, "sorry", None)


def test_path_params_stay_one_segment(server: Any, open_agent: Any) -> None:
    with open_agent() as agent:
        got = agent.get(f"{server.url}/u/:id/:idx?q=:id", path_params={"id": "a/../b?c#d:idx", "idx": 7})
    assert got["json"]["path"] == "/u/a%2F..%2Fb%3Fc%23d:idx/7?q=:id"


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({"bearer_token": "tok"}, "Bearer tok"),
        ({"basic_auth": {"username": "ü", "password": "p:w"}}, "Basic " + base64.b64encode("ü:p:w".encode()).decode()),
        ({"auth": {"type": "bearer", "bearer": {"token": "tok"}}, "bearer_token": "other"}, "Bearer tok"),
        ({"auth": {"type": "basic", "basic": {"username": "u", "password": ""}}}, "Basic dTo="),
        ({"auth": {"type": "none"}, "headers": {"Authorization": "Custom x"}}, "Custom x"),
        ({"auth": '{"type": "bearer", "bearer": {"token": "tok"}}'}, "Bearer tok"),
    ],
)
def test_authentication(server: Any, open_agent: Any, arguments: dict[str, Any], header: str) -> None:
    with open_agent() as agent:
        agent.get(server.url, **arguments)
    assert server.seen[0].headers["Authorization"] == header


def test_api_keys(server: Any, open_agent: Any) -> None:
    with open_agent() as agent:
        agent.get(server.url, auth={"type": "api_key", "api_key": {"key": "X-Custom", "value": "v"}})
        key = {"key": "appid", "value": "v w", "add_to": "query_param"}
        agent.get(f"{server.url}/?q=1", auth={"type": "api_key", "api_key": key})
    assert server.seen[0].headers["X-Custom"] == "v"
    assert server.seen[1].path in {"/?q=1&appid=v+w", "/?q=1&appid=v%20w"}


def test_bodies(server: Any, open_agent: Any) -> None:
    with open_agent() as agent:

        def post(**arguments: Any) -> Any:
            agent.call(method="POST", url=server.url, **arguments)
            return server.seen[-1]

        seen = post(body={"type": "raw", "raw": {"content": "<a/>", "content_type": "application/xml"}})
        assert (seen.headers["Content-Type"], seen.body) == ("application/xml", b"<a/>")
        seen = post(body={"type": "raw", "raw": {"content": "{}"}}, headers={"content-type": "application/vnd.x+json"})
        assert (seen.headers["content-type"], seen.body) == ("application/vnd.x+json", b"{}")
        seen = post(body={"type": "x_www_form_urlencoded", "urlencoded": {"a": "x y&", "b": 2}})
        assert (seen.headers["Content-Type"], seen.body) == ("application/x-www-form-urlencoded", b"a=x+y%26&b=2")
        seen = post(body={"type": "form_data", "form_data": {'na"me\r\n': "välue", "b": 1}})
        kind, _, boundary = seen.headers["Content-Type"].partition("; boundary=")
        assert kind == "multipart/form-data"
        assert seen.body.decode() == (
            f'--{boundary}\r\nContent-Disposition: form-data; name="na%22me%0D%0A"\r\n\r\nvälue\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="b"\r\n\r\n1\r\n--{boundary}--\r\n'
        )
        seen = post(body_json="[1,  2]")
        assert seen.body == b"[1,  2]"
        seen = post(body={"type": "none"}, body_json={"a": 1})
        assert seen.body == b'{"a": 1}'
        seen = post()
        assert seen.body == b""
        seen = post(body_json={"a": "x" * 2_000_000})
        assert len(seen.body) == 2_000_009


def test_headers_that_belong_to_the_connection_are_the_clients(server: Any, open_agent: Any) -> None:
    ignored = {"Content-Length": "99", "Transfer-Encoding": "chunked", "Connection": "close", "Accept-Encoding": "br"}
    with open_agent() as agent:
        agent.get(server.url, headers={**ignored, "X-N": 5, "Host": server.url.removeprefix("http://")})
    headers = server.seen[0].headers
    assert headers["Accept-Encoding"] == "gzip, deflate"
    assert headers["X-N"] == "5"
    assert "Transfer-Encoding" not in headers
    assert headers.get("Content-Length", "0") == "0"
    assert headers["User-Agent"] == "rocketride-core"


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


TEXT = ("ünicode " * 5000).encode()
CODINGS: dict[str, tuple[str, bytes]] = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "two members": ("gzip", gzip.compress(TEXT[:9000]) + gzip.compress(TEXT[9000:])),
    "padded": ("x-gzip", gzip.compress(TEXT) + b"\0" * 20),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "raw deflate": ("deflate", raw_deflate(TEXT)),
}


@pytest.mark.parametrize("name", CODINGS)
def test_compressed_bodies(server: Any, open_agent: Any, name: str) -> None:
    coding, data = CODINGS[name]
    headers = [("Content-Encoding", coding), ("Content-Type", "text/plain")]
    server.answers["/x"] = lambda handler: handler.reply(data, headers=headers)
    with open_agent() as agent:
        got = agent.get(f"{server.url}/x")
    assert got["body"] == TEXT.decode()


@pytest.mark.parametrize(
    ("coding", "data", "said"),
    [
        ("gzip", gzip.compress(TEXT)[:-40], "the body is an incomplete gzip"),
        ("gzip", b"not gzip", "the body is no valid gzip"),
        ("br", b"x", "the body is compressed as 'br', which was not asked for"),
        ("gzip, gzip", b"x", "the body is compressed as 'gzip, gzip', which was not asked for"),
    ],
)
def test_a_body_that_cannot_be_read(server: Any, open_agent: Any, coding: str, data: bytes, said: str) -> None:
    server.answers["/x"] = lambda handler: handler.reply(data, headers=[("Content-Encoding", coding)])
    with open_agent() as agent:
        error = agent.call(method="GET", url=f"{server.url}/x")
    assert isinstance(error, ToolFailure)
    assert said in str(error)


@pytest.mark.parametrize(
    ("content_type", "data", "body", "encoding"),
    [
        ("text/plain; charset=latin-1", b"caf\xe9", "café", "iso8859-1"),
        ('text/html; charset="UTF-8"', "ü".encode(), "ü", "utf-8"),
        ("text/plain; charset=shift_jis", "日本".encode("shift_jis"), "日本", "shift_jis"),
        ("text/plain; charset=utf-8", b"a\xffb", "a�b", "utf-8"),
        ("text/plain; charset=base64", b"plain", "plain", "utf-8"),
        ("text/plain; charset=no-such-set", b"plain", "plain", "utf-8"),
        ("text/plain", b"caf\xe9", "café", "cp1252"),
        ("text/plain", "ü".encode("utf-16"), "ü", "utf-16"),
        ("text/plain", b"\xef\xbb\xbfx", "x", "utf-8-sig"),
        ("", b"plain", "plain", "utf-8"),
        ("application/octet-stream", b"plain", "plain", "utf-8"),
        ("application/octet-stream", b"a\0b", "YQBi", "base64"),
        ("image/png", b"plain", "cGxhaW4=", "base64"),
        ("image/svg+xml", b"<svg/>", "<svg/>", "utf-8"),
        ("application/pdf", b"%PDF", "JVBERg==", "base64"),
        ("application/x-unknown", b"\xff\xfe\x00", "//4A", "base64"),
    ],
)
def test_text_and_binary(server: Any, open_agent: Any, content_type: str, data: bytes, body: str, encoding: str) -> None:
    if content_type == "application/x-unknown":
        data, body = b"\x89\x00\xff", "iQD/"
    server.answers["/x"] = lambda handler: handler.reply(data, headers=[("Content-Type", content_type)] * bool(content_type))
    with open_agent() as agent:
        got = agent.get(f"{server.url}/x")
    assert (got["body"], got["encoding"]) == (body, encoding)


@pytest.mark.parametrize(
    ("content_type", "text", "value"),
    [
        ("application/json", "[1]", [1]),
        ("application/problem+json; charset=utf-8", '{"a": null}', {"a": None}),
        ("text/javascript", '"x"', "x"),
        ("text/plain", "[1]", None),
        ("application/json", "{", None),
        ("application/json", "[NaN]", None),
        ("application/json", "[1e999]", None),
        ("application/json", "[" * 101 + "]" * 101, None),
        ("application/json", "[" * 100_000, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_json(server: Any, open_agent: Any, content_type: str, text: str, value: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply(text.encode(), headers=[("Content-Type", content_type)])
    with open_agent() as agent:
        got = agent.get(f"{server.url}/x")
    assert got["json"] == value
    assert got["body"] == text


def test_repeated_headers_are_joined(server: Any, open_agent: Any) -> None:
    headers = [("X-A", "1"), ("x-a", "2"), ("Set-Cookie", "sid=planted; Path=/"), ("Set-Cookie", "b=planted2")]
    server.answers["/x"] = lambda handler: handler.reply(headers=headers)
    with open_agent() as agent:
        assert agent.get(f"{server.url}/x")["headers"]["X-A"] == "1, 2"
        assert agent.get(f"{server.url}/x")["headers"]["Set-Cookie"] == "sid=***, b=***"
    with open_agent(returnCookies=True) as agent:
        assert agent.get(f"{server.url}/x")["headers"]["Set-Cookie"] == "sid=planted; Path=/, b=planted2"


def test_cookies_are_not_kept(server: Any, open_agent: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply(headers=[("Set-Cookie", "sid=1")])
    with open_agent() as agent:
        agent.get(f"{server.url}/x")
        agent.get(f"{server.url}/y")
    assert "Cookie" not in server.seen[1].headers


def test_usage_is_counted(server: Any, open_agent: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply(b"12345")
    with open_agent() as agent:
        agent.get(f"{server.url}/x")
        assert agent.last.usage["http_1"] == {"requests": 1, "bytes": 5}


def test_connections_are_kept_between_calls(server: Any, open_agent: Any) -> None:
    ports = []
    server.answers["/x"] = lambda handler: (ports.append(handler.client_address[1]), handler.reply(b"x"))
    with open_agent() as agent:
        for _ in range(3):
            agent.get(f"{server.url}/x")
    assert len(set(ports)) == 1
