"""Tests of two queries that find the same notification for different alerts: it takes both, and goes out once."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select, update
from tests.company import SmallCompany
from tests.drafts import draft, match_results, notification_due_at_once, reason
from tests.store.rows import finish_of
from tests.store.test_messages import claim

from tocsin.flow.schedule.decide import CHECK_WAIT_MS, SCHEDULED, Slot, key_of_check
from tocsin.flow.schedule.messages import in_slot
from tocsin.model.message import OutcomeReason, Rejected, Retry
from tocsin.model.notification import ORDERED_IDS, ReasonKind
from tocsin.model.notification_draft import head_of
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import change_event, message, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.firings import Firings
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.records import Records

LATER_MS = 10**13


class TwoQueries:
    """A company, and what two queries write of its first event for one recipient."""

    def __init__(self, engine: Engine, channel: str = "Email") -> None:
        company = SmallCompany(engine)
        (self.logged,) = EventLog(engine).read(0, 1)
        self.engine, self.channel, self.ana = engine, channel, company.ids["ana"]
        self.key = "ana@example.com" if channel == "Email" else self.ana
        self.id = ORDERED_IDS.of(self.logged.offset, self.logged.event.id, channel, self.key)
        self.notifications, self.messages = Notifications(engine), Messages(engine)

    def write(self, alert: str, kind: ReasonKind = ReasonKind.OWNER) -> None:
        recipient_id = None if kind is ReasonKind.EXTERNAL else self.ana
        event, why = head_of(self.logged), reason(alert, kind)
        scheduled = notification_due_at_once(
            draft(self.channel, why, event=event, key=self.key, recipient_id=recipient_id)
        )
        self.notifications.add([scheduled], match_results([scheduled]))

    def write_in(self, alert: str, slot: Slot) -> None:
        scheduled = notification_due_at_once(
            draft(self.channel, reason(alert), event=head_of(self.logged), key=self.key)
        )
        slot = slot._replace(subscription_id=scheduled.slot.subscription_id)
        timed = in_slot(scheduled, slot)._replace(slots=(slot,))
        self.notifications.add([timed], match_results([timed]))

    def alerts(self) -> list[str]:
        record = Records(self.engine).by_id([self.id])[self.id]
        return [reason.subscription_name for reason in record.notification.reasons]

    def alerts_of_message(self) -> list[str]:
        (dispatch,) = self.messages.dispatches(claim(self.messages, now_ms=LATER_MS))
        return [reason.subscription_name for reason in dispatch.first.reasons]


@pytest.mark.parametrize("names", [("held", "sure"), ("sure", "held")])
def test_what_waits_for_a_check_goes_out_with_the_alert_that_is_sure_to_be_first(
    store_engine: Engine, names: tuple[str, str]
) -> None:
    slots = {"held": Slot(1_000, key_of_check("c"), hold_ms=CHECK_WAIT_MS), "sure": Slot(60_000, SCHEDULED)}
    queries = TwoQueries(store_engine)
    for name in names:
        queries.write_in(name, slots[name])
    assert claim(queries.messages, now_ms=59_999) == []
    (dispatch,) = queries.messages.dispatches(claim(queries.messages, now_ms=60_000))
    assert [one.subscription_name for one in dispatch.first.reasons] == ["held", "sure"]
    assert claim(queries.messages, now_ms=LATER_MS) == []


def test_a_reason_that_comes_later_adds_what_a_notification_needs_of_its_person(store_engine: Engine) -> None:
    queries = TwoQueries(store_engine, "ActivityFeed")
    with writing(store_engine) as connection:
        breaks = update(change_event).values(derived='{"isBreaking":true}')
        connection.execute(breaks.where(change_event.c.log_offset == queries.logged.offset))
    needs: list[str | None] = []
    for alert, kind in (("first", ReasonKind.FOLLOWER), ("second", ReasonKind.OWNER), ("third", ReasonKind.FOLLOWER)):
        queries.write(alert, kind)
        with store_engine.connect() as connection:
            needs += connection.execute(select(notification.c.need)).scalars().all()
    assert needs == [None, "breaking", "breaking"]


@pytest.mark.parametrize("channel", ["Email", "ActivityFeed"])
def test_a_notification_takes_the_reasons_of_both_queries_in_one_order(store_engine: Engine, channel: str) -> None:
    queries = TwoQueries(store_engine, channel)
    for alert in ("second", "first", "second", "first"):
        queries.write(alert)
    assert queries.alerts() == ["first", "second"]
    with store_engine.connect() as connection:
        assert len(connection.execute(select(notification)).all()) == 1
        assert len(connection.execute(select(message)).all()) == (channel == "Email")
    counted = Firings(store_engine).tallies(0)
    assert [counted[one].notified_count for one in ("first", "second")] == [1, 1]
    assert [counted[one].person_count for one in ("first", "second")] == [1, 1]


def test_an_address_that_belongs_to_a_person_is_theirs_once_a_reason_says_so(store_engine: Engine) -> None:
    queries = TwoQueries(store_engine)
    queries.write("names the address", ReasonKind.EXTERNAL)
    queries.write("names its owner")
    (dispatch,) = queries.messages.dispatches(claim(queries.messages, now_ms=LATER_MS))
    assert dispatch.first.recipient_id == queries.ana


def test_what_is_on_its_way_or_delivered_takes_no_more_reasons(store_engine: Engine) -> None:
    queries = TwoQueries(store_engine)
    queries.write("first")
    (claimed,) = claim(queries.messages, now_ms=LATER_MS)
    queries.write("second")
    assert queries.alerts() == ["first"]
    queries.messages.record("a", [finish_of(claimed)], now_ms=LATER_MS)
    queries.write("third")
    assert queries.alerts() == ["first"]
    assert claim(queries.messages, now_ms=LATER_MS + 10**9) == []


def test_what_waits_for_another_attempt_takes_them(store_engine: Engine) -> None:
    queries = TwoQueries(store_engine)
    queries.write("first")
    (claimed,) = claim(queries.messages, now_ms=LATER_MS)
    queries.messages.record("a", [finish_of(claimed, Retry(OutcomeReason.TIMEOUT))], now_ms=LATER_MS)
    queries.write("second")
    assert queries.alerts_of_message() == ["first", "second"]


def test_what_was_given_up_for_one_alert_is_tried_for_the_other(store_engine: Engine) -> None:
    queries = TwoQueries(store_engine)
    queries.write("first")
    (claimed,) = claim(queries.messages, now_ms=LATER_MS)
    queries.messages.record("a", [finish_of(claimed, Rejected(OutcomeReason.DISABLED))], now_ms=LATER_MS)
    queries.write("first")
    assert claim(queries.messages, now_ms=LATER_MS) == []
    queries.write("second")
    assert queries.alerts_of_message() == ["first", "second"]
