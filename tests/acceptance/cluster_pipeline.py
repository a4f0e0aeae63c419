"""Pipeline on separate Spark executors: ``python cluster_pipeline.py STORE_URL CHECKPOINT WHEEL CONF``.

Run with the wheel alone on the path. Prints where an executor found Tocsin.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from sqlalchemy import Engine

from tocsin.access.views import Views
from tocsin.clock import SystemClock
from tocsin.flow.match.plan import at_reports
from tocsin.jobs import streak_stream
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import QUERY_NAME, Parts, finding_log, streaming
from tocsin.spark.session import interpreting, open_session
from tocsin.store.access.views import SqlSubjects
from tocsin.store.alerts.directory import SqlDirectory
from tocsin.store.alerts.event_subjects import SqlEvents
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.engine import open_engine
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.notifications import Notifications


def where(_number: int) -> str:
    """Return the file from which this process imports the log source."""
    import tocsin.spark.sources

    return str(tocsin.spark.sources.__file__)


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
    notes = Notifications(engine)
    session = open_session(master="local-cluster[2,1,1024]", py_files=wheel, conf=json.loads(conf))
    parts = Parts(
        session=session,
        alerts=CurrentAlerts(QUERY_NAME, Subscriptions(engine)),
        directory=SqlDirectory(engine),
        views=Views(SqlSubjects(engine)),
        events=SqlEvents(engine),
        notifications=notes,
        progress=notes,
        clock=SystemClock(),
        source_options={"url": url, "eventsPerPartition": "3"},
        checkpoint=checkpoint,
        findings=finding_log(engine),
    )
    log = EventLog(engine)
    deadline = time.monotonic() + 150
    with streaming(parts) as query:
        while log.progress(QUERY_NAME) != log.readable_end() and query.isActive and time.monotonic() < deadline:
            time.sleep(0.02)
    _keep_streaks(replace(parts, checkpoint=f"{checkpoint}-streaks"), engine)
    for place in session.sparkContext.parallelize(range(2), 2).map(where).collect():
        sys.stdout.write(f"executor {place}\n")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:5])
