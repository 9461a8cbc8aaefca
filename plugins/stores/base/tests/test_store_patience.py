# SPDX-License-Identifier: MIT
"""Errors say what is wrong; what passes is tried again, inside the limits, and nothing else is."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from rocketride_store import (
    Capabilities,
    Collection,
    InMemory,
    Patience,
    Patient,
    Server,
    StoreError,
    VectorStore,
    Where,
    by_status,
    raw_threshold,
    similarity,
    transport,
)
from rocketride_store.errors import SENTENCES, Kind
from rocketride_store.probing import checked_version, introduced, probe
from rocketride_store.testing import vector

QUICK = Patience(store="Qdrant", component="store_1", address="localhost:6333", attempts=3, delay=0.001, hide=["s3cret"])


class Failing(InMemory):
    """Raises these, one a call, then works."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__("c")
        self.errors, self.calls = list(errors), 0

    def ids(self, where: Where, /) -> list[str]:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return ["found"]


@pytest.mark.parametrize("error", [ConnectionResetError("x"), TimeoutError(), by_status(503), by_status(429)])
def test_what_passes_is_tried_again(error: Exception) -> None:
    store = Failing(error, error)
    assert Patient(store, QUICK).ids(Where()) == ["found"]
    assert store.calls == 3


def test_the_last_error_is_told_with_all_names_and_no_secret() -> None:
    store = Failing(*(ConnectionRefusedError("refused: key s3cret") for _ in range(3)))
    with pytest.raises(StoreError) as caught:
        Patient(store, QUICK).ids(Where())
    assert str(caught.value) == (
        "Qdrant cannot be reached at localhost:6333; is it running, and is its address right?: refused: key *** (asked 3 times)"
    )
    assert caught.value.args == ("connection", "refused: key ***")


def _chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError("key s3cret"),
        _chained(ConnectionRefusedError("refused"), ValueError("key s3cret")),
        _chained(StoreError("invalid", "refused"), ValueError("key s3cret")),
        _chained(StoreError("invalid", "refused"), _chained(RuntimeError("x"), ValueError("key s3cret"))),
    ],
)
def test_an_exception_that_repeats_a_secret_is_not_in_the_chain(error: Exception) -> None:
    with pytest.raises(StoreError) as caught:
        Patient(Failing(error, error, error), QUICK).ids(Where())
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None


def test_an_exception_without_a_secret_is_the_cause() -> None:
    for error in (ConnectionRefusedError("no"), _chained(StoreError("invalid"), ValueError("no"))):
        with pytest.raises(StoreError) as caught:
            Patient(Failing(error, error, error), QUICK).ids(Where())
        assert isinstance(caught.value.__cause__, ConnectionRefusedError | ValueError)


def test_each_wait_is_twice_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    clock = [0.0]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr("rocketride_store.patience.SLICE", 1000.0)
    monkeypatch.setattr("rocketride_store.patience.time", SimpleNamespace(sleep=sleep, monotonic=lambda: clock[0]))
    store = Failing(*(ConnectionResetError("x") for _ in range(8)))
    assert Patient(store, Patience(store="S", attempts=9, delay=0.5, seconds=1000)).ids(Where()) == ["found"]
    assert waits == pytest.approx([0.5, 1, 2, 4, 8, 16, 30, 30])


@pytest.mark.parametrize("kind", ["authentication", "permission", "version", "not-found", "invalid", "not-confirmed", "mismatch"])
def test_what_does_not_pass_is_raised_at_once(kind: Kind) -> None:
    store = Failing(StoreError(kind))
    with pytest.raises(StoreError, match="Qdrant|This does not fit"):
        Patient(store, QUICK).ids(Where())
    assert store.calls == 1


def test_a_mistake_of_the_program_is_let_through() -> None:
    store = Failing(KeyError("oops"))
    with pytest.raises(KeyError, match="oops"):
        Patient(store, QUICK).ids(Where())


def test_a_wait_that_would_end_too_late_is_not_begun() -> None:
    store = Failing(*(by_status(503, retry_after=60.0) for _ in range(3)))
    started = time.monotonic()
    with pytest.raises(StoreError, match="cannot serve requests now"):
        Patient(store, Patience(store="S", seconds=5)).ids(Where())
    assert store.calls == 1
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 413, 429, 500, 503, 504, 507])
def test_every_status_has_a_kind(status: int) -> None:
    error = by_status(status, "key=abc")
    assert f"HTTP {status}" in str(error)
    assert error.passing == (status in (408, 429, 500, 503, 504))
    assert ("key=abc" in str(error)) == (status != 401)


def test_every_kind_is_one_sentence() -> None:
    for kind, sentence in SENTENCES.items():
        assert ". " not in sentence, kind
        assert "{" not in str(StoreError(kind)), kind  # type: ignore[arg-type]


def test_libraries_are_known_by_name_also_as_a_cause() -> None:
    made: Callable[[str, str], type[Exception]] = lambda module, name: type(name, (Exception,), {"__module__": module})  # noqa: E731

    class Code:
        name = "DEADLINE_EXCEEDED"

    call = type("RpcError", (Exception,), {"__module__": "grpc", "code": lambda self: Code(), "details": lambda self: "late"})
    vendor = RuntimeError("vendor")
    vendor.__cause__ = made("httpx._exceptions", "ConnectTimeout")("x")
    told = {
        "timeout": [made("httpx", "ReadTimeout")("x"), made("requests", "ReadTimeout")("x"), vendor, call()],
        "connection": [made("httpx", "TransportError")("x"), made("urllib3.exceptions", "ProtocolError")("x"), BrokenPipeError()],
        "bad-reply": [made("httpx", "DecodingError")("x")],
    }

    class Response:
        status_code, text, headers = 503, "resuming", {"retry-after": "7"}

    broken = made("httpx", "HTTPStatusError")("x")
    broken.response = Response()  # type: ignore[attr-defined]
    vendors = RuntimeError("resuming")
    vendors.__context__ = broken
    status = transport(vendors)
    assert status is not None
    assert (status.kind, status.status, status.detail, status.retry_after) == ("unavailable", 503, "resuming", 7.0)
    for kind, errors in told.items():
        for error in errors:
            found = transport(error)
            assert found is not None, error
            assert found.kind == kind, error
    assert transport(ValueError("x")) is None
    assert transport(made("mine", "ConnectTimeout")("x")) is None


@pytest.mark.parametrize(("found", "fits"), [("1.8", True), ("1.8.0", True), ("v1.10.2-rc1", True), ("1.7.9", False), ("", True)])
def test_an_old_server_is_named_with_what_is_needed(found: str, fits: bool) -> None:
    class Old(InMemory):
        capabilities = Capabilities(exact=True, persistent=False, minimum="1.8")

    if fits:
        checked_version(Old("c"), Server("Qdrant", found))
        return
    with pytest.raises(StoreError, match=r"Qdrant 1.7.9 is too old: 1.8 or newer is needed") as caught:
        checked_version(Old("c"), Server("Qdrant", found))
    assert caught.value.kind == "version"


def test_a_probe_ends_in_time_and_closes_what_came_late() -> None:
    closed: list[str] = []

    class Late(InMemory):
        def about(self) -> Server:
            time.sleep(0.3)
            return Server("Late")

        def close(self) -> None:
            closed.append("late")

    started = time.monotonic()
    with pytest.raises(StoreError, match="did not answer in time at localhost:6333") as caught:
        probe(lambda: Late("c"), QUICK, seconds=0.05)
    assert time.monotonic() - started < 0.25
    assert caught.value.kind == "timeout"
    while not closed and time.monotonic() - started < 5:
        time.sleep(0.01)
    assert closed == ["late"]
    assert probe(lambda: InMemory("c"), QUICK).server == Server("memory")


@pytest.mark.parametrize(
    ("code", "said", "kind", "detail"),
    [
        ("UNIMPLEMENTED", "unknown method", "version", "unknown method"),
        ("UNIMPLEMENTED", "Received http2 header with status: 404", "bad-reply", "Received http2 header with status: 404"),
        ("RESOURCE_EXHAUSTED", "too many", "rate-limit", "too many"),
        ("RESOURCE_EXHAUSTED", "Sent message larger than max (9 vs. 4)", "too-large", "Sent message larger than max (9 vs. 4)"),
        ("UNAUTHENTICATED", "bad key s3cret", "authentication", ""),
    ],
)
def test_what_grpc_says(code: str, said: str, kind: str, detail: str) -> None:
    parts = {"__module__": "grpc", "code": lambda self: SimpleNamespace(name=code), "details": lambda self: said}
    told = transport(type("RpcError", (Exception,), parts)())
    assert told is not None
    assert (told.kind, told.detail) == (kind, detail)


def test_a_server_that_knows_nothing_of_what_it_is_asked_first_is_another_one() -> None:
    class Elsewhere(InMemory):
        def about(self) -> Server:
            raise KeyError("/version")

        def explain(self, error: Exception, /) -> StoreError | None:
            return by_status(404, "<html>") if isinstance(error, KeyError) else None

        def collection(self) -> Collection | None:
            raise KeyError("c")

    for ask in (lambda: introduced(Elsewhere("c"), QUICK), lambda: probe(lambda: Elsewhere("c"), QUICK)):
        with pytest.raises(StoreError, match="cannot be read; is it really the server that the config means") as caught:
            ask()  # type: ignore[no-untyped-call]
        assert (caught.value.kind, caught.value.status) == ("bad-reply", 404)
    with pytest.raises(StoreError, match="no such database, tenant or collection"):
        Patient(Elsewhere("c"), QUICK).collection()


def test_more_than_a_store_can_give_is_an_error_that_says_so() -> None:
    class Small(InMemory):
        capabilities = Capabilities(exact=True, persistent=False, largest=1000)

    store: VectorStore = Patient(Small("c"), QUICK)
    store.search(vector(1, 0, 0), Where(), 1000)
    with pytest.raises(StoreError, match="at most 1000 results at once"):
        store.search(vector(1, 0, 0), Where(), 1001)
    with pytest.raises(StoreError, match="at most 1000 results at once"):
        store.select(Where(), offset=990, limit=11)


@pytest.mark.parametrize("metric", ["cosine", "ip", "l2"])
@pytest.mark.parametrize("least", [0.0, 0.1, 0.5, 0.75, 1.0])
def test_a_raw_threshold_never_cuts_what_the_base_keeps(metric: str, least: float) -> None:
    raw = raw_threshold(metric, least)
    if raw is None:
        assert least == 0
        return
    assert abs(similarity(metric, max(raw, 0.0) if metric == "l2" else raw) - least) < 1e-5
    with pytest.raises(ValueError, match="manhattan"):
        raw_threshold("manhattan", 0.5)


def test_many_ids_are_sent_in_parts_and_only_the_part_that_failed_again() -> None:
    class Counting(InMemory):
        def __init__(self) -> None:
            super().__init__("c")
            self.asked: list[tuple[str, int, str]] = []

        def delete(self, ids: Sequence[str], /) -> None:
            self.asked.append(("delete", len(ids), ids[0]))
            if len(self.asked) == 2:
                raise ConnectionResetError

        def mark(self, ids: Sequence[str], deleted: bool, /) -> None:
            self.asked.append((f"mark {deleted}", len(ids), ids[0]))

    store = Counting()
    patient = Patient(store, QUICK)
    patient.delete([str(number) for number in range(1100)])
    patient.mark([str(number) for number in range(501)], True)
    patient.delete([])
    patient.mark([], False)
    assert store.asked == [
        ("delete", 500, "0"),
        ("delete", 500, "500"),
        ("delete", 500, "500"),
        ("delete", 100, "1000"),
        ("mark True", 500, "0"),
        ("mark True", 1, "500"),
    ]
