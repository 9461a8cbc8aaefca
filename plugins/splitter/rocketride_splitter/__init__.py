# SPDX-License-Identifier: MIT
"""rocketride_splitter: LangChain's RecursiveCharacterTextSplitter natively, with the position of each chunk."""

from .lengths import EstimatedTokens
from .locating import located
from .splitter import Chunk, RecursiveCharacterTextSplitter

__all__ = ["Chunk", "EstimatedTokens", "RecursiveCharacterTextSplitter", "located"]
