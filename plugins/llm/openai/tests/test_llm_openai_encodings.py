# SPDX-License-Identifier: MIT
"""Tokens are counted as OpenAI counts them: offline, once for the process, and never for minutes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rocketride_llm_openai import count, encoding_of, encodings

FIGURES = [
    # text, tokens in cl100k_base, tokens in o200k_base
    ("", 0, 0),
    ("hello world", 2, 2),
    ("tiktoken is great!", 6, 6),
    ("antidisestablishmentarianism", 6, 6),
    ("2 + 2 = 4", 7, 7),
    ("お誕生日おめでとう", 9, 8),
]


@pytest.mark.parametrize(("text", "older", "newer"), FIGURES)
def test_published_figures(text: str, older: int, newer: int) -> None:
    assert (count(text, "cl100k_base"), count(text, "o200k_base")) == (older, newer)


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_special_tokens_are_text(name: str) -> None:
    assert count("<|endoftext|>", name) > 1
    assert count("a<|endofprompt|>b", name) > 3


def test_half_a_surrogate_pair_is_counted_too() -> None:
    assert count("a\ud800b", "o200k_base") >= 3


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("run", ["a", " ", "\n", "\t", ".", "\u4e2d", "\U0001f600", " \n"])
def test_a_long_run_of_one_character_takes_seconds_not_minutes(run: str, name: str) -> None:
    """A megabyte of whitespace is what overflows tiktoken's stack."""
    began = time.monotonic()
    length = 1_000_000 if run.isspace() else 300_000
    assert 0 < count(run * (length // len(run)), name) <= 2 * length
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_long_prose_is_counted_exactly(name: str) -> None:
    words = "Once upon a time, in 1984, there was\n\n  a hare's  house — “small” (12,345 m²).\r\n\tAnd so on... "
    text = "".join(f"{n} {words}" for n in range(4000))
    assert len(text) > 3 * encodings.BLOCK
    assert "".join(encodings._blocks(text)) == text
    count("x", name)
    assert count(text, name) == len(encodings._encodings[name].encode_ordinary(text))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *[(one, "cl100k_base") for one in ("gpt-4", "gpt-4-0613", "gpt-4-turbo", "gpt-4-32k", "gpt-3.5-turbo", "gpt-35-turbo", "ft:gpt-4:x:y")],
        *[(one, "o200k_base") for one in ("gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-4.1-nano", "gpt-4.5-preview", "gpt-5", "gpt-5.2")],
        *[(one, "o200k_base") for one in ("o1", "o3-mini", "o4-mini", "ft:gpt-4o:x", "openai/gpt-4o", "gpt-oss-120b", "gpt-5-chat-latest")],
        *[(one, None) for one in ("llama3", "maker/model", "olmo-2", "mistral-large", "")],
    ],
)  # fmt: skip
def test_which_encoding(model: str, name: str | None) -> None:
    assert encoding_of(model) == name


PROGRAM = """
import os, socket, sys, tempfile
def refuse(*args, **kwargs):
    raise OSError("the network is touched")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
before = dict(os.environ)
from rocketride_llm_openai import count
assert "tiktoken" not in sys.modules
print(count("hello world", "cl100k_base"), count("hello world", "o200k_base"))
assert dict(os.environ) == before
assert not [name for name in sys.modules if name.startswith("llama_index")]
assert not os.listdir(tempfile.gettempdir()), os.listdir(tempfile.gettempdir())
"""


def test_offline_and_without_a_trace(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if "CACHE_DIR" not in name} | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout.split()) == (0, ["2", "2"]), done.stderr


def test_threads_that_come_first_load_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_encodings", {})
    read: list[str] = []
    vocabulary = encodings._vocabulary

    def counted(url: str, expected_hash: str) -> dict[bytes, int]:
        read.append(url)
        return vocabulary(url, expected_hash)

    monkeypatch.setattr(encodings, "_vocabulary", counted)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: count("hello world", "o200k_base"), range(16))) == {2}
    assert len(read) == 1


def test_a_missing_vocabulary_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "_encodings", {})
    monkeypatch.setattr(encodings, "FOLDER", "core/_static/elsewhere")
    with pytest.raises(RuntimeError, match=r"no vocabulary o200k_base\.tiktoken .* install llama-index-core"):
        count("a", "o200k_base")
