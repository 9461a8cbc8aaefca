# SPDX-License-Identifier: MIT
"""llm_qwen: the suite of language models, regions, and models that only stream."""

from __future__ import annotations

from typing import Any

import pytest

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, PipeError, Question
from rocketride_core.testing import node_harness
from rocketride_llm.testing import Fail, LLMSuite, Say, ScriptedServer
from rocketride_llm.testing.kit import asked_by
from rocketride_llm_qwen import Qwen

KEY = "sk-planted-0123456789"


class TestQwen(LLMSuite):
    node = Qwen
    wire = "openai"


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ({}, "https://dashscope-us.aliyuncs.com/compatible-mode/v1"),
        ({"profile": "qwen-plus", "qwen-plus": {"region": "intl"}}, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
        ({"profile": "qwen-max", "qwen-max": {"region": "cn"}}, "https://dashscope.aliyuncs.com/compatible-mode/v1"),
        ({"region": "cn", "base_url": "http://127.0.0.1:9/v1/"}, "http://127.0.0.1:9/v1"),
    ],
)
def test_a_region_is_an_address(config: dict[str, Any], address: str) -> None:
    with node_harness(Qwen, config={"apikey": KEY, **config}) as harness:
        node: Any = harness.node
        assert node.config.address == address
        assert node.at_vendor is ("aliyuncs.com" in address)


def test_a_region_that_there_is_not_is_refused() -> None:
    with pytest.raises(PipeError) as caught, node_harness(Qwen, config={"apikey": KEY, "region": "mars"}):
        pass
    assert "region" in str(caught.value.problems)


def test_a_model_that_only_streams_is_asked_for_a_stream() -> None:
    said = "<400> InternalError.Algo.InvalidParameter: parameter.enable_thinking only support stream call"
    refusal = Fail(400, body={"error": {"message": said, "code": "invalid_parameter_error"}})
    with ScriptedServer([refusal, Say("One."), Say("Two.")]) as server:
        config = {"apikey": KEY, "model": "qwen3-8b", "base_url": server.base_url("openai")}

        def work(model: Any, question: Question) -> Answer:
            return Answer(f"{model.ask(question).text} {model.ask(question).text}")

        with asked_by(Qwen, config, work) as pipeline:
            result = pipeline.run(Entry("e"), QUESTIONS(Question.of("q"))).checked()
        assert result[ANSWERS] == [Answer("One. Two.")]
        assert [chat.stream for chat in server.chats] == [False, True, True]
        assert not server.unexpected
