"""Tests of messages that gather notifications for a due time, on both stores: none lost, none sent twice."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.drafts import draft, match_results
from tests.store.rows import finish_of

from tocsin.flow.schedule.decide import Timing
from tocsin.flow.schedule.messages import ScheduledNotification, scheduled_notifications
from tocsin.model.message import Message, OutcomeReason, Retry
from tocsin.model.notification_draft import head_of
from tocsin.model.subscription import Trigger, TriggerType
from tocsin.store.database.tables import message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.sessions import Sessions

HOUR_MS = 3_600_000
NOON_MS = 1_760_011_200_000 // HOUR_MS * HOUR_MS
HOURLY = Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 * * * ?")
MINUTE_MS = 60_000
TIMINGS = {"hourly": Timing(HOURLY), "paced": Timing(Trigger(), MINUTE_MS)}


class Store:
    """A company's log, and what the pipeline and a worker do with it."""

    def __init__(self, engine: Engine, events: int = 1) -> None:
        company = SmallCompany(engine)
        for number in range(events):
            company.describe("orders", f"version {number}")
        self.company = company
        self.engine, self.notifications, self.messages = engine, Notifications(engine), Messages(engine)
        self.events = EventLog(engine).read(0, 1_000)[-events:]
        Sessions(engine).begin("worker", lease_ms=90_000, now_ms=1)

    def notification(
        self, place: int, *alerts: str, now_ms: int = NOON_MS, recipient_id: str | None = None
    ) -> ScheduledNotification:
        event = head_of(self.events[place])._replace(timestamp_ms=now_ms)
        unscheduled = draft("Email", *alerts, event=event, key="ops@example.org", recipient_id=recipient_id)
        (scheduled,) = scheduled_notifications([unscheduled], TIMINGS, now_ms=now_ms)
        return scheduled

    def write(self, place: int, *alerts: str, now_ms: int = NOON_MS, recipient_id: str | None = None) -> None:
        scheduled = self.notification(place, *(alerts or ("hourly",)), now_ms=now_ms, recipient_id=recipient_id)
        self.notifications.add([scheduled], match_results([scheduled]))

    def claim(self, now_ms: int) -> list[Message]:
        return self.messages.claim("worker", 64, now_ms=now_ms)

    def send(self, now_ms: int) -> list[str]:
        """Send what is due; return the notifications that went out."""
        claimed = self.claim(now_ms)
        dispatches = self.messages.dispatches(claimed)
        ended = [finish_of(one.message, at_ms=now_ms) for one in dispatches]
        assert self.messages.record("worker", ended, now_ms=now_ms) == {one.id for one in claimed}
        return [entry.notification_id for one in dispatches for entry in one.entries]

    def counts_by_due_time(self) -> dict[int, int]:
        """Return, by due time of the messages, how many notifications each carries."""
        query = select(message.c.due_at_ms, notification.c.id).join(
            notification, notification.c.message_id == message.c.id, isouter=True
        )
        with self.engine.connect() as connection:
            return dict(Counter(row.due_at_ms if row.id else -1 for row in connection.execute(query)))


def test_one_message_carries_what_a_recipient_gets_at_one_time(store_engine: Engine) -> None:
    store = Store(store_engine, 3)
    for place in range(3):
        store.write(place, now_ms=NOON_MS + place)
    store.write(2, now_ms=NOON_MS + 5 * HOUR_MS)  # a repeated micro-batch, later
    assert store.counts_by_due_time() == {NOON_MS + HOUR_MS: 3}
    assert store.claim(NOON_MS + HOUR_MS - 1) == []
    (dispatch,) = store.messages.dispatches(store.claim(NOON_MS + HOUR_MS))
    assert [one.log_offset for one in dispatch.entries] == [logged.offset for logged in store.events]


def test_of_a_large_message_for_people_later_events_are_read_in_brief(store_engine: Engine) -> None:
    store = Store(store_engine, 3)
    wide = [{"name": f"column_{number}", "dataType": "INT"} for number in range(500)]
    store.company.writes.patch(
        "table",
        store.company.key("orders"),
        [{"op": "replace", "path": "/columns", "value": wide}],
        actor=store.company.actor("dia"),
    )
    for number in range(2):
        store.company.describe("orders", f"of the wide table {number}")
    store.events = EventLog(store_engine).read(0, 1_000)[-2:]
    for place in range(2):
        store.write(place, now_ms=NOON_MS)
    claimed_messages = store.claim(NOON_MS + HOUR_MS)
    (dispatch,) = Messages(store_engine, shown_bytes=1).dispatches(claimed_messages)
    first, later = (one.event.entity or {} for one in dispatch.entries)
    assert [one.in_brief for one in dispatch.entries] == [False, True]
    assert len(first["columns"]) == 500
    assert "columns" not in later
    assert later["description"] == "of the wide table 1"
    assert dispatch.event_bytes < 2 * len(json.dumps(first))


def test_a_claimed_message_takes_no_more_and_the_next_time_gets_what_comes(store_engine: Engine) -> None:
    store = Store(store_engine, 3)
    store.write(0)
    (claimed,) = store.claim(NOON_MS + HOUR_MS)
    store.write(1)
    assert store.counts_by_due_time() == {NOON_MS + HOUR_MS: 1, NOON_MS + 2 * HOUR_MS: 1}
    outcome = Retry(OutcomeReason.TIMEOUT)
    store.messages.record("worker", [finish_of(claimed, outcome, at_ms=NOON_MS)], now_ms=NOON_MS)
    store.write(2)  # it waits for its second attempt with what the first one carried
    (again,) = (one for one in store.claim(NOON_MS + 3 * HOUR_MS) if one.id == claimed.id)
    assert len(store.messages.dispatches([again])[0].entries) == 1
    assert sum(store.counts_by_due_time().values()) == 3


@pytest.mark.postgres
def test_nobody_claims_a_message_into_which_a_notification_is_being_written(postgres_engine: Engine) -> None:
    store = Store(postgres_engine, 2)
    store.write(0)
    with store.notifications.storing([]) as under_way:
        under_way.add([store.notification(1, "hourly")])
        assert store.claim(NOON_MS + HOUR_MS) == []
    (dispatch,) = store.messages.dispatches(store.claim(NOON_MS + HOUR_MS))
    assert len(dispatch.entries) == 2


def test_racing_writers_and_a_worker_send_every_notification_once(store_engine: Engine) -> None:
    """Fault scenario 12."""
    store = Store(store_engine, 60)
    sent_ids: list[str] = []

    def write(start: int) -> None:
        for place in range(start, 60, 3):
            store.write(place)

    with ThreadPoolExecutor(3) as pool:
        writing = [pool.submit(write, start) for start in range(3)]
        due_ms = NOON_MS
        while not all(one.done() for one in writing):
            due_ms += HOUR_MS
            sent_ids += store.send(due_ms)
    for writer in writing:
        writer.result()
    sent_ids += store.send(due_ms + 10**9)
    assert len(sent_ids) == len(set(sent_ids)) == 60
    assert -1 not in store.counts_by_due_time()


def test_a_notification_that_another_alert_wants_at_once_leaves_its_digest(store_engine: Engine) -> None:
    store = Store(store_engine, 2)
    store.write(0)
    store.write(0, "at once", now_ms=NOON_MS + 1)
    assert store.counts_by_due_time() == {NOON_MS + 1: 1}
    store.write(1, "at once", now_ms=NOON_MS + 1)
    store.write(1, now_ms=NOON_MS + 2)
    assert store.counts_by_due_time() == {NOON_MS + 1: 2}
    dispatches = store.messages.dispatches(store.claim(NOON_MS + 2))
    assert [[reason.subscription_name for reason in one.first.reasons] for one in dispatches] == [
        ["at once", "hourly"]
    ] * 2


def test_what_has_gone_out_in_a_digest_goes_out_no_more_when_another_alert_wants_it_at_once(
    store_engine: Engine,
) -> None:
    store = Store(store_engine)
    store.write(0)
    assert len(store.send(NOON_MS + HOUR_MS)) == 1
    store.write(0, "at once", now_ms=NOON_MS + 2 * HOUR_MS)
    assert store.send(NOON_MS + 10**9) == []
    assert store.counts_by_due_time() == {NOON_MS + HOUR_MS: 1}


def test_two_people_with_one_address_share_a_digest_and_are_asked_each_for_their_own(store_engine: Engine) -> None:
    store = Store(store_engine, 2)
    for place, person in enumerate(("ann", "ben")):
        store.write(place, recipient_id=person)
    (dispatch,) = store.messages.dispatches(store.claim(NOON_MS + HOUR_MS))
    assert [(one.recipient_id, one.recipient_gone) for one in dispatch.entries] == [("ann", True), ("ben", True)]


def test_parts_of_a_whole_that_are_written_milliseconds_apart_wait_for_the_same_message(store_engine: Engine) -> None:
    store = Store(store_engine, events=3)
    events = [
        head_of(event)._replace(timestamp_ms=NOON_MS + place, part_of="whole")
        for place, event in enumerate(store.events)
    ]
    drafts = [draft("Email", "paced", event=event, key="ops@example.org") for event in events]
    parts = list(scheduled_notifications(drafts, TIMINGS, now_ms=NOON_MS + 100))
    store.notifications.add(parts, match_results(parts))
    assert store.counts_by_due_time() == {NOON_MS + 5_000: 3}
