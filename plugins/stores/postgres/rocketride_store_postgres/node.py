# SPDX-License-Identifier: MIT
"""PostgreSQL's config and node."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_store import METRICS, StoreConfig, StoreNode, VectorStore, profile

__all__ = ["NAME_RULE", "PLACEHOLDER", "Postgres", "PostgresConfig"]

NAME_RULE = "up to 63 letters a to z or A to Z, digits or '_', and no digit first"
PLACEHOLDER = "your-postgres-host.example.com"
LONGEST_NAME = 63  # bytes; PostgreSQL silently cuts a longer one
MODES = ("", "disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@attrs.frozen(kw_only=True)
class PostgresConfig(StoreConfig):
    """Where the table is. What is left empty libpq takes from its environment (PGPASSWORD, ~/.pgpass, PGSSLMODE, …)."""

    collection: str = setting("rocketride", title="Table", doc=f"Made at the first write; {NAME_RULE}.")
    similarity: str = setting(
        "cosine",
        choices=(*METRICS, "inner_product"),
        title="Metric",
        doc="How vectors are compared; fixed when the table is made. inner_product is ip.",
    )
    mode: str = setting("local", choices=("local",), title="Mode", doc="Set by the profile.")
    host: str = setting("localhost", title="Host", doc="Of the server; a folder is where its Unix socket is.")
    port: int = setting(5432, ge=1, le=65535, title="Port")
    user: str = setting("postgres", title="User")
    password: Secret = setting(Secret(), title="Password")
    database: str = setting("postgres", title="Database", doc="It must exist.")
    uri: Secret = setting(
        Secret(),
        title="Connection URI",
        doc="postgresql://user:password@host:port/database?sslmode=require in place of host, port, user and database.",
    )
    schema: str = setting("public", title="Schema", doc="Where the table is; it must exist.")
    sslmode: str = setting("", choices=MODES, title="Encryption", doc="As libpq's sslmode; empty is its default.")
    sslrootcert: str = setting("", title="Root certificates", doc="File that verify-ca and verify-full check the server by.")
    timeout: float = setting(60.0, ge=0.1, unit="s", title="Time limit", doc="For each statement, at the server and here.")
    connect_timeout: int = setting(10, key="connectTimeout", ge=1, unit="s", title="Time limit of a connection")
    pool_size: int = setting(8, key="poolSize", ge=1, title="Connections", doc="At most; opened when they are needed.")
    index: str = setting(
        "none",
        choices=("none", "hnsw"),
        title="Index of vectors",
        doc="none compares with every vector, and is exact; hnsw is approximate, and made with the table.",
    )

    def __attrs_post_init__(self) -> None:
        if self.similarity == "inner_product":
            object.__setattr__(self, "similarity", "ip")


class Postgres(StoreNode[PostgresConfig]):
    """PostgreSQL vector store."""

    library = "rocketride_store_postgres.backend"

    spec = NodeSpec(
        "postgres",
        title="PostgreSQL Vector Store",
        description="Keeps embedded documents in PostgreSQL with pgvector and finds them for questions.",
        profiles=[
            profile(
                "local",
                "Your own PostgreSQL server",
                host=PLACEHOLDER,
                port=5432,
                user="postgres",
                password="",
                database="rocketride",
                collection="rocketride",
                score=0.5,
                similarity="cosine",
            )
        ],
        tile=[
            "Host/Port: ${parameters.postgres.${profile}.host}:${parameters.postgres.${profile}.port}",
            "Database: ${parameters.postgres.${profile}.database}",
            "Table: ${parameters.postgres.${profile}.collection}",
        ],
    )

    @classmethod
    def name_rule(cls, name: str) -> str:
        return "" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name) else NAME_RULE

    @property
    def address(self) -> str:
        if not self.config.uri:
            return f"{self.config.host}:{self.config.port}"
        try:
            told = urlsplit(self.config.uri.reveal())
            return f"{told.hostname}:{told.port or 5432}" if told.hostname else ""
        except ValueError:
            return ""

    def connect(self) -> VectorStore:
        config = self.config
        if config.host == PLACEHOLDER and not config.uri:
            raise ValueError(f'{self.id} has no host; write "host" in its config, or "uri"')
        if not 0 < len(config.schema.encode()) <= LONGEST_NAME or {"\0", "%"} & {*config.schema}:
            raise ValueError(f"{self.id} cannot use the schema {config.schema!r}: it takes 1 to {LONGEST_NAME} bytes, and no %")
        from .backend import Connections, PostgresStore, conninfo

        place = {"host": config.host, "port": config.port, "user": config.user, "dbname": config.database}
        more = {"password": config.password.reveal(), "sslmode": config.sslmode, "sslrootcert": config.sslrootcert}
        parts = ({} if config.uri else place) | {key: value for key, value in more.items() if value}
        told = conninfo(config.uri.reveal(), parts, connect_timeout=config.connect_timeout, timeout=config.timeout)
        connections = Connections(told, size=config.pool_size, timeout=config.timeout)
        return PostgresStore(connections, config.schema, config.collection, metric=config.similarity, index=config.index)
