# SPDX-License-Identifier: MIT
"""`python -m rocketride_llm.testing --script FILE`: serves a script until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence

from .script import load_script
from .server import ScriptedServer
from .wires import wires


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until SIGINT or SIGTERM; 0 then, 2 where the script or the port is no good."""
    parser = argparse.ArgumentParser(
        prog="python -m rocketride_llm.testing", description="A scripted language model behind a socket."
    )
    parser.add_argument(
        "--script", required=True, metavar="FILE", help="JSON: a list of steps, or an object with steps, rules, repeat"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="the port (default: a free one)")
    parser.add_argument("--key", help="answer 401 to any other key")
    parser.add_argument("--lenient", action="store_true", help="do not refuse requests that the real servers would refuse")
    options = parser.parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        script = load_script(options.script)
        server = ScriptedServer(script, key=options.key, strict=not options.lenient, host=options.host, port=options.port).start()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    for name in wires():
        sys.stdout.write(f"{name}: {server.base_url(name)}\n")
    sys.stdout.flush()
    told = 0
    try:
        while not ended.wait(0.2):
            news = server.unexpected[told:]
            told += len(news)
            sys.stderr.writelines(f"{text}\n" for text in news)
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
