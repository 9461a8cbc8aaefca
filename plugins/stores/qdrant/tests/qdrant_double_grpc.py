# SPDX-License-Identifier: MIT
"""The gRPC side of the double, on the client's generated messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc as transport  # type: ignore[import-untyped]
from qdrant_client import grpc, models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_double_engine import NO_KEY, Engine, Refused

_CODES = {
    404: transport.StatusCode.NOT_FOUND,
    409: transport.StatusCode.ALREADY_EXISTS,
    400: transport.StatusCode.INVALID_ARGUMENT,
}

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


def services(engine: Engine) -> Iterator[Any]:
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
        asked: Any = GrpcToRest.convert_query(request.query)
        points = engine(
            "query",
            request.collection_name,
            exact=request.params.exact if request.HasField("params") else None,
            query=asked.nearest,
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

    calls: dict[str, dict[str, Any]] = {
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
