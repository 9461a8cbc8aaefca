# SPDX-License-Identifier: MIT
"""rocketride_tool_http_request: an agent's HTTP requests, guarded. aiohttp is imported when a pipeline opens."""

from .node import HttpRequest, HttpRequestConfig, HttpTool

__all__ = ["HttpRequest", "HttpRequestConfig", "HttpTool"]
