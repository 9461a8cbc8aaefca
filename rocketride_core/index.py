# SPDX-License-Identifier: MIT
"""What is installed, read without importing it, and remembered between processes.

For every folder of `sys.path` the index knows its distributions and their entry points. It is kept as one JSON file a folder in
the user's cache folder, and believed as long as the time stamps of the folder, of every metadata directory in it, and of the
files that were read are those it was made with. Removing or losing the cache costs time, never correctness.

What changes which stamp: installing, removing or upgrading renames metadata directories, so the folder changes; a package
manager that replaces files inside an existing metadata directory changes that directory; an editor that writes into a file
changes the file. A stamp younger than two seconds when it was taken is not believed, because a second change within the clock's
tick would not show.
"""

from __future__ import annotations

import functools
import json
import os
import stat
import sys
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from .distinfo import facts

__all__ = ["Distribution", "cache_folder", "installed"]

FORMAT = 1
RACY = 2_000_000_000  # ns; FAT keeps whole even seconds, the coarsest clock of a file system in use
SUFFIXES = (".dist-info", ".egg-info")
POINTS = f"{os.sep}entry_points.txt"
# importlib.metadata knows archives and eggs, but takes 30 ms to import; they are rare, and its answer is kept like the others.
ODD = (".egg", ".zip", ".whl", ".pyz", ".pyzw")


@attrs.frozen
class Distribution:
    """One installed distribution that has something for us.

    Parameters:
        name, version: as its metadata gives them.
        core: the range of core versions it was built for, `>=0.1,<0.2`; "" where it does not say.
        nodes, plugins: entry points of the two groups, `(name, "module:Class")`.
    """

    name: str
    version: str
    core: str
    nodes: Sequence[tuple[str, str]]
    plugins: Sequence[tuple[str, str]]


def cache_folder() -> Path | None:
    """Where this system's users keep caches, with our name; None for a user without a home."""
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return base / "rocketride-core" if base.is_absolute() else None


def installed(path: Iterable[str], cache: Path | None, *, rescan: bool = False) -> list[Distribution]:
    """The distributions of these folders that have entry points of ours; the first of a name on the path hides the later ones.

    Parameters:
        path: as `sys.path`; what does not exist or cannot be read is passed over, as Python does.
        cache: folder of the index; None keeps nothing.
        rescan: read everything anew.
    """
    found: list[Distribution] = []
    seen: set[str] = set()
    # Not resolved: a link to a folder is another folder to Python as well.
    for place in dict.fromkeys(str(Path(entry).absolute()) for entry in path):
        for name, _, known in _rows(place, cache, rescan):
            key = name.removesuffix(SUFFIXES[0]).removesuffix(SUFFIXES[1]).partition("-")[0].lower().replace(".", "_")
            if known and key not in seen:
                own, version, core, nodes, plugins = known
                found.append(Distribution(own, version, core, [(a, b) for a, b in nodes], [(a, b) for a, b in plugins]))
            seen.add(key)
    return found


# A row is [directory name, stamps, facts]: no stamps where they were too young to be believed, and no facts (distinfo.facts)
# where a distribution has nothing for us.
def _rows(place: str, cache: Path | None, rescan: bool) -> list[list[Any]]:
    try:
        status = Path(place).stat()
    except (OSError, ValueError):
        return []
    file = cache / f"index-{zlib.crc32(os.fsencode(place)):08x}.json" if cache else None
    known = None if rescan or file is None else _load(file, place)
    now = time.time_ns()
    odd = not stat.S_ISDIR(status.st_mode) or place.endswith(ODD)
    stamp = [status.st_mtime_ns, status.st_size if odd else 0]
    trusted = known is not None and known["stamp"] == stamp and _settled(stamp[0], known["scanned"])
    if known and odd and trusted:
        return list(known["rows"])
    if odd:
        rows = _odd_rows(place)
    else:
        old: dict[str, list[Any]] = {row[0]: row for row in known["rows"]} if known else {}
        rows = []
        for name in old if trusted else _metadata_names(place):
            row = old.get(name)
            if row is None or not _same(place, row):
                row, trusted = _read_row(place, name, now), False
            rows.append(row)
        if trusted:
            return rows
        # Newest first: of two versions in one folder, the older is what a broken upgrade did not remove.
        rows.sort(key=lambda row: (row[1][:1] or [now], row[0]), reverse=True)
    if file is not None and (rows or known):
        _store(file, {"format": FORMAT, "place": place, "stamp": stamp, "scanned": now, "rows": rows})
    return rows


def _settled(stamp: int, scanned: int) -> bool:
    # A stamp of the future is compared like any other: its clock is not ours.
    return not scanned - RACY < stamp < scanned + RACY


def _metadata_names(place: str) -> Iterator[str]:
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                # pip renames what it is about to remove to ~name.
                if entry.name.endswith(SUFFIXES) and not entry.name.startswith("~"):
                    yield entry.name
    except OSError:
        return


def _stamps(base: str, metadata: str) -> list[int]:
    """Times and sizes of a metadata directory and, where `metadata` names a file, of what was read in it."""
    try:
        status = os.stat(base)  # noqa: PTH116 - a Path takes longer to make than the system call
        if not metadata:
            return [status.st_mtime_ns]
        points, headers = os.stat(base + POINTS), os.stat(metadata)  # noqa: PTH116 - the same
        return [status.st_mtime_ns, points.st_mtime_ns, headers.st_mtime_ns, points.st_size, headers.st_size]
    except OSError:
        return []


def _metadata(base: str) -> str:
    return f"{base}{os.sep}{'METADATA' if base.endswith('.dist-info') else 'PKG-INFO'}"


def _same(place: str, row: list[Any]) -> bool:
    base = f"{place}{os.sep}{row[0]}"
    return bool(row[1]) and _stamps(base, _metadata(base) if row[2] else "") == row[1]


def _read_row(place: str, name: str, now: int) -> list[Any]:
    base = f"{place}{os.sep}{name}"
    metadata = _metadata(base)
    # Stamps are taken before the files are read: a change in between is then seen next time.
    short, stamps = _stamps(base, ""), _stamps(base, metadata)
    known = facts(_read(base + POINTS), lambda: _read(metadata), name)
    stamps = stamps if known else short
    return [name, stamps if all(_settled(stamp, now) for stamp in stamps[:3]) else [], known]


def _read(file: str) -> str:
    try:
        with open(file, "rb", buffering=0) as raw:  # noqa: PTH123 - the same
            return raw.read().decode("utf-8", "replace")
    except OSError:
        return ""


def _odd_rows(place: str) -> list[list[Any]]:
    import importlib.metadata

    rows: list[list[Any]] = []
    try:
        for one in importlib.metadata.distributions(path=[place]):
            headers = one.read_text("METADATA") or one.read_text("PKG-INFO") or ""
            name = str(one.metadata["Name"])
            known = facts(one.read_text("entry_points.txt") or "", functools.partial(str, headers), name)
            rows.append([name.replace("-", "_"), [], known])
    except Exception:  # noqa: BLE001 - a broken archive raises what it likes; it must not hide the other folders
        return []
    return rows


def _load(file: Path, place: str) -> dict[str, Any] | None:
    try:
        data = json.loads(file.read_bytes())
        # Two folders may share a file name; a file of another version of us is made anew.
        if data["format"] != FORMAT or data["place"] != place or not isinstance(data["scanned"], int):
            return None
        for name, stamps, known in data["rows"]:
            if not isinstance(name, str) or not isinstance(stamps, list) or (known is not None and len(known) != 5):
                return None
        return data if isinstance(data["stamp"], list) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _store(file: Path, data: dict[str, Any]) -> None:
    # Written beside and moved into place: a reader sees the old file or the new one, whatever other processes do.
    mine = file.with_name(f"{file.stem}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text(json.dumps(data, separators=(",", ":")), encoding="ascii")
        mine.replace(file)
    except OSError:
        # A read-only or full disk: the next process scans again.
        try:
            mine.unlink(missing_ok=True)
        except OSError:
            return
