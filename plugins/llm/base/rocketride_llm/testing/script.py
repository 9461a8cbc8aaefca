# SPDX-License-Identifier: MIT
"""Which step answers which request: steps in order, rules by the text of the prompt. Read from JSON, too."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs
from attrs.validators import ge, in_, instance_of, optional

from .request import Request
from .steps import CallTools, Drop, Echo, Fail, FailMidway, Hang, Malformed, PlainStep, Say, Step, Think

__all__ = ["Rule", "Script", "ScriptAtEnd", "load_script"]


def _pattern(text: str | re.Pattern[str]) -> re.Pattern[str]:
    return text if isinstance(text, re.Pattern) else re.compile(text, re.DOTALL)


@attrs.frozen
class Rule:
    """A step for the requests whose text matches. Rules are asked before the steps in order, the first that matches wins.

    Attributes:
        match: a regular expression, found anywhere (`re.search`, `.` matches line breaks).
        step: what answers.
        where: the text that is searched: `prompt` (all messages), `question` (the user's last) or `last` (the last message).
        times: how many requests it answers; None is any number. Several rules with the same text and `times=1` come in order.
        operation: the requests it is for: `chat`, `embeddings`, `models`, `count_tokens`, `show`, `tags`, `version`.
    """

    match: re.Pattern[str] = attrs.field(converter=_pattern)
    step: Step
    where: Literal["prompt", "question", "last"] = attrs.field(default="prompt", validator=in_(("prompt", "question", "last")))
    times: int | None = attrs.field(default=None, validator=optional([instance_of(int), ge(1)]))
    operation: str = "chat"


class ScriptAtEnd(LookupError):
    """No step is left and no rule matches."""


class Script:
    """Steps and rules, safe on several threads.

    Args:
        steps: answer chats in the order in which they come, each once.
        rules: `Rule`s, or (regular expression, step) pairs.
        repeat: begin again with the first step after the last.
    """

    def __init__(
        self, steps: Iterable[Step] = (), rules: Iterable[Rule | tuple[str, Step]] = (), *, repeat: bool = False
    ) -> None:
        self.steps: list[Step] = [_checked(step) for step in steps]
        self.rules: list[Rule] = []
        self.repeat = repeat
        self._next = 0
        self._used: dict[int, int] = {}
        self._lock = threading.Lock()
        self.add_rules(rules)

    @property
    def remaining(self) -> int:
        """Steps that no request has had yet."""
        with self._lock:
            return len(self.steps) - self._next

    def add(self, *steps: Step) -> None:
        """Puts steps at the end."""
        with self._lock:
            self.steps += [_checked(step) for step in steps]

    def add_rules(self, rules: Iterable[Rule | tuple[str, Step]]) -> None:
        """Puts rules at the end."""
        made = [rule if isinstance(rule, Rule) else Rule(*rule) for rule in rules]
        for rule in made:
            _checked(rule.step)
        with self._lock:
            self.rules += made

    def step_for(self, request: Request) -> PlainStep | None:
        """The step for this request; None for a request that is no chat and that no rule is for.

        Raises:
            ScriptAtEnd: a chat that nothing is left for.
        """
        step = self._take(request)
        if callable(step):
            step = step(request)
            if not isinstance(step, PlainStep):
                raise TypeError(f"a step that is a function returns a step, not {step!r}")
        return step

    def _take(self, request: Request) -> Step | None:
        with self._lock:
            for index, rule in enumerate(self.rules):
                used = self._used.get(index, 0)
                if rule.operation != request.operation or (rule.times is not None and used >= rule.times):
                    continue
                if rule.match.search(getattr(request, rule.where)):
                    self._used[index] = used + 1
                    return rule.step
            if request.operation != "chat":
                return None
            if self.repeat and self.steps and self._next >= len(self.steps):
                self._next = 0
            if self._next < len(self.steps):
                self._next += 1
                return self.steps[self._next - 1]
        question = request.question if len(request.question) <= 80 else f"{request.question[:80]}…"
        raise ScriptAtEnd(
            f"the script of the test server is at its end: no step is left and no rule matches for request {request.number}"
            f" ({request.wire} {request.operation}, question {question!r}); add a step or a rule"
        )


def _checked(step: Step) -> Step:
    if not (isinstance(step, PlainStep) or callable(step)) or isinstance(step, type):
        raise TypeError(f"a step is Say(…), CallTools(…), Fail(…) and so on, or a function of the request, not {step!r}")
    return step


# The key that names a step in JSON: its class, and the attribute that the key's value goes to.
WORDS: dict[str, tuple[type, str]] = {
    "say": (Say, "text"),
    "think": (Think, "thought"),
    "call": (CallTools, "calls"),
    "echo": (Echo, "prefix"),
    "fail": (Fail, "kind"),
    "hang": (Hang, "seconds"),
    "drop": (Drop, "after_chunks"),
    "malformed": (Malformed, "text"),
    "fail_midway": (FailMidway, "fail"),
}


def step_from(data: Any, where: str) -> PlainStep:
    """A step from its JSON form; `where` is said in errors."""
    if not isinstance(data, Mapping):
        raise ValueError(f"{where}: a step is an object such as {{'say': 'Hello'}}, not {data!r}")
    named = [word for word in WORDS if word in data]
    if len(named) != 1:
        raise ValueError(
            f"{where}: a step has just one of the keys {', '.join(WORDS)}; this one has {', '.join(named) or 'none'}"
        )
    word = named[0]
    kind, main = WORDS[word]
    values = {key: value for key, value in data.items() if key != word}
    if word == "fail" and isinstance(data[word], int):
        main = "status"
    values[main] = data[word]
    known = {attribute.name for attribute in attrs.fields(kind)}
    if unknown := sorted(values.keys() - known):
        raise ValueError(f"{where}: {word} knows no {', '.join(unknown)}; it knows {', '.join(sorted(known - {main}))}")
    if "reply" in values:
        values["reply"] = step_from(values["reply"], f"{where}.reply")
    if word == "fail_midway":
        values["fail"] = step_from(values["fail"], f"{where}.fail_midway")
    try:
        step: PlainStep = kind(**values)
    except (TypeError, ValueError, KeyError) as error:
        # Validators of attrs put the attribute and more behind their text.
        raise ValueError(f"{where}: {error.args[0] if error.args else error}") from error
    return step


def rule_from(data: Any, where: str) -> Rule:
    """A rule from its JSON form; `where` is said in errors."""
    if not isinstance(data, Mapping) or not {"match", "step"} <= data.keys():
        raise ValueError(f"{where}: a rule is an object with the keys match and step")
    known = {attribute.name for attribute in attrs.fields(Rule)}
    if unknown := sorted(data.keys() - known):
        raise ValueError(f"{where}: a rule knows no {', '.join(unknown)}; it knows {', '.join(sorted(known))}")
    try:
        return Rule(**{**data, "step": step_from(data["step"], f"{where}.step")})
    except (TypeError, re.error) as error:
        raise ValueError(f"{where}: {error.args[0] if error.args else error}") from error


def load_script(path: str | Path) -> Script:
    """Reads a script from a JSON file (UTF-8).

    The file holds a list of steps, or an object with `steps`, `rules` and `repeat` (true: begin again at the end). A step is an
    object whose one key says what it is, and whose other keys are attributes of that step:

    ```json
    {"steps": [{"say": "Hello", "usage": {"input": 9, "output": 2}}, {"fail": "rate_limit", "headers": {"retry-after": "1"}},
               {"call": [{"name": "add", "arguments": {"a": 1}}]}, {"think": "hm", "text": "Yes"}, {"fail": 503}],
     "rules": [{"match": "capital of France", "where": "question", "step": {"say": "Paris"}}]}
    ```

    The keys: say (text), think (thought), call (calls), echo (prefix), fail (kind or status), hang (seconds), drop (after_chunks),
    malformed (text), fail_midway (a fail).

    Raises:
        ValueError: it is not such a file; the message says where.
        OSError: it cannot be read.
    """
    name = Path(path).name
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{name} is not JSON: {error}") from error
    if isinstance(data, list):
        data = {"steps": data}
    if not isinstance(data, dict) or not data.keys() <= {"steps", "rules", "repeat"}:
        raise ValueError(f"{name}: a script is a list of steps, or an object with the keys steps, rules and repeat")
    steps, rules, repeat = data.get("steps", []), data.get("rules", []), data.get("repeat", False)
    if not isinstance(steps, list) or not isinstance(rules, list) or not isinstance(repeat, bool):
        raise ValueError(f"{name}: steps and rules are lists, repeat is true or false")
    return Script(
        [step_from(step, f"{name}: steps[{n}]") for n, step in enumerate(steps)],
        [rule_from(rule, f"{name}: rules[{n}]") for n, rule in enumerate(rules)],
        repeat=repeat,
    )
