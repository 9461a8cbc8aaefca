# SPDX-License-Identifier: MIT
"""AWS's official client, told everything, and asked only for what it makes of a request: addressed, checked, signed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import attrs

from rocketride_llm import LLMError

__all__ = ["Keys", "Sender", "Signed"]

UNSENT = {"user-agent", "x-amzn-trace-id"}  # never part of a signature; the second is told by a variable of AWS Lambda


@attrs.frozen
class Keys:
    """Who asks: a Bedrock API key, or an access key with its secret (and the token of a session)."""

    api_key: str = attrs.field(default="", repr=False)
    access: str = attrs.field(default="", repr=False)
    secret: str = attrs.field(default="", repr=False)
    token: str = attrs.field(default="", repr=False)


@attrs.frozen
class Signed:
    """A request, ready to be sent as it is."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)


class Sender:
    """Makes requests of the Bedrock runtime, without sending any.

    Nothing of the process's environment has a say in them: no `AWS_*` variable, no file of AWS's tools, no metadata service.

    Parameters:
        region: as in `us-east-1`.
        address: base URL of the runtime.
    """

    def __init__(self, keys: Keys, region: str, address: str) -> None:
        from botocore import UNSIGNED  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]

        self._key = keys.api_key
        options = Config(
            signature_version=UNSIGNED if keys.api_key else "v4",
            retries={"total_max_attempts": 1, "mode": "standard"},
            user_agent="rocketride",
            ignore_configured_endpoint_urls=True,
            defaults_mode="legacy",
        )
        session = _session()
        if not keys.api_key:
            session.set_credentials(keys.access, keys.secret, keys.token or None)
        self._client: Any = session.create_client("bedrock-runtime", region_name=region, endpoint_url=address, config=options)
        self._client.meta.events.register_first("before-send.bedrock-runtime", self._keep)
        self._kept: Any = None

    def request(self, operation: str, arguments: Mapping[str, Any]) -> Signed:
        """The request of an operation, `converse` or `converse_stream`.

        Raises:
            LLMError: the client refuses the arguments.
        """
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

        try:
            getattr(self._client, operation)(**arguments)
        except Held:
            kept, self._kept = self._kept, None
        except BotoCoreError as error:
            raise LLMError("invalid-request", str(error)) from error
        headers = {name: _text(value) for name, value in kept.headers.items() if name.lower() not in UNSENT}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        body = kept.body or b""
        return Signed(kept.method, kept.url, headers, body if isinstance(body, bytes) else str(body).encode())

    def close(self) -> None:
        self._client.close()

    def _keep(self, request: Any, **_: Any) -> None:
        """Called where the client would send."""
        self._kept = request
        raise Held


class Held(Exception):
    """The request is made, and goes another way than by the client's own connection."""


def _session() -> Any:
    """A session that knows no more than the defaults."""
    from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES, ConfigValueStore, ConstantProvider  # type: ignore[import-untyped]
    from botocore.credentials import CredentialResolver  # type: ignore[import-untyped]
    from botocore.session import Session  # type: ignore[import-untyped]

    session: Any = Session()
    files = ("config_file", "credentials_file")
    known = {
        name: ConstantProvider(None if name in files else default)
        for name, (_, _, default, _) in BOTOCORE_DEFAUT_SESSION_VARIABLES.items()
    }
    session.register_component("config_store", ConfigValueStore(mapping=known))
    session.register_component("credential_provider", CredentialResolver(providers=[]))
    session.register_component("data_loader", _loader())
    session._config = {"profiles": {}}  # no argument stands against its looking for files
    return session


@functools.cache
def _loader() -> Any:
    """The client's own descriptions of services, none of a folder's; kept, since they take a while to read."""
    from botocore.loaders import Loader  # type: ignore[import-untyped]

    return Loader(extra_search_paths=[Loader.BUILTIN_DATA_PATH], include_default_search_paths=False)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
