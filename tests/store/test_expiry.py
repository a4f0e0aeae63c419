"""Tests of alerts that expire, on both stores: owners are told a week before, once, and when it is disabled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.alerts.expiry import check_expiry, expiry_ms
from tocsin.clock import FixedClock
from tocsin.errors import InvalidInput
from tocsin.jobs.expiry import ExpiryJob
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.server.bootstrap import BROKEN_ALERTS
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog

DAY_MS = 86_400_000
EXPIRES_MS = 4_000_000_000_000
FOLLOWERS: list[Document] = [{"category": "Followers", "type": "ActivityFeed"}]


class Expiring:
    """A company with an alert of dia's that expires, and one that does not."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.company = engine, SmallCompany(engine)
        self.company.writes.create("eventsubscription", BROKEN_ALERTS, actor=SYSTEM)
        self.company.alert("for ever", FOLLOWERS, "true", resources=("table",))
        self.alert_id = self.company.alert("trial", FOLLOWERS, "true", resources=("table",), enabled=True)
        owners = [{"id": self.company.ids["dia"], "type": "user"}]
        self.set("/owners", owners)
        self.set("/expires", EXPIRES_MS)
        self.clock = FixedClock(EXPIRES_MS - 30 * DAY_MS)
        self.job = ExpiryJob(engine, self.clock)

    def set(self, path: str, value: object) -> None:
        operation = {"op": "add", "path": path, "value": value}
        self.company.writes.patch("eventsubscription", Key.by_id(self.alert_id), [operation], actor=SYSTEM)

    def look(self, before_ms: int) -> int:
        self.clock.at_ms = EXPIRES_MS - before_ms
        return self.job.look()

    def events(self) -> list[ChangeEvent]:
        kinds = (EventType.ALERT_EXPIRING, EventType.ALERT_EXPIRED)
        logged_events = EventLog(self.engine).read(0, 10_000)
        return [logged.event for logged in logged_events if logged.event.event_type in kinds]

    def is_enabled(self) -> bool:
        alert = Subscriptions(self.engine).find(self.alert_id)
        return alert is not None and alert.enabled


@pytest.fixture
def expiry_setup(store_engine: Engine) -> Expiring:
    return Expiring(store_engine)


def test_an_alert_is_told_of_a_week_before_once_and_disabled_when_it_expires(expiry_setup: Expiring) -> None:
    assert (expiry_setup.look(7 * DAY_MS + 1), expiry_setup.events()) == (0, [])
    assert [expiry_setup.look(7 * DAY_MS), expiry_setup.look(3 * DAY_MS), expiry_setup.look(1)] == [1, 0, 0]
    assert ExpiryJob(expiry_setup.engine, expiry_setup.clock).look() == 0, (
        "another pipeline, or the same after a restart"
    )
    assert expiry_setup.is_enabled()
    assert [expiry_setup.look(0), expiry_setup.look(-DAY_MS)] == [1, 0]
    assert not expiry_setup.is_enabled()
    announcement, expiry_event = expiry_setup.events()
    assert {announcement.entity_id, expiry_event.entity_id} == {expiry_setup.alert_id}
    assert announcement.previous_version == announcement.current_version
    assert expiry_event.change_description is not None
    changes = {change.name: change.new_value for change in expiry_event.change_description.fields_updated}
    assert changes == {"enabled": False, "expiry": {"expires": EXPIRES_MS}}


def test_whether_owners_were_told_is_asked_of_all_alerts_together(expiry_setup: Expiring) -> None:
    for name in ("second", "third"):
        expiry_setup.company.alert(name, FOLLOWERS, "true", resources=("table",), expires=EXPIRES_MS)
    statements: list[str] = []
    event.listen(expiry_setup.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    assert expiry_setup.look(DAY_MS) == 3
    statements.clear()
    assert expiry_setup.look(DAY_MS) == 0
    assert len([one for one in statements if "WHERE change_event.id " in one]) == 1


def test_its_owner_is_told_and_nobody_else(expiry_setup: Expiring) -> None:
    expiry_setup.look(DAY_MS)
    expiry_setup.look(0)
    notify_all(expiry_setup.engine)
    query = select(notification.c.channel, notification.c.recipient)
    with reading(expiry_setup.engine) as connection:
        recipients = [tuple(row) for row in connection.execute(query)]
    assert recipients == [("Email", "dia@example.com")] * 2


def test_an_alert_that_is_extended_is_told_of_again_a_week_before(expiry_setup: Expiring) -> None:
    assert expiry_setup.look(DAY_MS) == 1
    expiry_setup.set("/expires", EXPIRES_MS + 30 * DAY_MS)
    assert [expiry_setup.look(0), expiry_setup.look(-30 * DAY_MS + 7 * DAY_MS)] == [0, 1]
    assert [event.event_type for event in expiry_setup.events()] == [EventType.ALERT_EXPIRING] * 2
    assert expiry_setup.is_enabled()


def test_what_is_disabled_or_was_extended_meanwhile_is_left_alone(expiry_setup: Expiring) -> None:
    expiry_setup.look(30 * DAY_MS)
    stale = ExpiryJob(expiry_setup.engine, expiry_setup.clock)
    stale.look()
    expiry_setup.set("/enabled", False)
    assert expiry_setup.look(0) == 0
    assert expiry_setup.events() == []


def test_a_clock_that_was_set_back_tells_nobody_twice(expiry_setup: Expiring) -> None:
    assert [expiry_setup.look(before_ms) for before_ms in (DAY_MS, 30 * DAY_MS, DAY_MS)] == [1, 0, 0]
    assert [expiry_setup.look(before_ms) for before_ms in (0, DAY_MS, 0)] == [1, 0, 0]
    assert [event.event_type for event in expiry_setup.events()] == [EventType.ALERT_EXPIRING, EventType.ALERT_EXPIRED]


def test_the_hour_that_comes_twice_is_two_moments() -> None:
    summer, winter = (expiry_ms(f"2026-10-25T02:30{offset}") for offset in ("+02:00", "+01:00"))
    assert (winter - summer, expiry_ms("2026-10-25T01:30")) == (3_600_000, winter)


def test_two_pipelines_disable_it_once(expiry_setup: Expiring) -> None:
    expiry_setup.clock.at_ms = EXPIRES_MS
    jobs = [ExpiryJob(expiry_setup.engine, expiry_setup.clock) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda job: job.look(), jobs))
    assert (sum(counts), len(expiry_setup.events())) == (1, 1)


def test_an_expired_alert_is_enabled_again_only_with_a_later_moment() -> None:
    expired_alert = {"expires": 5, "enabled": False}
    check_expiry(expired_alert | {"description": "x"}, expired_alert, 10)
    check_expiry({"expires": 20, "enabled": True}, expired_alert, 10)
    check_expiry({"enabled": True}, expired_alert, 10)
    check_expiry({"expires": 5, "enabled": True, "description": "x"}, {"expires": 5, "enabled": True}, 10)
    for alert, before in (
        ({"expires": 5, "enabled": True}, expired_alert),
        ({"expires": 5}, {}),
        ({"expires": 10}, expired_alert),
    ):
        with pytest.raises(InvalidInput, match="over"):
            check_expiry(alert, before, 10)
