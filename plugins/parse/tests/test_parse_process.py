# SPDX-License-Identifier: MIT
"""The parser process: limits, crashes, cancelling, and nothing left behind."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rocketride_parse.errors import Damaged, MemoryLimit, ParseCancelled, ParseError, ParserCrashed, TimeLimit
from rocketride_parse.parts import Text
from rocketride_parse.process import Parser

MEMORY = 512 << 20
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def parser():
    with Parser(MEMORY) as parser:
        yield parser


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_text("A small text.")
    return path


def texts(parts: list[object]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Text)]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_one_process_serves_many_files(parser, small, make, tmp_path):
    assert parser.pid is None, "started at first use"
    pids = set()
    for path in [small, make["pdf"](tmp_path / "a.pdf"), make["docx"](tmp_path / "a.docx"), small]:
        assert texts(parser.parse(path, name=path.name))
        pids.add(parser.pid)
    assert len(pids) == 1


def test_same_parts_as_without_a_process(parser, make, tmp_path):
    from rocketride_parse.formats import parse

    for kind, maker in make.items():
        path = maker(tmp_path / f"a.{kind}")
        assert parser.parse(path, name=path.name) == list(parse(path))


def test_errors_come_back_as_they_are_and_the_process_goes_on(parser, small, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    parser.parse(small, name="small.txt")
    pid = parser.pid
    with pytest.raises(Damaged, match=r"^the name I gave: damaged"):
        parser.parse(broken, name="the name I gave", mime_type="application/json")
    assert texts(parser.parse(small, name="small.txt")) == ["A small text."]
    assert parser.pid == pid


def test_slow_file_hits_the_time_limit_alone(parser, slow_xlsx, small):
    began = time.monotonic()
    with pytest.raises(TimeLimit, match=r"^slow\.xlsx: not parsed within 1 s; raise max_seconds"):
        parser.parse(slow_xlsx, name="slow.xlsx", seconds=1)
    assert time.monotonic() - began < 8
    assert texts(parser.parse(small, name="small.txt")) == ["A small text."]


def test_parser_that_hangs_is_killed(parser, small):
    parser.parse(small, name="small.txt")
    pid = parser.pid
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(TimeLimit):
        parser.parse(small, name="hangs.txt", seconds=0.5)
    assert not alive(pid)
    assert texts(parser.parse(small, name="small.txt")) == ["A small text."]


@pytest.mark.parametrize("deadly", [signal.SIGSEGV, signal.SIGKILL])
def test_parser_that_dies_fails_its_file_alone(parser, slow_xlsx, small, deadly):
    parser.parse(small, name="small.txt")
    timer = threading.Timer(0.3, os.kill, [parser.pid, deadly])
    timer.start()
    with pytest.raises(ParserCrashed, match=rf"^slow\.xlsx: the parser process died on it \({deadly.name}\)"):
        parser.parse(slow_xlsx, name="slow.xlsx")
    timer.join()
    assert texts(parser.parse(small, name="small.txt")) == ["A small text."]


def test_parser_that_died_idle_is_replaced(parser, small):
    parser.parse(small, name="small.txt")
    pid = parser.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert texts(parser.parse(small, name="small.txt")) == ["A small text."]
    assert parser.pid != pid


def test_cancel_from_another_thread(parser, slow_xlsx, small):
    timer = threading.Timer(0.3, parser.kill)
    timer.start()
    with pytest.raises(ParseCancelled, match=r"^slow\.xlsx: cancelled"):
        parser.parse(slow_xlsx, name="slow.xlsx")
    timer.join()
    with pytest.raises(ParseCancelled):
        parser.parse(slow_xlsx, name="slow.xlsx", cancelled=lambda: True)
    parser.kill()
    assert texts(parser.parse(small, name="small.txt")) == ["A small text."], "a kill while idle harms nothing"


@linux
@pytest.mark.slow
def test_memory_limit(bomb_docx, small):
    with Parser(200 << 20) as parser:
        for _ in range(2):
            with pytest.raises(MemoryLimit, match=r"^bomb\.docx: needs more than the 200 MiB that max_memory allows"):
                parser.parse(bomb_docx, name="bomb.docx")
            assert texts(parser.parse(small, name="small.txt")) == ["A small text."]


@linux
@pytest.mark.slow
def test_a_file_after_large_ones_has_the_whole_budget(tmp_path):
    big = tmp_path / "big.txt"
    big.write_text("word and another word\n" * 700_000)
    with Parser(200 << 20) as parser:
        for _ in range(4):
            assert len(texts(parser.parse(big, name="big.txt"))) == 1


@pytest.mark.slow
def test_many_files_leave_no_process_or_descriptor(small, make, tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing")
    files = [small, make["pdf"](tmp_path / "a.pdf"), make["docx"](tmp_path / "a.docx"), broken, make["pptx"](tmp_path / "a.pptx")]
    with Parser(MEMORY) as parser:
        parser.parse(small, name="small.txt")
    before, began = descriptors(), children()
    threads = threading.active_count()
    with Parser(MEMORY) as parser:
        for number in range(400):
            path = files[number % len(files)]
            try:
                parser.parse(path, name=path.name)
            except ParseError:
                assert path is broken
            if number in (20, 40, 60):
                os.kill(parser.pid, signal.SIGSTOP)
                with pytest.raises(TimeLimit):
                    parser.parse(small, name="small.txt", seconds=0.1)
            if number == 70:
                first = descriptors(parser.pid)
            if number == 180:
                settled = resident(parser.pid)
        assert descriptors(parser.pid) <= first + 1
        assert resident(parser.pid) < settled + (8 << 20), "no file leaves anything in the process"
        assert len(children()) == len(began) + 1
    gc.collect()
    assert descriptors() == before
    assert children() == began
    assert threading.active_count() <= threads + 1


def test_process_ends_with_its_owner(slow_xlsx):
    code = (
        "import os, sys, pathlib; from rocketride_parse.process import Parser\n"
        "parser = Parser(512 << 20); path = pathlib.Path(sys.argv[1]); small = path.with_name('s.txt'); small.write_text('x')\n"
        "parser.parse(small, name='s'); print(parser.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(slow_xlsx)], capture_output=True, text=True, check=True, timeout=60)
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


def test_files_of_the_working_directory_are_not_imported(small, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the working directory')")
    monkeypatch.chdir(tmp_path)
    with Parser(MEMORY) as parser:
        assert texts(parser.parse(small, name="small.txt")) == ["A small text."]


def descriptors(pid: int | None = None) -> int:
    folder = Path("/proc", str(pid or os.getpid()), "fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def resident(pid: int) -> int:
    """Bytes of memory in use."""
    path = Path(f"/proc/{pid}/statm")
    return int(path.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if path.exists() else 0


def children() -> set[str]:
    path = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(path.read_text().split()) if path.exists() else set()
