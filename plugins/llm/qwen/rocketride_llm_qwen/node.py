# SPDX-License-Identifier: MIT
"""The node `llm_qwen`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import attrs

from rocketride_core import NodeSpec, Profile, setting
from rocketride_llm_openai_api import CompatibleConfig, CompatibleNode

__all__ = ["Qwen", "QwenConfig"]

ADDRESSES = {
    "us": "https://dashscope-us.aliyuncs.com/compatible-mode/v1",
    "intl": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "cn": "https://dashscope.aliyuncs.com/compatible-mode/v1",
}
# id, title, model, tokens of question and answer together, tokens of the answer, source; the first is the default.
MODELS = (
    ("qwen-flash", "Qwen Flash", "qwen-flash", 131_072, 4_096, "manual"),
    ("qwen-plus", "Qwen Plus", "qwen-plus", 1_000_000, 32_768, "manual"),
    ("qwen-2-5-72b-instruct", "Qwen2.5 72B Instruct", "qwen-2.5-72b-instruct", 32_768, 16_384, "openrouter"),
    ("qwen-2-5-7b-instruct", "Qwen: Qwen2.5 7B Instruct", "qwen-2.5-7b-instruct", 32_768, 32_768, "openrouter"),
    ("qwen-2-5-coder-32b-instruct", "Qwen2.5 Coder 32B Instruct", "qwen-2.5-coder-32b-instruct", 32_768, 4_096, "openrouter"),
    ("qwen-max", "Qwen: Qwen-Max", "qwen-max", 32_768, 8_192, "openrouter"),
    ("qwen-plus-2025-07-28", "Qwen: Qwen Plus 0728", "qwen-plus-2025-07-28", 1_000_000, 32_768, "openrouter"),
    (
        "qwen-plus-2025-07-28-thinking",
        "Qwen: Qwen Plus 0728 (thinking)",
        "qwen-plus-2025-07-28:thinking",
        1_000_000,
        32_768,
        "openrouter",
    ),
    ("qwen-turbo", "Qwen: Qwen-Turbo", "qwen-turbo", 131_072, 8_192, "openrouter"),
)


def profiles() -> Iterator[Profile]:
    for id, title, model, total, output, source in MODELS:
        values: dict[str, Any] = {"model": model, "modelSource": source, "modelTotalTokens": total, "modelOutputTokens": output}
        yield Profile(id, values | {"apikey": ""} | ({"region": "us"} if source == "manual" else {}), title=title)
    yield Profile("custom", {"model": "", "modelTotalTokens": 131_072, "region": "us", "apikey": ""}, title="Custom")


@attrs.frozen(kw_only=True)
class QwenConfig(CompatibleConfig):
    """Which of Qwen's models, and in which part of the world."""

    region: Literal["us", "intl", "cn"] = setting(
        "us", title="Region", doc="Where the account is: Virginia, Singapore or Beijing; base_url is stronger."
    )

    @property
    def address(self) -> str:
        return super().address or ADDRESSES[self.region]


class Qwen(CompatibleNode[QwenConfig]):
    """Qwen's models, by Alibaba Cloud's DashScope; token counts are estimates."""

    spec = NodeSpec(
        "llm_qwen",
        title="Qwen",
        description="Answers questions with Alibaba Cloud's Qwen models.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_qwen.profile}"],
    )
    vendor = "DashScope"
    own = "aliyuncs.com"
    key_start = "sk-"
    wrong_key = 'Invalid DashScope API key. Key must start with "sk-".'
