# SPDX-License-Identifier: MIT
"""rocketride_llm_mistral: Mistral AI's models as a node of rocketride-core pipelines."""

from .node import Mistral, MistralConfig
from .profiles import PROFILES

__all__ = ["PROFILES", "Mistral", "MistralConfig"]
