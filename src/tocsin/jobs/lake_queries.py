"""SQL queries of the lake, answered by the running pipeline, so that no command has to wait until Spark has started.

``tocsin lake query`` sends one over a Unix socket in the data folder, which only the account that runs Tocsin can open:
a line of JSON with ``sql``, answered by one with ``rows``, ``error`` or ``declined``. Next: ``jobs/lake.py``.
"""

from __future__ import annotations

import contextlib
import math
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import structlog

from tocsin.errors import InvalidInput, TooLarge
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.lake import LakeParts
from tocsin.jobs.lake_answers import JOBS, LakeQueries, QueryLimits
from tocsin.model.entity import Document
from tocsin.spark.session import work_in_background

LIMITS = QueryLimits(row_count=10_000, seconds=60, may_grow=False)
"""What a query may cost beside the notifications, which need the same memory and cores."""

_LOOK_EVERY_S = 0.2
_WARM_UP_AFTER_S = 10.0
"""So long after its start the pipeline is past what it found waiting, and the first query may cost it a second."""
_WARM_UP = "SELECT timestamp FROM change_events WHERE entityType = 'table' ORDER BY timestamp LIMIT 1"
_PATIENCE_S = 10.0
_LONGEST = 1_000_000
_LOG = structlog.get_logger(__name__)


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
        return {"rows": queries.answers(str(orjson.loads(question)["sql"]), limits)}
    except TooLarge as error:  # the asker's own Spark has more room
        return {"declined": error.message}
    except InvalidInput as error:
        return {"error": error.message}
    except (*FAILURES, LookupError, TypeError, ValueError) as error:  # the asker's own Spark says it
        return {"declined": str(error).splitlines()[0]}
