# SPDX-License-Identifier: MIT
"""Where a node's database is, as its config says."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from rocketride_core import Node

from .backend import VectorStore
from .config import StoreConfig
from .errors import StoreError, transport
from .places import MEMORY, Address

__all__ = ["Placed"]

S = TypeVar("S", bound=StoreConfig)


class Placed(Node[S]):
    """What a store may say of its database, and what follows from its settings where it says nothing.

    Settings `host` and `port` are a server's, and `apikey` is its key; where `mode` is `embedded`, `path` is a folder.

    Attributes:
        library: the module that imports the client. Where it has a function `explain`, that says what exceptions of `connect` mean.
        engine: the module of a database in a folder, where that may be missing.
    """

    library: ClassVar[str] = ""
    engine: ClassVar[str] = ""

    def connect(self) -> VectorStore:
        """Open the database; called once, when the pipeline is loaded, and for each probe."""
        raise NotImplementedError(f"{type(self).__name__} has no connect(); return its VectorStore there")

    def connected(self) -> VectorStore:
        """`connect`, where the settings say where the database is.

        Raises:
            ValueError: they do not, and what to write.
        """
        if self._embedded:
            self.require("path", ", the folder of its database")
        elif hasattr(self.config, "host") and any(one.id == "embedded" for one in self.spec.profiles):
            self.require("host", ", or choose the profile embedded")
        return self.connect()

    def explain(self, error: Exception) -> StoreError | None:
        """What an exception of `connect` means; None for one that is a mistake of the program."""
        own = getattr(import_module(self.library), "explain", transport) if self.library else transport
        told: StoreError | None = own(error)
        return told

    @property
    def address(self) -> str:
        """Where the server is, for messages: "localhost:6333"; "" where the database has no address."""
        config: Any = self.config
        served = getattr(config, "host", "") and hasattr(config, "port") and not self._embedded
        return str(self.server(getattr(config, "mode", ""), config.host, config.port)) if served else ""

    @property
    def folder(self) -> Path | None:
        """Of a database in this process; None where it is elsewhere. A probe makes no folder that is not there."""
        path = getattr(self.config, "path", "") if self._embedded else ""
        # Without its engine there is an error to be told.
        known = path not in ("", MEMORY) and (not self.engine or find_spec(self.engine))
        return Path(path) if known else None

    @classmethod
    def name_rule(cls, name: str) -> str:
        """What a collection may be called, where this name breaks the rule; "" where it does not."""
        return "" if name else "at least one character"

    @classmethod
    def server(cls, mode: Any, host: str, port: int) -> Address:  # noqa: ARG003 - some tell by the mode what is encrypted
        """The server that these settings mean.

        Raises:
            ValueError: the host is no host.
        """
        return Address.of(host, port, store=cls.spec.title)

    @classmethod
    def in_the_open(cls, mode: Any, host: str, port: int) -> bool:
        """Whether others can read what is sent to this server: it is not encrypted, and leaves this machine.

        Raises:
            ValueError: the host is no host.
        """
        return mode != "embedded" and cls.server(mode, host, port).in_the_open

    def require(self, key: str, hint: str = "") -> None:
        """Refuses an empty setting.

        Parameters:
            hint: what else can be done, after `write "<key>" in its config`.

        Raises:
            ValueError: it is empty.
        """
        if not getattr(self.config, key):
            raise ValueError(f'{self.id} has no {key}; write "{key}" in its config{hint}')

    def prepare(self) -> None:
        """Import the client. It may take seconds, which are not the server's fault: a probe does it before it looks at the clock.

        Raises:
            StoreError: it is not installed, and what to type.
        """
        if not self.library:
            return
        package = self.library.partition(".")[0]
        try:
            import_module(self.library)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith(package):
                raise  # a mistake of the store's own
            told = f"{self.spec.title} needs the module {error.name}, which is not installed; pip install {package.replace('_', '-')}"
            raise StoreError("invalid", sentence=told) from error

    @property
    def _embedded(self) -> bool:
        return getattr(self.config, "mode", "") == "embedded"
