# SPDX-License-Identifier: MIT
"""Cutting texts. Private: use rocketride_splitter."""



class Splitter:
    """
    Cuts any number of texts the same way, in any number of threads at once.
    """

    def __init__(self, separators: list[str], size: int, overlap: int, keep: int, strip: bool, whole: bool, bytes_per_token: float) -> None:
        """
        keep: 0 separators are left out, 1 they begin a piece, 2 they end one. bytes_per_token: 0 is lengths in characters.
        """

    def texts(self, text: str) -> list[str]:
        """The chunks."""

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where each chunk starts and ends."""

    def chunks(self, text: str) -> list[tuple[str, int, int]]:
        """The chunks with where they start and end."""
