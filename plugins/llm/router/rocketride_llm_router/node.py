# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from collections.abc import Sequence

from rocketride_core import (
    ANSWERS,
    LLM,
    QUESTIONS,
    Arity,
    Caller,
    ChatModel,
    Component,
    Expansion,
    Instance,
    Node,
    NodeSpec,
    Question,
    RunError,
    hookimpl,
    on,
    serves,
)

from .breaker import Breaker
from .config import Price, RouterConfig
from .routed import Routed
from .spending import Spending

__all__ = ["Router"]


class Router(Node[RouterConfig]):
    """Stands for the language models connected to it: the next one answers where one cannot."""

    spec = NodeSpec(
        "llm_router",
        title="LLM Router",
        description="Asks several language models in order, until one answers, and keeps to a ceiling on cost.",
        categories=["llm"],
        needs={LLM: Arity(1)},
    )

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        """Changes nothing; looks whether the models named in the config are connected."""
        config = context.config(RouterConfig)
        wired = [
            c.id for c in context.pipe.components if any(_calls(link.control, link.caller, component.id) for link in c.control)
        ]
        there = f"connected are {', '.join(wired) or 'none'}"
        for n, id in enumerate(config.order):
            if id not in wired:
                context.problem(
                    "invalid-value", f"no language model {id!r} is connected to {component.id}; {there}", path=f"order[{n}]"
                )
            elif id in config.order[:n]:
                context.problem("invalid-value", f"{id!r} is there twice", path=f"order[{n}]")
        for id in config.prices:
            if id not in wired:
                told = f"there is a price for {id!r}, which is not connected to {component.id}; {there}"
                context.problem("unused-price", told, path=f"prices.{id}", severity="warning")
        if config.max_cost:
            for id in wired:
                if id not in config.prices:
                    context.problem("missing-value", f"maxCost needs a price for {id}; it may be 0", path="prices")
        return None

    @hookimpl
    def begin_global(self) -> None:
        self._breakers: dict[str, Breaker] = {}
        self._spending: dict[int, Spending] = {}

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        self._spending[id(instance)] = Spending()

    @hookimpl
    def close_instance(self, instance: Instance) -> None:
        self._spending.pop(id(instance), None)

    @on(QUESTIONS, emits=[ANSWERS])
    def answer(self, instance: Instance, question: Question) -> None:
        answer = self._routed(instance).ask(question, on_token=lambda text: instance.event("token", text=text))
        instance.emit(ANSWERS, answer)

    @serves(LLM)
    def chat(self, instance: Instance, caller: Caller) -> ChatModel:
        return self._routed(instance)

    def price_of(self, component: str) -> Price | None:
        """Of a connected model; None where the config has none."""
        price = self.config.prices.get(component)
        if price is None and self.config.max_cost:
            raise RunError(f"maxCost of {self.id} needs a price for {component}", code="missing-value", component=self.id)
        return price

    def breaker_of(self, component: str) -> Breaker:
        """Of a connected model; the same for all entries."""
        found = self._breakers.get(component)
        if found is None:  # setdefault is atomic: whoever comes second gets the first one's
            found = self._breakers.setdefault(component, Breaker(self.config.failures, self.config.cool_down))
        return found

    def _routed(self, instance: Instance) -> Routed:
        places = {id: n for n, id in enumerate(self.config.order)}
        models = sorted(instance.all(LLM), key=lambda served: places.get(served.component, len(places)))
        return Routed(self, instance, models, self._spending[id(instance)])


def _calls(control: str, caller: str, component: str) -> bool:
    return control == LLM.name and caller == component
