"""Chunking of key lists, so that one statement looks up a bounded number of keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

K = TypeVar("K")

MOST_KEYS = 1000


def in_lots(keys: Sequence[K]) -> Iterator[Sequence[K]]:
    """Yield the keys in lots that a statement can take."""
    return (keys[at : at + MOST_KEYS] for at in range(0, len(keys), MOST_KEYS))
