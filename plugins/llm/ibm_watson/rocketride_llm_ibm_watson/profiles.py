# SPDX-License-Identifier: MIT
"""Models of watsonx.ai as profiles."""

from __future__ import annotations

from rocketride_core import Profile

__all__ = ["PROFILES"]

# id, title, model, tokens of question and answer together; the first is the default.
MODELS = (
    ("granite-4-h-small", "Granite 4 H Small", "ibm/granite-4-h-small", 131_072),
    ("granite-3-3-8b-instruct", "Granite 3.3 8B Instruct", "ibm/granite-3-3-8b-instruct", 131_072),
    ("llama-3-3-70b-instruct", "Llama 3.3 70B Instruct", "meta-llama/llama-3-3-70b-instruct", 131_072),
    ("llama-4-maverick", "Llama 4 Maverick", "meta-llama/llama-4-maverick-17b-128e-instruct-fp8", 131_072),
    ("mistral-medium-2505", "Mistral Medium 2505", "mistralai/mistral-medium-2505", 131_072),
    ("gpt-oss-120b", "gpt-oss 120B", "openai/gpt-oss-120b", 131_072),
)
ANSWER = 8_192

PROFILES = (
    *(
        Profile(
            id,
            {"model": model, "modelTotalTokens": total, "modelOutputTokens": ANSWER, "apikey": "", "project_id": ""},
            title=title,
        )
        for id, title, model, total in MODELS
    ),
    Profile("custom", {"model": "", "modelTotalTokens": 16_384, "apikey": "", "project_id": ""}, title="Custom Model"),
)
