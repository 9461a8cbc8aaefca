# SPDX-License-Identifier: MIT
"""PostgreSQL passes the suite of backends, exact and with an approximate index."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from rocketride_store import VectorStore
from rocketride_store.testing import StoreSuite


def opened(postgres: Any, schema: str, name: str = "suite", *, port: int = 0, timeout: float = 20.0, **more: Any) -> Any:
    from rocketride_store_postgres.backend import PostgresStore
    from rocketride_store_postgres.connections import Connections, conninfo

    parts = {"host": postgres.host, "port": port or postgres.port, "user": postgres.user, "password": postgres.password}
    told = conninfo("", parts | {"dbname": postgres.database}, connect_timeout=5, timeout=timeout)
    return PostgresStore(Connections(told, timeout=timeout), schema, name, **more)


def schema_of(postgres: Any, folder: Path) -> str:
    """A schema for each folder, so that the collection does not exist yet."""
    name = f"s_{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"
    postgres.do(f"CREATE SCHEMA IF NOT EXISTS {name}")
    return name


class TestExact(StoreSuite):
    @pytest.fixture(autouse=True)
    def _where(self, postgres: Any) -> None:
        self.postgres = postgres

    def make(self, folder: Path) -> VectorStore:
        return opened(self.postgres, schema_of(self.postgres, folder))


class TestIndexed(StoreSuite):
    @pytest.fixture(autouse=True)
    def _where(self, postgres: Any) -> None:
        self.postgres = postgres

    def make(self, folder: Path) -> VectorStore:
        return opened(self.postgres, schema_of(self.postgres, folder), index="hnsw")
