# SPDX-License-Identifier: MIT
"""StoreNode: everything that vector stores have in common, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Annotated, Any, TypeVar

import attrs

from rocketride_core import (
    ANSWERS,
    DOCUMENTS,
    EMBEDDING,
    OPTIONAL,
    QUESTIONS,
    Component,
    Document,
    Expansion,
    Instance,
    NodeSpec,
    Param,
    Problem,
    Question,
    Secret,
    hookimpl,
    on,
    tool,
)

from .asking import Asker
from .backend import Server
from .config import AsWritten, StoreConfig
from .errors import StoreError
from .filters import Where
from .keeper import Keeper, other_metric
from .patience import Patience
from .patient import Patient
from .placed import Placed
from .probing import Findings, introduced, probe, unmade
from .results import answered
from .tools import Deleted, Searched, SearchFilter, ToolDocument, Upserted, delete, search, upsert
from .wiring import bad_name, open_key, tile, with_embedding
from .writing import OBJECTS, Pending, Writer, batched

__all__ = ["StoreNode"]

# At the first connect a wrong address is likelier than a server that is about to start; one that says "not yet" is waited for.
FIRST = ("unavailable", "rate-limit")
S = TypeVar("S", bound=StoreConfig)


class StoreNode(Placed[S]):
    """Documents in; questions to documents, answers and questions; search, upsert and delete as tools.

    A store writes `spec`, `connect` and a backend class, and where they apply `server` and `name_rule`. That it needs an
    embedding at most, is a store and a tool, keeps what it gets, and what its tile shows, is added to its spec here.

    Documents of one object replace what the store had of it: new chunks are written first, then the rest of the
    old ones is removed, so that the object can always be found. The second step happens when the object is complete;
    an object that fails keeps its old chunks beside the new ones until it is stored again.
    """

    backend: Patient
    keeper: Keeper

    def __init_subclass__(cls, **kwargs: Any) -> None:
        spec = cls.__dict__.get("spec")
        if isinstance(spec, NodeSpec):
            categories = list(dict.fromkeys([*spec.categories, "store", "tool"]))
            needs = {EMBEDDING: OPTIONAL, **spec.needs}
            cls.spec = attrs.evolve(spec, categories=categories, needs=needs, stores=True, tile=spec.tile or tile(spec))
        super().__init_subclass__(**kwargs)

    def mark_deleted(self, object_ids: Sequence[str]) -> int:
        """Hide objects from every question that does not ask for `isDeleted`; the number of their chunks. Nothing is removed."""
        return self._mark(object_ids, True)

    def mark_active(self, object_ids: Sequence[str]) -> int:
        """Undo `mark_deleted`."""
        return self._mark(object_ids, False)

    def inspect(self) -> Findings:
        """Who answers, and what the collection records: a probe of three seconds, on a connection of its own.

        A folder that is not there, or is empty, is only looked at: nobody answers, and its database is made later.

        Raises:
            StoreError: what is wrong.
        """
        self.prepare()
        if self.folder is not None and unmade(self.folder):
            return Findings(Server(), None)
        return probe(self.connected, self.patience(), explain=self.explain)

    def patience(self) -> Patience:
        """How the database is asked: retries and their limits from the config, names and secrets for messages."""
        config = self.config
        secrets = [value.reveal() for value in attrs.asdict(config, recurse=False).values() if isinstance(value, Secret)]
        return Patience(
            store=self.spec.title,
            component=self.id,
            address=self.address,
            attempts=config.max_attempts,
            delay=config.retry_delay,
            seconds=config.max_time,
            hide=secrets,
        )

    # ---- hooks

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:
        """Adds the node of the block `embedding`; says what is wrong with the collection's name, or open about its key, before
        anything connects."""
        # A few values alone: what else is wrong with the config must not hide this.
        written = context.config(AsWritten)
        bad_name(component, context, cls.spec.title, cls.name_rule, written.collection)
        open_key(component, context, written, cls.in_the_open)
        return with_embedding(component, context, written.embedding)

    @hookimpl
    def begin_global(self) -> None:
        rule = self.name_rule(self.config.collection)
        if rule:
            raise ValueError(f"the collection's name is not one that {self.spec.title} takes: it takes {rule}")
        self.prepare()
        patience = self.patience()
        first = attrs.evolve(patience, kinds=FIRST)
        backend = self.enter(closing(first.do(self.explain, self.connected)))
        introduced(backend, first)
        self.backend = Patient(backend, patience)
        self.keeper = Keeper(self.backend, self.config.collection, self.config.similarity, patience.placed)
        self.keeper.accept(Patient(backend, first).collection())

    @hookimpl
    def prepare_global(self) -> None:
        self.prepare()

    @hookimpl
    def check_global(self) -> Iterable[Problem]:
        try:
            found = self.inspect()
        except (StoreError, ValueError) as error:  # connect() says by a ValueError what of the config does not fit
            yield Problem("", "probe-failed", str(error), component=self.id)
            return
        misfit = other_metric(found.collection, self.config.similarity)
        if misfit:
            yield Problem("similarity", "probe-failed", misfit, component=self.id)

    @hookimpl
    def open_instance(self, instance: Instance) -> None:
        embedder = instance.maybe(EMBEDDING)
        if embedder is not None and self.keeper.seen:
            self.keeper.for_embedder(embedder.dimension, embedder.model)

    @hookimpl
    def flush_instance(self, instance: Instance) -> None:
        if instance.state(Pending).numbers:
            self._writer(instance, instance.state(Pending)).finish()

    # ---- lanes

    @on(DOCUMENTS)
    def store(self, instance: Instance, documents: Sequence[Document]) -> None:
        self._writer(instance, instance.state(Pending)).add(documents)

    @on(QUESTIONS, emits=[DOCUMENTS, ANSWERS, QUESTIONS])
    def ask(self, instance: Instance, question: Question) -> None:
        self._writer(instance, instance.state(Pending)).write()
        answered(instance, question, self._asker(instance).find(question))

    # ---- tools

    @tool(concurrent=True)
    def search(
        self,
        instance: Instance,
        query: Annotated[str, Param("What to look for, in words.", min_length=1)],
        top_k: Annotated[int, Param("How many results at most.", ge=1, le=100)] = 10,
        filter: Annotated[SearchFilter | None, Param("Where to look; everywhere if not given.")] = None,
    ) -> Searched:
        """Search the stored texts for those closest in meaning to a query. Scores are from 0 to 1, 1 is best."""
        return search(self._asker(instance), query, top_k, filter)

    @tool
    def upsert(
        self,
        instance: Instance,
        documents: Annotated[list[ToolDocument], Param("What to store.")],
    ) -> Upserted:
        """Store texts so that they can be searched. All texts of one object_id together replace what was stored of that object."""
        return upsert(self._writer(instance, Pending()), documents)

    @tool
    def delete(
        self, instance: Instance, object_ids: Annotated[list[str], Param("The objects to remove; an empty list removes nothing.")]
    ) -> Deleted:
        """Remove everything that is stored of these objects, for good. The count is of the objects that were there."""
        store = self.backend.within(instance)
        return delete(store, self.keeper.within(store), object_ids)

    # ---- parts

    def _writer(self, instance: Instance, pending: Pending) -> Writer:
        store = self.backend.within(instance)
        return Writer(
            store=store,
            keeper=self.keeper.within(store),
            collection=self.config.collection,
            largest=self.config.payload_limit,
            embedder=instance.maybe(EMBEDDING),
            component=self.id,
            instance=instance,
            pending=pending,
        )

    def _asker(self, instance: Instance) -> Asker:
        store = self.backend.within(instance)
        return Asker(
            store=store,
            keeper=self.keeper.within(store),
            least=self.config.score,
            limit=self.config.limit,
            embedder=instance.maybe(EMBEDDING),
            component=self.id,
            instance=instance,
        )

    def _mark(self, object_ids: Sequence[str], deleted: bool) -> int:
        if not object_ids or self.keeper.known() is None:
            return 0
        marked = 0
        for some in batched(dict.fromkeys(object_ids), OBJECTS):
            ids = self.backend.ids(Where().and_in("objectId", some))
            self.backend.mark(ids, deleted)
            marked += len(ids)
        return marked
