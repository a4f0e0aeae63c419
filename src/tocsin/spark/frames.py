"""How do small looked-up tables get into Spark, and results out? Arrow both ways, with written schemas.

Next: ``spark/resolve.py`` joins them, ``jobs/match_stream.py`` says when.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tocsin.flow.resolve.categories import Wanted
from tocsin.flow.resolve.directory import Audience
from tocsin.spark import schema
from tocsin.spark.resolve import AudienceFrames

_ROWS_PER_TASK = 20_000


def frame_of(session: SparkSession, rows: Iterable[Sequence[Any]], columns: StructType) -> DataFrame:
    """Return ``rows`` (tuples in the order of ``columns``) as a local DataFrame."""
    arrow = to_arrow_schema(columns)
    parts = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(part, field.type) for part, field in zip(parts, arrow, strict=True)]
    return session.createDataFrame(pa.Table.from_arrays(arrays, schema=arrow))


def frame_of_arrow(session: SparkSession, table: pa.Table) -> DataFrame:
    """Return ``table`` as a DataFrame in as few partitions as its size asks for."""
    tasks = max(1, -(-table.num_rows // _ROWS_PER_TASK))
    frame = session.createDataFrame(table)
    return frame.coalesce(1) if tasks == 1 else frame.repartition(tasks)


def wanted_frame(session: SparkSession, rows: Iterable[Wanted]) -> DataFrame:
    """Return what destinations ask for with the columns of ``WANTED``."""
    tuples = (
        (
            row.subscription_id,
            row.subscription_name,
            row.destination_id,
            row.channel.value,
            row.relation.value,
            row.receiver,
            row.downstream_depth,
        )
        for row in rows
    )
    return frame_of(session, tuples, schema.WANTED)


def audience_frames(session: SparkSession, audience: Audience) -> AudienceFrames:
    """Return the directory's answers as DataFrames."""
    return AudienceFrames(
        reach=frame_of(session, ((r.root_id, r.node_id, r.node_fqn, r.hops) for r in audience.reach), schema.REACH),
        principals=frame_of(
            session,
            (
                (p.node_id, p.relation.value, p.receiver, p.principal_id, p.principal_type, p.since_ms)
                for p in audience.principals
            ),
            schema.PRINCIPALS,
        ),
        members=frame_of(session, ((m.team_id, m.team_name, m.user_id) for m in audience.members), schema.MEMBERS),
        people=frame_of(session, ((p.id, p.email) for p in audience.people), schema.PEOPLE),
    )
