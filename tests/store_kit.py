# SPDX-License-Identifier: MIT
"""Every store where it can be had on this machine, as a node with its config: for tests that compare them.

Servers and doubles are those of the stores' own tests, loaded from their files. What is not installed, or cannot be started, skips.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager as Context
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from rocketride_core import (
    DOCUMENTS,
    QUESTIONS,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Pipeline,
    Question,
    on,
)
from rocketride_store import chunk_key

STORES = Path(__file__).resolve().parents[1] / "plugins" / "stores"
DISTRIBUTIONS = ("chroma", "milvus", "postgres", "qdrant", "weaviate")
# Databases in this process, in a folder.
EMBEDDED = ("chroma", "milvus", "qdrant")
PLACES = ("store_memory", "chroma", "milvus", "postgres", "qdrant", "qdrant-rest", "qdrant-grpc", "weaviate")


class Source(Node[None]):
    """Feeds what has its vectors already."""

    spec = NodeSpec("in", title="In", categories=["source", "embedding"], emits=[DOCUMENTS, QUESTIONS])


class Sink(Node[None]):
    spec = NodeSpec("out", title="Out", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))


@attrs.frozen
class Place:
    """A node class of a store and its config; nothing is in its collection."""

    node: type[Any]
    config: Mapping[str, Any]

    def pipe(self, store: str = "store") -> PipeFile:
        """in → store → out."""
        links = [LaneLink("documents", "in"), LaneLink("questions", "in")]
        return PipeFile(
            [
                Component("in", "in"),
                Component(store, self.node.spec.provider, self.config, input=links),
                Component("out", "out", input=[LaneLink("documents", store)]),
            ]
        )

    def load(self) -> Context[Pipeline]:
        return Kernel(nodes=[Source, Sink, self.node]).load(self.pipe())


def store(pipeline: Pipeline, object_id: str, documents: Sequence[Document]) -> None:
    pipeline.run(Entry(object_id, object_id=object_id), DOCUMENTS(documents)).checked()


def ask(pipeline: Pipeline, question: Question) -> Sequence[Document]:
    [found] = pipeline.run(Entry("question"), QUESTIONS(question)).checked()[DOCUMENTS]
    return found


def content(pipeline: Pipeline) -> dict[tuple[str, int], str]:
    """Everything there is, by object and chunk number; a chunk that is there twice fails."""
    found = ask(pipeline, Question((), type="get", filter={"limit": 10_000}))
    texts = {chunk_key(document): document.text for document in found}
    assert len(texts) == len(found), "chunks are there twice"
    return texts


def needed(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def loaded(distribution: str, name: str) -> Any:
    """A module out of the tests of a store."""
    folder = STORES / distribution / "tests"
    known = f"stores_{distribution}_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        sys.path.insert(0, str(folder))  # the double of Qdrant is in several files
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(folder))
    return sys.modules[known]


def _node(distribution: str, name: str) -> type[Any]:
    package = f"rocketride_store_{distribution}"
    needed(package)
    return getattr(importlib.import_module(package), name)  # type: ignore[no-any-return]


@contextmanager
def _memory(folder: Path) -> Iterator[Place]:
    from rocketride_store import MemoryStore

    yield Place(MemoryStore, {"score": 0})


def embedded(provider: str, folder: Path) -> Place:
    """A store in a folder."""
    name, modules = {
        "chroma": ("Chroma", ["chromadb"]),
        "milvus": ("Milvus", ["pymilvus", "milvus_lite"]),
        "qdrant": ("Qdrant", ["qdrant_client", "qdrant_edge"]),
    }[provider]
    needed(*modules)
    return Place(_node(provider, name), {"mode": "embedded", "path": str(folder / f"{provider}.db"), "score": 0})


def _embedded(provider: str) -> Callable[[Path], Context[Place]]:
    @contextmanager
    def place(folder: Path) -> Iterator[Place]:
        yield embedded(provider, folder)

    return place


def _qdrant(**more: Any) -> Callable[[Path], Context[Place]]:
    @contextmanager
    def place(folder: Path) -> Iterator[Place]:
        needed("qdrant_client")
        with loaded("qdrant", "qdrant_double").Double() as double:
            here = {"mode": "local", "host": "127.0.0.1", "port": double.port, "grpc_port": double.grpc_port, "score": 0}
            yield Place(_node("qdrant", "Qdrant"), here | more)

    return place


@contextmanager
def _weaviate(folder: Path) -> Iterator[Place]:
    needed("weaviate")
    double = loaded("weaviate", "weaviate_double").Double()
    try:
        here = {"mode": "local", "host": "127.0.0.1", "port": double.port, "grpc_port": double.grpc_port, "score": 0}
        yield Place(_node("weaviate", "Weaviate"), here)
    finally:
        double.close()


@contextmanager
def _postgres(folder: Path) -> Iterator[Place]:
    needed("psycopg")
    tests = loaded("postgres", "conftest")
    with ExitStack() as stack:
        url = os.environ.get(tests.URL)
        server = tests._from_url(url) if url else stack.enter_context(tests._from_wheel())
        schema = server.schema(folder)
        stack.callback(server.do, f"DROP SCHEMA {schema} CASCADE")
        server.do("CREATE EXTENSION IF NOT EXISTS vector")
        yield Place(_node("postgres", "Postgres"), server.config(schema=schema))


_OPENERS: Mapping[str, Callable[[Path], Context[Place]]] = {
    "store_memory": _memory,
    **{provider: _embedded(provider) for provider in EMBEDDED},
    "postgres": _postgres,
    "qdrant-rest": _qdrant(),
    "qdrant-grpc": _qdrant(prefer_grpc=True),
    "weaviate": _weaviate,
}


def opened(name: str, folder: Path) -> Context[Place]:
    """One of `PLACES`, for as long as the context lasts."""
    return _OPENERS[name](folder)
