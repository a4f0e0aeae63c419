"""Python data source of Spark over the current catalogue, partitioned by ranges of ids.

``read`` runs on executors, so this module imports only what the wheel installs there. Next: ``spark/search.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tocsin.spark.planning import end_quietly
from tocsin.spark.schema import NUMBER, TEXT, record_batch, struct_of
from tocsin.spark.sources import connect, is_sqlite

CATALOGUE_FORMAT = "tocsin_catalogue"
_ROWS_PER_ARROW_BATCH = 2_000

_RANGE = "SELECT CAST({mark} AS BIGINT), id, entity_type, document FROM entity WHERE id > {mark} AND id <= {mark}"
_RELABELLED = " AND id IN (SELECT entity_id FROM relabelling WHERE log_offset > {mark} AND log_offset <= {mark})"

STORED = struct_of(("log_offset", NUMBER), ("entity_id", TEXT), ("entity_type", TEXT), ("document", TEXT))
"""One row per entity; ``log_offset`` is the reader's option."""


@dataclass(frozen=True)
class IdRange(InputPartition):
    """What one task reads: ids above ``after``, up to and including ``through``."""

    after: str
    through: str


class CatalogueSource(DataSource):
    """The entities of the catalogue.

    Options: ``url`` (a SQLAlchemy address), ``ranges`` (a JSON list of pairs of ids), ``logOffset``; ``relabelled`` (a
    JSON pair of offsets) leaves only those whose labels an event after the first, up to the second, gave new names.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return CATALOGUE_FORMAT

    def schema(self) -> StructType:
        """Return the columns of ``STORED``."""
        end_quietly()
        return STORED

    def reader(self, schema: StructType) -> CatalogueReader:
        """Return a reader of the ranges asked for."""
        end_quietly()
        return CatalogueReader(dict(self.options))


class CatalogueReader(DataSourceReader):
    """Reads ranges of ids on executors."""

    def __init__(self, options: Mapping[str, str]) -> None:
        lower_options = {key.lower(): value for key, value in options.items()}
        self._url, self._log_offset = lower_options["url"], int(lower_options["logoffset"])
        self._relabelled = tuple(json.loads(lower_options.get("relabelled", "[]")))
        self._ranges = [IdRange(after, through) for after, through in json.loads(lower_options["ranges"])]

    def partitions(self) -> list[InputPartition]:
        """Return the ranges."""
        return list(self._ranges)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the entities of one range."""
        id_range = cast(IdRange, partition)
        statement = _RANGE + (_RELABELLED if self._relabelled else "")
        statement = statement.format(mark="?" if is_sqlite(self._url) else "%s")
        with closing(connect(self._url)) as connection:
            cursor = connection.execute(
                statement, (self._log_offset, id_range.after, id_range.through, *self._relabelled)
            )
            while entities := cursor.fetchmany(_ROWS_PER_ARROW_BATCH):
                yield record_batch(entities, STORED)
