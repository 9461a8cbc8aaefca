# SPDX-License-Identifier: MIT
"""llm_perplexity: the suite of language models, and the sources of an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rocketride_core import Answer, Question
from rocketride_core.testing import node_harness
from rocketride_llm.testing import LLMSuite, Malformed, ScriptedServer
from rocketride_llm_openai_api.reading import whole
from rocketride_llm_perplexity import Perplexity
from rocketride_llm_perplexity.backend import Reading, Sourced


class TestPerplexity(LLMSuite):
    node = Perplexity
    wire = "openai"


FOUND = {"title": "Towers", "url": "https://towers.example/eiffel", "date": "2026-05-01", "snippet": "330 m"}
BARE = {"url": "https://other.example/", "title": None}


@pytest.mark.parametrize(
    ("more", "sources"),
    [
        (
            {"search_results": [FOUND, BARE], "citations": ["https://towers.example/eiffel"]},
            [
                {"title": "Towers", "url": "https://towers.example/eiffel", "date": "2026-05-01"},
                {"url": "https://other.example/"},
            ],
        ),
        (
            {"citations": ["https://a.example/", "https://b.example/"]},
            [{"url": "https://a.example/"}, {"url": "https://b.example/"}],
        ),
        ({"search_results": [5, {"title": "no URL"}, {"url": 7}], "citations": "https://a.example/"}, None),
        ({"search_results": [], "citations": None}, None),
        ({}, None),
    ],
)
def test_sources_are_told(more: dict[str, Any], sources: Any) -> None:
    said = {"role": "assistant", "content": "330 m [1]."}
    body = {"choices": [{"message": said, "delta": said, "finish_reason": "stop"}], **more}
    with (
        ScriptedServer([Malformed(json.dumps(body))]) as server,
        node_harness(Perplexity, config={"apikey": "pplx-1", "base_url": server.base_url("openai")}) as harness,
    ):
        outputs = harness.run({"questions": [Question.of("How high?")]})
    assert outputs["answers"] == [Answer("330 m [1].")]
    told = [event.data["sources"] for event in outputs.events if event.kind == "sources"]
    assert told == ([] if sources is None else [sources])
    assert whole(body, Reading()) == Sourced(text="330 m [1].", sources=sources or [])


def test_agents_do_not_offer_it_tools_and_research_has_time() -> None:
    config = {"profile": "sonar-deep-research", "sonar-deep-research": {"apikey": "pplx-1"}}
    with node_harness(Perplexity, config=config) as harness:
        node: Any = harness.node
        assert node.native_tools is False
        assert (node.config.timeout, node.config.max_time) == (600, 1200)
