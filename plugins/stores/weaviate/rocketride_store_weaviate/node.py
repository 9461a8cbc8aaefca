# SPDX-License-Identifier: MIT
"""Weaviate's config and node."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import attrs

from rocketride_core import Component, Expansion, NodeSpec, Profile, Secret, hookimpl, setting
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


@attrs.frozen(kw_only=True)
class _Sent:
    """What of a config says where its key goes, before the rest is known to be right."""

    mode: Any = setting("local")
    host: Any = setting("localhost")
    port: Any = setting(8080)
    apikey: Any = setting("")


class Weaviate(StoreNode[WeaviateConfig]):
    """Weaviate vector store."""

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
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        """As every store; a key that would travel in the open is a warning."""
        sent = context.config(_Sent)
        if sent.apikey and isinstance(sent.host, str) and isinstance(sent.port, int) and _in_the_open(sent):
            context.problem(
                "unencrypted-key",
                f"the API key is sent unencrypted to {sent.host}",
                hint="write https:// before the host where its server can do that",
                severity="warning",
            )
        return super().expand_component(component, context)

    @property
    def address(self) -> str:
        return f"{self.config.host}:{self.config.port}" if "://" not in self.config.host else self.config.host

    def prepare(self) -> None:
        from . import backend  # noqa: F401

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


def _in_the_open(sent: _Sent) -> bool:
    try:
        return address(sent.mode, sent.host, sent.port).in_the_open
    except ValueError:
        return False  # said when the pipeline is loaded
