# SPDX-License-Identifier: MIT
"""The formats: each module has `read(source)`, which yields the parts of a file in reading order.

A further format is a module here, a line in `FORMATS`, and a way to tell it in `sniff`.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from rocketride_parse.errors import Damaged, ParseError
from rocketride_parse.parts import File, Media, Meta, Part, facts
from rocketride_parse.sniff import TITLES, kind_of
from rocketride_parse.source import DEFAULTS, Options, Source

FORMATS = {
    "txt": "plain", "md": "markdown", "html": "html", "csv": "delimited", "json": "structured", "xml": "markup", "eml": "mail", "msg": "mail",
    "pdf": "pdf", "docx": "docx", "pptx": "pptx", "xlsx": "xlsx", "zip": "archive", "tar": "archive", "gz": "archive",
    "image": "media", "audio": "media", "video": "media",
}  # fmt: skip

DOCUMENTS = set(FORMATS) - {"zip", "tar", "gz", "image", "audio", "video"}


def parse(path: Path, *, name: str = "", mime_type: str = "", options: Options = DEFAULTS) -> Iterator[Part]:
    """The parts of the file at `path`: texts and tables in reading order, each once, and a Meta of what is known about it.

    name and mime_type are hints; the content decides. An empty file yields nothing. Media and files inside come where
    `options` ask for them; with a `folder` in the options, large ones lie there and are the caller's to remove.
    Raises ParseError, naming the file, when it is damaged, encrypted or of a kind that is not read.
    """
    if options.files and not options.folder:
        with TemporaryDirectory(prefix="rocketride-parse-") as folder:
            for part in parse(path, name=name, mime_type=mime_type, options=options._replace(folder=folder)):
                if isinstance(part, File | Media) and isinstance(part.content, Path):
                    part = part._replace(content=part.content.read_bytes())
                yield part
        return
    source = Source(path, name=name, mime_type=mime_type, options=options)
    if not source.head:
        return
    kind = kind_of(source)
    read: Callable[[Source], Iterator[Part]] = import_module(f".{FORMATS[kind]}", __name__).read
    try:
        yield from read(source)
    except (ParseError, MemoryError):
        raise
    except RecursionError as error:
        raise Damaged(f"{source.name}: nested too deeply to be {TITLES[kind]} anyone reads") from error
    except Exception as error:
        if "Memory allocation failed" in str(error):
            raise MemoryError from error
        raise Damaged(f"{source.name}: damaged, not {TITLES[kind]} that can be read ({_cause(error)})") from error
    yield Meta({"format": kind, **facts(encoding=source.encoding).values})


def _cause(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
