# SPDX-License-Identifier: MIT
"""Where the parser puts what is too large for a pipe: a folder for one object, gone with the last blob made of it."""

import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

from rocketride_core import Blob


class Folder:
    """A temporary folder. Files that `blob` made a blob of live as long as that; `close` removes all others."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="rocketride-parse-"))
        self._held: set[str] = set()

    def blob(self, content: bytes | Path, *, name: str, mime_type: str) -> Blob:
        """A blob of bytes, or of a file in the folder."""
        blob = Blob.of(content, name=name, mime_type=mime_type)
        if isinstance(content, Path):
            self._held.add(content.name)
            weakref.finalize(blob, _drop, content)
        return blob

    def close(self) -> None:
        """Remove what no blob was made of; to be called once."""
        if not self._held:
            shutil.rmtree(self.path, ignore_errors=True)
            return
        for path in self.path.iterdir():
            if path.name not in self._held:
                path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()


def _drop(path: Path) -> None:
    path.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()
