# SPDX-License-Identifier: MIT
"""rocketride_preprocessor_code: cut source code into documents along its syntax, by tree-sitter's grammars."""

from .cutting import cut
from .languages import LANGUAGES, Language, recognised
from .node import CodeConfig, CodePreprocessor

__all__ = ["LANGUAGES", "CodeConfig", "CodePreprocessor", "Language", "cut", "recognised"]
