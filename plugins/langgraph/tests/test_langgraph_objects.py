# SPDX-License-Identifier: MIT
"""Objects that nodes make in a call, such as attachments: they go where the file sends them, and their results are in the answer."""

import asyncio
import io
import json
import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, ToolException

from rocketride_core import (
    DOCUMENTS,
    TAGS,
    TEXT,
    Blob,
    Document,
    Entry,
    Instance,
    Kernel,
    Node,
    NodeSpec,
    on,
    tool,
)
from rocketride_core.pipefile import Component, LaneLink, PipeFile
from rocketride_langgraph import PipelineTools, pipeline_tools


def make(instance: Instance, names: str) -> None:
    for name in names.split():
        entry = Entry(name, path=f"mails/{name}", metadata={"from": instance.entry.name})
        instance.spawn(entry, TAGS(Blob.of(name.encode(), mime_type="text/plain")))


class Mail(Node[None]):
    """`take a.txt b.txt` makes two objects; an object `x>y.txt` makes `y.txt`."""

    spec = NodeSpec("ob_mail", title="Mail")
    begun = threading.Event()

    @on(TAGS, emits=[TEXT, DOCUMENTS])
    def tags(self, instance: Instance, blob: Blob) -> None:
        text = blob.read().decode()
        word, _, rest = text.partition(" ")
        if word == "take":
            make(instance, rest)
        elif text.startswith("bad"):
            raise ValueError(f"{text} is damaged")
        elif text == "hang":
            over = threading.Event()
            self.begun.set()
            with instance.on_cancel(over.set):
                over.wait(10)
        elif "<" in text:
            make(instance, text.partition("<")[2])
        instance.event("read", text=text)
        instance.count("files", 1)
        instance.warn("seen", f"{text} was seen")
        if word != "take" or rest == "also text":
            instance.emit(TEXT, f"text of {text}")
            instance.emit(DOCUMENTS, [Document(text, {"parent": instance.entry.path, "from": instance.metadata.get("from")})])


class Desk(Node[None]):
    spec = NodeSpec("ob_desk", title="Desk", categories=["tool"])

    @tool
    def fetch(self, instance: Instance, names: str) -> str:
        """Fetch files."""
        make(instance, names)
        return "fetched"


WHOLE = [
    Component("hook_1", "webhook"),
    Component("mail_1", "ob_mail", {}, [LaneLink("tags", "hook_1")]),
    Component("text_1", "response_text", {}, [LaneLink("text", "mail_1")]),
]
FULL = [*WHOLE, Component("docs_1", "response_documents", {}, [LaneLink("documents", "mail_1")])]
DESK = Component("desk_1", "ob_desk")


def of(parts: list[Component], **options: Any) -> PipelineTools:
    return pipeline_tools(PipeFile(parts, "hook_1", file="mail.pipe"), nodes=[Mail, Desk], **options)


@pytest.fixture(scope="module")
def whole() -> Iterator[BaseTool]:
    with of(WHOLE) as tools:
        yield tools[0]


def called(one: BaseTool, **arguments: Any) -> ToolMessage:
    message = one.invoke({"type": "tool_call", "name": one.name, "id": "7", "args": arguments})
    assert isinstance(message, ToolMessage)
    return message


def test_what_objects_respond_is_in_the_answer_of_the_whole(whole: BaseTool) -> None:
    message = called(whole, text="take a.txt b.txt")
    assert message.status == "success"
    assert message.content == "text of a.txt\n\ntext of b.txt"
    assert message.artifact["objects"] == [
        {"name": "a.txt", "responses": {"text": ["text of a.txt"]}},
        {"name": "b.txt", "responses": {"text": ["text of b.txt"]}},
    ]
    assert message.artifact["usage"] == {"mail_1": {"files": 3}}
    assert message.artifact["warnings"] == ["take a.txt b.txt was seen", "a.txt was seen", "b.txt was seen"]


def test_objects_of_objects_are_too(whole: BaseTool) -> None:
    message = called(whole, text="take a<b.txt")
    assert message.content == "text of a<b.txt\n\ntext of b.txt"
    assert [one["name"] for one in message.artifact["objects"]] == ["a<b.txt", "b.txt"]


def test_an_object_keeps_its_path_and_its_metadata() -> None:
    with of(FULL) as tools:
        artifact = called(tools[0], text="take a.txt").artifact
    [found] = artifact["documents"]
    assert found.page_content == "a.txt"
    assert found.metadata["parent"] == "mails/a.txt"
    assert found.metadata["from"].startswith("pipeline#")


def test_an_object_that_fails_is_said_beside_the_others(whole: BaseTool) -> None:
    message = called(whole, text="take a.txt bad.txt")
    assert json.loads(str(message.content)) == {
        "text": ["text of a.txt"],
        "errors": [{"object": "bad.txt", "error": "mail_1: bad.txt is damaged"}],
    }
    assert message.artifact["objects"][1] == {"name": "bad.txt", "error": "mail_1: bad.txt is damaged"}


def test_where_all_failed_the_call_did(whole: BaseTool) -> None:
    message = called(whole, text="take bad.txt bad2.txt")
    assert (message.status, message.content) == (
        "error",
        "bad.txt: mail_1: bad.txt is damaged; bad2.txt: mail_1: bad2.txt is damaged",
    )


def test_ainvoke_and_events_have_them(whole: BaseTool) -> None:
    async def go() -> tuple[Any, list[Any]]:
        events = [one async for one in whole.astream_events({"text": "take a.txt"}, version="v2")]
        return events[-1]["data"]["output"], [one["data"]["data"]["text"] for one in events if one["name"] == "rocketride.read"]

    assert asyncio.run(go()) == ("text of a.txt", ["take a.txt", "a.txt"])


def test_two_threads_do_not_mix_their_objects(whole: BaseTool) -> None:
    texts = [f"take {n}.txt {n}b.txt" for n in range(8)]
    assert whole.batch([{"text": text} for text in texts]) == [f"text of {n}.txt\n\ntext of {n}b.txt" for n in range(8)]


def test_a_running_pipeline_gives_them_as_well() -> None:
    with Kernel(nodes=[Mail]).load(PipeFile(WHOLE, "hook_1")) as pipeline:
        [one] = pipeline_tools(pipeline)
        assert called(one, text="take a.txt b.txt").content == "text of a.txt\n\ntext of b.txt"


def test_a_tool_s_objects_are_beside_its_result() -> None:
    with of([*FULL, DESK]) as tools:
        message = called(tools.by_name("desk_1.fetch"), names="a.txt bad.txt")
        assert called(tools.by_name("desk_1.fetch"), names="").content == "fetched"
    made = json.loads(str(message.content))
    assert made["result"] == "fetched"
    assert made["objects"][0]["name"] == "a.txt"
    assert made["objects"][0]["responses"]["text"] == ["text of a.txt"]
    assert made["objects"][1] == {"name": "bad.txt", "error": "mail_1: bad.txt is damaged"}
    assert [one.page_content for one in message.artifact["documents"]] == ["a.txt"]


def test_objects_that_have_nowhere_to_go_are_said() -> None:
    with of([*FULL, DESK], whole=False) as tools:
        made = json.loads(str(called(tools[0], names="a.txt").content))
    why = "nothing takes the objects that nodes make: the pipeline is not offered as a whole (whole=False)"
    assert made == {"result": "fetched", "objects": [{"name": "a.txt", "error": why}]}


def test_the_time_limit_holds_for_each_object() -> None:
    with of(WHOLE, timeout=0.2) as tools:
        message = called(tools[0], text="take hang a.txt")
    made = json.loads(str(message.content))
    assert made["errors"][0]["object"] == "hang"
    assert "took more than 0.2 s" in made["errors"][0]["error"]
    assert made["text"][-1] == "text of a.txt"


def test_cancelling_the_task_cancels_its_objects(whole: BaseTool) -> None:
    Mail.begun.clear()

    async def go() -> None:
        task = asyncio.create_task(whole.ainvoke({"text": "take hang"}))
        assert await asyncio.to_thread(Mail.begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert whole.invoke({"text": "a.txt"}) == "text of a.txt"


def test_errors_are_raised_where_that_is_asked_for() -> None:
    with of(WHOLE, on_error="raise") as tools, pytest.raises(ToolException, match="bad.txt is damaged"):
        tools[0].invoke({"text": "take bad.txt"})


class Post(Node[None]):
    """A tool that fetches an archive."""

    spec = NodeSpec("ob_post", title="Post", categories=["tool"])

    @tool
    def fetch(self, instance: Instance) -> str:
        """Fetch an archive."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("a.txt", "The first member.")
            archive.writestr("b.md", "# The second member")
        instance.spawn(Entry("mail.zip"), TAGS(Blob.of(packed.getvalue(), mime_type="application/zip", name="mail.zip")))
        return "fetched"


@pytest.mark.slow
def test_members_of_a_real_archive_reach_the_answer() -> None:
    """`parse` makes an object of each member of an archive, so these are objects of an object."""
    parts = [
        Component("dropper_1", "dropper"),
        Component("parse_1", "parse", {}, [LaneLink("tags", "dropper_1")]),
        Component("text_1", "response_text", {}, [LaneLink("text", "parse_1")]),
        Component("post_1", "ob_post"),
    ]
    with pipeline_tools(PipeFile(parts, "dropper_1"), nodes=[Post]) as tools:
        made = json.loads(str(called(tools.by_name("post_1.fetch")).content))
    texts = {one["name"]: "".join(one["responses"]["text"]) for one in made["objects"]}
    assert [text.strip() for name, text in texts.items() if "a.txt" in name] == ["The first member."]
    assert [text.strip() for name, text in texts.items() if "b.md" in name] == ["# The second member"]
