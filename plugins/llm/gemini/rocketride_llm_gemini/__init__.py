# SPDX-License-Identifier: MIT
"""rocketride_llm_gemini: Google's Gemini models as a node of rocketride-core pipelines."""

from .node import Gemini, GeminiConfig
from .profiles import MODELS, Model, profiles

__all__ = ["MODELS", "Gemini", "GeminiConfig", "Model", "profiles"]
