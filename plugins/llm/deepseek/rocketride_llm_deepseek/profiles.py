# SPDX-License-Identifier: MIT
"""DeepSeek's models as profiles: at DeepSeek, on a server of one's own, and under the names that OpenRouter gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocketride_core import Profile

__all__ = ["PROFILES"]

HOSTED = "https://api.deepseek.com/v1"
LOCAL = "http://localhost:11434/v1"
ENDED = "DeepSeek ended this model on 24 July 2026; use the profile deepseek-v4-flash."

# id, title, model, tokens of question and answer together, tokens of the answer; the first is the default.
ENDED_MODELS = (
    ("cloud-reasoner", "Cloud Reasoner", "deepseek-reasoner", 128_000, 4_096),
    ("cloud-chat", "Cloud Chat", "deepseek-chat", 163_840, 16_384),
)
SIZES = ("1.5b", "7b", "8b", "14b", "32b", "70b", "671b")
LOCAL_MODELS = (
    *(
        (f"deepseek-r1-{s.replace('.', '_')}", f"DeepSeek R1 {s.upper()}, local", f"deepseek-r1:{s}", 128_000, 4_096)
        for s in SIZES
    ),
    ("deepseek-v3", "DeepSeek V3, local", "deepseek-v3", 128_000, 4_096),
)
LISTED_MODELS = (
    ("deepseek-chat-v3-0324", "DeepSeek: DeepSeek V3 0324", "deepseek-chat-v3-0324", 163_840, 16_384),
    ("deepseek-chat-v3-1", "DeepSeek: DeepSeek V3.1", "deepseek-chat-v3.1", 32_768, 7_168),
    ("deepseek-r1", "DeepSeek: R1", "deepseek-r1", 64_000, 16_000),
    ("deepseek-r1-0528", "DeepSeek: R1 0528", "deepseek-r1-0528", 163_840, 32_768),
    ("deepseek-r1-distill-llama-70b", "DeepSeek: R1 Distill Llama 70B", "deepseek-r1-distill-llama-70b", 131_072, 16_384),
    ("deepseek-r1-distill-qwen-32b", "DeepSeek: R1 Distill Qwen 32B", "deepseek-r1-distill-qwen-32b", 32_768, 32_768),
    ("deepseek-r1t2-chimera", "TNG: DeepSeek R1T2 Chimera", "deepseek-r1t2-chimera", 163_840, 163_840),
    ("deepseek-v3-1-nex-n1", "Nex AGI: DeepSeek V3.1 Nex N1", "deepseek-v3.1-nex-n1", 131_072, 163_840),
    ("deepseek-v3-1-terminus", "DeepSeek: DeepSeek V3.1 Terminus", "deepseek-v3.1-terminus", 163_840, 32_768),
    ("deepseek-v3-2", "DeepSeek: DeepSeek V3.2", "deepseek-v3.2", 131_072, 65_536),
    ("deepseek-v3-2-exp", "DeepSeek: DeepSeek V3.2 Exp", "deepseek-v3.2-exp", 163_840, 65_536),
    ("deepseek-v3-2-speciale", "DeepSeek: DeepSeek V3.2 Speciale", "deepseek-v3.2-speciale", 163_840, 163_840),
    ("deepseek-v4-flash", "DeepSeek: DeepSeek V4 Flash", "deepseek-v4-flash", 1_048_576, 384_000),
    ("deepseek-v4-pro", "DeepSeek: DeepSeek V4 Pro", "deepseek-v4-pro", 1_048_576, 384_000),
)


def profiles() -> Iterator[Profile]:
    for models, source in ((ENDED_MODELS, "manual"), (LOCAL_MODELS, "manual"), (LISTED_MODELS, "openrouter")):
        for id, title, model, total, output in models:
            values: dict[str, Any] = {
                "model": model,
                "modelSource": source,
                "modelTotalTokens": total,
                "modelOutputTokens": output,
            }
            if models is not LISTED_MODELS or id.startswith("deepseek-v4"):
                values["serverbase"] = LOCAL if models is LOCAL_MODELS else HOSTED
            values |= {} if models is LOCAL_MODELS else {"apikey": ""}
            yield Profile(id, values, title=title, deprecated=ENDED if models is ENDED_MODELS else "")


PROFILES = tuple(profiles())
