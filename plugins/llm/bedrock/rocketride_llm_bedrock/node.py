# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from rocketride_core import NodeSpec, Secret, setting
from rocketride_llm import Backend, CloudConfig, LLMError, LLMNode
from rocketride_llm.asking import Asking

from .profiles import profiles

__all__ = ["Bedrock", "BedrockConfig"]

VARIABLE = r"|.*\$\{.*"
# Families whose models are asked for by an inference profile of several regions.
PROFILED = ("anthropic.claude", "meta.llama3-1", "meta.llama3-2", "meta.llama3-3", "meta.llama4", "amazon.nova")
GEOGRAPHIES = {"us-gov-": "us-gov", "us-": "us", "eu-": "eu", "ap-": "apac"}
SHORTEST = 4  # characters of a secret that is taken out of messages


@attrs.frozen(kw_only=True)
class BedrockConfig(CloudConfig):
    """Which model, in which region, and one of two ways to prove who asks."""

    access_key: Secret = setting(
        Secret(), key="accessKey", title="Access key", doc="Id of the access key of an IAM user or role."
    )
    secret_key: Secret = setting(Secret(), key="secretKey", title="Secret key", doc="The access key's secret.")
    session_token: Secret = setting(
        Secret(), key="sessionToken", title="Session token", doc="Of temporary access keys; they end after some hours."
    )
    region: str = setting("us-east-1", pattern=rf"[a-z0-9-]*{VARIABLE}", title="Region", doc="Where the model is asked.")
    cross_region: str = setting(
        "auto",
        key="crossRegion",
        pattern=rf"auto|off|[a-z-]+{VARIABLE}",
        title="Inference profile",
        doc="What is written before the model's id: us, eu, apac, global, …; auto goes by region and model, off is nothing.",
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        keys = [bool(secret.reveal().strip()) for secret in (self.access_key, self.secret_key)]
        if any(keys) and self.api_key.reveal().strip():
            raise ValueError('Give either "apikey" or "accessKey" and "secretKey": it is not clear which to use')
        if any(keys) != all(keys):
            raise ValueError('"accessKey" and "secretKey" belong together; one of them is missing')

    @property
    def address(self) -> str:
        """As given, or AWS's host for the region."""
        return super().address or f"https://bedrock-runtime.{self.region}.amazonaws.com"

    @property
    def model_id(self) -> str:
        """The model with the inference profile that it is asked by."""
        if self.cross_region == "off" or not self.model.startswith(PROFILED):
            return self.model
        auto = next((name for start, name in GEOGRAPHIES.items() if self.region.startswith(start)), "")
        prefix = auto if self.cross_region == "auto" else self.cross_region
        return f"{prefix}.{self.model}" if prefix else self.model


class Bedrock(LLMNode[BedrockConfig]):
    """Any model of Amazon Bedrock, by its Converse API."""

    spec = NodeSpec(
        "llm_bedrock",
        title="Amazon Bedrock",
        description="Answers questions with models on Amazon Bedrock.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_bedrock.profile}"],
    )
    vendor: ClassVar[str] = "Amazon Bedrock"
    key_hint: ClassVar[str] = ', or in its place "accessKey" and "secretKey"'

    @property
    def needs_key(self) -> bool:
        return not self.config.access_key.reveal().strip()

    def asking(self, backend: Backend, on_retry: Callable[[LLMError, float], None] = lambda error, seconds: None) -> Asking[Any]:
        found = super().asking(backend, on_retry)
        return attrs.evolve(found, hide=[*found.hide, *(text for text in self._own_keys().values() if len(text) >= SHORTEST)])

    def connect(self) -> Backend:
        from .backend import Converse
        from .client import Keys, Sender

        keys, config = self._own_keys(), self.config
        if not config.region:  # a form that was left empty: no fault of a file whose node is not used
            raise LLMError("invalid-request", sentence='There is no region; write "region", as in us-east-1')
        for name, text in keys.items():
            if "${" in text:
                told = f'"{name}" is a variable that is not filled in; only those are that begin with ROCKETRIDE_'
                raise LLMError("authentication", sentence=told)
            if not (text.isascii() and text.isprintable()) or " " in text:
                told = f'"{name}" has spaces or characters that no key has; was more copied than the key?'
                raise LLMError("authentication", sentence=told)
        made = Keys(self.secret, keys["accessKey"], keys["secretKey"], keys["sessionToken"])
        sender = Sender(made, config.region, config.address)
        return Converse(sender, model=config.model_id, timeout=config.timeout, proxy=self.proxy)

    def _own_keys(self) -> dict[str, str]:
        config = self.config
        secrets = {"accessKey": config.access_key, "secretKey": config.secret_key, "sessionToken": config.session_token}
        return {name: secret.reveal().strip() for name, secret in secrets.items()}
