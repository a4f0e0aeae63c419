"""Lookup results of a micro-batch, transferred to Spark as one nested row in Arrow format.

One local frame costs a few calls to the JVM; one frame per table would cost as much as all other work.
Next: ``spark/resolve.py`` unnests and joins them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tocsin.conditions.relations import ANYBODY
from tocsin.flow.resolve.directory import NO_END, Audience, Principal
from tocsin.flow.resolve.person_conditions import PersonFacts
from tocsin.flow.resolve.recipient_rules import RecipientRule
from tocsin.model.notification import ReasonKind
from tocsin.spark import schema

_MATCHES_PER_PARTITION = 20_000
_VIEW = "tocsin_batch"


@dataclass(frozen=True)
class ResolveInput:
    """A micro-batch's matches with all inputs of recipient resolution.

    The temporary view has an array column for each table of ``spark/schema.py``: ``matches`` spread over its
    ``partition_count`` rows, ``wanted``, ``reach``, ``principals``, ``members``, ``mutes`` and ``person_facts``
    whole in the first. ``is_personal``: some alert has a condition on the recipient.
    """

    view: str
    partition_count: int
    is_personal: bool = False


def batch_of(
    session: SparkSession, matched: pa.Table, rows: Sequence[RecipientRule], audience: Audience, *, now_ms: int
) -> ResolveInput:
    """Create the view of ``matched`` (columns of ``MATCHES`` up to ``asked``) and its lookup results.

    ``matched`` has one row per (event, subscription), as ``each_once`` gives it. There is one such view per session:
    the next batch replaces it.
    """
    now = pa.array([now_ms] * matched.num_rows, pa.int64())
    for_anybody = pa.array(_for_anybody(matched, rows, audience), pa.bool_())
    matches = (
        matched.append_column("is_for_anybody", for_anybody)
        .append_column("now_ms", now)
        .select(schema.MATCHES.names)
        .combine_chunks()
    )
    starts = range(0, max(matches.num_rows, 1), _MATCHES_PER_PARTITION)
    parts = [matches.slice(start, _MATCHES_PER_PARTITION) for start in starts]
    columns = {"matches": _nested(parts, schema.MATCHES)}
    for name, (columns_of, tuples) in _looked_up(rows, audience).items():
        whole = table_of(tuples, columns_of)
        columns[name] = _nested([whole, *[whole.slice(0, 0)] * (len(parts) - 1)], columns_of)
    frame = session.createDataFrame(pa.table(columns))
    (frame if len(parts) == 1 else frame.repartition(len(parts))).createOrReplaceTempView(_VIEW)
    partition_count = max(len(parts), -(-len(audience.principals) // _MATCHES_PER_PARTITION))
    return ResolveInput(_VIEW, partition_count, is_personal=any(row.questions for row in rows))


def each_once(matched: pa.Table) -> pa.Table:
    """Return ``matched`` with one row per (event, subscription): the ``asked`` of several cases combined.

    Columns as they were.
    """
    if not matched.num_rows or pc.max(matched["asked"]).as_py() == ANYBODY:
        return matched
    columns = [name for name in matched.column_names if name != "asked"]
    # Cases of one alert share no answer, so that their sum is what all of them ask for.
    together = matched.group_by(columns, use_threads=False).aggregate([("asked", "sum")])
    return together.rename_columns({"asked_sum": "asked"})


def not_before(matched: pa.Table, oldest_ms: int) -> pa.Table:
    """Return the rows of ``matched`` whose ``timestamp_ms`` is not before this moment: one row per match, as it was."""
    return matched.filter(pc.greater_equal(matched["timestamp_ms"], oldest_ms))


def table_of(rows: Iterable[Sequence[Any]], columns: StructType) -> pa.Table:
    """Return ``rows`` (tuples in the order of ``columns``) as an Arrow table: one row per tuple."""
    arrow = to_arrow_schema(columns)
    parts = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [pa.array(part, field.type) for part, field in zip(parts, arrow, strict=True)]
    return pa.Table.from_arrays(arrays, schema=arrow)


def _looked_up(
    rows: Sequence[RecipientRule], audience: Audience
) -> dict[str, tuple[StructType, list[tuple[object, ...]]]]:
    addresses = sorted({row.receiver for row in rows if row.relation is ReasonKind.EXTERNAL})
    return {
        "wanted": (schema.RECIPIENT_RULES, [_recipient_rules(row) for row in rows]),
        "reach": (
            schema.REACH,
            [astuple(one) for one in audience.reach],
        ),
        "principals": (schema.PRINCIPALS, [*map(_principal, audience.principals), *map(_addressed, addresses)]),
        "person_facts": (schema.PERSON_FACTS, _person_facts(audience)),
        "members": (schema.MEMBERS, [*_members(audience), *((one, None, None, one, 0, NO_END) for one in addresses)]),
        "mutes": (schema.MUTES, [(m.who, m.about_id, m.channel, m.since_offset, m.until_ms) for m in audience.mutes]),
    }


def _principal(one: Principal) -> tuple[object, ...]:
    return (one.node_id or "", one.relation.value, one.receiver, one.principal_id, one.since_offset, one.until_offset)


def _addressed(address: str) -> tuple[object, ...]:
    return ("", ReasonKind.EXTERNAL.value, address, address, 0, NO_END)


def _members(audience: Audience) -> Iterator[tuple[object, ...]]:
    """Yield the people of each user and each team."""
    emails = {person.id: person.email for person in audience.people}
    users = {one.principal_id for one in audience.principals if one.principal_type == "user"}
    yield from ((user_id, None, user_id, emails[user_id], 0, NO_END) for user_id in sorted(users) if user_id in emails)
    for member in audience.members:
        if member.user_id in emails:
            span = (member.since_offset, member.until_offset)
            yield (member.team_id, member.team_name, member.user_id, emails[member.user_id], *span)


def _person_facts(audience: Audience) -> list[tuple[object, ...]]:
    """Return what holds of people, gathered by place and person."""
    known: dict[tuple[str, str], dict[tuple[str, int, int], None]] = defaultdict(dict)
    for one in audience.person_facts:
        known[one.place, one.user_id][one.question, one.since_offset, one.until_offset] = None
    names = ("question", "since_offset", "until_offset")
    return [(*at, [dict(zip(names, one, strict=True)) for one in held]) for at, held in known.items()]


def _for_anybody(matched: pa.Table, rows: Sequence[RecipientRule], audience: Audience) -> list[bool]:
    """Say for each match whether any person's answers are accepted."""
    questions = {row.subscription_id: row.questions for row in rows if row.questions}
    if not questions:
        return [True] * matched.num_rows
    person_facts = PersonFacts(audience.person_facts)
    asked = matched.select(["subscription_id", "asked", "entity_id", "log_offset"]).to_pylist()
    return [
        person_facts.anybody(one["asked"], questions[one["subscription_id"]], one["entity_id"], one["log_offset"])
        if one["subscription_id"] in questions
        else True
        for one in asked
    ]


def _recipient_rules(row: RecipientRule) -> tuple[object, ...]:
    return (
        row.subscription_id,
        row.subscription_name,
        row.destination_id,
        row.channel.value,
        row.relation.value,
        row.receiver,
        row.downstream_depth,
        list(row.questions),
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
