# SPDX-License-Identifier: MIT
"""`chat`: question after question through a pipeline; each one knows what was said before."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from rocketride_core.entry import Entry
from rocketride_core.lanes import ANSWERS, QUESTIONS
from rocketride_core.payloads import Question
from rocketride_core.results import EntryResult

from .arguments import Usage
from .interrupt import Interrupt
from .overrides import environment
from .render import failure
from .run import read_pipe, trace_target
from .screen import CANCELLED, Screen, shown
from .session import USER, Session

if TYPE_CHECKING:
    from rocketride_core.pipeline import RunningPipeline
    from rocketride_core.protocols import Run

__all__ = ["execute"]

STOPPED = 130
PROMPT, FURTHER = "> ", "... "
COMMAND = re.compile(r"/\w+(?!\S)")
HELP = """/help      this
/history   what was said
/clear     forget it, in the session file too
/paste     many lines at once, ended by a line /end or Ctrl-D
/exit      leave, as /quit and Ctrl-D do

A line that ends in \\ goes on in the next one. A space before / makes a question of the line.
Ctrl-C drops the line, or cancels the answer; a second one at the prompt leaves."""


def execute(args: argparse.Namespace) -> int:
    from rocketride_core.kernel import Kernel

    session = Session(args.session)
    with ExitStack() as stack:
        kernel = Kernel(env=environment(args.env), trace=args.trace, trace_to=trace_target(args, stack))
        pipeline = stack.enter_context(kernel.load(read_pipe(args, kernel), source=args.source))
        _fits(pipeline, args.pipe)
        stack.enter_context(_terminated())
        chat = Chat(pipeline, session, args)
        code = chat.asked(args.question) if args.question else 0
        if not chat.stopped and (args.interactive or not args.question):
            code = chat.talk() if chat.by_hand else chat.lines()
        if chat.hanging:
            pipeline.close(grace=0)
        return STOPPED if chat.stopped else code


def _fits(pipeline: RunningPipeline, file: str) -> None:
    """Questions go in at its source, and answers come out."""
    plan, source = pipeline.bound.plan, pipeline.source
    takes = [lane.name for lane in source.manifest.outs if pipeline.start(Entry()).wants(lane)]
    if QUESTIONS.name not in takes:
        sources = [p.component.id for p in plan.parts if "source" in p.cls.spec.categories and QUESTIONS in p.cls.manifest.outs]
        others = [id for id in sources if id != source.id]
        hint = f"start from another: --source {others[0]}" if others else "a chat needs a source of questions, such as chat"
        what = ", ".join(takes) or "nothing, for nothing is wired to it"
        raise Usage(f"{source.id} ({source.spec.provider}) takes no questions, it takes {what}; {hint}")
    reached, responded, before = {source.id}, set[str](), 0
    while before != len(reached):
        before = len(reached)
        for part in plan.parts:
            lanes = {link.lane for link in part.component.input if link.source in reached} & set(part.cls.manifest.on)
            if lanes:
                reached.add(part.component.id)
                responded |= lanes if part.cls.spec.responds else set()
    if ANSWERS.name not in responded:
        what = f"only on {', '.join(sorted(responded))}" if responded else "on no lane"
        hint = f"wire a response_answers, or see what comes with: rocketride-core run {file} --question TEXT"
        raise Usage(f"{file} gives no answers: it responds {what}; {hint}")


@contextmanager
def _terminated() -> Iterator[None]:
    """SIGTERM leaves as Ctrl-C does: nodes end, and the terminal is as it was."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(STOPPED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Break(Interrupt):
    """While an answer comes: Ctrl-C cancels it, a second one does not wait for its end. SIGTERM cancels it too."""

    def __init__(self, run: Run, screen: Screen) -> None:
        super().__init__(self._cancel)
        self._run, self._screen = run, screen
        self.terminated = False

    def _cancel(self) -> None:
        self._run.cancel()
        if not self._heard.wait(1):
            self._screen.note("cancelling, but a node does not listen; Ctrl-C again leaves it alone")

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.terminated |= number == signal.SIGTERM
        super()._handle(number, frame)


class Chat:
    """One conversation over a running pipeline.

    Attributes:
        by_hand: somebody types; else lines come from a pipe or a file.
        stopped: it was told to end before its end.
        hanging: a node may still be at work on an answer that nobody waits for.
    """

    def __init__(self, pipeline: RunningPipeline, session: Session, args: argparse.Namespace) -> None:
        self.pipeline, self.session, self.screen = pipeline, session, Screen(args)
        self.file, self.limit, self.timeout = args.pipe, args.history, args.timeout
        self.by_hand = sys.stdin.isatty() and (args.interactive or not args.question)
        self.stopped = self.hanging = self.failed = self.unsaved = False
        self.number = len(session.questions)

    # ---- where questions come from

    def asked(self, questions: list[str]) -> int:
        for text in questions:
            if text.strip() and not self.stopped:
                self.ask(text)
        return int(self.failed or self.unsaved)

    def lines(self) -> int:
        _readable()
        for line in iter(sys.stdin.readline, ""):
            if text := line.strip("\ufeff\r\n\t "):
                self.ask(text)
            if self.stopped:
                break
        return int(self.failed or self.unsaved)

    def talk(self) -> int:
        _readable()
        _editing(self.session)
        self.screen.note(f"{self.file}: /help shows what you can do here, Ctrl-D leaves", dim=True)
        if count := len(self.session.questions):
            self.screen.note(f"{self.session.path}: {count} question{'s' if count > 1 else ''} so far", dim=True)
        warned = False
        while not self.stopped:
            try:
                line = self._line(PROMPT)
                if COMMAND.match(line) and line.strip() != "/paste":
                    if self._command(line.strip()):
                        break
                    text = ""
                else:
                    text = self._pasted() if line.strip() == "/paste" else self._whole(line)
            except EOFError:
                print(file=sys.stderr)
                break
            except KeyboardInterrupt:
                print(file=sys.stderr)
                if warned:
                    self.stopped = True
                    break
                warned = True
                self.screen.note("Ctrl-C again leaves, and so does Ctrl-D", dim=True)
                continue
            warned = False
            if text.strip():
                self.ask(text)
        return int(self.unsaved)

    def _line(self, prompt: str) -> str:
        if sys.stdout.isatty():
            return input(prompt)
        print(prompt, end="", file=sys.stderr, flush=True)
        if not (line := sys.stdin.readline()):
            raise EOFError
        return line.rstrip("\r\n")

    def _whole(self, line: str) -> str:
        lines = [line]
        while lines[-1].endswith("\\") and not lines[-1].endswith("\\\\"):
            lines[-1] = lines[-1][:-1]
            try:
                lines.append(self._line(FURTHER))
            except EOFError:
                break
        return "\n".join(lines).strip()

    def _pasted(self) -> str:
        lines: list[str] = []
        try:
            while (line := self._line(FURTHER)).strip() != "/end":
                lines.append(line)
        except EOFError:
            print(file=sys.stderr)
        return "\n".join(lines).strip("\n")

    def _command(self, line: str) -> bool:
        """Does it end the chat?"""
        if line == "/help":
            print(HELP)
        elif line == "/history":
            for role, text in self.session.history:
                print(shown(f"{PROMPT}{text}" if role == USER else f"{text}\n"))
        elif line == "/clear":
            self._kept(self.session.clear)
            self.screen.note("forgotten", dim=True)
        elif line not in ("/exit", "/quit"):
            self.screen.note(f"there is no command {line}; /help shows those there are, a space before it makes it a question")
        return line in ("/exit", "/quit")

    # ---- a turn

    def ask(self, text: str) -> None:
        self.number += 1
        question = Question((text,), history=self.session.recent(self.limit))
        self.screen.begin()
        run = self.pipeline.start(Entry(f"Question {self.number}"), QUESTIONS(question), timeout=self.timeout)
        stop = Break(run, self.screen)
        try:
            with stop, run:
                for event in run:
                    self.screen.event(event)
                self._over(text, run.result(), stop)
        except KeyboardInterrupt:
            self.hanging = True
            self.screen.note(CANCELLED)
        self.stopped = stop.terminated or (stop.asked and not self.by_hand)

    def _over(self, question: str, result: EntryResult, stop: Interrupt) -> None:
        answers = [answer.text for answer in result[ANSWERS]]
        answer = "\n\n".join(answers)
        wrong = ""
        if result.error is not None:
            wrong = CANCELLED if stop.asked else failure(result.error)
        elif not answers:
            wrong = f"no answer came from {self.file}"
        self.failed |= bool(wrong)
        self.screen.turn(question, answer, wrong, result)
        if not wrong and answer.strip():
            self._kept(lambda: self.session.add(question, answer))

    def _kept(self, change: Callable[[], str]) -> None:
        try:
            if told := change():
                self.screen.note(told)
            self.unsaved = False
        except OSError as error:
            self.unsaved = True
            self.screen.note(f"the session is not saved: {self.session.path}: {error.strerror or error}")


def _readable() -> None:
    """What is not UTF-8 is asked with a question mark in it, never a traceback."""
    reconfigure: Any = getattr(sys.stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def _editing(session: Session) -> None:
    """Arrow keys, and the questions of the session behind them."""
    try:
        import readline
    except ImportError:
        return
    if "libedit" not in (readline.__doc__ or "") and os.environ.get("TERM") not in (None, "", "dumb"):
        # Several lines pasted are one question.
        readline.parse_and_bind("set enable-bracketed-paste on")
    for text in session.questions:
        readline.add_history(text)
