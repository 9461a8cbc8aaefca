# SPDX-License-Identifier: MIT
"""The node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rocketride_core import (
    Arguments,
    Component,
    Expansion,
    Instance,
    Json,
    Node,
    NodeSpec,
    Profile,
    Tool,
    ToolError,
    ToolFailure,
    ToolInput,
    ToolTimeout,
    hookimpl,
)

from .arguments import normalised
from .concealed import Scrubber
from .config import HttpRequestConfig, faults
from .limits import RateLimits
from .schema import OUTPUT, description, input_schema

if TYPE_CHECKING:
    from .client import Client

__all__ = ["HttpRequest", "HttpRequestConfig", "HttpTool"]

EMPTY = "URL whitelist is empty — all URLs will be allowed"


class HttpTool(Tool):
    """The tool. It takes what models send in more shapes than its schema asks for."""

    def checked(self, arguments: Arguments) -> Arguments:
        node: HttpRequest = self.call.__self__  # type: ignore[attr-defined]
        try:
            found = normalised(arguments)
            node.check(found)
            return found
        except ToolInput as error:
            error.tool = self.name
            raise


class HttpRequest(Node[HttpRequestConfig]):
    """Makes HTTP requests for an agent: only to what the config allows, and never to an address inside the network unless it
    says so. An HTTP error is a result; that nothing came is a ToolError."""

    spec = NodeSpec(
        "tool_http_request",
        title="HTTP Request",
        description="HTTP requests as a tool of an agent, guarded by methods, URL patterns, addresses and rates.",
        categories=["tool"],
        profiles=[Profile("default", {"serverName": "http"}, title="Default")],
        tile=["http_request"],
    )

    tool: HttpTool
    client: Client
    limits: RateLimits

    @classmethod
    @hookimpl
    def expand_component(cls, component: Component, context: Expansion) -> Sequence[Component] | None:  # noqa: ARG003
        config = context.config(HttpRequestConfig)
        for key, message, hint in faults(config):
            context.problem("invalid-value", message, path=key, hint=hint)
        if not config.patterns:
            hint = "write patterns, ^https://api.example.com/ for one"
            context.problem("open-whitelist", EMPTY, path="urlWhitelist", hint=hint, severity="warning")
        return None

    @hookimpl
    def begin_global(self) -> None:
        from .client import Client

        config = self.config
        self.client = Client(config)
        self.limits = RateLimits(config.rate_per_second, config.rate_per_minute, config.max_concurrent)
        self.tool = HttpTool("http_request", description(config), input_schema(config), self.request, OUTPUT, concurrent=True)

    @hookimpl
    def end_global(self) -> None:
        self.client.close()

    @hookimpl
    def list_tools(self, instance: Instance) -> Sequence[Tool]:
        return [self.tool]

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raises ToolInput or ToolDenied for arguments, `normalised`, that will not be requested."""
        from .request import prepared

        request = prepared(arguments, self.config)
        with self._scrubbed(request.given):
            self.client.check(request)

    def request(self, instance: Instance, arguments: Arguments) -> Mapping[str, Json]:
        """One request, on arguments that are checked.

        Raises:
            ToolError: nothing usable came, or a limit is reached; one sentence says why.
        """
        from .request import prepared

        request = prepared(arguments, self.config)
        seconds = min(one for one in (request.timeout or self.config.timeout, instance.remaining) if one is not None)
        with self._scrubbed(request.given), self.limits.request():
            reply = instance.wait(self.client.run(request, seconds))
        instance.count("requests", 1 + reply.redirects)
        instance.count("bytes", reply.size)
        return reply.result

    @contextmanager
    def _scrubbed(self, given: Sequence[str]) -> Iterator[None]:
        """A ToolError says who failed, and no secret: not even one that stands in a path."""
        try:
            yield
        except ToolError as error:
            error.args = (Scrubber(self.config.secrets, given)(str(error)),)
            if isinstance(error, ToolFailure | ToolTimeout):
                error.component = self.id
            raise
