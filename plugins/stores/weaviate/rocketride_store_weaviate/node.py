# SPDX-License-Identifier: MIT
"""Weaviate's config and node."""

from __future__ import annotations

import re
from typing import Any

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_store import Address, StoreConfig, StoreNode, VectorStore, profile

__all__ = ["NAME_RULE", "Weaviate", "WeaviateConfig", "calls_at"]

NAME_RULE = "1 to 255 letters, digits or '_', beginning with a letter"
_CLOUDS = ("weaviate.cloud", "weaviate.network", "weaviate.io", "semi.technology")


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
        profiles=[
            profile("cloud", "Weaviate cloud server", host="", port=443, grpc_port=443, apikey=""),
            profile("local", "Your own Weaviate server", host="localhost", port=8080, grpc_port=50051),
        ],
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        return "" if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,254}", name) else NAME_RULE

    @classmethod
    def server(cls, mode: Any, host: str, port: int) -> Address:
        return Address.of(host, port, store=cls.spec.title, secure=lambda _, at: mode == "cloud" or at == 443)

    def connect(self) -> VectorStore:
        config = self.config
        self.require("host", ", or choose the profile local")
        rest = self.server(config.mode, config.host, config.port)
        calls = calls_at(rest, config.mode, config.grpc_host, config.grpc_port)
        from .backend import WeaviateStore, opened

        limits = {"init": config.init_timeout, "query": config.timeout, "insert": config.insert_timeout}
        return WeaviateStore(opened(rest, calls, config.api_key.reveal(), **limits), config.collection)


def calls_at(rest: Address, mode: str, host: str, port: int) -> Address:
    """Where the gRPC of a server is; encrypted where its REST is.

    Parameters:
        host: "" is the server's own; for a cluster of Weaviate Cloud it is the name that belongs to it.

    Raises:
        ValueError: REST and gRPC would be the same address.
    """
    calls = attrs.evolve(rest, host=host or (_cloud(rest.host) if mode == "cloud" else rest.host), port=port, prefix="")
    if str(calls) == str(rest):
        raise ValueError(
            f"REST and gRPC cannot both be at {rest}; write in grpc_host or grpc_port where the server's gRPC answers"
        )
    return calls


def _cloud(name: str) -> str:
    if name.endswith(".weaviate.network"):
        cluster, _, domain = name.partition(".")
        return f"{cluster}.grpc.{domain}"
    return f"grpc-{name}" if name.endswith(_CLOUDS) else name
