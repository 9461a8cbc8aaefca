# SPDX-License-Identifier: MIT
"""IBM Watson keeps to what every language model keeps to."""

from rocketride_llm.testing import Say, ScriptedServer
from rocketride_llm.testing.kit import KEY
from rocketride_llm.testing.suite import LLMSuite
from rocketride_llm_ibm_watson import IBMWatson


class TestIBMWatson(LLMSuite):
    node = IBMWatson
    wire = "watsonx"
    cached = False
    refuses = False
    extra = {"project_id": "project-1"}
    environment = {
        "USER_ACCESS_TOKEN": "token-of-the-environment",
        "RUNTIME_ENV_ACCESS_TOKEN_FILE": "/nowhere/token",
        "WATSONX_APIKEY": "watsonx-key-of-the-environment",
        "WATSONX_API_KEY": "watsonx-key-of-the-environment",
        "WATSONX_URL": "http://127.0.0.1:9",
        "WATSONX_TOKEN": "token-of-the-environment",
        "WX_CLIENT_VERIFY_REQUESTS": "/nowhere.pem",
    }

    def test_a_probe_says_whether_it_would_work(self) -> None:
        """A wrong key is refused where it should become a token, so no question is asked."""
        for key, operations in ((KEY, ["token", "chat"]), ("another", ["token"])):
            with ScriptedServer([Say("Hello")], key=key) as server:
                found = self.probed(server)
                assert [request.operation for request in server.requests] == operations
            assert len(found) == (key != KEY)
        assert "Invalid API key" in found[0].message
