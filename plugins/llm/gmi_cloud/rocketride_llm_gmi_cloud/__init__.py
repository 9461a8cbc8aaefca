# SPDX-License-Identifier: MIT
"""rocketride_llm_gmi_cloud: the node `llm_gmi_cloud`."""

from __future__ import annotations

from .node import GMICloud

__all__ = ["GMICloud"]
