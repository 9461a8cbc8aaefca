# SPDX-License-Identifier: MIT
"""Qdrant's config and node."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_store import MEMORY, Address, StoreConfig, StoreNode, VectorStore, profile

__all__ = ["NAME_RULE", "Qdrant", "QdrantConfig"]

NAME_RULE = "1 to 255 letters, digits, '_', '-' or '.', without '/' and spaces, and not '.' or '..'"


@attrs.frozen(kw_only=True)
class QdrantConfig(StoreConfig):
    """Where the collection is: `local` and `cloud` are servers, `embedded` is a folder."""

    collection: str = setting("ROCKETRIDE", title="Collection", doc=f"Made at the first write; {NAME_RULE}.")
    mode: str = setting("cloud", choices=("local", "cloud", "embedded"), title="Mode", doc="Set by the profile.")
    host: str = setting(
        "",
        title="Host",
        doc="Of a server. Encrypted with https:// in front, with port 443, and where it ends in qdrant.io.",
    )
    port: int = setting(6333, ge=1, le=65535, title="Port", doc="For REST.")
    api_key: Secret = setting(Secret(), key="apikey", title="API key")
    prefer_grpc: bool = setting(False, title="gRPC", doc="Asks by gRPC in place of REST.")
    grpc_port: int = setting(6334, ge=1, le=65535, title="gRPC port", doc="Used with prefer_grpc.")
    timeout: int = setting(60, ge=1, unit="s", title="Time limit", doc="For each request to a server.")
    exact: bool = setting(
        True, title="Exact search", doc="Compares with every vector; false uses the index, which is faster and may miss some."
    )
    keywords: str = setting(
        "parts",
        choices=("parts", "words"),
        title="Keywords",
        doc="`parts` finds parts of words and reads texts until it has enough; `words` finds whole words by a server's index.",
    )
    path: str = setting(
        "qdrant", title="Folder", doc="Of an embedded database, relative to the working directory; `:memory:` keeps nothing."
    )


class Qdrant(StoreNode[QdrantConfig]):
    """Qdrant vector store."""

    library = "rocketride_store_qdrant.backend"
    engine = "qdrant_edge"

    spec = NodeSpec(
        "qdrant",
        title="Qdrant",
        description="Keeps embedded documents in Qdrant and finds them for questions.",
        profiles=[
            profile("cloud", "Qdrant cloud server", host="", port=6333, apikey=""),
            profile("local", "Your own Qdrant server", host="localhost", port=6333),
            profile("embedded", "A folder of this machine", path="qdrant"),
        ],
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        # A form that was left empty is told of when the pipeline is loaded, as a host is.
        return "" if re.fullmatch(r"[A-Za-z0-9._-]{0,255}", name) and name not in (".", "..") else NAME_RULE

    @classmethod
    def server(cls, mode: Any, host: str, port: int) -> Address:  # noqa: ARG003 - the address tells what is encrypted
        return Address.of(host, port, store=cls.spec.title, secure=lambda name, at: at == 443 or name.endswith(".qdrant.io"))

    @property
    def address(self) -> str:
        config = self.config
        where = self.server(config.mode, config.host, config.port)
        port = config.grpc_port if config.prefer_grpc else where.port
        return str(attrs.evolve(where, port=port)) if config.mode != "embedded" else ""

    def connect(self) -> VectorStore:
        from .backend import FolderClient, QdrantStore, in_memory, server

        config = self.config
        self.require("collection", f": {NAME_RULE}")
        if config.mode == "embedded":
            if config.keywords == "words":
                told = f'{self.id} cannot find whole words without a server; write "keywords": "parts" in its config'
                raise ValueError(told)
            kept = config.path != MEMORY
            client: Any = FolderClient(Path(config.path)) if kept else in_memory()
            return QdrantStore(client, config.collection, kind="folder" if kept else "memory", exact=config.exact)
        client = server(
            self.server(config.mode, config.host, config.port),
            config.api_key.reveal(),
            grpc_port=config.grpc_port if config.prefer_grpc else None,
            timeout=config.timeout,
        )
        whole = config.keywords == "words"
        return QdrantStore(client, config.collection, kind="server", exact=config.exact, whole_words=whole)
