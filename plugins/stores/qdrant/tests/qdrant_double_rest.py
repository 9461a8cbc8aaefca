# SPDX-License-Identifier: MIT
"""The REST side of the double."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

from pydantic import TypeAdapter
from qdrant_client import models
from qdrant_double_engine import NO_KEY, Engine, Refused

_SELECTOR: TypeAdapter[Any] = TypeAdapter(models.PointsSelector)


class Rest(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        self._serve()

    do_PUT = do_POST = do_GET  # noqa: N815  (http.server's names)

    def log_message(self, *_: Any) -> None:
        return

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.engine.key and self.headers.get("api-key") != self.engine.key:
            self._send(401, NO_KEY.encode(), "text/plain")
            return
        path = unquote(self.path.partition("?")[0])
        if path == "/":
            self._send(200, json.dumps({"title": "double of a qdrant", "version": self.engine.version}).encode())
            return
        try:
            result = self._answer(self.command, path, json.loads(body) if body else {})
        except Refused as error:
            self._send(error.status, json.dumps({"status": {"error": error.words}, "time": 0.0}).encode())
        except Exception as error:
            self._send(500, json.dumps({"status": {"error": repr(error)}, "time": 0.0}).encode())
        else:
            self._send(200, json.dumps({"result": _plain(result), "status": "ok", "time": 0.0}).encode())

    def _answer(self, verb: str, path: str, body: dict[str, Any]) -> Any:
        engine = self.engine
        if (verb, path) == ("GET", "/collections"):
            return {"collections": [{"name": name} for name in engine("collections", "")]}
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", path)
        if found is None:
            raise Refused(404, "")
        name, rest = found[1], found[2] or ""
        match verb, rest:
            case "GET", "/exists":
                return {"exists": engine("exists", name)}
            case "GET", "":
                return engine("info", name)
            case "PUT", "":
                return engine("make", name, vectors=models.CreateCollection(**body).vectors)
            case "PUT", "/index":
                asked = models.CreateFieldIndex(**body)
                return engine("index", name, field=asked.field_name, schema=asked.field_schema)
            case "PUT", "/points":
                return engine("upsert", name, points=models.PointsList(**body).points)
            case "POST", "/points/delete":
                return engine("delete", name, selector=_SELECTOR.validate_python(body))
            case "POST", "/points/payload":
                given = models.SetPayload(**body)
                chosen = given.filter or models.PointIdsList(points=given.points or [])
                return engine("set_payload", name, payload=given.payload, key=given.key, selector=chosen)
            case "POST", "/points/scroll":
                page = models.ScrollRequest(**body)
                points, after = engine(
                    "scroll",
                    name,
                    scroll_filter=page.filter,
                    limit=page.limit or 10,
                    offset=page.offset,
                    with_payload=True if page.with_payload is None else page.with_payload,
                )
                return {"points": points, "next_page_offset": after}
            case "POST", "/points/query":
                want = models.QueryRequest(**body)
                points = engine(
                    "query",
                    name,
                    exact=want.params.exact if want.params else None,
                    query=want.query,
                    query_filter=want.filter,
                    limit=want.limit or 10,
                    with_payload=bool(want.with_payload) if want.with_payload is None else want.with_payload,
                    score_threshold=want.score_threshold,
                )
                return {"points": points}
        raise Refused(404, "")

    def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _plain(value: Any) -> Any:
    return TypeAdapter(Any).dump_python(value, mode="json")
