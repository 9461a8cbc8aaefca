# SPDX-License-Identifier: MIT
"""xAI counts the tokens of thoughts beside those of the answer."""

from __future__ import annotations

from typing import Any

from rocketride_llm import Usage, counted
from rocketride_llm_openai_api import ChatCompletions
from rocketride_llm_openai_api.reading import Gathering, get

__all__ = ["Grok"]


class Counting(Gathering):
    def beside(self, completion: Any) -> None:
        super().beside(completion)
        told, usage = get(completion, "usage"), self.usage
        thought = counted(get(get(told, "completion_tokens_details"), "reasoning_tokens"))
        if usage is None or not thought:
            return
        # A gateway in front may count as OpenAI does, with the thoughts inside; the total says which it is.
        if counted(get(told, "total_tokens")) == usage.input + usage.output + thought:
            self.usage = Usage(usage.input, usage.output + thought, usage.cached)


class Grok(ChatCompletions):
    """`output_tokens` are what is paid for: answer and thoughts."""

    gathering = Counting
