# SPDX-License-Identifier: MIT
"""The node `llm_gmi_cloud`."""

from __future__ import annotations

from collections.abc import Iterator

from rocketride_core import NodeSpec, Profile
from rocketride_llm_openai_api import CompatibleConfig, CompatibleNode

__all__ = ["GMICloud"]

SERVER = "https://api.gmi-serving.com/v1"
# id, title, model, tokens of question and answer together; the first is the default.
SHARED = (
    ("deepseek-v3", "DeepSeek V3", "deepseek-ai/DeepSeek-V3-0324", 163_840),
    ("deepseek-v3-2", "DeepSeek V3.2", "deepseek-ai/DeepSeek-V3.2", 163_840),
    ("deepseek-r1", "DeepSeek R1", "deepseek-ai/DeepSeek-R1", 131_072),
    ("deepseek-prover-v2", "DeepSeek Prover V2", "deepseek-ai/DeepSeek-Prover-V2-671B", 131_072),
    ("gpt-5-2", "GPT-5.2", "openai/gpt-5.2", 128_000),
    ("gpt-5-1", "GPT-5.1", "openai/gpt-5.1", 128_000),
    ("gpt-5", "GPT-5", "openai/gpt-5", 128_000),
    ("gpt-4o", "GPT-4o", "openai/gpt-4o", 128_000),
    ("claude-opus-4-5", "Claude Opus 4.5", "anthropic/claude-opus-4.5", 200_000),
    ("claude-sonnet-4-5", "Claude Sonnet 4.5", "anthropic/claude-sonnet-4.5", 200_000),
    ("gemini-3-pro", "Gemini 3.1 Pro", "google/gemini-3.1-pro-preview", 128_000),
    ("gemini-3-flash", "Gemini 3 Flash", "google/gemini-3-flash-preview", 128_000),
    ("gemini-3-1-flash-lite", "Gemini 3.1 Flash Lite", "google/gemini-3.1-flash-lite-preview", 128_000),
)
# Behind an endpoint of one's own, which the config names.
DEDICATED = (
    ("llama-4-scout", "Llama 4 Scout", "meta-llama/Llama-4-Scout-17B-16E-Instruct", 1_048_576),
    ("llama-4-maverick", "Llama 4 Maverick", "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", 1_048_576),
    ("qwen3-235b", "Qwen3 235B", "Qwen/Qwen3-235B-A22B-FP8", 131_072),
    ("qwen3-32b", "Qwen3 32B", "Qwen/Qwen3-32B-FP8", 131_072),
    ("qwen3-30b", "Qwen3 30B", "Qwen/Qwen3-30B-A3B", 131_072),
    ("qwen3-coder-480b", "Qwen3 Coder 480B", "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", 131_072),
    ("deepseek-r1-distill-32b", "DeepSeek R1 Distill 32B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 131_072),
    ("deepseek-r1-distill-1-5b", "DeepSeek R1 Distill 1.5B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 131_072),
)


def profiles() -> Iterator[Profile]:
    for models, server in ((SHARED, SERVER), (DEDICATED, "")):
        for id, title, model, total in models:
            yield Profile(id, {"model": model, "serverbase": server, "apikey": "", "modelTotalTokens": total}, title=title)
    yield Profile("custom", {"model": "", "modelTotalTokens": 16_384, "serverbase": SERVER, "apikey": ""}, title="Another model")


class GMICloud(CompatibleNode[CompatibleConfig]):
    """Models that GMI Cloud hosts; token counts are estimates."""

    spec = NodeSpec(
        "llm_gmi_cloud",
        title="GMI Cloud",
        description="Answers questions with models that GMI Cloud hosts.",
        categories=["llm"],
        profiles=list(profiles()),
        tile=["Model: ${parameters.llm_gmi_cloud.profile}"],
    )
    vendor = "GMI Cloud"
    needs_address = 'GMI Cloud serverbase is required: write the address of your endpoint as "serverbase" in the config'
