# SPDX-License-Identifier: MIT
"""Whatever bytes a file has: problems, never another exception, and neither time nor memory out of hand."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodes import alone

from rocketride_core import PipeError
from rocketride_core.pipefile import dump_pipe, parse_pipe, read_pipe

MB = 1 << 20
KERNEL = alone()

NAMES = st.sampled_from(
    ["start", "do", "respond", "keeper", "response", "anonymize", "", "a", "b", "qdrant", "é\ud800"]
) | st.text(max_size=6)
LINKS = st.lists(
    st.fixed_dictionaries({}, optional={"lane": NAMES, "classType": NAMES, "from": NAMES, "branch": st.integers()})
    | st.integers(),
    max_size=4,
)
ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["${ROCKETRIDE_A:-${ROCKETRIDE_B}}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES | st.sampled_from(["profile", "parameters", "default", "a.b"]), inner, max_size=4)
    ),
    max_leaves=8,
)
COMPONENTS = st.fixed_dictionaries(
    {},
    optional={
        "id": NAMES,
        "provider": NAMES,
        "config": ANY,
        "input": LINKS | ANY,
        "control": LINKS | ANY,
        "name": ANY,
        "profile": ANY,
    },
)
FILES = st.fixed_dictionaries(
    {"components": st.lists(COMPONENTS | ANY, max_size=6)},
    optional={"source": NAMES | ANY, "version": ANY, "project_id": ANY, "nodes": ANY},
)


def load(data: bytes | str) -> None:
    pipe, problems = parse_pipe(data)
    assert all(p.path.startswith("$") and p.code and p.message for p in problems)
    if pipe.components:
        KERNEL.check(pipe)
    if not any(p.severity == "error" for p in problems):
        assert parse_pipe(dump_pipe(pipe))[0] == pipe


@settings(max_examples=300, deadline=None)
@given(FILES, st.integers(0, 3))
def test_files_of_every_form(body: dict[str, Any], wraps: int) -> None:
    for _ in range(wraps):
        body = {"pipeline": body}
    load(json.dumps(body))


@settings(max_examples=200, deadline=None)
@given(FILES, st.binary(max_size=6), st.integers(0, 400))
def test_damaged_files(body: dict[str, Any], junk: bytes, at: int) -> None:
    data = json.dumps(body).encode()
    load(data[:at] + junk + data[at + len(junk) :])
    load(data[:at])


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_read_pipe_raises_pipe_error_alone(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.pipe"
    file.write_bytes(data)
    with suppress(PipeError):
        read_pipe(file)


def many(head: str, unit: Callable[[int], str], tail: str) -> str:
    out, size, n = [], len(head) + len(tail), 0
    while size < MB - 100:
        out.append(unit(n))
        size += len(out[-1]) + 1
        n += 1
    return head + ",".join(out) + tail


COMPS = '{"components":['
ONE = COMPS + '{"id":"a","provider":"prompt","config":{'
LONG = "k" * 2000
HUGE: dict[str, Callable[[], str]] = {
    "numbers for components": lambda: many(COMPS, lambda n: "1", "]}"),
    "empty components": lambda: many(COMPS, lambda n: "{}", "]}"),
    "many components": lambda: many(COMPS, lambda n: f'{{"id":"a{n}","provider":"chat","config":{{}}}}', "]}"),
    "one id": lambda: many(COMPS, lambda n: '{"id":"a","provider":"chat","config":{}}', "]}"),
    "unknown providers": lambda: many(
        COMPS, lambda n: f'{{"id":"a{n}","provider":"z{n}","config":{{}},"input":[{{"lane":"t","from":"a{n + 1}"}}]}}', "]}"
    ),
    "dangling links": lambda: many(ONE + '},"input":[', lambda n: f'{{"lane":"text","from":"z{n}"}}', "]}]}"),
    "wrong links": lambda: many(ONE + '},"input":[', lambda n: "1", "]}]}"),
    "a long id with wrong links": lambda: (
        f'{{"components":[{{"id":"{"x" * (MB // 2)}","provider":"p","config":{{}},"input":[' + "1," * (MB // 5) + "]}]}"
    ),
    "a long provider": lambda: f'{{"components":[{{"id":"a","provider":"{"x" * (MB - 100)}","config":{{}}}}]}}',
    "many keys": lambda: many(ONE, lambda n: f'"instrctions{n}":1', "}}]}"),
    "a wrong list": lambda: many(ONE + '"instructions":[', lambda n: "1", "]}}]}"),
    "long keys, deep": lambda: ONE + '"x":' + f'{{"{LONG}":' * 150 + "[" + "1," * 300000 + "1]" + "}" * 150 + "}}]}",
    "a long key": lambda: ONE + f'"{"k" * (MB // 2)}":{{' + ",".join(f'"a{n}":1' for n in range(40000)) + "}}}]}",
    "open brackets": lambda: "[" * MB,
    "open wrappers": lambda: '{"pipeline":' * 80000,
    "comments": lambda: "/*" * (MB // 2),
    "line comments": lambda: '{"a":1,' + "//\n" * (MB // 3) + "}",
    "commas": lambda: COMPS + "," * (MB - 30) + "]}",
    "quotes": lambda: '{"a":"' + '\\"' * (MB // 2),
    "a long number": lambda: '{"a":' + "9" * (MB - 10) + "}",
    "a long fraction": lambda: '{"a":0.' + "9" * (MB - 10) + "}",
    "duplicate keys": lambda: many("{", lambda n: '"a":1', "}"),
    "lone surrogates": lambda: many('{"components":[],"x":[', lambda n: '"\\ud800"', "]}"),
    "something else": lambda: "a: b\n" * (MB // 5),
    "variables": lambda: many(ONE + '"instructions":[', lambda n: f'"${{ROCKETRIDE_A{n}}}"', "]}}]}"),
    "braces": lambda: ONE + '"instructions":"' + "${ROCKETRIDE_A:-" * 60000 + '"}}]}',
}
LIMIT = """
import resource, sys, time
from rocketride_core.pipefile import parse_pipe
import difflib
data = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
parse_pipe(data, "x.pipe")
print(time.process_time() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
@pytest.mark.parametrize("name", HUGE)
def test_a_megabyte_costs_less_than_a_second_and_100_mb(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", LIMIT], input=HUGE[name]().encode(), capture_output=True, check=True)
    seconds, megabytes = map(float, done.stdout.split())
    assert seconds < 1
    assert megabytes < 100


@pytest.mark.parametrize(
    "name", ["many keys", "a wrong list", "long keys, deep", "a long key", "a long provider", "unknown providers"]
)
def test_checking_does_not_explode_either(name: str) -> None:
    """An eighth of a megabyte: what grows with the square shows all the same."""
    from unittest.mock import patch

    with patch(f"{__name__}.MB", MB // 8):
        pipe, _ = parse_pipe(HUGE[name]())
    start = time.process_time()
    KERNEL.check(pipe)
    assert time.process_time() - start < 1.5


@pytest.mark.slow
def test_thirty_seconds_of_mutations() -> None:
    """Pieces of faulty files cut, mixed and damaged by chance."""
    seeds = [path.read_bytes() for path in sorted((Path(__file__).parent / "faulty").iterdir())]
    end = time.monotonic() + 30
    import random

    dice = random.Random(11)
    runs = 0
    while time.monotonic() < end:
        data = bytearray(dice.choice(seeds))
        for _ in range(dice.randint(1, 8)):
            at, other = dice.randrange(len(data)), dice.choice(seeds)
            cut = dice.randrange(len(other))
            data[at : at + dice.choice([0, 1, 8])] = dice.choice(
                [bytes([dice.randrange(256)]), other[cut : cut + dice.randrange(40)], b"\\u", b"[", b"{"]
            )
        load(bytes(data))
        runs += 1
    assert runs > 100
