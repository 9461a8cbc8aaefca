# SPDX-License-Identifier: MIT
"""What a good engineer writes who has a client, 20,000 embedded texts and no pipeline: the same records, batch by batch.

Ids are stable, so that the loop may run again. What the nodes do beyond it (checks, retries, the removal of stale chunks) it does not.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rocketride_core import Document

from .ingesting import DIMENSION, MODEL, NAME, Batch, Watch, batches

__all__ = ["ingest"]

CHUNKS = uuid.UUID("6f0cf2c6-33c5-5c6e-9b3a-0e6f1d2a7b54")
INDEXED = ("objectId", "nodeId", "parent", "permissionId", "isDeleted")
RECORD = {"rocketride.model": MODEL}


def _id(object_id: str, number: int) -> str:
    return str(uuid.uuid5(CHUNKS, f"{object_id}#{number}"))


def _metadata(batch: Batch) -> Iterator[dict[str, Any]]:
    entry = batch.entry
    for number in range(len(batch.texts)):
        yield {
            "parent": entry.path,
            "isDeleted": False,
            "isTable": False,
            "tableId": 0,
            "objectId": entry.object_id,
            "chunkId": number,
        }


def memory(count: int, folder: Path, watch: Watch) -> None:
    from rocketride_store import Collection, InMemory

    store = InMemory(NAME)
    store.create(Collection(NAME, DIMENSION, MODEL))
    for batch in batches(count):
        rows = zip(batch.texts, _metadata(batch), batch.vectors, strict=True)
        store.upsert([Document(text, metadata, vector, MODEL) for text, metadata, vector in rows])
        watch()


def chroma(count: int, folder: Path, watch: Watch) -> None:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    collection = client.get_or_create_collection(
        NAME,
        embedding_function=None,
        metadata={"vectorSize": DIMENSION, "modelName": MODEL},
        configuration={"hnsw": {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}},
    )
    keys = json.dumps(["chunkId", "isDeleted", "isTable", "objectId", "parent", "tableId"])
    for batch in batches(count):
        collection.upsert(
            ids=[_id(batch.entry.object_id, number) for number in range(len(batch.texts))],
            embeddings=[np.asarray(vector) for vector in batch.vectors],
            documents=batch.texts,
            metadatas=[{**metadata, "rocketride.keys": keys} for metadata in _metadata(batch)],
        )
        watch()
    client.close()


def qdrant(count: int, folder: Path, watch: Watch) -> None:
    import qdrant_edge as edge

    place = folder / "collections" / NAME
    place.mkdir(parents=True)
    shard = edge.EdgeShard.create(
        str(place), edge.EdgeConfig(vectors=edge.EdgeVectorParams(size=DIMENSION, distance=edge.Distance.Cosine))
    )
    for key in INDEXED:
        kind = {"permissionId": edge.PayloadSchemaType.Integer, "isDeleted": edge.PayloadSchemaType.Bool}.get(
            key, edge.PayloadSchemaType.Keyword
        )
        shard.update(edge.UpdateOperation.create_field_index(f"meta.{key}", kind))
    record = {"objectId": "schema", "chunkId": 0, "isDeleted": True, "vectorSize": DIMENSION, "modelName": MODEL}
    first = edge.Point(_id("rocketride/schema", 0), [0.0] * DIMENSION, {"content": "", "meta": record})
    shard.update(edge.UpdateOperation.upsert_points([first]))
    for batch in batches(count):
        rows = enumerate(zip(batch.texts, _metadata(batch), batch.vectors, strict=True))
        points = [
            edge.Point(_id(batch.entry.object_id, number), vector.tolist(), {"content": text, "meta": metadata})
            for number, (text, metadata, vector) in rows
        ]
        shard.update(edge.UpdateOperation.upsert_points(points))
        watch()
    shard.flush()
    shard.close()


def milvus(count: int, folder: Path, watch: Watch) -> None:
    from milvus_lite.server_manager import server_manager_instance
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(str(folder))
    shape = client.create_schema(auto_id=False, enable_dynamic_field=False)
    shape.add_field("id", DataType.VARCHAR, is_primary=True, max_length=36)
    shape.add_field("vector", DataType.FLOAT_VECTOR, dim=DIMENSION)
    for name in ("content", "meta"):
        shape.add_field(name, DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=4096, max_length=65_535)
    shape.add_field("kind", DataType.VARCHAR, max_length=256)
    for name in ("objectId", "nodeId", "parent", "name"):
        shape.add_field(name, DataType.VARCHAR, max_length=65_535, nullable=True)
    for name in ("chunkId", "permissionId", "tableId"):
        shape.add_field(name, DataType.INT64, nullable=True)
    for name in ("isTable", "isDeleted"):
        shape.add_field(name, DataType.BOOL, nullable=True)
    client.create_collection(NAME, schema=shape, properties=RECORD, consistency_level="Strong")
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="COSINE")
    client.create_index(NAME, index)
    client.load_collection(NAME)
    for batch in batches(count):
        rows = enumerate(zip(batch.texts, _metadata(batch), batch.vectors, strict=True))
        client.upsert(NAME, [_row(number, *row) for number, row in rows])
        watch()
    client.close()
    server_manager_instance.release_server(str(folder))  # else the database is closed when the process ends


def _row(number: int, text: str, metadata: Mapping[str, Any], vector: memoryview) -> dict[str, Any]:
    told = {key: value for key, value in metadata.items() if key != "isDeleted"}
    return {
        "id": _id(metadata["objectId"], number),
        "vector": vector.tolist(),
        "content": [text],
        "meta": [json.dumps(told)],
        "kind": "Document",
        "nodeId": None,
        "name": None,
        "permissionId": None,
        **metadata,
    }


LOOPS: Mapping[str, Callable[[int, Path, Watch], None]] = {
    "store_memory": memory,
    "chroma": chroma,
    "qdrant": qdrant,
    "milvus": milvus,
}


def ingest(store: str, count: int, folder: Path, watch: Watch = lambda: None) -> None:
    LOOPS[store](count, folder, watch)
