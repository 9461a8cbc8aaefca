# SPDX-License-Identifier: MIT
"""Replies of OpenAI's client, whole or in pieces, and what errors in them mean."""

from __future__ import annotations

from typing import Any

from rocketride_llm import Completion, LLMError, Reply
from rocketride_llm.completion import get

from .explaining import told

__all__ = ["Gathering", "get", "whole"]


class Gathering(Completion):
    """A reply that comes in pieces. A vendor whose replies have more overrides `beside`, `add` and `reply`."""

    def failed(self, error: Any) -> LLMError:
        return told(error)


def whole(completion: Any, gathering: Gathering | None = None) -> Reply:
    """The reply in a completion.

    Parameters:
        gathering: a new one; it reads what is a vendor's own.

    Raises:
        LLMError: it is an error that came with a good status, or no completion at all.
    """
    return (gathering or Gathering()).whole(completion)
