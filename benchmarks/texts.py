# SPDX-License-Identifier: MIT
"""Small texts split, embedded by a hash and put into Chroma in a folder, in a fresh process: by a pipeline, by hand, by other libraries.

`python -m benchmarks.texts <way> <count> <folder>` prints the CPU seconds from opening the collection to the last text, imports left out, and the
chunks that were found in the collection afterwards.
"""

from __future__ import annotations

import gc
import json
import sqlite3
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from rocketride_core import TEXT, Entry, Instance, Kernel, Node, NodeSpec
from rocketride_core.pipefile import Component, LaneLink, PipeFile
from rocketride_embedding import Embedded, EmbeddingNode

__all__ = ["CHUNK", "WAYS", "main", "texts"]

DIMENSION, CHUNK, NAME, MODEL = 384, 512, "TEXTS", "hash"
KEYS = json.dumps(["chunkId", "end", "isDeleted", "isTable", "name", "objectId", "parent", "signature", "start", "tableId"])
WORDS = [
    "observatory",
    "dome",
    "lens",
    "mirror",
    "grating",
    "northern",
    "western",
    "winter",
    "record",
    "keeper",
    "instrument",
    "copper",
    "silver",
    "evening",
    "careful",
    "repaired",
    "measured",
    "archive",
    "letter",
    "expedition",
    "latitude",
    "mountain",
    "station",
    "telegraph",
    "clock",
    "pendulum",
    "barometer",
    "weather",
    "observer",
    "catalogue",
    "nebula",
    "spectrum",
]


def texts(count: int) -> Iterator[tuple[str, str]]:
    """Names and texts of about 1,400 characters in paragraphs; the same in every process."""
    numbers = np.random.default_rng(7)
    for number in range(count):
        picked = iter(numbers.integers(0, len(WORDS), 170).tolist())
        paragraphs = [" ".join(WORDS[next(picked)] for _ in range(34)).capitalize() + "." for _ in range(5)]
        yield f"note {number}.txt", f"Note {number}. " + "\n\n".join(paragraphs)


def vector(text: str) -> Any:
    """A unit vector by the words of a text."""
    hashes = [zlib.crc32(word.encode()) % DIMENSION for word in text.split()]
    found = np.bincount(hashes, minlength=DIMENSION).astype(np.float32)
    found /= np.linalg.norm(found) or 1
    return found


class Texts(Node[None]):
    """Feeds text."""

    spec = NodeSpec("bench_texts", title="Texts", categories=["source"], emits=[TEXT])


class HashEmbedding(EmbeddingNode[None]):
    """Embeds by `vector`."""

    spec = NodeSpec("bench_hash", title="Hash", categories=["embedding"])
    model = MODEL
    dimension = DIMENSION

    def encode(self, instance: Instance, texts: Sequence[str]) -> Sequence[Embedded]:
        return [Embedded(memoryview(vector(text).tobytes()).cast("f")) for text in texts]


def pipeline(count: int, folder: Path) -> None:
    from rocketride_preprocessor_langchain import LangchainPreprocessor
    from rocketride_store_chroma import Chroma

    store = {"mode": "embedded", "path": str(folder), "collection": NAME}
    file = PipeFile(
        [
            Component("source", "bench_texts"),
            Component("split", "preprocessor_langchain", {"strlen": CHUNK}, [LaneLink("text", "source")]),
            Component("embed", "bench_hash", {}, [LaneLink("documents", "split")]),
            Component("store", "chroma", store, [LaneLink("documents", "embed")]),
        ],
        "source",
    )
    with Kernel(nodes=[Texts, LangchainPreprocessor, HashEmbedding, Chroma]).load(file) as opened:
        for name, text in texts(count):
            opened.run(Entry(name), TEXT(text)).checked()


def _collection(folder: Path) -> Any:
    """With the index that the node `chroma` makes."""
    hnsw = {"space": "cosine", "max_neighbors": 32, "ef_construction": 200, "ef_search": 200}
    return _client(folder).get_or_create_collection(NAME, embedding_function=None, configuration={"hnsw": hnsw})


def _client(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))


def hand(count: int, folder: Path) -> None:
    """What a good engineer writes who wants what the node gives: its records, and a loop that may run again with texts that are shorter."""
    from rocketride_splitter import RecursiveCharacterTextSplitter

    collection = _collection(folder)
    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=0)
    for name, text in texts(count):
        chunks, object_id = splitter.split(text), str(uuid.uuid5(uuid.NAMESPACE_URL, name))
        collection.upsert(
            ids=[str(uuid.uuid5(uuid.NAMESPACE_URL, f"{object_id}#{number}")) for number in range(len(chunks))],
            embeddings=[vector(chunk.text) for chunk in chunks],
            documents=[chunk.text for chunk in chunks],
            metadatas=[
                {
                    "objectId": object_id,
                    "chunkId": number,
                    "name": name,
                    "parent": "",
                    "signature": "split",
                    "isDeleted": False,
                    "isTable": False,
                    "tableId": 0,
                    "start": chunk.start,
                    "end": chunk.end,
                    "rocketride.keys": KEYS,
                }
                for number, chunk in enumerate(chunks)
            ],
        )
        stale = {"$and": [{"objectId": object_id}, {"chunkId": {"$gte": len(chunks)}}]}
        if gone := collection.get(where=stale, include=[])["ids"]:
            collection.delete(ids=gone)


def langchain(count: int, folder: Path) -> None:
    from langchain_chroma import Chroma
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    class Hash(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text).tolist() for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return list(vector(text).tolist())

    client = _client(folder)
    _collection(folder)
    store = Chroma(NAME, Hash(), client=client)
    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=0, add_start_index=True)
    for name, text in texts(count):
        chunks = splitter.split_documents([Document(text, metadata={"objectId": name})])
        store.add_documents(chunks, ids=[f"{name}#{number}" for number in range(len(chunks))])


def llamaindex(count: int, folder: Path) -> None:
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from llama_index.core import Document
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.node_parser import LangchainNodeParser
    from llama_index.vector_stores.chroma import ChromaVectorStore

    class Hash(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return list(vector(text).tolist())

        def _get_query_embedding(self, query: str) -> list[float]:
            return list(vector(query).tolist())

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return list(vector(query).tolist())

    store = ChromaVectorStore(chroma_collection=_collection(folder))
    splitter = LangchainNodeParser(RecursiveCharacterTextSplitter(chunk_size=CHUNK, chunk_overlap=0))
    steps = IngestionPipeline(transformations=[splitter, Hash(embed_batch_size=64)], vector_store=store, disable_cache=True)
    for name, text in texts(count):
        steps.run(documents=[Document(text=text, id_=name, metadata={"objectId": name})])


def haystack(count: int, folder: Path) -> None:
    from haystack import Document, Pipeline, component
    from haystack.components.preprocessors import RecursiveDocumentSplitter
    from haystack.components.writers import DocumentWriter
    from haystack.document_stores.types import DuplicatePolicy
    from haystack_integrations.document_stores.chroma import ChromaDocumentStore

    @component
    class Hash:
        def __init__(self) -> None:  # annotations are texts in this module, which Haystack does not read
            component.set_input_types(self, documents=list[Document])
            component.set_output_types(self, documents=list[Document])

        def run(self, **given: Any) -> Any:
            documents = given["documents"]
            for document in documents:
                document.embedding = vector(document.content or "").tolist()
            return {"documents": documents}

    store = ChromaDocumentStore(NAME, persist_path=str(folder))
    steps = Pipeline()
    parts = [
        (
            "split",
            RecursiveDocumentSplitter(split_length=CHUNK, split_overlap=0, split_unit="char", separators=["\n\n", "\n", " "]),
        ),
        ("embed", Hash()),
        ("write", DocumentWriter(store, DuplicatePolicy.OVERWRITE)),
    ]
    for name, part in parts:
        steps.add_component(name, part)
    steps.connect("split.documents", "embed.documents")
    steps.connect("embed.documents", "write.documents")
    for name, text in texts(count):
        steps.run({"split": {"documents": [Document(content=text, meta={"objectId": name})]}})


WAYS: Mapping[str, Callable[[int, Path], None]] = {
    "pipeline": pipeline,
    "hand": hand,
    "LangChain": langchain,
    "LlamaIndex": llamaindex,
    "Haystack": haystack,
}


def main(way: str, count: int, folder: Path) -> None:
    WAYS[way](1, folder.with_name("warm"))  # imports, and what is made once
    gc.collect()
    cpu = time.process_time()
    WAYS[way](count, folder)
    told = time.process_time() - cpu
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database:  # a second client with other settings is refused
        [(chunks,)] = database.execute("SELECT count(*) FROM embeddings")
    print(json.dumps({"cpu": told, "chunks": chunks}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
