"""Streaming Python data source of Spark over the event log, on SQLite and PostgreSQL, in Arrow batches.

Offsets are ``{"offset": n, "event": id}`` (``flow/eventlog/position.py``): everything up to ``n`` has been read, and
the last event had this id, so a checkpoint is never continued on another log. ``read`` runs on executors, possibly on
other machines, so this module imports only what the wheel installs there. ``flow/eventlog/readable.py`` defines how
far a reader may go. Next: ``spark/match.py``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast
from urllib.parse import quote, unquote

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import StructType

from tocsin.errors import LogDiverged
from tocsin.flow.eventlog.differences import CONTENT, TextReader
from tocsin.flow.eventlog.position import LAST_EVENT, LogPosition
from tocsin.flow.eventlog.readable import POSTGRESQL_END
from tocsin.spark.commits import CommitWatch, commit_watch
from tocsin.spark.log_columns import LogRow, to_arrow
from tocsin.spark.planning import end_quietly
from tocsin.spark.schema import EVENTS

LOG_FORMAT = "tocsin_log"
_BYTES_PER_BATCH = 32 * 2**20
_CONNECTS_WITHIN_S = 10
_LOOK_EVERY_S = 0.01
_LOOK_SELDOM_S = 0.04
_BUSY_FOR_S = 3.0
"""So long after an event the next one is looked for often: an idle pipeline hardly uses the processor."""

_PATIENT_AFTER = 40
_PATIENCE = 4
"""After so many waits in vain each takes so many times as long: Spark asks an idle query once a second."""

Offset = dict[str, Any]  # Any: JSON values
"""A ``LogPosition`` as Spark notes it in a checkpoint."""

_CONTENT = "document, derived, snapshot_id, difference"
_RANGE = (
    "SELECT log_offset, document, derived, snapshot_id, difference FROM change_event"
    " WHERE log_offset > {mark} AND log_offset <= {mark} ORDER BY log_offset"
)
_REPORTS = _RANGE.replace("WHERE ", "WHERE log_offset IN (SELECT log_offset FROM status_report) AND ")
_REPORTS_END = (
    "SELECT coalesce(max(log_offset), 0) FROM ("
    "SELECT log_offset FROM status_report WHERE log_offset > {mark} AND log_offset <= {mark}"
    " ORDER BY log_offset LIMIT {mark}) AS following"
)
_LAST_REPORT = "SELECT coalesce(max(log_offset), 0) FROM status_report WHERE log_offset <= {mark}"
_SQLITE_VERSION = "PRAGMA data_version"
_SQLITE_END = "SELECT coalesce(max(log_offset), 0) FROM change_event"

_LOGIN = re.compile(r"^(?P<scheme>\w+://)(?P<user>[^:/@]*)(?::(?P<password>[^@]*))?@")
"""The login of an address as SQLAlchemy takes it: any sign but an at sign may be in a password."""


@dataclass(frozen=True)
class OffsetRange(InputPartition):
    """What one task reads: offsets above ``after``, up to and including ``through``."""

    after: int
    through: int


class LogSource(DataSource):
    """The log of change events, as a streaming source or a part of it.

    Options: ``url`` (a SQLAlchemy address), ``eventsPerPartition``; for a part ``after`` and ``through``, its bounding
    offsets; for streams ``maxEventsPerBatch``, ``maxBytesPerBatch`` (of the events as text; one event is always read),
    ``after``, where one without a checkpoint begins, and ``waitMs``, how long planning waits for new events before it
    says that there are none (four times as long when nothing has come for a while); for both ``only`` = ``reports``,
    which leaves out what reports no status: a stream never wakes up for it.
    """

    @classmethod
    def name(cls) -> str:
        """Return the format's name."""
        return LOG_FORMAT

    def schema(self) -> StructType:
        """Return the columns of ``EVENTS``."""
        end_quietly()
        return EVENTS

    def reader(self, schema: StructType) -> PartReader:
        """Return the reader of one part."""
        end_quietly()
        return PartReader(dict(self.options))

    def streamReader(self, schema: StructType) -> LogReader:  # noqa: N802  # Spark's name
        """Return the reader of one streaming query."""
        end_quietly()
        options = dict(self.options)
        return ReportReader(options) if options.get("only") == "reports" else LogReader(options)


class LogReader(DataSourceStreamReader):
    """Plans micro-batches on the driver and reads offset ranges on executors."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options["url"]
        self._after = int(options.get("after", "0"))
        self._most = _number(options, "maxEventsPerBatch", 10_000)
        self._most_bytes = _number(options, "maxBytesPerBatch", _BYTES_PER_BATCH)
        self._share = _share_of(options)
        self._wait_s = _number(options, "waitMs", 0) / 1000
        self._busy_until_s = 0.0
        self._vain_waits = 0
        self._connection: Any = None  # Any: a DB-API connection of whichever driver
        self._commits: CommitWatch | None = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  # Spark's name
        """Bound a micro-batch to ``maxEventsPerBatch`` offsets; ``latestOffset`` bounds its bytes as well."""
        return ReadMaxRows(self._most)

    def initialOffset(self) -> Offset:  # noqa: N802  # Spark's name
        """Begin where a query without a checkpoint does: ``after`` what it is done with already."""
        return self._position_at({"offset": 0}, self._after)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802  # Spark's name
        """Return how far the next micro-batch may read; ``start`` if nothing has come within ``waitMs``.

        Raises
        ------
        LogDiverged : what was read up to ``start`` is not what the log holds there now
        """
        self._check(start)
        max_count = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        until_s = time.monotonic() + patience_s(self._wait_s, self._vain_waits)
        while (end := self._next_offset(start, max_count)) == start and (now_s := time.monotonic()) < until_s:
            self._pause(now_s, until_s)
        self._vain_waits = self._vain_waits + 1 if end == start else 0
        if end != start:
            self._busy_until_s = time.monotonic() + _BUSY_FOR_S
        return end

    def _pause(self, now_s: float, until_s: float) -> None:
        """Return when it is time to look again."""
        if now_s < self._busy_until_s:
            time.sleep(_LOOK_EVERY_S)
            return
        try:
            if self._commits is not None:
                self._commits.wait(until_s - now_s)
                return
        except OSError:  # the write-ahead log is gone: the next connection watches another
            self._commits = None
        time.sleep(_LOOK_SELDOM_S)

    def reportLatestOffset(self) -> Offset:  # noqa: N802  # Spark's name
        """Return the end of the log, so that the query's progress shows its lag."""
        return {"offset": self._readable_end()}

    def partitions(self, start: Offset, end: Offset) -> list[OffsetRange]:
        """Cut the micro-batch into ranges of ``eventsPerPartition`` offsets.

        Raises
        ------
        LogDiverged : the micro-batch was planned over another log
        """
        self._check(end)
        return self._cut(start["offset"], end["offset"])

    def _next_offset(self, start: Offset, limit: int | None) -> Offset:
        end = self._readable_end()
        if limit is not None:
            end = self._affordable(start["offset"], min(end, start["offset"] + limit))
        return self._position_at(start, end)

    def _affordable(self, after: int, through: int) -> int:
        """Return how far events of ``maxBytesPerBatch`` bytes reach, at least one event, at most ``through``."""
        if through <= after:
            return through
        limits = _Most(event_count=through - after, size=self._most_bytes)
        return next(_cuts(self._open(), self._url, OffsetRange(after, through), self._statement(), limits))

    def _cut(self, after: int, through: int) -> list[OffsetRange]:
        return ranges_of(after, through, self._share)

    def _position_at(self, start: Offset, end: int) -> Offset:
        """Return the position at ``end``; ``start`` as it is when that is no further."""
        return start if end <= start["offset"] else LogPosition(end, self._last_event(end)).to_json()

    def _check(self, read: Offset) -> None:
        position = LogPosition.of_json(read)
        if position.offset and not position.is_in(self._readable_end(), self._last_event(position.offset)):
            raise LogDiverged(f"The log does not contain what was read up to {position}.")

    def _last_event(self, offset: int) -> str | None:
        row = self._row(_with_placeholders(LAST_EVENT, self._url), offset)
        return None if row is None else str(row[0])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of one ``OffsetRange`` in offset order; runs on an executor."""
        return read_range(self._url, cast(OffsetRange, partition), self._statement())

    def stop(self) -> None:
        """Close the planning connection."""
        if self._commits is not None:
            self._commits.close()
            self._commits = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _statement(self) -> str:
        return _RANGE

    def _readable_end(self) -> int:
        return self._number_of(_SQLITE_END if is_sqlite(self._url) else POSTGRESQL_END)

    def _number_of(self, statement: str, *values: int) -> int:
        """Return the number that a query of the driver's gives."""
        row = self._row(statement, *values)
        return 0 if row is None else int(row[0])

    def _row(self, statement: str, *values: int) -> tuple[Any, ...] | None:  # Any: a column's value
        return cast("tuple[Any, ...] | None", self._open().execute(statement, values).fetchone())

    def _open(self) -> Any:  # Any: a DB-API connection of whichever driver
        if self._connection is None:
            self._connection = connect(self._url)
            self._commits = self._watch()
        return self._connection

    def _watch(self) -> CommitWatch | None:
        """Return a watch over a SQLite store's commits, for a stream that waits."""
        if not (is_sqlite(self._url) and self._wait_s):
            return None
        self._connection.execute(_SQLITE_END).fetchone()  # a store's first reader makes its write-ahead log
        return commit_watch(f"{_file_of(self._url)}-wal", lambda: self._number_of(_SQLITE_VERSION))

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_connection": None, "_commits": None}


class ReportReader(LogReader):
    """Plans and reads what reports a status; everything between two reports is passed over at once."""

    def reportLatestOffset(self) -> Offset:  # noqa: N802  # Spark's name
        """Return the offset of the last report."""
        return {"offset": self._number_of(_with_placeholders(_LAST_REPORT, self._url), self._readable_end())}

    def _next_offset(self, start: Offset, limit: int | None) -> Offset:
        following, after = _with_placeholders(_REPORTS_END, self._url), start["offset"]
        end = self._number_of(following, after, self._readable_end(), self._most if limit is None else limit)
        return self._position_at(start, self._affordable(after, end))

    def _cut(self, after: int, through: int) -> list[OffsetRange]:
        """Read a micro-batch's reports in one go: they are few, however far apart."""
        return [OffsetRange(after, through)]

    def _statement(self) -> str:
        return _REPORTS


class PartReader(DataSourceReader):
    """Reads the events between two offsets, once."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url = options["url"]
        self._share = _share_of(options)
        self._after, self._through = int(options["after"]), int(options["through"])
        self._statement = _REPORTS if options.get("only") == "reports" else _RANGE

    def partitions(self) -> list[InputPartition]:
        """Cut the part into ranges of ``eventsPerPartition`` offsets."""
        return list(self.ranges())

    def ranges(self) -> list[OffsetRange]:
        """Return these ranges."""
        # Where there is no range, Spark would ask for a partition that says nothing.
        return ranges_of(self._after, self._through, self._share) or [OffsetRange(self._after, self._through)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the events of one ``OffsetRange`` in offset order; runs on an executor."""
        return read_range(self._url, cast(OffsetRange, partition), self._statement)


def patience_s(wait_s: float, vain_waits: int) -> float:
    """Return how long planning waits for an event after so many waits in vain."""
    return wait_s if vain_waits < _PATIENT_AFTER else wait_s * _PATIENCE


def _share_of(options: Mapping[str, str]) -> int:
    return _number(options, "eventsPerPartition", 5_000)


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    """Return an option; Spark gives names in lower case."""
    return int(options.get(name.lower(), options.get(name, default)))


def ranges_of(after: int, through: int, share: int) -> list[OffsetRange]:
    """Cut the offsets above one, through another, into ranges of ``share`` offsets."""
    cuts = [*range(after, through, share), through]
    return [OffsetRange(one, another) for one, another in pairwise(cuts)]


def read_range(url: str, offset_range: OffsetRange, statement: str = _RANGE) -> Iterator[pa.RecordBatch]:
    """Yield the events of a range a few megabytes at a time, however large they are."""
    marked, after = _with_placeholders(statement, url), offset_range.after
    with closing(connect(url)) as connection:
        texts = _texts(connection, url)
        for through in _cuts(connection, url, offset_range, statement, _ARROW_BATCH):
            if events := connection.execute(marked, (after, through)).fetchall():
                yield to_arrow([_row_with_text(row, texts) for row in events])
            after = through


def _texts(connection: Any, url: str) -> TextReader:  # Any: a DB-API connection of whichever driver
    """Return the reader of the texts that are stored as differences, which looks up their snapshots."""
    lookup = _with_placeholders(CONTENT, url)

    def content_of(snapshot_id: int) -> bytes | None:
        row = connection.execute(lookup, (snapshot_id,)).fetchone()
        return None if row is None else bytes(row[0])

    return TextReader(content_of)


def _row_with_text(row: tuple[Any, ...], texts: TextReader) -> LogRow:  # Any: a column's value
    """Return a row of ``_RANGE`` with its event as text."""
    offset, document, derived, snapshot_id, change = row
    return offset, document if snapshot_id is None else texts.text(document, snapshot_id, change), derived


@dataclass(frozen=True)
class _Most:
    """How many events, and bytes of their text, are taken together; a single event is always taken."""

    event_count: int
    size: int


_ARROW_BATCH = _Most(event_count=2_000, size=4 * 2**20)


def _cuts(
    connection: Any, url: str, offset_range: OffsetRange, statement: str, limits: _Most
) -> Iterator[int]:  # Any: as above
    """Yield the last offset of each part of a range that may be taken together."""
    before, count, total = offset_range.after, 0, 0
    for offset, size in connection.execute(_sizes(statement, url), (offset_range.after, offset_range.through)):
        if count and (total + size > limits.size or count == limits.event_count):
            yield before
            count, total = 0, 0
        before, count, total = offset, count + 1, total + size
    yield offset_range.through


def _sizes(statement: str, url: str) -> str:
    """Return the statement for the offsets and sizes of the events of a range; no large text is read for it."""
    length = "length" if is_sqlite(url) else "octet_length"
    return _with_placeholders(statement.replace(_CONTENT, f"coalesce(document_bytes, {length}(document))"), url)


def is_sqlite(url: str) -> bool:
    """Return whether the store at ``url`` is SQLite."""
    return url.startswith("sqlite")


def _file_of(url: str) -> str:
    return url.removeprefix("sqlite:///")


def _with_placeholders(statement: str, url: str) -> str:
    return statement.format(mark="?" if is_sqlite(url) else "%s")


def connect(url: str) -> Any:  # Any: the two drivers share no type
    """Open a read-only connection to the store at ``url`` with its own driver."""
    if is_sqlite(url):
        import sqlite3

        return sqlite3.connect(f"file:{_file_of(url)}?mode=ro", uri=True, timeout=30, isolation_level=None)
    import psycopg

    address = _LOGIN.sub(_quote_login, url.replace("postgresql+psycopg://", "postgresql://"), count=1)
    patience: dict[str, Any] = {} if "connect_timeout" in address else {"connect_timeout": _CONNECTS_WITHIN_S}
    return psycopg.connect(address, autocommit=True, **patience)


def _quote_login(login: re.Match[str]) -> str:
    """Return the login of an address as PostgreSQL's library reads it: what it cannot read, it prints in its errors."""
    user, password = (quote(unquote(part or ""), safe="") for part in login.group("user", "password"))
    return f"{login['scheme']}{user}:{password}@" if password else f"{login['scheme']}{user}@"
