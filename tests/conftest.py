# SPDX-License-Identifier: MIT
"""What the tests of the kernel share: the repository's folder, and the folder beside it that not every clone has."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The executable model of the running rules, which lies beside the clone where it is developed."""
    folder = REPOSITORY.parent / "shared" / "model"
    if not folder.is_dir():
        pytest.skip("the executable model (../shared/model) is not here")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the discovery index of the person who runs it."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
