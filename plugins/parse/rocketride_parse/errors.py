# SPDX-License-Identifier: MIT
"""What can be wrong with a file. Every message names the file, says what is wrong and, where one exists, the way out."""


class ParseError(Exception):
    """A file that could not be read; the base of the errors below.

    `code` is stable: `damaged`, `encrypted`, `unsupported`, `unpack-limit`, `time-limit`, `memory-limit`, `crashed`, `cancelled`.
    """

    code = "parse-error"

    @classmethod
    def of(cls, code: str, message: str) -> "ParseError":
        """The error with that `code`, as the child process reports it: class by code, `ParseError` for an unknown one."""
        return next((kind for kind in cls.__subclasses__() if kind.code == code), cls)(message)


class Damaged(ParseError):
    """The content is not what its format demands: truncated, corrupt, or malformed."""

    code = "damaged"


class Encrypted(ParseError):
    """The file opens only with a password, or carries rights management."""

    code = "encrypted"


class Unsupported(ParseError):
    """A kind of file that this node does not read."""

    code = "unsupported"


class UnpackLimit(ParseError):
    """What is inside is more, larger, deeper, or packed tighter than `max_files`, `max_unpacked`, `max_depth`, `max_ratio` allow."""

    code = "unpack-limit"


class TimeLimit(ParseError):
    """The file took longer than `max_seconds`, or than the entry had left."""

    code = "time-limit"


class MemoryLimit(ParseError):
    """The file needed, or produced, more than `max_memory`."""

    code = "memory-limit"


class ParserCrashed(ParseError):
    """The parser process ended without an answer, as after a crash in a native library."""

    code = "crashed"


class ParseCancelled(ParseError):
    """The parser process was stopped because the entry was cancelled."""

    code = "cancelled"
