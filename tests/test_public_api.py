# SPDX-License-Identifier: MIT
"""The public API stands in public_api.txt, names and signatures; a change of it is a change of that file, seen in review.

Make it anew with `python tests/test_public_api.py`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias, get_origin

import attrs

import rocketride_core
from rocketride_core import Blob, Lane, errors, pipefile, testing
from rocketride_core.blob import Blob as BlobClass
from rocketride_core.pipeline import RunningPipeline
from rocketride_core.results import EntryResult
from rocketride_core.runs import WorkerRun

SNAPSHOT = Path(__file__).with_name("public_api.txt")


def shown(value: object) -> str:
    """A signature without the modules of its annotations and the quotes around them."""
    text = str(value)
    text = re.sub(r"\b(?:rocketride_core|collections|contextlib|typing|pathlib|types|pluggy)(?:\.\w+)*\.(?=[A-Z])", "", text)
    return re.sub(r"""(: |-> )(['"])(.*?)\2(?=[,)= ]|$)""", r"\1\3", text)


def signature(value: Any) -> str:
    try:
        return shown(inspect.signature(value))
    except (TypeError, ValueError):
        return "(…)"


def members(cls: type) -> Iterator[str]:
    fields = {field.name for field in attrs.fields(cls)} if attrs.has(cls) else set()
    names = {name for base in cls.__mro__[:-1] if base.__module__.startswith("rocketride_core") for name in vars(base)}
    for name in sorted(names):
        special = name.startswith("__") and name.endswith("__")
        told = name in ("__call__", "__getitem__", "__iter__", "__aiter__", "__await__")
        if name in fields or (name.startswith("_") and not told) or (special and not told):
            continue
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property):
            yield f"    {name}: {shown(inspect.signature(member.fget).return_annotation)}"  # type: ignore[arg-type]
        elif isinstance(member, (staticmethod, classmethod)):
            yield f"    {name}{signature(member.__func__)}"
        elif inspect.isfunction(member):
            yield f"    {name}{signature(member)}"


def described(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        plain = getattr(value, "_is_protocol", False) or not inspect.isfunction(value.__init__)
        yield f"class {name}{f'({bases})' if bases else ''}{'' if plain else f' {signature(value)}'}"
        yield from members(value)
    elif inspect.isfunction(value):
        yield f"def {name}{signature(value)}"
    elif isinstance(value, Lane):
        yield f"{name}: lane '{value.name}' of {'many ' if value.many else ''}{value.item.__name__}"
    elif attrs.has(type(value)):
        yield f"{name} = {shown(value)}"
    else:
        yield f"{name}: {shown(value) if get_origin(value) or isinstance(value, TypeAlias.__class__) else type(value).__name__}"


def snapshot() -> str:
    lines: list[str] = []
    for module in (rocketride_core, errors, pipefile, testing):
        lines.append(f"## {module.__name__}")
        for name in sorted(module.__all__):
            if module is not rocketride_core and getattr(rocketride_core, name, None) is getattr(module, name):
                lines.append(f"{name}: as in rocketride_core")
            else:
                lines.extend(described(name, getattr(module, name)))
        lines.append("")
    return "\n".join(lines)


def test_the_public_api_is_what_the_snapshot_says() -> None:
    kept, now = SNAPSHOT.read_text("utf-8").splitlines(), snapshot().splitlines()
    gone = [line for line in kept if line not in now]
    new = [line for line in now if line not in kept]
    assert kept == now, f"the public API changed (to agree: python tests/test_public_api.py)\n- {gone}\n+ {new}"


def test_all_names_are_there_and_nothing_else_looks_public() -> None:
    for module in (rocketride_core, errors, pipefile, testing):
        for name in module.__all__:
            assert getattr(module, name) is not None
        assert len(set(module.__all__)) == len(module.__all__)
    assert not hasattr(rocketride_core, "Nonsense")


def public(cls: type) -> set[str]:
    return {
        name for name in dir(cls) if not name.startswith("_") or name in ("__getitem__", "__iter__", "__aiter__", "__await__")
    }


def parameters(cls: type, name: str) -> list[str]:
    return [f"{p.kind.name} {p.name}" for p in inspect.signature(getattr(cls, name)).parameters.values()][1:]


def test_the_classes_behind_the_protocols_keep_to_them() -> None:
    protocols = [
        (rocketride_core.Pipeline, RunningPipeline),
        (rocketride_core.Run, WorkerRun),
        (rocketride_core.Result, EntryResult),
    ]
    for protocol, cls in protocols:
        wanted = {name for base in protocol.__mro__ if getattr(base, "_is_protocol", False) for name in vars(base)}
        wanted = {name for name in wanted if name in public(protocol)}
        assert wanted <= public(cls), f"{cls.__name__} lacks {sorted(wanted - public(cls))}"
        for name in wanted:
            if inspect.isfunction(getattr(protocol, name)):
                assert parameters(cls, name) == parameters(protocol, name), f"{cls.__name__}.{name}"


def test_importing_the_package_imports_no_kernel() -> None:
    assert "Kernel" not in vars(rocketride_core), "it is looked up when it is asked for"
    assert Blob is BlobClass


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), "utf-8")
    sys.stdout.write(f"{SNAPSHOT}\n")
