# SPDX-License-Identifier: MIT
"""rocketride_response: what reaches these nodes is the pipeline's response."""

from .nodes import (
    LaneName,
    Response,
    ResponseAnswers,
    ResponseAudio,
    ResponseConfig,
    ResponseDocuments,
    ResponseImage,
    ResponseQuestions,
    ResponsesConfig,
    ResponseTable,
    ResponseText,
    ResponseVideo,
)

__all__ = [
    "LaneName",
    "Response",
    "ResponseAnswers",
    "ResponseAudio",
    "ResponseConfig",
    "ResponseDocuments",
    "ResponseImage",
    "ResponseQuestions",
    "ResponseTable",
    "ResponseText",
    "ResponseVideo",
    "ResponsesConfig",
]
