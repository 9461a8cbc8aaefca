# SPDX-License-Identifier: MIT
"""Ollama's models keep to what every language model keeps to, but for what Ollama has not got."""

from __future__ import annotations

from rocketride_llm.testing import LLMSuite
from rocketride_llm_ollama import Ollama


class TestOllama(LLMSuite):
    node = Ollama
    wire = "ollama"
    address = "serverbase"
    cached = False
    keyed = False
    refuses = False  # it has no filter: neither an error nor a done_reason says so
    probe = "show"  # a question would load the model first
    environment = {"OLLAMA_HOST": "http://127.0.0.1:9", "OLLAMA_API_KEY": "key-of-the-environment"}
