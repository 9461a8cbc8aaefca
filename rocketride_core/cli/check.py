# SPDX-License-Identifier: MIT
"""`check`: everything that is wrong with some files, in one go."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from .arguments import Usage
from .overrides import apply, environment
from .report import lines, missing

if TYPE_CHECKING:
    from rocketride_core.kernel import Kernel

__all__ = ["execute", "files_of"]


def execute(args: argparse.Namespace) -> int:
    from rocketride_core.errors import Problem
    from rocketride_core.kernel import Kernel
    from rocketride_core.pipefile import inspect_pipe

    kernel = Kernel(env=environment(args.env))
    form = "json" if args.json else args.format
    if args.expand or args.save:
        if form != "text":
            raise Usage(f"--expand and --save print a file; they do not go with --format {form}")
        return _expand(kernel, args)
    bad, install = False, set[str]()
    told: dict[Path, list[Problem]] = {}
    for file in files_of(args.pipes):
        pipe, problems = inspect_pipe(file)
        if pipe.components or not problems:
            # The kernel reports what reading found as well; --set and --source are applied to what was read.
            if args.set:
                pipe = apply(pipe, args.set)
            checked = kernel.check(pipe, probe=args.probe, source=args.source)
            problems = [*problems, *(p for p in checked if p not in problems)]
        refused = any(args.strict or p.severity == "error" for p in problems)
        needed = missing(problems)
        bad |= refused
        install.update(needed)
        if form == "sarif":
            told[file] = list(problems)
        elif form == "json":
            listed = [attrs.asdict(p, filter=lambda field, _: field is not attrs.fields(Problem).file) for p in problems]
            print(json.dumps({"file": str(file), "ok": not refused, "problems": listed, "install": needed}), flush=True)
        else:
            print("\n".join(lines(problems, str(file), strict=args.strict)), flush=True)
    if form == "sarif":
        from .sarif import sarif

        print(json.dumps(sarif(told, strict=args.strict), indent=1))
    elif install and form == "text":
        print(f"\nTo install what is missing:\n  pip install {' '.join(sorted(install))}")
    return 2 if bad else 0


def _expand(kernel: Kernel, args: argparse.Namespace) -> int:
    """The file with its components expanded, where nothing is wrong with it; the report otherwise, and what is only warned of."""
    from rocketride_core.pipefile import dump_pipe, inspect_pipe

    if len(files := files_of(args.pipes)) != 1:
        raise Usage(f"--expand takes one file, not {len(files)}")
    pipe, problems = inspect_pipe(files[0])
    if args.set:
        pipe = apply(pipe, args.set)
    if pipe.components or not problems:
        checked = kernel.check(pipe, probe=args.probe, source=args.source)
        problems = [*problems, *(p for p in checked if p not in problems)]
    print("\n".join(lines(problems, str(files[0]), strict=args.strict)), file=sys.stderr)
    if any(args.strict or p.severity == "error" for p in problems):
        return 2
    text = dump_pipe(kernel.expand(pipe))
    if not args.save:
        print(text, end="")
        return 0
    try:
        Path(args.save).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage(f"{args.save}: {error.strerror or error}") from error
    return 0


def files_of(names: list[str]) -> list[Path]:
    """The files that are named, and the .pipe files in folders that are, each once."""
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*.pipe") if one.is_file() or not one.exists())
            if not inside:
                raise Usage(f"there is no .pipe file in {name}")
            found.update(dict.fromkeys(inside))
        else:
            found[path] = None
    return list(found)
