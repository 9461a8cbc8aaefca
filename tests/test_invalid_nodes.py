# SPDX-License-Identifier: MIT
"""Wrong node classes fail when they are made, in words that say what to do. Tools: test_tool_schemas."""

# mypy: disable-error-code="misc, arg-type, type-var, override, no-untyped-def"

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from rocketride_core import (
    ANSWERS,
    LLM,
    QUESTIONS,
    TEXT,
    Caller,
    Instance,
    InvalidNode,
    Lane,
    Node,
    NodeSpec,
    hookimpl,
    on,
    serves,
    source,
)

SPEC = NodeSpec("bad", title="Bad")


def refused(make: Callable[[], Any]) -> str:
    with pytest.raises(InvalidNode) as caught:
        make()
    return str(caught.value)


def body(**members: Any) -> Callable[[], Any]:
    """Makes a class `Bad` of these members."""
    return lambda: type("Bad", (Node,), {"spec": SPEC, "__module__": __name__, **members})


# ---- handlers


def test_a_handler_takes_self_instance_and_payload() -> None:
    def text(self, text): ...

    line = inspect.getsourcelines(text)[1]
    message = refused(body(text=on(TEXT)(text)))
    assert (
        message
        == f"{__name__}.Bad.text (line {line}): a handler of lane 'text' takes (self, instance, payload); it takes (self, text)"
    )


@pytest.mark.parametrize(
    "handler",
    [
        lambda self, instance, payload, more: None,
        lambda self: None,
        lambda: None,
        lambda self, instance, payload, *, more: None,
    ],
    ids=["four", "one", "none", "keyword"],
)
def test_other_numbers_of_arguments(handler: Any) -> None:
    assert "takes (self, instance, payload); it takes (" in refused(body(text=on(TEXT)(handler)))


@pytest.mark.parametrize(
    "handler",
    [
        lambda self, instance, payload: None,
        lambda self, instance, payload, more=1: None,
        lambda self, *args: None,
        lambda self, instance, payload, *, more=1: None,
        lambda this, one, text: None,
    ],
)
def test_what_can_be_called_so_is_right(handler: Any) -> None:
    assert body(text=on(TEXT)(handler))().manifest.on["text"][1] == "text"


def test_a_lane_has_one_handler() -> None:
    def one(self, instance, text): ...
    def two(self, instance, text): ...

    message = refused(body(one=on(TEXT)(one), two=on(TEXT)(two)))
    assert "lane 'text' has a handler already: one; a lane has one" in message


def test_a_stacked_handler_takes_several_lanes() -> None:
    class Good(Node[None]):
        spec = SPEC

        @on(TEXT, emits=[ANSWERS])
        @on(QUESTIONS)
        def any(self, instance: Instance, payload: object) -> None: ...

    assert set(Good.manifest.on) == {"text", "questions"}
    assert [lane.name for lane in Good.manifest.outs] == ["answers"]


def test_async_handlers_are_refused() -> None:
    async def text(self, instance, text): ...

    assert "are not async; use instance.wait(coroutine)" in refused(body(text=on(TEXT)(text)))


def test_async_generators_are_refused() -> None:
    async def text(self, instance, text):
        yield

    assert "are not async" in refused(body(text=on(TEXT)(text)))


def test_an_override_without_its_mark_is_refused() -> None:
    class Base(Node[None]):
        spec = SPEC

        @on(TEXT, emits=[ANSWERS])
        def text(self, instance: Instance, text: str) -> None: ...

    def text(self, instance, text): ...

    message = refused(lambda: type("Sub", (Base,), {"text": text, "__module__": __name__}))
    assert "overrides a method that is marked @on(TEXT); mark it as well, or give it another name" in message


def test_a_subclass_inherits_and_may_mark_anew() -> None:
    class Base(Node[None]):
        spec = SPEC

        @on(TEXT, emits=[ANSWERS])
        def text(self, instance: Instance, text: str) -> None: ...

    class Same(Base):
        spec = NodeSpec("same", title="Same")

    class Other(Base):
        spec = NodeSpec("other", title="Other")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

    assert [lane.name for lane in Same.manifest.outs] == ["answers"]
    assert [lane.name for lane in Other.manifest.outs] == ["text"]


def test_more_output_lanes_than_there_are_bits() -> None:
    lanes = [Lane.of(f"acme.lane{n}", str) for n in range(65)]
    assert "it declares 65 output lanes; a node has at most 64" in refused(body(spec=NodeSpec("bad", title="Bad", emits=lanes)))
    assert len(body(spec=NodeSpec("bad", title="Bad", emits=lanes[:64]))().manifest.outs) == 64


# ---- hooks


def test_a_method_named_like_a_hook_without_its_mark() -> None:
    def open_instance(self, instance): ...

    message = refused(body(open_instance=open_instance))
    assert "Bad.open_instance (line " in message
    assert "it is named like the hook open_instance; write @hookimpl above it, or give it another name" in message


def test_a_hook_that_does_not_exist_is_told_with_the_nearest() -> None:
    def open_instence(self, instance): ...

    assert "there is no hook open_instence; did you mean open_instance?" in refused(body(open_instence=hookimpl(open_instence)))


def test_a_hook_that_is_nothing_like_any() -> None:
    def xyz(self): ...

    assert "there is no hook xyz; there are begin_global, " in refused(body(xyz=hookimpl(xyz)))


@pytest.mark.parametrize("name", ["invoke_tool", "wrap_control", "finish_entry", "add_commands"])
def test_hooks_of_hosts_are_not_for_nodes(name: str) -> None:
    def hook(self, instance): ...

    assert f"{name} is a hook for host plugins, not for nodes" in refused(body(**{name: hookimpl(hook)}))


def test_a_hook_takes_what_it_takes() -> None:
    def open_instance(self, inst): ...

    assert "the hook open_instance takes (self, instance); it takes (self, inst)" in refused(
        body(open_instance=hookimpl(open_instance))
    )


def test_a_hook_may_take_fewer_arguments() -> None:
    def open_instance(self): ...

    assert "open_instance" in body(open_instance=hookimpl(open_instance))().manifest.hooks


def test_async_hooks_are_refused() -> None:
    async def begin_global(self): ...

    assert "hooks are not async; use self.wait(coroutine) in begin_global" in refused(body(begin_global=hookimpl(begin_global)))


def test_wrappers_are_for_hosts() -> None:
    def open_instance(self, instance):
        return (yield)

    assert "wrappers are for host plugins" in refused(body(open_instance=hookimpl(wrapper=True)(open_instance)))


def test_an_expansion_is_a_class_method() -> None:
    def expand_component(self, component, context): ...

    assert "write @classmethod above @hookimpl" in refused(body(expand_component=hookimpl(expand_component)))


# ---- controls, sources, spec


def test_a_factory_of_a_control_takes_self_instance_and_caller() -> None:
    def model(self, instance): ...

    assert "a factory of control 'llm' takes (self, instance, caller); it takes (self, instance)" in refused(
        body(model=serves(LLM)(model))
    )


def test_a_control_is_served_once() -> None:
    def one(self, instance: Instance, caller: Caller) -> Any: ...
    def two(self, instance: Instance, caller: Caller) -> Any: ...

    assert "control 'llm' is there twice in this class" in refused(body(one=serves(LLM)(one), two=serves(LLM)(two)))


def test_a_source_takes_self_and_feed_and_there_is_one() -> None:
    def run(self): ...
    def feed(self, feed): ...

    assert "a source takes (self, feed); it takes (self)" in refused(body(run=source(emits=[TEXT])(run)))
    twice = body(one=source(emits=[TEXT])(lambda self, feed: None), two=source(emits=[TEXT])(feed))
    assert "a node has one @source; one is one already" in refused(twice)


@pytest.mark.parametrize("spec", ["bad", {"provider": "bad"}, NodeSpec])
def test_a_spec_is_a_node_spec(spec: Any) -> None:
    assert 'spec must be a NodeSpec("provider", title="…")' in refused(body(spec=spec))


@pytest.mark.parametrize("spec", [NodeSpec("", title="Bad"), NodeSpec("bad", title="")])
def test_a_spec_has_a_provider_and_a_title(spec: NodeSpec) -> None:
    assert "its NodeSpec needs a provider and a title" in refused(body(spec=spec))


def test_a_base_class_needs_no_spec() -> None:
    class Base(Node[None]):
        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

    assert list(Base.manifest.on) == ["text"]


def test_helpers_and_attributes_are_left_alone() -> None:
    class Good(Node[None]):
        spec = SPEC
        table = {"a": 1}
        helper = staticmethod(len)

        def open(self) -> None: ...

        @property
        def on(self) -> int:
            return 1

    assert Good.manifest.hooks == frozenset()
