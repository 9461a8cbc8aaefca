# SPDX-License-Identifier: MIT
"""`run`: objects through a pipeline, or a source that fetches by itself until Ctrl-C."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rocketride_core.blob import Blob
from rocketride_core.entry import Entry
from rocketride_core.errors import PipeError, RunError
from rocketride_core.hookspecs import hookimpl
from rocketride_core.lanes import QUESTIONS, Packet
from rocketride_core.payloads import Question
from rocketride_core.pipefile import PipeFile, inspect_pipe
from rocketride_core.results import EntryResult

from .arguments import Usage
from .inputs import STDIN, collect, file_object, stdin_object
from .interrupt import Interrupt
from .overrides import apply, environment
from .progress import Reporter

if TYPE_CHECKING:
    from rocketride_core.kernel import Kernel
    from rocketride_core.pipeline import RunningPipeline

__all__ = ["execute", "read_pipe", "trace_target"]

Work = tuple[Entry, Sequence[Packet]]


def execute(args: argparse.Namespace) -> int:
    with ExitStack() as stack:
        return _execute(args, trace_target(args, stack))


def _execute(args: argparse.Namespace, trace: Callable[[Any], None] | None) -> int:
    from rocketride_core.kernel import Kernel

    env = environment(args.env)
    files = collect(args.inputs)
    asked = bool(args.question or args.inputs)
    reporter = Reporter(len(args.question) + len(files) if asked else None, as_json=args.json)
    # Only a serving pipeline reports by hook: `map` gives its results itself.
    plugins = [] if asked else [Outcomes(reporter)]
    kernel = Kernel(env=env, workers=args.workers, trace=args.trace, trace_to=trace, plugins=plugins)
    with kernel.load(read_pipe(args, kernel), source=args.source, on_ready=reporter.note) as pipeline:
        if asked:
            return _map(pipeline, args, files, reporter)
        source = pipeline.source
        if not source.manifest.source:
            todo = "name files, folders or - for standard input, or --question TEXT"
            raise Usage(f"nothing to do: {source.id} ({source.spec.provider}) waits to be fed; {todo}")
        return _serve(pipeline, reporter)


def read_pipe(args: argparse.Namespace, kernel: Kernel) -> PipeFile:
    pipe, problems = inspect_pipe(args.pipe)
    if any(problem.severity == "error" for problem in problems):
        # Everything at once: what reading found, and what the rest of the file has.
        more = kernel.check(pipe, source=args.source) if pipe.components else ()
        raise PipeError(problems=[*problems, *(p for p in more if p not in problems)])
    return apply(pipe, args.set)


def trace_target(args: argparse.Namespace, stack: ExitStack) -> Callable[[Any], None] | None:
    if args.trace == "off":
        if args.trace_to:
            raise Usage("--trace-to FILE needs --trace calls or --trace payloads")
        return None
    out: TextIO = sys.stderr
    if args.trace_to:
        try:
            out = stack.enter_context(Path(args.trace_to).open("a", encoding="utf-8"))  # noqa: SIM115 - the stack closes it
        except OSError as error:
            raise Usage(f"--trace-to {args.trace_to}: {error.strerror or error}") from error

    def write(record: Any) -> None:
        # One write a record: lines of several threads do not mix.
        out.write(f"{json.dumps(record, ensure_ascii=False, default=str)}\n")

    return write


def _map(pipeline: RunningPipeline, args: argparse.Namespace, files: Sequence[Path], reporter: Reporter) -> int:
    def body(interrupt: Interrupt) -> None:
        work = _work(pipeline, args.question, files, reporter, interrupt)
        for result in pipeline.map(work, workers=args.workers, timeout=args.timeout):
            reporter.result(result)

    return _until_stopped(pipeline, reporter, body) or (1 if reporter.failed or reporter.left else 0)


def _until_stopped(
    pipeline: RunningPipeline, reporter: Reporter, body: Callable[[Interrupt], None], stop: Callable[[], object] = lambda: None
) -> int:
    """Run `body`; the first Ctrl-C asks it to end, the second one ends it: 130, else 0."""

    def told() -> None:
        reporter.note("stopping: what is begun is finished; Ctrl-C again stops at once")
        stop()

    interrupt = Interrupt(told, lambda: reporter.summary(stopped=True))
    try:
        with reporter, interrupt:
            body(interrupt)
            reporter.summary(stopped=interrupt.asked)
    except KeyboardInterrupt:
        reporter.summary(stopped=True)
        pipeline.close(grace=0)
        return 130
    return 0


def _work(
    pipeline: RunningPipeline, questions: Sequence[str], files: Sequence[Path], reporter: Reporter, interrupt: Interrupt
) -> Iterator[Work]:
    for number, text in enumerate(questions, 1):
        if interrupt.asked:
            return
        yield Entry(f"Question {number}"), (QUESTIONS(Question.of(text)),)
    for path in files:
        if interrupt.asked:
            return
        try:
            entry, packet = _stdin(pipeline) if path == STDIN else _file(pipeline, path)
        except (OSError, RunError) as error:
            reporter.refused(Entry(path.name, path=path.as_posix()), error)
            continue
        yield entry, (packet,)


def _file(pipeline: RunningPipeline, path: Path) -> tuple[Entry, Packet]:
    entry, blob = file_object(path)
    return entry, pipeline.route(blob)


def _stdin(pipeline: RunningPipeline) -> tuple[Entry, Packet]:
    entry, blob = stdin_object()
    try:
        return entry, pipeline.route(blob)
    except RunError:
        if not blob.mime_type.startswith("text/"):
            raise
        # `echo "Why?" | rocketride-core run chat.pipe -`: to a source that takes questions only, a text is one.
        text = blob.read().decode("utf-8", "replace").strip()
        return entry, pipeline.route(Blob.of(text.encode(), mime_type="lane/questions", name=blob.name))


class Outcomes:
    """Host plugin: reports what an active source has sent through."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter

    @hookimpl
    def finish_entry(self, result: EntryResult) -> None:
        self.reporter.result(result)


def _serve(pipeline: RunningPipeline, reporter: Reporter) -> int:
    return _until_stopped(pipeline, reporter, lambda _: pipeline.serve(), pipeline.stop) or (1 if reporter.failed else 0)
