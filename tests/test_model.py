# SPDX-License-Identifier: MIT
"""The kernel against the executable model of the run-time rules, scenario by scenario, where its folder is there."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

MODEL = Path(__file__).parents[2] / "shared" / "model"

pytestmark = pytest.mark.skipif(not MODEL.is_dir(), reason="../shared/model is not here")


def scenarios() -> list[Any]:
    if not MODEL.is_dir():
        return []
    found = [(path.stem, s) for path in sorted((MODEL / "scenarios").glob("*.json")) for s in json.loads(path.read_text("utf-8"))]
    return [pytest.param(s, id=f"{stem}/{s['name']}") for stem, s in found]


@pytest.fixture(scope="module")
def check(monkeypatch_module: pytest.MonkeyPatch) -> Any:
    return importlib.import_module("check")


@pytest.fixture(scope="module")
def monkeypatch_module() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(MODEL))
        patch.syspath_prepend(str(Path(__file__).parent))
        patch.setattr(sys, "dont_write_bytecode", True)
        yield patch


@pytest.fixture(scope="module")
def kernel(check: Any) -> Any:
    return importlib.import_module("model_adapter").KernelUnderTest()


@pytest.mark.parametrize("scenario", scenarios())
def test_scenario(check: Any, kernel: Any, scenario: Any) -> None:
    assert list(check.check_scenario(kernel, scenario)) == []


def test_generated_graphs(check: Any, kernel: Any) -> None:
    assert list(check.check_generated(kernel, 300)) == []
