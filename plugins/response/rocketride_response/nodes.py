# SPDX-License-Identifier: MIT
"""One node a lane, and the older `response` that takes all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import attrs

from rocketride_core import (
    ANSWERS,
    AUDIO,
    DOCUMENTS,
    IMAGE,
    QUESTIONS,
    TABLE,
    TEXT,
    VIDEO,
    Instance,
    Lane,
    Node,
    NodeSpec,
    Profile,
    on,
    setting,
)

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class ResponseConfig:
    lane_name: str = setting(
        "",
        key="laneName",
        pattern=r".{0,32}",
        title="Name",
        doc="Key in the client's JSON, 1 to 32 characters; by default the lane.",
    )


@attrs.frozen(kw_only=True)
class LaneName:
    """The key of one lane in the client's JSON."""

    lane_id: str = setting("", key="laneId")
    lane_name: str = setting("", key="laneName", pattern=r".{0,32}")


@attrs.frozen(kw_only=True)
class ResponsesConfig(ResponseConfig):
    lanes: tuple[LaneName | str, ...] = setting(
        (),
        title="Names",
        doc="A list of `{laneId, laneName}`; a bare lane keeps its name. Lanes that are not listed are answered too.",
    )
    keys: Mapping[str, str] = setting({}, title="Names by lane", doc="The same as `{lane: name}`, an older spelling.")


class _Named(Protocol):
    """A node that knows the client's key of a lane."""

    def key_of(self, lane: str, /) -> str: ...


def answer(lane: Lane[T]) -> Callable[[Any, Instance, T], None]:
    """The handler that responds with each payload of a lane when it comes."""

    @on(lane)
    def handler(self: Any, instance: Instance, payload: T) -> None:
        named: _Named = self
        instance.respond(named.key_of(lane.name), lane(payload))

    return handler


class OneLane(Node[ResponseConfig]):
    """The common part of the nodes of one lane."""

    def key_of(self, lane: str, /) -> str:
        return self.config.lane_name or lane


def spec_of(lane: Lane[Any], title: str) -> NodeSpec:
    return NodeSpec(
        f"response_{lane.name}",
        title=title,
        description=f"Returns what comes on the lane {lane.name}.",
        categories=["infrastructure"],
        profiles=[Profile("default", {})],
        responds=True,
    )


class ResponseText(OneLane):
    """In the client's JSON one text: every piece followed by a blank line."""

    spec = spec_of(TEXT, "Return Text")
    text = answer(TEXT)


class ResponseTable(OneLane):
    spec = spec_of(TABLE, "Return Table")
    table = answer(TABLE)


class ResponseDocuments(OneLane):
    spec = spec_of(DOCUMENTS, "Return Documents")
    documents = answer(DOCUMENTS)


class ResponseQuestions(OneLane):
    spec = spec_of(QUESTIONS, "Return Questions")
    questions = answer(QUESTIONS)


class ResponseAnswers(OneLane):
    spec = spec_of(ANSWERS, "Return Answers")
    answers = answer(ANSWERS)


class ResponseImage(OneLane):
    spec = spec_of(IMAGE, "Return Image")
    image = answer(IMAGE)


class ResponseAudio(OneLane):
    spec = spec_of(AUDIO, "Return Audio")
    audio = answer(AUDIO)


class ResponseVideo(OneLane):
    spec = spec_of(VIDEO, "Return Video")
    video = answer(VIDEO)


class Response(Node[ResponsesConfig]):
    """All lanes in one node, as older files have it; for new ones use the node of the lane."""

    spec = NodeSpec(
        "response",
        title="HTTP Results",
        description="Returns what comes, on any lane.",
        categories=["infrastructure"],
        profiles=[Profile("default", {})],
        responds=True,
        internal=True,
    )
    text, table, documents, questions = answer(TEXT), answer(TABLE), answer(DOCUMENTS), answer(QUESTIONS)
    answers, image, audio, video = answer(ANSWERS), answer(IMAGE), answer(AUDIO), answer(VIDEO)

    def key_of(self, lane: str, /) -> str:
        config = self.config
        listed = {item.lane_id: item.lane_name for item in config.lanes if isinstance(item, LaneName)}
        return config.lane_name or listed.get(lane) or config.keys.get(lane) or lane
