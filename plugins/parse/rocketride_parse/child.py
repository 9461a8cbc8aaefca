# SPDX-License-Identifier: MIT
"""The parser process: reads requests on standard input, answers on standard output, ends when its input ends."""

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

from .errors import MemoryLimit, ParseError
from .formats import parse
from .parts import File, Media, Part
from .source import Options
from .wire import receive, send, send_part

_ORPHAN_GRACE = 5
_LARGE = 1 << 16


def main(memory: int) -> None:
    """Serve until the node closes the pipe. memory: address space of this process in bytes."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # A native library that prints must not break the frames.
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(memory)
    try:
        while True:
            request, _ = receive(requests)
            _serve(request, answers, memory)
    except (EOFError, BrokenPipeError):
        # Nobody is listening any more, and closing would try to flush once again.
        os._exit(0)


def _serve(request: dict[str, Any], answers: BinaryIO, memory: int) -> None:
    _alarm(float(request["seconds"]) + _ORPHAN_GRACE)
    try:
        options = Options(**request["options"])
        for part in parse(Path(request["path"]), name=request["name"], mime_type=request["mime_type"], options=options):
            send_part(answers, settled(part, options.folder), options.folder)
        outcome = {"end": "ok"}
    except ParseError as error:
        outcome = {"end": error.code, "message": str(error)}
    except OSError as error:  # gone, or not to be read: nothing is wrong with this process
        outcome = {"end": ParseError.code, "message": f"{request['name']}: cannot be read: {error.strerror or error}"}
    except MemoryError:
        message = f"{request['name']}: needs more than the {memory >> 20} MiB that max_memory allows"
        outcome = {"end": MemoryLimit.code, "message": message}
    _alarm(0)
    send(answers, {**outcome, "retire": _size() > memory // 2})


def settled(part: Part, folder: str) -> Part:
    """The part, its content in the folder when it is large."""
    if not isinstance(part, Media | File) or isinstance(part.content, Path) or len(part.content) <= _LARGE or not folder:
        return part
    handle, place = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.write(part.content)
    return part._replace(content=Path(place))


def _alarm(seconds: float) -> None:
    """The node kills a slow parser; this ends it when the node itself is gone."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _limit(memory: int) -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (memory if hard == resource.RLIM_INFINITY else min(memory, hard), hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _size() -> int:
    """Address space in use, in bytes; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
