# SPDX-License-Identifier: MIT
"""Ways to prove who asks, tokens and their exchange, addresses, projects and locations."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

from rocketride_core import ANSWERS, QUESTIONS, Answer, Entry, PipeError, Question, RunError
from rocketride_core.testing import node_harness
from rocketride_llm import LLMError
from rocketride_llm.testing import Echo, Fail, Say, ScriptedServer, bad_key
from rocketride_llm.testing.kit import asked_by
from rocketride_llm_vertex import Vertex

TOKEN = "ya29.secret-0123456789"
PRIVATE = rsa.generate_private_key(65537, 2048)
PUBLIC = PRIVATE.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
PEM = PRIVATE.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


class TokenServer(ThreadingHTTPServer):
    """Google's token endpoint: checks the signed claim, and gives one token after another."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.claims: list[dict[str, Any]] = []
        self.answers: list[tuple[int, Any]] = []
        self.lasts = 3600
        self.uri = f"http://127.0.0.1:{self.server_port}/token"


class Exchange(BaseHTTPRequestHandler):
    server: TokenServer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        claim = jwt.decode(form["assertion"][0], certs=PUBLIC, audience=self.server.uri)  # type: ignore[no-untyped-call]
        self.server.claims.append(dict(claim))
        given = {"access_token": TOKEN, "expires_in": self.server.lasts, "token_type": "Bearer"}
        status, body = self.server.answers.pop(0) if self.server.answers else (200, given)
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    with TokenServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def key_file(tokens: TokenServer, **more: Any) -> str:
    told = {"type": "service_account", "project_id": "own-project", "private_key_id": "k1", "private_key": PEM}
    return json.dumps({**told, "client_email": "bot@own-project.example", "token_uri": tokens.uri, **more})


@contextmanager
def asking(*steps: Any, **config: Any) -> Iterator[Any]:
    """`(ask, server)`: `ask()` is the result of one question."""
    with ScriptedServer(steps, key=TOKEN) as server:
        given = {"base_url": server.url, "maxAttempts": 1, "retryDelay": 0, **config}
        with asked_by(Vertex, given, lambda model, question: model.ask(question)) as pipeline:
            yield lambda text="Why?": pipeline.run(Entry("e"), QUESTIONS(Question.of(text))), server


def cause(result: Any) -> LLMError:
    assert result.error is not None
    assert isinstance(result.error.__cause__, LLMError), repr(result.error)
    return result.error.__cause__


def ask(config: dict[str, Any]) -> Any:
    with node_harness(Vertex, config=config) as harness:
        return harness.run({"questions": [Question(("Why?",))]}, check=False)


# --- who asks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "path", "header"),
    [
        ({"apikey": TOKEN}, "publishers", "x-goog-api-key"),
        ({"apikey": TOKEN, "project": "p-1"}, "projects/p-1/locations/global/publishers", "x-goog-api-key"),
        ({"accessToken": f" {TOKEN}\n", "project": "p-1"}, "projects/p-1/locations/global/publishers", "authorization"),
        (
            {"accessToken": TOKEN, "project": "p-1", "location": "europe-west4", "model": "models/gemini-2.5-pro"},
            "projects/p-1/locations/europe-west4/publishers",
            "authorization",
        ),
    ],
)
def test_where_and_with_what_it_asks(config: dict[str, Any], path: str, header: str) -> None:
    with asking(Say("Yes."), **{"model": "gemini-2.5-pro", **config}) as (ask, server):
        assert ask().checked()[ANSWERS] == [Answer("Yes.")]
        [request] = server.requests
        assert request.path == f"/v1beta1/{path}/google/models/gemini-2.5-pro:generateContent"
        assert TOKEN in request.headers[header]
        assert len({"x-goog-api-key", "authorization"} & set(request.headers)) == 1


@pytest.mark.parametrize(
    ("config", "address"),
    [
        ({"accessToken": TOKEN, "project": "p"}, "https://aiplatform.googleapis.com"),
        ({"accessToken": TOKEN, "project": "p", "location": "europe-west4"}, "https://europe-west4-aiplatform.googleapis.com"),
        ({"accessToken": TOKEN, "project": "p", "location": "eu"}, "https://aiplatform.eu.rep.googleapis.com"),
        ({"apikey": TOKEN, "location": "europe-west4"}, "https://aiplatform.googleapis.com"),
    ],
)
def test_googles_own_addresses(config: dict[str, Any], address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_API_USE_MTLS_ENDPOINT", "always")
    with node_harness(Vertex, config=config) as harness:
        client = harness.node.backend._client._api_client
        assert client._http_options.base_url == address
        assert client._httpx_url(address, is_async=True) == address
        assert harness.node.asking(harness.node.backend).address == address


def test_the_accounts_key_is_exchanged_once_for_all(tokens: TokenServer) -> None:
    with asking(*[Echo()] * 8, serviceKey=key_file(tokens)) as (ask, server):
        threads = [threading.Thread(target=lambda: ask().checked()) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.chats) == 8
        assert all(chat.path.startswith("/v1beta1/projects/own-project/locations/global/") for chat in server.chats)
        assert {chat.headers["authorization"] for chat in server.chats} == {f"Bearer {TOKEN}"}
    [claim] = tokens.claims
    assert (claim["iss"], claim["aud"]) == ("bot@own-project.example", tokens.uri)
    assert claim["scope"] == "https://www.googleapis.com/auth/cloud-platform"


def test_a_data_url_and_another_project_will_do(tokens: TokenServer) -> None:
    url = f"data:application/json;base64,{base64.b64encode(key_file(tokens).encode()).decode()}"
    with asking(Say("ok"), serviceKey=url, project="p-2") as (ask, server):
        ask().checked()
        assert "/projects/p-2/" in server.chats[0].path


def test_a_token_that_ends_soon_and_one_that_was_refused_are_fetched_anew(tokens: TokenServer) -> None:
    tokens.lasts = 100
    with asking(Say("a"), Say("b"), serviceKey=key_file(tokens)) as (ask, _):
        ask().checked()
        ask().checked()
    assert len(tokens.claims) == 2
    tokens.lasts = 3600
    with asking(bad_key(), Say("b"), serviceKey=key_file(tokens)) as (ask, _):
        error = cause(ask())
        assert error.kind == "authentication"
        assert "Vertex AI refused the access token; see 'serviceKey' and 'accessToken'" in str(error)
        ask().checked()
    assert len(tokens.claims) == 4


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (
            (400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}),
            "authentication",
            "Invalid JWT Signature.",
        ),
        ((401, {"error": "invalid_client"}), "authentication", "invalid_client"),
        ((429, {}), "rate-limit", "gave no token"),
        ((503, "<html>"), "unavailable", "gave no token"),
        ((400, [1]), "authentication", "gave no token"),
        ((200, {"token": 5}), "bad-reply", "sent no token"),
        ((200, "<html>"), "bad-reply", "sent no token"),
        ((200, {"access_token": ""}), "bad-reply", "sent no token"),
        ((200, {"access_token": "t", "expires_in": "soon"}), "bad-reply", "sent no token"),
    ],
)
def test_an_exchange_that_fails(tokens: TokenServer, answer: tuple[int, Any], kind: str, said: str) -> None:
    tokens.answers = [answer]
    with asking(serviceKey=key_file(tokens)) as (ask, server):
        error = cause(ask())
        assert (error.kind, server.requests) == (kind, [])
        assert said in str(error)
        assert tokens.uri in str(error)


def test_an_exchange_is_tried_again_as_any_request(tokens: TokenServer) -> None:
    tokens.answers = [(503, {}), (503, {})]
    with asking(Say("ok"), serviceKey=key_file(tokens), maxAttempts=3) as (ask, server):
        result = ask().checked()
        assert (result[ANSWERS], result.usage["llm"]["retries"]) == ([Answer("ok")], 2)
        assert len(server.chats) == 1


def test_a_token_server_that_is_not_there() -> None:
    with TokenServer() as gone:
        uri = gone.uri
    with asking(serviceKey=key_file(gone)) as (ask, _):
        error = cause(ask())
    assert error.kind == "connection"
    assert f"The token server of the service account at {uri} did not answer" in str(error)


def test_secrets_are_in_no_message(tokens: TokenServer) -> None:
    told = {"error": {"code": 400, "message": f"what is {TOKEN}?", "status": "INVALID_ARGUMENT"}}
    with asking(Fail(400, body=told), serviceKey=key_file(tokens)) as (ask, _):
        result = ask()
        assert "what is ***?" in str(cause(result))
        assert TOKEN not in str(result.to_json())
        assert PEM[40:80] not in str(result.to_json())


# --- what cannot be -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, 'There is no API key for Vertex AI; write "apikey" in the config of node, best as "${ROCKETRIDE_…}", or in its'),
        ({"accessToken": TOKEN}, 'Vertex AI needs a project; write "project" in the config of node'),
        ({"accessToken": "Bearer x"}, "has spaces or characters that no key has"),
        ({"serviceKey": "planted"}, "Invalid serviceKey"),
        ({"serviceKey": '{"type": "authorized_user", "planted": 1}'}, "Invalid serviceKey"),
        ({"serviceKey": '{"type": "service_account", "token_uri": "planted"}'}, "Invalid serviceKey"),
        ({"serviceKey": '[{"planted": 1}]'}, "Invalid serviceKey"),
        ({"serviceKey": "data:application/json;base64,planted"}, "Invalid serviceKey"),
        (
            {
                "serviceKey": json.dumps(
                    {"type": "service_account", "token_uri": "http://a", "client_email": "a", "private_key": "planted"}
                )
            },
            "Invalid serviceKey",
        ),
        ({"serviceKey": "${GOOGLE_KEY}"}, "is a variable that is not filled in"),
    ],
)
def test_what_cannot_be_sent_ends_the_load(config: dict[str, Any], said: str) -> None:
    with pytest.raises(RunError) as told:
        ask(config)
    assert said in str(told.value)
    assert "planted" not in str(told.value)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"apikey": TOKEN, "accessToken": TOKEN}, "Give one of"),
        ({"apikey": TOKEN, "location": "evil.example/"}, "location"),
        ({"apikey": TOKEN, "project": "../p"}, "project"),
        ({"profile": "custom", "apikey": TOKEN}, "Model name was provided but is empty"),
        ({"profile": "gemini-pro", "apikey": TOKEN}, "Profile gemini-pro is not defined in llm_vertex"),
    ],
)
def test_settings_that_cannot_be(config: dict[str, Any], said: str) -> None:
    with pytest.raises(PipeError) as told:
        ask(config)
    text = f"{told.value} {[(problem.path, problem.message) for problem in told.value.problems]}"
    assert said in text
    assert TOKEN not in text


@pytest.mark.parametrize("profile", [profile.id for profile in Vertex.spec.profiles])
def test_each_profile_asks_its_model(profile: str) -> None:
    values = {one.id: one.values for one in Vertex.spec.profiles}[profile]
    with ScriptedServer([Say("Yes.")], key=TOKEN) as server:
        block = {"apikey": TOKEN, "base_url": server.url, **({} if values["model"] else {"model": "my-model"})}
        assert ask({"profile": profile, profile: block})["answers"] == [Answer("Yes.")]
        assert server.requests[0].model == (values["model"] or "my-model")


def test_the_client_is_imported_when_a_pipeline_begins() -> None:
    code = "import sys, rocketride_llm_vertex; print([m for m in ('google.genai', 'google.auth', 'httpx2') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
