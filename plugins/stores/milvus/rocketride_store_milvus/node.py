# SPDX-License-Identifier: MIT
"""Milvus' config and node."""

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

    spec = NodeSpec(
        "milvus",
        title="Milvus",
        description="Keeps embedded documents in Milvus and finds them for questions.",
        categories=["store"],
        profiles=[
            Profile(
                "cloud",
                {"mode": "cloud", "host": "", "port": 443, "apikey": "", "collection": "ROCKETRIDE"},
                title="Milvus cloud server",
            ),
            Profile(
                "local",
                {"mode": "local", "host": "localhost", "port": 19530, "collection": "ROCKETRIDE"},
                title="Your own Milvus server",
            ),
            Profile(
                "embedded",
                {"mode": "embedded", "path": "milvus.db", "collection": "ROCKETRIDE"},
                title="A folder of this machine",
            ),
        ],
        tile=[
            "Host/Port: ${parameters.milvus.${profile}.host}:${parameters.milvus.${profile}.port}",
            "Collection: ${parameters.milvus.${profile}.collection}",
        ],
        stores=True,
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        return "" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", name) else NAME_RULE

    @classmethod
    def in_the_open(cls, mode: Any, host: str, port: int) -> bool:
        where = urlsplit(address(host, port, str(mode)))
        name = where.hostname or ""
        return (
            mode != "embedded"
            and bool(name)
            and where.scheme == "http"
            and name not in ("localhost", "::1")
            and name[:4] != "127."
        )

    @property
    def address(self) -> str:
        config = self.config
        return "" if config.mode == "embedded" else address(config.host, config.port, config.mode).partition("://")[2]

    @property
    def folder(self) -> Path | None:
        config = self.config
        # Without its engine there is an error to be told.
        return Path(config.path) if config.mode == "embedded" and config.path and find_spec("milvus_lite") else None

    def prepare(self) -> None:
        from .opening import library

        library()

    def connect(self) -> VectorStore:
        config = self.config
        for missing in self._missing():
            raise ValueError(f"{self.id} has no {missing}")
        from .backend import MilvusStore
        from .folder import embedded
        from .opening import connected

        if config.mode == "embedded":
            client, folder = embedded(Path(config.path), timeout=config.timeout)
            return MilvusStore(client, config.collection, exact=config.exact, timeout=config.timeout, folder=folder)
        uri = address(config.host, config.port, config.mode)
        client = connected(uri, config.api_key.reveal(), config.database, timeout=config.timeout)
        return MilvusStore(client, config.collection, exact=config.exact, timeout=config.timeout)

    def _missing(self) -> Iterable[str]:
        if self.config.mode == "embedded" and not self.config.path:
            yield 'path; write "path" in its config, the folder of its database'
        if self.config.mode != "embedded" and not self.config.host:
            yield 'host; write "host" in its config, or choose the profile embedded'


def address(host: str, port: int, mode: str) -> str:
    """A server's address: the host with its scheme, and the port of the host's text where it has one.

    Raises:
        ValueError: the host begins with another scheme than http and https.
    """
    scheme, found, _ = host.strip().partition("://")
    if found and scheme not in ("http", "https"):
        raise ValueError(f"a Milvus host begins with http:// or https://, or has nothing in front, not {scheme}://")
    parts = urlsplit(host.strip() if found else f"//{host.strip()}")
    secure = scheme == "https" if found else mode == "cloud"
    name = parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    return f"{'https' if secure else 'http'}://{shown}:{parts.port or port}"
