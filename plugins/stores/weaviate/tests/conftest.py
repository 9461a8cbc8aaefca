# SPDX-License-Identifier: MIT
"""One double of a server for all tests of a module, empty for each test."""

from __future__ import annotations

import functools
import importlib.util
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _module() -> Any:
    spec = importlib.util.spec_from_file_location("weaviate_double", Path(__file__).with_name("weaviate_double.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["weaviate_double"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", autouse=True)
def _certificates() -> Iterator[None]:
    """Every new client reads all certificates, though nothing here is encrypted: once is enough."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    double = _module().Double()
    yield double
    double.close()


@pytest.fixture
def double(server: Any) -> Any:
    server.reset()
    return server
