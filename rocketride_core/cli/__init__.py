# SPDX-License-Identifier: MIT
"""The command line: `rocketride-core`.

Exit codes: 0 all good, 1 an object failed or was left undone, 2 a wrong file, installation or usage, 130 stopped at once.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .arguments import COMMANDS, PROGRAM, Usage, build, parse

__all__ = ["main"]

OK, FAILED, WRONG, STOPPED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters:
        argv: the words after the program's name; `sys.argv[1:]` where it is not given.
    Returns:
        the exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    for stream in (sys.stdout, sys.stderr):
        # A console that cannot show a letter gets a question mark, never a UnicodeEncodeError.
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    try:
        return _dispatch(words)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else (OK if stop.code is None else WRONG)
    except KeyboardInterrupt:
        _say("stopped")
        return STOPPED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # noqa: BLE001 - whatever it is, a person gets a sentence, with --debug the traceback too
        if debug:
            import traceback

            print(_hidden("".join(traceback.format_exception(error)), words), file=sys.stderr)
        return _explain(error, words)


def _hidden(text: str, words: list[str]) -> str:
    """Without the values of variables, which an exception that nobody foresaw may have in its message."""
    import os
    from itertools import pairwise
    from pathlib import Path

    from rocketride_core.variables import Variables, read_dotenv

    values = dict(os.environ)
    for file in (Path(".env"), *(Path(word) for before, word in pairwise(words) if before == "--env")):
        if file.is_file():
            values |= read_dotenv(file)
    variables = Variables()
    for name, value in values.items():
        if name.startswith("ROCKETRIDE_"):
            variables.hide(value)
    return variables.redact(text)


def _dispatch(words: list[str]) -> int:
    words = [word for n, word in enumerate(words) if word != "--debug" or "--" in words[:n]]
    command = next((word for word in words if not word.startswith("-")), "")
    if command in COMMANDS:
        args = parse(command, words)
        if getattr(args, "rescan", False):
            from rocketride_core.registry import Registry

            Registry(rescan=True).listings()
        module = import_module(f"{__name__}.{COMMANDS[command]}")
        return int(module.execute(args))
    if not command or words[0] != command:
        from rocketride_core.registry import Registry

        # `--help` must stay quick whatever is installed: plugins are named, not loaded.
        names = [one.provider for one in Registry().plugin_listings()] if "-h" in words or "--help" in words else []
        build(names).parse_args(words)
        build(names).print_help(sys.stderr)
        return WRONG
    from .extra import execute

    return execute(command, words)


def _explain(error: Exception, words: list[str]) -> int:
    from rocketride_core.errors import PipeError, PluginError, RocketRideError

    if isinstance(error, Usage):
        _say(str(error))
        return WRONG
    if isinstance(error, PipeError):
        from .report import lines

        print("\n".join(lines(error.problems) if error.problems else [str(error)]), file=sys.stderr)
        return WRONG
    if isinstance(error, PluginError):
        _say(str(error))
        return WRONG
    if isinstance(error, RocketRideError):
        from .render import failure

        _say(failure(error))
        return FAILED
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        _say(f"nothing more can be written: {error.strerror}; make room, or write somewhere else")
        return FAILED
    _say(_hidden(f"{type(error).__name__}: {error}\n  this should not happen; --debug shows where it did", words))
    return FAILED


def _say(text: str) -> None:
    print(f"{PROGRAM}: {text}", file=sys.stderr)


def _reader_left() -> int:
    """`… | head` has seen enough: not an error of ours, and Python must not complain while it shuts down."""
    import os

    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        return FAILED
    finally:
        os.close(null)
    return FAILED
