# SPDX-License-Identifier: MIT
"""What a model reads of the tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rocketride_core import Arguments

from .config import LONGEST, HttpRequestConfig

__all__ = ["AUTH_TYPES", "BODY_TYPES", "CONTENT_TYPES", "OUTPUT", "PLACES", "description", "input_schema"]

AUTH_TYPES = ("none", "basic", "bearer", "api_key")
BODY_TYPES = ("none", "raw", "form_data", "x_www_form_urlencoded")
CONTENT_TYPES = ("application/json", "application/xml", "text/html", "text/javascript", "text/plain")
PLACES = ("header", "query_param")

_SCALAR = {"type": ["string", "number", "boolean", "null"]}


def description(config: HttpRequestConfig) -> str:
    parts = [
        "Makes one HTTP request and returns the response. Give `url` and `method`; for a JSON body give `body_json`.",
        "An HTTP error such as 404 is a response like any other: look at `status_code`.",
    ]
    if config.auth_origins:
        parts.append("Credentials for the configured service are added by the tool: give none for it.")
    if config.url_whitelist:
        parts.append("Only some URLs are allowed; others are refused.")
    return " ".join(parts)


def _object(said: str, properties: dict[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    out = {"type": "object", "description": said, "properties": properties, "additionalProperties": False}
    return {**out, "required": list(required)} if required else out


def _pairs(said: str, values: dict[str, Any] = _SCALAR) -> dict[str, Any]:
    return {"type": "object", "description": said, "additionalProperties": values}


def _text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": said, **more}


def _basic() -> dict[str, Any]:
    return _object(
        "HTTP basic authentication.",
        {"username": _text("User name."), "password": _text("Password.", format="password", writeOnly=True)},
        ("username", "password"),
    )


def input_schema(config: HttpRequestConfig) -> Arguments:
    """The schema of the arguments, with the methods that the config allows."""
    key = {
        "key": _text("Name of the header or query parameter."),
        "value": _text("The key.", format="password", writeOnly=True),
        "add_to": _text("Where it goes.", enum=list(PLACES), default="header"),
    }
    auth = {
        "type": _text("Kind of authentication; the member of that name has the details.", enum=list(AUTH_TYPES)),
        "basic": _basic(),
        "bearer": _object("A bearer token.", {"token": _text("The token.", format="password", writeOnly=True)}, ("token",)),
        "api_key": _object("An API key.", key, ("key", "value")),
    }
    raw = {
        "content": _text("The body, as it is sent."),
        "content_type": _text("Its type.", enum=list(CONTENT_TYPES), default=CONTENT_TYPES[0]),
    }
    body = {
        "type": _text("Kind of body; the member of that name has it, `urlencoded` for the last.", enum=list(BODY_TYPES)),
        "raw": _object("A text as it is.", raw, ("content",)),
        "form_data": _pairs("Fields of a multipart form."),
        "urlencoded": _pairs("Fields of a URL-encoded form."),
    }
    several = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}
    properties: dict[str, Any] = {
        "url": _text("Absolute URL with http:// or https://; `:name` in its path is filled from `path_params`.", minLength=1),
        "method": _text("HTTP method.", enum=list(config.methods)),
        "query_params": _pairs("Added to the query of the URL; a list repeats the parameter.", several),
        "path_params": _pairs("Values for the `:name` parts of the URL's path, {'id': 7} for `/users/:id`.", _SCALAR),
        "headers": _pairs("Request headers. Host, Content-Length and those of the connection are set by the tool."),
        "body_json": {"type": ["object", "array", "string"], "description": "JSON body; a text is sent as it is."},
        "bearer_token": _text("Sent as `Authorization: Bearer …`.", format="password", writeOnly=True),
        "basic_auth": _basic(),
        "auth": _object("Any authentication; the shortcuts bearer_token and basic_auth are simpler.", auth, ("type",)),
        "body": _object("Any body; body_json is simpler.", body, ("type",)),
        "timeout": {
            "type": "number",
            "description": f"Time limit in seconds; {config.timeout:g} by default, {LONGEST:g} at most.",
            "exclusiveMinimum": 0,
            "maximum": LONGEST,
        },
    }
    return {"type": "object", "properties": properties, "required": ["url", "method"], "additionalProperties": False}


OUTPUT: Arguments = {
    "type": "object",
    "properties": {
        "status_code": {"type": "integer", "description": "HTTP status, 404 for one."},
        "status_text": {"type": "string", "description": "Its reason phrase."},
        "headers": {"type": "object", "description": "Response headers.", "additionalProperties": {"type": "string"}},
        "body": {"type": "string", "description": "The body as text; base64 for binary data, see `encoding`."},
        "encoding": {"type": "string", "description": "Character set that the body was read with, or base64."},
        "json": {"description": "The body where it is JSON, else null."},
        "truncated": {"type": "boolean", "description": "The body was longer than allowed, and is only its beginning."},
        "elapsed_ms": {"type": "integer", "description": "Milliseconds, redirects included."},
        "content_type": {"type": "string", "description": "Content-Type of the response."},
        "url": {"type": "string", "description": "The URL that answered, after redirects."},
        "redirects": {"type": "integer", "description": "How many redirects were followed."},
    },
    "required": ["status_code", "status_text", "headers", "body", "json", "elapsed_ms", "content_type", "truncated"],
}
