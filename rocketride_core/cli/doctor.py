# SPDX-License-Identifier: MIT
"""`doctor`: would this pipeline run here? A checklist, with what to type for what is missing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from rocketride_core.errors import PluginError, Problem
from rocketride_core.registry import Registry, UnknownProvider
from rocketride_core.requirements import Requirements
from rocketride_core.variables import Unset, Variables

from . import checklist
from .checklist import Check
from .overrides import apply, environment
from .report import lines as report

if TYPE_CHECKING:
    from rocketride_core.kernel import Kernel
    from rocketride_core.loading import Listing
    from rocketride_core.pipefile import Component, PipeFile

__all__ = ["execute"]

CORE = "rocketride-core"
# Problems that have lines of their own, as nodes and as variables.
NODES = {"unknown-provider", "duplicate-provider", "invalid-node", "plugin-load"}
TOLD = NODES | {"unset-variable"}


def execute(args: argparse.Namespace) -> int:
    from rocketride_core.pipefile import inspect_pipe

    env = environment(args.env)
    pipe, problems = inspect_pipe(args.pipe)
    if not pipe.components and any(p.severity == "error" for p in problems):
        print("\n".join(report(problems, args.pipe)), file=sys.stderr)
        return 2
    if args.set:
        pipe = apply(pipe, args.set)
    checks = _Doctor(pipe, problems, args.source, env).checks(probe=args.probe)
    missing = [one for one in checks if one.state == "miss"]
    install = sorted({name for one in missing for name in one.install})
    if args.json:
        listed = [attrs.asdict(one, filter=attrs.filters.exclude("install")) for one in checks]
        print(json.dumps({"file": args.pipe, "ok": not missing, "checks": listed, "install": install}))
    else:
        print("\n".join(checklist.lines(args.pipe, checks, install)))
    return 1 if missing else 0


class Watched(Variables):
    """Variables that remember who gave each name its value: "" for nobody."""

    def __init__(self, env: Mapping[str, str] | None) -> None:
        super().__init__(env, Path(".env"))
        self.origins: dict[str, str] = {}
        self.unset: list[Unset] = []

    def get(self, name: str) -> str | None:
        value = super().get(name)
        given = "--env" if name in self._env else ".env" if name in (self._dotenv or {}) else "the environment"
        self.origins[name] = "" if value is None else given
        return value

    def substitute(self, value: Any, path: str = "$") -> tuple[Any, list[Unset]]:
        filled, unset = super().substitute(value, path)
        self.unset += unset
        return filled, unset


class _Doctor:
    def __init__(self, pipe: PipeFile, problems: Sequence[Problem], source: str, env: Mapping[str, str] | None) -> None:
        self.pipe, self.source, self.env = pipe, source, env
        self.problems = list(problems)
        self.variables = Watched(env)
        self.registry = Registry()
        self.requirements = Requirements()
        self.components: Sequence[Component] = pipe.components
        self.asked: list[str] = []
        self.kernel: Kernel | None = None

    def checks(self, *, probe: bool) -> list[Check]:
        broken = self.examine()
        nodes = list(self.nodes())
        out = [*self.runtime(), *self.plugins(broken), *nodes, *self.libraries(), *self.filled(), *self.wrong()]
        return [*out, *self.probed()] if probe else out

    def examine(self) -> PluginError | None:
        """What `check` finds; the error where a host plugin is broken: then nothing can be compiled."""
        from rocketride_core.kernel import Kernel

        try:
            self.kernel = Kernel(env=self.env)
        except PluginError as error:
            for component in self.components:
                self.variables.substitute(component.config, f"{component.at}.config")
            return error
        self.registry = self.kernel.registry
        plan, _ = self.kernel.plan(self.pipe, self.variables, self.source)
        self.components = plan.pipe.components
        self.asked = [part.component.id for part in plan.parts if "check_global" in part.cls.manifest.hooks]
        self.problems += [p for p in self.kernel.check(self.pipe, source=self.source) if p not in self.problems]
        return None

    @cached_property
    def claims(self) -> dict[str, Listing]:
        return {one.provider: one for one in self.registry.listings()}

    def listing(self, provider: str) -> Listing | None:
        return self.claims.get(provider) or self.claims.get(self.registry.names.current(provider))

    # ---- what is installed

    def runtime(self) -> Iterator[Check]:
        from rocketride_core import __version__

        version = ".".join(map(str, sys.version_info[:3]))
        wanted = next((need for need in self.requirements.of(CORE) if need.name == "Python"), None)
        if wanted is not None and wanted.state != "ok":
            yield Check("python", "Python", "miss", f"{version}; {CORE} needs {wanted.wanted}", f"use Python {wanted.wanted}")
        else:
            yield Check("python", "Python", "ok", version)
        yield Check("core", CORE, "ok", __version__)

    def plugins(self, broken: PluginError | None) -> Iterator[Check]:
        for one in self.registry.plugin_listings():
            about = f"{one.distribution} {one.version}"
            if broken is not None and broken.distribution == one.distribution:
                fix = f"pip uninstall {one.distribution}, or repair it: pip install --force-reinstall {one.distribution}"
                yield Check("plugin", one.provider, "miss", str(broken), fix)
            elif broken is None:
                yield Check("plugin", one.provider, "ok", about)
            else:
                yield Check("plugin", one.provider, "note", f"{about}; not looked at, because another host plugin is broken")
        if broken is not None and not any(one.distribution == broken.distribution for one in self.registry.plugin_listings()):
            yield Check("plugin", broken.distribution, "miss", str(broken), "rocketride-core nodes list shows what is installed")

    def nodes(self) -> Iterator[Check]:
        users: dict[str, list[str]] = {}
        for component in self.components:
            if component.provider:
                users.setdefault(component.provider, []).append(component.id)
        for provider, ids in users.items():
            told = [p for p in self.problems if p.code in NODES and p.component in ids]
            # A node that is wired to nothing, a note on the canvas for one, may be missing.
            state: Literal["warn", "miss"] = "warn" if told and all(p.severity == "warning" for p in told) else "miss"
            try:
                self.registry.find(provider)
            except UnknownProvider as error:
                hint = next((p.hint for p in told if p.hint), error.hint if self.kernel is None else "")
                yield checklist.unknown(error, hint, state, ids)
            except PluginError as error:
                message = self.variables.redact(str(error))
                fix, install = self.repair(provider, error)
                yield Check("node", provider, state, message, fix, ids, install)
            else:
                one = self.listing(provider)
                yield Check("node", provider, "ok", f"{one.distribution} {one.version}" if one else "", "", ids)

    def repair(self, provider: str, error: PluginError) -> tuple[str, list[str]]:
        """What to type where an installed node cannot be used, and what that installs."""
        if type(error).__name__ == "DuplicateProvider":
            names = sorted({one.distribution for one in self.registry.listings() if one.provider == provider})
            return f"pip uninstall {' or '.join(names)}", []
        one = self.listing(provider)
        distribution = error.distribution or (one.distribution if one else "")
        if one is not None and one.problem:
            return f"pip install --upgrade {distribution}", []
        lacking = [checklist.wanted(need) for need in self.requirements.of(distribution) if need.state in ("missing", "version")]
        return (checklist.pip(lacking), lacking) if lacking else (f"pip install --upgrade --force-reinstall {distribution}", [])

    def libraries(self) -> Iterator[Check]:
        users: dict[str, list[str]] = {CORE: []}
        for one in self.registry.plugin_listings():
            users.setdefault(one.distribution, [])
        for component in self.components:
            listing = self.listing(component.provider)
            if listing is not None and listing.distribution:
                users.setdefault(listing.distribution, []).append(component.id)
        for distribution, ids in users.items():
            needs = [need for need in self.requirements.of(distribution) if need.name not in ("Python", CORE)]
            good = [f"{need.name} {need.have}" for need in needs if need.state == "ok"]
            if good and all(need.state == "ok" for need in needs):
                yield Check("library", distribution, "ok", f"has {', '.join(good)}", "", ids)
            for need in needs:
                if need.state != "ok":
                    yield checklist.lacking(need, ids)
            yield from self.extras(distribution, ids) if ids else ()

    def extras(self, distribution: str, ids: Sequence[str]) -> Iterator[Check]:
        for extra in self.requirements.extras(distribution):
            lacking = [need for need in self.requirements.of(distribution, extra) if need.state in ("missing", "version")]
            lacking = [need for need in lacking if need not in self.requirements.of(distribution)]
            if lacking:
                what = ", ".join(need.name for need in lacking)
                message = f"not installed ({what}); whether this pipeline needs it cannot be known, the README of {distribution} can say"
                yield Check(
                    "extra", f"{distribution}[{extra}]", "note", message, checklist.pip([f"{distribution}[{extra}]"]), ids
                )

    # ---- what the file says

    def filled(self) -> Iterator[Check]:
        refused = {p.path for p in self.problems if p.code == "unset-variable" and p.severity == "error"}
        for name, origin in self.variables.origins.items():
            paths = [one.path for one in self.variables.unset if one.name == name]
            if origin and self.variables.get(name):
                yield Check("variable", name, "ok", f"set in {origin}")
            elif origin:
                message = f"empty in {origin}; a default in the file counts, where there is one"
                # What the file gives wins over the environment: an export would not help.
                fix = f"export {name}=…" if origin == "the environment" else f"write {name}=… in the {origin} file"
                yield Check("variable", name, "warn", message, fix)
            elif not paths:
                yield Check("variable", name, "ok", "not set; the default in the file counts")
            elif self.kernel is None or refused.intersection(paths):
                yield Check("variable", name, "miss", f"not set, at {', '.join(paths)}", f"export {name}=…")
            else:
                yield Check(
                    "variable", name, "warn", f"not set, where it takes no effect: {', '.join(paths)}", f"export {name}=…"
                )

    def wrong(self) -> Iterator[Check]:
        for p in self.problems:
            if p.code not in TOLD:
                yield checklist.problem("problem", p.code, p)

    def probed(self) -> Iterator[Check]:
        """What servers and models say; asked is only where the file has no error, as `Kernel.check` does it."""
        if self.kernel is None or any(p.severity == "error" for p in self.problems):
            yield Check("probe", "all", "note", "servers and models were not asked: put the rest right first")
            return
        found = [p for p in self.kernel.check(self.pipe, probe=True, source=self.source) if p not in self.problems]
        for id in dict.fromkeys([*self.asked, *(p.component for p in found)]):
            own = [p for p in found if p.component == id]
            yield from (checklist.problem("probe", id, p) for p in own)
            if not own:
                yield Check("probe", id, "ok", "nothing is missing that it looks for", "", [id])
        if not self.asked and not found:
            yield Check("probe", "all", "note", "no node of this pipeline looks at servers or models")
