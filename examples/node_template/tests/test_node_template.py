# SPDX-License-Identifier: MIT
from rocketride_core.testing import NodeSuite, run_node
from rocketride_node_template import Shout


class TestShout(NodeSuite):
    node = Shout


def test_each_text_is_written_in_capitals() -> None:
    outputs = run_node(Shout, send={"text": ["hello", "out there"]})
    assert outputs["text"] == ["HELLO!", "OUT THERE!"]


def test_the_mark_is_configured() -> None:
    outputs = run_node(Shout, config={"mark": "?!"}, send={"text": ["really"]})
    assert outputs["text"] == ["REALLY?!"]


def test_the_summary_comes_last_and_counts_one_object() -> None:
    for _ in range(2):
        outputs = run_node(Shout, config={"summary": True}, send={"text": ["ab", "cde"]})
        assert outputs["text"] == ["AB!", "CDE!", "2 texts, 5 characters"]
