"""Hashes of match anchors, computed alike for events (in Spark) and for alerts (in Python).

A hash is the XXH64 of an anchor's fields and values in order. Comparing hashes is several times as fast as comparing
texts. Hashes are never stored, so the way they are made may change. Next: ``spark/index_rows.py``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256

import xxhash

from tocsin.conditions.fields import kind_of, may_repeat
from tocsin.conditions.nodes import Kind
from tocsin.flow.match.indexing import Anchor
from tocsin.spark.conditions import Expression, text_of, texts_of

_SEED = 42
"""The seed of Spark's ``xxhash64``; the number of one argument is the seed for the next."""

_NONE = "cast(array() AS array<bigint>)"


def number_of(anchor: Anchor) -> int:
    """Return the number of ``anchor``: signed, 64 bits.

    Two anchors share one with a probability of 2⁻⁶⁴; for 10,000 alerts and a million events, that is one in 10⁸.
    """
    number = xxhash.xxh64_intdigest(struct.pack("<q", _kind(anchor.fields)), _SEED)
    for value in anchor.values:
        number = xxhash.xxh64_intdigest(value.encode(), number)
    return _signed(number)


def stated(combinations: Sequence[tuple[str, ...]]) -> Expression:
    """Return the numbers of all anchors about one of these combinations of fields that an event states, each once."""
    known = [_numbers(fields) for fields in combinations]
    return f"concat({', '.join(known)})" if known else _NONE


def _numbers(fields: tuple[str, ...]) -> Expression:
    """Return the numbers of the anchors about these fields, as an array; empty when a field is missing."""
    sets = [(at, one) for at, one in enumerate(fields) if kind_of(one) is Kind.TEXTS]
    plain = [text_of(one) for one in fields if kind_of(one) is not Kind.TEXTS]
    values = [f"v{at}" if kind_of(one) is Kind.TEXTS else text_of(one) for at, one in enumerate(fields)]
    found = f"xxhash64({', '.join([f'{_kind(fields)}L', *values])})"
    for depth, (at, one) in enumerate(reversed(sets)):
        each = f"transform({_each_once(one)}, v{at} -> {found})"
        found = f"flatten({each})" if depth else each
    numbers = found if sets else f"array({found})"
    missing = " OR ".join(f"{one} IS NULL" for one in plain)
    return f"if({missing}, {_NONE}, {numbers})" if missing else numbers


def _each_once(field: str) -> Expression:
    return f"array_distinct({texts_of(field)})" if may_repeat(field) else texts_of(field)


def _kind(fields: tuple[str, ...]) -> int:
    """Return a number for a combination of fields, so that the same values of other fields are other anchors."""
    return int.from_bytes(sha256("&".join(fields).encode()).digest()[:7])


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
