# SPDX-License-Identifier: MIT
"""embedding_openai over a real socket against the scripted server."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from rocketride_core import (
    DOCUMENTS,
    QUESTIONS,
    Component,
    Document,
    Entry,
    Instance,
    Kernel,
    LaneLink,
    Node,
    NodeSpec,
    PipeFile,
    Question,
    on,
)
from rocketride_core.testing import NodeSuite, node_harness
from rocketride_embedding.testing import EmbeddingSuite, kept
from rocketride_embedding_openai import EmbeddingOpenAI
from rocketride_embedding_openai.backend import Vectors
from rocketride_embedding_openai.node import _requests, _shared
from rocketride_llm import LLMError
from rocketride_llm.testing import Drop, Fail, Rule, ScriptedServer, rate_limited
from rocketride_llm_openai import count, head

KEY = "sk-planted-0123456789"
SHARED = Path(__file__).resolve().parents[4] / "shared"
CATALOG = SHARED / "reference" / "catalog.json"
README = Path(__file__).parents[1] / "README.md"
FAST = {"apikey": KEY, "retryDelay": 0.01, "maxAttempts": 3, "timeout": 2}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(key=KEY) as server:
        yield server
        assert not server.unexpected


def scripted(*steps: Any) -> ScriptedServer:
    """A server that answers its first requests for embeddings so."""
    return ScriptedServer(rules=[Rule("", step, times=1, operation="embeddings") for step in steps], key=KEY)


def config(server: ScriptedServer, **more: Any) -> dict[str, Any]:
    return {**FAST, "base_url": server.base_url("openai"), **more}


class TestAsEmbedding(EmbeddingSuite):
    node = EmbeddingOpenAI

    @pytest.fixture(autouse=True)
    def served(self, server: ScriptedServer) -> None:
        self.config = config(server)


class TestAsNode(NodeSuite):
    node = EmbeddingOpenAI

    @pytest.fixture(autouse=True)
    def served(self, server: ScriptedServer) -> None:
        type(self).config = config(server)


class Start(Node[None]):
    spec = NodeSpec("openai_start", title="Start", categories=["source"], emits=[DOCUMENTS, QUESTIONS])


class Keep(Node[None]):
    spec = NodeSpec("openai_keep", title="Keep", responds=True)

    @on(DOCUMENTS)
    def documents(self, instance: Instance, documents: Sequence[Document]) -> None:
        instance.respond("documents", DOCUMENTS(documents))

    @on(QUESTIONS)
    def questions(self, instance: Instance, question: Question) -> None:
        instance.respond("questions", QUESTIONS(question))


def loaded(config: Mapping[str, Any]) -> Any:
    lanes = ("documents", "questions")
    file = PipeFile(
        [
            Component("start", "openai_start", {"mode": "Source"}),
            Component("embed", "embedding_openai", config, [LaneLink(lane, "start") for lane in lanes]),
            Component("keep", "openai_keep", {}, [LaneLink(lane, "embed") for lane in lanes]),
        ]
    )
    return Kernel(nodes=[Start, Keep, EmbeddingOpenAI], workers=8).load(file)


def embed(config: Mapping[str, Any], *texts: str) -> Any:
    with loaded(config) as pipeline:
        return pipeline.run(Entry("a"), DOCUMENTS([Document(text) for text in texts]))


def cause(result: Any) -> LLMError:
    assert isinstance(result.error.__cause__, LLMError), repr(result.error)
    return result.error.__cause__


def test_what_is_sent_and_counted(server: ScriptedServer) -> None:
    result = embed(config(server, dimensions=24, document_prefix="passage: "), "the cat", "a dog").checked()
    [request] = server.requests
    assert request.body == {
        "model": "text-embedding-3-small",
        "input": ["passage: the cat", "passage: a dog"],
        "dimensions": 24,
        "encoding_format": "base64",
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert [len(document.embedding) for document in kept(result)] == [24, 24]
    assert {document.embedding_model for document in kept(result)} == {"text-embedding-3-small"}
    tokens = -(-len("passage: the cat\npassage: a dog") // 4)  # as the server counts
    assert result.usage["embed"] == {"input_tokens": tokens, "requests": 1}


def test_objects_share_requests_and_each_counts_its_own_tokens(server: ScriptedServer) -> None:
    work = [(Entry(str(i)), [DOCUMENTS([Document(f"object {i} {'word ' * (i % 9)}") for _ in range(3)])]) for i in range(100)]
    with loaded(config(server)) as pipeline:
        results = [result.checked() for result in pipeline.map(work, workers=8)]
    assert len(server.requests) < 70
    assert sum(len(request.body["input"]) for request in server.requests) == 300
    said = sum(-(-len(request.prompt) // 4) for request in server.requests)
    assert sum(result.usage["embed"]["input_tokens"] for result in results) == said
    assert sum(result.usage["embed"].get("requests", 0) for result in results) == len(server.requests)


def test_requests_are_cut_by_tokens() -> None:
    texts = ["word " * 40_000] * 6 + ["short"] * 3  # 50,000 tokens each
    assert [len(some) for some in _requests(texts)] == [4, 5]
    assert [list(some) for some in _requests(["x"])] == [["x"]]
    assert [len(some) for some in _requests(["w" * 4_000_000, "x"])] == [1, 1]


def test_shares_of_tokens_add_up() -> None:
    texts = [f"text {'of words ' * i}" for i in range(17)]
    found = _shared(Vectors([memoryview(b"\0" * 4).cast("f")] * 17, 1001), texts)
    assert sum(one.tokens for one in found) == 1001
    assert [one.tokens for one in found] == sorted(one.tokens for one in found)


def test_a_text_that_is_too_long_is_cut_exactly_and_told(server: ScriptedServer) -> None:
    long = "Zürich 猫🙂 and more, " * 30
    result = embed(config(server, tokens=50), long, "short").checked()
    [first, second] = server.requests[0].body["input"]
    assert second == "short"
    assert long.startswith(first)
    assert 48 <= count(first, "cl100k_base") <= 50
    assert [warning.code for warning in result.warnings] == ["text-cut"]
    assert [document.text for document in kept(result)] == [long, "short"]
    embed(config(server, tokens=50, model="another/model"), long).checked()
    assert server.requests[1].body["input"] == [long]


@pytest.mark.parametrize("tokens", [1, 7, 60, 5000])
def test_the_head_of_a_text_never_splits_a_character(tokens: int) -> None:
    text = "👩‍👩‍👧 é 한국어 ı İ tail " * 200
    part = head(text, tokens, "cl100k_base")
    assert text.startswith(part)
    assert count(part, "cl100k_base") <= tokens
    assert part == text or count(text[: len(part) + 8], "cl100k_base") > tokens


def test_half_a_character_reaches_the_server_as_a_question_mark(server: ScriptedServer) -> None:
    embed(config(server), "a \ud83d b").checked()
    assert server.requests[0].body["input"] == ["a ? b"]


@pytest.mark.parametrize(
    ("steps", "kind", "requests"),
    [
        ([Fail(kind="bad_key")], "authentication", 1),
        ([Fail(500)] * 3, "unavailable", 3),
        ([rate_limited(0.01)] * 3, "rate-limit", 3),
        ([Fail(kind="model_not_found")], "no-such-model", 1),
        ([Fail(kind="context_too_long")], "too-long", 1),
        ([Drop()] * 3, "connection", 3),
    ],
)
def test_failures(steps: Sequence[Any], kind: str, requests: int) -> None:
    with scripted(*steps) as server:
        error = cause(embed(config(server), "x"))
        assert (error.kind, len(server.requests)) == (kind, requests)
        assert KEY not in str(error)
        assert error.component == "embed"
    if kind == "too-long":
        assert str(error).startswith("A text is too long for the model 'text-embedding-3-small'")


def test_what_passes_is_asked_for_again() -> None:
    with scripted(Fail(500), rate_limited(0.05)) as server:
        result = embed(config(server), "x").checked()
        assert result.usage["embed"]["retries"] == 2
        assert len(server.requests) == 3
        assert server.requests[2].time - server.requests[1].time >= 0.05


def test_an_outage_fails_each_object_without_asking_for_each() -> None:
    work = [(Entry(str(i)), [DOCUMENTS([Document(f"object {i}")])]) for i in range(24)]
    with scripted(*[Fail(500)] * 200) as server:
        with loaded(config(server)) as pipeline:
            errors = [cause(result) for result in pipeline.map(work, workers=8)]
        assert {error.kind for error in errors} == {"unavailable"}
        assert len({id(error) for error in errors}) == 24
        assert len(server.requests) <= 3 * 16


class Odd(BaseHTTPRequestHandler):
    """A compatible server with ways of its own."""

    protocol_version = "HTTP/1.1"
    reply: Any
    bodies: list[Any] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.bodies.append((body, self.headers.get("authorization")))
        status, said = type(self).reply(body)
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def odd() -> Iterator[Any]:
    Odd.bodies = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    Thread(target=server.serve_forever, daemon=True).start()

    def settings(reply: Any, **more: Any) -> dict[str, Any]:
        Odd.reply = staticmethod(reply)
        address = f"http://127.0.0.1:{server.server_address[1]}/v1/embeddings/"
        return {"model": "odd", "base_url": address, "retryDelay": 0.01, **more}

    yield settings
    server.shutdown()
    server.server_close()


def told(*vectors: Any, **more: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "odd", **more}


def test_a_server_without_base64_and_without_a_key(odd: Any) -> None:
    def reply(body: Any) -> Any:
        if body["encoding_format"] == "base64":
            return 422, {"detail": [{"loc": ["body", "encoding_format"], "msg": "Input should be 'float'"}]}
        return 200, told(*[[3, 4]] * len(body["input"]))

    with loaded(odd(reply)) as pipeline:
        for _ in range(2):
            [document] = kept(pipeline.run(Entry("a"), DOCUMENTS([Document("x")])).checked())
            np.testing.assert_allclose(np.asarray(document.embedding), [0.6, 0.8], atol=1e-6)
    assert [body["encoding_format"] for body, _ in Odd.bodies] == ["base64", "float", "float"]
    assert {key for _, key in Odd.bodies} == {None}


def test_vectors_are_put_in_the_order_of_the_texts(odd: Any) -> None:
    def reply(body: Any) -> Any:
        said = told([1, 0], [0, 1])
        return 200, {**said, "data": said["data"][::-1]}

    first, second = kept(embed(odd(reply), "x", "y").checked())
    assert (list(first.embedding), list(second.embedding)) == ([1, 0], [0, 1])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (told(), "0 vectors for 1 texts"),
        ({"object": "list"}, "no vectors for 1 texts"),
        (told("%%%"), "neither Base64 of floats nor a list of numbers"),
        (told(["a"]), "neither Base64"),
        (told(None), "neither Base64"),
        (told([0, 0]), "zero"),
        (told([]), "empty"),
        (told([float("nan"), 1]), "numbers that are none"),
        ({"data": [{"index": 7, "embedding": [1]}]}, "not numbered as the texts are"),
    ],
)
def test_replies_that_cannot_be_read(odd: Any, said: Any, why: str) -> None:
    error = cause(embed(odd(lambda body: (200, said)), "x"))
    assert (error.kind, len(Odd.bodies)) == ("bad-reply", 1)
    assert why in str(error)


def test_no_such_api_says_how_the_address_ends(odd: Any) -> None:
    error = cause(embed(odd(lambda body: (404, {"detail": "Not Found"})), "x"))
    assert "There is no embeddings API at http://127.0.0.1" in str(error)


def test_the_dimension_is_the_servers_own(odd: Any, server: ScriptedServer) -> None:
    packed = base64.b64encode(struct.pack("<3f", 1, 0, 0)).decode()
    with node_harness(EmbeddingOpenAI, config=odd(lambda body: (200, told(packed)))) as harness:
        assert (harness.node.dimension, harness.node.dimension, len(Odd.bodies)) == (3, 3, 1)
    with node_harness(EmbeddingOpenAI, config=config(server)) as harness:
        assert harness.node.dimension == 1536
    assert server.requests == []


def test_a_key_is_needed_at_openai_only() -> None:
    with pytest.raises(Exception, match='There is no API key for OpenAI; write "apikey" .* or "base_url"'), loaded({}):
        pass


def test_probing(server: ScriptedServer) -> None:
    def problems(**more: Any) -> list[str]:
        file = PipeFile(
            [
                Component("start", "openai_start", {"mode": "Source"}),
                Component("embed", "embedding_openai", config(server, **more), [LaneLink("documents", "start")]),
                Component("keep", "openai_keep", {}, [LaneLink("documents", "embed")]),
            ]
        )
        found = Kernel(nodes=[Start, Keep, EmbeddingOpenAI]).check(file, probe=True)
        return [problem.message for problem in found if problem.code == "probe-failed"]

    assert problems() == []
    [said] = problems(apikey="sk-another-key")
    assert "Invalid API key" in said
    assert "sk-another-key" not in said


@pytest.mark.skipif(not CATALOG.is_file(), reason="../shared/reference/catalog.json is not here")
def test_profiles_are_those_of_the_catalog() -> None:
    entry = next(one for one in json.loads(CATALOG.read_text())["services"] if one["name"] == "embedding_openai")
    spec = EmbeddingOpenAI.spec
    assert (spec.title, list(spec.categories)) == (entry["title"], entry["classType"])
    assert spec.profiles[0].id == entry["preconfig"]["default"]
    assert {profile.id: {"title": profile.title, **profile.values} for profile in spec.profiles} == entry["profiles"]


def test_the_readmes_example_runs(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    [text] = [block for block in README.read_text().split("```") if block.startswith("json")]
    path = tmp_path / "example.pipe"
    path.write_text(text.removeprefix("json"))
    monkeypatch.setenv("ROCKETRIDE_OPENAI_KEY", KEY)
    monkeypatch.setenv("ROCKETRIDE_OPENAI_URL", server.base_url("openai"))
    with Kernel().load(path) as pipeline:
        [question] = pipeline.run(Entry("a"), QUESTIONS(Question.of("x"))).checked()[QUESTIONS]
    assert len(question.embeddings[0]) == 1536
