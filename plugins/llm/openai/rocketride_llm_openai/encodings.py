# SPDX-License-Identifier: MIT
"""Tokens as OpenAI counts them, without the network: the vocabularies are the files that llama-index-core ships."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = ["count", "encoding_of", "head"]

FOLDER = "core/_static/tiktoken_cache"
CL100K = re.compile(r"gpt-(4(?![o.\d])|3\.?5)")
O200K = re.compile(r"(chat)?gpt-(4o|4\.[1-9]|[5-9]|oss)|o\d")
# tiktoken overflows its stack on whitespace that goes on for a megabyte or so. No token reaches over a space that stands
# between a character and a letter; a text without any is cut anyway, and counts a token more at most for each cut.
BLOCK = 100_000
CUT = re.compile(rf"(?s:.{{1,{BLOCK}}}(?<=\S)(?= [^\W\d_])|.{{1,{BLOCK}}})")

_encodings: dict[str, Encoding] = {}  # half a second to load each, and the same for the whole process
_loading = threading.Lock()


def encoding_of(model: str) -> str | None:
    """`cl100k_base` or `o200k_base`, None for a model that is not one of OpenAI's chat models.

    Fine-tuned models (`ft:gpt-4o:…`) and names with a vendor in front (`openai/gpt-4o`) are known too.
    """
    name = model.rpartition("/")[2].removeprefix("ft:")
    if CL100K.match(name):
        return "cl100k_base"
    return "o200k_base" if O200K.match(name) else None


def count(text: str, encoding: str) -> int:
    """How many tokens a text has; `<|endoftext|>` and its like are text as any other.

    Raises:
        RuntimeError: the vocabulary is not where it should be.
    """
    table = _encodings.get(encoding) or _loaded(encoding)
    return sum(len(table.encode_ordinary(block)) for block in _blocks(text))


def head(text: str, tokens: int, encoding: str) -> str:
    """The beginning of a text that has at most so many tokens; a character that they would cut is left out.

    Raises:
        RuntimeError: the vocabulary is not where it should be.
    """
    table = _encodings.get(encoding) or _loaded(encoding)
    left, start = tokens, 0
    for block in _blocks(text):
        found = table.encode_ordinary(block)
        if len(found) > left:
            whole = table.decode_bytes(found[:left]).decode(errors="ignore")
            return text[: start + len(whole)]
        left -= len(found)
        start += len(block)
    return text


def _blocks(text: str) -> Iterator[str]:
    if len(text) <= BLOCK:
        yield text
    else:
        yield from CUT.findall(text)


def _loaded(name: str) -> Encoding:
    with _loading:
        if name not in _encodings:
            from tiktoken import Encoding

            made: Any = getattr(importlib.import_module("tiktoken_ext.openai_public"), name)
            # tiktoken's own description of the encoding, with a reader of files in place of its downloader.
            described = types.FunctionType(made.__code__, {**made.__globals__, "load_tiktoken_bpe": _vocabulary})
            _encodings[name] = Encoding(**described())
        return _encodings[name]


def _vocabulary(url: str, expected_hash: str) -> dict[bytes, int]:
    """Ranks of tokens; the files are named after the URLs that they are from."""
    # llama_index itself is not imported: it is big, and sets an environment variable.
    found = importlib.util.find_spec("llama_index")
    name = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    for folder in found.submodule_search_locations or () if found else ():
        path = Path(folder) / FOLDER / name
        if path.is_file():
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest() != expected_hash:
                raise RuntimeError(f"the vocabulary {path} is damaged; install llama-index-core again")
            return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines() if line)}
    raise RuntimeError(f"there is no vocabulary {url.rpartition('/')[2]} in llama_index/{FOLDER}; install llama-index-core 0.14")
