# SPDX-License-Identifier: MIT
"""`fmt`: files laid out anew, by white space alone."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from .check import files_of

__all__ = ["execute"]


def execute(args: argparse.Namespace) -> int:
    from rocketride_core.errors import PipeError
    from rocketride_core.formatting import formatted

    from .report import lines

    if args.pipes == ["-"]:
        given = sys.stdin.buffer.read()
        made = formatted(given).encode("utf-8", "surrogatepass")
        if args.check:
            return 1 if given != made else 0
        # Bytes: a console's encoding would lose characters, and Windows' line ends would change it.
        sys.stdout.flush()
        sys.stdout.buffer.write(made)
        sys.stdout.buffer.flush()
        return 0
    changed, broken = 0, 0
    for file in files_of(args.pipes):
        try:
            before = file.read_bytes()
            after = formatted(before, str(file)).encode("utf-8", "surrogatepass")
        except OSError as error:
            broken += 1
            print(f"{file}: the file cannot be read: {error.strerror or error}", file=sys.stderr)
            continue
        except PipeError as error:
            broken += 1
            print("\n".join(lines(error.problems, str(file))), file=sys.stderr)
            continue
        if before != after:
            changed += 1
            print(f"{'would change' if args.check else 'changed'} {file}")
            if not args.check:
                _replace(file, after)
    return 2 if broken else 1 if changed and args.check else 0


def _replace(file: Path, data: bytes) -> None:
    """All or nothing: a full disk leaves what was there."""
    target = file.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        part.write_bytes(data)
        part.chmod(target.stat().st_mode)
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
