# SPDX-License-Identifier: MIT
"""rocketride_autopipe: the chain parse, OCR, index, chunk, embed, store, assembled from a few settings.

In a file it is the component `autopipe`, which replaces itself when the file is loaded; for programs it is `assemble`.
"""

from .assembling import assemble
from .configs import ConfigError, MisnamedKey, get_multi_provider_config, get_node_config, get_provider_config
from .node import Autopipe, AutopipeConfig
from .stacks import MODES

__all__ = [
    "MODES",
    "Autopipe",
    "AutopipeConfig",
    "ConfigError",
    "MisnamedKey",
    "assemble",
    "get_multi_provider_config",
    "get_node_config",
    "get_provider_config",
]
