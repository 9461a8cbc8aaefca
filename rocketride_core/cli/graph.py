# SPDX-License-Identifier: MIT
"""`graph`: a pipeline to look at."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import Usage
from .overrides import apply, environment
from .report import lines

if TYPE_CHECKING:
    from rocketride_core.graph import Picture
    from rocketride_core.graph.terminal import Span
    from rocketride_core.pipefile import PipeFile

__all__ = ["execute"]

SUFFIXES = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".md": "mermaid", ".txt": "text"}


def execute(args: argparse.Namespace) -> int:
    from rocketride_core.pipefile import inspect_pipe

    wanted = _format(args)
    pipe, problems = inspect_pipe(args.pipe)
    if not pipe.components and any(p.severity == "error" for p in problems):
        print("\n".join(lines(problems, args.pipe)), file=sys.stderr)
        return 2
    if args.set:
        pipe = apply(pipe, args.set)
    picture = _picture(pipe, args)
    if wanted == "text" and args.output == "-":
        _print(picture)
        return 0
    text = _text(picture, wanted, fenced=args.output.lower().endswith(".md"))
    file = _write(text, args.output, temporary=args.open)
    return _open(file) if args.open else 0


def _format(args: argparse.Namespace) -> str:
    known = SUFFIXES.get(Path(args.output).suffix.lower(), "")
    if args.output != "-" and not (args.format or known):
        raise Usage(f"--output {args.output}: give it one of the endings {', '.join(SUFFIXES)}, or say --format")
    wanted = str(args.format or known or ("svg" if args.open else "text"))
    if args.open and wanted != "svg":
        raise Usage(f"--open shows an svg, not {wanted}")
    return wanted


def _picture(pipe: PipeFile, args: argparse.Namespace) -> Picture:
    from rocketride_core.errors import PluginError
    from rocketride_core.graph import picture_of
    from rocketride_core.kernel import Kernel
    from rocketride_core.pipefile import inspect_pipe
    from rocketride_core.registry import Registry

    problems = list(inspect_pipe(args.pipe)[1])
    env = environment(args.env)
    try:
        kernel = Kernel(env=env)
    except PluginError as error:
        # A host plugin that is broken says nothing of the file: it is drawn, not checked.
        print(f"not checked: {error}", file=sys.stderr)
        return picture_of(pipe, problems, Registry(), args.source)
    try:
        problems += [p for p in kernel.check(pipe, source=args.source) if p not in problems]
    except Exception as error:  # noqa: BLE001 - the picture is wanted most where something is odd; `check` shows the rest
        print(f"not checked: {type(error).__name__}; rocketride-core check --debug {args.pipe} shows why", file=sys.stderr)
    return picture_of(pipe, problems, kernel.registry, args.source)


def _text(picture: Picture, wanted: str, *, fenced: bool) -> str:
    from rocketride_core.graph import mermaid, svg, terminal

    if wanted == "svg":
        return svg(picture)
    if wanted == "mermaid":
        text = mermaid(picture)
        return f"```mermaid\n{text}```\n" if fenced else text
    return "".join("".join(word for word, _ in line).rstrip() + "\n" for line in terminal(picture))


def _write(text: str, output: str, *, temporary: bool) -> Path:
    """To a file; to standard output where that is meant."""
    import tempfile

    try:
        if output == "-" and temporary:
            with tempfile.NamedTemporaryFile("wb", prefix="pipeline-", suffix=".svg", delete=False) as file:
                file.write(text.encode("utf-8"))
            return Path(file.name)
        if output == "-":
            print(text, end="")
        else:
            Path(output).write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise Usage(f"--output {output}: {error.strerror or error}") from error
    return Path(output)


def _open(file: Path) -> int:
    import webbrowser

    shown = webbrowser.open(file.resolve().as_uri())
    print(file if shown else f"no browser was found; the picture is in {file}", file=sys.stderr)
    return 0 if shown else 1


def _print(picture: Picture) -> None:
    from rocketride_core.graph import terminal

    if not sys.stdout.isatty():
        print(_text(picture, "text", fenced=False), end="")
        return
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for line in terminal(picture):
        console.print(_coloured(line))


def _coloured(line: list[Span]) -> object:
    from rich.text import Text

    from rocketride_core.graph.style import ROLES, lane_colour

    styles = {"": "", "soft": "dim", "title": "bold", "error": "bold red", "warning": "bold yellow", "call": "dim"}
    text = Text()
    for word, what in line:
        kind, _, name = what.partition(":")
        # Middle tones, which can be read on dark and on light.
        style = f"bold {ROLES[name][2]}" if kind == "box" else lane_colour(name)[1] if kind == "lane" else styles[what]
        text.append(word, style)
    return text
