# SPDX-License-Identifier: MIT
"""A folder that looks like site-packages with many node distributions in it, for discovery's tests and benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["NODE", "add", "age", "fill"]

NODE = """
from rocketride_core import TEXT, Instance, Node, NodeSpec, on

class {cls}(Node[None]):
    spec = NodeSpec("{provider}", title="{provider}"{more})

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)
"""


def add(
    site: Path,
    name: str,
    *,
    version: str = "1.0",
    nodes: Iterable[tuple[str, str]] = (),
    plugins: Iterable[tuple[str, str]] = (),
    requires: Iterable[str] = ("rocketride-core>=0.1,<0.2", "attrs>=25.1"),
    modules: dict[str, str] | None = None,
    text: str = "A node.\n" * 40,
) -> Path:
    """Installs one distribution into the folder and gives its metadata directory.

    Parameters:
        nodes, plugins: entry points, `(name, "module:Class")`.
        requires: requirement lines of its metadata.
        modules: module name to source.
        text: description below the headers, which readers of metadata must skip.
    """
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    headers = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *(f"Classifier: Fake :: {n}" for n in range(8))]
    headers += [f"Requires-Dist: {line}" for line in requires]
    (info / "METADATA").write_text("\n".join(headers) + f"\n\n{text}", encoding="utf-8")
    (info / "RECORD").write_text("", encoding="utf-8")
    lines: list[str] = []
    groups = {"console_scripts": [(name, "fake:main")], "rocketride.nodes": nodes, "rocketride.plugins": plugins}
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{left} = {right}" for left, right in points), ""]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    for module, source in (modules or {}).items():
        (site / f"{module}.py").write_text(source, encoding="utf-8")
    return info


def age(site: Path, seconds: float = 3600) -> None:
    """Sets the stamps of the folder and its metadata back, as if filled long ago: fresh stamps are not believed."""
    then = time.time() - seconds
    for info in site.iterdir():
        if info.is_dir():
            for file in info.iterdir():
                os.utime(file, (then, then))
            os.utime(info, (then, then))
    os.utime(site, (then, then))


def fill(site: Path, nodes: int = 500, others: int = 250) -> Path:
    """A folder with that many node distributions, one node each, and other distributions between them."""
    for number in range(nodes):
        provider = f"fake_{number}"
        source = NODE.format(cls="Fake", provider=provider, more="")
        module = f"rocketride_{provider}"
        add(site, f"rocketride-fake-{number}", nodes=[(provider, f"{module}:Fake")], modules={module: source})
    for number in range(others):
        info = site / f"other_{number}-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: other-{number}\nVersion: 1.0\n\nText.\n", encoding="utf-8")
        if number % 3 == 0:
            (info / "entry_points.txt").write_text("[console_scripts]\nother = other:main\n", encoding="utf-8")
    age(site)
    return site
