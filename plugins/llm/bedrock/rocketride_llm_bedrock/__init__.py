# SPDX-License-Identifier: MIT
"""rocketride_llm_bedrock: the models of Amazon Bedrock as a node of rocketride-core pipelines."""

from .node import Bedrock, BedrockConfig

__all__ = ["Bedrock", "BedrockConfig"]
