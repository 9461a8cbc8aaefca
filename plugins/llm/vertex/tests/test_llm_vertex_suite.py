# SPDX-License-Identifier: MIT
"""Vertex AI keeps to what every language model keeps to: with an API key, and (its answers) with a token for a project."""

from typing import Any

from rocketride_llm.testing import ScriptedServer
from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm.testing.suite_answers import Answers
from rocketride_llm_vertex import Vertex

ENVIRONMENT = {
    "GOOGLE_API_KEY": "google-key-of-the-environment",
    "GEMINI_API_KEY": "gemini-key-of-the-environment",
    "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:9",
    "GOOGLE_GENAI_USE_VERTEXAI": "false",
    "GOOGLE_GENAI_USE_ENTERPRISE": "false",
    "GOOGLE_GENAI_API_VERSION": "v9",
    "GOOGLE_GENAI_CLIENT_MODE": "replay",
    "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
    "GOOGLE_GENAI_REPLAY_ID": "replay-of-the-environment",
    "GOOGLE_CLOUD_PROJECT": "project-of-the-environment",
    "GOOGLE_CLOUD_LOCATION": "location-of-the-environment",
    "GOOGLE_CLOUD_QUOTA_PROJECT": "quota-of-the-environment",
    "GOOGLE_API_USE_MTLS_ENDPOINT": "always",
    "GOOGLE_API_USE_CLIENT_CERTIFICATE": "true",
    "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/credentials.json",
}


class TestVertex(LLMSuite):
    node = Vertex
    wire = "gemini"
    probe = "models"
    environment = ENVIRONMENT


class TestVertexProject(Answers):
    node = Vertex
    wire = "gemini"
    extra = {"project": "project-1", "location": "europe-west4"}

    def config(self, server: ScriptedServer, **more: Any) -> dict[str, Any]:
        """The suite's key is the token here."""
        made = super().config(server, **more)
        return {**made, "apikey": "", "accessToken": made["apikey"]}
