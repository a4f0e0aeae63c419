"""Generated events for the matching benchmark: a million copies of the estate's real ones, in Parquet.

Copy ``k`` of an event belongs to department ``k % 100``: its database, owners, people and domain are that department's
(``lake.shopd17``, ``team04d17``, ``person113d17``, ``domain17``), its asset is one of its own. Names of assets are
changed alike in the columns and in the document. One copy in ten is by a bot. Next: ``bench/matching.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, StringType
from sqlalchemy import Engine

from bench.traffic import Template, templates
from tocsin.conditions.fields import STORED
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.spark.log_columns import to_arrow
from tocsin.spark.schema import EVENTS

DEPARTMENT_COUNT = 100
FILE_COUNT = 8

_DEPARTMENT, _COPY, _ASSET, _EVENT = "<~D~>", "<~C~>", "<~A~>", "<~E~>"
_NAMES = re.compile(r"\b(shop|team\d\d|person\d{3})\b")


def write_events(session: SparkSession, engine: Engine, count: int, folder: Path) -> str:
    """Write ``count`` events as Parquet below ``folder``; return its path. They are the same for the same estate."""
    marked = pa.Table.from_batches([to_arrow([_mark_copies(n, one) for n, one in enumerate(templates(engine))])])
    templates_frame = session.createDataFrame(marked)
    copies = session.range(-(-count // marked.num_rows), numPartitions=FILE_COUNT).withColumnRenamed("id", "k")
    path = str(folder / "events.parquet")
    offset = f"k * {marked.num_rows} + log_offset + 1"
    columns = [f"{_column(field.name, field.dataType)} AS {field.name}" for field in EVENTS.fields[1:]]
    crossed = copies.crossJoin(templates_frame.hint("broadcast"))
    crossed.selectExpr(f"{offset} AS log_offset", *columns).where(f"log_offset <= {count}").write.parquet(path)
    return path


def logged_events(events: DataFrame) -> Iterator[LoggedEvent]:
    """Yield rows of ``EVENTS`` as the Python engine reads them."""
    for row in events.collect():
        derived = {name: row[field.column] for name, field in STORED.items() if field.attribute is None}
        yield LoggedEvent(row.log_offset, ChangeEvent.model_validate_json(row.event), derived)


def _mark_copies(number: int, template: Template) -> tuple[int, str, str]:
    """Return the row of the log with a mark wherever its copies differ."""
    return number, _names(template, template.row["document"]), _names(template, template.row["derived"])


def _names(template: Template, value: str) -> str:
    for text, mark in (
        (template.row["entity_id"], _ASSET),
        (template.row["id"], _EVENT),
        (f"{template.stem}_00", f"{template.stem}_{_COPY}"),
        ('"domains":[]', f'"domains":["domain{_DEPARTMENT}"]'),
    ):
        value = value.replace(text, mark)
    return _NAMES.sub(rf"\1d{_DEPARTMENT}", value)


def _column(name: str, kind: object) -> str:
    if name == "is_bot":
        return "k % 10 = 9"
    if isinstance(kind, ArrayType):
        return f"transform({name}, v -> {_fill_in('v')})"
    return _fill_in(name) if isinstance(kind, StringType) else name


def _fill_in(text: str) -> str:
    """Return the expression for ``text`` with its marks filled in."""
    values = {
        _DEPARTMENT: f"lpad(cast(k % {DEPARTMENT_COUNT} AS string), 2, '0')",
        _COPY: f"lpad(cast(k div {DEPARTMENT_COUNT} AS string), 2, '0')",
        _ASSET: _id("a"),
        _EVENT: _id("e"),
    }
    for mark, value in values.items():
        text = f"replace({text}, '{mark}', {value})"
    return text


def _id(letter: str) -> str:
    """Return the expression for an id, the same for the same copy of the same event (letter ``e``) or asset (``a``)."""
    hashed = "md5(concat(k, '-', log_offset))" if letter == "e" else "md5(concat(k, '-', entity_fqn))"
    return f"regexp_replace({hashed}, '^(.{{8}})(.{{4}})(.{{4}})(.{{4}})', '$1-$2-$3-$4-')"
