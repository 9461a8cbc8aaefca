# SPDX-License-Identifier: MIT
"""What every store can be told."""

from __future__ import annotations

from typing import Any

import attrs

from rocketride_core import Profile, ProviderRef, setting

from .scores import METRICS

__all__ = ["AsWritten", "StoreConfig", "profile"]


@attrs.frozen(kw_only=True)
class StoreConfig:
    """A backend adds where its database is."""

    collection: str = setting("ROCKETRIDE", title="Collection", doc="Made at the first write.")
    score: float = setting(
        0.5,
        ge=0,
        le=1,
        title="Least similarity",
        doc="Results below it are left out; keyword and get results have no score and stay.",
    )
    similarity: str = setting(
        "cosine", choices=METRICS, title="Metric", doc="How vectors are compared; fixed when the collection is made."
    )
    limit: int = setting(
        25, key="top_k", ge=1, title="Results", doc="For each question text, where the question's filter says no limit."
    )
    payload_limit: int = setting(
        32 << 20, key="payloadLimit", ge=1, unit="bytes", title="Largest batch", doc="Texts, metadata and vectors of one write."
    )
    max_attempts: int = setting(
        5, key="maxAttempts", ge=1, title="Attempts", doc="On lost connections, time-outs, and servers that cannot serve now."
    )
    retry_delay: float = setting(
        0.5, key="retryDelay", ge=0, unit="s", title="First wait", doc="Doubled for each attempt, up to 30 s."
    )
    max_time: float = setting(
        120.0, key="maxTime", ge=0.001, unit="s", title="Time limit of a call", doc="All its attempts and waits together."
    )
    embedding: ProviderRef | None = setting(
        None,
        title="Embedding",
        doc="The node that embeds for the store's tools, with its config; or bind one to the slot `embedding`.",
    )
    server_name: str = setting("", key="serverName", title="Server name", doc="Accepted and kept; changes nothing.")


@attrs.frozen(kw_only=True)
class AsWritten:
    """What is looked at before the config is known to be right."""

    collection: Any = setting(None)
    embedding: Any = setting(None)
    mode: Any = setting(None)
    host: Any = setting(None)
    port: Any = setting(None)
    apikey: Any = setting(None)


def profile(mode: str, title: str, **values: Any) -> Profile:
    """A profile of a place where the database can be, named after its mode.

    Parameters:
        values: of the config, by their keys in the file; mode and collection are added where they are not among them.
    """
    return Profile(mode, {"mode": mode, "collection": "ROCKETRIDE", **values}, title=title)
