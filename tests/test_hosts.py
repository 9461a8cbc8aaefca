# SPDX-License-Identifier: MIT
"""Host plugins: who is called when, wrappers, what does not fit, and that nothing is paid where none takes part."""

from __future__ import annotations

from collections.abc import Generator
from types import MethodType, ModuleType
from typing import Any

import pluggy
import pytest
from nodes import Do, alone, opened, raising, run, wire

from rocketride_core import TEXT, Instance, Node, PluginLoad, RunError, hookimpl
from rocketride_core.pipeline import RunningPipeline

LINE = "a: do < text start", "r: respond < text a"


class Watch:
    """Notes every hook it sees, under its name."""

    def __init__(self, name: str, said: list[str]) -> None:
        self.name, self.said = name, said

    @hookimpl
    def begin_global(self, node: Node[Any]) -> None:
        self.said.append(f"{self.name} begin {node.id}")

    @hookimpl
    def open_instance(self, node: Node[Any], instance: Instance) -> None:
        assert instance.entry.name == "e"
        self.said.append(f"{self.name} open {node.id}")

    @hookimpl
    def flush_instance(self, node: Node[Any]) -> None:
        self.said.append(f"{self.name} flush {node.id}")

    @hookimpl
    def close_instance(self, node: Node[Any], instance: Instance) -> None:
        self.said.append(f"{self.name} close {node.id}")

    @hookimpl
    def finish_entry(self, pipeline: RunningPipeline, result: Any) -> None:
        self.said.append(f"{self.name} finish {result.entry.name} {result.error is None} {pipeline.source.id}")

    @hookimpl
    def end_global(self, node: Node[Any]) -> None:
        self.said.append(f"{self.name} end {node.id}")


def test_a_host_plugin_sees_every_hook_of_every_node() -> None:
    said: list[str] = []
    with opened("a: mark < text start", "r: respond < text a", kernel={"plugins": [Watch("w", said)]}) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x>a"]
    assert said == [
        *("w begin r", "w begin a", "w begin start"),
        *("w open r", "w open a", "w flush a", "w flush r", "w close a", "w close r", "w finish e True start"),
        *("w end start", "w end a", "w end r"),
    ]


def test_the_nodes_own_hooks_run_beside_those_of_hosts() -> None:
    journal: list[str] = []
    said: list[str] = []
    with opened(*LINE, kernel={"plugins": [Watch("w", said)]}) as p:
        run(p, TEXT("x"), journal=journal).checked()
    assert journal == ["open a", "text a x", "flush a", "close a"]
    assert "w open a" in said


def test_the_last_registered_is_called_first_and_tryfirst_wins() -> None:
    said: list[str] = []

    class First:
        @hookimpl(tryfirst=True)
        def close_instance(self, node: Node[Any]) -> None:
            if node.id == "a":
                said.append("tryfirst close a")

    plugins = [First(), Watch("one", said), Watch("two", said)]
    with opened(*LINE, kernel={"plugins": plugins}) as p:
        run(p, TEXT("x")).checked()
    assert [line for line in said if line.endswith("close a")] == ["tryfirst close a", "two close a", "one close a"]
    assert [line for line in said if "finish" in line] == ["two finish e True start", "one finish e True start"]


def test_a_wrapper_stands_around_the_nodes_own_hook() -> None:
    said: list[str] = []

    class Around:
        @hookimpl(wrapper=True)
        def flush_instance(self, node: Node[Any], instance: Instance) -> Generator[None, Any, Any]:
            said.append(f"before {node.id}")
            try:
                return (yield)
            finally:
                said.append(f"after {node.id}")

    class Flushing(Do):
        spec = Do.spec

        @hookimpl
        def flush_instance(self, instance: Instance) -> None:
            said.append(f"own {self.id}")

    kernel = {"plugins": [Around()]}
    with alone(**kernel).load(wire("a: collect < text start", "r: respond < text a")) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["a(x)"]
        assert said == ["before a", "after a", "before r", "after r"]


def test_a_wrapper_may_turn_an_error_of_the_node_into_another() -> None:
    class Softer:
        @hookimpl(wrapper=True)
        def open_instance(self, node: Node[Any]) -> Generator[None, Any, Any]:
            try:
                return (yield)
            except ValueError as error:
                raise PermissionError("not for you") from error

    with opened(*LINE, kernel={"plugins": [Softer()]}) as p:
        error = run(p, TEXT("x"), a={"open": raising(ValueError("own"))}).error
    assert error is not None
    assert (error.component, error.phase) == ("a", "open")
    assert isinstance(error.__cause__, PermissionError)


def test_a_wrapper_may_skip_an_error_and_the_entry_goes_on() -> None:
    class Forgive:
        @hookimpl(wrapper=True)
        def flush_instance(self, node: Node[Any]) -> Generator[None, Any, Any]:
            try:
                return (yield)
            except ValueError:
                return []

    with opened(*LINE, kernel={"plugins": [Forgive()]}) as p:
        assert run(p, TEXT("x"), a={"flush": raising(ValueError("own"))}).checked()[TEXT] == ["x"]


@pytest.mark.parametrize("hook", ["open", "flush", "close"])
def test_an_error_of_a_host_plugin_is_the_error_of_the_entry_at_that_node(hook: str) -> None:
    def guard(node: Node[Any]) -> None:
        if node.id == "a":
            raise PermissionError("the host says no")

    plugin = ModuleType("guarding")
    setattr(plugin, f"{hook}_instance", hookimpl(guard))
    with opened(*LINE, kernel={"plugins": [plugin]}) as p:
        error = run(p, TEXT("x")).error
    assert error is not None
    assert (error.component, error.phase, str(error.__cause__)) == ("a", hook, "the host says no")


def test_an_error_of_a_host_plugin_in_begin_refuses_the_pipeline() -> None:
    class Guard:
        @hookimpl
        def begin_global(self, node: Node[Any]) -> None:
            raise PermissionError("not on this machine")

    with pytest.raises(RunError, match="not on this machine") as caught, opened(*LINE, kernel={"plugins": [Guard()]}):
        pass
    assert caught.value.phase == "begin"


# ---- what does not fit


class UnknownHook:
    @hookimpl
    def open_instence(self) -> None: ...


class UnknownArgument:
    @hookimpl
    def open_instance(self, knot: object) -> None: ...


class OldWrapper:
    @hookimpl(wrapper=True)
    def open_instance(self) -> None: ...


@pytest.mark.parametrize("plugin", [UnknownHook(), UnknownArgument(), OldWrapper()], ids=lambda p: type(p).__name__)
def test_a_plugin_that_does_not_fit_is_named_with_its_cause(plugin: object) -> None:
    with pytest.raises(PluginLoad) as caught:
        alone(plugins=[plugin])
    assert str(caught.value).startswith(f"host plugin {type(plugin).__name__}: ")
    assert "docs/hooks.md" in str(caught.value)


def test_two_plugins_of_one_class_are_two_plugins() -> None:
    said: list[str] = []
    with opened(*LINE, kernel={"plugins": [Watch("one", said), Watch("two", said)]}):
        pass
    assert "one begin a" in said
    assert "two begin a" in said


def test_one_object_twice_is_refused() -> None:
    watch = Watch("w", [])
    with pytest.raises(PluginLoad, match="Watch"):
        alone(plugins=[watch, watch])


def test_an_object_without_hooks_is_no_plugin_but_no_error() -> None:
    with opened(*LINE, kernel={"plugins": [object()]}) as p:
        assert run(p, TEXT("x")).checked()[TEXT] == ["x"]


def test_a_module_may_be_a_plugin() -> None:
    said: list[str] = []
    module = ModuleType("my_host")
    vars(module)["finish_entry"] = hookimpl(lambda result: said.append(result.entry.name))
    with opened(*LINE, kernel={"plugins": [module]}) as p:
        run(p, TEXT("x")).checked()
    assert said == ["e"]


def test_a_plugin_registered_after_the_kernel_was_made_does_not_apply() -> None:
    said: list[str] = []
    plugins: list[object] = []
    kernel = alone(plugins=plugins)
    plugins.append(Watch("late", said))
    with kernel.load(wire(*LINE)) as p:
        kernel.hosts.plugins.append(("later", Watch("later", said)))
        run(p, TEXT("x")).checked()
    assert said == []


# ---- the price


def test_a_hook_nobody_wraps_is_the_bound_method_and_an_absent_one_is_nothing() -> None:
    with opened("a: collect < text start", "r: respond < text a") as p:
        collect, respond = p.bound.relays[1], p.bound.relays[2]
        flush = collect.hook("flush_instance")
        assert isinstance(flush, MethodType)
        assert flush.__self__ is p.bound.nodes[1]
        assert collect.hook("open_instance") is None
        assert respond.hook("flush_instance") is None
        assert respond.wrapped("wrap_control") is None
        assert all(relay._manager is None for relay in p.bound.relays)


def test_only_the_hooks_that_a_plugin_implements_go_through_pluggy() -> None:
    class OnlyClose:
        @hookimpl
        def close_instance(self, node: Node[Any]) -> None: ...

    with opened(*LINE, kernel={"plugins": [OnlyClose()]}) as p:
        relay = p.bound.relays[1]
        assert isinstance(relay.hook("open_instance"), MethodType)
        close = relay.hook("close_instance")
        assert close is not None
        assert not isinstance(close, MethodType)


def test_a_line_without_host_plugins_calls_no_pluggy_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(*LINE) as p:

        def refuse(*args: object, **kwargs: object) -> None:
            raise AssertionError("pluggy was called")

        with monkeypatch.context() as patch:  # pytest itself lives on pluggy
            patch.setattr(pluggy.HookCaller, "__call__", refuse)
            result = run(p, TEXT("x"))
    assert result.checked()[TEXT] == ["x"]
