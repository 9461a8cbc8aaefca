# SPDX-License-Identifier: MIT
"""Where a Weaviate server is: one address for REST, another for gRPC."""

from __future__ import annotations

from urllib.parse import urlsplit

import attrs

__all__ = ["Address", "address"]

_CLOUDS = ("weaviate.cloud", "weaviate.network", "weaviate.io", "semi.technology")


@attrs.frozen(kw_only=True)
class Address:
    """REST and gRPC of one server; both are encrypted or none is."""

    host: str
    port: int
    grpc_host: str
    grpc_port: int
    secure: bool

    @property
    def in_the_open(self) -> bool:
        """What is sent can be read on the way: it is not encrypted, and leaves this machine."""
        local = self.host in ("localhost", "::1") or self.host.startswith("127.")
        return not self.secure and not local

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{_bracketed(self.host)}:{self.port}"

    def __str__(self) -> str:
        return f"{_bracketed(self.host)}:{self.port}"


def address(mode: str, host: str, port: int, grpc_host: str = "", grpc_port: int = 50051) -> Address:
    """The addresses that a config means.

    Parameters:
        mode: local or cloud; in the cloud, and at port 443, connections are encrypted unless the host says `http://`.
        host: a name, or a URL, whose scheme and port then win.
        grpc_host: "" is the host itself; for a cluster of Weaviate Cloud it is the name that belongs to the cluster.

    Raises:
        ValueError: the host is no host, or REST and gRPC would be the same address.
    """
    parts = urlsplit(host if "://" in host else f"//{host}")
    try:
        name, own_port = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(
            f"the host {host!r} cannot be read ({error}); write a name, or a URL like https://example.com"
        ) from error
    if not name or parts.scheme not in ("", "http", "https"):
        raise ValueError(f"the host {host!r} is none; write a name like localhost, or a URL with http:// or https://")
    port = own_port or port
    secure = parts.scheme == "https" or (not parts.scheme and (mode == "cloud" or port == 443))
    grpc_host = grpc_host or (_cloud_grpc(name) if mode == "cloud" else name)
    if (grpc_host, grpc_port) == (name, port):
        raise ValueError(
            f"REST and gRPC cannot both be at {name}:{port}; write in grpc_host or grpc_port where the server's gRPC answers"
        )
    return Address(host=name, port=port, grpc_host=grpc_host, grpc_port=grpc_port, secure=secure)


def _cloud_grpc(name: str) -> str:
    if name.endswith(".weaviate.network"):
        cluster, _, domain = name.partition(".")
        return f"{cluster}.grpc.{domain}"
    return f"grpc-{name}" if name.endswith(_CLOUDS) else name


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name
