# SPDX-License-Identifier: MIT
"""`nodes list` imports no node; `nodes show NAME` imports that one."""

from __future__ import annotations

import argparse
import json
from typing import Any

import attrs

from rocketride_core.registry import Registry, UnknownProvider

from .arguments import Usage

__all__ = ["execute", "facts_of"]


def execute(args: argparse.Namespace) -> int:
    if args.what == "show":
        if not args.name:
            raise Usage("nodes show NAME: the name is missing; `rocketride-core nodes list` has them")
        return _show(args.name, args.json)
    if args.name:
        raise Usage(f"nodes list takes no name; write `rocketride-core nodes show {args.name}`")
    registry = Registry()
    nodes, plugins = registry.listings(), registry.plugin_listings()
    if args.json:
        for kind, listings in (("node", nodes), ("plugin", plugins)):
            for one in listings:
                print(json.dumps({"kind": kind, **attrs.asdict(one)}))
        return 0
    if not nodes:
        print("no node is installed; try: pip install rocketride-sources rocketride-response rocketride-prompt")
    wide = max((len(one.provider) for one in [*nodes, *plugins]), default=0)
    for one in nodes:
        print(f"{one.provider:{wide}}  {one.distribution} {one.version}{_problem(one.problem)}")
    if plugins:
        print("\nhost plugins:")
    for one in plugins:
        print(f"{one.provider:{wide}}  {one.distribution} {one.version}{_problem(one.problem)}")
    return 0


def _problem(text: str) -> str:
    return f"  ! {text}" if text else ""


def _show(name: str, as_json: bool) -> int:
    registry = Registry()
    try:
        cls = registry.find(name)
    except UnknownProvider as error:
        raise Usage(f"{error}{f'; {error.hint}' if error.hint else ''}") from error
    listing = next((one for one in registry.listings() if one.provider == cls.spec.provider), None)
    facts = facts_of(cls)
    facts["distribution"] = f"{listing.distribution} {listing.version}" if listing else ""
    if as_json:
        from rocketride_core.schema import config_schema

        print(json.dumps({**facts, "schema": config_schema(cls.config_class)}))
        return 0
    print("\n".join(_lines(facts)))
    return 0


def facts_of(cls: Any) -> dict[str, Any]:
    """What `nodes show --json` tells of a node, but for its distribution and its schema."""
    from rocketride_core.compiler import is_source
    from rocketride_core.structure import fields_of

    spec, manifest = cls.spec, cls.manifest
    lanes = {lane: [out.name for out in outs] for lane, (_, _, outs) in manifest.on.items()}
    settings = [_setting(field) for field in fields_of(cls.config_class)] if attrs.has(cls.config_class or type(None)) else []
    return {
        "provider": spec.provider,
        "title": spec.title,
        "description": spec.description,
        "categories": list(spec.categories),
        "aliases": list(spec.aliases),
        "docs": spec.docs,
        "experimental": spec.experimental,
        "lanes": lanes,
        "emits": [lane.name for lane in manifest.outs],
        "source": "active" if manifest.source else "passive" if is_source(cls) else "",
        "serves": list(manifest.offers),
        "needs": {control.name: [arity.least, arity.most] for control, arity in spec.needs.items()},
        "tools": list(manifest.tools),
        "profiles": {profile.id: {"title": profile.title, "deprecated": profile.deprecated} for profile in spec.profiles},
        "settings": settings,
    }


def _setting(field: Any) -> dict[str, Any]:
    from rocketride_core.kinds import name_of

    setting = field.setting
    default = field.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        default = None if default.takes_self else default.factory()
    limits = [f"at least {setting.ge:g}"] if setting.ge is not None else []
    limits += [f"at most {setting.le:g}"] if setting.le is not None else []
    limits += [f"one of {', '.join(map(str, setting.choices))}"] if setting.choices else []
    return {
        "key": setting.key,
        "type": name_of(field.kind),
        "required": field.required,
        "default": None if field.required else _plain(default),
        "unit": setting.unit,
        "title": setting.title,
        "doc": setting.doc,
        "limits": limits,
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    provider = getattr(value, "provider", None)
    return provider if isinstance(provider, str) else str(value)


def _lines(facts: dict[str, Any]) -> list[str]:
    out = [f"{facts['provider']}: {facts['title']}" + (" (experimental)" if facts["experimental"] else "")]
    out += [f"  {text}" for text in (facts["description"], facts["docs"]) if text]
    named = {
        "from": facts["distribution"],
        "categories": ", ".join(facts["categories"]),
        "also called": ", ".join(facts["aliases"]),
        "source": facts["source"] and f"{facts['source']}, emits {', '.join(facts['emits'])}",
        "serves": ", ".join(facts["serves"]),
        "needs": ", ".join(f"{name} {_arity(*arity)}" for name, arity in facts["needs"].items()),
        "tools": ", ".join(facts["tools"]),
    }
    out += [f"  {word}: {text}" for word, text in named.items() if text]
    out += ["  lanes:"] * bool(facts["lanes"])
    out += [f"    {lane} -> {', '.join(outs) or 'nothing'}" for lane, outs in facts["lanes"].items()]
    out += ["  profiles:"] * bool(facts["profiles"])
    for n, (name, said) in enumerate(facts["profiles"].items()):
        notes = ["default"] * (n == 0) + [f"deprecated: {said['deprecated']}"] * bool(said["deprecated"])
        out.append(f"    {name}" + (f" ({'; '.join(notes)})" if notes else "") + (f"  {said['title']}" if said["title"] else ""))
    out += ["  settings:"] * bool(facts["settings"])
    for one in facts["settings"]:
        default = "required" if one["required"] else f"default {json.dumps(one['default'], ensure_ascii=False)}"
        details = "; ".join([f"{one['type']}{' in ' + one['unit'] if one['unit'] else ''}", default, *one["limits"]])
        out.append(f"    {one['key']}  ({details})" + (f"  {one['doc'] or one['title']}" if one["doc"] or one["title"] else ""))
    return out


def _arity(least: int, most: int | None) -> str:
    if least == most:
        return f"(exactly {least})"
    return f"({least} or more)" if most is None else f"({least} to {most})"
