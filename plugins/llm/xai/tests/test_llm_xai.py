# SPDX-License-Identifier: MIT
"""llm_xai: the suite of language models, and tokens of thoughts."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_llm import Usage
from rocketride_llm.testing import LLMSuite
from rocketride_llm_xai import XAI
from rocketride_llm_xai.backend import Counting


class TestXAI(LLMSuite):
    node = XAI
    wire = "openai"


@pytest.mark.parametrize(
    ("total", "thought", "output"),
    [
        (135, 94, 103),  # xAI: 32 + 9 + 94
        (41, 5, 9),  # OpenAI: the thoughts are among the 9
        (135, None, 9),
        (None, 94, 9),
    ],
)
def test_thoughts_are_paid_for_and_counted(total: Any, thought: Any, output: int) -> None:
    usage = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": total}
    usage |= {"prompt_tokens_details": {"cached_tokens": 6}, "completion_tokens_details": {"reasoning_tokens": thought}}
    gathering = Counting()
    gathering.feed({"choices": [{"delta": {"content": "101"}, "finish_reason": "stop"}], "usage": usage})
    gathering.feed({"choices": [], "usage": usage})
    assert gathering.reply().usage == Usage(32, output, 6)
