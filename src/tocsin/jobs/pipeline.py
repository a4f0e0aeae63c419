"""Process of the pipeline: three streaming queries over the log, and background jobs.

The first query notifies people (``jobs/match_stream.py``), the second updates the search index
(``jobs/search_stream.py``), the third handles alerts that depend on earlier reports (``jobs/streak_stream.py``).
``jobs/background.py`` has the background jobs, ``jobs/supervision.py`` handles failures of the queries.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import structlog
from sqlalchemy import Engine

from tocsin.jobs import background, match_stream, search_stream, streak_stream, supervision
from tocsin.jobs.executors import check_executors, check_store
from tocsin.jobs.heartbeat import beating
from tocsin.jobs.intervals import FAILURES
from tocsin.jobs.match_stream import MatchStreamParts, build, pipeline_engine, warm_up
from tocsin.jobs.query_progress import unless_spark_has_ended
from tocsin.jobs.supervision import QueryEnvironment
from tocsin.settings import Settings
from tocsin.spark.class_archive import ClassArchive
from tocsin.spark.jvm import write_archive
from tocsin.spark.session import work_in_background
from tocsin.store.database.startup import may_pass, wait_for
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.outages import WaitNotes, Waits
from tocsin.threads import run_beside

_LOG = structlog.get_logger(__name__)


_ARCHIVE_AFTER_S = 120.0
"""When the archive of classes is written: after the queries have started, and compiled what they run."""


def main(settings: Settings, archive: ClassArchive | None = None) -> None:
    """Run the pipeline until SIGTERM or SIGINT, or until a query fails for good, which raises.

    While the store or the disk keeps it from its work it waits, and says for what. If ``archive`` is missing, it is
    written for the next start.
    """
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopping.set())
    check_store(settings)
    engine = pipeline_engine(settings)
    parts = wait_for("pipeline", lambda: build(settings, engine), stopping, passes=may_pass, failures=FAILURES)
    if parts is None:
        return
    try:
        check_executors(parts.session.sparkContext, settings, engine, parts.clock, stopping)
        if not stopping.is_set():
            with _writing(archive, stopping):
                _run(settings, parts, engine, stopping)
    finally:
        with unless_spark_has_ended():
            parts.session.stop()
        engine.dispose()


@contextmanager
def _writing(archive: ClassArchive | None, stopping: threading.Event) -> Iterator[None]:
    """Write ``archive`` once the pipeline has run for a while; stop at the end of the block."""

    def write(ending: threading.Event) -> None:
        if archive is not None and not ending.wait(_ARCHIVE_AFTER_S) and not stopping.is_set():
            with unless_spark_has_ended():
                _LOG.info("class_archive", is_there=write_archive(archive, ending))

    with run_beside(write, "tocsin-classes"):
        yield


_WARM_UP = "tocsin-warm-up"
"""What Spark calls the warm-up."""

_ENDS_WITHIN_S = 10.0


def _run(settings: Settings, parts: MatchStreamParts, engine: Engine, stopping: threading.Event) -> None:
    """Run all queries until ``stopping`` is set."""
    works = threading.Event()  # set once the main query has read the log
    with beating(ScheduledJobs(engine), parts.clock, works), ExitStack() as running:
        notes = WaitNotes(settings.data_dir.absolute())
        notes.make_room()
        environment = QueryEnvironment(parts.session, Waits(engine, notes), settings.checkpoint_dir(), parts.clock)
        later_work = _LaterWork(settings, parts, engine, environment, running)
        _LOG.info("pipeline_started", master=settings.spark_master, checkpoint=parts.checkpoint)

        def go_on() -> None:
            works.set()
            later_work.go_on()

        supervision.keep_running(match_stream.supervised_query(parts), environment, stopping, go_on)


@dataclass
class _LaterWork:
    """What need not be there before the main query works: the warm-up, then the other queries and background jobs."""

    settings: Settings
    parts: MatchStreamParts
    engine: Engine
    environment: QueryEnvironment
    running: ExitStack
    _warm: threading.Event | None = field(default=None, init=False)
    _has_begun: bool = field(default=False, init=False)

    def go_on(self) -> None:
        """Begin the next of it as soon as its turn has come; it ends with ``running``."""
        if self._warm is None:
            self._warm = self.running.enter_context(_warming_up(self.parts))
        elif self._warm.is_set() and not self._has_begun:
            self._begin_others()
            self._has_begun = True

    def _begin_others(self) -> None:
        settings, session, engine = self.settings, self.parts.session, self.engine
        search = search_stream.supervised_query(search_stream.build(settings, session, engine))
        streaks = streak_stream.supervised_query(streak_stream.build(settings, self.parts, engine))
        with ExitStack() as begun:
            begun.enter_context(background.running(settings, session, engine))
            for query in (search, streaks):
                begun.enter_context(supervision.running_alongside(query, self.environment))
            self.running.push(begun.pop_all())


@contextmanager
def _warming_up(parts: MatchStreamParts) -> Iterator[threading.Event]:
    """Warm up in the background, yield what is set at its end, and end it with the block."""
    warm, is_over = threading.Event(), threading.Event()

    def warm_up_once(_ending: threading.Event) -> None:
        try:
            work_in_background(parts.session, _WARM_UP)
            warm_up(parts)
        except FAILURES as error:  # only slower at first; what is wrong, the queries find out
            if not is_over.is_set():
                _LOG.warning("not_warmed_up", reason=str(error).splitlines()[0])
        finally:
            warm.set()

    with run_beside(warm_up_once, _WARM_UP, ends_within_s=_ENDS_WITHIN_S):
        try:
            yield warm
        finally:
            is_over.set()
            with unless_spark_has_ended():
                parts.session.sparkContext.cancelJobGroup(_WARM_UP)
