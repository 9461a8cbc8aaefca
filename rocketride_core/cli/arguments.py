# SPDX-License-Identifier: MIT
"""What each command takes. Imports nothing heavy: `--help` is answered from here."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

__all__ = ["COMMANDS", "PROGRAM", "Usage", "build", "parse"]

PROGRAM = "rocketride-core"
COMMANDS = {
    "run": "run",
    "chat": "chat",
    "check": "check",
    "graph": "graph",
    "fmt": "fmt",
    "doctor": "doctor",
    "nodes": "nodes",
    "schema": "schema",
    "help": "extra",
}


class Usage(Exception):
    """The words on the command line cannot be followed; the message says what to write instead."""


def build(plugins: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The whole parser.

    Parameters:
        plugins: names of installed host plugins, for the last lines of the help.
    """
    return _built(plugins)[0]


def _built(plugins: Sequence[str] = ()) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    from rocketride_core import __version__

    more = f"Installed plugins: {', '.join(plugins)}; `{PROGRAM} help` shows the commands they add." if plugins else ""
    parser = argparse.ArgumentParser(
        PROGRAM, description="Run .pipe pipelines, check them, and see which nodes are installed.", epilog=more
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    _run(commands.add_parser("run", help="run a pipeline over files, folders, standard input or questions"))
    _chat(commands.add_parser("chat", help="talk with a pipeline: it answers each line, and knows what was said"))
    _check(commands.add_parser("check", help="say everything that is wrong with .pipe files"))
    _graph(commands.add_parser("graph", help="draw a pipeline: as text, SVG or Mermaid"))
    _fmt(commands.add_parser("fmt", help="lay out .pipe files anew: white space only, every word stays"))
    _doctor(commands.add_parser("doctor", help="would a pipeline run here? what is missing, and what to type"))
    _nodes(commands.add_parser("nodes", help="list the installed nodes, or show one"))
    schema = commands.add_parser("schema", help="print the JSON Schema of .pipe files, with the installed nodes, for editors")
    schema.add_argument(
        "what", choices=["pipe", "check"], nargs="?", default="pipe", help="pipe (default), or what `check --json` prints"
    )
    schema.add_argument("--output", metavar="FILE", default="-", help="write it here instead")
    commands.add_parser("help", help="show this, and the commands of installed plugins")
    for command in commands.choices.values():
        command.add_argument("--rescan", action="store_true", help="read what is installed anew, whatever the cached index says")
        command.add_argument("--debug", action="store_true", help="show tracebacks")
    return parser, commands.choices


def parse(command: str, words: Sequence[str]) -> argparse.Namespace:
    """The arguments of one command; options may stand between the files."""
    rest = list(words)
    rest.remove(command)
    return _built()[1][command].parse_intermixed_args(rest)


def _pipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--source", metavar="ID", default="", help="the component to start from, where the file has several sources"
    )
    parser.add_argument(
        "--set",
        metavar="ID.KEY=VALUE",
        action="append",
        default=[],
        help="change the config of a component for this run; VALUE is JSON, or else a text; may be given again",
    )
    parser.add_argument(
        "--env", metavar="FILE", help="NAME=value lines for ${ROCKETRIDE_…}; they win over .env and the environment"
    )


def _run(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Every file is one object. A folder stands for all files in it that are not hidden, - for standard input."
    )
    parser.add_argument("pipe", metavar="PIPE", help="a .pipe file")
    parser.add_argument(
        "inputs", metavar="INPUT", nargs="*", help="files, folders, or -; none for a source that fetches by itself"
    )
    parser.add_argument("--question", metavar="TEXT", action="append", default=[], help="ask this; may be given again")
    _pipe(parser)
    parser.add_argument(
        "--workers", metavar="N", type=_count, default=0, help="objects in work at a time (default: by processor)"
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="limit for each object")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line, each as it finishes")
    _traced(parser)


def _chat(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "On a terminal it prompts; /help shows what can be typed. Else each line of standard input is a question as it stands."
    )
    parser.add_argument("pipe", metavar="PIPE", help="a .pipe file that takes questions and gives answers")
    parser.add_argument("--question", metavar="TEXT", action="append", default=[], help="ask this and end; may be given again")
    parser.add_argument("-i", "--interactive", action="store_true", help="go on with standard input after --question")
    parser.add_argument("--session", metavar="FILE", help="go on with the conversation in this file, and keep it there")
    parser.add_argument(
        "--history", metavar="N", type=_turns, default=50, help="turns of the conversation that go with a question (default: 50)"
    )
    _pipe(parser)
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="limit for each answer")
    parser.add_argument(
        "--stream",
        action=argparse.BooleanOptionalAction,
        help="print words as they come, or whole answers only (default: as they come on a terminal)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line, one for each question")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show thinking where standard error is no terminal too, and what was used"
    )
    _traced(parser)


def _traced(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace",
        metavar="LEVEL",
        choices=["off", "calls", "payloads"],
        default="off",
        help="off, calls or payloads: JSON lines of what runs, to standard error or --trace-to",
    )
    parser.add_argument("--trace-to", metavar="FILE", help="write the trace here")


def _check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pipes", metavar="PIPE", nargs="+", help=".pipe files, or folders of them")
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--probe", action="store_true", help="ask servers and models too: are they there, may we use them?")
    parser.add_argument(
        "--format",
        choices=["text", "json", "sarif"],
        default="text",
        help="text; one JSON object a line, one for each file; or SARIF 2.1.0 for code hosts",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--expand",
        action="store_true",
        help="print the file with the components that others stand for; the report goes to standard error",
    )
    parser.add_argument("--save", metavar="FILE", help="write what --expand prints here")
    _pipe(parser)


def _graph(parser: argparse.ArgumentParser) -> None:
    parser.description = "Any file that can be read is drawn, whatever is installed; its problems are marked where they are."
    parser.add_argument("pipe", metavar="PIPE", help="a .pipe file")
    parser.add_argument(
        "--format", choices=["text", "svg", "mermaid"], help="default: by the ending of --output, else svg with --open, else text"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="write it here: .svg, .mmd, .md (Mermaid in a fence) or .txt"
    )
    parser.add_argument("--open", action="store_true", help="show the svg in the browser")
    _pipe(parser)


def _fmt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pipes", metavar="PIPE", nargs="+", help=".pipe files, folders of them, or - for standard input to output"
    )
    parser.add_argument("--check", action="store_true", help="change nothing; say which files would change, and exit with 1 then")


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = "Exit code 0: it would run; 1: something is missing or wrong; 2: the file cannot be read."
    parser.add_argument("pipe", metavar="PIPE", help="a .pipe file")
    parser.add_argument("--probe", action="store_true", help="ask servers and models too: are they there, may we use them?")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    _pipe(parser)


def _nodes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["list", "show"], nargs="?", default="list", help="list (default), or show NAME")
    parser.add_argument("name", metavar="NAME", nargs="?", help="a provider, as in .pipe files")
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("a number of workers is 0 or more")
    return number


def _turns(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("a number of turns is 0 or more")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError("a limit is more than 0 seconds")
    return number
