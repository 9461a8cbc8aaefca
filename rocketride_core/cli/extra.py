# SPDX-License-Identifier: MIT
"""Commands of host plugins (hook `add_commands`). Plugins are imported only for `help` and for a word that is none of ours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from rocketride_core.errors import PluginError

from .arguments import COMMANDS, PROGRAM, Usage, build

__all__ = ["execute"]


@attrs.frozen
class Command:
    name: str
    run: Callable[[Any, Any], int]
    help: str
    arguments: Callable[[Any], None] | None


class Collected:
    """The `Commands` that plugins get."""

    def __init__(self) -> None:
        self.found: dict[str, Command] = {}

    def add(
        self, name: str, run: Callable[[Any, Any], int], /, *, help: str, arguments: Callable[[Any], None] | None = None
    ) -> None:
        """One command: `run(args, kernel)` gives the exit code; `arguments(parser)` adds to its argparse parser.

        Raises:
            PluginError: the name is taken, or does not look like a command.
        """
        if name in COMMANDS or name in self.found:
            raise PluginError(f"a plugin adds the command '{name}', which is there already; it needs another name")
        if not name.replace("-", "").replace("_", "").isalnum() or name.startswith("-"):
            raise PluginError(f"a plugin adds the command {name!r}; a name has letters, digits and - only")
        self.found[name] = Command(name, run, help, arguments)


def execute(command: str | argparse.Namespace, words: Sequence[str] = ()) -> int:
    found = _collect()
    if isinstance(command, argparse.Namespace):
        build().print_help()
        if found:
            width = max(map(len, found))
            print("\ncommands of plugins:")
            print("\n".join(f"  {one.name:{width}}  {one.help}" for one in found.values()))
        return 0
    if command not in found:
        import difflib

        close = difflib.get_close_matches(command, [*COMMANDS, *found], 1)
        raise Usage(f"there is no command '{command}'" + (f"; did you mean {close[0]}?" if close else f"; see {PROGRAM} --help"))
    from rocketride_core.kernel import Kernel

    chosen = found[command]
    parser = argparse.ArgumentParser(f"{PROGRAM} {command}", description=chosen.help)
    if chosen.arguments is not None:
        chosen.arguments(parser)
    rest = list(words)
    rest.remove(command)
    code = chosen.run(parser.parse_args(rest), Kernel())
    sys.stdout.flush()
    return code


def _collect() -> dict[str, Command]:
    import pluggy

    from rocketride_core import hookspecs
    from rocketride_core.registry import Registry

    manager = pluggy.PluginManager("rocketride")
    manager.add_hookspecs(hookspecs)
    for name, plugin in Registry().plugins():
        manager.register(plugin, name)
    commands = Collected()
    manager.hook.add_commands(commands=commands)
    return commands.found
