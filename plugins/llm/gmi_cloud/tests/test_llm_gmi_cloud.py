# SPDX-License-Identifier: MIT
"""llm_gmi_cloud: the suite of language models, and whose server is asked."""

from __future__ import annotations

import pytest

from rocketride_core import RunError
from rocketride_core.testing import node_harness
from rocketride_llm.testing import LLMSuite
from rocketride_llm_gmi_cloud import GMICloud


class TestGMICloud(LLMSuite):
    node = GMICloud
    wire = "openai"


def test_an_endpoint_of_ones_own_is_named() -> None:
    said = "GMI Cloud serverbase is required: write the address of your endpoint"
    with (
        pytest.raises(RunError, match=said),
        node_harness(GMICloud, config={"profile": "qwen3-32b", "qwen3-32b": {"apikey": "k"}}),
    ):
        pass
    config = {
        "profile": "custom",
        "custom": {"apikey": "k", "model": "m", "serverbase": "https://gmi.example/v1/chat/completions"},
    }
    with node_harness(GMICloud, config=config) as harness:
        assert harness.node.config.address == "https://gmi.example/v1"
