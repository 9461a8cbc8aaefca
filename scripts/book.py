# SPDX-License-Identifier: MIT
"""A hook of mkdocs: the README of every node's distribution is a page of the book, so that none need be listed."""

import json
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from rocketride_core.cli.nodes import facts_of
from rocketride_core.registry import Registry

REPOSITORY = Path(__file__).resolve().parents[1]
SECTION = "The nodes that ship"
MEASURED = "benchmarks.md"  # in the book where it has been written
INTRODUCTION = """# The nodes

Each page is the README of its distribution. `rocketride-core nodes show NAME` prints the settings of a node that is installed.

| page | providers | |
|---|---|---|
"""


def distributions() -> list[tuple[str, Path, list[str], str]]:
    """(name, README, providers, description) of all that have a README, by name."""
    found = []
    for file in REPOSITORY.glob("plugins/**/pyproject.toml"):
        project = tomllib.loads(file.read_text())["project"]
        readme = file.parent / project["readme"]
        if readme.is_file():
            providers = list(project.get("entry-points", {}).get("rocketride.nodes", {}))
            found.append((project["name"], readme, providers, project["description"]))
    return sorted(found)


def page_of(name: str) -> str:
    return f"nodes/{name.removeprefix('rocketride-')}.md"


def index() -> str:
    rows = [
        f"| [{name}]({Path(page_of(name)).name}) | {', '.join(f'`{provider}`' for provider in providers)} | {description} |"
        for name, _, providers, description in distributions()
    ]
    return INTRODUCTION + "\n".join(rows) + "\n"


def settings(provider: str) -> str:
    """A table of all settings of a node, those of its base too, and of what its profiles set; made of its config class."""
    cls = Registry().find(provider)
    rows = []
    for one in facts_of(cls)["settings"]:
        default = "" if one["required"] else f"`{json.dumps(one['default'], ensure_ascii=False)}`"
        kind = f"{one['type']}{', ' + one['unit'] if one['unit'] else ''}"
        values = [(profile.id, profile.values[one["key"]]) for profile in cls.spec.profiles if one["key"] in profile.values]
        told = "; ".join([one["doc"] or one["title"], *one["limits"]]).replace("|", "\\|")
        sets = ", ".join(f"{id}: `{json.dumps(value, ensure_ascii=False)}`" for id, value in values)
        rows.append(f"| `{one['key']}` | {kind} | {default} | {sets} | {told} |")
    if not rows:
        return ""
    return f"\n### {provider}\n\n| key | type | default | profiles | |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"


def page(readme: Path, providers: list[str]) -> str:
    """A distribution's page: its README, and the settings of its nodes as the code has them."""
    tables = "".join(map(settings, providers))
    return readme.read_text() + (f"\n## All settings, from the code\n{tables}" if tables else "")


def on_config(config: Any) -> Any:
    pages = [{name.removeprefix("rocketride-"): page_of(name)} for name, *_ in distributions()]
    for section in config.nav:
        if SECTION in section:
            section[SECTION] = [{"All": "nodes/index.md"}, *pages]
    if (Path(config.docs_dir) / MEASURED).is_file():
        config.nav.insert(-1, {"Benchmarks": MEASURED})
    return config


def on_files(files: Any, config: Any) -> Any:
    files.append(File.generated(config, "nodes/index.md", content=index()))
    for name, readme, providers, _ in distributions():
        files.append(File.generated(config, page_of(name), content=page(readme, providers)))
    return files
