# SPDX-License-Identifier: MIT
"""Milvus' config and node."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_store import Address, StoreConfig, StoreNode, VectorStore, profile

__all__ = ["NAME_RULE", "Milvus", "MilvusConfig"]

NAME_RULE = "1 to 255 letters, digits or '_', beginning with a letter or '_'"


@attrs.frozen(kw_only=True)
class MilvusConfig(StoreConfig):
    """Where the collection is: `local` and `cloud` are servers, `embedded` is a folder."""

    collection: str = setting("ROCKETRIDE", title="Collection", doc=f"Made at the first write; {NAME_RULE}.")
    mode: str = setting("cloud", choices=("cloud", "local", "embedded"), title="Mode", doc="Set by the profile.")
    host: str = setting(
        "", title="Host", doc="Of a server. Encrypted with https:// in front, and in mode cloud unless http:// is in front."
    )
    port: int = setting(19530, ge=1, le=65535, title="Port")
    api_key: Secret = setting(Secret(), key="apikey", title="API key", doc="A key, or `user:password`.")
    database: str = setting("", title="Database", doc="Of a server; empty is its default one.")
    timeout: float = setting(60.0, ge=0.1, unit="s", title="Time limit", doc="For each request.")
    exact: bool = setting(
        True,
        title="Exact search",
        doc="Compares with every vector; false makes the collection with an index, which is faster and may miss some.",
    )
    path: str = setting("milvus.db", title="Folder", doc="Of an embedded database; relative to the working directory.")


class Milvus(StoreNode[MilvusConfig]):
    """Milvus vector store."""

    library = "rocketride_store_milvus.backend"
    engine = "milvus_lite"

    spec = NodeSpec(
        "milvus",
        title="Milvus",
        description="Keeps embedded documents in Milvus and finds them for questions.",
        profiles=[
            profile("cloud", "Milvus cloud server", host="", port=443, apikey=""),
            profile("local", "Your own Milvus server", host="localhost", port=19530),
            profile("embedded", "A folder of this machine", path="milvus.db"),
        ],
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        return "" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", name) else NAME_RULE

    @classmethod
    def server(cls, mode: Any, host: str, port: int) -> Address:
        return Address.of(host, port, store=cls.spec.title, secure=lambda *_: mode == "cloud")

    def connect(self) -> VectorStore:
        from .backend import MilvusStore, connected, embedded

        config, folder = self.config, None
        if config.mode == "embedded":
            client, folder = embedded(Path(config.path), timeout=config.timeout)
        else:
            where = attrs.evolve(self.server(config.mode, config.host, config.port), prefix="")
            client = connected(where.url, config.api_key.reveal(), config.database, timeout=config.timeout)
        return MilvusStore(client, config.collection, exact=config.exact, timeout=config.timeout, folder=folder)
