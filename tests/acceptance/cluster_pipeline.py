"""Pipeline on separate Spark executors: ``cluster_pipeline.py WHEEL EXECUTORS``, with ``TOCSIN_SPARK_CONF``.

Run with the wheel alone on the path. Standard input names stores, one JSON object with ``url`` and ``checkpoint`` per
line. Prints for each, as a line of JSON among those of the log, by how much the driver's memory grew (KiB) and where
the executors found Tocsin and PySpark. When the input ends, Java runs out of memory: prints how it ended, and what
the pipeline says of that.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.errors import Unavailable
from tocsin.flow.match.plan import at_reports
from tocsin.jobs import streak_stream
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.executors import check_executors
from tocsin.jobs.findings import finding_log
from tocsin.jobs.match_stream import QUERY_NAME, MatchStreamParts, streaming, warm_up
from tocsin.jobs.resolving import StoreAddress
from tocsin.jobs.supervision import QueryEnvironment, Supervised, keep_running
from tocsin.settings import Settings
from tocsin.spark.session import interpreting_session, open_session
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.event_portions import EventPortions
from tocsin.store.outbox.notifications import Notifications

_DIES_WITHIN_S = 10


def where(_number: int) -> tuple[str, str]:
    """Return the files from which this process imports the log source, and PySpark."""
    import pyspark

    import tocsin.spark.sources

    return str(tocsin.spark.sources.__file__), str(pyspark.__file__)


def peak_kib() -> int:
    """Return the most memory that this process, the driver's Python, has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _keep_streaks(first: MatchStreamParts, engine: Engine) -> None:
    """Process all alerts on earlier reports, then end; a store without reports needs no such query."""
    if not Reports(engine).newest():
        return
    session, alerts = (
        interpreting_session(first.session),
        CurrentAlerts(streak_stream.QUERY_NAME, Subscriptions(engine), at_reports),
    )
    parts, deadline = replace(first, session=session, alerts=alerts), time.monotonic() + 150
    log = EventLog(engine)
    with streak_stream.streaming(parts) as query:
        while log.progress(streak_stream.QUERY_NAME) < Reports(engine).newest() and query.isActive:
            time.sleep(0.02)
            if time.monotonic() > deadline:
                return


def tell(session: SparkSession, url: str, checkpoint: str) -> int:
    """Process the whole log of one store; return by how much that raised the driver's peak memory (KiB)."""
    engine = open_engine(url)
    master = session.sparkContext.master
    settings = Settings(spark_master=master, database_url=url, spark_checkpoint_dir=Path(checkpoint))
    check_executors(session.sparkContext, settings, engine, SystemClock(), threading.Event())
    parts = MatchStreamParts(
        session=session,
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine)),
        store=StoreAddress(url),
        progress=Notifications(engine),
        clock=SystemClock(),
        source_options={"url": url, "eventsPerPartition": "3"},
        checkpoint=checkpoint,
        findings=finding_log(engine),
        portions=EventPortions(engine),
    )
    warm_up(parts)
    memory_kib = peak_kib()
    log = EventLog(engine)
    deadline = time.monotonic() + 150
    with streaming(parts) as query:
        while log.progress(QUERY_NAME) != log.readable_end() and query.isActive and time.monotonic() < deadline:
            time.sleep(0.02)
    grown_kib = peak_kib() - memory_kib
    _keep_streaks(replace(parts, checkpoint=f"{checkpoint}-streaks"), engine)
    engine.dispose()
    return grown_kib


class _NoReports:
    """Notes no waits: there is no store any more."""

    def begin(self, query_name: str, fault: str, *, since_ms: int) -> None:
        pass

    def end(self, query_name: str) -> None:
        pass


def run_out_of_memory(session: SparkSession) -> dict[str, object]:
    """Let Java run out of memory in a query that is kept running; return its exit code and what is said of it."""
    gateway = session.sparkContext._gateway

    def ask_for_too_much() -> AbstractContextManager[StreamingQuery]:
        gateway.new_array(gateway.jvm.long, 400_000_000)  # type: ignore[union-attr]
        raise AssertionError("there was room")

    query = Supervised("match_stream", Path("nowhere"), ask_for_too_much)
    environment = QueryEnvironment(session, _NoReports(), Path(), SystemClock())
    message = ""
    try:
        keep_running(query, environment, threading.Event(), lambda: None)
    except Unavailable as error:
        message = error.message
    return {"code": gateway.proc.wait(_DIES_WITHIN_S), "message": message}  # type: ignore[union-attr]


def main(wheel: str, executors: int) -> None:
    """Process the stores that are named on standard input, one after the other, until it ends."""
    master = f"local-cluster[{executors},1,1024]"
    session = open_session(master=master, py_files=wheel, conf=json.loads(os.environ["TOCSIN_SPARK_CONF"]))
    for line in sys.stdin:
        grown_kib = tell(session, **json.loads(line))
        places = session.sparkContext.parallelize(range(executors), executors).map(where).collect()
        sys.stdout.write(json.dumps({"grown_kib": grown_kib, "executors": places}) + "\n")
        sys.stdout.flush()
    sys.stdout.write(json.dumps(run_out_of_memory(session)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
