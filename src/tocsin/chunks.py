"""Chunking of keys and rows, so that one statement or transaction takes a bounded number of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

MOST_KEYS = 1000


def chunks_of(values: Iterable[T], size: int = MOST_KEYS) -> Iterator[list[T]]:
    """Yield ``size`` of the things at a time, the last time what is left; by default keys that a statement can take."""
    remaining = iter(values)
    while chunk := list(islice(remaining, size)):
        yield chunk
