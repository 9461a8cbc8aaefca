# SPDX-License-Identifier: MIT
"""Indexes examples/documents with autopipe.pipe, then asks ask.pipe four questions: `make demo`.

From a shell, the same: rocketride-core run examples/autopipe.pipe examples/documents
                        rocketride-core run examples/ask.pipe --question "Who founded the observatory?"

The index lies in .rocketride/demo under the working directory, or where ROCKETRIDE_DEMO_STORE says.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent, shorten

from rocketride_core import DOCUMENTS, QUESTIONS, TAGS, Blob, Document, Entry, Kernel, Packet, Pipeline, Question

HERE = Path(__file__).resolve().parent
ASK = [
    "Who founded the observatory, and in what year?",
    "How much does a yearly household membership cost?",
    "What was damaged when lightning struck the weather mast?",
    "Who paid the bill for the pendulum clock that hangs in the cellar?",
]


def files(folder: Path) -> Iterator[tuple[Entry, list[Packet]]]:
    """One object a file. Its path is its identity: indexed again, it replaces what the store had of it."""
    for path in sorted(folder.iterdir()):
        yield Entry(path.name, path=os.path.relpath(path)), [TAGS(Blob.of(path))]


def index(kernel: Kernel, folder: Path) -> list[str]:
    """Send all files of a folder through autopipe.pipe.

    Returns:
        The names of those that failed; the others are indexed all the same.
    """
    failed = []
    with kernel.load(HERE / "autopipe.pipe") as pipeline:
        for result in pipeline.map(files(folder)):
            print(f"  {result.entry.name}: {result.error or 'indexed'}")
            if result.error:
                failed.append(result.entry.name)
    return failed


def ask(pipeline: Pipeline, question: Question) -> list[Document]:
    """The documents that ask.pipe finds, best first."""
    result = pipeline.run(Entry("question"), QUESTIONS(question)).checked()
    return [document for found in result[DOCUMENTS] for document in found]


def show(place: int, document: Document) -> None:
    """File, position and score of a passage, and how it begins."""
    known = document.metadata
    where = f"table {known['tableId']}" if known["isTable"] else "text"
    print(f"  {place}. {known['parent']}, {where}, characters {known['start']}-{known['end']}: score {document.score:.3f}")
    print(indent(shorten(document.text, 200, placeholder=" ..."), "     "))


def main() -> int:
    kernel = Kernel()
    print("Indexing:")
    failed = index(kernel, HERE / "documents")
    with kernel.load(HERE / "ask.pipe") as pipeline:
        everything = ask(pipeline, Question(type="get", filter={"limit": 10_000}))
        print(f"\nThe index holds {len(everything)} passages of {len({d.metadata['objectId'] for d in everything})} documents.")
        for text in ASK:
            print(f"\n{text}")
            for place, document in enumerate(ask(pipeline, Question.of(text)), 1):
                show(place, document)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
