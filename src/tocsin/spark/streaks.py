"""Streaks over DataFrames: ``flow/match/streak.py`` for many events at once.

``kept_streaks`` keeps streaks in Spark's state store between micro-batches; ``with_streak_facts`` recomputes them for a
frame that holds the whole history. Both run on executors. Next: ``jobs/streak_stream.py``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.pandas.functions import vectorized_udf  # type: ignore[attr-defined]  # its stubs leave it out
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils
from pyspark.sql.types import StructField, StructType
from pyspark.util import PythonEvalType

from tocsin.conditions.fields import STREAK_FIELDS
from tocsin.flow.match.streak import Facts, StatusReport, Streak, advance, report_in
from tocsin.spark.schema import COLUMNS, NUMBER, TEXT, struct_of

STREAK = struct_of(
    *(("since_ms", NUMBER), ("verdict", TEXT), ("length", NUMBER)),
    *(("failures", NUMBER), ("newest_ms", NUMBER), ("without_ms", NUMBER)),
)
"""``Streak``, field by field, as the state store keeps it."""

STATE_CONF = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A micro-batch writes what changed, not all there is.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Reports are few against events; the number is settled when the checkpoint is made.
    "spark.sql.shuffle.partitions": "4",
    # The rows of one entity in one micro-batch must come together, so that they can be put into the order of the log.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000000",
}
"""Settings of the session that keeps streaks."""

_VARIABLE = "streak"
_PRINTING_PROGRAM = "pyspark.sql.streaming.transform_with_state_driver_worker"
"""What Spark asks about the state, once, when a stream begins: it prints schemas and functions."""
_FACTS = {name: COLUMNS[name] for name in sorted(STREAK_FIELDS)}
_REPORT_FIELDS = ("testStatus", "pipelineStatus", "reportedAt")


def is_report() -> Column:
    """Return whether a row of ``EVENTS`` reports something."""
    return reduce(or_, (F.col(COLUMNS[name]).isNotNull() for name in _REPORT_FIELDS))


def kept_streaks(reports: DataFrame) -> DataFrame:
    """Return the events of a stream of reports with their streak facts.

    One row per report, in no order; needs the columns of ``EVENTS`` and fills those of streaks. Other events in the
    stream are hard deletes, which remove the entity's streak. Shuffles by entity. Needs ``STATE_CONF``.
    """
    return with_state(reports, "entity_id", _Keeper(), reports.schema)


def with_streak_facts(events: DataFrame) -> DataFrame:
    """Return ``events`` with the streak columns of reports filled in; other rows and columns are unchanged.

    ``events`` (columns of ``schema.EVENTS``, no stream) hold whatever their entities reported before. One row per
    event, in no order. Shuffles reports by entity.
    """
    reports = in_arrow(events.where(is_report()), "entity_id", _with_facts, events.schema)
    return events.where(~is_report()).unionByName(reports)


def streaks(session: SparkSession, checkpoint: str) -> DataFrame:
    """Return the streaks that the query with this checkpoint keeps, as of its last micro-batch.

    One row per entity: ``entity_id`` and the columns of ``STREAK``.
    """
    stored = session.read.format("statestore").option("stateVarName", _VARIABLE).load(checkpoint)
    return stored.select("key.entity_id", "value.*")


def no_streaks(session: SparkSession) -> DataFrame:
    """Return the streaks of a query that has no micro-batch yet: one row per entity as of ``streaks``, so none."""
    return session.createDataFrame([], StructType([StructField("entity_id", TEXT), *STREAK.fields]))


class _Keeper(StatefulProcessor):
    """Advances the streak of each entity by its rows of one micro-batch."""

    def __reduce__(self) -> tuple[Callable[[], _Keeper], tuple[()]]:
        """Be made anew where it is sent to, even in the process beside the driver that prints all it does."""
        return _keeper, ()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Find the state; Spark calls this in every task."""
        self._state = handle.getValueState(_VARIABLE, STREAK)

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterable[Row],
        timerValues: object = None,  # noqa: N803  # Spark's name
    ) -> Iterator[Row]:
        """Yield the entity's rows with their facts, in the order of the log."""
        state = self._state.get() if self._state.exists() else None
        streak = Streak(*state) if state else None
        for row in sorted(rows, key=lambda one: one.log_offset):
            columns = row.asDict()
            report = _report_in(columns)
            if report is None:
                streak = None
                continue
            streak, facts = advance(streak, report)
            yield Row(**columns | {column: facts.get(name) for name, column in _FACTS.items()})
        if streak is not None:
            self._state.update(astuple(streak))
        elif state:
            self._state.clear()

    def close(self) -> None:
        """Nothing is held open."""


def _keeper() -> _Keeper:
    program = getattr(sys.modules["__main__"], "__spec__", None)
    if program is not None and program.name == _PRINTING_PROGRAM:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  # as long as the process lives
    return _Keeper()


def _with_facts(reports: pa.Table) -> pa.Table:
    """Return the rows of one entity in the order of the log, with their facts."""
    ordered_reports = reports.take(pc.sort_indices(reports["log_offset"]))
    facts_of_reports: list[Facts] = []
    streak: Streak | None = None
    for columns in ordered_reports.select([*(COLUMNS[name] for name in _REPORT_FIELDS), "timestamp_ms"]).to_pylist():
        streak, facts = advance(streak, _report(columns))
        facts_of_reports.append(facts)
    for name, column in _FACTS.items():
        at = ordered_reports.schema.get_field_index(column)
        field = ordered_reports.schema.field(at)
        ordered_reports = ordered_reports.set_column(
            at, field, pa.array([one.get(name) for one in facts_of_reports], field.type)
        )
    return ordered_reports


def _report(columns: Mapping[str, Any]) -> StatusReport:
    report = _report_in(columns)
    assert report is not None, "expected a report"  # noqa: S101
    return report


def _report_in(columns: Mapping[str, Any]) -> StatusReport | None:
    """Return what a row of ``EVENTS`` reports; None when it is no report."""
    derived = {name: columns[COLUMNS[name]] for name in _REPORT_FIELDS}
    return report_in(derived, columns["timestamp_ms"])


_NO_TIMERS = "None"
_APPEND = "Append"


def with_state(frame: DataFrame, key: str, keeper: StatefulProcessor, columns: StructType) -> DataFrame:
    """Return what ``keeper`` gives for the rows of each group of a stream, in ``columns``; it keeps state between.

    One row per row that the keeper yields. Needs the column ``key`` and those that the keeper reads. Shuffles by key.
    Source: ``GroupedData.transformWithState`` of PySpark 4.3.
    """
    run = TransformWithStateInPandasUdfUtils(keeper, _NO_TIMERS).transformWithStateUDF
    wrapped_run = vectorized_udf(run, columns, PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF)
    session = frame.sparkSession
    states = frame.groupBy(key)._jgd.transformWithStateInPySpark(
        wrapped_run(*(frame[name] for name in frame.columns))._jc,
        session._jsparkSession.parseDataType(columns.json()),
        _APPEND,
        _NO_TIMERS,
        None,
        "",
    )
    return DataFrame(states, session)


def in_arrow(frame: DataFrame, key: str, function: Callable[[pa.Table], pa.Table], columns: StructType) -> DataFrame:
    """Return what ``function`` makes of each group of a frame that is no stream, in ``columns``.

    One row per row that it returns. Needs the column ``key`` and those that it reads. Shuffles by key.
    Source: ``GroupedData.applyInArrow`` of PySpark 4.3.
    """
    wrapped = vectorized_udf(function, columns, PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF)
    grouped = frame.groupBy(key)._jgd.flatMapGroupsInArrow(wrapped(*(frame[name] for name in frame.columns))._jc)
    return DataFrame(grouped, frame.sparkSession)
