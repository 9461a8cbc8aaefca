# SPDX-License-Identifier: MIT
"""Chroma's config and node."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs

from rocketride_core import NodeSpec, Profile, Secret, setting
from rocketride_store import StoreConfig, StoreNode, VectorStore

__all__ = ["MEMORY", "NAME_RULE", "Chroma", "ChromaConfig"]

MEMORY = ":memory:"

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
        categories=["store"],
        profiles=[
            Profile(
                "local",
                {"mode": "local", "host": "localhost", "port": 8000, "collection": "ROCKETRIDE"},
                title="Your own ChromaDB server",
            ),
            Profile(
                "cloud",
                {"mode": "cloud", "host": "", "port": 443, "apikey": "", "collection": "ROCKETRIDE"},
                title="ChromaDB Cloud Server",
            ),
            Profile(
                "embedded", {"mode": "embedded", "path": "chroma", "collection": "ROCKETRIDE"}, title="A folder of this machine"
            ),
        ],
        tile=[
            "Host/Port: ${parameters.chroma.${profile}.host}:${parameters.chroma.${profile}.port}",
            "Collection: ${parameters.chroma.${profile}.collection}",
        ],
        stores=True,
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        fits = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,510}[A-Za-z0-9]", name) and ".." not in name
        return "" if fits and not re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", name) else NAME_RULE

    @classmethod
    def in_the_open(cls, mode: Any, host: str, port: int) -> bool:
        scheme, _, name = host.rpartition("://")
        secure = scheme == "https" or (not scheme and port == 443)
        return mode != "embedded" and bool(name) and not secure and name != "localhost" and not name.startswith("127.")

    @property
    def address(self) -> str:
        return "" if self.config.mode == "embedded" else f"{self.config.host}:{self.config.port}"

    @property
    def folder(self) -> Path | None:
        config = self.config
        return Path(config.path) if config.mode == "embedded" and config.path != MEMORY else None

    def connect(self) -> VectorStore:
        config = self.config
        from .backend import ChromaStore, embedded, in_memory, server

        if config.mode == "embedded" and config.path == MEMORY:
            return ChromaStore(in_memory(), config.collection, persistent=False)
        if config.mode == "embedded":
            return ChromaStore(embedded(Path(config.path)), config.collection)
        key = config.api_key.reveal()
        if not config.host:
            raise ValueError(f'{self.id} has no host; write "host" in its config, or choose the profile embedded')
        headers = {config.auth_header: key if config.auth_header == "X-Chroma-Token" else f"Bearer {key}"} if key else {}
        client = server(config.host, config.port, headers, config.tenant, config.database, timeout=config.timeout)
        return ChromaStore(client, config.collection)
