# SPDX-License-Identifier: MIT
"""Read every file that appears in a folder, until Ctrl-C: python examples/folder_watch.py FOLDER"""

import signal
import sys
from pathlib import Path

import attrs

from rocketride_core import TAGS, TEXT, Blob, Entry, Feed, Kernel, Node, NodeSpec, Result, hookimpl, setting, source
from rocketride_core.pipefile import Component, LaneLink, PipeFile


# --8<-- [start:node]
@attrs.frozen(kw_only=True)
class WatchConfig:
    folder: Path = setting(title="Folder")
    every: float = setting(1.0, ge=0, unit="s", title="Look again after")


class FolderWatcher(Node[WatchConfig]):
    spec = NodeSpec("folder_watch", title="Folder watcher", categories=["source"])

    @source(emits=[TAGS])
    def watch(self, feed: Feed) -> None:
        seen: set[Path] = set()
        feed.ready(f"watching {self.config.folder}")
        while not feed.stopping(self.config.every):
            for path in sorted(self.config.folder.iterdir()):
                if path.is_file() and path not in seen:
                    seen.add(path)
                    feed.submit(Entry(path.name, path=str(path)), TAGS(Blob.of(path)))


# --8<-- [end:node]


# --8<-- [start:host]
class Printer:
    """A host plugin: what is submitted has nobody who waits for it, so its results go to this hook."""

    @hookimpl
    def finish_entry(self, result: Result) -> None:
        print(f"{result.entry.name}: {result.error or ' '.join(result[TEXT])}", flush=True)


def pipe(folder: str) -> PipeFile:
    return PipeFile(
        [
            Component("watch_1", "folder_watch", {"folder": folder}),
            Component("parse_1", "parse", input=[LaneLink("tags", "watch_1")]),
            Component("response_1", "response_text", input=[LaneLink("text", "parse_1")]),
        ]
    )


def main(folder: str) -> None:
    kernel = Kernel(nodes=[FolderWatcher], plugins=[Printer()])
    with kernel.load(pipe(folder), on_ready=lambda message: print(message, flush=True)) as pipeline:
        signal.signal(signal.SIGINT, lambda *_: pipeline.stop())
        pipeline.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
# --8<-- [end:host]
