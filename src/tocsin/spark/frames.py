"""How does what was looked up for a micro-batch get into Spark? As one nested row, by Arrow.

One local frame costs a few calls to the JVM; one for each of the tables would cost as much as all the rest.
Next: ``spark/resolve.py`` unfolds and joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tocsin.flow.resolve.categories import Wanted
from tocsin.flow.resolve.directory import Audience
from tocsin.spark import schema

_MATCHES_PER_PARTITION = 20_000


@dataclass(frozen=True)
class Batch:
    """A micro-batch's matches and all that resolving them needs.

    ``frame`` has an array column for each table of ``spark/schema.py``: ``matches`` spread over its
    ``partition_count`` rows, ``wanted``, ``reach``, ``principals``, ``members`` and ``people`` whole in the first.
    """

    frame: DataFrame
    partition_count: int


def batch_of(
    session: SparkSession, matched: pa.Table, rows: Iterable[Wanted], audience: Audience, *, now_ms: int
) -> Batch:
    """Return ``matched`` (columns of ``MATCHES`` but ``now_ms``) with what was looked up for it."""
    now = pa.array([now_ms] * matched.num_rows, pa.int64())
    told = matched.append_column("now_ms", now).select(schema.MATCHES.names).combine_chunks()
    starts = range(0, max(told.num_rows, 1), _MATCHES_PER_PARTITION)
    parts = [told.slice(start, _MATCHES_PER_PARTITION) for start in starts]
    columns = {"matches": _nested(parts, schema.MATCHES)}
    for name, (columns_of, tuples) in _looked_up(rows, audience).items():
        whole = table_of(tuples, columns_of)
        columns[name] = _nested([whole, *[whole.slice(0, 0)] * (len(parts) - 1)], columns_of)
    frame = session.createDataFrame(pa.table(columns))
    return Batch(frame if len(parts) == 1 else frame.repartition(len(parts)), len(parts))


def table_of(rows: Iterable[Sequence[Any]], columns: StructType) -> pa.Table:
    """Return ``rows`` (tuples in the order of ``columns``) as an Arrow table."""
    arrow = to_arrow_schema(columns)
    parts = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(part, field.type) for part, field in zip(parts, arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=arrow)


def _looked_up(rows: Iterable[Wanted], audience: Audience) -> dict[str, tuple[StructType, list[tuple[object, ...]]]]:
    return {
        "wanted": (schema.WANTED, [_wanted(row) for row in rows]),
        "reach": (schema.REACH, [(r.root_id, r.node_id, r.node_fqn, r.hops) for r in audience.reach]),
        "principals": (
            schema.PRINCIPALS,
            [
                (p.node_id, p.relation.value, p.receiver, p.principal_id, p.principal_type, p.since_ms)
                for p in audience.principals
            ],
        ),
        "members": (schema.MEMBERS, [(m.team_id, m.team_name, m.user_id) for m in audience.members]),
        "people": (schema.PEOPLE, [(p.id, p.email) for p in audience.people]),
    }


def _wanted(row: Wanted) -> tuple[object, ...]:
    return (
        row.subscription_id,
        row.subscription_name,
        row.destination_id,
        row.channel.value,
        row.relation.value,
        row.receiver,
        row.downstream_depth,
    )


def _nested(tables: Sequence[pa.Table], columns: StructType) -> pa.Array:
    """Return one list of structs per table."""
    whole = pa.concat_tables(tables).combine_chunks()
    fields = list(to_arrow_schema(columns))
    arrays = [
        chunks.chunk(0) if chunks.num_chunks else pa.array([], field.type)
        for chunks, field in zip(whole.columns, fields, strict=True)
    ]
    ends = [0]
    for table in tables:
        ends.append(ends[-1] + table.num_rows)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.StructArray.from_arrays(arrays, fields=fields))
