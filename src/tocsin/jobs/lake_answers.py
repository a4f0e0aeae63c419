"""Answers to SQL queries on the lake, bounded in rows, bytes and time.

Next: ``spark/lake_sql.py``, which says what a query may use.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.errors import InvalidInput, TooLarge
from tocsin.jobs.isolation import TimeLimitExceeded, within
from tocsin.jobs.lake import LakeParts, show_history
from tocsin.spark.lake import VIEW
from tocsin.spark.lake_sql import LakeSql
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource

JOBS = "tocsin-lake-queries"
"""The group of a query's Spark jobs, by which they are cancelled."""

_SPARKS_OWN = "SQLQueryContextLogger"
"""Where Spark logs each error of a query with its whole traceback."""
_ASKERS_FAULTS = ("0A", "21", "22", "42")
"""SQL's classes of states (ISO/IEC 9075) that say: the query is at fault, or what it does with the values."""
_TOO_LARGE = "spark.driver.maxResultSize"


@dataclass(frozen=True)
class QueryLimits:
    """What a query may cost; ``may_grow`` allows functions that make large values of small ones."""

    row_count: int
    seconds: float
    may_grow: bool = True


ALONE = QueryLimits(row_count=100_000, seconds=600)
"""For a Spark that was started for the query."""


class LakeQueries:
    """The queries of one lake, in a session in which nothing else can be named."""

    def __init__(self, parts: LakeParts) -> None:
        session = parts.session.newSession()
        register_source(session, LogSource)
        self._parts, self._sql = parts.in_session(session), LakeSql(session)

    def answers(self, sql: str, bounds: QueryLimits = ALONE) -> list[dict[str, Any]]:  # Any: a column's value
        """Return the rows that answer SQL on the view ``change_events``, in values that JSON has.

        Raises
        ------
        InvalidInput : it is no query on the view, Spark does not understand it or cannot work it out, or it exceeds its
            bounds; the message says where
        """
        view = show_history(self._parts)
        logging.getLogger(_SPARKS_OWN).setLevel(logging.CRITICAL)  # what is wrong is said once, in the error
        try:
            frame = self._sql.frame_of(sql.strip().rstrip(";"), may_grow=bounds.may_grow)
            return _columns(view) if frame is None else _collect_rows(frame, bounds)
        except PySparkException as error:
            if _TOO_LARGE in str(error):
                raise TooLarge("The answer is too large; select fewer rows or columns.") from error
            if not str(error.getSqlState() or "").startswith(_ASKERS_FAULTS):
                raise
            raise InvalidInput(_error_text(error)) from error


def _columns(view: DataFrame) -> list[dict[str, Any]]:  # Any: as above
    return [{"column": field.name, "type": field.dataType.simpleString()} for field in view.schema]


def _collect_rows(frame: DataFrame, bounds: QueryLimits) -> list[dict[str, Any]]:  # Any: as above
    if not frame.columns:
        return []
    limited = frame.limit(bounds.row_count + 1)
    texts = limited.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"))
    try:
        answers = within(frame.sparkSession, bounds.seconds, texts.collect)
    except TimeLimitExceeded as error:
        raise TooLarge(f"The query took longer than {bounds.seconds:.0f} s; narrow it, e.g. by timestamp.") from error
    if len(answers) > bounds.row_count:
        raise TooLarge(f"The answer has more than {bounds.row_count:,} rows; add LIMIT or select less.")
    return [json.loads(row["row"]) for row in answers]


def _error_text(error: PySparkException) -> str:
    """Return what is wrong with a query, without Spark's plan of it."""
    names = error.getMessageParameters() or {}
    match error.getCondition():
        case "TABLE_OR_VIEW_NOT_FOUND":
            return f"There is no table or view {names.get('relationName', 'by that name')}; query {VIEW}."
        case "UNRESOLVED_ROUTINE" | "UNRESOLVABLE_TABLE_VALUED_FUNCTION":
            name = names.get("routineName") or names.get("name", "")
            return f"There is no function {name} for queries; docs/lake.md lists what queries may use."
    return str(error).partition("\n\nJVM")[0].partition(";\n")[0].strip()
