# SPDX-License-Identifier: MIT
"""From checked arguments to what goes over the wire, and what of it may go to which origin."""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import attrs
from multidict import CIMultiDict
from yarl import URL

from rocketride_core import ToolDenied, ToolInput

from .concealed import is_secret, revealed, secrets_in
from .config import HttpRequestConfig
from .patterns import Whitelist, origin_of

__all__ = ["Guard", "Prepared", "host_of", "prepared", "shown"]

LONGEST_URL = 16_384  # characters
# Set by the client, which knows better; what a model says of these is left out.
_OWN = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer", "expect"}
    | {"accept-encoding", "proxy-authorization", "proxy-connection"}
)
# An IPv4 address in a spelling that some resolvers accept and others do not.
_ODD_NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]*))*\.?", re.IGNORECASE)
_IPV4 = re.compile(r"((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}")


@attrs.define
class Prepared:
    """A request that is ready.

    Parameters:
        headers: of the model and, where they are no secrets, of the config.
        given: secrets of the model, to be hidden in what comes back.
        timeout: seconds, None for the config's.
        private: small names of the headers that another origin must not get.
    """

    method: str
    url: URL
    headers: CIMultiDict[str]
    body: bytes | None = attrs.field(default=None, repr=False)
    given: tuple[str, ...] = attrs.field(default=(), repr=False)
    timeout: float | None = None
    private: frozenset[str] = frozenset()

    def redirected(self, status: int, url: URL) -> Prepared:
        """The next request, as browsers make it. Credentials do not go to another origin."""
        method, body, headers = self.method, self.body, self.headers.copy()
        if (status == 303 and method != "HEAD") or (status in {301, 302} and method == "POST"):
            method, body = "GET", None
            for name in [name for name in headers if name.lower().startswith("content-")]:
                headers.popall(name, None)
        if origin_of(str(url)) != origin_of(str(self.url)):
            for name in self.private:
                headers.popall(name, None)
        return attrs.evolve(self, method=method, url=url, body=body, headers=headers)


def shown(url: URL) -> str:
    """A URL as it may be shown: without the secrets of its query."""
    pairs = [(name, "***" if value and is_secret(name) else value) for name, value in url.query.items()]
    return str(url if all(value != "***" for _, value in pairs) else url.with_query(pairs))


def host_of(url: URL) -> str:
    """The host as it stands in a URL and in messages: an IPv6 address in brackets."""
    host = url.host or ""
    return f"[{host}]" if ":" in host else host


class Guard:
    """What may be requested, whoever asks: a model or a redirect."""

    def __init__(self, config: HttpRequestConfig) -> None:
        self._methods, self._whitelist = config.methods, Whitelist(config.patterns)

    def check(self, method: str, url: URL) -> None:
        """Of a URL with scheme and host.

        Raises:
            ToolDenied: the method or the URL is not allowed.
        """
        if method not in self._methods:
            raise ToolDenied(f'HTTP method "{method}" is not allowed. Enabled methods: {", ".join(self._methods)}')
        host = url.raw_host or ""
        if _ODD_NUMBER.fullmatch(host) and not _IPV4.fullmatch(host):
            raise ToolDenied("The host is an IP address in an unusual spelling; write it as four numbers, as 192.0.2.1.")
        if not self._whitelist.allows(str(url)):
            raise ToolDenied(f'URL "{shown(url)}" does not match any allowed URL pattern.')


def target(text: str, path_params: Mapping[str, str] | None = None) -> URL:
    """The URL that is meant, with the `:name` parts of its path filled in.

    Raises:
        ToolInput: it is none that can be requested; no message shows it, as it may hold secrets.
    """
    names = path_params or {}
    base, mark, query = text.partition("?")
    scheme, separator, rest = base.partition("://")
    place, _, path = rest.partition("/")
    for name, value in names.items():
        if value in {"", ".", ".."}:
            raise ToolInput(f"path_params.{name} must not be empty, '.' or '..'", path=f"$.path_params.{name}")
    path = re.sub(r":([A-Za-z_]\w*)", lambda found: quote(names[found[1]], safe="") if found[1] in names else found[0], path)
    if any(ord(c) < 32 or ord(c) == 127 for c in text) or "\\" in base:
        raise ToolInput("url must not hold backslashes, line breaks or control characters", path="$.url")
    try:
        url = URL(f"{scheme}{separator}{place}/{path}{mark}{query}")
        if url.port is None or len(str(url)) > LONGEST_URL:
            raise ValueError
    except (ValueError, UnicodeError):
        raise ToolInput("url must be a valid absolute URL, as https://api.example.com/items", path="$.url") from None
    if url.scheme not in {"http", "https"} or not re.fullmatch(r"[\w.:%-]+", url.raw_host or "", re.ASCII):
        raise ToolInput("url must begin with http:// or https:// and name a host", path="$.url")
    if url.raw_user is not None or url.raw_password is not None:
        raise ToolInput("url must not hold a user name or password; give them as basic_auth", path="$.url")
    return url.with_fragment(None)


def prepared(arguments: Mapping[str, Any], config: HttpRequestConfig) -> Prepared:
    """The request of arguments that are `normalised`.

    Raises:
        ToolInput: the URL cannot be requested.
    """
    given = tuple(secrets_in(arguments))
    plain = revealed(arguments)
    url = target(plain["url"], plain.get("path_params", {}))
    if "query_params" in plain:
        added = urlencode(plain["query_params"], doseq=True, quote_via=quote)
        url = URL(f"{url}{'&' if url.raw_query_string else '?'}{added}", encoded=True) if added else url
    headers: CIMultiDict[str] = CIMultiDict(
        {name: value.reveal() for name, value in config.headers.items() if not is_secret(name)}
    )
    headers.setdefault("User-Agent", "rocketride-core")
    headers.setdefault("Accept", "*/*")
    for name, value in plain.get("headers", {}).items():
        if name.lower() == "host" and value.lower() not in {host_of(url), f"{host_of(url)}:{url.port}"}:
            raise ToolInput("headers.Host must be the host of the url; leave it out", path="$.headers.Host")
        if name.lower() not in _OWN:
            headers[name] = value
    headers["Accept-Encoding"] = "gzip, deflate"
    url = _authenticated(plain.get("auth", {}), url, headers)
    content_type, body = _body(plain)
    if body is not None and (content_type.startswith("multipart/") or "Content-Type" not in headers):
        headers["Content-Type"] = content_type
    private = {name.lower() for name in headers if is_secret(name)}
    private |= {plain["auth"]["api_key"]["key"].lower()} if "api_key" in plain.get("auth", {}) else set()
    given += tuple(headers[name] for name in private if name in headers)
    return Prepared(plain["method"], url, headers, body, given, plain.get("timeout"), frozenset(private))


def _authenticated(auth: Mapping[str, Any], url: URL, headers: CIMultiDict[str]) -> URL:
    kind = auth.get("type", "none")
    if kind == "bearer":
        headers["Authorization"] = f"Bearer {auth['bearer']['token']}"
    elif kind == "basic":
        headers["Authorization"] = basic(auth["basic"]["username"], auth["basic"]["password"])
    elif kind == "api_key":
        key, value = auth["api_key"]["key"], auth["api_key"]["value"]
        if auth["api_key"]["add_to"] == "query_param":
            return url.update_query({key: value})
        headers[key] = value
    return url


def basic(username: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


def credentials(request: Prepared, config: HttpRequestConfig) -> tuple[URL, CIMultiDict[str]]:
    """URL and headers with what the config adds for that origin, which wins over what the model gave."""
    url, headers = request.url, request.headers.copy()
    if origin_of(str(url)) not in set(map(origin_of, config.auth_origins)):
        return url, headers
    for name, value in config.headers.items():
        if is_secret(name):
            headers[name] = value.reveal()
    details = {
        "basic": {"username": config.username, "password": config.password.reveal()},
        "bearer": {"token": config.token.reveal()},
        "api_key": {"key": config.api_key_name, "value": config.api_key.reveal(), "add_to": config.api_key_in},
    }
    if config.auth_type != "none":
        url = _authenticated({"type": config.auth_type, **details}, url, headers)
    return url, headers


def _body(plain: Mapping[str, Any]) -> tuple[str, bytes | None]:
    if "body_json" in plain:
        value = plain["body_json"]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return "application/json", text.encode("utf-8", "replace")
    body = plain.get("body", {})
    kind = body.get("type", "none")
    if kind == "raw":
        return body["raw"]["content_type"], body["raw"]["content"].encode("utf-8", "replace")
    if kind == "x_www_form_urlencoded":
        return "application/x-www-form-urlencoded", urlencode(body["urlencoded"]).encode()
    if kind == "form_data":
        boundary = uuid.uuid4().hex
        escapes = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="{name.translate(escapes)}"\r\n\r\n{value}\r\n'
            for name, value in body["form_data"].items()
        ]
        return f"multipart/form-data; boundary={boundary}", "".join([*parts, f"--{boundary}--\r\n"]).encode("utf-8", "replace")
    return "", None
