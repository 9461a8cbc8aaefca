# SPDX-License-Identifier: MIT
"""Mistral AI's models as profiles."""

from __future__ import annotations

from rocketride_core import Profile

__all__ = ["PROFILES"]

# id, title, model, tokens of question and answer together, tokens of the answer; the first is the default.
MODELS = (
    ("mistral-large", "Mistral Large 3", "mistral-large-2512", 262_144, 262_144),
    ("mistral-medium", "Mistral Medium 3.1", "mistral-medium-2508", 131_072, 4_096),
    ("mistral-small", "Mistral Small 3.2", "mistral-small-2506", 131_072, 4_096),
    ("codestral", "Codestral", "codestral-2508", 256_000, 256_000),
    ("magistral-medium", "Magistral Medium 1.2", "magistral-medium-2509", 40_000, 40_000),
    ("magistral-small", "Magistral Small 1.2", "magistral-small-2509", 40_960, 4_096),
    ("devstral-medium", "Devstral Medium 1.0", "devstral-medium-2507", 128_000, 128_000),
    ("devstral-small", "Devstral Small 1.1", "devstral-small-2507", 128_000, 128_000),
    ("ministral-14b", "Ministral 3 14B", "ministral-14b-2512", 262_144, 4_096),
    ("ministral-8b", "Ministral 3 8B", "ministral-8b-2512", 262_144, 4_096),
    ("ministral-3b", "Ministral 3 3B", "ministral-3b-2512", 131_072, 4_096),
    ("codestral-latest", "Codestral-latest", "codestral-latest", 8_191, 8_191),
    ("devstral-2512", "Mistral: Devstral 2 2512", "devstral-2512", 262_144, 256_000),
    ("devstral-latest", "Devstral-latest", "devstral-latest", 256_000, 256_000),
    ("devstral-medium-latest", "Devstral-medium-latest", "devstral-medium-latest", 256_000, 256_000),
    ("magistral-medium-latest", "Magistral-medium-latest", "magistral-medium-latest", 40_000, 40_000),
    ("magistral-small-latest", "Magistral-small-latest", "magistral-small-latest", 40_000, 40_000),
    ("ministral-14b-latest", "Ministral-14b-latest", "ministral-14b-latest", 16_384, 4_096),
    ("ministral-3b-latest", "Ministral-3b-latest", "ministral-3b-latest", 16_384, 4_096),
    ("ministral-8b-latest", "Ministral-8b-latest", "ministral-8b-latest", 16_384, 4_096),
    ("mistral-large-2411", "Mistral Large 2411", "mistral-large-2411", 131_072, 128_000),
    ("mistral-large-latest", "Mistral Large Latest", "mistral-large-latest", 32_000, 4_096),
    ("mistral-medium-2505", "Mistral Medium 2505", "mistral-medium-2505", 8_191, 8_191),
    ("mistral-medium-2604", "Mistral Medium 2604", "mistral-medium-2604", 16_384, 4_096),
    ("mistral-medium-3", "Mistral: Mistral Medium 3", "mistral-medium-3", 131_072, 4_096),
    ("mistral-medium-3-5", "Mistral Medium 3.5", "mistral-medium-3-5", 16_384, 4_096),
    ("mistral-medium-c21211-r0-75", "Mistral Medium C21211 R0 75", "mistral-medium-c21211-r0-75", 16_384, 4_096),
    ("mistral-medium-latest", "Mistral Medium Latest", "mistral-medium-latest", 131_072, 131_072),
    ("mistral-small-2603", "Mistral: Mistral Small 4", "mistral-small-2603", 262_144, 4_096),
    ("mistral-small-latest", "Mistral Small Latest", "mistral-small-latest", 131_072, 131_072),
    ("mistral-tiny-2407", "Mistral Tiny 2407", "mistral-tiny-2407", 16_384, 4_096),
    ("mistral-tiny-latest", "Mistral Tiny Latest", "mistral-tiny-latest", 16_384, 4_096),
    ("mistral-vibe-cli-fast", "Mistral Vibe Cli Fast", "mistral-vibe-cli-fast", 16_384, 4_096),
    ("mistral-vibe-cli-latest", "Mistral Vibe Cli Latest", "mistral-vibe-cli-latest", 16_384, 4_096),
    ("mistral-vibe-cli-with-tools", "Mistral Vibe Cli With Tools", "mistral-vibe-cli-with-tools", 16_384, 4_096),
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
    Profile("custom", {"model": "", "modelTotalTokens": 32_768, "apikey": ""}, title="Custom Model"),
)
