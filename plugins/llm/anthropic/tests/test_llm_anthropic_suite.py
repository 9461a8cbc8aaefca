# SPDX-License-Identifier: MIT
"""Claude keeps to what every language model keeps to."""

from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm_anthropic import Anthropic


class TestAnthropic(LLMSuite):
    node = Anthropic
    wire = "anthropic"
    environment = {
        "ANTHROPIC_API_KEY": "sk-ant-of-the-environment",
        "ANTHROPIC_AUTH_TOKEN": "token-of-the-environment",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_CUSTOM_HEADERS": "x-leak: header-of-the-environment",
        "ANTHROPIC_PROFILE": "profile-of-the-environment",
    }
