# SPDX-License-Identifier: MIT
"""The node's side of a parser process: one a worker, started at first use, replaced after it hung, crashed or grew."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from .errors import MemoryLimit, ParseCancelled, ParseError, ParserCrashed, TimeLimit
from .parts import Part
from .source import DEFAULTS, Options
from .wire import receive, send, to_part

_BOOT = (
    "import json, sys; sys.path += [path for path in json.loads(sys.argv[1]) if path not in sys.path]; "
    "from rocketride_parse.child import main; main(int(sys.argv[2]))"
)
_PATIENCE = 5


class Parser:
    """Parses one file at a time in a process of its own. `parse` belongs to one thread; `kill` may come from any.

    memory: what the process may use, in bytes; also the most that one file may yield.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._served = 0
        self._busy = False
        self._ended_by = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._drop()

    @property
    def pid(self) -> int | None:
        """The running process, if there is one."""
        return self._process.pid if self._process else None

    def kill(self) -> None:
        """Stop the file being parsed, which then raises ParseCancelled; nothing when idle."""
        self._stop("cancelled")

    def parse(
        self,
        path: Path,
        *,
        name: str,
        mime_type: str = "",
        options: Options = DEFAULTS,
        seconds: float = 60.0,
        cancelled: Callable[[], bool] = bool,
    ) -> list[Part]:
        """All parts of a file, or one ParseError: nothing of a file that fails half-way is given out.

        seconds: the time limit for this file, the start of the process included.
        cancelled: asked once `kill` has an effect, for a cancel that came before that.
        """
        deadline = monotonic() + seconds
        request = {"path": str(path), "name": name, "mime_type": mime_type, "options": options._asdict()}
        try:
            return self._once(request, seconds, deadline, cancelled)
        except MemoryLimit:
            if not self._served:
                raise
        # Earlier files may have left the process large; this one gets the whole budget.
        self._drop()
        return self._once(request, seconds, deadline, cancelled)

    def _once(self, request: dict[str, Any], seconds: float, deadline: float, cancelled: Callable[[], bool]) -> list[Part]:
        process = self._running()
        timer = Timer(max(deadline - monotonic(), 0), self._stop, ["time"])
        timer.daemon = True
        with self._lock:
            self._busy, self._ended_by = True, ""
        timer.start()
        if cancelled():
            self.kill()
        try:
            parts, end = self._exchange(process, {**request, "seconds": seconds})
        except (EOFError, OSError) as error:
            self._idle(timer)
            raise self._failure(request["name"], seconds, process) from error
        except BaseException:
            self._idle(timer)
            self._drop()
            raise
        self._idle(timer)
        if end["end"] != MemoryLimit.code:
            self._served += 1
        if end["retire"] and end["end"] != MemoryLimit.code:
            self._drop()
        if end["end"] != "ok":
            raise ParseError.of(end["end"], end["message"])
        return parts

    def _exchange(self, process: subprocess.Popen[bytes], request: dict[str, Any]) -> tuple[list[Part], dict[str, Any]]:
        requests, answers = _pipes(process)
        send(requests, request)
        parts: list[Part] = []
        size = 0
        while True:
            header, payload = receive(answers)
            if "end" in header:
                return parts, header
            size += len(payload)
            if size > self._memory:
                raise MemoryLimit(f"{request['name']}: yields more than the {self._memory >> 20} MiB that max_memory allows")
            parts.append(to_part(header, payload, Path(request["path"]), request["options"]["folder"]))

    def _running(self) -> subprocess.Popen[bytes]:
        process = self._process
        if process is not None and (self._ended_by or process.poll() is not None):
            self._drop()
            process = None
        if process is None:
            paths = json.dumps([path for path in sys.path if path])
            # -P: a file named like a module of the standard library in the working directory must not be imported.
            command = [sys.executable, "-P", "-c", _BOOT, paths, str(self._memory)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            with self._lock:
                self._process, self._served, self._ended_by = process, 0, ""
        return process

    def _stop(self, reason: str) -> None:
        with self._lock:
            if self._busy and self._process is not None and not self._ended_by:
                self._ended_by = reason
                self._process.kill()

    def _idle(self, timer: Timer) -> None:
        timer.cancel()
        with self._lock:
            self._busy = False

    def _failure(self, name: str, seconds: float, process: subprocess.Popen[bytes]) -> ParseError:
        reason = self._ended_by
        if not reason and process.poll() is None:
            process.kill()
        code = process.wait()
        self._drop()
        if reason == "time":
            return TimeLimit(
                f"{name}: not parsed within {seconds:.3g} s; raise max_seconds, or the object's limit, if it is worth the wait"
            )
        if reason:
            return ParseCancelled(f"{name}: cancelled while it was being parsed")
        how = f"exit status {code}"
        if code < 0:
            how = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return ParserCrashed(f"{name}: the parser process died on it ({how}); the file is damaged, or needs more than max_memory")

    def _drop(self) -> None:
        """End the process: politely when idle, since it ends with its input, else by force."""
        with self._lock:
            process, self._process, self._served, self._ended_by = self._process, None, 0, ""
        if process is None:
            return
        for stream in _pipes(process):
            # What was still buffered for a process that has died has nowhere to go.
            with suppress(OSError):
                stream.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[BinaryIO, BinaryIO]:
    return cast("BinaryIO", process.stdin), cast("BinaryIO", process.stdout)
