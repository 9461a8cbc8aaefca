# SPDX-License-Identifier: MIT
"""Tesseract: the program, and the same engine inside the library tesserocr."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from .errors import OcrError, OcrTimeLimit
from .words import OnCancel, Word

if TYPE_CHECKING:
    from PIL.Image import Image

_WORD = 5


def installed_languages() -> list[str]:
    """The language data that the program finds; none where there is no such program."""
    program = shutil.which("tesseract")
    if program is None:
        return []
    done = subprocess.run([program, "--list-langs"], capture_output=True, text=True, timeout=30, check=False)
    return [line.strip() for line in (done.stdout or done.stderr).splitlines()[1:] if line.strip()]


def data_folder() -> str:
    """Where Tesseract's language data lie: TESSDATA_PREFIX, or where Linux distributions put them; "" when not found."""
    places = [
        os.environ.get("TESSDATA_PREFIX", ""),
        *sorted(map(str, Path("/usr/share/tesseract-ocr").glob("*/tessdata")), reverse=True),
    ]
    places += ["/usr/share/tessdata", "/usr/local/share/tessdata", "/opt/homebrew/share/tessdata"]
    return next((place for place in places if place and any(Path(place).glob("*.traineddata"))), "")


def data_languages(folder: str) -> list[str]:
    """The language data in a folder; those of scripts with their subfolder."""
    root = Path(folder)
    return [path.relative_to(root).with_suffix("").as_posix() for path in root.glob("**/*.traineddata")]


def words_of(tsv: str) -> list[Word]:
    """The words of Tesseract's table: level, page, block, paragraph, line, word, box, confidence in percent, text."""
    found = []
    for line in tsv.splitlines():
        cells = line.split("\t")
        if len(cells) < 12 or cells[0] != str(_WORD) or not cells[11].strip():
            continue
        left, top, width, height = map(int, cells[6:10])
        place = (int(cells[2]), int(cells[3]), int(cells[4]))
        found.append(Word(cells[11].strip(), left, top, left + width, top + height, float(cells[10]) / 100, place))
    return found


class Program:
    """The program `tesseract`: a process an image, which a time limit or a cancel ends."""

    name = "tesseract"

    def __init__(self, languages: str) -> None:
        self.languages = languages

    def read(self, image: Image, *, seconds: float, on_cancel: OnCancel) -> list[Word]:
        content = io.BytesIO()
        image.save(content, "PPM")
        command = ["tesseract", "stdin", "stdout", "-l", self.languages, "-c", "tessedit_create_tsv=1"]
        # One thread each: a worker reads an image, and their threads together would be slower than they are apart.
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
        try:
            with on_cancel(process.kill):
                output, said = process.communicate(content.getvalue(), timeout=seconds)
        except subprocess.TimeoutExpired:
            raise OcrTimeLimit(
                f"not read within {seconds:.3g} s; raise max_seconds, or the object's limit, if it is worth the wait"
            ) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode:
            lines = said.decode("utf-8", "replace").strip().splitlines() or [f"exit status {process.returncode}"]
            raise OcrError(f"tesseract failed: {lines[-1]}")
        return words_of(output.decode("utf-8", "replace"))

    def close(self) -> None:
        """Nothing is held."""


class Library:
    """The library tesserocr: the engine in this process. An engine belongs to one thread at a time; idle ones are kept."""

    name = "tesserocr"

    def __init__(self, languages: str) -> None:
        self.languages = languages
        self._lock = Lock()
        self._idle: list[Any] = []

    def read(self, image: Image, *, seconds: float, on_cancel: OnCancel) -> list[Word]:
        api = self._engine()
        try:
            api.SetImage(image)
            done = api.Recognize(int(seconds * 1000))
            found = words_of(api.GetTSVText(0)) if done else []
            api.Clear()
        except RuntimeError as error:
            raise OcrError(f"tesserocr failed: {error}") from error
        finally:
            with self._lock:
                self._idle.append(api)
        if not done:
            raise OcrTimeLimit(
                f"not read within {seconds:.3g} s; raise max_seconds, or the object's limit, if it is worth the wait"
            )
        return found

    def _engine(self) -> Any:
        with self._lock, suppress(IndexError):
            return self._idle.pop()
        import tesserocr

        return tesserocr.PyTessBaseAPI(path=data_folder(), lang=self.languages)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().End()
