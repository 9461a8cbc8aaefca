# SPDX-License-Identifier: MIT
"""llm_deepseek: the suite of language models, and thoughts that go back among tools."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_core import QUESTIONS, Answer, Entry, Message, Question, RunError, Tool
from rocketride_core.testing import node_harness, run_node
from rocketride_llm.testing import CallTools, LLMSuite, Say, ScriptedServer, Think
from rocketride_llm.testing.kit import KEY, asked_by
from rocketride_llm_deepseek import DeepSeek

TOOL = Tool("find", "Finds things.", {"type": "object"}, lambda *_: None)


class TestDeepSeek(LLMSuite):
    node = DeepSeek
    wire = "openai"
    keyed = False


def conversation(streamed: bool) -> list[dict[str, Any]]:
    """What was sent for a conversation with a tool, a turn of another model before it and a question after it."""
    take: Any = (lambda text: None) if streamed else None

    def work(model: Any, question: Question) -> Answer:
        messages = [Message("user", "Hello."), Message("assistant", "Hi."), Message("user", "Find it.")]
        turn = model.converse(messages, [TOOL], on_token=take)
        messages += [turn, Message("tool", "It is here.", call_id=turn.calls[0].id)]
        messages += [model.converse(messages, [TOOL], on_token=take), Message("user", "And now?")]
        model.converse(messages, [TOOL], on_token=take)
        model.converse([m for m in messages if not m.calls and m.role != "tool"], on_token=take)
        return Answer("done")

    steps = [
        CallTools([("find", {"q": "it"})], thought="I must look."),
        Think("It is clear.", "Here."),
        Say("Nothing."),
        Say("Without tools."),
    ]
    with ScriptedServer(steps, key=KEY) as server:
        config = {"model": "m", "apikey": KEY, "serverbase": server.base_url("openai")}
        with asked_by(DeepSeek, config, work) as pipeline:
            pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert not server.unexpected
        return [chat.body for chat in server.chats]


@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_go_back_with_their_turns_among_tools(streamed: bool) -> None:
    first, second, third, without = conversation(streamed)
    assert not [m for m in first["messages"] if "reasoning_content" in m]
    assert [m.get("reasoning_content") for m in second["messages"]] == [None, None, None, "I must look.", None]
    assert [m.get("reasoning_content") for m in third["messages"]][3:] == ["I must look.", None, "It is clear.", None]
    assert not [m for m in without["messages"] if "reasoning_content" in m]


def test_deepseek_itself_gets_empty_thoughts_of_other_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeepSeek, "at_vendor", True)
    monkeypatch.setattr(DeepSeek, "key_start", "")
    first, _, third, without = conversation(streamed=False)
    assert [m.get("reasoning_content") for m in first["messages"]] == [None, "", None]
    assert [m.get("reasoning_content") for m in third["messages"]] == [None, "", None, "I must look.", None, "It is clear.", None]
    assert not [m for m in without["messages"] if "reasoning_content" in m]


def test_a_server_of_ones_own_wants_no_key() -> None:
    with ScriptedServer([Say("ok")]) as server:
        config = {"profile": "deepseek-r1-8b", "deepseek-r1-8b": {"serverbase": server.base_url("openai")}}
        assert run_node(DeepSeek, config=config, send={"questions": [Question.of("q")]})["answers"] == [Answer("ok")]
        assert server.chats[0].model == "deepseek-r1:8b"
        assert "authorization" not in server.chats[0].headers


def test_a_profile_without_an_address_says_what_to_write() -> None:
    with (
        pytest.raises(RunError, match="DeepSeek serverbase is required"),
        node_harness(DeepSeek, config={"profile": "deepseek-r1"}),
    ):
        pass
