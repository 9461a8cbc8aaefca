# SPDX-License-Identifier: MIT
"""What a failure does: where it is named, what it stops, what it leaves alone."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from nodes import Script, alone, entry, opened, raising, run, straight, wire

from rocketride_core import TEXT, Entry, EntryStopped, Instance, Node, NodeSpec, RunError, hookimpl, on
from rocketride_core.results import EntryResult

LINE = "a: do < text start", "h: testing_hostile < text a", "b: do < text h", "r: respond < text b"


def failed(result: EntryResult, component: str, phase: str, cause: str, lane: str = "") -> RunError:
    error = result.error
    assert error is not None
    assert (error.component, error.phase, error.lane, error.entry) == (component, phase, lane, "e")
    assert str(error.__cause__) == cause
    assert str(error).startswith(f"{component}: ")
    assert str(error).endswith(cause)
    return error


# ---- each phase


def test_a_failure_while_opening_leaves_the_node_unopened_and_closes_the_others() -> None:
    journal: list[str] = []
    with opened(*LINE, h={"fail": ["open"]}) as p:
        result = run(p, TEXT("x"), journal=journal)
    failed(result, "h", "open", "hostile open")
    assert journal == ["open b", "close b"]
    assert result[TEXT] == []


def test_a_failure_in_a_handler_stops_siblings_and_flushes() -> None:
    journal: list[str] = []
    lines = "a: do < text start", "h: testing_hostile < text a", "b: do < text a", "r: respond < text h, text b"
    with opened(*lines, h={"fail": ["handler"], "when": "y"}) as p:
        result = run(p, TEXT("x"), TEXT("y"), TEXT("z"), journal=journal)
    failed(result, "h", "handler", "hostile handler", "text")
    assert journal == ["open b", "open a", "text a x", "text b x", "text a y", "close a", "close b"]
    assert result[TEXT] == ["x", "x"], "the partial response stays"


def test_a_failure_in_a_flush_skips_the_flushes_after_it() -> None:
    journal: list[str] = []
    with opened(*LINE, h={"fail": ["flush"]}) as p:
        result = run(p, TEXT("x"), journal=journal)
    failed(result, "h", "flush", "hostile flush")
    assert "flush a" in journal
    assert "flush b" not in journal
    assert journal[-2:] == ["close a", "close b"]
    assert result[TEXT] == ["x"]


def test_a_close_that_fails_alone_is_the_error_of_the_entry() -> None:
    journal: list[str] = []
    with opened(*LINE, h={"fail": ["close"]}) as p:
        result = run(p, TEXT("x"), journal=journal, b={"close": raising(KeyError("second"))})
    error = failed(result, "h", "close", "hostile close")
    assert [(note.component, note.phase) for note in result.notes] == [("b", "close")]
    assert "then, in b (close)" in "\n".join(error.__notes__)
    assert journal[-2:] == ["close a", "close b"]


def test_the_first_failure_wins_and_close_errors_are_notes() -> None:
    with opened(*LINE, h={"fail": ["handler", "close"]}) as p:
        result = run(p, TEXT("x"))
    failed(result, "h", "handler", "hostile handler", "text")
    assert [(note.component, note.phase, str(note.__cause__)) for note in result.notes] == [("h", "close", "hostile close")]


def test_a_failure_in_begin_ends_what_has_begun_and_opens_nothing() -> None:
    said: list[str] = []

    class Loud(Node[None]):
        spec = NodeSpec("loud", title="Loud")

        @hookimpl
        def begin_global(self) -> None:
            said.append(f"begin {self.id}")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def end_global(self) -> None:
            said.append(f"end {self.id}")

    lines = "a: loud < text start", "h: testing_hostile < text a", "b: loud < text h", "r: respond < text b"
    with pytest.raises(RunError) as caught, opened(*lines, nodes=[Loud], h={"fail": ["begin"]}):
        raise AssertionError("it must not open")
    assert (caught.value.component, caught.value.phase, str(caught.value.__cause__)) == ("h", "begin", "hostile begin")
    assert said == ["begin b", "end b"]


def test_a_failure_in_end_is_told_by_close_and_hinders_no_other_node() -> None:
    said: list[str] = []

    class Loud(Node[None]):
        spec = NodeSpec("loud", title="Loud")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def end_global(self) -> None:
            said.append(self.id)

    lines = "a: loud < text start", "h: testing_hostile < text a", "b: loud < text h", "r: respond < text b"
    with pytest.raises(RunError) as caught, opened(*lines, nodes=[Loud], h={"fail": ["end"]}):
        pass
    assert (caught.value.component, caught.value.phase) == ("h", "end")
    assert said == ["a", "b"]


def test_a_failing_end_does_not_hide_the_error_of_the_block() -> None:
    with pytest.raises((LookupError, RunError)) as caught, opened(*LINE, h={"fail": ["end"]}):
        raise LookupError("of the block")
    seen: BaseException | None = caught.value
    while seen is not None and not isinstance(seen, LookupError):
        seen = seen.__context__
    assert seen is not None


def test_the_component_is_the_one_whose_handler_let_it_out() -> None:
    with opened(*straight("do", 5)) as p:
        result = run(p, TEXT("x"), n3={"text": raising(ValueError("deep"))})
    failed(result, "n3", "handler", "deep", "text")


def test_a_failure_after_an_emit() -> None:
    def emit_then_fail(instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)
        raise ValueError("afterwards")

    with opened(*LINE) as p:
        result = run(p, TEXT("x"), TEXT("y"), a={"text": emit_then_fail})
    failed(result, "a", "handler", "afterwards", "text")
    assert result[TEXT] == ["x"]


# ---- EntryStopped


def test_no_except_exception_of_a_node_swallows_the_end_of_an_entry() -> None:
    went_on: list[str] = []

    def careless(instance: Instance, text: str) -> None:
        for _ in range(3):
            try:
                instance.emit(TEXT, text)
            except Exception as error:
                went_on.append(repr(error))
        went_on.append("after")

    with opened(*LINE) as p:
        result = run(p, TEXT("x"), a={"text": careless}, b={"text": raising(ValueError("below"))})
    failed(result, "b", "handler", "below", "text")
    assert went_on == []


def test_a_node_that_catches_everything_cannot_emit_any_more() -> None:
    met: list[type[BaseException]] = []

    def stubborn(instance: Instance, text: str) -> None:
        for _ in range(3):
            try:
                instance.emit(TEXT, text)
            except BaseException as error:
                met.append(type(error))

    with opened(*LINE) as p:
        result = run(p, TEXT("x"), TEXT("y"), a={"text": stubborn}, b={"text": raising(ValueError("below"))})
    failed(result, "b", "handler", "below", "text")
    assert met == [EntryStopped] * 3


def test_an_emit_in_close_after_a_failure_unwinds_and_is_no_error_of_its_own() -> None:
    with opened(*LINE) as p:
        result = run(p, TEXT("x"), a={"close": lambda i: i.emit(TEXT, "late")}, b={"text": raising(ValueError("below"))})
    failed(result, "b", "handler", "below", "text")
    assert result.notes == ()


# ---- what a failure leaves alone


def test_other_entries_go_on() -> None:
    with opened(*LINE, h={"fail": ["handler"], "when": "bad"}) as p:
        assert run(p, TEXT("bad")).error is not None
        assert run(p, TEXT("good")).checked()[TEXT] == ["good"]
        results = {r.entry.name: r for r in p.map((Entry(str(n)), [TEXT("bad" if n % 3 else "good")]) for n in range(30))}
    assert {name for name, r in results.items() if r.error} == {str(n) for n in range(30) if n % 3}


def test_responding_and_reporting_after_a_failure() -> None:
    def close(instance: Instance) -> None:
        instance.respond("post mortem", TEXT("it failed"))
        instance.report(LookupError("and this"))

    with opened(*LINE, h={"fail": ["handler"]}) as p:
        result = run(p, TEXT("x"), a={"close": close})
    failed(result, "h", "handler", "hostile handler", "text")
    assert result[TEXT] == ["it failed"]
    assert [(note.component, note.phase) for note in result.notes] == [("a", "close")]


def test_a_report_is_the_error_without_stopping() -> None:
    def report(instance: Instance, text: str) -> None:
        instance.report(ValueError(f"about {text}"))
        instance.emit(TEXT, text)

    journal: list[str] = []
    with opened(*LINE) as p:
        result = run(p, TEXT("x"), TEXT("y"), journal=journal, a={"text": report})
    failed(result, "a", "handler", "about x", "text")
    assert result[TEXT] == ["x", "y"]
    assert [str(note.__cause__) for note in result.notes] == ["about y"]
    assert "flush b" in journal


def test_a_failure_after_a_report_still_stops_the_entry() -> None:
    def report(instance: Instance, text: str) -> None:
        instance.report(ValueError("reported"))
        instance.emit(TEXT, text)

    journal: list[str] = []
    with opened(*LINE) as p:
        result = run(p, TEXT("x"), TEXT("y"), journal=journal, a={"text": report}, b={"text": raising(KeyError("k"))})
    failed(result, "a", "handler", "reported", "text")
    assert [(note.component, repr(note.__cause__)) for note in result.notes] == [("b", "KeyError('k')")]
    assert "text a y" not in journal
    assert not any(line.startswith("flush") for line in journal)


def test_checked_raises_the_error_with_its_cause_and_notes() -> None:
    cause = ValueError("first")
    cause.add_note("a note of the node")
    with opened(*LINE) as p, pytest.raises(RunError, match="^a: .*first") as caught:
        run(p, TEXT("x"), a={"text": raising(cause)}, b={"close": raising(LookupError("later"))}).checked()
    assert caught.value.__cause__ is cause
    assert "a note of the node" in caught.value.__notes__


def test_one_exception_object_raised_in_two_entries_is_placed_twice() -> None:
    error = RunError("always the same")
    with opened(*LINE) as p:
        first, second = run(p, TEXT("x"), a={"text": raising(error)}), run(p, TEXT("x"), b={"text": raising(error)})
    assert first.error is not None
    assert second.error is not None
    assert (first.error.component, second.error.component) == ("a", "b")


def test_no_name_no_message() -> None:
    with opened(*LINE) as p:
        result = run(p, TEXT("x"), a={"text": raising(LookupError())})
    assert str(result.error) == "a: LookupError"


# ---- resources


@contextmanager
def resource(name: str, journal: list[str], *, fail: bool = False) -> Iterator[str]:
    journal.append(f"+{name}")
    try:
        yield name
    finally:
        journal.append(f"-{name}")
        if fail:
            raise OSError(f"{name} cannot be closed")


def test_what_an_instance_enters_is_closed_after_its_close_hook_last_first() -> None:
    journal: list[str] = []
    enter: Script = {"text": lambda i, _: (i.enter(resource("one", journal)), i.enter(resource("two", journal)))}
    with opened("a: do < text start", "b: do < text a", "r: respond < text b") as p:
        assert run(p, TEXT("x"), journal=journal, a=enter).error is None
    assert journal[-4:] == ["close a", "-two", "-one", "close b"]


@pytest.mark.parametrize("phase", ["open", "text", "flush", "close"])
def test_what_an_instance_enters_is_closed_when_a_later_line_fails(phase: str) -> None:
    def enter_and_fail(instance: Instance, *_: str) -> None:
        assert instance.enter(resource("one", journal)) == "one"
        instance.enter(resource("two", journal))
        raise ValueError("later")

    journal: list[str] = []
    with opened("a: do < text start", "b: do < text a", "r: respond < text b") as p:
        result = run(p, TEXT("x"), journal=journal, a={phase: enter_and_fail})
    assert journal.count("-one") == journal.count("-two") == 1
    assert journal.index("-two") < journal.index("-one") < journal.index("close b")
    assert ("close a" in journal) == (phase != "open")
    assert result.error is not None


def test_a_resource_that_cannot_be_closed_is_an_error_of_phase_close() -> None:
    journal: list[str] = []
    enter: Script = {"text": lambda i, _: (i.enter(resource("one", journal)), i.enter(resource("two", journal, fail=True)))}
    with opened("a: do < text start", "r: respond < text a") as p:
        result = run(p, TEXT("x"), a=enter)
    assert result.error is not None
    assert (result.error.component, result.error.phase) == ("a", "close")
    assert journal == ["+one", "+two", "-two", "-one"]


def test_what_a_node_enters_is_closed_after_its_end_in_reverse() -> None:
    journal: list[str] = []

    class Holder(Node[None]):
        spec = NodeSpec("holder", title="Holder")

        @hookimpl
        def begin_global(self) -> None:
            self.enter(resource("one", journal))
            self.enter(resource("two", journal))

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def end_global(self) -> None:
            journal.append("end")

    with opened("a: holder < text start", "r: respond < text a", nodes=[Holder]):
        pass
    assert journal == ["+one", "+two", "end", "-two", "-one"]


def test_what_a_node_enters_is_closed_when_a_later_line_of_begin_fails() -> None:
    journal: list[str] = []

    class Holder(Node[None]):
        spec = NodeSpec("holder", title="Holder")

        @hookimpl
        def begin_global(self) -> None:
            self.enter(resource("one", journal, fail=True))
            self.enter(resource("two", journal))
            raise ConnectionError("nobody there")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def end_global(self) -> None:
            journal.append("end")

    with (
        pytest.raises(RunError, match="nobody there") as caught,
        opened("a: holder < text start", "r: respond < text a", nodes=[Holder]),
    ):
        pass
    assert journal == ["+one", "+two", "-two", "-one"]
    told = [*getattr(caught.value, "__notes__", []), *getattr(caught.value.__cause__, "__notes__", [])]
    assert any("one cannot be closed" in note for note in told)


# ---- signals and other ends


def test_a_keyboard_interrupt_inside_a_handler_closes_everything_and_reaches_the_host() -> None:
    journal: list[str] = []

    def press(instance: Instance, text: str) -> None:
        signal.raise_signal(signal.SIGINT)
        time.sleep(5)

    with opened(*LINE) as p:
        with pytest.raises(KeyboardInterrupt):
            run(p, TEXT("x"), journal=journal, b={"text": press})
        assert journal[-2:] == ["close a", "close b"]
        assert not any(line.startswith("flush") for line in journal)
        assert run(p, TEXT("y")).checked()[TEXT] == ["y"]


def test_a_keyboard_interrupt_from_another_thread_ends_a_blocking_handler() -> None:
    main = threading.main_thread()

    def press() -> None:
        time.sleep(0.2)
        assert main.ident is not None
        signal.pthread_kill(main.ident, signal.SIGINT)

    journal: list[str] = []
    with opened(*LINE) as p:
        thread = threading.Thread(target=press)
        thread.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run(p, TEXT("x"), journal=journal, b={"text": lambda *_: time.sleep(10)})
        thread.join()
        assert time.monotonic() - begun < 5
        assert journal[-2:] == ["close a", "close b"]


def test_system_exit_in_a_handler_reaches_the_host_of_run() -> None:
    with opened(*LINE) as p, pytest.raises(SystemExit):
        run(p, TEXT("x"), b={"text": raising(SystemExit(3))})


def test_system_exit_in_a_handler_on_a_worker_is_an_error_of_the_entry() -> None:
    with opened(*LINE) as p:
        with p.start(entry("e", b={"text": raising(SystemExit(3))}), TEXT("x")) as started:
            result = started.result(10)
        failed(result, "b", "handler", "3", "text")
        with p.start(entry("e"), TEXT("x")) as started:
            assert started.result(10)[TEXT] == ["x"]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_an_exit_in_a_coroutine_reaches_the_host_and_the_loop_goes_on(kind: type[BaseException]) -> None:
    async def leave() -> None:
        raise kind

    async def stay() -> str:
        return "here"

    with opened(*LINE) as p:
        with pytest.raises(kind):
            run(p, TEXT("x"), b={"text": lambda instance, text: instance.wait(leave(), timeout=5)})
        heard: list[str] = []
        run(p, TEXT("y"), b={"text": lambda instance, text: heard.append(instance.wait(stay(), timeout=5))}).checked()
        assert heard == ["here"]


def test_a_message_tells_no_value_that_came_from_a_variable() -> None:
    def tell(self: Any, instance: Instance, text: str) -> None:
        raise ValueError(f"refused key {self.config}")

    with alone(env={"ROCKETRIDE_KEY": "s3cret-value"}).load(
        wire("h: testing_hostile < text start", h={"when": "${ROCKETRIDE_KEY}"})
    ) as p:
        result = run(p, TEXT("s3cret-value"))
    assert "s3cret-value" not in str(result.error)
