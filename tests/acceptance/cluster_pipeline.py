"""Pipeline on separate Spark executors: ``python cluster_pipeline.py STORE_URL CHECKPOINT WHEEL CONF``.

Run with the wheel alone on the path. Prints how much the driver's memory grew (KiB) and where an executor found Tocsin.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import replace

from sqlalchemy import Engine

from tocsin.clock import SystemClock
from tocsin.flow.match.plan import at_reports
from tocsin.jobs import streak_stream
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import QUERY_NAME, Parts, finding_log, streaming, warm_up
from tocsin.jobs.resolving import StoreAddress
from tocsin.spark.session import interpreting, open_session
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.engine import open_engine
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notifications import Notifications


def where(_number: int) -> str:
    """Return the file from which this process imports the log source."""
    import tocsin.spark.sources

    return str(tocsin.spark.sources.__file__)


def peak_kib() -> int:
    """Return the most memory that this process, the driver's Python, has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _keep_streaks(first: Parts, engine: Engine) -> None:
    """Process all alerts on earlier reports, then end."""
    session, alerts = (
        interpreting(first.session),
        CurrentAlerts(streak_stream.QUERY_NAME, Subscriptions(engine), at_reports),
    )
    parts, deadline = replace(first, session=session, alerts=alerts), time.monotonic() + 150
    log = EventLog(engine)
    with streak_stream.streaming(parts) as query:
        while log.progress(streak_stream.QUERY_NAME) != Reports(engine).newest() and query.isActive:
            time.sleep(0.02)
            if time.monotonic() > deadline:
                return


def main(url: str, checkpoint: str, wheel: str, conf: str) -> None:
    """Process the whole log, then end."""
    engine = open_engine(url)
    session = open_session(master="local-cluster[2,1,1024]", py_files=wheel, conf=json.loads(conf))
    parts = Parts(
        session=session,
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine)),
        store=StoreAddress(url),
        progress=Notifications(engine),
        clock=SystemClock(),
        source_options={"url": url, "eventsPerPartition": "3"},
        checkpoint=checkpoint,
        findings=finding_log(engine),
    )
    warm_up(parts)
    memory_kib = peak_kib()
    log = EventLog(engine)
    deadline = time.monotonic() + 150
    with streaming(parts) as query:
        while log.progress(QUERY_NAME) != log.readable_end() and query.isActive and time.monotonic() < deadline:
            time.sleep(0.02)
    sys.stdout.write(f"driver grew {peak_kib() - memory_kib}\n")
    _keep_streaks(replace(parts, checkpoint=f"{checkpoint}-streaks"), engine)
    for place in session.sparkContext.parallelize(range(2), 2).map(where).collect():
        sys.stdout.write(f"executor {place}\n")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:5])
