"""Runs the pipeline on Spark executors of their own: ``python cluster_pipeline.py STORE_URL CHECKPOINT WHEEL``.

Run with the wheel alone on the path. Prints where an executor found Tocsin.
"""

from __future__ import annotations

import sys
import time

from tocsin.clock import SystemClock
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.jobs.match_stream import QUERY_NAME, Parts, streaming
from tocsin.spark.session import open_session
from tocsin.store.directory import SqlDirectory
from tocsin.store.engine import open_engine
from tocsin.store.log import EventLog
from tocsin.store.notifications import Notifications
from tocsin.store.subscriptions import Subscriptions


def where(_number: int) -> str:
    """Return the file from which this process imports the log source."""
    import tocsin.spark.sources

    return str(tocsin.spark.sources.__file__)


def main(url: str, checkpoint: str, wheel: str) -> None:
    """Tell everything that is in the log, then end."""
    engine = open_engine(url)
    notes = Notifications(engine)
    session = open_session(master="local-cluster[2,1,1024]", py_files=wheel, conf={"spark.executor.memory": "1g"})
    parts = Parts(
        session=session,
        alerts=CurrentAlerts(Subscriptions(engine)),
        directory=SqlDirectory(engine),
        notifications=notes,
        progress=notes,
        clock=SystemClock(),
        source_options={"url": url, "eventsPerPartition": "3"},
        checkpoint=checkpoint,
    )
    log = EventLog(engine)
    deadline = time.monotonic() + 150
    with streaming(parts) as query:
        while log.progress(QUERY_NAME) != log.readable_end() and query.isActive and time.monotonic() < deadline:
            time.sleep(0.1)
    for place in session.sparkContext.parallelize(range(2), 2).map(where).collect():
        sys.stdout.write(f"executor {place}\n")
    session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:4])
