# SPDX-License-Identifier: MIT
"""The config, and what can be said of it before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import attrs

from rocketride_core import Secret, setting

from .addresses import Allowed
from .concealed import is_secret
from .patterns import Whitelist, origin_of

__all__ = ["LONGEST", "METHODS", "HttpRequestConfig", "WhitelistRow", "faults"]

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
LONGEST = 300.0  # seconds
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@attrs.frozen(kw_only=True)
class WhitelistRow:
    pattern: str = setting("", key="whitelistPattern", title="URL pattern")


@attrs.frozen(kw_only=True)
class HttpRequestConfig:
    server_name: str = setting("http", key="serverName", title="Server name", doc="Kept for old files; it names nothing.")
    allow_get: bool = setting(True, key="allowGET", title="GET")
    allow_post: bool = setting(True, key="allowPOST", title="POST")
    allow_put: bool = setting(True, key="allowPUT", title="PUT")
    allow_patch: bool = setting(True, key="allowPATCH", title="PATCH")
    allow_delete: bool = setting(True, key="allowDELETE", title="DELETE")
    allow_head: bool = setting(False, key="allowHEAD", title="HEAD")
    allow_options: bool = setting(False, key="allowOPTIONS", title="OPTIONS")
    url_whitelist: tuple[WhitelistRow | str, ...] = setting(
        (),
        key="urlWhitelist",
        title="URL whitelist",
        doc="Regular expressions, or plain addresses; a URL must fit one. Without any, all URLs are allowed.",
    )
    rate_per_second: int = setting(10, key="rateLimitPerSecond", ge=0, title="Requests per second", doc="0 is no limit.")
    rate_per_minute: int = setting(100, key="rateLimitPerMinute", ge=0, title="Requests per minute", doc="0 is no limit.")
    max_concurrent: int = setting(5, key="maxConcurrentRequests", ge=0, title="Requests at once", doc="0 is no limit.")
    allow_private: bool = setting(
        False,
        key="allowPrivateAddresses",
        title="Private addresses",
        doc="Allow private and loopback addresses. Link-local ones, among them the metadata services of clouds, stay refused.",
    )
    allowed_addresses: tuple[str, ...] = setting(
        (),
        key="allowedAddresses",
        title="Allowed addresses",
        doc="Host names, IP addresses and networks (10.1.0.0/16) that are not public and may be called all the same.",
    )
    max_response: int = setting(
        1_048_576,
        key="maxResponseBytes",
        ge=1,
        le=104_857_600,
        unit="bytes",
        title="Longest response",
        doc="Of the body after decompression; what is longer is cut, and the result says so.",
    )
    max_redirects: int = setting(
        10, key="maxRedirects", ge=0, le=20, title="Redirects", doc="Followed for one request; 0 gives the 3xx response itself."
    )
    timeout: float = setting(
        30.0, ge=0.1, le=LONGEST, unit="s", title="Time limit", doc="Of a whole request; the model may ask for up to 300 s."
    )
    auth_type: str = setting("none", key="authType", choices=("none", "basic", "bearer", "api_key"), title="Authentication")
    auth_origins: tuple[str, ...] = setting(
        (),
        key="authOrigins",
        title="Who gets the credentials",
        doc="Origins, as https://api.example.com: only requests to these carry the credentials and secret headers of this config.",
    )
    username: str = setting("", title="User name", show_if={"authType": "basic"})
    password: Secret = setting(Secret(), title="Password", show_if={"authType": "basic"})
    token: Secret = setting(Secret(), title="Token", show_if={"authType": "bearer"})
    api_key: Secret = setting(Secret(), key="apikey", title="API key", show_if={"authType": "api_key"})
    api_key_name: str = setting("X-API-Key", key="apikeyName", title="Name of the API key", show_if={"authType": "api_key"})
    api_key_in: str = setting(
        "header", key="apikeyIn", choices=("header", "query_param"), title="Place of the API key", show_if={"authType": "api_key"}
    )
    headers: Mapping[str, Secret] = setting(
        {}, title="Headers", doc="Sent with every request; those that hold secrets only to the origins of authOrigins."
    )
    return_cookies: bool = setting(
        False, key="returnCookies", title="Show cookies", doc="Show the values of Set-Cookie headers in results."
    )

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are allowed."""
        return tuple(method for method in METHODS if getattr(self, f"allow_{method.lower()}"))

    @property
    def patterns(self) -> tuple[str, ...]:
        """The rows of the whitelist that are not blank."""
        rows = (row if isinstance(row, str) else row.pattern for row in self.url_whitelist)
        return tuple(stripped for row in rows if (stripped := row.strip()))

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that nobody may see."""
        hidden = (value for name, value in self.headers.items() if is_secret(name))
        return tuple(value.reveal() for value in (self.password, self.token, self.api_key, *hidden) if value)


def faults(config: HttpRequestConfig) -> Iterator[tuple[str, str, str]]:
    """(key, message, hint) of everything that is wrong with values which are fine one by one; no message holds a value of a
    secret."""
    if not config.methods:
        yield "allowGET", "no HTTP method is allowed, so nothing can be requested", "set one of allowGET … allowOPTIONS to true"
    try:
        Whitelist(config.patterns)
    except ValueError as error:
        yield "urlWhitelist", str(error), r"write a Python regular expression, ^https://api\.example\.com/ for one"
    try:
        Allowed(config.allow_private, config.allowed_addresses)
    except ValueError as error:
        yield "allowedAddresses", str(error), "write host names, IP addresses, or networks as 10.1.0.0/16"
    for origin in config.auth_origins:
        if not origin_of(origin):
            yield "authOrigins", "an item is not an origin", "write scheme and host, as https://api.example.com"
    needed = {"basic": ("username", config.username), "bearer": ("token", config.token), "api_key": ("apikey", config.api_key)}
    key, value = needed.get(config.auth_type, ("", "x"))
    if not value:
        yield key, f"authType is {config.auth_type}, and '{key}' is empty", f"set '{key}', or authType to none"
    if not config.auth_origins and (config.auth_type != "none" or any(map(is_secret, config.headers))):
        message = "there are credentials, and authOrigins does not say who gets them"
        yield "authOrigins", message, "write the origins of the service, as https://api.example.com"
    names = [*config.headers, *([config.api_key_name] if config.auth_type == "api_key" else [])]
    values = [one.reveal() for one in (*config.headers.values(), config.token, config.api_key)]
    if not all(map(_TOKEN.fullmatch, names)) or any(re.search(r"[\x00-\x08\x0a-\x1f\x7f]", one) for one in values):
        yield "headers", "a header has a name or a value that HTTP does not allow", "leave out line breaks and control characters"
