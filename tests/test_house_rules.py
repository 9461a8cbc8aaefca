# SPDX-License-Identifier: MIT
"""Rules of the house that a machine can check. Each says in its message what to do."""

import ast
import importlib
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
CORE = REPOSITORY / "rocketride_core"

# Imports go to the same floor or a lower one. A new module must be given its floor here; a package stands for all its modules.
# The public names (`rocketride_core` itself) are for users: in core only the command line and the test kit, users too, take them.
FLOORS = {
    0: "_native errors payloads lanes controls blob entry reading settings variables plainjson",
    1: "spec pipefile pipemodel pipereader pipewriter kinds converting profiles structure configschema protocols formatting locating",
    2: "node manifest handlers schema hookspecs toolbox toolschema toolrunner toolcalls controlplane instance live nested flight"
    " results trace limits loop workers timed toolcheck resultschema perworker conversation batching",
    3: "registry names index distinfo loading relay requirements",
    4: "graph compiler diagnostics expansion absent advice embedders wires",
    5: "pipeline bound entries runs mapping routing probing",
    6: "cli kernel",
    7: "testing",
}
USERS = {"cli", "testing"}
FLOOR = {module: floor for floor, modules in FLOORS.items() for module in modules.split()}
FACADE = "__init__"

LONGEST = {".py": 300, ".cpp": 400, ".hpp": 300}
MOST_COMMENTS = 0.08
PUBLIC_TO_PLUGINS = {"rocketride_core", "rocketride_core.errors", "rocketride_core.pipefile"}
PUBLIC_TO_TESTS = PUBLIC_TO_PLUGINS | {"rocketride_core.testing"}


# --- what there is ----------------------------------------------------------------------------------------------------


@cache
def tracked() -> tuple[Path, ...]:
    """Every file git would commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY, capture_output=True, check=True
    ).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := REPOSITORY / name).is_file())


@cache
def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text())


def distributions() -> list[Path]:
    return sorted(path.parent for path in tracked() if path.name == "pyproject.toml" and path.parent != REPOSITORY)


def named(folder: Path) -> str:
    return folder.relative_to(REPOSITORY).as_posix()


def package_of(folder: Path) -> Path:
    return folder / str(project(folder)["project"]["name"]).replace("-", "_")


@cache
def core_modules() -> dict[str, Path]:
    """Module names below `rocketride_core`, with dots: `cli.run`, `node`."""
    return {
        ".".join(path.relative_to(CORE).with_suffix("").parts).removesuffix(".__init__") or FACADE: path
        for path in tracked()
        if path.is_relative_to(CORE) and path.suffix == ".py"
    }


every_distribution = pytest.mark.parametrize("folder", distributions(), ids=named)
every_core_module = pytest.mark.parametrize("module", sorted(core_modules()))


# --- floors -----------------------------------------------------------------------------------------------------------


def type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def imports(source: str, package: str, *, lazy: bool) -> Iterator[tuple[str, int]]:
    """What is imported, as absolute names with lines: at import time, with `lazy` also in functions, never for checkers only."""

    def walk(node: ast.AST) -> Iterator[tuple[str, int]]:
        if isinstance(node, ast.If) and type_checking(node.test):
            for child in node.orelse:
                yield from walk(child)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{origin}.{alias.name}", node.lineno
        elif not lazy and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    yield from walk(ast.parse(source))


def core_imports(module: str, *, lazy: bool) -> Iterator[tuple[str, int]]:
    """The core modules that this one imports; a public name taken from `rocketride_core` itself counts as `__init__`."""
    path = core_modules()[module]
    package = "rocketride_core" if module == FACADE else f"rocketride_core.{module}"
    if path.name != "__init__.py":
        package = package.rpartition(".")[0]
    known = core_modules()
    for name, line in imports(path.read_text(), package, lazy=lazy):
        if name.split(".")[0] != "rocketride_core":
            continue
        inner = name.removeprefix("rocketride_core").removeprefix(".")
        if inner == "__version__":
            continue
        if inner.split(".")[0] == "_native":
            yield "_native", line
            continue
        while inner and inner not in known:
            inner = inner.rpartition(".")[0]
        yield inner or FACADE, line


def floor_of(module: str) -> int:
    top = module.split(".")[0]
    assert top in FLOOR, f"rocketride_core.{module} has no floor: place it in FLOORS of tests/test_house_rules.py"
    return FLOOR[top]


@every_core_module
def test_imports_go_downward_only(module: str) -> None:
    if module == FACADE:
        upward = [f"line {line}: {name}" for name, line in core_imports(module, lazy=True) if name.startswith("testing")]
        assert not upward, f"core never imports its test kit: {upward}"
        return
    floor = floor_of(module)
    upward = [
        f"line {line}: {name} (the public names)" if name == FACADE else f"line {line}: {name} (floor {floor_of(name)})"
        for name, line in core_imports(module, lazy=True)
        if (name == FACADE and module.split(".")[0] not in USERS) or (name != FACADE and floor_of(name) > floor)
    ]
    assert not upward, f"rocketride_core.{module} is on floor {floor} and imports from above: {upward}"


def test_no_two_core_modules_import_each_other() -> None:
    edges = {
        module: {name for name, _ in core_imports(module, lazy=False) if name in core_modules()} - {FACADE, module}
        for module in core_modules()
    }
    edges[FACADE] = set()
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, f"modules import each other: {' -> '.join((*path[path.index(module) :], module))}"
        if module in done:
            return
        for name in sorted(edges[module]):
            # A package's __init__ that gathers its own modules is no cycle between things.
            if not (name.startswith(f"{module}.") or module.startswith(f"{name}.")):
                visit(name, (*path, module))
        done.add(module)

    for module in sorted(edges):
        visit(module, ())


def test_the_import_reader_sees_every_form() -> None:
    source = """
from __future__ import annotations
import rocketride_core.a, os
from . import b
from .c import C
from ..d import D
if TYPE_CHECKING:
    from .never import X
else:
    from .e import E
def f():
    from .f import F
"""
    assert [name for name, _ in imports(source, "rocketride_core.cli", lazy=True)] == [
        "__future__.annotations",
        "rocketride_core.a",
        "os",
        "rocketride_core.cli.b",
        "rocketride_core.cli.c.C",
        "rocketride_core.d.D",
        "rocketride_core.cli.e.E",
        "rocketride_core.cli.f.F",
    ]
    assert "rocketride_core.cli.f.F" not in [name for name, _ in imports(source, "rocketride_core.cli", lazy=False)]


@every_distribution
def test_plugins_import_public_names_only(folder: Path) -> None:
    hidden = []
    for path in (p for p in tracked() if p.is_relative_to(folder) and p.suffix == ".py"):
        parts = path.relative_to(folder).with_suffix("").parts
        allowed = PUBLIC_TO_TESTS if {"tests", "testing"} & {*parts} else PUBLIC_TO_PLUGINS  # a test kit is for tests
        for name, line in imports(path.read_text(), "", lazy=True):
            if name.split(".")[0] != "rocketride_core":
                continue
            module = name if name in allowed else name.rpartition(".")[0]
            submodule = name.removeprefix("rocketride_core.")
            private = name.rpartition(".")[2].startswith("_")
            inner = module == "rocketride_core" and submodule in core_modules() and name not in allowed
            if module not in allowed or inner or private:
                hidden.append(f"{named(path)}:{line}: {name}")
    assert not hidden, f"import these from {', '.join(sorted(PUBLIC_TO_PLUGINS))} (tests also .testing): {hidden}"


# --- files ------------------------------------------------------------------------------------------------------------


def test_every_source_file_has_one_licence_line() -> None:
    tag = "SPDX-License" + "-Identifier: MIT"
    wrong = []
    for path in tracked():
        if path.suffix in {".py", ".pyi", ".cpp", ".hpp", ".h"} or path.name in {"Makefile", "CMakeLists.txt", "run"}:
            lines = path.read_text().splitlines()
            first = lines[1] if lines and lines[0].startswith("#!") else (lines or [""])[0]
            if first not in (f"# {tag}", f"// {tag}") or sum(line.endswith(tag) for line in lines) != 1:
                wrong.append(named(path))
    assert not wrong, f"the first line is '# {tag}' (C++: '// …'), once: {wrong}"


def test_no_module_is_long() -> None:
    long = {
        named(path): length
        for path in tracked()
        if path.suffix in LONGEST
        and "tests" not in path.parts
        and (length := len(path.read_text().splitlines())) > LONGEST[path.suffix]
    }
    assert not long, f"longer than {LONGEST}; is each still one thing? {long}"


def comment_density(paths: list[Path]) -> float:
    comments = lines = 0
    for path in paths:
        text = path.read_text()
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        comments += sum(token.type == tokenize.COMMENT and "SPDX" not in token.string for token in tokens)
        lines += len(text.splitlines())
    return comments / max(lines, 1)


def test_comments_are_rare() -> None:
    groups = {"rocketride_core": list(core_modules().values())}
    for folder in distributions():
        groups[named(folder)] = [path for path in tracked() if path.is_relative_to(package_of(folder)) and path.suffix == ".py"]
    dense = {name: f"{density:.1%}" for name, paths in groups.items() if (density := comment_density(paths)) >= MOST_COMMENTS}
    assert not dense, f"comments say why and are rare, under {MOST_COMMENTS:.0%} of lines: {dense}"


def test_nothing_names_a_machine_or_a_registry() -> None:
    # Put together from pieces, so that this file does not contain what it looks for.
    folders = ["wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]", "fa" + "rm"]
    hosts = [r"py" + r"pi\.org", "python" + r"hosted\.org", r"np" + r"mjs\.", r"deb\.deb" + "ian"]
    words = ["fa" + "rm-bench", r"(?<!_)sub" + "agent", r"\.lib" + "rary/"]
    paths = r"(?<![\w.*})\]])/(?:" + "|".join(folders) + r")(?=[/\s'\"`)]|$)"
    pattern = re.compile("|".join([paths, *hosts, *words]))
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [f"{named(path)}:{number}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]
    assert not found, f"names a folder of one machine, or a registry's host: {found}"


# --- distributions ----------------------------------------------------------------------------------------------------


def test_there_are_distributions() -> None:
    assert {"examples/node_template"} <= {named(folder) for folder in distributions()}


def test_all_distributions_have_one_version() -> None:
    version = project(REPOSITORY)["project"]["version"]
    other = {named(folder): found for folder in distributions() if (found := project(folder)["project"]["version"]) != version}
    assert not other, f"every distribution is {version}: {other}"
    assert importlib.import_module("rocketride_core").__version__ == version
    newest = re.search(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest, "CHANGELOG.md has a section for each version"
    assert newest[1] == version, f"the first section of CHANGELOG.md is for {version}"


@every_distribution
def test_a_distribution_is_whole(folder: Path) -> None:
    data = project(folder)["project"]
    name = str(data["name"])
    assert name.startswith("rocketride-"), f"a distribution here is named rocketride-<name>, not {name}"
    package = package_of(folder)
    assert (package / "__init__.py").is_file(), f"{name} has its code in {package.name}/"
    assert (package / "py.typed").is_file(), f"{name} is typed: it needs {package.name}/py.typed"
    assert data["license"] == "MIT"
    assert data["requires-python"] == ">=3.11"
    core = [need for need in data["dependencies"] if need.startswith("rocketride-core")]
    if core or nodes_of(folder) or uses_core(folder):
        assert core == ["rocketride-core>=0.1,<0.2"], f"{name} says which core it fits: {core}"
    assert list(folder.glob("tests/test_*.py")), f"{name} has tests of its own"


def uses_core(folder: Path) -> bool:
    """Whether its package imports core; one that does not is a library of its own."""
    sources = [path.read_text() for path in tracked() if path.is_relative_to(package_of(folder)) and path.suffix == ".py"]
    return any(name.split(".")[0] == "rocketride_core" for source in sources for name, _ in imports(source, "", lazy=True))


@every_distribution
def test_a_readme_names_providers_and_the_pip_name(folder: Path) -> None:
    data = project(folder)["project"]
    text = (folder / data["readme"]).read_text()
    assert f"pip install {data['name']}" in text, f"{named(folder)}/{data['readme']} says: pip install {data['name']}"
    missing = [provider for provider in nodes_of(folder) if f"`{provider}`" not in text]
    assert not missing, f"{named(folder)}/{data['readme']} names each provider in backquotes: {missing}"


def nodes_of(folder: Path) -> dict[str, str]:
    return dict(project(folder)["project"].get("entry-points", {}).get("rocketride.nodes", {}))


@every_distribution
def test_an_entry_point_is_called_as_its_provider(folder: Path) -> None:
    for provider, target in nodes_of(folder).items():
        module, _, name = target.partition(":")
        assert module.split(".")[0] == package_of(folder).name, f"{provider} = {target}: a distribution offers its own classes"
        declared = getattr(importlib.import_module(module), name).spec.provider
        assert declared == provider, f"{named(folder)}: entry point {provider} leads to a node that says provider {declared}"


def test_core_names_no_plugin() -> None:
    """Core knows no provider by name, except in one data file."""
    packages = {package_of(folder).name for folder in distributions()}
    names = [
        f"{module}: {name}"
        for module, path in core_modules().items()
        for name in packages
        if re.search(rf"\b{name}\b", path.read_text())
    ]
    assert not names, f"core imports and names no plugin: {names}"


def test_core_depends_on_light_libraries_only() -> None:
    needs = {re.split(r"[<>=~! \[;]", need)[0] for need in project(REPOSITORY)["project"]["dependencies"]}
    assert needs <= {"pluggy", "attrs", "cattrs", "fastjsonschema", "rich"}, (
        f"a new dependency of core is a decision for docs/adr: {needs}"
    )


# --- the native module ------------------------------------------------------------------------------------------------


def native_packages() -> list[Path]:
    """The packages with a native module: core's, and those of distributions that bring a CMakeLists.txt."""
    return [CORE, *(package_of(folder) for folder in distributions() if (folder / "CMakeLists.txt").is_file())]


@pytest.mark.parametrize("package", native_packages(), ids=lambda package: package.name)
def test_the_stub_of_a_native_module_is_true(package: Path, tmp_path: Path) -> None:
    made = tmp_path / "_native.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", f"{package.name}._native", "-o", str(made)]
    patterns = package.parent / "native" / "types.pat"
    subprocess.run([*command, "-p", str(patterns)] if patterns.is_file() else command, check=True)
    tag, written = (package / "_native.pyi").read_text().split("\n", 1)
    assert tag.startswith("# SPDX")
    assert written == made.read_text(), (
        f"{package.name}/_native.pyi is not what the module offers: run `make stub` and read the difference"
    )


def test_native_code_below_the_binding_knows_no_python() -> None:
    pure = ["graph", "regions", "pool", "order", "owners", "ports", "digraph", "cuts", "text", "clusters", "marks"]
    including = [
        named(path)
        for path in tracked()
        if path.parent in [package.parent / "native" for package in native_packages()]
        and path.stem in pure
        and re.search(r"^#include [<\"](nanobind|Python)", path.read_text(), re.MULTILINE)
    ]
    assert not including, f"what compiles, orders, pools and cuts includes no Python header: {including}"
