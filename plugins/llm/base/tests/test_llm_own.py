# SPDX-License-Identifier: MIT
"""The suite passes for a vendor that lives in a test, as a third party's would."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from rocketride_llm.testing import LLMSuite

HERE = Path(__file__).parent


def load() -> type:
    spec = importlib.util.spec_from_file_location("own_llm", HERE / "own_llm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_llm"] = module
    spec.loader.exec_module(module)
    found: type = module.OwnLLM
    return found


class TestOwn(LLMSuite):
    node = load()
    wire = "openai"
    streams = False


def test_the_readme_shows_it() -> None:
    code = (HERE / "own_llm.py").read_text().partition("\n\n")[2]
    assert code in (HERE.parent / "README.md").read_text()
