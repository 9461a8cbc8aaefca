# SPDX-License-Identifier: MIT
"""A real Chroma server, from chromadb's wheel."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Its port; one server for all tests of a run."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = int(probe.getsockname()[1])
    folder = tmp_path_factory.mktemp("server")
    program = "import sys; from chromadb.cli.cli import app; sys.exit(app())"
    command = [sys.executable, "-c", program, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(free)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as process:
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", free)) == 0:
                        break
                assert process.poll() is None, "chroma run ended"
                time.sleep(0.1)
            yield free
        finally:
            process.kill()
