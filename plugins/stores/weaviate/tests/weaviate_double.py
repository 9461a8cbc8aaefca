# SPDX-License-Identifier: MIT
"""A stand-in for a Weaviate server, on loopback, for tests. It is not Weaviate.

No Weaviate server can be installed from a package registry, so these tests run the real `weaviate-client` against this:
REST (ready, meta, schema, merging one object) on one port, gRPC (health, Search, BatchObjects, BatchDelete) on another, on the
stubs that the client ships. What it takes from the server's sources and documentation:

- at most 10,000 results, offset included; a cursor only without filter, sort and offset;
- a filter's value must have the property's type, and the property an index; text is compared by its tokens; `Like` builds a
  regular expression without quoting; ranges compare text by its bytes;
- objects are refused one by one, for a vector of another length and for a value of another type;
- gRPC refusals come with the status UNKNOWN; a class name begins with a capital letter;
- distances: 1 - cosine, the negative inner product, the squared Euclidean distance.

What it does otherwise: the search is exact, with numpy; a property that the schema does not have is refused, where Weaviate
would add it; there are no shards, tenants, replicas, modules, references and no persistence. So it shows that our requests and
our reading of replies are consistent with that description, not that a server accepts them, and nothing about recall or speed.
"""

from __future__ import annotations

import json
import re
import struct
import threading
import uuid as uuids
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc  # type: ignore[import-untyped]
import numpy as np
from weaviate.proto.v1 import base_pb2, batch_delete_pb2, batch_pb2, health_weaviate_pb2, search_get_pb2, weaviate_pb2_grpc

__all__ = ["Double", "Refused"]

MOST = 10_000
OPERATORS = {value: name.removeprefix("OPERATOR_") for name, value in base_pb2.Filters.Operator.items()}
KINDS = {"text": str, "int": int, "boolean": bool, "number": float}


class Refused(Exception):
    """What the server answers in place of a result."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.status = status


class Double:
    """One server; `close()` it.

    Attributes set by tests:
        version: told by /v1/meta.
        key: API key that is asked for, "" is none.
        indexes: vector index types that a new collection may have.
        refuse: text in `content` of objects that a batch does not take, with the reason.
        not_ready: how many ready checks still fail.
        largest: message size told by /v1/meta, in bytes; the client keeps to it, both ways. 0 is not told.
        half: gRPC statuses, one for each batch to come: half of the batch is stored, then the call fails with it.
        statuses: gRPC statuses, one for each call to come, before anything is done.
        calls: what was asked, by name.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.reset()
        handler = type("Handler", (Rest,), {"double": self})
        self.http = Quiet(("127.0.0.1", 0), handler)
        self.port = self.http.server_address[1]
        self._thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), name="weaviate double", daemon=True)
        self._thread.start()
        self.pool = ThreadPoolExecutor(16, "weaviate double")
        self.grpc = grpc.server(self.pool, options=[("grpc.max_receive_message_length", 104858000)])
        weaviate_pb2_grpc.add_WeaviateServicer_to_server(Grpc(self), self.grpc)  # type: ignore[no-untyped-call]
        health = grpc.unary_unary_rpc_method_handler(
            lambda request, context: health_weaviate_pb2.WeaviateHealthCheckResponse(status="SERVING"),
            request_deserializer=health_weaviate_pb2.WeaviateHealthCheckRequest.FromString,
            response_serializer=health_weaviate_pb2.WeaviateHealthCheckResponse.SerializeToString,
        )
        self.grpc.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": health}),))
        self.grpc_port = self.grpc.add_insecure_port("127.0.0.1:0")
        self.grpc.start()

    def reset(self) -> None:
        with self.lock:
            self.version, self.key, self.indexes = "1.38.2", "", ("hnsw", "flat", "hfresh")
            self.refuse: dict[str, str] = {}
            self.not_ready = self.largest = 0
            self.half: list[Any] = []
            self.statuses: list[Any] = []
            self.calls: dict[str, int] = defaultdict(int)
            self.classes: dict[str, dict[str, Any]] = {}
            self.objects: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {}

    def close(self) -> None:
        self.grpc.stop(None).wait()
        self.pool.shutdown()
        self.http.shutdown()
        self.http.server_close()
        self._thread.join()

    # ---- schema and objects

    def make(self, given: dict[str, Any]) -> dict[str, Any]:
        name = str(given["class"])
        if not re.fullmatch(r"[A-Z][_0-9A-Za-z]{0,254}", name):
            raise Refused(f"'{name}' is not a valid class name")
        with self.lock:
            if name.lower() in {known.lower() for known in self.classes}:
                raise Refused(f"class name {name} already exists")
            for config in (given.get("vectorConfig") or {"": given}).values():
                kind = config.setdefault("vectorIndexType", "hnsw")
                if kind not in self.indexes:
                    raise Refused(f"vector index type {kind} is not allowed in this cluster")
                config.setdefault("vectorIndexConfig", {}).setdefault("distance", "cosine")
                config["vectorIndexConfig"] = INDEX[kind] | config["vectorIndexConfig"]
            for one in given.setdefault("properties", []):
                text = one["dataType"] == ["text"]
                one.setdefault("indexFilterable", True)
                one.setdefault("indexSearchable", text)
                if text:
                    one.setdefault("tokenization", "word")
            inverted = given["invertedIndexConfig"] = INVERTED | given.get("invertedIndexConfig", {})
            inverted["stopwords"] = INVERTED["stopwords"] | inverted["stopwords"]
            made = DEFAULTS | given
            self.classes[name], self.objects[name] = made, {}
            return made

    def put(self, name: str, id: str, kept: dict[str, Any], vector: Any) -> None:
        """Store one object, or say why not."""
        types = self.types(name)
        for reason in (why for text, why in self.refuse.items() if text in str(kept.get("content"))):
            raise Refused(reason)
        for key, value in list(kept.items()):
            kind = types.get(key, (None,))[0]
            if kind == "int" and isinstance(value, float):
                kept[key] = value = int(value)  # numbers travel as doubles
            if kind is None or type(value) is not KINDS[kind]:
                raise Refused(f"invalid {kind} property '{key}' on class '{name}': {value!r}")
        for other in self.objects[name].values():
            if len(other[1]) != len(vector):
                raise Refused(f"new node has a vector with length {len(vector)}. Existing nodes have length {len(other[1])}")
            break
        self.objects[name][str(uuids.UUID(id))] = (kept, vector)

    def types(self, name: str) -> dict[str, tuple[str, str, bool]]:
        if name not in self.classes:
            raise Refused(f"could not find class {name} in schema", 404)
        return {
            one["name"]: (one["dataType"][0], one.get("tokenization", ""), one["indexFilterable"])
            for one in self.classes[name]["properties"]
        }

    def matching(self, name: str, filters: Any) -> list[str]:
        found = self.objects[name]
        if filters is not None and filters.target.property == "_id":
            return sorted(found.keys() & {str(uuids.UUID(id)) for id in filters.value_text_array.values or [filters.value_text]})
        return sorted(id for id, (kept, _) in found.items() if filters is None or self.holds(name, filters, id, kept))

    def holds(self, name: str, given: Any, id: str, kept: dict[str, Any]) -> bool:
        operator = OPERATORS[given.operator]
        if operator in ("AND", "OR"):
            return (all if operator == "AND" else any)(self.holds(name, one, id, kept) for one in given.filters)
        field = next(field.name for field, _ in given.ListFields() if field.name.startswith("value_"))
        value = getattr(given, field)
        wanted = list(value.values) if field.endswith("_array") else [value]
        target = given.target.property
        kind, tokenization, indexed = self.types(name).get(target, ("", "", False))
        if not kind:
            raise Refused(f"no such prop with name '{target}' found in class '{name}'")
        if not indexed:
            raise Refused(f"Filtering by property '{target}' requires inverted index")
        if field.removesuffix("_array") != f"value_{kind}":
            raise Refused(f"data type filter cannot use {field} on type {kind}")
        own = kept.get(target)
        if own is None:
            return bool(operator == "NOT_EQUAL")
        if kind == "text":
            return text_holds(operator, [tokens(one, tokenization, operator) for one in wanted], tokens(own, tokenization))
        held: dict[str, bool] = {
            "EQUAL": own in wanted,
            "CONTAINS_ANY": own in wanted,
            "NOT_EQUAL": own not in wanted,
            "GREATER_THAN_EQUAL": own >= wanted[0],
            "GREATER_THAN": own > wanted[0],
            "LESS_THAN_EQUAL": own <= wanted[0],
        }
        return held[operator]


def tokens(text: str, tokenization: str, operator: str = "") -> list[str]:
    if tokenization == "field":
        return [text.strip()]
    if tokenization == "whitespace":
        return text.split()
    return re.findall(r"[\w?*]+" if operator == "LIKE" else r"[^\W_]+", text.lower())


def text_holds(operator: str, wanted: list[list[str]], own: list[str]) -> bool:
    """Whether a text with these tokens fulfils a condition."""
    if operator == "LIKE":
        patterns = [re.compile("^" + one.replace("?", ".").replace("*", ".*") + "$") for one in wanted[0]]
        return all(any(pattern.match(token) for token in own) for pattern in patterns)
    if operator in ("GREATER_THAN", "GREATER_THAN_EQUAL"):
        least = wanted[0][0].encode()
        return any(one.encode() > least or (operator.endswith("EQUAL") and one.encode() == least) for one in own)
    held = any(set(one) <= set(own) for one in wanted)
    return not held if operator == "NOT_EQUAL" else held


class Quiet(ThreadingHTTPServer):
    """Says nothing when a test breaks a connection."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


class Rest(BaseHTTPRequestHandler):
    """REST, as far as the store and its client use it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    double: Double

    def log_message(self, format: str, *args: Any) -> None:
        return

    def answer(self, status: int, body: Any = None) -> None:
        raw = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def handle_one(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        path = self.path.partition("?")[0].removeprefix("/v1/")
        double = self.double
        double.calls[f"{self.command} {path.split('/')[0]}"] += 1
        if path == ".well-known/ready":
            double.not_ready -= 1
            self.answer(503 if double.not_ready >= 0 else 200)
        elif double.key and self.headers.get("Authorization") != f"Bearer {double.key}":
            self.answer(401, {"code": 401, "message": f"unauthorized: {self.headers.get('Authorization')}"})
        else:
            try:
                self.answer(*self.routed(path, body))
            except Refused as error:
                self.answer(error.status, {"error": [{"message": str(error)}]})

    do_GET = do_POST = do_PATCH = handle_one  # noqa: N815

    def routed(self, path: str, body: Any) -> tuple[int, Any]:
        double, parts = self.double, path.split("/")
        if path == "meta":
            largest = {"grpcMaxMessageSize": double.largest} if double.largest else {}
            return 200, {"hostname": "http://[::]:8080", "modules": {}, "version": double.version, **largest}
        if path == "schema" and self.command == "POST":
            return 200, double.make(body)
        if parts[0] == "schema" and self.command == "GET":
            with double.lock:
                return (200, double.classes[parts[1]]) if parts[1] in double.classes else (404, None)
        if parts[0] == "objects" and self.command == "PATCH":
            with double.lock:
                _, name, id = parts
                if id not in double.objects.get(name, {}):
                    return 404, None
                kept, vector = double.objects[name][id]
                double.put(name, id, kept | body["properties"], vector)
            return 204, None
        raise Refused(f"path {path} was not found", 404)


class Grpc(weaviate_pb2_grpc.WeaviateServicer):
    """gRPC, as far as the store uses it."""

    def __init__(self, double: Double) -> None:
        self.double = double

    def begin(self, context: Any, name: str) -> None:
        self.double.calls[name] += 1
        sent = dict(context.invocation_metadata()).get("authorization")
        if self.double.key and sent != f"Bearer {self.double.key}":
            context.abort(grpc.StatusCode.UNAUTHENTICATED, f"unauthorized: {sent}")
        if self.double.statuses:
            context.abort(self.double.statuses.pop(0), "no, not now")

    def Search(self, request: Any, context: Any) -> Any:
        self.begin(context, "Search")
        try:
            with self.double.lock:
                return search_get_pb2.SearchReply(results=self.found(request))
        except (Refused, re.error) as error:
            return context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def BatchObjects(self, request: Any, context: Any) -> Any:
        self.begin(context, "BatchObjects")
        double, errors = self.double, []
        with double.lock:
            half = double.half.pop(0) if double.half else None
            for at, one in enumerate(request.objects):
                if half is not None and 2 * at >= len(request.objects):
                    context.abort(half, "broken in the middle of a batch")
                try:
                    double.types(one.collection)
                    raw = one.vectors[0].vector_bytes
                    vector = np.array(struct.unpack(f"<{len(raw) // 4}f", raw), dtype=np.float32)
                    double.put(one.collection, one.uuid, dict(one.properties.non_ref_properties.items()), vector)
                except Refused as error:
                    errors.append(batch_pb2.BatchObjectsReply.BatchError(index=at, error=str(error)))
        return batch_pb2.BatchObjectsReply(errors=errors)

    def BatchDelete(self, request: Any, context: Any) -> Any:
        self.begin(context, "BatchDelete")
        try:
            with self.double.lock:
                self.double.types(request.collection)
                ids = self.double.matching(request.collection, request.filters)[:MOST]
                gone = []
                for id in ids:
                    why = next((self.double.refuse[one] for one in self.double.refuse if one == id), "")
                    if not why:
                        del self.double.objects[request.collection][id]
                    gone.append(batch_delete_pb2.BatchDeleteObject(uuid=uuids.UUID(id).bytes, successful=not why, error=why))
        except Refused as error:
            return context.abort(grpc.StatusCode.UNKNOWN, str(error))
        failed = sum(not one.successful for one in gone)
        return batch_delete_pb2.BatchDeleteReply(
            matches=len(gone), failed=failed, successful=len(gone) - failed, objects=gone if request.verbose else []
        )

    def found(self, request: Any) -> list[Any]:
        double, name = self.double, request.collection
        types = double.types(name)
        filters = request.filters if request.HasField("filters") else None
        if request.limit + request.offset > MOST:
            raise Refused("query maximum results exceeded")
        if request.after and (filters is not None or request.sort_by or request.offset):
            raise Refused("where,sort,offset cannot be set with after and limit parameters")
        ids, far = double.matching(name, filters), dict[str, float]()
        if request.HasField("near_vector"):
            ids, far = self.nearest(request, ids)
        for sort in request.sort_by:
            ids = sorted(ids, key=lambda one: str(double.objects[name][one][0].get(sort.path[0], "")), reverse=not sort.ascending)
        if request.after:
            ids = [id for id in ids if id > str(uuids.UUID(request.after))]
        asked = request.properties
        names = (
            set(types)
            if asked.return_all_nonref_properties or not request.HasField("properties")
            else set(asked.non_ref_properties)
        )
        if not names <= set(types):
            raise Refused(f"no such prop with name '{min(names - set(types))}' found in class '{name}'")
        return [
            self.result(name, id, names, far.get(id), request.metadata)
            for id in ids[request.offset : request.offset + (request.limit or 25)]
        ]

    def nearest(self, request: Any, ids: list[str]) -> tuple[list[str], dict[str, float]]:
        near, kept = request.near_vector, self.double.objects[request.collection]
        named = self.double.classes[request.collection].get("vectorConfig") or {}
        if set(near.targets.target_vectors or near.target_vectors) - set(named):
            raise Refused("no such target vector")
        raw = near.vectors[0].vector_bytes if near.vectors else near.vector_bytes
        wanted = np.array(struct.unpack(f"<{len(raw) // 4}f", raw), dtype=np.float32)
        config = next(iter(named.values())) if named else self.double.classes[request.collection]
        metric = config["vectorIndexConfig"]["distance"]
        if not ids:
            return [], {}
        rows = np.stack([kept[id][1] for id in ids])
        if rows.shape[1] != len(wanted):
            raise Refused(f"vector lengths don't match: {rows.shape[1]} vs {len(wanted)}")
        if metric == "cosine":
            lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(wanted)
            distances = 1 - np.divide(rows @ wanted, lengths, out=np.zeros(len(ids), np.float32), where=lengths > 0)
        else:
            distances = -(rows @ wanted) if metric == "dot" else np.square(rows - wanted).sum(axis=1)
        order = [int(at) for at in np.argsort(distances, kind="stable")]
        if near.HasField("distance"):
            order = [at for at in order if distances[at] <= near.distance]
        return [ids[at] for at in order], {ids[at]: float(distances[at]) for at in order}

    def result(self, name: str, id: str, names: set[str], far: float | None, asked: Any) -> Any:
        kept, vector = self.double.objects[name][id]
        found = search_get_pb2.SearchResult()
        found.metadata.id, found.metadata.id_as_bytes = id, uuids.UUID(id).bytes
        if far is not None and asked.distance:
            found.metadata.distance, found.metadata.distance_present = far, True
        if asked.vector or asked.vectors:
            named = self.double.classes[name].get("vectorConfig")
            raw = vector.astype("<f4").tobytes()
            if named:
                found.metadata.vectors.append(
                    base_pb2.Vectors(name=next(iter(named)), vector_bytes=raw, type="VECTOR_TYPE_SINGLE_FP32")
                )
            else:
                found.metadata.vector_bytes = raw
        found.properties.target_collection = name
        fields = found.properties.non_ref_props.fields
        for key in names:
            if (value := kept.get(key)) is None:
                fields[key].null_value = 0
            elif isinstance(value, bool):
                fields[key].bool_value = value
            elif isinstance(value, int):
                fields[key].int_value = value
            elif isinstance(value, float):
                fields[key].number_value = value
            else:
                fields[key].text_value = value
        return found


INVERTED: dict[str, Any] = {
    "bm25": {"b": 0.75, "k1": 1.2},
    "cleanupIntervalSeconds": 60,
    "stopwords": {"preset": "en", "additions": None, "removals": None},
}
DEFAULTS: dict[str, Any] = {
    "multiTenancyConfig": {"enabled": False},
    "replicationConfig": {"factor": 1, "asyncEnabled": False},
    "shardingConfig": {
        "virtualPerPhysical": 128,
        "desiredCount": 1,
        "actualCount": 1,
        "desiredVirtualCount": 128,
        "actualVirtualCount": 128,
        "key": "_id",
        "strategy": "hash",
        "function": "murmur3",
    },
}
HNSW: dict[str, Any] = {
    "skip": False,
    "cleanupIntervalSeconds": 300,
    "maxConnections": 32,
    "efConstruction": 128,
    "ef": -1,
    "dynamicEfMin": 100,
    "dynamicEfMax": 500,
    "dynamicEfFactor": 8,
    "vectorCacheMaxObjects": 1000000000000,
    "flatSearchCutoff": 40000,
    "filterStrategy": "sweeping",
    "pq": {"enabled": False},
    "bq": {"enabled": False},
    "sq": {"enabled": False},
}
INDEX: dict[str, dict[str, Any]] = {
    "hnsw": HNSW,
    "flat": {},
    "hfresh": {"maxPostingSizeKB": 48, "replicas": 4, "searchProbe": 64},
}
