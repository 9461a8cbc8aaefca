# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from typing import ClassVar

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode
from rocketride_llm_gemini import profiles

__all__ = ["Vertex", "VertexConfig"]

PROFILES = (
    "gemini-3_1-pro-preview",
    "gemini-3_1-flash-lite-preview",
    "gemini-3-flash-preview",
    "gemini-2_5-pro",
    "gemini-2_5-flash",
    "gemini-2_5-flash-lite",
)
REGIONS = ("us", "eu")  # of several places each, with a host name of another form
VARIABLE = r"|.*\$\{.*"


@attrs.frozen(kw_only=True)
class VertexConfig(CloudConfig):
    """Which model, whose project, and one of three ways to prove it."""

    service_key: Secret = setting(
        Secret(), key="serviceKey", title="Service account", doc="Its key file: the JSON text, or a data URL of it."
    )
    access_token: Secret = setting(
        Secret(), key="accessToken", title="Access token", doc="Of OAuth 2; it ends after an hour or so."
    )
    project: str = setting(
        "",
        pattern=rf"([a-z0-9.-]+:)?[a-z0-9-]*{VARIABLE}",
        title="Project",
        doc="Id or number of the Google Cloud project; the service account's own where empty. An API key needs none.",
    )
    location: str = setting("global", pattern=rf"[a-z0-9-]+{VARIABLE}", title="Location", doc="Such as europe-west4, or global.")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if sum(bool(secret.reveal().strip()) for secret in (self.api_key, self.service_key, self.access_token)) > 1:
            raise ValueError('Give one of "apikey", "serviceKey" and "accessToken": it is not clear which to use')

    @property
    def address(self) -> str:
        """As given, or Google's host for the location."""
        if self.location in REGIONS:
            own = f"https://aiplatform.{self.location}.rep.googleapis.com"
        elif self.location == "global" or (not self.project and self.api_key.reveal()):
            own = "https://aiplatform.googleapis.com"
        else:
            own = f"https://{self.location}-aiplatform.googleapis.com"
        return super().address or own


class Vertex(LLMNode[VertexConfig]):
    """Gemini models of a Google Cloud project."""

    spec = NodeSpec(
        "llm_vertex",
        title="Vertex AI",
        description="Answers questions with Gemini models on Google Cloud.",
        categories=["llm"],
        profiles=list(profiles(PROFILES, prefix="", apikey="")),
        tile=["Model: ${parameters.llm_vertex.profile}"],
    )
    vendor: ClassVar[str] = "Vertex AI"
    key_hint: ClassVar[str] = ', or in its place "serviceKey" or "accessToken"'

    @property
    def secret(self) -> str:
        """The API key, or the access token."""
        return super().secret or self.config.access_token.reveal().strip()

    @property
    def needs_key(self) -> bool:
        return not self.config.service_key.reveal().strip()

    def connect(self) -> Backend:
        from rocketride_llm_gemini.client import client_for, http_for

        from .backend import VertexBackend
        from .tokens import Account, Tokens

        config, key = self.config, super().secret
        service = None if self.needs_key else Account.read(config.service_key.reveal())
        project = config.project or (service.project if service else "")
        if not project and not key:
            raise LLMError(
                "invalid-request", sentence=f'{self.vendor} needs a project; write "project" in the config of {self.id}'
            )
        http = http_for(config.timeout, self.proxy)
        place = {"project": project, "location": config.location} if project else {}
        model = config.model.removeprefix("models/")
        if key:
            client = client_for(http, config.address, vertexai=True, api_key=key, **place)
            return VertexBackend(client, http, model)
        tokens = Tokens(http, service, self.secret)
        client = client_for(http, config.address, vertexai=True, credentials=tokens.credentials, **place)
        return VertexBackend(client, http, model, tokens)

    async def probe(self, backend: Backend) -> None:
        """Asks for the model's description, which costs nothing."""
        from .backend import VertexBackend

        assert isinstance(backend, VertexBackend)  # noqa: S101
        await backend.describe()
