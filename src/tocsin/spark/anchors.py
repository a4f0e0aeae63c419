"""Hashes of match anchors, computed alike for events (in Spark) and for alerts (in Python).

A hash is the XXH64 of an anchor's fields and values in order. Comparing hashes is several times as fast as comparing
texts. Hashes are never stored, so the way they are made may change. Next: ``spark/index_rows.py``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import reduce
from hashlib import sha256
from operator import and_

import xxhash
from pyspark.sql import Column
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.fields import kind_of, may_repeat
from tocsin.conditions.nodes import Kind
from tocsin.flow.match.indexing import Anchor
from tocsin.spark.field_columns import text_of, texts_of

_SEED = 42
"""The seed of Spark's ``xxhash64``; the number of one argument is the seed for the next."""


def number_of(anchor: Anchor) -> int:
    """Return the number of ``anchor``: signed, 64 bits.

    Two anchors share one with a probability of 2⁻⁶⁴; for 10,000 alerts and a million events, that is one in 10⁸.
    """
    number = xxhash.xxh64_intdigest(struct.pack("<q", _kind(anchor.fields)), _SEED)
    for value in anchor.values:
        number = xxhash.xxh64_intdigest(value.encode(), number)
    return _to_signed(number)


def anchor_hashes(combinations: Sequence[tuple[str, ...]]) -> Column:
    """Return the numbers of all anchors about one of these combinations of fields that an event states, each once."""
    return F.concat(*map(_numbers, combinations)) if combinations else _no_numbers()


def _numbers(fields: tuple[str, ...]) -> Column:
    """Return the numbers of the anchors about these fields, as an array; empty when a field is missing."""
    plain = {field: text_of(field) for field in fields if kind_of(field) is not Kind.TEXTS}
    sets = [field for field in fields if field not in plain]
    numbers = _hashes_of_combinations(fields, sets, plain) if sets else F.array(_number(fields, plain))
    is_stated = [value.isNotNull() for value in plain.values()]
    return F.when(reduce(and_, is_stated), numbers).otherwise(_no_numbers()) if is_stated else numbers


def _hashes_of_combinations(fields: tuple[str, ...], sets: Sequence[str], values: Mapping[str, Column]) -> Column:
    """Return the number of each choice of one member of each of ``sets``, beside the ``values`` of other fields."""
    first, *other_sets = sets

    def choose(member: Column) -> Column:
        all_values = {**values, first: member}
        return _hashes_of_combinations(fields, other_sets, all_values) if other_sets else _number(fields, all_values)

    numbers = F.transform(_distinct(first), choose)
    return F.flatten(numbers) if other_sets else numbers


def _number(fields: tuple[str, ...], values: Mapping[str, Column]) -> Column:
    return F.xxhash64(F.lit(_kind(fields)).cast("bigint"), *(values[field] for field in fields))


def _no_numbers() -> Column:
    return F.array().cast("array<bigint>")


def _distinct(field: str) -> Column:
    return F.array_distinct(texts_of(field)) if may_repeat(field) else texts_of(field)


def _kind(fields: tuple[str, ...]) -> int:
    """Return a number for a combination of fields, so that the same values of other fields are other anchors."""
    return int.from_bytes(sha256("&".join(fields).encode()).digest()[:7])


def _to_signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number
