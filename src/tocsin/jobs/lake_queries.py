"""SQL queries of the lake, answered by the running pipeline, so that no command has to wait until Spark has started.

``tocsin lake query`` sends one over a Unix socket in the data folder, which only the account that runs Tocsin can open:
a line of JSON with ``sql``, answered by one with ``columns`` and ``rows`` or ``arrow``, ``error`` or ``declined``.
Answers are bounded in rows, bytes and time. Next: ``spark/lake_sql.py``, which says what a query may use.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import math
import socketserver
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
import pyarrow as pa
import structlog
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import ParseException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.types import StructType

from tocsin.errors import InvalidInput, TooLarge
from tocsin.flow.eventlog.lake import UNCUT, Cut
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.isolation import TimeLimitExceeded, within
from tocsin.jobs.lake import LakeParts, show_history
from tocsin.jobs.visible_history import visible_rows
from tocsin.model.entity import Document
from tocsin.model.query_answer import QueryAnswer
from tocsin.spark.lake import VIEW, change_events, history_through, register_history
from tocsin.spark.lake_objects import lake_fault_of
from tocsin.spark.lake_sql import TOO_DEEP, LakeSql, refusal_of
from tocsin.spark.schema import EVENTS
from tocsin.spark.session import work_in_background

JOBS = "tocsin-lake-queries"
"""The group of a query's Spark jobs, by which they are cancelled."""

_SPARKS_OWN = "SQLQueryContextLogger"
"""Where Spark logs each error of a query with its whole traceback."""
_ASKERS_FAULTS = ("0A", "21", "22", "42")
"""SQL's classes of states (ISO/IEC 9075) that say: the query is at fault, or what it does with the values."""
_TOO_LARGE = "spark.driver.maxResultSize"
_LOOK_EVERY_S = 0.2
_WARM_UP_AFTER_S = 10.0
"""So long after its start the pipeline is past what it found waiting, and the first query may cost it a second."""
_WARM_UP = "SELECT timestamp FROM change_events WHERE entityType = 'table' ORDER BY timestamp LIMIT 1"
_PATIENCE_S = 10.0
_LONGEST = 1_000_000
_INTEGERS = 2**63
_LOG = structlog.get_logger(__name__)

T = TypeVar("T")
S = TypeVar("S", bound=Sized)


@dataclass(frozen=True)
class QueryLimits:
    """What a query may cost; ``may_grow`` allows functions that may need much memory, or take for ever."""

    row_count: int
    seconds: float
    may_grow: bool = True


ALONE = QueryLimits(row_count=100_000, seconds=600)
"""For a Spark that was started for the query."""
LIMITS = QueryLimits(row_count=10_000, seconds=60, may_grow=False)
"""What a query may cost beside the notifications, which need the same memory and cores."""


class LakeQueries:
    """The queries of one lake, in a session in which nothing else can be named."""

    def __init__(self, parts: LakeParts) -> None:
        session = parts.session.newSession()
        register_history(session)
        self._parts, self._sql = parts.in_session(session), LakeSql(session)

    def answer(self, sql: str, bounds: QueryLimits = ALONE, *, cut: Cut = UNCUT, as_arrow: bool = False) -> QueryAnswer:
        """Return what answers SQL on the view ``change_events`` up to ``cut``: values that JSON has, or an Arrow table.

        Raises
        ------
        InvalidInput : it is no query on the view, Spark does not understand it or cannot work it out, or it exceeds its
            bounds; the message says where
        """
        with _faults_of_asker():
            view = show_history(self._parts, cut)
            frame = self._frame(sql, bounds)
            return _description(view) if frame is None else _collect(frame, bounds, as_arrow=as_arrow)

    def answer_from_visible(self, viewer_id: str, sql: str, bounds: QueryLimits, *, cut: Cut = UNCUT) -> QueryAnswer:
        """Return what answers SQL on the part of ``change_events`` up to ``cut`` that this person may view.

        The statement is checked before an event is read; then its rows are made, with the columns that it reads; only
        then it runs, on those. A cut after the end of the log is none: its end tells how much is hidden.

        Raises
        ------
        InvalidInput : as ``answer`` does
        """
        session = self._parts.session
        with _faults_of_asker():
            schema = change_events(session.createDataFrame([], EVENTS)).schema
            empty_view = session.createDataFrame(session.sparkContext.emptyRDD(), schema)
            empty_view.createOrReplaceTempView(VIEW)
            frame = self._frame(sql, bounds)
            if frame is None:
                return _description(empty_view)
            names = self._sql.columns_read(frame)
            events = history_through(session, self._parts.place, self._parts.extent(), cut)
            shared_events = events.coalesce(session.sparkContext.defaultParallelism)  # a task remembers what is visible
            visible_events = visible_rows(shared_events, self._parts.place.url, viewer_id, names)
            visible_events.localCheckpoint().select(*_columns_of_view(names, schema)).createOrReplaceTempView(VIEW)
            frame = self._frame(sql, bounds)
            return QueryAnswer([]) if frame is None else _collect(frame, bounds, as_arrow=False)

    def _frame(self, sql: str, bounds: QueryLimits) -> DataFrame | None:
        return self._sql.frame_of(sql.strip().rstrip(";"), may_grow=bounds.may_grow)


def _columns_of_view(names: Collection[str], schema: StructType) -> list[Column]:
    """Return all columns of the view; those that nobody reads are null."""
    return [F.col(one.name) if one.name in names else F.lit(None).cast(one.dataType).alias(one.name) for one in schema]


@contextmanager
def _faults_of_asker() -> Iterator[None]:
    """Turn what Spark says of a query that is at fault into ``InvalidInput``."""
    logging.getLogger(_SPARKS_OWN).setLevel(logging.CRITICAL)  # what is wrong is said once, in the error
    try:
        yield
    except PySparkException as error:
        if _TOO_LARGE in str(error):
            raise TooLarge("The answer is too large; select fewer rows or columns.") from error
        if fault := lake_fault_of(error):
            raise fault from error
        if not isinstance(error, ParseException) and not _is_askers(error.getSqlState()):
            raise
        raise InvalidInput(_error_text(error)) from error
    except Py4JJavaError as error:  # PySpark does not know all exceptions of Spark's
        if TOO_DEEP not in str(error) and not _is_askers(_sql_state(error)):
            raise
        raise refusal_of(error) from error


def _is_askers(sql_state: str | None) -> bool:
    return str(sql_state or "").startswith(_ASKERS_FAULTS)


def _sql_state(error: Py4JJavaError) -> str | None:
    try:
        state: str | None = error.java_exception.getSqlState()
    except Py4JError:  # it is none of Spark's
        return None
    return state


def _description(view: DataFrame) -> QueryAnswer:
    records: list[Document] = [{"column": field.name, "type": field.dataType.simpleString()} for field in view.schema]
    columns: list[Document] = [{"name": name, "type": "string"} for name in ("column", "type")]
    return QueryAnswer(columns, records, _ipc_stream(pa.Table.from_pylist(records)))


def _collect(frame: DataFrame, bounds: QueryLimits, *, as_arrow: bool) -> QueryAnswer:
    columns: list[Document] = [{"name": field.name, "type": field.dataType.simpleString()} for field in frame.schema]
    if not columns:
        return QueryAnswer([])
    _check_distinct(frame.columns)
    limited_frame = frame.limit(bounds.row_count + 1)
    if as_arrow:
        table = _check_count(_within_bounds(limited_frame, bounds, limited_frame.toArrow), bounds)
        return QueryAnswer(columns, arrow=_ipc_stream(table))
    texts = limited_frame.select(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row"))
    answers = _check_count(_within_bounds(limited_frame, bounds, texts.collect), bounds)
    return QueryAnswer(columns, [json.loads(row["row"], parse_int=_integer) for row in answers])


def _integer(digits: str) -> int | str:
    """Return an integer; as text if it needs more than 64 bits, which readers of JSON round or refuse."""
    return int(digits) if -_INTEGERS <= int(digits) < _INTEGERS else digits


def _check_distinct(names: Sequence[str]) -> None:
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if doubled:
        raise InvalidInput(f"Several columns are called {doubled[0]}; name them with AS.")


def _within_bounds(frame: DataFrame, bounds: QueryLimits, collect: Callable[[], T]) -> T:
    try:
        return within(frame.sparkSession, bounds.seconds, collect)
    except TimeLimitExceeded as error:
        raise TooLarge(f"The query took longer than {bounds.seconds:.0f} s; narrow it, e.g. by timestamp.") from error


def _check_count(answers: S, bounds: QueryLimits) -> S:
    if len(answers) > bounds.row_count:
        raise TooLarge(f"The answer has more than {bounds.row_count:,} rows; add LIMIT or select less.")
    return answers


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


class _Server(socketserver.UnixStreamServer):
    """Answers one question at a time; a second one waits for it."""

    timeout = _LOOK_EVERY_S

    def __init__(self, path: Path, queries: LakeQueries, limits: QueryLimits) -> None:
        self.queries, self.limits = queries, limits
        super().__init__(str(path), _Conversation)


class _Conversation(socketserver.StreamRequestHandler):
    timeout = _PATIENCE_S
    server: _Server

    def handle(self) -> None:
        """Read a question and answer it."""
        with contextlib.suppress(OSError):  # who asked has gone
            question = self.rfile.readline(_LONGEST)
            self.wfile.write(orjson.dumps(_answer(self.server.queries, question, self.server.limits)) + b"\n")


def serve(parts: LakeParts, path: Path, stopping: threading.Event, limits: QueryLimits = LIMITS) -> None:
    """Answer questions on the socket ``path`` until ``stopping`` is set."""
    work_in_background(parts.session, JOBS)
    try:
        with _listening(path, LakeQueries(parts), limits) as server:
            _answer_until(stopping, server)
    except OSError as error:  # e.g. its path is too long: questions then start a Spark of their own
        _LOG.warning("lake_queries_not_served", path=str(path), reason=str(error))


def _answer_until(stopping: threading.Event, server: _Server) -> None:
    warm_up_at_s = time.monotonic() + _WARM_UP_AFTER_S
    while not stopping.is_set():
        server.handle_request()
        if time.monotonic() >= warm_up_at_s:
            warm_up_at_s = math.inf
            _answer(server.queries, orjson.dumps({"sql": _WARM_UP}), server.limits)


@contextmanager
def _listening(path: Path, queries: LakeQueries, limits: QueryLimits) -> Iterator[_Server]:
    path.unlink(missing_ok=True)  # of a pipeline that was killed: there is one per data folder
    with _Server(path, queries, limits) as server:
        path.chmod(0o600)
        try:
            yield server
        finally:
            path.unlink(missing_ok=True)


def _answer(queries: LakeQueries, question: bytes, limits: QueryLimits) -> Document:
    try:
        request = orjson.loads(question)
        cut = Cut(request.get("through"), request.get("untilMs"))
        answer = queries.answer(str(request["sql"]), limits, cut=cut, as_arrow=bool(request.get("arrow")))
        arrow = {} if answer.arrow is None else {"arrow": base64.b64encode(answer.arrow).decode()}
        return {"columns": answer.columns, "rows": answer.records, **arrow}
    except TooLarge as error:  # the asker's own Spark has more room
        return {"declined": error.message}
    except InvalidInput as error:
        return {"error": error.message, "field": error.field}
    except (*FAILURES, LookupError, TypeError, ValueError) as error:  # the asker's own Spark says it
        return {"declined": str(error).splitlines()[0]}


def _ipc_stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())
