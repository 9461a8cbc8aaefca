# SPDX-License-Identifier: MIT
"""rocketride_indexer: a full-text index of objects, and answers to questions by their words."""

from .node import Indexer, IndexerConfig
from .words import tokens

__all__ = ["Indexer", "IndexerConfig", "tokens"]
