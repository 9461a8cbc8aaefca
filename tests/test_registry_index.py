# SPDX-License-Identifier: MIT
"""The cached index: it never says what is no longer so, and losing it costs only time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from rocketride_core import distinfo, index
from rocketride_core.index import Distribution, installed

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import fake_site

A = [("a", "pkg_a:A")]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    fake_site.add(folder, "rocketride-a", nodes=A)
    fake_site.add(folder, "other", requires=())
    fake_site.age(folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The metadata files that were opened."""
    seen: list[str] = []
    real = index._read
    monkeypatch.setattr(index, "_read", lambda file: (seen.append(Path(file).parent.name), real(file))[1])
    return seen


def names(site: Path, cache: Path | None, **more: bool) -> list[str]:
    return sorted(name for one in installed([str(site)], cache, **more) for name, _ in one.nodes)


def test_what_is_read(site: Path, cache: Path) -> None:
    assert installed([str(site)], cache) == [Distribution("rocketride-a", "1.0", ">=0.1,<0.2", A, [])]


def test_a_warm_index_opens_no_metadata(site: Path, cache: Path, reads: list[str]) -> None:
    assert names(site, cache) == ["a"]
    assert reads
    reads.clear()
    assert names(site, cache) == ["a"]
    assert reads == []
    assert names(site, cache, rescan=True) == ["a"]
    assert reads


def test_a_new_distribution_is_seen_and_only_it_is_read(site: Path, cache: Path, reads: list[str]) -> None:
    names(site, cache)
    fake_site.add(site, "rocketride-b", nodes=[("b", "pkg_b:B")])
    reads.clear()
    assert names(site, cache) == ["a", "b"]
    assert set(reads) == {"rocketride_b-1.0.dist-info"}


def test_a_removed_one_is_gone(site: Path, cache: Path) -> None:
    names(site, cache)
    info = site / "rocketride_a-1.0.dist-info"
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
    assert names(site, cache) == []


def test_reinstalled_in_place_with_the_folder_untouched(site: Path, cache: Path) -> None:
    names(site, cache)
    before = site.stat().st_mtime_ns
    fake_site.add(site, "rocketride-a", nodes=[("renamed", "pkg_a:A")])
    assert site.stat().st_mtime_ns == before
    assert names(site, cache) == ["renamed"]


def test_metadata_rewritten_in_place(site: Path, cache: Path) -> None:
    installed([str(site)], cache)
    fake_site.add(site, "rocketride-a", nodes=A, requires=("rocketride-core>=9",))
    assert installed([str(site)], cache)[0].core == ">=9"


def test_a_distribution_that_had_nothing_for_us_gains_an_entry_point(site: Path, cache: Path) -> None:
    names(site, cache)
    points = site / "other-1.0.dist-info" / "entry_points.txt"
    points.unlink()
    points.write_text("[rocketride.nodes]\nother = other:O\n")
    assert names(site, cache) == ["a", "other"]


def test_a_second_change_within_the_tick_of_the_clock(site: Path, cache: Path) -> None:
    points = site / "rocketride_a-1.0.dist-info" / "entry_points.txt"
    now = time.time_ns()
    for name in ("x", "y", "z"):
        points.write_text(f"[rocketride.nodes]\n{name} = pkg_a:A\n")
        for place in (points, points.parent, site):
            os.utime(place, ns=(now, now))
        assert names(site, cache) == [name]


def test_the_first_on_the_path_hides_the_later(tmp_path: Path, cache: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    fake_site.add(first, "rocketride-a", version="2.0", nodes=A)
    fake_site.add(second, "rocketride-a", version="1.0", nodes=[*A, ("gone", "pkg_a:Gone")])
    fake_site.add(second, "rocketride-b", nodes=[("b", "pkg_b:B")])
    found = installed([str(first), str(second), str(first), str(tmp_path / "missing")], cache)
    assert [(one.name, one.version) for one in found] == [("rocketride-a", "2.0"), ("rocketride-b", "1.0")]


def test_what_a_broken_upgrade_left_does_not_count(site: Path, cache: Path) -> None:
    fake_site.add(site, "rocketride-a", version="2.0", nodes=[("new", "pkg_a:A")])
    (site / "~ocketride_a-1.0.dist-info").mkdir()
    assert [(one.version, one.nodes) for one in installed([str(site)], cache)] == [("2.0", [("new", "pkg_a:A")])]


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"format": 1}', "null", '{"format": 1, "place": "PLACE", "stamp": 3, "scanned": "x", "rows": [1]}']
)
def test_a_damaged_index_is_made_anew(site: Path, cache: Path, damage: str) -> None:
    names(site, cache)
    [file] = cache.iterdir()
    whole = json.loads(file.read_text())
    file.write_text(damage.replace("PLACE", str(site)))
    assert names(site, cache) == ["a"]
    again = json.loads(file.read_text())
    assert (again["rows"], again["stamp"]) == (whole["rows"], whole["stamp"])


def test_an_index_of_another_folder_or_format_is_not_believed(site: Path, cache: Path) -> None:
    names(site, cache)
    [file] = cache.iterdir()
    for key, value in (("place", "elsewhere"), ("format", 99)):
        data = json.loads(file.read_text())
        data[key] = value
        data["rows"] = []
        file.write_text(json.dumps(data))
        assert names(site, cache) == ["a"]


def test_a_cache_that_cannot_be_written_is_no_error(site: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert names(site, blocked / "cache") == ["a"]
    assert names(site, None) == ["a"]
    assert blocked.read_text() == "not a folder"


def test_a_folder_without_distributions_leaves_no_file(tmp_path: Path, cache: Path) -> None:
    assert installed([str(tmp_path)], cache) == []
    assert not cache.exists()


def test_entry_points_files_of_all_kinds() -> None:
    text = "# c\n[console_scripts]\nx=y:z\n\n[ rocketride.nodes ]\n; c\na = p : A\nb=p.q:B.C [extra]\n"
    found = distinfo.entry_points(f"{text}[rocketride.plugins]\ng = p\nbroken line\n")
    assert found == {"rocketride.nodes": [("a", "p:A"), ("b", "p.q:B.C")], "rocketride.plugins": [("g", "p")]}


def test_egg_info_folders(tmp_path: Path, cache: Path) -> None:
    egg = tmp_path / "src" / "rocketride_old.egg-info"
    egg.mkdir(parents=True)
    (egg / "PKG-INFO").write_text("Name: rocketride-old\nVersion: 3\nRequires-Dist: rocketride_core (>=0.1)\n\nx\n")
    (egg / "entry_points.txt").write_text("[rocketride.nodes]\nold = old:Old\n")
    assert installed([str(egg.parent)], cache) == [Distribution("rocketride-old", "3", ">=0.1", [("old", "old:Old")], [])]


def test_archives_on_the_path(site: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "app.pyz"
    with zipfile.ZipFile(archive, "w") as out:
        for file in (site / "rocketride_a-1.0.dist-info").iterdir():
            out.write(file, f"rocketride_a-1.0.dist-info/{file.name}")
    os.utime(archive, (time.time() - 99, time.time() - 99))
    expected = [Distribution("rocketride-a", "1.0", ">=0.1,<0.2", A, [])]
    assert installed([str(archive)], cache) == expected
    monkeypatch.setattr(index, "_odd_rows", lambda place: pytest.fail("the warm path opened the archive"))
    assert installed([str(archive)], cache) == expected
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 nothing")
    monkeypatch.undo()
    assert installed([str(broken), str(site)], cache) == expected


def test_the_same_as_importlib_metadata_says_of_this_environment(cache: Path) -> None:
    import importlib.metadata

    found = installed(sys.path, cache)
    for group, ours in (
        ("rocketride.nodes", [one.nodes for one in found]),
        ("rocketride.plugins", [one.plugins for one in found]),
    ):
        theirs = {(point.name, point.value) for point in importlib.metadata.entry_points(group=group)}
        assert {point for points in ours for point in points} == theirs


def test_many_processes_at_once(tmp_path: Path, cache: Path) -> None:
    site = fake_site.fill(tmp_path / "site", 40, 10)
    code = (
        "import sys; from pathlib import Path; from rocketride_core.index import installed\n"
        "for n in range(25):\n"
        "    assert len(installed([sys.argv[1]], Path(sys.argv[2]), rescan=n % 2 == 0)) == 40\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(site), str(cache)]) for _ in range(4)]
    assert [one.wait(120) for one in running] == [0, 0, 0, 0]
    [file] = cache.iterdir()
    assert len(json.loads(file.read_text())["rows"]) == 50


@pytest.mark.parametrize(
    ("core", "version", "fits"),
    [
        ("", "0.1.0", True),
        (">=0.1,<0.2", "0.1.0", True),
        (">=0.1,<0.2", "0.1.9.post1", True),
        (">=0.1,<0.2", "0.2.0", False),
        (">=0.1,<0.2", "0.2.0rc1", False),
        (">=0.1,<0.2", "0.2.dev4", False),
        (">=0.1,<0.2", "0.0.9", False),
        (">=0.1,<0.2", "0.1.0rc1", False),
        (">=0.1rc1", "0.1.0rc2.dev1", True),
        (">=0.10", "0.9", False),
        ("~=0.1", "0.9", True),
        ("~=0.1.2", "0.1.1", False),
        ("~=0.1.2", "0.2", False),
        ("==0.1.*", "0.1.7", True),
        ("==0.1.*", "0.2", False),
        ("!=0.1.*", "0.1.7", False),
        ("==0.1", "0.1.0", True),
        ("==0.1", "0.1.0+local.2", True),
        (">0.1", "0.1.1", True),
        ("<=0.1", "0.1.1", False),
        ("===weird", "0.1", True),
        (">=not a version", "0.1", True),
    ],
)
def test_ranges_of_core(core: str, version: str, fits: bool) -> None:
    assert distinfo.fits(core, version) is fits


@pytest.mark.parametrize(
    ("line", "core"),
    [
        ("rocketride-core>=0.1,<0.2", ">=0.1,<0.2"),
        ("rocketride_core (>=0.1, <0.2)", ">=0.1,<0.2"),
        ("RocketRide-Core[testing] >=0.1", ">=0.1"),
        ("rocketride-core", ""),
        ("rocketride-core-extras>=3", ""),
        ("rocketride-core>=3 ; extra == 'x'", ""),
    ],
)
def test_requirement_lines(line: str, core: str) -> None:
    headers = f"Name: n\nVersion: 1\nRequires-Dist: {line}\n"
    facts = distinfo.facts("[rocketride.nodes]\na = p:A\n", lambda: headers, "n-1.dist-info")
    assert facts is not None
    assert facts[2] == core


def test_the_cache_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert index.cache_folder() == tmp_path / "rocketride-core"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert index.cache_folder() is None
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert index.cache_folder() == tmp_path / "local" / "rocketride-core"
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert index.cache_folder() == tmp_path / "Library" / "Caches" / "rocketride-core"
