# SPDX-License-Identifier: MIT
"""rocketride_llm_router: several language models in place of one, as a node of rocketride-core pipelines."""

from .config import Price, RouterConfig
from .node import Router

__all__ = ["Price", "Router", "RouterConfig"]
