# SPDX-License-Identifier: MIT
"""A third party's store, outside the repository: 60 lines, one distribution, found by its entry point, and the suite passes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[4] / "docs" / "stores.md"
METADATA = "Metadata-Version: 2.1\nName: acme-json\nVersion: 1.0\n"


def written(folder: Path) -> None:
    """The distribution that the page "Stores" shows, as pip leaves it."""
    page = PAGE.read_text()
    for name, text in re.findall(r"(?ms)^<!-- file: (\w+\.py) -->\n```python\n(.*?)^```", page):
        (folder / name).write_text(text)
    info = folder / "acme_json-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    [toml] = re.findall(r"(?ms)^```toml\n(.*?)^```", page)
    [(provider, target)] = tomllib.loads(toml)["project"]["entry-points"]["rocketride.nodes"].items()
    (info / "entry_points.txt").write_text(f"[rocketride.nodes]\n{provider} = {target}\n")


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_a_store_of_a_third_party_passes_the_suite(tmp_path: Path) -> None:
    written(tmp_path)
    code = [line for line in (tmp_path / "acme_json.py").read_text().splitlines() if line.strip()]
    assert len(code) <= 60, "a store is small"
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    done = run(command, tmp_path)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert "SKIPPED" not in done.stdout
    for one in ("TestJsonStore::test_filters", "TestJsonStore::test_what_is_written_stays", "TestJsonFile::"):
        assert f"PASSED test_acme.py::{one}" in done.stdout


@pytest.mark.slow
def test_a_store_of_a_third_party_is_a_provider_as_any_other(tmp_path: Path) -> None:
    written(tmp_path)
    program = "import sys; from rocketride_core.cli import main; sys.exit(main(['nodes', 'show', 'acme_json']))"
    shown = run([sys.executable, "-c", program], tmp_path)
    assert shown.returncode == 0, shown.stderr
    for part in (
        "from: acme-json 1.0",
        "tools: search, upsert, delete",
        'collection  (str; default "ROCKETRIDE")',
        "path  (str;",
    ):
        assert part in shown.stdout


# ---- the suite cannot be bent


BENT = {
    "overridden": "    def test_filters(self, store): pass",
    "fixture": "    def fill(self, store, *chunks): pass",
    "hidden": "    test_filters = None",
    "marked": "    import pytest; pytestmark = [pytest.mark.xfail]",
}


@pytest.mark.parametrize("way", BENT)
def test_an_override_is_refused_when_the_class_is_made(way: str) -> None:
    from rocketride_store.testing import StoreSuite

    names: dict[str, object] = {"StoreSuite": StoreSuite}
    with pytest.raises(TypeError, match=r"Bent\.\w+ overrides a part of StoreSuite"):
        exec(f"class Bent(StoreSuite):\n{BENT[way]}", names)


SKIPPING = """\
import pytest
from rocketride_store import InMemory
from rocketride_store.testing import StoreSuite


class TestSkipsInMake(StoreSuite):
    def make(self, folder):
        pytest.skip("no server here")


class TestFine(StoreSuite):
    def make(self, folder):
        return InMemory("suite")

"""


def test_a_skip_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
        "-rA",
        "-k",
        "skipped or filters or mark",
    ]
    done = run(command, tmp_path)
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith("SKIPPED")]
    fine = [line for line in lines if line.startswith("PASSED") and "TestFine" in line]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR")) and "TestSkipsInMake" in line]
    assert len(failed) == len(fine) - 1, "all but the test that asks for no store"


def test_every_backend_of_this_repository_runs_the_suite_unmarked() -> None:
    """Of each `plugins/stores/<name>/tests`: a subclass of StoreSuite, without marks that could silence it."""
    import ast

    stores = Path(__file__).resolve().parents[2]
    for folder in sorted(path for path in stores.iterdir() if (path / "pyproject.toml").is_file()):
        found = []
        for path in sorted(folder.glob("tests/*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "StoreSuite" for base in node.bases):
                    found.append(node.name)
                    assert not node.decorator_list, f"{path.name}: {node.name} has decorators"
                    names = {getattr(at, "id", "") for one in node.body for at in getattr(one, "targets", [])}
                    assert "pytestmark" not in names, f"{path.name}: {node.name} has marks"
        assert found or not any(folder.glob("tests/*.py")), f"{folder.name} has no subclass of StoreSuite among its tests"
