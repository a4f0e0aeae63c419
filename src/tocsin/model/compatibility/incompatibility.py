"""Incompatibility of two schemas: what a writer writes and a reader does not understand, in the words of either."""

from __future__ import annotations

from typing import NamedTuple


class Incompatibility(NamedTuple):
    """One problem between two schemas, in the words of the side that keeps the old one.

    ``to_reader``: the writer's schema is the new one; ``to_writer``: the reader's is.
    """

    to_reader: str
    to_writer: str

    def at(self, path: str) -> Incompatibility:
        """Return the same problem at a path; an empty one is the schema itself."""
        return Incompatibility(f"{path}: {self.to_reader}", f"{path}: {self.to_writer}") if path else self
