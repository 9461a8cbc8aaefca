# SPDX-License-Identifier: MIT
"""What a model folder in the sentence-transformers layout says of its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from .errors import UnsupportedModel

ARCHITECTURES = ("bert", "mpnet")
ACTIVATIONS = ("gelu", "relu")
POOLINGS = ("mean", "cls", "max")
WANTED = ("modules.json", "config.json", "tokenizer.json", "model.safetensors")
_BACKEND = "this needs the sentence-transformers backend, which is not available yet"


@attrs.frozen(kw_only=True)
class Description:
    """A model folder, read and checked; widths are in floats, lengths in tokens."""

    folder: Path
    architecture: str
    width: int
    layers: int
    heads: int
    activation: str
    epsilon: float
    first_position: int  # number of the first token's position
    max_length: int  # special tokens included
    pooling: str
    lower: bool  # the text is lower-cased before the tokenizer sees it
    prompt: str  # put before every text, by the model's own default


def missing(folder: Path) -> list[str]:
    """The files a model needs that `folder` lacks."""
    return [name for name in WANTED if not (folder / name).is_file()]


def describe(folder: Path) -> Description:
    """Read `folder`; UnsupportedModel says what in it this package cannot run."""
    if lacking := missing(folder):
        raise UnsupportedModel(
            folder,
            f"it lacks {', '.join(lacking)}; a folder in the sentence-transformers layout with safetensors weights is needed",
        )
    modules = _modules(folder)
    config = _read(folder / modules["Transformer"] / "config.json")
    architecture = config.get("model_type", "")
    if architecture not in ARCHITECTURES:
        raise UnsupportedModel(
            folder, f"its architecture is {architecture!r}, and this package computes {' and '.join(ARCHITECTURES)}; {_BACKEND}"
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise UnsupportedModel(folder, f"its positions are {config['position_embedding_type']!r}, not 'absolute'; {_BACKEND}")
    if config.get("hidden_act") not in ACTIVATIONS:
        raise UnsupportedModel(
            folder, f"its activation is {config.get('hidden_act')!r}, not one of {', '.join(ACTIVATIONS)}; {_BACKEND}"
        )
    if config["hidden_size"] % config["num_attention_heads"]:
        raise UnsupportedModel(
            folder, f"its width {config['hidden_size']} is no multiple of its {config['num_attention_heads']} heads"
        )
    first = int(config.get("pad_token_id", 1)) + 1 if architecture == "mpnet" else 0
    sentence = _read(folder / modules["Transformer"] / "sentence_bert_config.json", {})
    lengths = [int(config["max_position_embeddings"]) - first]
    lengths += [int(sentence["max_seq_length"])] if sentence.get("max_seq_length") else []
    tokens = _read(folder / modules["Transformer"] / "tokenizer_config.json", {}).get("model_max_length")
    lengths += [int(tokens)] if tokens and not sentence.get("max_seq_length") else []
    prompts = _read(folder / "config_sentence_transformers.json", {})
    return Description(
        folder=folder,
        architecture=architecture,
        width=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        activation=config["hidden_act"],
        epsilon=config.get("layer_norm_eps", 1e-12),
        first_position=first,
        max_length=min(lengths),
        pooling=_pooling(folder, modules["Pooling"]),
        lower=bool(sentence.get("do_lower_case")),
        prompt=(prompts.get("prompts") or {}).get(prompts.get("default_prompt_name"), ""),
    )


def _read(path: Path, default: Any = None) -> Any:
    if default is not None and not path.is_file():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnsupportedModel(path.parent, f"{path.name} is not JSON: {error}") from None


def _modules(folder: Path) -> Mapping[str, str]:
    """Sub-folder by kind of module, of a model that is a transformer, a pooling and at most a normalisation."""
    found = {module["type"].rsplit(".", 1)[-1]: str(module["path"]) for module in _read(folder / "modules.json")}
    if other := set(found) - {"Transformer", "Pooling", "Normalize"}:
        raise UnsupportedModel(folder, f"it contains a module {min(other)!r}; {_BACKEND}")
    if lacking := {"Transformer", "Pooling"} - set(found):
        raise UnsupportedModel(folder, f"its modules.json names no {min(lacking)!r} module")
    if found["Transformer"]:
        raise UnsupportedModel(folder, f"its transformer is in the sub-folder {found['Transformer']!r}; {_BACKEND}")
    return found


def _pooling(folder: Path, path: str) -> str:
    config = _read(folder / path / "config.json", {})
    modes = config.get("pooling_mode")  # sentence-transformers 5.2 and later; before, one flag a mode
    if modes is None:
        modes = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    names = [
        str(mode).removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for mode in ([modes] if isinstance(modes, str) else modes)
    ]
    if len(names) != 1 or names[0] not in POOLINGS:
        raise UnsupportedModel(
            folder, f"its pooling is {' + '.join(names) or 'not given'}, not one of {', '.join(POOLINGS)}; {_BACKEND}"
        )
    return names[0]
