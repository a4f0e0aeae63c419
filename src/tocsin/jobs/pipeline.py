"""What runs in the pipeline's process? Three streaming queries over the log, and what is done beside them.

The first tells people (``jobs/match_stream.py``), the second keeps the index of search (``jobs/search_stream.py``), the
third tells of what depends on earlier reports (``jobs/streak_stream.py``); ``jobs/beside.py`` has the rest.
"""

from __future__ import annotations

import signal
import threading

import structlog

from tocsin.jobs import beside, search_stream, streak_stream
from tocsin.jobs.match_stream import build, streaming, warm_up
from tocsin.jobs.reporting import unless_spark_has_ended
from tocsin.jobs.search_stream import index_beside
from tocsin.settings import Settings

_LOG = structlog.get_logger(__name__)


def main(settings: Settings) -> None:
    """Run the pipeline until SIGTERM or SIGINT, or until the query fails, which raises."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    parts = build(settings)
    search = search_stream.build(settings, parts.session)
    streaks = streak_stream.build(settings, parts)
    warm_up(parts)
    with streaming(parts) as query, streak_stream.beside(streaks), beside.running(settings, parts.session):
        _LOG.info("pipeline_started", master=settings.spark_master, checkpoint=parts.checkpoint)
        index_beside(query, search, stopping)
        if not stopping.is_set():
            query.awaitTermination()  # raises what made it stop
    with unless_spark_has_ended():
        parts.session.stop()
