"""Pipeline on separate Spark executors: ``cluster_pipeline.py WHEEL EXECUTORS``, with ``TOCSIN_SPARK_CONF``.

Run with the wheel alone on the path. Standard input names stores, one JSON object with ``url`` and ``checkpoint`` per
line. Prints for each, as a line of JSON among those of the log, by how much the driver's memory grew (KiB) and where
the executors found Tocsin.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession
from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.flow.match.plan import at_reports
from tocsin.jobs import streak_stream
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.executors import check_executors
from tocsin.jobs.findings import finding_log
from tocsin.jobs.match_stream import QUERY_NAME, MatchStreamParts, streaming, warm_up
from tocsin.jobs.resolving import StoreAddress
from tocsin.settings import Settings
from tocsin.spark.session import interpreting_session, open_session
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.event_portions import EventPortions
from tocsin.store.outbox.notifications import Notifications


def where(_number: int) -> str:
    """Return the file from which this process imports the log source."""
    import tocsin.spark.sources

    return str(tocsin.spark.sources.__file__)


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


def main(wheel: str, executors: int) -> None:
    """Process the stores that are named on standard input, one after the other, until it ends."""
    master = f"local-cluster[{executors},1,1024]"
    session = open_session(master=master, py_files=wheel, conf=json.loads(os.environ["TOCSIN_SPARK_CONF"]))
    for line in sys.stdin:
        grown_kib = tell(session, **json.loads(line))
        places = session.sparkContext.parallelize(range(executors), executors).map(where).collect()
        sys.stdout.write(json.dumps({"grown_kib": grown_kib, "executors": places}) + "\n")
        sys.stdout.flush()
    session.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
