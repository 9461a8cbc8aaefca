# SPDX-License-Identifier: MIT
"""Blobs: bytes by reference, readers of their own, spooling, and files that go with the last reference."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from rocketride_core import Blob, RunError
from rocketride_core.blob import SPOOL_ABOVE


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary files are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def pieces(size: int, piece: int = 1 << 20) -> Iterator[bytes]:
    while size > 0:
        yield b"x" * min(piece, size)
        size -= piece


def test_bytes_stay_in_memory(spool: Path) -> None:
    blob = Blob.of(b"abc", mime_type="text/plain", name="a.txt")
    assert (blob.size, blob.mime_type, blob.name, blob.metadata, blob.read()) == (3, "text/plain", "a.txt", {}, b"abc")
    assert list(spool.iterdir()) == []


def test_a_buffer_is_copied_once_and_then_immutable() -> None:
    data: Any = bytearray(b"abc")
    part: Any = memoryview(data)[1:]
    blob, view = Blob.of(data), Blob.of(part)
    data[1] = 0
    assert blob.read() == b"abc"
    assert view.read() == b"bc"


def test_bytes_are_not_copied() -> None:
    data = b"x" * 1000
    assert Blob.of(data).read() is data


def test_every_reader_starts_at_the_beginning_and_seeks(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"abcdef")
    for blob in (Blob.of(b"abcdef"), Blob.of(file), Blob.of(iter([b"abc", b"def"]))):
        with blob.open() as one, blob.open() as two:
            assert one.read(3) == b"abc"
            assert two.read() == b"abcdef"
            one.seek(1)
            assert one.read() == b"bcdef"


def test_a_file_is_a_reference(tmp_path: Path, spool: Path) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(b"%PDF")
    blob = Blob.of(file, mime_type="application/pdf")
    assert (blob.size, blob.name) == (4, "report.pdf")
    with blob.path() as path:
        assert path == file
    del blob
    gc.collect()
    assert file.exists()


def test_a_blob_in_memory_lends_a_file_for_a_while(spool: Path) -> None:
    blob = Blob.of(b"abc", name="a.txt")
    with blob.path() as one, blob.path() as two:
        assert one != two
        assert one.suffix == ".txt"
        code = "import sys; sys.stdout.write(open(sys.argv[1]).read())"
        assert subprocess.run([sys.executable, "-c", code, str(one)], capture_output=True, check=True).stdout == b"abc"
    assert list(spool.iterdir()) == []


def test_a_lent_file_goes_when_the_block_fails(spool: Path) -> None:
    with pytest.raises(LookupError), Blob.of(b"abc").path():
        raise LookupError
    assert list(spool.iterdir()) == []


def test_pieces_up_to_eight_mebibytes_stay_in_memory(spool: Path) -> None:
    blob = Blob.of(pieces(SPOOL_ABOVE))
    assert blob.size == SPOOL_ABOVE
    assert list(spool.iterdir()) == []
    assert blob.read() == b"x" * SPOOL_ABOVE


def test_larger_ones_go_to_a_file_that_goes_with_the_last_reference(spool: Path) -> None:
    blob = Blob.of(pieces(SPOOL_ABOVE + 1), name="big.bin")
    (file,) = spool.iterdir()
    assert file.suffix == ".bin"
    assert blob.size == file.stat().st_size == SPOOL_ABOVE + 1
    with blob.path() as path:
        assert path == file
    again = blob
    del blob
    gc.collect()
    assert file.exists()
    with again.open() as reader:
        del again
        gc.collect()
        assert len(reader.read()) == SPOOL_ABOVE + 1
    assert not file.exists()


def test_pieces_that_break_off_leave_no_file(spool: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield from pieces(SPOOL_ABOVE + 100)
        raise ConnectionError("the upload broke off")

    with pytest.raises(ConnectionError, match="broke off"):
        Blob.of(broken())
    assert list(spool.iterdir()) == []


def test_a_disk_that_is_full_leaves_no_file(spool: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fdopen

    def full(*args: Any, **kwargs: Any) -> Any:
        opened = real(*args, **kwargs)
        if "w" in str(args[1:]):

            class Full:
                def __enter__(self) -> Self:
                    return self

                def __exit__(self, *_: object) -> None:
                    opened.close()

                def write(self, _: bytes) -> int:
                    raise OSError(28, "No space left on device")

            return Full()
        return opened

    monkeypatch.setattr("rocketride_core.blob.os.fdopen", full)
    with pytest.raises(OSError, match="No space left"):
        Blob.of(pieces(SPOOL_ABOVE + 100))
    assert list(spool.iterdir()) == []


def test_reading_more_than_the_limit_is_refused_in_words() -> None:
    with pytest.raises(RunError, match=r"a\.bin has 11 bytes, more than the limit of 10; use open\(\) or path\(\)"):
        Blob.of(b"x" * 11, name="a.bin").read(10)
    assert Blob.of(b"x" * 10).read(10) == b"x" * 10


def test_wrong_things_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"wrap the name in Path\(\.\.\.\)"):
        Blob.of("a.txt")  # type: ignore[arg-type]
    with pytest.raises(IsADirectoryError, match="is a folder"):
        Blob.of(tmp_path)
    with pytest.raises(FileNotFoundError):
        Blob.of(tmp_path / "none")


def test_many_threads_may_read_one_blob(spool: Path) -> None:
    blob = Blob.of(pieces(SPOOL_ABOVE + 5))
    sizes: list[int] = []

    def read() -> None:
        with blob.open() as reader:
            sizes.append(sum(len(chunk) for chunk in iter(lambda: reader.read(1 << 16), b"")))

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sizes == [blob.size] * 6


def test_a_name_does_not_lead_out_of_the_folder(spool: Path) -> None:
    with Blob.of(b"x", name="../../etc/passwd.txt").path() as path:
        assert path.parent == spool


def test_its_repr_shows_no_content() -> None:
    assert repr(Blob.of(b"secret", mime_type="text/plain", name="a.txt")) == "<Blob 'a.txt' text/plain, 6 bytes>"
