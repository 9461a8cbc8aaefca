# SPDX-License-Identifier: MIT
"""From load to close: begin and end, resources per worker, close with grace, forks, process exit, nothing left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nodes import Do, alone, entry, opened, run, wire

from rocketride_core import (
    TEXT,
    Cancelled,
    Component,
    Entry,
    Instance,
    Node,
    NodeSpec,
    PipeFile,
    Problem,
    RunError,
    hookimpl,
    on,
    probing,
)

LINE = "a: do < text start", "b: do < text a", "r: respond < text b"


class Noted(Node[None]):
    """text → text; writes its begin and end into a list of the class."""

    spec = NodeSpec("noted", title="Noted")
    said: list[str] = []

    @hookimpl
    def begin_global(self) -> None:
        self.said.append(f"begin {self.id}")

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        instance.emit(TEXT, text)

    @hookimpl
    def end_global(self) -> None:
        self.said.append(f"end {self.id}")


@pytest.fixture
def said() -> list[str]:
    Noted.said = []
    return Noted.said


# ---- begin and end


def test_begin_goes_consumers_first_and_end_in_reverse(said: list[str]) -> None:
    with opened(
        "a: noted < text start", "b: noted < text a", "c: noted < text a", "d: noted < text b, text c", nodes=[Noted]
    ) as p:
        run(p, TEXT("x"))
        assert said[0] == "begin d"
        assert said[-1] == "begin a"
        assert sorted(said[1:3]) == ["begin b", "begin c"]
        begun = list(said)
    assert said[4:] == [line.replace("begin", "end") for line in reversed(begun)]


def test_two_components_of_one_class_are_two_nodes(said: list[str]) -> None:
    with opened("a: noted < text start", "b: noted < text start", nodes=[Noted]) as p:
        one, two = p.bound.nodes[1:]
    assert one is not two
    assert (one.id, two.id) == ("a", "b")


def test_a_node_has_its_id_title_and_config() -> None:
    seen: list[tuple[str, str, object]] = []

    class Look(Node[None]):
        spec = NodeSpec("look", title="Look")

        @hookimpl
        def begin_global(self) -> None:
            seen.append((self.id, self.title, self.config))

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

    pipe = wire("a: look < text start", "b: look < text start")
    named = PipeFile(
        [*pipe.components[:2], Component("b", "look", input=pipe.components[2].input, name="The second")], source="start"
    )
    with alone(Look).load(named):
        pass
    assert sorted(seen) == [("a", "Look", None), ("b", "The second", None)]


def test_a_pipeline_can_be_loaded_again_and_again(said: list[str]) -> None:
    kernel = alone(Noted)
    for _ in range(3):
        with kernel.load(wire("a: noted < text start", "r: respond < text a")) as p:
            assert run(p, TEXT("x")).checked()[TEXT] == ["x"]
    assert said == ["begin a", "end a"] * 3


def test_one_kernel_runs_two_pipelines_at_once_and_nested_blocks_close_the_right_one(said: list[str]) -> None:
    loading = alone(Noted).load(wire("a: noted < text start", "r: respond < text a"))
    with loading as one, loading as two:
        assert one is not two
        two.close()
        assert run(one, TEXT("x")).checked()[TEXT] == ["x"]
        with pytest.raises(RunError):
            run(two, TEXT("x"))
    assert said == ["begin a", "begin a", "end a", "end a"]


def test_two_kernels_in_one_process_share_nothing() -> None:
    class Named(Node[None]):
        spec = NodeSpec("named", title="One")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(TEXT, "one")

    class Other(Node[None]):
        spec = NodeSpec("named", title="Two")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            instance.emit(TEXT, "two")

    pipe = wire("a: named < text start", "r: respond < text a")
    heard: list[str] = []

    class Ear:
        @hookimpl
        def finish_entry(self, result: Any) -> None:
            heard.append(result[TEXT][0])

    with alone(Named, plugins=[Ear()]).load(pipe) as one, alone(Other).load(pipe) as two:
        assert run(one, TEXT("x"))[TEXT] == ["one"]
        assert run(two, TEXT("x"))[TEXT] == ["two"]
    assert heard == ["one"]


def test_check_global_runs_only_when_asked_on_a_node_that_has_not_begun(said: list[str]) -> None:
    class Probed(Noted):
        spec = NodeSpec("probed", title="Probed")

        @hookimpl
        def check_global(self) -> list[Problem]:
            said.append("check")
            return [Problem("host", "unreachable", "nobody answers")]

    kernel, pipe = alone(Probed), wire("a: probed < text start", "r: respond < text a")
    assert kernel.check(pipe) == []
    (problem,) = kernel.check(pipe, probe=True)
    assert (problem.code, problem.component, problem.path) == ("unreachable", "a", "$.components[1].config.host")
    assert said == ["check"]


def test_nodes_get_ready_for_their_probes_one_after_another_before_the_first_probe(said: list[str]) -> None:
    class Probed(Node[None]):
        spec = NodeSpec("probed", title="Probed")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def prepare_global(self) -> None:
            said.append(f"prepare {threading.current_thread() is threading.main_thread()}")
            if self.id == "b":
                raise ImportError("no module named that")

        @hookimpl
        def check_global(self) -> list[Problem]:
            said.append("check")
            return []

    kernel, pipe = alone(Probed), wire("a: probed < text start", "b: probed < text a", "c: probed < text b")
    kernel.check(pipe)
    assert said == []
    told = [problem for problem in kernel.check(pipe, probe=True) if problem.code == "probe-failed"]
    assert [(problem.component, problem.message) for problem in told] == [("b", "b: no module named that")]
    assert said == ["prepare True"] * 3 + ["check"] * 2


def test_a_probe_that_raises_is_a_problem() -> None:
    class Probed(Node[None]):
        spec = NodeSpec("probed", title="Probed")

        @on(TEXT)
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def check_global(self) -> list[Problem]:
            raise ConnectionError("refused")

    (problem,) = alone(Probed).check(wire("a: probed < text start"), probe=True)[-1:]
    assert (problem.code, problem.component) == ("probe-failed", "a")
    assert "refused" in problem.message


def test_probes_run_at_once_and_one_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Node[None]):
        spec = NodeSpec("slow", title="Slow")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None: ...

        @hookimpl
        def check_global(self) -> list[Problem]:
            meeting.wait(5)  # none comes through before all have come
            hang.wait(10 if self.id == "c" else 0)
            return [Problem("", "seen", self.id)]

    meeting, hang = threading.Barrier(3), threading.Event()
    pipe = wire("a: slow < text start", "b: slow < text a", "c: slow < text b")
    monkeypatch.setattr(probing.probe, "__defaults__", (0.5,))
    found = [(p.component, p.code) for p in alone(Slow).check(pipe, probe=True) if p.code in ("seen", "probe-failed")]
    hang.set()
    assert sorted(found) == [("a", "seen"), ("b", "seen"), ("c", "probe-failed")]


# ---- per worker


@contextmanager
def connection(log: list[str]) -> Iterator[object]:
    log.append(f"+{threading.current_thread().name}")
    yield object()
    log.append("-")


class Pooled(Node[None]):
    """text → text; uses a connection of its thread."""

    spec = NodeSpec("pooled", title="Pooled")
    log: list[str] = []
    used: dict[str, set[int]] = {}

    def connect(self) -> Any:
        return connection(self.log)

    @on(TEXT, emits=[TEXT])
    def text(self, instance: Instance, text: str) -> None:
        one, again = instance.per_worker(self.connect), instance.per_worker(self.connect)
        assert one is again
        self.used.setdefault(threading.current_thread().name, set()).add(id(one))
        time.sleep(0.001)
        instance.emit(TEXT, text)

    @hookimpl
    def end_global(self) -> None:
        self.log.append(f"end {self.id}")


def test_a_resource_per_worker_is_made_once_a_node_and_thread_and_closed_after_end_global() -> None:
    Pooled.log, Pooled.used = [], {}
    with opened(
        "a: pooled < text start", "b: pooled < text a", "r: respond < text b", nodes=[Pooled], kernel={"workers": 3}
    ) as p:
        assert all(r.error is None for r in p.map((Entry(str(n)), [TEXT("x")]) for n in range(60)))
        run(p, TEXT("x")).checked()
        made = [line for line in Pooled.log if line.startswith("+")]
        assert len(made) == 2 * len(set(made)), "one for each of the two nodes"
        assert len(set(made)) == 4, "three workers and the calling thread"
        assert "-" not in Pooled.log
    assert all(len(ids) == 2 for ids in Pooled.used.values())
    assert Pooled.log[8:] == ["end a", "-", "-", "-", "-", "end b", "-", "-", "-", "-"]


# ---- close


def hang(seconds: float, began: threading.Event) -> Any:
    def block(instance: Instance, text: str) -> None:
        began.set()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)
        instance.emit(TEXT, text)

    return {"text": block}


def test_close_waits_for_what_runs() -> None:
    began = threading.Event()
    with opened(*LINE) as p:
        going = p.start(entry("e", a=hang(0.3, began)), TEXT("x"))
        going.__enter__()
        going._end_input()
        began.wait(5)
        p.close(grace=5)
        assert going.result(5).checked()[TEXT] == ["x"]


def test_close_cancels_what_is_not_over_after_the_grace() -> None:
    began = threading.Event()
    journal: list[str] = []
    with opened(*LINE) as p:
        going = p.start(entry("e", journal, a=hang(1.5, began)), TEXT("x"))
        going.__enter__()
        began.wait(5)
        begun = time.monotonic()
        p.close(grace=0.1)
        assert time.monotonic() - begun < 3
        result = going.result(5)
    assert isinstance(result.error, Cancelled)
    assert "the pipeline was closed" in str(result.error)
    assert journal[-2:] == ["close a", "close b"]


def test_close_with_a_hung_handler_comes_back() -> None:
    began, free = threading.Event(), threading.Event()
    said: list[str] = []

    class Ending(Do):
        spec = NodeSpec("ending", title="Ending")

        @hookimpl
        def end_global(self) -> None:
            said.append(self.id)

    def stuck(*_: object) -> None:
        began.set()
        free.wait(30)

    with opened("a: ending < text start", "r: respond < text a", nodes=[Ending]) as p:
        going = p.start(entry("e", a={"text": stuck}), TEXT("x"))
        going.__enter__()
        began.wait(5)
        begun = time.monotonic()
        p.close(grace=0.2)
        assert time.monotonic() - begun < 4
        assert said == []  # it must not end under the handler that still runs
        free.set()
        assert isinstance(going.result(5).error, Cancelled)
        for _ in range(100):
            if said:
                break
            time.sleep(0.02)
        assert said == ["a"]


def test_after_close_everything_is_refused() -> None:
    with opened(*LINE) as p:
        waiting = p.start(Entry("early"), TEXT("x"))
        mapped = p.map([(Entry("m"), [TEXT("x")])])
    calls: list[Any] = [
        lambda: run(p, TEXT("x")),
        lambda: p.start(Entry("e"), TEXT("x")),
        lambda: p.submit(Entry("e"), TEXT("x")),
        lambda: list(p.map([(Entry("e"), [TEXT("x")])])),
        lambda: p.map([]),
        lambda: next(mapped),
        lambda: waiting.result(5),
        lambda: waiting.result(5),
    ]
    for call in calls:
        with pytest.raises(RunError) as caught:
            call()
        assert caught.value.code == "pipeline-closed"
    p.close()


def test_close_is_called_once_by_whoever_comes_first() -> None:
    Noted.said = []
    with opened("a: noted < text start", "r: respond < text a", nodes=[Noted]) as p:
        threads = [threading.Thread(target=p.close) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert Noted.said == ["begin a", "end a"]


def test_close_waits_for_entries_on_the_hosts_own_threads() -> None:
    began = threading.Event()
    results: list[Any] = []
    with opened(*LINE) as p:
        thread = threading.Thread(target=lambda: results.append(p.run(entry("e", a=hang(0.4, began)), TEXT("x"))))
        thread.start()
        began.wait(5)
        p.close()
        thread.join(5)
    assert results[0].checked()[TEXT] == ["x"]


def test_children_of_an_entry_that_runs_while_the_pipeline_closes_are_not_lost() -> None:
    began = threading.Event()

    def spawn(instance: Instance, text: str) -> None:
        if text == "parent":
            instance.spawn(Entry("child"), TEXT("child"))
            began.set()
            time.sleep(0.3)
        instance.emit(TEXT, text)

    class Spawner(Node[None]):
        spec = NodeSpec("spawner", title="Spawner")

        @on(TEXT, emits=[TEXT])
        def text(self, instance: Instance, text: str) -> None:
            spawn(instance, text)

    with opened("a: spawner < text start", "r: respond < text a", nodes=[Spawner]) as p:
        going = p.start(Entry("e"), TEXT("parent"))
        going.__enter__()
        going._end_input()
        began.wait(5)
        p.close(grace=5)
        result = going.result(5).checked()
    assert [child.checked()[TEXT] for child in result.children] == [["child"]]


def test_a_run_whose_host_went_away_after_a_failure_does_not_hold_up_close() -> None:
    with opened(*LINE) as p:
        going = p.start(entry("e", a={"text": lambda *_: 1 / 0}))
        going.__enter__()
        going.send(TEXT("x"))
        time.sleep(0.1)
        begun = time.monotonic()
        p.close(grace=2)
        assert time.monotonic() - begun < 1
        assert isinstance(going.result(5).error, RunError)


def test_leaving_the_block_by_an_error_does_not_wait_for_the_grace() -> None:
    began = threading.Event()
    begun = time.monotonic()
    with pytest.raises(LookupError), opened(*LINE) as p:
        going = p.start(entry("e", a=hang(1, began)), TEXT("x"))
        going.__enter__()
        began.wait(5)
        raise LookupError
    assert time.monotonic() - begun < 4


# ---- nothing left behind


def test_a_closed_pipeline_is_collected() -> None:
    class Kept(Do):
        spec = NodeSpec("kept", title="Kept")

    kernel = alone(Kept)
    with kernel.load(wire("a: kept < text start", "r: respond < text a")) as p:
        run(p, TEXT("x")).checked()
        p.start(Entry("e"), TEXT("x")).result(5).checked()
        list(p.map([(Entry("e"), [TEXT("x")])]))
        pipeline, node, program = weakref.ref(p), weakref.ref(p.bound.nodes[1]), p.bound.program
        before = len(gc.get_referrers(program))
    assert before
    del p, program
    gc.collect()
    assert pipeline() is None
    assert node() is None
    kernel_alive = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert kernel_alive() is None


def test_a_closed_pipeline_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with opened(*LINE) as p:
        list(p.map((Entry(str(n)), [TEXT("x")]) for n in range(20)))
        list(p.map([(Entry("m"), [TEXT("x")])], workers=2))
        p.run(Entry("e"), TEXT("x"), timeout=5)
        assert set(threading.enumerate()) - before
    end = time.monotonic() + 3
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert set(threading.enumerate()) - before == set()


def test_an_unlaunched_run_leaves_nothing() -> None:
    with opened(*LINE) as p:
        p.start(Entry("never begun"), TEXT("x"))
        begun = time.monotonic()
        p.close()
        assert time.monotonic() - begun < 1


# ---- forks and the end of the process


def python(code: str, *, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """A process of its own with the tests' nodes."""
    head = "import os, sys, threading, time\nfrom nodes import *\nfrom rocketride_core import *\n"
    folders = [str(Path(__file__).parent), *[p for p in sys.path if p]]
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("leave", ["os._exit(0)", "sys.exit(0)"])
def test_a_forked_child_is_refused_and_ends_well(leave: str) -> None:
    done = python(
        f"""
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        with opened("a: do < text start", "r: respond < text a") as p:
            assert len(list(p.map((Entry(str(n)), [TEXT("x")]) for n in range(20)))) == 20
            half = p.map(((Entry(str(n)), [TEXT("x")]) for n in range(100)), workers=3)
            next(half)
            child = os.fork()
            if child == 0:
                half.close()
                for call in (lambda: p.run(Entry("e"), TEXT("x")), lambda: p.start(Entry("e")), lambda: p.submit(Entry("e")),
                             lambda: list(p.map([(Entry("e"), [TEXT("x")])]))):
                    try:
                        call()
                    except RunError as error:
                        assert error.code == "forked", error.code
                    else:
                        os._exit(3)
                with opened("a: do < text start", "r: respond < text a") as own:
                    assert own.run(Entry("e"), TEXT("x")).checked()[TEXT] == ["x"]
                    assert own.start(Entry("e"), TEXT("x")).result(10).checked()[TEXT] == ["x"]
                {leave}
            end = time.monotonic() + 20
            while time.monotonic() < end:
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.02)
            else:
                os.kill(child, 9)
                sys.exit("the child hangs")
            assert os.waitstatus_to_exitcode(status) == 0, status
            assert p.run(Entry("e"), TEXT("y")).checked()[TEXT] == ["y"]
            assert len(list(half)) == 99
        print("parent ok")
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "parent ok"


@pytest.mark.slow
def test_a_forked_child_does_not_end_the_nodes_of_its_parent() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    done = python(
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        class Ending(Do):
            spec = NodeSpec("ending", title="Ending")
            @hookimpl
            def end_global(self): print("end in", "child" if os.getpid() != main else "parent", flush=True)
        main = os.getpid()
        with opened("a: ending < text start", nodes=[Ending]) as p:
            child = os.fork()
            if child: os.waitpid(child, 0)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["end in parent"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "handler",
    ["time.sleep(60)", "sum(i for i in iter(int, 1))", "threading.Event().wait()", "instance.emit(TEXT, 'x')"],
    ids=["hung in C", "hung in Python", "hung in a lock", "running"],
)
def test_the_process_ends_well_with_busy_workers_and_no_close(handler: str) -> None:
    begun = time.monotonic()
    done = python(
        f"""
        began = threading.Event()
        class Busy(Node[None]):
            spec = NodeSpec("busy", title="Busy")
            @on(TEXT, emits=[TEXT])
            def text(self, instance, text):
                began.set()
                {handler}
        pipeline = alone(Busy).open(wire("a: busy < text start", "r: respond < text a"))
        for n in range(4):
            pipeline.submit(Entry("e"), TEXT("x"))
        assert began.wait(10)
        print("leaving")
        """
    )
    assert (done.returncode, done.stdout.strip()) == (0, "leaving"), done.stderr
    assert time.monotonic() - begun < 20


@pytest.mark.slow
def test_the_process_ends_well_after_close_gave_a_hung_worker_up() -> None:
    done = python(
        """
        began = threading.Event()
        def stuck(instance, text):
            began.set()
            time.sleep(60)
        with opened("a: do < text start", "r: respond < text a") as p:
            going = p.start(entry("e", a={"text": stuck}), TEXT("x"))
            going.__enter__()
            assert began.wait(10)
            p.close(grace=0.1)
        print("closed")
        """
    )
    assert (done.returncode, done.stdout.strip()) == (0, "closed"), done.stderr


@pytest.mark.slow
def test_the_process_ends_well_on_an_unhandled_error_inside_the_block() -> None:
    done = python(
        """
        with opened("a: do < text start", "r: respond < text a") as p:
            p.submit(entry("e", a={"text": lambda *_: time.sleep(30)}), TEXT("x"))
            time.sleep(0.1)
            raise LookupError("of the host")
        """
    )
    assert done.returncode == 1
    assert "LookupError: of the host" in done.stderr
    assert "Fatal" not in done.stderr


@pytest.mark.slow
def test_spawned_children_of_multiprocessing_run_their_own_pipelines(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "from nodes import *\nfrom rocketride_core import *\n"
        "def work(text):\n"
        "    with opened('a: mark < text start', 'r: respond < text a') as p:\n"
        "        return p.run(Entry('e'), TEXT(text)).checked()[TEXT]\n"
    )
    done = python(
        f"""
        sys.path.insert(0, {str(tmp_path)!r})
        import multiprocessing
        import job
        with opened("a: mark < text start", "r: respond < text a") as p:
            list(p.map((Entry(str(n)), [TEXT("x")]) for n in range(8)))
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                print(pool.map(job.work, ["a", "b", "c"]))
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[['a>a'], ['b>a'], ['c>a']]"


def test_importing_starts_nothing_and_reads_no_environment() -> None:
    code = "import sys, threading, rocketride_core, rocketride_core.kernel\nassert threading.active_count() == 1\n"
    code += "assert not {'asyncio', 'numpy', 'importlib.metadata'} & set(sys.modules), sorted(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_kernels_words_for_wrong_settings() -> None:
    with pytest.raises(ValueError, match="trace is off, calls or payloads"):
        alone(trace="loud")
    with pytest.raises(ValueError, match="workers is a number of threads"):
        alone(workers=-1)
