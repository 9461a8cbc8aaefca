# SPDX-License-Identifier: MIT
"""A conversation in the file that keeps it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .arguments import Usage

__all__ = ["USER", "Session"]

VERSION = 1
USER, ASSISTANT = "user", "assistant"


class Session:
    """What was said: (role, text) pairs, oldest first, the roles `user` and `assistant`.

    With a file, every change is written at once: whole, beside the old one, then put in its place. The file is
    `{"version": 1, "history": [{"role": …, "content": …}, …]}`, readable by its owner alone; other keys are kept.

    A file that somebody else has changed since it was read is left alone: from then on this conversation goes to a new file beside
    it. Programs that write at the same moment wait for each other by a lock on the folder.

    Parameters:
        file: where it is kept; None keeps it in memory.

    Raises:
        Usage: the file cannot be read or written, or is no session. It is not touched.
    """

    def __init__(self, file: str | None = None) -> None:
        self.history: list[tuple[str, str]] = []
        self.path: Path | None = None
        self._more: Mapping[str, Any] = {}
        self._known = b""  # the content of the file as we left it
        if file is not None:
            self._open(file)

    @property
    def questions(self) -> Sequence[str]:
        return [text for role, text in self.history if role == USER]

    def recent(self, turns: int) -> Sequence[tuple[str, str]]:
        """The last turns, each with its question and what followed."""
        begins = [place for place, (role, _) in enumerate(self.history) if role == USER][-turns:] if turns else []
        return tuple(self.history[begins[0] :]) if begins else ()

    def add(self, question: str, answer: str) -> str:
        """A turn that went well; as `save`."""
        self.history += [(USER, question), (ASSISTANT, answer)]
        return self.save()

    def clear(self) -> str:
        """Forget everything, in the file too; as `save`."""
        self.history.clear()
        return self.save()

    def save(self) -> str:
        """Write the file, if there is one.

        Returns:
            A sentence where the file was changed by somebody else, and another one was written; else "".
        Raises:
            OSError: it cannot be written; the old one is whole, and the next call tries again.
        """
        if self.path is None:
            return ""
        told = ""
        with _locked(self.path.parent):
            found = self.path.read_bytes() if self.path.exists() else b""
            if found and found != self._known:
                changed, self.path = self.path, _free(self.path)
                told = f"{changed} was changed by another program and is left as it is; this conversation goes on in {self.path}"
            content = self._content()
            _replace(self.path, content)
            self._known = content
        return told

    def _content(self) -> bytes:
        said = [{"role": role, "content": text} for role, text in self.history]
        text = json.dumps({**self._more, "version": VERSION, "history": said}, ensure_ascii=False, indent=1)
        # A lone surrogate, of an argument that is not UTF-8, becomes the escape that JSON has for it.
        return f"{text}\n".encode("utf-8", "backslashreplace")

    def _open(self, file: str) -> None:
        # A link stays one: what it leads to is replaced.
        path = Path(os.path.realpath(file))
        try:
            if path.exists() and not path.is_file():
                raise Usage(f"--session {file}: this is no file")
            if not path.parent.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
                raise Usage(f"--session {file}: no file can be written in {path.parent}; make the folder, or name another one")
            self._known = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise Usage(f"--session {file}: {error.strerror or error}") from error
        self.path = path
        if not self._known.strip():
            return
        try:
            data = json.loads(self._known.decode("utf-8-sig"))
            self.history, self._more = _pairs(data), data
        except (ValueError, RecursionError) as error:
            text = (
                f"--session {file}: this is no session of a chat: {error}; it is left as it is: repair it, or name another file"
            )
            raise Usage(text) from error


def _pairs(data: Any) -> list[tuple[str, str]]:
    if not isinstance(data, dict) or not isinstance(data.get("history"), list):
        raise ValueError('it is JSON, but no object with a list "history"')
    version = data.get("version", VERSION)
    if version != VERSION:
        raise ValueError(f"its version is {version!r}, and this program knows version {VERSION}")
    for number, item in enumerate(data["history"]):
        if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in ("role", "content")):
            raise ValueError(f'history[{number}] is no object with the texts "role" and "content"')
        if item["role"] not in (USER, ASSISTANT):
            raise ValueError(f"history[{number}].role is {item['role']!r}, not user or assistant")
    return [(item["role"], item["content"]) for item in data["history"]]


def _free(path: Path) -> Path:
    number = 2
    while (beside := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists():
        number += 1
    return beside


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone among programs that do the same; without a lock where the system or the file system has none."""
    handle = -1
    try:
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle >= 0:
            os.close(handle)
