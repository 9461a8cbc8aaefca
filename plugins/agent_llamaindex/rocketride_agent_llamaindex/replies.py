# SPDX-License-Identifier: MIT
"""What a model's reply means: a call, an answer, or a call that cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

import attrs

from rocketride_agent import resolve
from rocketride_core import Json

from .answers import visible
from .inputs import NO_TOOL, Unreadable, object_of, unfenced
from .markers import Mark, first_answer, marks, unwrapped

__all__ = ["Reply", "begins", "cleaned", "read"]

BEFORE_OBJECT = re.compile(r"\s*(?:(?:\n|\A)[ \t]*`{3}[ \t]*\w*\s*)?\Z")


@attrs.frozen
class Reply:
    """A reply, taken apart.

    Parameters:
        thought: why.
        action: the tool as the model named it; "" where it answers.
        input: what stands for its arguments; None where there is none.
        answer: "" where it asks for a tool.
    """

    thought: str = ""
    action: str = ""
    input: str | None = None
    answer: str = ""


def read(text: str, known: Iterable[str] = ()) -> Reply:
    """A reply as it came.

    Parameters:
        known: the names of the tools, of which some may have blanks.

    Raises:
        Unreadable: it asks for no tool by name, and has no answer either; or it is empty.
    """
    text = _before_observation(unwrapped(_before_observation(text)))
    found = marks(text)
    start = first_answer(text, found)
    if start is not None and (answer := visible(text[start.end :], start.lead)):
        return Reply(cleaned(text[: start.start]), answer=answer)
    kinds = [mark.kind for mark in found]
    call = next((mark for mark in found if mark.kind in ("action", "tool")), None)
    if start is None and kinds.count("answer") > 1 and "input" not in kinds and kinds.index("answer") < _index(found, call):
        return Reply(answer=text.strip())
    if call is not None:
        thought = cleaned(text[: call.start])
        return _tool_call(text[call.end :], thought) if call.kind == "tool" else _called(text, found, call, thought, known)
    if "input" in kinds:
        raise Unreadable("there is an `Action Input:` and no `Action:` before it")
    if start is not None:
        raise Unreadable("there is nothing after `Answer:`")
    if (blob := _blob_alone(text, found)) is not None:
        return blob
    if answer := _direct(text, found):
        return Reply(answer=answer)
    raise Unreadable("the reply is empty")


def _index(found: Sequence[Mark], mark: Mark | None) -> int:
    return found.index(mark) if mark is not None else len(found)


def _called(text: str, found: Sequence[Mark], action: Mark, thought: str, known: Iterable[str]) -> Reply:
    after = [mark for mark in found if mark.start > action.start]
    named = text[action.end : after[0].start if after else len(text)].strip()
    if (blob := object_of(unfenced(named))) is not None and "action" in blob:
        return _of_blob(blob, thought)
    if NO_TOOL.fullmatch(named):
        answered = next((mark for mark in after if mark.kind == "answer"), None)
        if answered is not None and (answer := visible(text[answered.end :], answered.lead)):
            return Reply(thought, answer=answer)
        raise Unreadable("`Action:` names no tool; where none is needed, write `Answer:` and the answer instead")
    named = named.lstrip("`'\"* ")
    name = _name(named, known)
    if not name:
        raise Unreadable("there is no name of a tool after `Action:`")
    given = next((mark for mark in after if mark.kind == "input"), None)
    if given is not None:
        end = next((mark.start for mark in after if mark.start > given.start and mark.kind != "input"), len(text))
        return Reply(thought, name, text[given.end : end].strip())
    # `search {"query": …}` and `search(…)` on one line.
    rest = named[len(name) :].strip(" `'\"*")
    return Reply(thought, name, rest if rest.startswith("{") else None)


def _name(named: str, known: Iterable[str]) -> str:
    """The tool's name at the beginning of a text; the longest known one, since an id may have blanks and parentheses."""
    there = list(known)
    for name in sorted(there, key=len, reverse=True):
        if named.lower().startswith(name.lower()) and not re.match(r"\w", named[len(name) :]):
            return named[: len(name)]
    line = named.partition("\n")[0].strip(" \t\r`'\"*")
    return line if resolve(line, there) else re.split(r"[\s({`'\"*]", named, maxsplit=1)[0]


def _tool_call(text: str, thought: str) -> Reply:
    """As models write it that were trained on another format: `<tool_call>{"name": …, "arguments": {…}}`."""
    made = object_of(text.strip())
    name = made.get("name") if made is not None else None
    if made is None or not isinstance(name, str):
        raise Unreadable('`<tool_call>` is not the format here; write `Action:` and the name, then `Action Input: {"…": …}`')
    return Reply(thought, name, _dumped(made.get("arguments", made.get("parameters", {}))))


def _blob_alone(text: str, found: Sequence[Mark]) -> Reply | None:
    """A reply that is, but for its thought, `{"action": …, "action_input": …}`."""
    first = found[0] if found and not text[: found[0].start].strip() else None
    at = text.find("{", first.end if first is not None else 0)
    made = object_of(text[at:].rstrip("` \t\r\n"), whole=True) if at >= 0 and '"action_input"' in text else None
    before = text[: max(0, at)]
    if made is None or "action" not in made or not (first is not None or BEFORE_OBJECT.fullmatch(before)):
        return None
    return _of_blob(made, cleaned(BEFORE_OBJECT.sub("", before)))


def _of_blob(made: Mapping[str, Json], thought: str) -> Reply:
    action, given = made.get("action"), made.get("action_input", {})
    if not isinstance(action, str) or not action.strip():
        raise Unreadable('`"action"` names no tool; write `Action:` and the name of one')
    if NO_TOOL.fullmatch(action):
        answer = given if isinstance(given, str) else _dumped(given)
        if not answer.strip():
            raise Unreadable('there is nothing in `"action_input"`; write `Answer:` and the answer')
        return Reply(thought, answer=answer.strip())
    return Reply(thought, action, given if isinstance(given, str) else _dumped(given))


def _dumped(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _before_observation(text: str) -> str:
    """A model that goes on after its call invents the result."""
    cut = next((mark.start for mark in marks(text) if mark.kind == "observation" and text[: mark.start].strip()), len(text))
    return text[:cut]


def _direct(text: str, found: Sequence[Mark]) -> str:
    if found and found[0].kind == "thought" and not text[: found[0].start].strip():
        # All on one line: "Thought: I know it. Answer: 42"
        thought, answered, answer = text.partition("Answer:")
        if answered and "\n" not in thought.strip() and answer.strip():
            return answer.strip()
    return cleaned(text)


def begins(text: str) -> bool:
    """It begins with a marker, as a step does."""
    bare = unwrapped(text).lstrip()
    return any(mark.start == 0 for mark in marks(bare))


def cleaned(text: str) -> str:
    """The text without scaffolding: no markers, and nothing of a call or its result."""
    text = unwrapped(text)
    found = marks(text)
    pieces = [text[: found[0].start] if found else text]
    for mark, after in zip(found, [*found[1:], None], strict=False):
        if mark.kind in ("thought", "answer"):
            pieces.append(text[mark.end : after.start if after is not None else len(text)])
    return "\n".join(piece.strip() for piece in pieces if piece.strip())
