# SPDX-License-Identifier: MIT
"""`schema`: what a `.pipe` file may hold, with the nodes that are installed."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rocketride_core.errors import PluginError
from rocketride_core.registry import Registry
from rocketride_core.schema import pipe_schema

from .arguments import Usage

__all__ = ["execute"]


def execute(args: argparse.Namespace) -> int:
    registry = Registry()
    nodes = {}
    for one in registry.listings():
        try:
            cls = registry.find(one.provider)
        except PluginError as error:
            # Left out, and said: the schema of the others is still of use.
            print(f"left out {one.provider}: {error}", file=sys.stderr)
            continue
        nodes[cls.spec.provider] = (cls.spec, cls.config_class)
    text = json.dumps(pipe_schema(nodes.values()), indent=2, ensure_ascii=False) + "\n"
    if args.output == "-":
        print(text, end="")
        return 0
    try:
        Path(args.output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage(f"--output {args.output}: {error.strerror or error}") from error
    return 0
