# SPDX-License-Identifier: MIT
"""What models send as arguments, in one checked form that no trace can give a secret away of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus

from rocketride_core import Json, Secret, ToolInput

from .concealed import conceal, is_secret, revealed
from .config import LONGEST, METHODS
from .schema import AUTH_TYPES, BODY_TYPES, CONTENT_TYPES, PLACES

__all__ = ["normalised"]

_KNOWN = (
    *("url", "method", "query_params", "path_params", "headers", "body_json", "bearer_token", "basic_auth"),
    *("auth", "body", "timeout"),
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HALF = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def _bad(message: str, path: str) -> ToolInput:
    return ToolInput(message, path=path)


def normalised(arguments: object) -> dict[str, Any]:
    """The arguments of `http_request`: shortcuts spelt out, nulls left out, and every secret in a `Secret`.

    Objects are taken as JSON texts, too, and all of them in an envelope `{"input": …}`; `security_context` is ignored.
    What comes out may come in again.

    Raises:
        ToolInput: something is missing or wrong; no message holds a secret.
    """
    if isinstance(arguments, Mapping) and set(arguments) - {"security_context"} == {"input"}:
        arguments = _opened(arguments["input"])
    if not isinstance(arguments, Mapping):
        raise _bad("Tool input must be a JSON object (dict)", "$")
    given = {key: value for key, value in revealed(arguments).items() if value is not None and key != "security_context"}
    for key in given:
        if key not in _KNOWN:
            raise _bad(f"{key} is no argument of this tool; there are {', '.join(_KNOWN)}", f"$.{key}")
    out: dict[str, Any] = {"method": _method(given.get("method"))}
    url, moved = _url(given.get("url"))
    out["url"] = url
    query = {**moved, **_pairs(given, "query_params", lists=True)}
    for name, values in (
        ("query_params", query),
        ("path_params", _pairs(given, "path_params")),
        ("headers", _headers(given)),
    ):
        if values:
            out[name] = conceal(values)
    if auth := _auth(given):
        out["auth"] = auth
    out |= _body(given)
    if "timeout" in given:
        out["timeout"] = _timeout(given["timeout"])
    return out


def _opened(value: Any) -> Any:
    """An object, also where it is one in the form of a JSON text; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _method(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _bad("method is required and must be a non-empty string", "$.method")
    if (method := value.strip().upper()) not in METHODS:
        raise _bad(f"method must be one of {sorted(METHODS)}; got {value[:40]!r}", "$.method")
    return method


def _url(value: object) -> tuple[str, dict[str, Any]]:
    """The URL without its fragment, which no server gets, and without the secrets of its query; these apart."""
    if not isinstance(value, str) or not value.strip():
        raise _bad("url is required and must be a non-empty string", "$.url")
    base, mark, query = _whole(value.strip(), "$.url").partition("#")[0].partition("?")
    kept: list[str] = []
    moved: dict[str, Any] = {}
    for pair in query.split("&"):
        name, _, text = pair.partition("=")
        name = unquote_plus(name)
        if is_secret(name) and text:
            moved.setdefault(name, []).append(unquote_plus(text))
        else:
            kept.append(pair)
    return base + mark * bool(kept) + "&".join(kept), {name: many[0] if len(many) == 1 else many for name, many in moved.items()}


def _object(given: Mapping[str, Any], key: str, path: str = "$") -> Mapping[str, Any]:
    found = _opened(given[key])
    if not isinstance(found, Mapping):
        raise _bad(f"{f'{path}.{key}'.removeprefix('$.')} must be a JSON object", f"{path}.{key}")
    return found


def _plain(value: Any, path: str) -> str:
    """A value as it stands in a header, a URL or a form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return _whole(str(value), path)
    raise _bad(f"{path.removeprefix('$.')} must be a text, a number or a truth value", path)


def _whole(text: str, path: str) -> str:
    """The text, which UTF-8 can write: JSON can hold a half of a character, and nothing of HTTP can."""
    if _HALF.search(text):
        raise _bad(f"{_HALF.sub('?', path.removeprefix('$.'))} must not hold half a surrogate pair", _HALF.sub("?", path))
    return text


def _pairs(given: Mapping[str, Any], key: str, path: str = "$", *, lists: bool = False) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in (_object(given, key, path) if given.get(key) is not None else {}).items():
        at = f"{path}.{key}.{name}"
        _whole(name, at)
        if lists and isinstance(value, Sequence) and not isinstance(value, str):
            out[name] = [_plain(item, at) for item in value]
        elif value is not None:
            out[name] = _plain(value, at)
    return out


def _headers(given: Mapping[str, Any]) -> dict[str, Any]:
    found = _pairs(given, "headers")
    for name, value in found.items():
        if not _TOKEN.fullmatch(name):
            raise _bad("headers has a name that HTTP does not allow: letters, digits and - only", "$.headers")
        if _CONTROL.search(value):
            raise _bad(f"headers.{name} must not hold line breaks or control characters", f"$.headers.{name}")
        found[name] = value.strip()
    return found


def _auth(given: Mapping[str, Any]) -> dict[str, Any]:
    if "auth" in given:
        auth = _opened(given["auth"])
        if not isinstance(auth, Mapping):
            raise _bad("auth must be a JSON object", "$.auth")
        kind = auth.get("type", "none")
    elif "bearer_token" in given:
        auth, kind = {"bearer": {"token": given["bearer_token"]}}, "bearer"
    elif "basic_auth" in given:
        auth, kind = {"basic": given["basic_auth"]}, "basic"
    else:
        return {}
    if not isinstance(kind, str):
        raise _bad("auth.type must be a string", "$.auth.type")
    if kind not in AUTH_TYPES:
        raise _bad(f"auth.type must be one of {sorted(AUTH_TYPES)}", "$.auth.type")
    if kind == "none":
        return {}
    details = _opened(auth.get(kind))
    wanted = {"basic": ("username", "password"), "bearer": ("token",), "api_key": ("key", "value")}[kind]
    if not isinstance(details, Mapping) or not all(isinstance(details.get(name), str) for name in wanted):
        raise _bad(f"auth.{kind} must be a JSON object with {' and '.join(wanted)}", f"$.auth.{kind}")
    if any(_CONTROL.search(details[name]) for name in wanted):
        raise _bad(f"auth.{kind} must not hold line breaks or control characters", f"$.auth.{kind}")
    out: dict[str, Any] = {name: _whole(details[name], f"$.auth.{kind}.{name}") for name in wanted}
    out[wanted[-1]] = Secret(details[wanted[-1]])
    if kind == "api_key":
        out["add_to"] = details.get("add_to") or PLACES[0]
        if out["add_to"] not in PLACES:
            raise _bad(f"auth.api_key.add_to must be one of {sorted(PLACES)}", "$.auth.api_key.add_to")
        if not _TOKEN.fullmatch(out["key"]):
            raise _bad("auth.api_key.key must be the name of a header or query parameter", "$.auth.api_key.key")
    elif kind == "basic" and ":" in out["username"]:
        raise _bad("auth.basic.username must not hold a colon", "$.auth.basic.username")
    return {"type": kind, kind: out}


def _body(given: Mapping[str, Any]) -> dict[str, Any]:
    if "body" not in given:
        return {"body_json": _json(given["body_json"])} if "body_json" in given else {}
    body = _opened(given["body"])
    if not isinstance(body, Mapping):
        raise _bad("body must be a JSON object", "$.body")
    kind = body.get("type", "none")
    if kind not in BODY_TYPES:
        raise _bad(f"body.type must be one of {sorted(BODY_TYPES)}", "$.body.type")
    if kind == "none":
        return {"body_json": _json(given["body_json"])} if "body_json" in given else {}
    if kind == "raw":
        raw = _opened(body.get("raw"))
        if not isinstance(raw, Mapping):
            raise _bad("body.raw must be a JSON object", "$.body.raw")
        content_type = raw.get("content_type") or CONTENT_TYPES[0]
        if content_type not in CONTENT_TYPES:
            raise _bad(f"body.raw.content_type must be one of {sorted(CONTENT_TYPES)}", "$.body.raw.content_type")
        content = raw.get("content")
        text = "" if content is None else content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        return {"body": {"type": kind, "raw": {"content": _json(text), "content_type": content_type}}}
    key = "form_data" if kind == "form_data" else "urlencoded"
    source = body if key in body or key == "form_data" else {key: body.get(kind)}
    return {"body": {"type": kind, key: conceal(_pairs(source, key, "$.body"))}}


def _json(value: Json) -> Any:
    """A body without visible secrets: a text that is JSON with a secret in it is one as a whole."""
    if not isinstance(value, str):
        if not isinstance(value, Mapping | list):
            raise _bad("body_json must be a JSON object, an array, or a text", "$.body_json")
        return conceal(value)
    try:
        inside = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return value if conceal(inside) == inside else Secret(value)


def _timeout(value: object) -> float:
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not seconds > 0:
        raise _bad(f"timeout must be a number of seconds above 0, and at most {LONGEST:g}", "$.timeout")
    return min(seconds, LONGEST)
