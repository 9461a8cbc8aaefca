# SPDX-License-Identifier: MIT
"""The book says what the code does: its code blocks run, and every hook, code and lane is in it."""

import ast
import importlib
import inspect
import json
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

import rocketride_core
from rocketride_core import Kernel, Lane, Secret, hookspecs
from rocketride_core.cli import main
from rocketride_core.hookspecs import HOST_HOOKS, NODE_HOOKS
from rocketride_core.pipefile import inspect_pipe
from rocketride_core.structure import fields_of

REPOSITORY = Path(__file__).parents[1]
CORE = REPOSITORY / "rocketride_core"
DOCS = REPOSITORY / "docs"
PAGES = [REPOSITORY / "README.md", *sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"[a-z]+(-[a-z]+)+")
SNIPPET = re.compile(r'^\s*(?:-{2,}8<-{2,})\s*"([^":]+)(?::([\w-]+))?"\s*$', re.MULTILINE)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())


def text_of(page: str) -> str:
    return (DOCS / page).read_text()


# ---- code blocks


@attrs.frozen
class Block:
    """A fenced block: its language, its text, its line, and what the comments above it say.

    `<!-- not run: why -->`, `<!-- file: name -->` (write it there), `<!-- problems: code, code -->` (a pipe with exactly these).
    """

    language: str
    text: str
    line: int
    said: tuple[str, ...] = ()

    def told(self, what: str) -> str | None:
        """The rest of a comment that begins with `what`."""
        return next((said.removeprefix(f"{what}: ") for said in self.said if said.startswith(f"{what}: ")), None)


FENCE = re.compile(
    r"(?ms)^(?P<said>(?:<!-- [^\n]*? -->\n)*)^(?P<indent> *)```(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$"
)


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found["language"], textwrap.dedent(found["text"]), line, tuple(re.findall("<!-- (.*?) -->", found["said"])))


@every_page
def test_code_blocks_are_true(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Blocks of a page run in their order, in one folder and one namespace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        place = f"{page.relative_to(REPOSITORY)}, line {block.line}"
        if SNIPPET.search(block.text) or block.told("not run"):
            continue
        if name := block.told("file"):
            (tmp_path / name).write_text(block.text)
        if block.language == "python":
            with_lines = "\n" * block.line + block.text
            exec(compile(with_lines, str(page), "exec", dont_inherit=True), names)
        elif block.language in ("json", "jsonc"):
            check_json(block, tmp_path, place)
        elif block.language == "console":
            check_console(block, place, capfd)
        elif block.language == "toml":
            tomllib.loads(block.text)
        else:
            assert block.language in ("", "text"), (
                f"{place}: blocks of {block.language} are not checked; say '<!-- not run: why -->'"
            )


def check_json(block: Block, folder: Path, place: str) -> None:
    """A whole pipeline is judged by the kernel; anything else is good JSON."""
    wrong = block.told("problems")
    if '"components"' not in block.text and wrong is None:
        json.loads(block.text)
        return
    path = folder / "block.pipe"
    path.write_text(block.text)
    pipe, problems = inspect_pipe(path)
    if pipe.components:
        problems += [p for p in Kernel(env={}).check(pipe) if p not in problems]
    wanted = sorted(wrong.split(", ")) if wrong else []
    assert sorted(p.code for p in problems) == wanted, f"{place}: {[str(p) for p in problems]}"


def check_console(block: Block, place: str, capfd: pytest.CaptureFixture[str]) -> None:
    """`$ rocketride-core …` and what it prints; `…` stands for anything inside a line, a line of `…` for any lines."""
    for part in re.split(r"(?m)^\$ ", block.text)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = f"{command[:-1]} {more.removeprefix('> ').strip()}"
        words = shlex.split(command, comments=True)
        assert words[0] == "rocketride-core", f"{place}: only rocketride-core is run here, not {words[0]}"
        capfd.readouterr()
        main(words[1:])
        out, err = capfd.readouterr()
        pattern = re.escape(expected.rstrip()).replace("\\\n", "\n")
        pattern = re.sub(r"(?m)^…$", "(?s:.*)", pattern).replace("…", ".*")
        said = "\n".join(line.rstrip() for line in (err + out).splitlines())
        assert re.fullmatch(pattern, said), f"{place}: $ {command}\nprints:\n{said}\nnot:\n{expected}"


def test_the_block_reader_sees_what_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "a\n\n<!-- file: a.pipe -->\n<!-- problems: b -->\n```json\n{}\n```\n\n- b\n\n    ```python\n    x = 1\n    ```\n\n```\nplain\n```\n"
    )
    assert list(blocks(page)) == [
        Block("json", "{}\n", 3, ("file: a.pipe", "problems: b")),
        Block("python", "x = 1\n", 11),
        Block("", "plain\n", 15),
    ]


@every_page
def test_snippets_come_from_tested_files(page: Path) -> None:
    for name, section in SNIPPET.findall(page.read_text()):
        file = REPOSITORY / name
        assert file.is_file(), f"{page.name}: there is no {name}"
        if section:
            assert f"[start:{section}]" in file.read_text(), f"{name} has no section {section}"
        if file.suffix == ".py":
            package = file.relative_to(REPOSITORY).parts
            assert package[0] == "examples", f"{page.name} shows {name}, which is no example"
            folder = REPOSITORY.joinpath(*package[:2]) if len(package) > 2 else REPOSITORY
            tests = "\n".join(test.read_text() for test in folder.glob("tests/test_*.py"))
            module = file.parent.name if file.name == "__init__.py" else file.stem
            assert module in tests or file.parent.name == "tests", f"no test imports {name}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_outside_of_the_book_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (REPOSITORY / page).read_text())
    missing = [link for link in links if not (REPOSITORY / link).exists()]
    assert not missing, f"{page} links to {missing}"


# ---- codes


def is_code(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(CODE.fullmatch(node.value))


def codes_in(source: str) -> set[str]:
    """Codes of problems and run errors: second argument of `Problem` and `.add`, first of `.warn`, `code=`, first of a returned
    tuple, and whatever is assigned to a variable `code`."""
    found: list[ast.expr] = []
    words: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = (
                node.func.id
                if isinstance(node.func, ast.Name)
                else node.func.attr
                if isinstance(node.func, ast.Attribute)
                else ""
            )
            if name in ("Problem", "add"):
                found += node.args[1:2]
            elif name == "warn":
                found += node.args[:2]
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            words |= {ast.literal_eval(value) for value in named if isinstance(value, ast.Constant) and value.value}
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            found += node.value.elts[:1]
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "code" for t in node.targets):
            found += [part for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
    return words | {ast.literal_eval(node) for node in found if is_code(node)}


def codes_of_core() -> set[str]:
    return set().union(*(codes_in(path.read_text()) for path in CORE.rglob("*.py") if "testing" not in path.parts))


def documented_codes() -> list[str]:
    return re.findall(r"(?m)^### `([a-z-]+)`$", text_of("errors.md"))


def test_the_code_reader_sees_every_form() -> None:
    source = """
Problem("$", "one-code", "m")
self.add(path, "two-codes", "m")
instance.warn("three-codes", "m")
flight.warn(me, "eleven-codes", "m")
raise RunError("not-this-one", code="four-codes")
raise RunError("text", code="twelve")
code = {"A": "five-codes"}.get(name, "six-codes")
def f(): return "seven-codes", path
print("no-code-at-all")
Problem("$", code, "not-a-code")
"""
    words = {
        "one-code",
        "two-codes",
        "three-codes",
        "four-codes",
        "five-codes",
        "six-codes",
        "seven-codes",
        "eleven-codes",
        "twelve",
    }
    assert codes_in(source) == words


def test_every_code_is_documented() -> None:
    documented = documented_codes()
    assert len(documented) == len(set(documented)), "docs/errors.md has a section twice"
    used = codes_of_core()
    assert len(used) > 40
    assert not used - set(documented), (
        f"docs/errors.md has a section '### `code`' for each code: {sorted(used - set(documented))}"
    )
    assert not set(documented) - used, f"docs/errors.md documents codes that do not exist: {sorted(set(documented) - used)}"


def test_every_code_has_its_cause_and_its_cure() -> None:
    sections = re.split(r"(?m)^### `([a-z-]+)`$", text_of("errors.md"))
    for code, body in zip(sections[1::2], sections[2::2], strict=True):
        body = body.partition("\n## ")[0]
        assert "\n**Do:** " in body, f"{code}: what is to be done stands behind '**Do:**'"
        assert len(body.partition("**Do:**")[0].split()) >= 5, f"{code}: its cause is missing"


def test_codes_of_nodes_are_in_the_book() -> None:
    page = text_of("errors.md")
    for path in sorted(REPOSITORY.glob("plugins/**/rocketride_*/**/*.py")):
        package = next(parent for parent in path.parents if parent.name.startswith("rocketride_"))
        readme = (package.parent / "README.md").read_text()
        missing = [
            code for code in sorted(codes_in(path.read_text()) - set(documented_codes())) if f"`{code}`" not in readme + page
        ]
        assert not missing, f"{path.relative_to(REPOSITORY)}: {package.parent.name}/README.md says what {missing} mean"


def test_the_error_classes_are_documented() -> None:
    page = text_of("errors.md")
    missing = [name for name in rocketride_core.errors.__all__ if f"`{name}`" not in page]
    assert not missing, f"docs/errors.md names every class of errors: {missing}"


# ---- hooks


def signature(hook: str) -> str:
    """As the page writes it: the names of the arguments and their types, and the return type."""
    [function] = [
        node
        for node in ast.parse(inspect.getsource(hookspecs)).body
        if isinstance(node, ast.FunctionDef) and node.name == hook and node.decorator_list
    ]
    return f"{hook}({ast.unparse(function.args)}) -> {ast.unparse(typing.cast(ast.expr, function.returns))}"


def kind(hook: str) -> str:
    options = getattr(getattr(hookspecs, hook), "rocketride_spec")  # noqa: B009 - pluggy's mark
    return "the first answer counts" if options["firstresult"] else "everybody is asked"


@pytest.mark.parametrize("hook", sorted(NODE_HOOKS | HOST_HOOKS))
def test_a_hook_is_documented_as_it_is(hook: str) -> None:
    section = re.search(rf"(?ms)^### `{hook}`$(.*?)(?=^##|\Z)", text_of("hooks.md"))
    assert section, f"docs/hooks.md has a section '### `{hook}`'"
    assert signature(hook) in section[1], f"docs/hooks.md gives its signature: {signature(hook)}"
    assert kind(hook) in " ".join(section[1].lower().split()), f"docs/hooks.md says of {hook}: {kind(hook)}"
    assert ("for host plugins only" in section[1]) == (hook in HOST_HOOKS)


def test_no_hook_is_documented_that_does_not_exist() -> None:
    assert set(re.findall(r"(?m)^### `(\w+)`$", text_of("hooks.md"))) == NODE_HOOKS | HOST_HOOKS


@pytest.mark.parametrize("hook", sorted(NODE_HOOKS | HOST_HOOKS))
def test_a_hook_has_a_test(hook: str) -> None:
    """A node or a host plugin that implements it, in some test or in what tests run (the blocks of the book, for one)."""
    tests = [DOCS / "hooks.md"]
    tests += [
        *REPOSITORY.glob("tests/*.py"),
        *REPOSITORY.glob("plugins/**/tests/*.py"),
        *REPOSITORY.glob("examples/**/tests/*.py"),
    ]
    tests += [*CORE.glob("testing/*.py"), *REPOSITORY.glob("examples/**/rocketride_*/*.py")]
    assert any(f"def {hook}(" in path.read_text() for path in tests), f"no test implements {hook}"


# ---- lanes and public names


def test_every_lane_is_documented() -> None:
    page = text_of("lanes.md")
    lanes = {name: lane for name in rocketride_core.__all__ if isinstance(lane := getattr(rocketride_core, name), Lane)}
    assert len(lanes) == 9
    rows = {row[0]: row for row in re.findall(r"(?m)^\| `(\w+)` \| `(\w+)` \| `([^`]+)` \|", page)}
    payloads = {
        lane.name: (name, f"Sequence[{lane.item.__name__}]" if lane.many else lane.item.__name__) for name, lane in lanes.items()
    }
    assert {name: row[1:] for name, row in rows.items()} == payloads


def test_the_keys_of_payloads_in_json_are_documented() -> None:
    page = text_of("lanes.md")
    document = rocketride_core.Document("t", {"a": 1}, memoryview(b""), "m", 0.5)
    for payload in (document, rocketride_core.Question.of("q")):
        missing = [key for key in payload.to_json() if f"`{key}`" not in page]
        assert not missing, f"docs/lanes.md explains {missing} of {type(payload).__name__}"


def test_public_names_are_in_the_book() -> None:
    book = "\n".join(page.read_text() for page in PAGES)
    missing = [name for name in rocketride_core.__all__ if not re.search(rf"\b{name}\b", book)]
    assert not missing, f"no page mentions {missing}"


@pytest.mark.slow
def test_the_book_builds_with_a_page_for_every_distribution(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    index = (tmp_path / "nodes" / "index.html").read_text()
    for name, folder in projects().items():
        if folder.is_relative_to(REPOSITORY / "plugins"):
            page = name.removeprefix("rocketride-")
            assert f">{name}</a>" in index
            assert f"pip install {name}" in (tmp_path / "nodes" / page / "index.html").read_text()
    store = (tmp_path / "nodes" / "store-weaviate" / "index.html").read_text().partition('id="all-settings-from-the-code"')[2]
    for key in ("grpc_port", "payloadLimit", "collection"):
        assert f"<td><code>{key}</code></td>" in store


def projects() -> dict[str, Path]:
    """Name to folder of every distribution that offers nodes or is a base of those."""
    files = [*REPOSITORY.glob("plugins/**/pyproject.toml"), *REPOSITORY.glob("examples/*/pyproject.toml")]
    named = {tomllib.loads(file.read_text())["project"]["name"]: file.parent for file in files}
    return {name: folder for name, folder in named.items() if (folder / "README.md").is_file()}


@pytest.mark.parametrize("name", sorted(projects()))
def test_defaults_in_code_are_those_of_the_readme(name: str) -> None:
    """Every setting has a row `| key | default | meaning |`, in the README of its distribution or of one that it builds on."""
    data = tomllib.loads((projects()[name] / "pyproject.toml").read_text())["project"]
    bases = [base for need in data["dependencies"] if (base := re.split("[<>=~! ]", need)[0]) in projects()]
    rows: dict[str, set[str]] = {}
    for readme in (projects()[one] / "README.md" for one in (name, *bases)):
        for key, default in re.findall(r"(?m)^\| `([\w.-]+)` \| ([^|]*?) \|", readme.read_text()):
            rows.setdefault(key, set()).add(default)
    for provider, target in data.get("entry-points", {}).get("rocketride.nodes", {}).items():
        module, _, cls = target.partition(":")
        config = getattr(importlib.import_module(module), cls).config_class
        for field in fields_of(config) if config is not None else ():
            key, default = field.keys[0], field.default
            assert key in rows, f"{name}: its README says nothing of the setting '{key}' of {provider}"
            if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
                default = default.factory()
            if isinstance(default, Secret):
                default = default.reveal()
            if not field.required and isinstance(default, None | bool | int | float | str | tuple | list | dict):
                written = f"`{json.dumps(default, ensure_ascii=False)}`"
                assert written in rows[key], f"{name}: the default of '{key}' of {provider} is {written}, not {rows[key]}"


def test_every_page_is_in_the_table_of_contents() -> None:
    contents = (REPOSITORY / "mkdocs.yml").read_text() + (REPOSITORY / "scripts" / "book.py").read_text()
    listed = set(re.findall(r"[\w/-]+\.md", contents))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert not pages - listed, f"mkdocs.yml lists {sorted(pages - listed)}"


def keys_written(source: str) -> set[str]:
    """Keys of dict displays, and of assignments `record[key] = …`."""
    tree = list(ast.walk(ast.parse(source)))
    nodes: list[ast.expr | None] = [key for node in tree if isinstance(node, ast.Dict) for key in node.keys]
    nodes += [node.slice for node in tree if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)]
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_trace_records_are_documented() -> None:
    keys = keys_written((CORE / "trace.py").read_text())
    assert {"span", "lane", "payload"} <= keys
    page = text_of("traces.md")
    missing = [key for key in sorted(keys) if f"`{key}`" not in page]
    assert not missing, f"docs/traces.md explains {missing}"


def test_the_dependencies_of_core_are_named() -> None:
    needs = [
        re.split("[<>=~! ]", need)[0]
        for need in tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["dependencies"]
    ]
    for page in (REPOSITORY / "README.md", DOCS / "installing.md"):
        assert not [need for need in needs if need not in page.read_text()], f"{page.name} names the dependencies {needs}"
