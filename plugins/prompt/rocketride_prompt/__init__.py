# SPDX-License-Identifier: MIT
"""rocketride_prompt: everything that comes for one object, merged into one question with instructions."""

from .merge import merged
from .node import Prompt, PromptConfig

__all__ = ["Prompt", "PromptConfig", "merged"]
