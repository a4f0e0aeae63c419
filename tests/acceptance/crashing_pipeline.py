"""Pipeline that kills itself at a named point.

``python -m tests.acceptance.crashing_pipeline DIR POINT [streaks | checks]``. The points are the steps of one
micro-batch, with ``streaks`` of the streak query; ``nowhere`` runs until every event is processed and then exits
normally. With ``checks`` the point is the time of a scheduled check, which is killed before it is noted.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from tests.sparksession import SHORT_LIVED
from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.flow.eventlog.position import BEGINNING, LogPosition
from tocsin.flow.pipeline import Context
from tocsin.jobs import scheduled_checks, streak_stream
from tocsin.jobs.alerts import Alerts, CurrentAlerts
from tocsin.jobs.match_stream import QUERY_NAME, MatchStreamParts, build, pipeline_engine, streaming
from tocsin.jobs.query_progress import Progress
from tocsin.jobs.resolving import Notify, Resolving
from tocsin.model.match_result import Pair
from tocsin.settings import Settings
from tocsin.spark.session import session_of
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.reports import Reports
from tocsin.store.outbox.event_portions import RecipientPortion
from tocsin.store.outbox.notifications import Notifications, Storing
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks

BETWEEN_PORTIONS = "between-portions"
POINTS = ("before-match", "before-write", "before-commit", "after-write", "after-checkpoint")


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class DyingAlerts(CurrentAlerts):
    """Dies when a micro-batch begins."""

    def read(self) -> Alerts:
        die()
        raise AssertionError


@dataclass(frozen=True)
class DyingNotify(Notify):
    """Ends the pipeline before a task stores its rows, as it commits, or after."""

    point: str = ""
    pipeline: int = field(default_factory=os.getpid)

    def open_resolving(self) -> Resolving:
        engine = open_engine(self.store.url)
        notifications = DyingNotifications(engine, self.point, self.pipeline)
        if self.point == "before-commit":
            event.listen(engine, "commit", lambda _connection: notifications.die())
        resolving = Resolving(engine)
        resolving.notifications = notifications
        return resolving

    def context(self, resolving: Resolving) -> Context:
        context = super().context(resolving)
        return replace(context, people_at_once=2) if self.point == BETWEEN_PORTIONS else context


class DyingNotifications(Notifications):
    """Ends the pipeline and its own process before rows are written, or after."""

    def __init__(self, engine: Engine, point: str, pipeline: int) -> None:
        super().__init__(engine)
        self._point, self._pipeline = point, pipeline

    def die(self) -> None:
        os.kill(self._pipeline, signal.SIGKILL)
        die()

    @contextmanager
    def storing(
        self, pairs: Sequence[Pair], *, last: LogPosition = BEGINNING, portion: RecipientPortion | None = None
    ) -> Iterator[Storing]:
        if self._point == "before-write":
            self.die()
        with super().storing(pairs, last=last, portion=portion) as under_way:
            yield under_way
        if self._point != BETWEEN_PORTIONS or portion is not None:
            self.die()


class DyingProgress:
    """Dies once Spark has committed a micro-batch; the report at the start it lets pass."""

    def __init__(self, real: Progress, query_name: str) -> None:
        self._real, self._started_at = real, real.processed_offset(query_name)

    def processed_offset(self, query_name: str) -> int:
        return self._real.processed_offset(query_name)

    def holds(self, position: LogPosition) -> bool:
        return self._real.holds(position)

    def advance(self, query_name: str, log_offset: int, *, now_ms: int, event_id: str | None = None) -> None:
        if log_offset != self._started_at:
            die()


def parts_dying_at(point: str, settings: Settings, engine: Engine) -> MatchStreamParts:
    """Return the pipeline's parts, one of them replaced by one that dies at ``point``."""
    parts = build(settings, engine)
    real = Notifications(engine)
    work = {"work": partial(DyingNotify, point=point)}
    replacements: dict[str, Callable[[], dict[str, Any]]] = {
        "before-match": lambda: {"alerts": DyingAlerts(QUERY_NAME, None)},  # type: ignore[arg-type]
        "before-write": lambda: work,
        "before-commit": lambda: work,
        "after-write": lambda: work,
        BETWEEN_PORTIONS: lambda: work | {"most_recipients": 4},
        "after-checkpoint": lambda: {"progress": DyingProgress(real, QUERY_NAME)},
        "nowhere": dict,
    }
    return replace(parts, **replacements[point]())


def main(folder: Path, point: str) -> None:
    """Run until killed, or until the whole log is processed."""
    settings = Settings(data_dir=folder, log_level="warning", spark_conf=SHORT_LIVED)
    engine = pipeline_engine(settings)
    parts = parts_dying_at(point, settings, engine)
    log = EventLog(engine)
    with streaming(parts):
        until(lambda: log.progress(QUERY_NAME) == log.readable_end(), within_s=120)


def main_of_streaks(folder: Path, point: str) -> None:
    """Do the same for the query that keeps streaks."""
    settings = Settings(data_dir=folder, log_level="warning", spark_conf=SHORT_LIVED)
    engine = pipeline_engine(settings)
    log, reports = EventLog(engine), Reports(engine)
    first = parts_dying_at(point, settings, engine)
    parts = streak_stream.build(settings, first, engine)
    if point == "before-match":
        parts = replace(parts, alerts=first.alerts)
    if point == "after-checkpoint":
        parts = replace(parts, progress=DyingProgress(parts.progress, streak_stream.QUERY_NAME))
    with streak_stream.streaming(parts):
        until(lambda: log.progress(streak_stream.QUERY_NAME) >= reports.newest(), within_s=120)


class DyingChecks(ScheduledChecks):
    """Dies when the events of a check are written, before it is noted."""

    def keep(self, last_checks: Mapping[str, LastCheck]) -> None:
        die()


def main_of_checks(folder: Path, point: str) -> None:
    """Make the scheduled checks of a time, epoch milliseconds."""
    settings = Settings(data_dir=folder, log_level="warning", spark_conf=SHORT_LIVED)
    engine = pipeline_engine(settings)
    parts = scheduled_checks.build(settings, session_of(settings), engine)
    parts.checks, parts.clock = DyingChecks(engine), FixedClock(int(point))
    scheduled_checks.look(parts)


if __name__ == "__main__":
    run = {"streaks": main_of_streaks, "checks": main_of_checks}.get("".join(sys.argv[3:]), main)
    run(Path(sys.argv[1]), sys.argv[2])
