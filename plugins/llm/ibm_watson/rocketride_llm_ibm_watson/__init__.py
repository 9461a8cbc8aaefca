# SPDX-License-Identifier: MIT
"""rocketride_llm_ibm_watson: the models of IBM watsonx.ai as a node of rocketride-core pipelines."""

from .node import IBMWatson, IBMWatsonConfig
from .profiles import PROFILES

__all__ = ["PROFILES", "IBMWatson", "IBMWatsonConfig"]
