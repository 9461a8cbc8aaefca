# SPDX-License-Identifier: MIT
"""rocketride_store_postgres: PostgreSQL with pgvector as a store. psycopg is imported when a pipeline opens."""

from .node import Postgres, PostgresConfig

__all__ = ["Postgres", "PostgresConfig"]
