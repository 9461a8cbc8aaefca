# SPDX-License-Identifier: MIT
"""Chroma's config and node."""

from __future__ import annotations

import re
from pathlib import Path

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_store import MEMORY, StoreConfig, StoreNode, VectorStore, profile

__all__ = ["NAME_RULE", "Chroma", "ChromaConfig"]

NAME_RULE = (
    "3 to 512 letters, digits, '.', '_' or '-', beginning and ending with a letter or digit, without '..', and not an IP address"
)


@attrs.frozen(kw_only=True)
class ChromaConfig(StoreConfig):
    """Where the collection is: `embedded` is a folder, `local` and `cloud` are servers."""

    collection: str = setting("ROCKETRIDE", title="Collection", doc=f"Made at the first write; {NAME_RULE}.")
    mode: str = setting("local", choices=("embedded", "local", "cloud"), title="Mode", doc="Set by the profile.")
    path: str = setting(
        "chroma", title="Folder", doc="Of an embedded database, relative to the working directory; `:memory:` keeps nothing."
    )
    host: str = setting(
        "localhost", title="Host", doc="Of a server; with https:// in front, or port 443, the connection is encrypted."
    )
    port: int = setting(8000, ge=1, le=65535, title="Port")
    api_key: Secret = setting(Secret(), key="apikey", title="API key")
    auth_header: str = setting(
        "X-Chroma-Token",
        choices=("X-Chroma-Token", "Authorization"),
        title="Header of the key",
        doc="Authorization sends `Bearer <key>`.",
    )
    timeout: float = setting(60.0, ge=0.1, unit="s", title="Time limit", doc="For each request to a server.")
    tenant: str = setting("default_tenant", title="Tenant")
    database: str = setting("default_database", title="Database")


class Chroma(StoreNode[ChromaConfig]):
    """Chroma vector store."""

    library = "rocketride_store_chroma.backend"

    spec = NodeSpec(
        "chroma",
        title="Chroma Vector Store",
        description="Keeps embedded documents in Chroma and finds them for questions.",
        profiles=[
            profile("local", "Your own ChromaDB server", host="localhost", port=8000),
            profile("cloud", "ChromaDB Cloud Server", host="", port=443, apikey=""),
            profile("embedded", "A folder of this machine", path="chroma"),
        ],
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        fits = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,510}[A-Za-z0-9]", name) and ".." not in name
        return "" if fits and not re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", name) else NAME_RULE

    def connect(self) -> VectorStore:
        from .backend import ChromaStore, embedded, in_memory, server

        config, key = self.config, self.config.api_key.reveal()
        if config.mode == "embedded":
            kept = config.path != MEMORY
            return ChromaStore(embedded(Path(config.path)) if kept else in_memory(), config.collection, persistent=kept)
        where = self.server(config.mode, config.host, config.port)
        headers = {config.auth_header: key if config.auth_header == "X-Chroma-Token" else f"Bearer {key}"} if key else {}
        client = server(where, headers, config.tenant, config.database, timeout=config.timeout)
        return ChromaStore(client, config.collection)
