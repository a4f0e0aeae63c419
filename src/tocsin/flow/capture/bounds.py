"""Size limits of one write: how much a patch may do, and how large a document may become.

Large writes block all other writers, so the size of a result is computed before the result is built.
Next: ``flow/capture/json_patch.py``, ``flow/capture/write.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import orjson

from tocsin.errors import InvalidInput, TooLarge
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import CapturedEvent

DEEPEST = 64
"""Levels of nesting that a document may have, as the body of a request."""

LONGEST_KEY = 10_000
"""Characters of a key in a document. Spark reads no JSON with keys of more than 50,000: no condition would hold."""


class WriteCounts(Protocol):
    """Counts what each person writes."""

    def check(self, actor: Actor) -> None:
        """Refuse, with ``TooManyRequests``, one more write of a person who has written as much as they may."""

    def add(self, actor: Actor, events: Sequence[CapturedEvent]) -> None:
        """Count what a person has written."""


class _Unlimited:
    """The write counts of Tocsin's own parts."""

    def check(self, actor: Actor) -> None:
        """Refuse nothing."""

    def add(self, actor: Actor, events: Sequence[CapturedEvent]) -> None:
        """Count nothing."""


UNLIMITED: WriteCounts = _Unlimited()


@dataclass(frozen=True)
class Bounds:
    """The bounds of writes.

    Attributes
    ----------
    patch_operations : most operations of a patch
    document_bytes : most bytes of a document as JSON, and most that the copies of one patch may add
    write_counts : how much each person writes
    late_after_ms : age from which a reported result or run notifies nobody; None: never
    portion : most entities that one transaction of a person's hard deletion changes
    chunk_rows : most rows of a bulk request in one transaction
    """

    patch_operations: int = 10_000
    document_bytes: int = 8 * 1024 * 1024
    write_counts: WriteCounts = UNLIMITED
    late_after_ms: int | None = None
    portion: int = 1_000
    chunk_rows: int = 1_000

    def check_size(self, document: Document, *, before: Document | None = None, had_bytes: int = 0) -> int:
        """Refuse a document that is too large, unless it is no larger than ``before``, or than it was; return its size.

        Raises
        ------
        TooLarge : it is
        """
        size = size_of(document)
        if size > self.document_bytes and size > (size_of(before) if before else had_bytes):
            raise TooLarge(f"the document would have {size} bytes of JSON; the limit is {self.document_bytes}")
        return size


BOUNDS = Bounds()
"""What holds where nothing else is set."""


def size_of(value: object) -> int:
    """Return how many bytes something is as JSON.

    Raises
    ------
    InvalidInput : JSON cannot hold it: it is nested too deeply, or has a number of more than 64 bits
    """
    try:
        return len(orjson.dumps(value))
    except orjson.JSONEncodeError as refused:
        if str(refused).startswith("Recursion"):
            raise InvalidInput(f"the document is nested deeper than {DEEPEST} levels") from refused
        raise InvalidInput(f"the document cannot be written as JSON: {refused}") from refused


def check_depth(document: Document) -> None:
    """Refuse a document that is nested deeper than the body of a request may be.

    Raises
    ------
    InvalidInput : the document is nested too deeply
    """
    level: list[Any] = [document]  # Any: objects and lists
    for _ in range(DEEPEST):
        parts = chain.from_iterable(whole.values() if type(whole) is dict else whole for whole in level)
        level = [part for part in parts if type(part) is dict or type(part) is list]
        if not level:
            return
    raise InvalidInput(f"the document is nested deeper than {DEEPEST} levels")


def check_keys(document: Document, size: int, before: Document | None = None) -> None:
    """Refuse a document, of ``size`` bytes, with a key that is too long, unless it had one as long ``before``.

    Raises
    ------
    InvalidInput : it has
    """
    if size <= LONGEST_KEY:
        return  # no key is longer than all of it
    longest = _longest_key(document, before or {})
    if longest > LONGEST_KEY and longest > _longest_key(before or {}):
        raise InvalidInput(f"the document has a key of {longest} characters; the limit is {LONGEST_KEY}")


def _longest_key(document: Document, baseline: Document | None = None) -> int:
    """Return the length of the longest key; without the parts that ``baseline`` has at the same place, key and all."""
    longest, pending = 0, list[tuple[object, object]]([(document, baseline)])
    while pending:
        node, same = pending.pop()
        if isinstance(node, dict):
            longest = max(longest, *map(len, node), 0)
        counterparts = _at_same_places(node, same)
        pending.extend(
            (part, counterpart)
            for part, counterpart in zip(_parts(node), counterparts, strict=True)
            if isinstance(part, dict | list) and part != counterpart
        )
    return longest


def _at_same_places(node: object, baseline: object) -> list[object]:
    """Return for each part of ``node`` what ``baseline`` has there, None for nothing."""
    if isinstance(node, dict):
        return [baseline.get(key) for key in node] if isinstance(baseline, dict) else [None] * len(node)
    if not isinstance(node, list):
        return []
    counterparts = baseline[: len(node)] if isinstance(baseline, list) else []
    return counterparts + [None] * (len(node) - len(counterparts))


def _parts(node: object) -> list[object]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []
