# SPDX-License-Identifier: MIT
"""A loopback double of a Qdrant server, for tests where no server can be had. It is not Qdrant.

It speaks REST and gRPC, so that the real client runs with its own transport, serialisation and errors, and keeps its points in that
client's in-memory engine, which is exact and has no real payload indexes but that of full text. Served are the calls that the store
makes. What of a server's behaviour is written here from its documentation, and proves nothing about a server: the texts and codes of errors,
that a payload cannot be set on an id that is missing, the version, the status of a write. Replication, sharding, strict mode's refusals and
real disks are not here.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

import grpc as transport
from pydantic import TypeAdapter
from qdrant_client import QdrantClient, grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

NO_KEY = "Must provide an API key or an Authorization bearer token"
_SELECTOR: TypeAdapter[Any] = TypeAdapter(models.PointsSelector)
_CODES = {
    404: transport.StatusCode.NOT_FOUND,
    409: transport.StatusCode.ALREADY_EXISTS,
    400: transport.StatusCode.INVALID_ARGUMENT,
}


class Refused(Exception):
    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words


class Engine:
    """Collections; one call at a time, because the client's engine does not lock.

    Attributes:
        version: what the server says of itself.
        status: of every write.
        key: that requests must carry; "" for none.
        indexes: payload indexes, by collection and key.
        asked: keys that were filtered by.
        calls: how often what was called.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """As when it was new."""
        self.version, self.key = "1.15.4", ""
        self.status = models.UpdateStatus.COMPLETED
        self.indexes: dict[str, dict[str, Any]] = {}
        self.asked: set[str] = set()
        self.calls: dict[str, int] = {}
        self.requests: list[dict[str, Any]] = []
        self._client: Any = QdrantClient(":memory:")

    def __call__(self, method: str, name: str, **values: Any) -> Any:
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.calls[method] = self.calls.get(method, 0) + 1
            self.requests.append({"method": method, **values})
            try:
                return getattr(self, method)(name, **values)
            except ValueError as error:
                raise Refused(400, str(error)) from error

    def exists(self, name: str) -> bool:
        return bool(self._client.collection_exists(name))

    def collections(self, name: str) -> list[str]:
        return [found.name for found in self._client.get_collections().collections]

    def info(self, name: str) -> Any:
        self._there(name)
        return self._client.get_collection(name)

    def make(self, name: str, vectors: Any) -> bool:
        if self.exists(name):
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        self.indexes[name] = {}
        return bool(self._client.create_collection(name, vectors_config=vectors))

    def index(self, name: str, field: str, schema: Any) -> Any:
        self._there(name)
        self.indexes[name][field] = schema
        self._client.create_payload_index(name, field_name=field, field_schema=schema)
        return self._done()

    def upsert(self, name: str, points: Any) -> Any:
        self._there(name)
        self._client.upsert(name, points=points)
        return self._done()

    def delete(self, name: str, selector: Any) -> Any:
        self._there(name)
        self._client.delete(name, points_selector=selector)
        return self._done()

    def set_payload(self, name: str, payload: Any, key: str | None, selector: Any) -> Any:
        self._there(name)
        if isinstance(selector, models.PointIdsList):
            missing = set(map(str, selector.points)) - {str(p.id) for p in self._client.retrieve(name, selector.points)}
            if missing:
                raise Refused(404, f"Not found: No point with id {missing.pop()} found")
        self._client.set_payload(name, payload=payload, key=key, points=selector)
        return self._done()

    def scroll(self, name: str, **asked: Any) -> Any:
        self._there(name)
        self._keys(asked["scroll_filter"])
        points, after = self._client.scroll(name, **asked)
        return [point.model_copy(update={"payload": point.payload or {}}) for point in points], after

    def query(self, name: str, **asked: Any) -> Any:
        self._there(name)
        self._keys(asked["query_filter"])
        return self._client.query_points(name, **asked).points

    def _there(self, name: str) -> None:
        if not self.exists(name):
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")

    def _done(self) -> models.UpdateResult:
        return models.UpdateResult(operation_id=1, status=self.status)

    def _keys(self, given: Any) -> None:
        if given is not None:
            for found in re.findall(r"key='([^']+)'", repr(given)):
                self.asked.add(found)


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


Call = Callable[[Any, Any], Any]


def _told(engine: Engine, call: Call) -> Call:
    def served(request: Any, context: Any) -> Any:
        if engine.key and dict(context.invocation_metadata()).get("api-key") != engine.key:
            context.abort(transport.StatusCode.UNAUTHENTICATED, NO_KEY)
        try:
            return call(request, context)
        except Refused as error:
            context.abort(_CODES.get(error.status, transport.StatusCode.INTERNAL), error.words)

    return served


def _services(engine: Engine) -> Any:
    """The three services of gRPC, with the calls that a store makes."""

    def result(made: Any) -> Any:
        return grpc.PointsOperationResponse(result=RestToGrpc.convert_update_result(made), time=0.0)

    def index(request: Any, _: Any) -> Any:
        names = {0: "keyword", 1: "integer", 2: "float", 3: "geo", 4: "text", 5: "bool", 6: "datetime", 7: "uuid"}
        schema: Any = models.PayloadSchemaType(names[request.field_type])
        if request.HasField("field_index_params"):
            schema = GrpcToRest.convert_payload_schema_params(request.field_index_params)
        return result(engine("index", request.collection_name, field=request.field_name, schema=schema))

    def scroll(request: Any, _: Any) -> Any:
        points, after = engine(
            "scroll",
            request.collection_name,
            scroll_filter=GrpcToRest.convert_filter(request.filter) if request.HasField("filter") else None,
            limit=request.limit,
            offset=GrpcToRest.convert_point_id(request.offset) if request.HasField("offset") else None,
            with_payload=GrpcToRest.convert_with_payload_interface(request.with_payload),
        )
        return grpc.ScrollResponse(
            result=[RestToGrpc.convert_retrieved_point(point) for point in points],
            next_page_offset=None if after is None else RestToGrpc.convert_extended_point_id(after),
        )

    def query(request: Any, _: Any) -> Any:
        points = engine(
            "query",
            request.collection_name,
            query=GrpcToRest.convert_query(request.query).nearest,
            query_filter=GrpcToRest.convert_filter(request.filter) if request.HasField("filter") else None,
            limit=request.limit,
            with_payload=GrpcToRest.convert_with_payload_interface(request.with_payload),
            score_threshold=request.score_threshold if request.HasField("score_threshold") else None,
        )
        return grpc.QueryResponse(result=[RestToGrpc.convert_scored_point(point) for point in points])

    def upsert(r: Any, _: Any) -> Any:
        return result(engine("upsert", r.collection_name, points=[GrpcToRest.convert_point_struct(p) for p in r.points]))

    def delete(r: Any, _: Any) -> Any:
        return result(engine("delete", r.collection_name, selector=GrpcToRest.convert_points_selector(r.points)))

    def set_payload(r: Any, _: Any) -> Any:
        key = r.key if r.HasField("key") else None
        chosen = GrpcToRest.convert_points_selector(r.points_selector)
        payload = GrpcToRest.convert_payload(r.payload)
        return result(engine("set_payload", r.collection_name, payload=payload, key=key, selector=chosen))

    def make(r: Any, _: Any) -> Any:
        made = engine("make", r.collection_name, vectors=GrpcToRest.convert_vectors_config(r.vectors_config))
        return grpc.CollectionOperationResponse(result=made)

    def exists(r: Any, _: Any) -> Any:
        there = grpc.CollectionExists(exists=engine("exists", r.collection_name))
        return grpc.CollectionExistsResponse(result=there)

    def info(r: Any, _: Any) -> Any:
        return grpc.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(engine("info", r.collection_name)))

    def health(r: Any, _: Any) -> Any:
        return grpc.HealthCheckReply(title="double of a qdrant", version=engine.version)

    calls = {
        "qdrant.Qdrant": {"HealthCheck": (health, grpc.HealthCheckRequest)},
        "qdrant.Collections": {
            "Create": (make, grpc.CreateCollection),
            "Get": (info, grpc.GetCollectionInfoRequest),
            "CollectionExists": (exists, grpc.CollectionExistsRequest),
        },
        "qdrant.Points": {
            "Upsert": (upsert, grpc.UpsertPoints),
            "Delete": (delete, grpc.DeletePoints),
            "SetPayload": (set_payload, grpc.SetPayloadPoints),
            "CreateFieldIndex": (index, grpc.CreateFieldIndexCollection),
            "Scroll": (scroll, grpc.ScrollPoints),
            "Query": (query, grpc.QueryPoints),
        },
    }
    for service, methods in calls.items():
        handlers = {
            name: transport.unary_unary_rpc_method_handler(
                _told(engine, call), request.FromString, lambda reply: reply.SerializeToString()
            )
            for name, (call, request) in methods.items()
        }
        yield transport.method_handlers_generic_handler(service, handlers)


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        return  # a connection that a test has reset


class Double:
    """Both servers over one engine; `port` and `grpc_port` are free ones."""

    def __init__(self) -> None:
        self.engine = Engine()
        handler = type("Handler", (Rest,), {"engine": self.engine})
        self._rest = Quiet(("127.0.0.1", 0), handler)
        self.port = self._rest.server_address[1]
        self._grpc = transport.server(ThreadPoolExecutor(8), options=[("grpc.max_receive_message_length", -1)])
        self._grpc.add_generic_rpc_handlers(tuple(_services(self.engine)))
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")

    def __enter__(self) -> Self:
        threading.Thread(target=self._rest.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self._grpc.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rest.shutdown()
        self._rest.server_close()
        self._grpc.stop(0).wait()
