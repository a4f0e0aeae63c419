"""Python data source of Spark over relations of the store: follows, lineage, labels, teams; partitioned by id.

``read`` runs on executors, so this module imports only what the wheel installs there.
Next: ``spark/recommendations.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tocsin.spark.planning import end_quietly
from tocsin.spark.schema import NUMBER, TEXT, record_batch, struct_of
from tocsin.spark.sources import connect, is_sqlite

RELATION_FORMAT = "tocsin_relation"
_ROWS_PER_ARROW_BATCH = 10_000
_CUTS = ("", "4", "8", "c", "g")
"""Bounds of the ranges of ids, which begin with a hexadecimal digit."""


class StoredRelation(NamedTuple):
    """What is read of the store: the columns, and the statement that reads a range of ids."""

    columns: StructType
    statement: str


def _pairs(left: str, right: str, statement: str) -> StoredRelation:
    return StoredRelation(struct_of((left, TEXT), (right, TEXT)), statement)


RELATIONS: Mapping[str, StoredRelation] = {
    "follow": StoredRelation(
        struct_of(("user_id", TEXT), ("entity_id", TEXT), ("since", NUMBER)),
        "SELECT f.user_id, f.entity_id, f.since_offset FROM follow AS f"
        " JOIN person AS p ON p.user_id = f.user_id AND NOT p.deleted AND NOT p.is_bot"
        " WHERE f.entity_id >= {mark} AND f.entity_id < {mark}",
    ),
    "asset": StoredRelation(
        struct_of(("entity_id", TEXT), ("entity_type", TEXT), ("parent_id", TEXT)),
        "SELECT id, entity_type, parent_id FROM entity WHERE NOT deleted AND id >= {mark} AND id < {mark}",
    ),
    "edge": _pairs(
        "from_id",
        "to_id",
        "SELECT from_id, to_id FROM lineage_edge WHERE from_id >= {mark} AND from_id < {mark}",
    ),
    "domain": _pairs(
        "entity_id",
        "target_id",
        "SELECT entity_id, target_id FROM entity_reference WHERE field = 'domains'"
        " AND entity_id >= {mark} AND entity_id < {mark}",
    ),
    "product": _pairs(
        "entity_id",
        "target_id",
        "SELECT entity_id, target_id FROM entity_reference WHERE field = 'dataProducts'"
        " AND entity_id >= {mark} AND entity_id < {mark}",
    ),
    "tag": _pairs(
        "entity_id",
        "target_id",
        "SELECT t.entity_id, e.id FROM entity_tag AS t JOIN entity AS e ON e.fqn = t.tag_fqn"
        " AND e.entity_type IN ('tag', 'glossaryTerm') WHERE t.entity_id >= {mark} AND t.entity_id < {mark}",
    ),
    "owner": _pairs(
        "entity_id",
        "target_id",
        "SELECT entity_id, owner_id FROM ownership WHERE entity_id >= {mark} AND entity_id < {mark}",
    ),
    "member": _pairs(
        "team_id",
        "user_id",
        "SELECT m.team_id, m.member_id FROM membership AS m"
        " JOIN person AS p ON p.user_id = m.member_id AND NOT p.deleted AND NOT p.is_bot"
        " WHERE m.member_id >= {mark} AND m.member_id < {mark}",
    ),
    "team_follow": _pairs(
        "user_id",
        "entity_id",
        "SELECT m.member_id, t.entity_id FROM membership AS m JOIN team_follow AS t ON t.team_id = m.team_id"
        " AND t.until_offset = 9223372036854775807"  # ``NO_END``
        " WHERE m.member_id >= {mark} AND m.member_id < {mark}",
    ),
    "dismissed": _pairs(
        "user_id",
        "entity_id",
        "SELECT user_id, entity_id FROM dismissed_recommendation WHERE user_id >= {mark} AND user_id < {mark}",
    ),
}
"""One row per relation: follows of people and by their teams, present entities, edges, labels, members, dismissals."""


@dataclass(frozen=True)
class PrefixRange(InputPartition):
    """What one task reads: ids from ``begin`` on, before ``end``."""

    begin: str
    end: str


class RelationSource(DataSource):
    """One relation of the store. Options: ``url`` (a SQLAlchemy address), ``relation`` (a name of ``RELATIONS``)."""

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return RELATION_FORMAT

    def schema(self) -> StructType:
        """Return the columns of the relation."""
        end_quietly()
        return RELATIONS[self.options["relation"]].columns

    def reader(self, schema: StructType) -> RelationReader:
        """Return a reader of the relation."""
        end_quietly()
        return RelationReader(self.options["url"], self.options["relation"])


class RelationReader(DataSourceReader):
    """Reads ranges of ids on executors."""

    def __init__(self, url: str, relation: str) -> None:
        self._url, self._relation = url, relation

    def partitions(self) -> list[InputPartition]:
        """Return the ranges."""
        return [PrefixRange(begin, end) for begin, end in pairwise(_CUTS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one range."""
        id_range = cast(PrefixRange, partition)
        columns, statement = RELATIONS[self._relation]
        statement = statement.format(mark="?" if is_sqlite(self._url) else "%s")
        with closing(connect(self._url)) as connection:
            cursor = connection.execute(statement, (id_range.begin, id_range.end))
            while relation_rows := cursor.fetchmany(_ROWS_PER_ARROW_BATCH):
                yield record_batch(relation_rows, columns)
