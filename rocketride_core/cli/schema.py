# SPDX-License-Identifier: MIT
"""`schema`: what a `.pipe` file may hold, with the nodes that are installed."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.resources import files
from pathlib import Path

from rocketride_core.errors import PluginError
from rocketride_core.registry import Registry
from rocketride_core.schema import pipe_schema

from .arguments import Usage

__all__ = ["execute"]


def execute(args: argparse.Namespace) -> int:
    if args.what == "check":
        return _write((files("rocketride_core") / "data" / "check.schema.json").read_text("utf-8"), args.output)
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
    return _write(json.dumps(pipe_schema(nodes.values()), indent=2, ensure_ascii=False) + "\n", args.output)


def _write(text: str, output: str) -> int:
    if output == "-":
        print(text, end="")
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage(f"--output {output}: {error.strerror or error}") from error
    return 0
