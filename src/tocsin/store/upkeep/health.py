"""Problems that keep notifications back: no pipeline or worker, a wait, a delay, a full disk.

Each answer costs a few small queries; the disk is tried at most every ten seconds. Next: ``jobs/heartbeat.py`` reports
the pipeline, ``delivery/worker/leases.py`` the workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, distinct, func, select

from tocsin.flow.eventlog.lag import LagLimits
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.model.change import EventType
from tocsin.store.database.engine import reading
from tocsin.store.database.faults import Fault, fault_of, sentence_of
from tocsin.store.database.folder import check_takes_files
from tocsin.store.database.log_tables import scheduled_job
from tocsin.store.database.tables import change_event, pipeline_progress, worker_session
from tocsin.store.eventlog.outages import QueryHealth, WaitNotes, Waits
from tocsin.store.upkeep.lag import lags_of_log

PIPELINE = "pipeline"
"""The job whose heartbeat says that a pipeline runs and has read the log."""

LATE_AFTER_MS = 60_000
"""How long a heartbeat may be missing, or an event wait, before that is a problem."""

_STOPPED = (
    "No pipeline runs, or none has read the log yet, so nobody is notified. Start `tocsin pipeline`; if it runs, its"
    " output says what it waits for."
)
_DAY_MS = 86_400_000
_PROBE_EVERY_S = 10.0


class Problem(NamedTuple):
    """What is wrong, by a name for machines, and in a sentence with the way out."""

    name: str
    message: str


class Health:
    """Health of the processes around one store, and of the disk with the data folder."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        monotonic_s: Callable[[], float] = time.monotonic,
        *,
        limits: LagLimits | None = None,
    ) -> None:
        self._engine, self._waits = engine, Waits(engine, WaitNotes(folder))
        self._limits = limits or LagLimits()
        self._disk = _Disk(folder, monotonic_s)

    def queries(self) -> list[QueryHealth]:
        """Return how each streaming query that ever ran fares, by name."""
        return self._waits.health()

    def problems(self, *, now_ms: int) -> list[Problem]:
        """Return what keeps notifications back now."""
        return [*self._disk.problems(), *self._pipeline(now_ms), *self._lags(now_ms), *self._worker(now_ms)]

    def finding_count(self, *, now_ms: int) -> int:
        """Return how many alerts had a finding (``model/audit_finding.py``) in the last 24 hours."""
        event = change_event.c
        query = select(func.count(distinct(event.entity_id))).where(
            event.entity_type == "eventsubscription",
            event.event_type == EventType.AUDIT_FINDING.value,
            event.timestamp_ms >= now_ms - _DAY_MS,
        )
        with reading(self._engine) as connection:
            return int(connection.execute(query).scalar_one())

    def _pipeline(self, now_ms: int) -> Iterator[Problem]:
        with reading(self._engine) as connection:
            heartbeat = select(scheduled_job.c.seen_at_ms).where(scheduled_job.c.name == PIPELINE)
            seen_at_ms = int(connection.execute(heartbeat).scalar_one_or_none() or 0)
            waiting_ms = _match_lag_ms(connection, now_ms)
        if now_ms - seen_at_ms > LATE_AFTER_MS:
            yield Problem("pipelineStopped", _STOPPED)
        elif waiting_ms > LATE_AFTER_MS:
            yield Problem(
                "pipelineBehind",
                f"Notifications are {waiting_ms // 1000} s late. The output of `tocsin pipeline` says why.",
            )
        for query_health in self._waits.health():
            if query_health.waits_for:
                yield Problem(
                    "pipelineWaits", f"The query {query_health.query_name} waits: {sentence_of(query_health.waits_for)}"
                )

    def _lags(self, now_ms: int) -> Iterator[Problem]:
        """Yield the queries of the pipeline, the lake and relays that lag for longer than a burst of events lasts."""
        with reading(self._engine) as connection:
            lags = list(lags_of_log(connection))
        for lag in lags:
            if self._limits.is_over(lag, now_ms) and lag.seconds(now_ms) * 1000 > LATE_AFTER_MS:
                count_text = f"{'about ' if lag.is_estimate else ''}{lag.event_count:,}"
                yield Problem(
                    "readerBehind",
                    f"{lag.reader} has {count_text} events of the log to read, the oldest of"
                    f" {lag.seconds(now_ms):.0f} s ago. `tocsin lag` shows all readers.",
                )

    def _worker(self, now_ms: int) -> Iterator[Problem]:
        session = worker_session.c
        with reading(self._engine) as connection:
            query = select(func.max(session.renewed_at_ms + session.lease_ms))
            renewed_ms = int(connection.execute(query).scalar_one_or_none() or 0)
        if renewed_ms < now_ms:
            yield Problem("workerStopped", "No worker runs, so no mails and webhooks are sent. Start `tocsin deliver`.")


class _Disk:
    """The disk with the data folder, tried out at intervals; one thread asks at a time."""

    def __init__(self, folder: Path, monotonic_s: Callable[[], float]) -> None:
        self._folder, self._monotonic_s = folder, monotonic_s
        self._tried_at_s: float | None = None
        self._fault: Fault | None = None

    def problems(self) -> Iterator[Problem]:
        now_s = self._monotonic_s()
        if self._tried_at_s is None or now_s - self._tried_at_s >= _PROBE_EVERY_S:
            self._tried_at_s, self._fault = now_s, self._try()
        if self._fault is not None:
            yield Problem("disk", self._fault.sentence)

    def _try(self) -> Fault | None:
        try:
            check_takes_files(self._folder)
        except FileNotFoundError:  # this server needs no folder
            return None
        except OSError as error:
            return fault_of(error)
        return None


def _match_lag_ms(connection: Connection, now_ms: int) -> int:
    """Return the age of the oldest unmatched event, or of the pipeline's last progress if that is newer, in ms."""
    event, query_progress = change_event.c, pipeline_progress.c
    progress = select(query_progress.log_offset, query_progress.updated_at_ms).where(
        query_progress.query_name == MATCH_STREAM
    )
    row = connection.execute(progress).one_or_none()
    offset, reported_at_ms = (row.log_offset, row.updated_at_ms) if row else (0, 0)
    next_event = select(event.timestamp_ms).where(event.log_offset > offset).order_by(event.log_offset).limit(1)
    happened_at_ms = connection.execute(next_event).scalar_one_or_none()
    return 0 if happened_at_ms is None else now_ms - max(happened_at_ms, reported_at_ms)
