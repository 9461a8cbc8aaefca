# SPDX-License-Identifier: MIT
"""What a model folder in the sentence-transformers layout says of its model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from .errors import UnsupportedModel

POOLINGS = ("mean", "cls", "max")
SHARED = ("modules.json", "config.json", "tokenizer.json")  # what numpy and ONNX Runtime both need
WEIGHTS = "model.safetensors"
ONNX = ("onnx/model.onnx", "model.onnx")
# Their first token's position is behind the number of the padding token.
AFTER_PADDING = ("mpnet", "roberta", "xlm-roberta", "camembert")


@attrs.frozen(kw_only=True)
class Sentences:
    """How a folder's model makes one vector of a text: read and checked; widths are in floats, lengths in tokens."""

    folder: Path
    config: Mapping[str, Any]  # of the transformer
    width: int
    first_position: int  # number of the first token's position
    max_length: int  # special tokens included
    pooling: str
    lower: bool  # the text is lower-cased before the tokenizer sees it
    prompt: str  # put before every text, by the model's own default

    def prepared(self, text: str) -> str:
        """What the tokenizer gets in the place of `text`."""
        return self.prompt + (text.lower() if self.lower else text)


def missing(folder: Path, backend: str = "numpy") -> list[str]:
    """The files that `backend` needs and `folder` lacks."""
    if backend == "sentence-transformers":
        lacking = [] if any((folder / name).is_file() for name in ("modules.json", "config.json")) else ["modules.json"]
        weights = (path for pattern in ("*.safetensors", "*.bin") for path in folder.rglob(pattern))
        return lacking if next(weights, None) else [*lacking, WEIGHTS]
    lacking = [name for name in SHARED if not (folder / name).is_file()]
    if backend == "onnx":
        return lacking if onnx_file(folder) else [*lacking, ONNX[0]]
    return lacking if (folder / WEIGHTS).is_file() else [*lacking, WEIGHTS]


def onnx_file(folder: Path) -> Path | None:
    """The file with the model's graph for ONNX Runtime."""
    return next((folder / name for name in ONNX if (folder / name).is_file()), None)


def sentences(folder: Path, backend: str = "numpy") -> Sentences:
    """Read `folder`; UnsupportedModel says what in it `backend` cannot do."""
    if lacking := missing(folder, backend):
        what = "with an ONNX file" if backend == "onnx" else "with safetensors weights"
        raise UnsupportedModel(
            folder, f"it lacks {', '.join(lacking)}; a folder in the sentence-transformers layout {what} is needed"
        )
    modules = _modules(folder)
    config = read(folder / "config.json")
    first = int(config.get("pad_token_id", 1)) + 1 if config.get("model_type") in AFTER_PADDING else 0
    sentence = read(folder / "sentence_bert_config.json", {})
    lengths = [int(config["max_position_embeddings"]) - first] if config.get("max_position_embeddings") else []
    lengths += [int(sentence["max_seq_length"])] if sentence.get("max_seq_length") else []
    tokens = read(folder / "tokenizer_config.json", {}).get("model_max_length")
    lengths += [int(tokens)] if tokens and not sentence.get("max_seq_length") else []
    prompts = read(folder / "config_sentence_transformers.json", {})
    return Sentences(
        folder=folder,
        config=config,
        width=config["hidden_size"],
        first_position=first,
        max_length=min(lengths, default=512),
        pooling=_pooling(folder, modules["Pooling"]),
        lower=bool(sentence.get("do_lower_case")),
        prompt=(prompts.get("prompts") or {}).get(prompts.get("default_prompt_name"), ""),
    )


def read(path: Path, default: Any = None) -> Any:
    """A JSON file of a folder, `default` where it is not there."""
    if default is not None and not path.is_file():
        return default
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnsupportedModel(path.parent, f"{path.name} is not JSON: {error}") from None


def _modules(folder: Path) -> Mapping[str, str]:
    """Sub-folder by kind of module, of a model that is a transformer, a pooling and at most a normalisation."""
    found = {module["type"].rsplit(".", 1)[-1]: str(module["path"]) for module in read(folder / "modules.json")}
    if other := set(found) - {"Transformer", "Pooling", "Normalize"}:
        raise UnsupportedModel(folder, f"it contains a module {min(other)!r}", elsewhere=True)
    if lacking := {"Transformer", "Pooling"} - set(found):
        raise UnsupportedModel(folder, f"its modules.json names no {min(lacking)!r} module")
    if found["Transformer"]:
        raise UnsupportedModel(folder, f"its transformer is in the sub-folder {found['Transformer']!r}", elsewhere=True)
    return found


def _pooling(folder: Path, path: str) -> str:
    config = read(folder / path / "config.json", {})
    modes = config.get("pooling_mode")  # sentence-transformers 5.2 and later; before, one flag a mode
    if modes is None:
        modes = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    names = [
        str(mode).removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for mode in ([modes] if isinstance(modes, str) else modes)
    ]
    if len(names) != 1 or names[0] not in POOLINGS:
        raise UnsupportedModel(
            folder, f"its pooling is {' + '.join(names) or 'not given'}, not one of {', '.join(POOLINGS)}", elsewhere=True
        )
    return names[0]
