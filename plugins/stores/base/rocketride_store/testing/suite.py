# SPDX-License-Identifier: MIT
"""What every backend must do, as a pytest class."""

from __future__ import annotations

from ..backend import VectorStore
from ..errors import StoreError
from ..probing import checked_version
from .finding import Finding
from .storing import Storing

__all__ = ["StoreSuite"]


class StoreSuite(Storing, Finding):
    """Subclass it and write `make`; each test gets a new folder.

    What a store does otherwise than others it says in its `Capabilities`; a subclass that overrides a part of the suite is a
    TypeError, and one that skips a part fails.
    """

    def test_it_says_who_it_is(self, store: VectorStore) -> None:
        server = store.about()
        assert server.product, "the product's name, for messages"
        if store.capabilities.minimum:
            assert server.version, "without a version the least one cannot be checked"
        checked_version(store, server)

    def test_its_capabilities_are_possible(self, store: VectorStore) -> None:
        able = store.capabilities
        assert set(able.metrics) <= {"cosine", "ip", "l2"}
        assert able.largest == 0 or able.largest >= 1000, "the limits of users are in the hundreds"
        assert 1 <= able.batch <= 500, "no write has more chunks than 500"
        assert able.request == 0 or able.request >= 64 << 10, "a chunk's vector and text have kilobytes"
        assert able.number >= 1
        assert able == store.capabilities, "they do not change"

    def test_it_explains_what_passes_and_what_does_not(self, store: VectorStore) -> None:
        refused, late = store.explain(ConnectionRefusedError("refused")), store.explain(TimeoutError("late"))
        assert isinstance(refused, StoreError)
        assert isinstance(late, StoreError)
        assert (refused.kind, refused.passing) == ("connection", True)
        assert (late.kind, late.passing) == ("timeout", True)
        assert store.explain(ZeroDivisionError("a mistake")) is None
        assert store.explain(KeyError("a mistake")) is None
