# SPDX-License-Identifier: MIT
"""OpenAI's models as profiles."""

from __future__ import annotations

from rocketride_core import Profile

__all__ = ["PROFILES"]

# id, title, model, tokens of question and answer together, tokens of the answer; the first is the default.
MODELS = (
    ("openai-5-2", "GPT-5.2", "gpt-5.2", 400_000, 128_000),
    ("openai-5-4", "GPT-5.4", "gpt-5.4", 1_050_000, 128_000),
    ("openai-5-4-pro", "GPT-5.4 Pro", "gpt-5.4-pro", 1_050_000, 128_000),
    ("openai-5-4-mini", "GPT-5.4-mini", "gpt-5.4-mini", 400_000, 128_000),
    ("openai-5-4-nano", "GPT-5.4-nano", "gpt-5.4-nano", 400_000, 128_000),
    ("openai-4o", "GPT-4o", "gpt-4o", 128_000, 16_384),
    ("openai-4o-mini", "GPT-4o-mini", "gpt-4o-mini", 128_000, 16_384),
    ("openai-5", "GPT-5", "gpt-5", 400_000, 128_000),
    ("openai-5-1", "GPT-5.1", "gpt-5.1", 400_000, 128_000),
    ("openai-5-mini", "GPT-5-mini", "gpt-5-mini", 400_000, 128_000),
    ("openai-5-nano", "GPT-5-nano", "gpt-5-nano", 400_000, 128_000),
    ("gpt-3-5-turbo", "OpenAI: GPT-3.5 Turbo", "gpt-3.5-turbo", 16_385, 4_096),
    ("gpt-3-5-turbo-16k", "OpenAI: GPT-3.5 Turbo 16k", "gpt-3.5-turbo-16k", 16_385, 4_096),
    ("gpt-4", "OpenAI: GPT-4", "gpt-4", 8_191, 4_096),
    ("gpt-4-1", "OpenAI: GPT-4.1", "gpt-4.1", 1_047_576, 32_768),
    ("gpt-4-1-mini", "OpenAI: GPT-4.1 Mini", "gpt-4.1-mini", 1_047_576, 32_768),
    ("gpt-4-1-nano", "OpenAI: GPT-4.1 Nano", "gpt-4.1-nano", 1_047_576, 32_768),
    ("gpt-4-turbo", "OpenAI: GPT-4 Turbo", "gpt-4-turbo", 128_000, 4_096),
    ("gpt-5-1-chat-latest", "GPT-5.1 Chat Latest", "gpt-5.1-chat-latest", 16_384, 16_384),
    ("gpt-5-2-chat-latest", "GPT-5.2 Chat Latest", "gpt-5.2-chat-latest", 16_384, 16_384),
    ("gpt-5-3-chat-latest", "GPT-5.3 Chat Latest", "gpt-5.3-chat-latest", 16_384, 16_384),
    ("gpt-5-chat-latest", "GPT-5 Chat Latest", "gpt-5-chat-latest", 16_384, 16_384),
    ("o1", "OpenAI: o1", "o1", 200_000, 100_000),
    ("o3", "OpenAI: o3", "o3", 200_000, 100_000),
    ("o3-mini", "OpenAI: o3 Mini", "o3-mini", 200_000, 100_000),
    ("o4-mini", "OpenAI: o4 Mini", "o4-mini", 200_000, 100_000),
    ("gpt-5-5", "OpenAI: GPT-5.5", "gpt-5.5", 1_050_000, 128_000),
)

PROFILES = (
    *(
        Profile(
            id,
            {"model": model, "modelSource": "provider", "modelTotalTokens": total, "modelOutputTokens": output, "apikey": ""},
            title=title,
        )
        for id, title, model, total, output in MODELS
    ),
    Profile("custom", {"model": "", "modelTotalTokens": 16_384, "apikey": ""}, title="Another model"),
)
