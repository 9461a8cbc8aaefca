# SPDX-License-Identifier: MIT
"""Mistral keeps to what every language model keeps to."""

from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm_mistral import Mistral


class TestMistral(LLMSuite):
    node = Mistral
    wire = "mistral"
    probe = "models"
    refuses = False
    environment = {
        "MISTRAL_API_KEY": "mistral-key-of-the-environment",
        "MISTRAL_SA_TOKEN_PATH": "/nowhere/token",
        "MISTRAL_DEBUG": "debug-of-the-environment",
        "MISTRAL_SDK_TELEMETRY": "dedicated",
        "MISTRAL_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9",
    }
