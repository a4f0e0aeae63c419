"""Tests of destinations that fail for days, on both stores: warnings, the stop, the resumption."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Engine, update
from tests.store.rows import SUBSCRIPTION, add_alert, add_messages, finish_of, states
from tests.unit.delivery.events import NOW_MS

from tocsin.clock import FixedClock
from tocsin.delivery.worker.failure_reports import FailureReports, failure_reports
from tocsin.errors import Conflict
from tocsin.flow.track.breaker import PROBE_WAIT_MS, as_probe
from tocsin.model.change import ChangeEvent, FieldChange
from tocsin.model.destination_failure import DestinationFailure
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Retry
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import entity
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.pauses import NO_PAUSES
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.outbox.status import DestinationStatuses

AWAY = Retry(OutcomeReason.CONNECTION_FAILED)
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PROBED_EVERY_MS = 4 * HOUR_MS


class Failing:
    """A store with an alert whose destination ``d`` is probed every four hours."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.messages = engine, Messages(engine)
        self.clock = FixedClock(NOW_MS)
        self.reports: FailureReports = failure_reports(engine, self.clock)
        Sessions(engine).begin("a", lease_ms=90_000, now_ms=NOW_MS)
        add_alert(engine, [{"id": "d", "config": {"endpoint": "https://hooks.example.org/***"}}])
        self.ids = add_messages(engine, 12)
        for claimed in self.messages.claim("a", 10, now_ms=NOW_MS + 20):
            self.messages.record("a", [finish_of(claimed, AWAY, at_ms=NOW_MS)], now_ms=NOW_MS)

    def probe(self, outcome: Outcome) -> bool:
        """Claim a probe and record its outcome; return whether there was one."""
        now_ms = self.clock.now_ms()
        pauses = self.messages.pauses(now_ms)
        for claimed in self.messages.claim("a", 1, now_ms=now_ms, shares={"d": pauses.room("d", 1)}, pauses=pauses):
            self.messages.record("a", [as_probe(finish_of(claimed, outcome, at_ms=now_ms))], now_ms=now_ms)
            return True
        return False

    def fail_until(self, days: float) -> list[ChangeEvent]:
        """Fail each probe until so many days are over, and report after each; return all reports."""
        while self.clock.now_ms() < NOW_MS + days * DAY_MS and self.is_probed():
            self.clock.advance(PROBED_EVERY_MS)
            self.probe(AWAY)
            self.reports.report()
        return self.destination_events()

    def is_probed(self) -> bool:
        return not DestinationStatuses(self.engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"].failing.is_stopped

    def destination_events(self) -> list[ChangeEvent]:
        events = [one.event for one in EventLog(self.engine).read(0, 10_000)]
        return [one for one in events if one.event_type.startswith("destination")]


@pytest.fixture
def failing(store_engine: Engine) -> Failing:
    return Failing(store_engine)


def update_in(event: ChangeEvent) -> FieldChange:
    assert event.change_description is not None
    return event.change_description.fields_updated[0]


def percents(events: list[ChangeEvent]) -> list[tuple[str, int, int]]:
    """Return type, percent and hours since the beginning of each report."""
    updates = [(one, update_in(one).new_value) for one in events]
    return [(one.event_type, of["percent"], round((one.timestamp - NOW_MS) / HOUR_MS)) for one, of in updates]


def test_the_alert_says_at_50_90_and_100_percent_that_a_destination_fails(failing: Failing) -> None:
    assert failing.fail_until(2.3) == []
    events = failing.fail_until(9)
    assert percents(events) == [
        ("destinationFailing", 50, 60),
        ("destinationFailing", 90, 108),
        ("destinationStopped", 100, 120),
    ]
    update = update_in(events[2])
    assert update.name == "destination"
    assert update.new_value == {
        "destinationId": "d",
        "category": "External",
        "type": "Webhook",
        "endpoint": "https://hooks.example.org/***",
        "failingSince": NOW_MS + 5,
        "failureCount": 40,
        "percent": 100,
        "lastFailedReason": "connectionFailed",
    }
    assert {(one.entity_id, one.user_name, one.current_version) for one in events} == {
        (SUBSCRIPTION, "system", events[0].previous_version)
    }


def test_what_is_stopped_waits_without_attempts_until_it_is_resumed(failing: Failing) -> None:
    failing.fail_until(9)
    failing.clock.advance(30 * DAY_MS)
    add_messages(failing.engine, 1, name="new")
    assert not failing.probe(AWAY)
    assert {count for _, count in states(failing.engine).values()} == {0, 1}
    DestinationStatuses(failing.engine).resume(SUBSCRIPTION, "d", now_ms=failing.clock.now_ms())
    assert failing.messages.pauses(failing.clock.now_ms()) == NO_PAUSES
    assert len(failing.messages.claim("a", 64, now_ms=failing.clock.now_ms())) == 13
    assert DestinationStatuses(failing.engine).unreported_failures() == []


@pytest.mark.parametrize("outcome", [Delivered(200), AWAY])
def test_a_change_of_the_alert_lets_it_be_probed_again(failing: Failing, outcome: Outcome) -> None:
    failing.fail_until(9)
    with writing(failing.engine) as connection:
        connection.execute(update(entity).where(entity.c.id == SUBSCRIPTION).values(updated_at_ms=NOW_MS + 7))
    assert failing.probe(outcome)
    streak = DestinationStatuses(failing.engine).of([SUBSCRIPTION])[SUBSCRIPTION]["d"]
    is_back = outcome is not AWAY
    assert (streak.failing.is_stopped, streak.failing.count, streak.breaker.is_open) == (
        False,
        not is_back,
        not is_back,
    )
    assert is_back or streak.breaker.probe_at_ms == failing.clock.now_ms() + 5 + PROBE_WAIT_MS


def test_a_success_in_between_begins_anew(failing: Failing) -> None:
    failing.fail_until(4)
    failing.clock.advance(HOUR_MS)
    assert failing.probe(Delivered(200))
    assert DestinationStatuses(failing.engine).unreported_failures() == []
    assert percents(failing.destination_events()) == [("destinationFailing", 50, 60)]


def test_many_workers_report_once(failing: Failing) -> None:
    """Fault scenario 41."""
    while failing.clock.now_ms() < NOW_MS + 3 * DAY_MS:
        failing.clock.advance(PROBED_EVERY_MS)
        failing.probe(AWAY)
    with ThreadPoolExecutor(4) as pool:
        report_counts = list(pool.map(lambda _: failing_reports(failing).report(), range(4)))
    assert sum(report_counts) == 1
    assert len(failing.destination_events()) == 1
    assert failing.reports.report() == 0


def failing_reports(failing: Failing) -> FailureReports:
    return failure_reports(failing.engine, failing.clock)


def test_of_an_alert_that_is_gone_nobody_is_told(failing: Failing) -> None:
    for _ in range(18):
        failing.clock.advance(PROBED_EVERY_MS)
        failing.probe(AWAY)
    with writing(failing.engine) as connection:
        connection.execute(entity.delete().where(entity.c.id == SUBSCRIPTION))
    assert failing.reports.report() == 0
    assert DestinationStatuses(failing.engine).unreported_failures() == []


class _Conflicting:
    """A log in which another transaction always comes first."""

    def add(self, failure: DestinationFailure) -> bool:
        raise Conflict(f"{failure.id} is being written")


def test_what_could_not_be_written_is_still_owed(failing: Failing) -> None:
    while failing.clock.now_ms() < NOW_MS + 3 * DAY_MS:
        failing.clock.advance(PROBED_EVERY_MS)
        failing.probe(AWAY)
    beaten = replace(failing.reports, log=_Conflicting())  # type: ignore[arg-type]
    assert beaten.report() == 0
    assert failing.reports.report() == 1
