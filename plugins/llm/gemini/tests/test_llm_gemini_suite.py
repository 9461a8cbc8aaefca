# SPDX-License-Identifier: MIT
"""Gemini keeps to what every language model keeps to."""

from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm_gemini import Gemini


class TestGemini(LLMSuite):
    node = Gemini
    wire = "gemini"
    probe = "models"
    environment = {
        "GOOGLE_API_KEY": "google-key-of-the-environment",
        "GEMINI_API_KEY": "gemini-key-of-the-environment",
        "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_GENAI_USE_ENTERPRISE": "true",
        "GOOGLE_GENAI_API_VERSION": "v9",
        "GOOGLE_GENAI_CLIENT_MODE": "replay",
        "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
        "GOOGLE_GENAI_REPLAY_ID": "replay-of-the-environment",
        "GOOGLE_CLOUD_PROJECT": "project-of-the-environment",
        "GOOGLE_CLOUD_LOCATION": "location-of-the-environment",
        "GOOGLE_API_USE_MTLS_ENDPOINT": "always",
        "GOOGLE_API_USE_CLIENT_CERTIFICATE": "true",
        "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/credentials.json",
    }
