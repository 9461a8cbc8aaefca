# SPDX-License-Identifier: MIT
"""Qdrant's config and node."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs

from rocketride_core import NodeSpec, Profile, Secret, setting
from rocketride_store import StoreConfig, StoreNode, VectorStore

__all__ = ["MEMORY", "NAME_RULE", "Qdrant", "QdrantConfig"]

NAME_RULE = "1 to 255 letters, digits, '_', '-' or '.', without '/' and spaces, and not '.' or '..'"
MEMORY = ":memory:"


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
        doc="`parts` finds parts of words and reads texts until it has enough; `words` finds whole words by the server's index.",
    )
    path: str = setting(
        "qdrant", title="Folder", doc="Of an embedded database, relative to the working directory; `:memory:` keeps nothing."
    )


@attrs.frozen
class Address:
    """A server's address, taken apart; `port` is that of the host's text where it has one."""

    host: str
    port: int
    secure: bool
    prefix: str = ""

    @staticmethod
    def of(host: str, port: int) -> Address:
        """Reads `localhost`, `https://x.qdrant.io:6333` and the like; a text that is no address is a ValueError."""
        text = host.strip()
        scheme, found, _ = text.partition("://")
        parts = urlsplit(text if found else f"//{text}")
        if found and scheme not in ("http", "https"):
            raise ValueError(f"a Qdrant host begins with http:// or https://, or has nothing in front, not {scheme}://")
        name = parts.hostname or ""
        at = parts.port or port
        secure = scheme == "https" if found else at == 443 or name.endswith(".qdrant.io")
        return Address(name, at, secure, parts.path.rstrip("/"))

    @property
    def loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


class Qdrant(StoreNode[QdrantConfig]):
    """Qdrant vector store."""

    library = "rocketride_store_qdrant.opening"

    spec = NodeSpec(
        "qdrant",
        title="Qdrant",
        description="Keeps embedded documents in Qdrant and finds them for questions.",
        categories=["store"],
        profiles=[
            Profile(
                "cloud",
                {"mode": "cloud", "host": "", "port": 6333, "apikey": "", "collection": "ROCKETRIDE"},
                title="Qdrant cloud server",
            ),
            Profile(
                "local",
                {"mode": "local", "host": "localhost", "port": 6333, "collection": "ROCKETRIDE"},
                title="Your own Qdrant server",
            ),
            Profile(
                "embedded", {"mode": "embedded", "path": "qdrant", "collection": "ROCKETRIDE"}, title="A folder of this machine"
            ),
        ],
        tile=[
            "Host/Port: ${parameters.qdrant.${profile}.host}:${parameters.qdrant.${profile}.port}",
            "Collection: ${parameters.qdrant.${profile}.collection}",
        ],
        stores=True,
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        # A form that was left empty is told of when the pipeline is loaded, as a host is.
        fits = re.fullmatch(r"[A-Za-z0-9._-]{0,255}", name) and name not in (".", "..")
        return "" if fits else NAME_RULE

    @classmethod
    def in_the_open(cls, mode: Any, host: str, port: int) -> bool:
        where = Address.of(host, port)
        return mode != "embedded" and bool(where.host) and not where.secure and not where.loopback

    @property
    def address(self) -> str:
        config = self.config
        if config.mode == "embedded":
            return ""
        where = Address.of(config.host, config.port)
        return f"{where.host}:{config.grpc_port if config.prefer_grpc else where.port}"

    @property
    def folder(self) -> Path | None:
        config = self.config
        # Without its engine there is an error to be told.
        return (
            Path(config.path)
            if config.mode == "embedded" and config.path not in ("", MEMORY) and find_spec("qdrant_edge")
            else None
        )

    def connect(self) -> VectorStore:
        config = self.config
        for missing in self._missing():
            raise ValueError(f"{self.id} has no {missing}")
        from .backend import QdrantStore
        from .opening import embedded, in_memory, server

        if config.mode != "embedded":
            client = server(
                Address.of(config.host, config.port),
                config.api_key.reveal(),
                grpc_port=config.grpc_port if config.prefer_grpc else None,
                timeout=config.timeout,
            )
            return QdrantStore(
                client, config.collection, kind="server", exact=config.exact, whole_words=config.keywords == "words"
            )
        memory = config.path == MEMORY
        return QdrantStore(
            in_memory() if memory else embedded(Path(config.path)),
            config.collection,
            kind="memory" if memory else "folder",
            exact=config.exact,
            whole_words=config.keywords == "words",
        )

    def _missing(self) -> Iterable[str]:
        config = self.config
        if not config.collection:
            yield f'collection; write "collection" in its config: {NAME_RULE}'
        if config.mode != "embedded" and not config.host:
            yield 'host; write "host" in its config, or choose the profile embedded'
        if config.mode == "embedded" and not config.path:
            yield f'path; write "path" in its config, a folder or "{MEMORY}"'
