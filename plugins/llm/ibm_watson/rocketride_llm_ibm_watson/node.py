# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import urlsplit

import attrs

from rocketride_core import NodeSpec, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode, is_address

from .profiles import PROFILES

__all__ = ["LOCATIONS", "IBMWatson", "IBMWatsonConfig"]

LOCATIONS = ("au-syd", "br-sao", "ca-tor", "eu-de", "eu-es", "eu-gb", "jp-osa", "jp-tok", "us-east", "us-south")
OWN = "cloud.ibm.com"
IAM = "https://iam.cloud.ibm.com"


@attrs.frozen(kw_only=True)
class IBMWatsonConfig(CloudConfig):
    """Which model, in which location of IBM Cloud, and for which project."""

    location: str = setting("us-south", title="Location", doc="Of IBM Cloud, where the models are asked.")
    project_id: str = setting("", title="Project ID", doc="Of the watsonx.ai project that is charged.")
    iam_url: str = setting(
        "",
        title="IAM URL",
        doc="Where the API key becomes a token; empty is IBM Cloud's own, or base_url where that is a gateway.",
    )

    def __attrs_post_init__(self) -> None:
        if not self.model:
            raise ValueError("IBM Watson model ID is required.")
        if "Select Location" in self.location:  # what a form shows before somebody selects
            raise ValueError("Please select a location.")
        if self.location and "${" not in self.location and self.location not in LOCATIONS:
            raise ValueError(f"Unknown IBM Cloud location: {self.location!r}. Valid locations: {', '.join(LOCATIONS)}")
        super().__attrs_post_init__()
        iam = self.iam_url.strip()
        if iam and "${" not in iam and not is_address(iam):
            raise ValueError("Invalid iam_url: it begins with http:// or https:// and names a host")

    @property
    def address(self) -> str:
        """As given, or IBM's host for the location."""
        return super().address or f"https://{self.location}.ml.{OWN}"

    @property
    def iam(self) -> str:
        """Where tokens come from: a gateway has its own."""
        host = urlsplit(self.address).hostname or ""
        return self.iam_url.strip().rstrip("/") or (IAM if host.endswith(f".{OWN}") else self.address)


class IBMWatson(LLMNode[IBMWatsonConfig]):
    """The models of IBM watsonx.ai, by its text chat API."""

    spec = NodeSpec(
        "llm_ibm_watson",
        title="IBM Watson",
        description="Answers questions with models on IBM watsonx.ai.",
        categories=["llm"],
        profiles=PROFILES,
        tile=["Model: ${parameters.llm_ibm_watson.profile}"],
    )
    vendor: ClassVar[str] = "IBM Watson"

    def connect(self) -> Backend:
        from rocketride_llm import http_client

        from .backend import TextChat
        from .tokens import Tokens

        config = self.config
        if not config.base_url.strip() and config.location not in LOCATIONS:
            raise LLMError("invalid-request", sentence="Please select a location.")
        if not config.project_id.strip():
            raise LLMError("invalid-request", sentence="IBM Watson project ID is required.")
        for name, text in (("project_id", config.project_id), ("iam_url", config.iam_url)):
            if "${" in text:
                told = f'"{name}" is a variable that is not filled in; only those are that begin with ROCKETRIDE_'
                raise LLMError("invalid-request", sentence=told)
        http = http_client(config.timeout, self.proxy)
        tokens = Tokens(http, config.iam, self.secret)
        return TextChat(http, tokens, address=config.address, model=config.model, project=config.project_id.strip())
