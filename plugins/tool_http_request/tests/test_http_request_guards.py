# SPDX-License-Identifier: MIT
"""What is refused: methods, URLs, addresses, redirects, sizes, times, rates."""

from __future__ import annotations

import gzip
import ipaddress
import json
import socket
import threading
import time
import zlib
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp.abc import AbstractResolver

from rocketride_core import RunError, RunTimeout, ToolDenied, ToolFailure, ToolInput, ToolTimeout
from rocketride_tool_http_request.addresses import Allowed, kind_of
from rocketride_tool_http_request.concealed import Scrubber
from rocketride_tool_http_request.content import Body
from rocketride_tool_http_request.limits import RateLimits
from rocketride_tool_http_request.patterns import Whitelist, origin_of


class FakeDns(AbstractResolver):
    """Answers from a list for each host, one after the other, the last one again and again."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(many) for name, many in answers.items()}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        self.asked.append(host)
        many = self.answers.get(host.rstrip("."))
        if many is None:
            raise OSError(None, "unknown")
        found = many.pop(0) if len(many) > 1 else many[0]
        return [
            {
                "hostname": host,
                "host": one,
                "port": port,
                "family": socket.AF_INET6 if ":" in one else socket.AF_INET,
                "proto": 0,
                "flags": socket.AI_NUMERICHOST,
            }
            for one in found
        ]

    async def close(self) -> None:
        """Nothing is open."""


def denied(agent: Any, url: str, **arguments: Any) -> str:
    error = agent.call(method=arguments.pop("method", "GET"), url=url, **arguments)
    assert isinstance(error, ToolDenied), repr(error)
    assert error.tool == "http_1.http_request"
    return str(error)


# ---- methods and URLs


def test_methods_that_are_off(server: Any, open_agent: Any) -> None:
    with open_agent() as agent:
        for method in ("HEAD", "options"):
            said = denied(agent, server.url, method=method)
            assert said == (f'HTTP method "{method.upper()}" is not allowed. Enabled methods: GET, POST, PUT, PATCH, DELETE')
        assert agent.tool.input_schema["properties"]["method"]["enum"] == ["GET", "POST", "PUT", "PATCH", "DELETE"]
    assert not server.seen


def test_the_whitelist(server: Any, open_agent: Any) -> None:
    with open_agent(
        urlWhitelist=[{"whitelistPattern": r"/v1/.*\.json$"}, {"whitelistPattern": " "}, server.url + "/open"]
    ) as agent:
        assert agent.get(f"{server.url}/v1/a.json")["status_code"] == 200
        assert agent.get(f"{server.url}/v1/a.json?x=1", query_params={"y": 2})["status_code"] == 200
        assert agent.get(f"{server.url}/open/x")["status_code"] == 200
        url = f"{server.url}/opener?token=planted"
        assert denied(agent, url) == f'URL "{server.url}/opener?token=***" does not match any allowed URL pattern.'
        assert "planted" not in denied(agent, f"{server.url}/:token", path_params={"token": "planted-secret"})
        denied(agent, f"http://example.com/?{server.url}/open/")
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    ("pattern", "url", "allowed"),
    [
        ("http://localhost:8765", "http://localhost:8765/", True),
        ("http://localhost:8765", "http://localhost:8765/a?b", True),
        ("http://localhost:8765", "http://localhost:87651/", False),
        ("http://localhost:8765", "http://evil.test/?http://localhost:8765/", False),
        ("https://api.x.com", "https://api.x.com.evil.test/", False),
        ("https://api.x.com", "https://apizx.com/", False),
        ("HTTPS://API.x.com:443/V1", "https://api.x.com/V1/a", True),
        ("https://api.x.com/v1", "https://api.x.com/v10", False),
        ("https://api.x.com/v1/", "https://api.x.com/v1/a", True),
        (r"^https://docs\.x\.com/.*", "https://docs.x.com/", True),
        (r"^https://docs\.x\.com/a$", "https://docs.x.com/a?q=1", True),
        (r"id=7", "https://docs.x.com/a?id=7", True),
        (r"id=7", "https://docs.x.com/a?id=8", False),
    ],
)
def test_patterns(pattern: str, url: str, allowed: bool) -> None:
    assert Whitelist([pattern]).allows(url) is allowed


def test_origins() -> None:
    assert origin_of("https://A.example.com./x") == ("https", "a.example.com", 443)
    assert origin_of("http://h:80") == origin_of("http://h/y") == ("http", "h", 80)
    for wrong in ("ftp://h", "h", "https://", "https://u@h", "http://h:99999", "http://[x"):
        assert origin_of(wrong) is None


# ---- addresses


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("8.8.8.8", ""),
        ("2606:4700::1111", ""),
        ("127.0.0.1", "a loopback"),
        ("127.255.0.9", "a loopback"),
        ("::1", "a loopback"),
        ("10.0.0.1", "a private"),
        ("172.16.0.1", "a private"),
        ("192.168.1.1", "a private"),
        ("192.0.2.1", "a private"),
        ("198.18.0.1", "a private"),
        ("fd00:ec2::254", "a private"),
        ("2001:db8::1", "a private"),
        ("169.254.169.254", "a link-local"),
        ("fe80::1", "a link-local"),
        ("fe80::1%eth0", "a link-local"),
        ("100.100.100.200", "a shared"),
        ("168.63.129.16", "a cloud platform's internal"),
        ("0.0.0.0", "an unspecified"),
        ("0.1.2.3", "a reserved"),
        ("::", "an unspecified"),
        ("224.0.0.1", "a multicast"),
        ("ff02::1", "a multicast"),
        ("240.0.0.1", "a reserved"),
        ("255.255.255.255", "a reserved"),
        ("::ffff:127.0.0.1", "an IPv4-mapped"),
        ("::ffff:8.8.8.8", "an IPv4-mapped"),
        ("::127.0.0.1", "a reserved"),
        ("2002:7f00:1::", "a 6to4"),
        ("192.88.99.1", "a 6to4"),
        ("64:ff9b::7f00:1", "a NAT64"),
        ("64:ff9b:1::7f00:1", "a NAT64"),
        ("2001:0:1::1", "a Teredo"),
        ("fec0::1", "a site-local"),
    ],
)
def test_kinds_of_addresses(address: str, kind: str) -> None:
    assert kind_of(ipaddress.ip_address(address)) == kind
    assert Allowed(False, []).refused("h", address) == kind
    assert Allowed(True, []).refused("h", address) == ("" if kind in {"a private", "a loopback"} else kind)
    assert Allowed(False, ["0.0.0.0/0", "::/0"]).refused("h", address) == ""
    assert Allowed(False, ["H."]).refused("h", address) == ""


def test_what_is_listed() -> None:
    allowed = Allowed(False, ["10.1.0.0/16", "[fd00::7]", "internal.test"])
    assert allowed.refused("x", "10.1.2.3") == ""
    assert allowed.refused("x", "10.2.2.3") == "a private"
    assert allowed.refused("x", "fd00::7") == ""
    assert allowed.refused("x", "::ffff:10.1.2.3") == "an IPv4-mapped"
    assert allowed.refused("Internal.test.", "127.0.0.1") == ""
    assert allowed.refused("not.internal.test", "127.0.0.1") == "a loopback"
    for wrong in ("10.0.0.0/99", "http://x", "a b", "", "127.1"):
        with pytest.raises(ValueError, match="allowedAddresses"):
            Allowed(False, [wrong])


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "[::1]",
        "[::]",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "①②⑦.⓪.⓪.①",
        "１２７.0.0.1",
        "169.254.169.254",
    ],
)
def test_no_spelling_of_an_address_of_this_machine_gets_through(server: Any, open_agent: Any, host: str) -> None:
    with open_agent(allowPrivateAddresses=False) as agent:
        if host == "localhost.":  # some resolvers know it, some do not
            agent.node.client._resolver = FakeDns(localhost=[["127.0.0.1"]])
        said = denied(agent, f"http://{host}:{server.server_port}/")
    assert "is refused" in said or "unusual spelling" in said
    assert not server.seen


def test_a_refusal_is_one_clear_sentence(server: Any, open_agent: Any) -> None:
    with open_agent(allowPrivateAddresses=False) as agent:
        assert denied(agent, server.url) == (
            f"127.0.0.1:{server.server_port} is refused, for it leads to a loopback address; "
            "the settings allowedAddresses and allowPrivateAddresses of the node can allow it."
        )


def test_private_addresses_do_not_open_link_local_ones(open_agent: Any) -> None:
    with open_agent(allowPrivateAddresses=True) as agent:
        assert "a link-local address" in denied(agent, "http://169.254.169.254/latest/meta-data/")


@pytest.mark.parametrize("listed", ["127.0.0.1", "127.0.0.0/8", "localhost"])
def test_listed_addresses(server: Any, open_agent: Any, listed: str) -> None:
    host = "localhost" if listed == "localhost" else "127.0.0.1"
    with open_agent(allowPrivateAddresses=False, allowedAddresses=[listed]) as agent:
        assert agent.get(f"http://{host}:{server.server_port}/")["status_code"] == 200
        if listed == "localhost":
            assert "loopback" in denied(agent, server.url)


def test_a_name_that_leads_inside_is_refused(server: Any, open_agent: Any) -> None:
    with open_agent(allowPrivateAddresses=False) as agent:
        agent.node.client._resolver = dns = FakeDns(inside_test=[["127.0.0.1"]], meta_test=[["169.254.169.254", "::1"]])
        assert "inside.test:" in denied(agent, f"http://inside.test:{server.server_port}/")
        denied(agent, f"http://meta.test:{server.server_port}/")
    assert dns.asked == ["inside.test", "meta.test"]
    assert not server.seen


def test_rebinding_is_of_no_use(server: Any, open_agent: Any) -> None:
    """First a listed address, then one that is not: what is judged is the very answer that is connected to."""
    with open_agent(allowPrivateAddresses=False, allowedAddresses=["127.0.0.1"]) as agent:
        agent.node.client._resolver = dns = FakeDns(rebind_test=[["127.0.0.1"], ["127.0.0.2"]])
        server.answers["/"] = lambda handler: handler.reply(b"x", headers=[("Connection", "close")])
        url = f"http://rebind.test:{server.server_port}/"
        assert agent.get(url)["status_code"] == 200
        assert "a loopback address" in denied(agent, url)
    assert dns.asked == ["rebind.test"] * 2, "no answer is kept, and none is asked for twice"


def test_of_several_addresses_only_allowed_ones_are_tried(server: Any, open_agent: Any) -> None:
    with open_agent(allowPrivateAddresses=False, allowedAddresses=["127.0.0.1"]) as agent:
        agent.node.client._resolver = FakeDns(mixed_test=[["127.0.0.2", "10.0.0.1", "127.0.0.1"]])
        assert agent.get(f"http://mixed.test:{server.server_port}/")["status_code"] == 200


def test_proxies_of_the_environment_are_not_used(server: Any, open_agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with open_agent() as agent:
        assert agent.get(server.url)["status_code"] == 200


# ---- redirects


def redirect(to: str, status: int = 302) -> Any:
    return lambda handler: handler.reply(b"", status, [("Location", to)])


def test_redirects_are_followed(server: Any, open_agent: Any) -> None:
    server.answers |= {"/a": redirect("b?x=1"), "/b": redirect("/c#top", 308)}
    with open_agent() as agent:
        got = agent.get(f"{server.url}/a")
        assert (got["status_code"], got["redirects"], got["url"]) == (200, 2, f"{server.url}/c")
        assert agent.last.usage["http_1"]["requests"] == 3
    with open_agent(maxRedirects=0) as agent:
        got = agent.get(f"{server.url}/a")
        assert (got["status_code"], got["headers"]["Location"], got["redirects"]) == (302, "b?x=1", 0)


def test_a_redirect_cannot_log_in(server: Any, open_agent: Any) -> None:
    server.answers["/a"] = redirect(f"http://user:pw@127.0.0.1:{server.server_port}/b")
    with open_agent() as agent:
        assert agent.get(f"{server.url}/a")["url"] == f"{server.url}/b"
    assert "Authorization" not in server.seen[1].headers


@pytest.mark.parametrize(
    ("status", "method", "then", "body"),
    [
        (301, "POST", "GET", b""),
        (302, "POST", "GET", b""),
        (303, "PUT", "GET", b""),
        (302, "PUT", "PUT", b'{"a": 1}'),
        (307, "POST", "POST", b'{"a": 1}'),
        (308, "POST", "POST", b'{"a": 1}'),
    ],
)
def test_methods_after_a_redirect(server: Any, open_agent: Any, status: int, method: str, then: str, body: bytes) -> None:
    server.answers["/a"] = redirect("/b", status)
    with open_agent() as agent:
        agent.call(method=method, url=f"{server.url}/a", body_json={"a": 1})
    seen = server.seen[-1]
    assert (seen.method, seen.body) == (then, body)
    assert ("Content-Type" in seen.headers) is bool(body)


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.1:{port}/secret",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "http://localhost.:{port}/secret",
        "http://2130706433:{port}/secret",
        "//127.0.0.1:{port}/secret",
        "http://inside.test:{port}/secret",
        "http://user:pw@127.0.0.1:{port}/secret",
    ],
)
def test_no_redirect_leads_inside(server: Any, open_agent: Any, to: str) -> None:
    server.answers["/a"] = redirect(to.format(port=server.server_port))
    with open_agent(allowPrivateAddresses=False, allowedAddresses=["outside.test"]) as agent:
        agent.node.client._resolver = FakeDns(
            outside_test=[["127.0.0.1"]], inside_test=[["127.0.0.1"]], localhost=[["127.0.0.1"]]
        )
        denied(agent, f"http://outside.test:{server.server_port}/a")
    assert [seen.path for seen in server.seen] == ["/a"]


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://x/", "javascript:alert(1)", "http://x:99999/", "gopher://x:1/_"])
def test_no_redirect_leads_to_another_scheme(server: Any, open_agent: Any, to: str) -> None:
    server.answers["/a"] = redirect(to)
    with open_agent() as agent:
        assert "redirects to something" in denied(agent, f"{server.url}/a")


def test_the_whitelist_and_the_methods_hold_for_redirects(server: Any, other: Any, open_agent: Any) -> None:
    server.answers |= {"/a": redirect(f"{other.url}/x"), "/post": redirect("/b", 303)}
    with open_agent(urlWhitelist=[server.url], allowGET=False) as agent:
        assert "does not match any allowed URL pattern" in denied(agent, f"{server.url}/a", method="PUT")
        assert 'method "GET" is not allowed' in denied(agent, f"{server.url}/post", method="POST")
    assert not other.seen


def test_an_endless_redirect_ends(server: Any, open_agent: Any) -> None:
    server.answers["/a"] = redirect("/a")
    with open_agent(maxRedirects=3) as agent:
        error = agent.call(method="GET", url=f"{server.url}/a")
    assert isinstance(error, ToolFailure)
    assert str(error) == "More than 3 redirects; the last one is from 127.0.0.1."
    assert len(server.seen) == 4


def test_credentials_stay_with_their_origin(server: Any, other: Any, open_agent: Any) -> None:
    sent = {"Authorization": "Bearer planted", "Cookie": "sid=1", "X-API-Key": "k", "X-Plain": "p"}
    server.answers |= {"/same": redirect("/end"), "/other": redirect(f"{other.url}/end")}
    key = {"type": "api_key", "api_key": {"key": "X-Own", "value": "v"}}
    with open_agent() as agent:
        agent.get(f"{server.url}/same", headers=sent, auth=key)
        agent.get(f"{server.url}/other", headers=sent, auth=key)
    same, gone = server.seen[1].headers, other.seen[0].headers
    assert {**sent, "X-Own": "v"}.items() <= same.items()
    assert gone["X-Plain"] == "p"
    assert not {"Authorization", "Cookie", "X-API-Key", "X-Own"} & set(gone)


# ---- sizes and times


def test_a_long_body_is_cut_and_says_so(server: Any, open_agent: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply("ü".encode() * 1000, headers=[("Content-Type", "application/json")])
    with open_agent(maxResponseBytes=101) as agent:
        got = agent.get(f"{server.url}/x")
    assert got["truncated"] is True
    assert got["body"] == "ü" * 50, "no half character at the end"
    assert got["json"] is None


@pytest.mark.parametrize(
    "form", [str, lambda text: quote(text, safe=""), lambda text: b64encode(text.encode()).decode(), json.dumps]
)
@pytest.mark.parametrize("shown", [4, 12, 19])
def test_a_body_cut_inside_a_secret_shows_no_part_of_it(server: Any, open_agent: Any, form: Any, shown: int) -> None:
    token = 'planted/+"0123456789é'
    body = f"the token is {form(token).strip(chr(34))}".encode()
    server.answers["/x"] = lambda handler: handler.reply(body, headers=[("Content-Type", "text/plain; charset=utf-8")])
    settings = {"authType": "bearer", "token": token, "authOrigins": [server.url]}
    with open_agent(maxResponseBytes=len("the token is ") + shown, **settings) as agent:
        got = agent.get(f"{server.url}/x")
    assert (got["truncated"], got["body"]) == (True, "the token is ***")
    assert server.seen[0].headers["Authorization"].startswith("Bearer planted")


def test_a_cut_hides_beginnings_of_secrets_only_there() -> None:
    scrub = Scrubber(["secret-of-mine", "secret"])
    assert scrub("a secr", cut=True) == "a ***"
    assert scrub("a secret-of", cut=True) == "a ***"
    assert scrub("a sec", cut=True) == "a sec", "too short to be more than chance"
    assert scrub("a secr") == "a secr"
    assert scrub("secr and secret-of-mine", cut=True) == "secr and ***"


def test_the_limit_itself_fits(server: Any, open_agent: Any) -> None:
    server.answers["/x"] = lambda handler: handler.reply(b"x" * 100)
    with open_agent(maxResponseBytes=100) as agent:
        assert agent.get(f"{server.url}/x")["truncated"] is False


def test_a_gzip_bomb_is_cut(server: Any, open_agent: Any) -> None:
    bomb = gzip.compress(b"0" * 200_000_000, 9)
    server.answers["/x"] = lambda handler: handler.reply(
        bomb, headers=[("Content-Encoding", "gzip"), ("Content-Type", "text/plain")]
    )
    with open_agent(maxResponseBytes=10_000) as agent:
        begun = time.monotonic()
        got = agent.get(f"{server.url}/x")
    assert got["truncated"] is True
    assert got["body"] == "0" * 10_000
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("coding", ["gzip", "deflate", ""])
def test_no_more_is_kept_than_the_limit(coding: str) -> None:
    data = b"0" * 5_000_000
    body = Body(coding, 1000)
    assert body.feed({"gzip": gzip.compress, "deflate": zlib.compress, "": bytes}[coding](data)) is False
    assert len(body._out) == 1001, "one byte more tells that there is more"
    assert len(body.end()) == 1000


def test_an_endless_body_is_cut(raw: Any, open_agent: Any) -> None:
    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    with raw(talk) as url, open_agent(maxResponseBytes=1000) as agent:
        got = agent.get(url)
    assert (got["truncated"], len(got["body"])) == (True, 1000)


def test_a_slow_body_ends_in_time(raw: Any, open_agent: Any) -> None:
    over = threading.Event()

    def talk(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not over.wait(0.02):
            connection.sendall(b"x")

    with raw(talk) as url, open_agent() as agent:
        begun = time.monotonic()
        error = agent.call(method="GET", url=url, timeout=0.3)
        elapsed = time.monotonic() - begun
        over.set()
    assert isinstance(error, ToolTimeout)
    assert str(error) == "127.0.0.1 did not answer completely within 0.3 s."
    assert error.component == "http_1"
    assert 0.25 <= elapsed < 3


def test_slow_headers_and_the_limit_of_the_config(raw: Any, open_agent: Any) -> None:
    over = threading.Event()
    with raw(lambda connection: over.wait(5)) as url, open_agent(timeout=0.2) as agent:
        assert isinstance(agent.call(method="GET", url=url), ToolTimeout)
        over.set()


def test_a_time_limit_is_for_all_redirects_together(server: Any, open_agent: Any) -> None:
    def slow(handler: Any) -> None:
        time.sleep(0.1)
        redirect("/a")(handler)

    server.answers["/a"] = slow
    with open_agent(timeout=0.3, maxRedirects=20) as agent:
        assert isinstance(agent.call(method="GET", url=f"{server.url}/a"), ToolTimeout)


def test_it_ends_with_the_entry(raw: Any, open_agent: Any) -> None:
    over = threading.Event()
    with raw(lambda connection: over.wait(5)) as url, open_agent() as agent:
        begun = time.monotonic()
        error = agent.outcome(limit=0.3, method="GET", url=url)
        over.set()
        assert isinstance(error, RunTimeout | ToolTimeout)
        assert time.monotonic() - begun < 3


def test_cancelling_hangs_up(raw: Any, open_agent: Any) -> None:
    came, gone = threading.Event(), threading.Event()

    def talk(connection: socket.socket) -> None:
        came.set()
        if connection.recv(1) == b"":
            gone.set()

    with raw(talk) as url, open_agent() as agent:
        with agent.begin(method="GET", url=url) as run:
            assert came.wait(5)
            run.cancel()
            result = run.result(5)
        assert isinstance(result.error, RunError)
        assert gone.wait(5), "the connection is closed"
        with agent.node.limits.request():
            assert agent.node.limits._running == 1, "a cancelled request counts no more"


# ---- rates


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def begin(limits: RateLimits) -> str:
    try:
        with limits.request():
            return ""
    except ToolFailure as error:
        return str(error)


def test_rates() -> None:
    clock = Clock()
    limits = RateLimits(2, 3, 0, clock)
    second = "Rate limit exceeded: max 2 requests per second. Please retry after a short delay."
    minute = "Rate limit exceeded: max 3 requests per minute. Please retry after a short delay."
    assert [begin(limits) for _ in range(4)] == ["", "", second, second]
    clock.now += 1
    assert [begin(limits) for _ in range(2)] == ["", minute]
    clock.now += 58.9
    assert begin(limits) == minute
    clock.now += 0.2
    assert [begin(limits) for _ in range(3)] == ["", "", second]


def test_no_rates() -> None:
    limits = RateLimits(0, 0, 0, Clock())
    assert {begin(limits) for _ in range(1000)} == {""}
    assert begin(RateLimits(0, 1, 0, Clock())) == ""


def test_rates_of_many_threads() -> None:
    limits = RateLimits(50, 0, 0, Clock())
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda _: begin(limits), range(400)))
    assert said.count("") == 50


def test_too_many_at_once(raw: Any, open_agent: Any) -> None:
    over, came = threading.Event(), threading.Semaphore(0)

    def talk(connection: socket.socket) -> None:
        came.release()
        connection.setblocking(False)

    with raw(talk) as url, open_agent(maxConcurrentRequests=2, timeout=20) as agent, ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(agent.call, method="GET", url=url, timeout=0.7) for _ in range(2)]
        assert came.acquire(timeout=5)
        assert came.acquire(timeout=5)
        error = agent.call(method="GET", url=url)
        assert isinstance(error, ToolFailure)
        assert str(error) == ("Too many concurrent requests: max 2 in-flight. Please wait for an ongoing request to complete.")
        assert all(isinstance(one.result(), ToolTimeout) for one in waiting)
        assert isinstance(agent.call(method="GET", url=url, timeout=0.1), ToolTimeout), "there is room again"
        over.set()


def test_a_rate_limit_is_of_the_node_and_arguments_that_are_wrong_count_for_nothing(server: Any, open_agent: Any) -> None:
    with open_agent(rateLimitPerMinute=2) as agent:
        assert isinstance(agent.call(method="GET", url=""), ToolInput)
        agent.get(server.url)
        agent.get(server.url)
        error = agent.call(method="GET", url=server.url)
        assert str(error) == "Rate limit exceeded: max 2 requests per minute. Please retry after a short delay."
    with open_agent(rateLimitPerMinute=2) as agent:
        agent.get(server.url)


# ---- failures


def test_failures_are_one_sentence(raw: Any, open_agent: Any) -> None:
    def failure(url: str) -> str:
        error = agent.call(method="GET", url=url)
        assert isinstance(error, ToolFailure), repr(error)
        assert error.component == "http_1"
        return str(error)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with open_agent() as agent:
        assert failure(f"http://127.0.0.1:{port}/") == f"Cannot connect to 127.0.0.1:{port}: Connection refused."
        agent.node.client._resolver = FakeDns()
    with open_agent() as agent:
        agent.node.client._resolver = FakeDns()
        assert failure("http://nowhere.test/") == "The host nowhere.test is unknown: its name does not resolve to an address."
        with raw(lambda connection: connection.close()) as url:
            assert "was lost before there was a response" in failure(url)
        with raw(lambda connection: (connection.sendall(b"SSH-2.0-x\r\n\r\n"), connection.close())) as url:
            assert "no valid HTTP" in failure(url)
            assert "No secure connection" in failure(url.replace("http:", "https:"))
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n"
        with raw(lambda connection: (connection.sendall(head + b"\r\nabc"), connection.close())) as url:
            assert "broke off in the middle" in failure(url)
        for huge in (b"X: " + b"x" * 100_000 + b"\r\n\r\n", b"".join(b"X-%d: y\r\n" % n for n in range(5000)) + b"\r\n"):
            with raw(lambda connection, huge=huge: connection.sendall(head + huge)) as url:
                assert "headers are too long" in failure(url)
        long = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 8000) for n in range(9)) + b"\r\n0123456789"
        with raw(lambda connection: connection.sendall(head + long)) as url:
            assert "its headers are longer than 65536 characters" in failure(url)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"query_params": {"q": "\ud83d"}}, "$.query_params.q"),
        ({"query_params": {"q": ["a", "\ud83d"]}}, "$.query_params.q"),
        ({"query_params": {"\ude00": "a"}}, "$.query_params.?"),
        ({"path_params": {"id": "\ude00"}}, "$.path_params.id"),
        ({"headers": {"X-A": "\ude00"}}, "$.headers.X-A"),
        ({"body": {"type": "form_data", "form_data": {"f": "\ude00"}}}, "$.body.form_data.f"),
        ({"body": {"type": "x_www_form_urlencoded", "urlencoded": {"f": "\ude00"}}}, "$.body.urlencoded.f"),
        ({"bearer_token": "planted\ude00"}, "$.auth.bearer.token"),
        ({"basic_auth": {"username": "u\ude00", "password": "planted"}}, "$.auth.basic.username"),
        ({"basic_auth": {"username": "u", "password": "planted\ude00"}}, "$.auth.basic.password"),
        ({"auth": {"type": "api_key", "api_key": {"key": "k", "value": "planted\ude00"}}}, "$.auth.api_key.value"),
        ({"url": "http://127.0.0.1:9/:id?q=\ud83d"}, "$.url"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_half_a_character_is_told_with_its_place(open_agent: Any, arguments: dict[str, Any], path: str) -> None:
    with open_agent() as agent:
        told = agent.outcome(**{"method": "POST", "url": "http://127.0.0.1:9/:id", **arguments})
    assert isinstance(told, ToolInput), repr(told)
    assert told.path == path
    assert "half a surrogate pair" in str(told)
    assert "planted" not in str(told)


def test_ipv6_hosts_stand_in_brackets_in_messages(open_agent: Any) -> None:
    with socket.socket(socket.AF_INET6) as listener:
        try:
            listener.bind(("::1", 0))
        except OSError:
            pytest.skip("there is no IPv6 here")
        port = listener.getsockname()[1]
        with open_agent() as agent:
            told = agent.outcome(method="GET", url=f"http://[::1]:{port}/", headers={"Host": f"[::1]:{port}"})
        assert f"Cannot connect to [::1]:{port}: " in str(told)
    with open_agent(allowPrivateAddresses=False) as agent:
        assert "[::1] is refused" in str(agent.outcome(method="GET", url="http://[::1]/"))
