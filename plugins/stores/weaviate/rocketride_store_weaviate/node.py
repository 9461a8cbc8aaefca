# SPDX-License-Identifier: MIT
"""Weaviate's config and node."""

from __future__ import annotations

import re
from typing import Any

import attrs

from rocketride_core import NodeSpec, Profile, Secret, setting
from rocketride_store import StoreConfig, StoreNode, VectorStore

from .address import address

__all__ = ["NAME_RULE", "Weaviate", "WeaviateConfig"]

NAME_RULE = "1 to 255 letters, digits or '_', beginning with a letter"


@attrs.frozen(kw_only=True)
class WeaviateConfig(StoreConfig):
    """Where the collection is: `local` is your own server, `cloud` a cluster of Weaviate Cloud, or any server with TLS."""

    collection: str = setting(
        "ROCKETRIDE", title="Collection", doc=f"Made at the first write; {NAME_RULE}. Weaviate makes the first letter a capital."
    )
    mode: str = setting("local", choices=("local", "cloud"), title="Mode", doc="Set by the profile.")
    host: str = setting(
        "localhost", title="Host", doc="A name, or a URL; in mode cloud, at port 443 and with https:// it is encrypted."
    )
    port: int = setting(8080, ge=1, le=65535, title="Port", doc="Of REST.")
    grpc_host: str = setting(
        "", title="gRPC host", doc="Empty is the host itself, and for a cluster of Weaviate Cloud the name that belongs to it."
    )
    grpc_port: int = setting(50051, ge=1, le=65535, title="gRPC port")
    api_key: Secret = setting(Secret(), key="apikey", title="API key")
    timeout: float = setting(60.0, ge=0.1, unit="s", title="Time limit", doc="For each question.")
    insert_timeout: float = setting(120.0, ge=0.1, unit="s", title="Time limit of writes", doc="For each write.")
    init_timeout: float = setting(
        30.0, ge=0.1, unit="s", title="Time limit of connecting", doc="For each check when the pipeline opens."
    )


class Weaviate(StoreNode[WeaviateConfig]):
    """Weaviate vector store."""

    library = "rocketride_store_weaviate.backend"

    spec = NodeSpec(
        "weaviate",
        title="Weaviate Vector Store",
        description="Keeps embedded documents in Weaviate and finds them for questions.",
        categories=["store"],
        profiles=[
            Profile(
                "cloud",
                {"mode": "cloud", "host": "", "port": 443, "grpc_port": 443, "apikey": "", "collection": "ROCKETRIDE"},
                title="Weaviate cloud server",
            ),
            Profile(
                "local",
                {"mode": "local", "host": "localhost", "port": 8080, "grpc_port": 50051, "collection": "ROCKETRIDE"},
                title="Your own Weaviate server",
            ),
        ],
        tile=[
            "Host/Port: ${parameters.weaviate.${profile}.host}:${parameters.weaviate.${profile}.port}",
            "Collection: ${parameters.weaviate.${profile}.collection}",
        ],
        stores=True,
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        return "" if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,254}", name) else NAME_RULE

    @classmethod
    def in_the_open(cls, mode: Any, host: str, port: int) -> bool:
        return address(mode, host, port).in_the_open

    @property
    def address(self) -> str:
        return f"{self.config.host}:{self.config.port}" if "://" not in self.config.host else self.config.host

    def connect(self) -> VectorStore:
        config = self.config
        if not config.host:
            raise ValueError(f'{self.id} has no host; write "host" in its config, or choose the profile local')
        where = address(config.mode, config.host, config.port, config.grpc_host, config.grpc_port)
        from .backend import WeaviateStore
        from .wire import opened

        client = opened(
            where,
            config.api_key.reveal(),
            init=config.init_timeout,
            query=config.timeout,
            insert=config.insert_timeout,
        )
        return WeaviateStore(client, config.collection)
