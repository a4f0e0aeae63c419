"""Reports of lags: recorded once when exceeded and once when recovered, however many workers measure.

The worker measures, not the pipeline: a pipeline that stands still could not tell so. Next: ``alerts/events.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from sqlalchemy import Engine

from tocsin.alerts.events import LagLog
from tocsin.clock import Clock
from tocsin.errors import Conflict, NotFound
from tocsin.flow.eventlog.lag import LagLimits, LagState, ReaderLag, state_after
from tocsin.flow.eventlog.readers import GROUP
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.lag_states import LagStates
from tocsin.store.upkeep.lag import Measurement, ReaderLags, lag_limits

_IDLE_MS = 3_600_000
_log = structlog.get_logger("tocsin.worker")


@dataclass(frozen=True)
class LagReports:
    """Reports the lags that ``lags`` measures to ``log``, at most every ``every_ms``."""

    lags: ReaderLags
    states: LagStates
    limits: LagLimits
    log: LagLog
    clock: Clock
    every_ms: int

    @property
    def pause_s(self) -> float:
        """Return the seconds between two measurements."""
        return (self.every_ms or _IDLE_MS) / 1000

    def report(self) -> int:
        """Measure, and report what is not reported yet; return how many events that made."""
        now_ms = self.clock.now_ms()
        states = self.states.all()
        if not self.every_ms or self._is_measured(states, now_ms):
            return 0
        measurement = self.lags.measure(now_ms=now_ms)
        due = [lag for lag in measurement.lags if self._is_to_report(lag, states.get(lag.reader), now_ms)]
        new_states = {lag.reader: state_after(lag, states.get(lag.reader), now_ms) for lag in measurement.lags}
        self.states.put(
            {reader: state for reader, state in new_states.items() if reader in states or state.event_count},
            forgotten=_gone_readers(measurement, states),
        )
        return sum(self._report(lag, states[lag.reader]) for lag in due)

    def _is_measured(self, states: dict[str, LagState], now_ms: int) -> bool:
        """Return whether another worker has measured just now."""
        return any(0 <= now_ms - state.measured_at_ms < self.every_ms // 2 for state in states.values())

    def _is_to_report(self, lag: ReaderLag, before: LagState | None, now_ms: int) -> bool:
        was_exceeded = before is not None and before.exceeded_since_ms is not None
        return self.limits.of(lag.reader) > 0 and was_exceeded != self.limits.is_exceeded(lag, before, now_ms)

    def _report(self, lag: ReaderLag, before: LagState) -> bool:
        limit = self.limits.of(lag.reader)
        is_exceeded = before.exceeded_since_ms is None
        try:
            is_new = self.log.begin(lag, limit) if is_exceeded else self.log.end(lag, limit)
        except (Conflict, NotFound) as error:  # another worker was faster, or no server has made the alert yet
            _log.info("worker.lag_not_reported", reader=lag.reader, reason=error.message)
            return False
        if is_new:
            name = "worker.lag_exceeded" if is_exceeded else "worker.lag_recovered"
            _log.warning(name, reader=lag.reader, events=lag.event_count, limit=limit)
        return is_new


def _gone_readers(measurement: Measurement, states: dict[str, LagState]) -> set[str]:
    """Return the readers that are gone; consumer groups that nobody could measure are not."""
    names = {lag.reader for lag in measurement.lags}
    return {reader for reader in states.keys() - names if not (measurement.missing and reader.startswith(GROUP))}


def lag_reports(settings: Settings, engine: Engine, clock: Clock) -> LagReports:
    """Return the reports of one store."""
    return LagReports(
        lags=ReaderLags(engine, has_lake=settings.lake_every_s > 0, every_s=settings.event_lag_every_s),
        states=LagStates(engine),
        limits=lag_limits(settings, lake_every_s=settings.lake_every_s),
        log=LagLog(SqlCatalogue(engine), clock),
        clock=clock,
        every_ms=round(settings.event_lag_every_s * 1000),
    )
