# SPDX-License-Identifier: MIT
"""The router keeps to what every node keeps to."""

from rocketride_core import LLM
from rocketride_core.testing import FakeChatModel, NodeSuite
from rocketride_llm_router import Router


class TestRouter(NodeSuite):
    node = Router
    controls = {LLM: FakeChatModel()}
