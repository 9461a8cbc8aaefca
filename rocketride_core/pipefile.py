# SPDX-License-Identifier: MIT
"""The `.pipe` file: what it says, reading it with everything that is wrong with it, and writing it back.

`read_pipe` is for programs that want a good file or an exception; `inspect_pipe` and `parse_pipe` give what could be
understood together with all problems. Bare files, and files wrapped once or more in `{"pipeline": …}`, are the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import PipeError, Problem
from .pipemodel import Component, ControlLink, LaneLink, PipeFile, link_problems
from .pipereader import EXAMPLE, PipeReader
from .pipewriter import merged, plain
from .reading import decode, read_text

__all__ = [
    "Component",
    "ControlLink",
    "LaneLink",
    "PipeFile",
    "dump_pipe",
    "inspect_pipe",
    "link_problems",
    "parse_pipe",
    "read_pipe",
]


def read_pipe(path: str | Path) -> PipeFile:
    """Read a file.

    Raises:
        PipeError: with all of its problems, where one of them is an error; code `unreadable-file` where it cannot be read.
    """
    pipe, problems = inspect_pipe(path)
    if any(p.severity == "error" for p in problems):
        raise PipeError(problems=problems)
    return pipe


def inspect_pipe(path: str | Path) -> tuple[PipeFile, list[Problem]]:
    """What of a file could be understood, and its problems; never raises for what is wrong with the file."""
    file = str(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"the file cannot be read: {reason}"
        return PipeFile((), file=file), [Problem("$", "unreadable-file", message, "is the path right?", file=file)]
    return parse_pipe(data, file)


def parse_pipe(data: str | bytes | Mapping[str, Any], file: str = "") -> tuple[PipeFile, list[Problem]]:
    """What of a pipeline could be understood, and all structural problems of it in one go.

    Everything that can be kept is kept: dangling links and duplicate components are in the result, so that later checks
    see the rest of the file too.

    Parameters:
        data: JSON text, its bytes, or an object read from JSON.
        file: the name that problems carry.
    """
    problems: list[Problem] = []
    root: Any = data
    if isinstance(data, str | bytes):
        text = decode(data, file)
        if isinstance(text, Problem):
            return PipeFile((), file=file), [text]
        root, problems = read_text(text, file)
        if any(p.severity == "error" for p in problems):
            if text.strip() and text.lstrip()[0] not in "{[/":
                message = "not a RocketRide pipeline: a JSON object with `components` is expected"
                problems = [Problem("$", "not-a-pipeline", message, EXAMPLE, file=file)]
            return PipeFile((), file=file), problems
    reader = PipeReader(file, problems)
    return reader.pipe(root), problems


def dump_pipe(pipe: PipeFile) -> str:
    """The file as JSON text. Unknown keys, `ui`, wrappers and the order of what was read are kept; a new file is bare."""
    root = pipe.raw
    if not root or parse_pipe(root)[0] != pipe:
        root = merged(pipe)
    return json.dumps(plain(root), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
