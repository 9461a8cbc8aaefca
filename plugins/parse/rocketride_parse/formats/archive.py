# SPDX-License-Identifier: MIT
"""Archives: no text of their own, but files, which are objects of their own."""

from collections.abc import Iterator

from rocketride_parse.parts import Part, facts
from rocketride_parse.sniff import kind_of
from rocketride_parse.source import Source
from rocketride_parse.unpack import files_of, members


def read(source: Source) -> Iterator[Part]:
    """The files of the archive, and of the archives in it; only how many there are when they are not asked for."""
    kind, budget = kind_of(source), source.budget
    if source.options.files:
        yield from files_of(source, kind, budget)
        yield facts(files=budget.files)
    else:
        yield facts(files=sum(1 for _ in members(source, kind, budget)))
