"""Tests of the decision when a person gets what an alert has for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from uuid import uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.drafts import EVENT, draft

from tocsin.flow.schedule.decide import CHECK_WAIT_MS, SCHEDULED, Slot, Timing, decide, key_of_check, timing_of
from tocsin.flow.schedule.messages import (
    ScheduledNotification,
    Timings,
    next_slot,
    scheduled_notifications,
    timings_of,
)
from tocsin.model.notification import NAMESPACE, ORDERED_IDS, NotificationIdScheme, message_id
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.subscription import EventSubscription, Gathering, ScheduleFrequency, Trigger, TriggerType

HOUR_MS = 3_600_000
HOURLY = Timing(Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 * * * ?"))
DAILY = Timing(Trigger(trigger_type=TriggerType.SCHEDULED, schedule_info=ScheduleFrequency.DAILY))
NOON_MS = 1_760_011_200_000 // HOUR_MS * HOUR_MS


def notifications_of(
    drafts: Iterable[NotificationDraft], timings: Timings, *, now_ms: int
) -> Iterator[ScheduledNotification]:
    return scheduled_notifications(drafts, timings, now_ms=now_ms)


def due(drafts: Iterable[NotificationDraft], timings: Timings, *, now_ms: int) -> list[tuple[int, str | None]]:
    """Return when these notifications go out, and under which grouping keys."""
    slots = (notification.slot for notification in notifications_of(drafts, timings, now_ms=now_ms))
    return [(slot.due_at_ms, slot.grouping_key) for slot in slots]


def alert(**fields: object) -> EventSubscription:
    defaults = {"id": "a", "name": "a", "fullyQualifiedName": "a", "alertType": "Notification"}
    return EventSubscription.model_validate({**defaults, **fields})


def paced_slot(window_ms: int = 60_000, *, by_asset: bool = False) -> Slot:
    """Return the slot of what the alert ``a`` matched at 5 and gathers."""
    return Slot(5, "alert:a", None, window_ms, by_asset, is_first=True, subscription_id="a")


def test_an_alert_notifies_now_at_a_time_or_together_with_others() -> None:
    daily_alone, summary, hour_ms = replace(HOURLY, batch_size=1), Gathering.SUMMARY, NOON_MS + HOUR_MS
    assert decide(Timing(Trigger()), 5) == Slot(5)
    assert decide(HOURLY, NOON_MS) == Slot(hour_ms, None, HOURLY)
    assert decide(HOURLY, NOON_MS, gathering=summary) == Slot(hour_ms, SCHEDULED, HOURLY)
    assert decide(daily_alone, NOON_MS, gathering=summary) == Slot(hour_ms, None, daily_alone)


def test_what_a_real_time_alert_gathers() -> None:
    def decision(gathering: Gathering = Gathering.SUMMARY, **fields: object) -> Slot:
        return decide(timing_of(alert(**fields)), 5, subscription_id="a", gathering=gathering)

    def grouping_by(by: str) -> dict[str, str]:
        return {"triggerType": "RealTime", "groupBy": by}

    at_once = Slot(5, subscription_id="a")
    assert decision() == decision(trigger=grouping_by("alert")) == paced_slot()
    assert decision(pollInterval=5) == paced_slot(5_000)
    assert decision(trigger=grouping_by("asset")) == paced_slot(by_asset=True)
    assert decision(Gathering.NONE) == at_once
    for fields in ({"pollInterval": 0}, {"batchSize": 1}, {"trigger": grouping_by("none")}):
        assert decision(**fields) == at_once


@pytest.mark.parametrize(
    ("size", "batch_by", "gathers"),
    [(10, None, False), (50, "none", False), (100, "all", True), (2, "all", True), (1, "all", False)],
)
def test_webhooks_gather_if_they_ask_for_arrays_whatever_the_batch_size(
    size: int, batch_by: str | None, gathers: bool
) -> None:
    config = {"endpoint": "http://x.y", **({"batchBy": batch_by} if batch_by else {})}
    hook = {"id": "d", "category": "External", "type": "Webhook", "config": config}
    subscription = alert(batchSize=size, destinations=[hook])
    decided = decide(timing_of(subscription), 5, subscription_id="a", gathering=Gathering.ARRAYS)
    assert decided == (paced_slot() if gathers else Slot(5, subscription_id="a"))
    assert subscription.sends_arrays is (batch_by == "all")


def test_a_critical_alert_gathers_nothing() -> None:
    """Fault scenario 37."""

    def decision(tag: str) -> Slot:
        return decide(timing_of(alert(tags=[{"tagFQN": tag}])), 5, gathering=Gathering.SUMMARY)

    assert decision("Priority.Critical") == decision("critical") == Slot(5)
    assert decision("Priority.NotCritical").is_first


def test_what_one_alert_sends_at_once_waits_for_no_other_one() -> None:
    timings = timings_of([alert(), alert(id="critical", tags=[{"tagFQN": "Priority.Critical"}])])
    drafts = [draft("Email", "a"), draft("Email", "a", "critical"), draft("ActivityFeed", "a"), draft("Webhook", "a")]
    keys = [key for _, key in due(drafts, timings, now_ms=NOON_MS)]
    assert keys == ["alert:a", None, None, None]


def test_gathering_by_asset_has_a_key_for_each() -> None:
    timings = timings_of([alert(trigger={"triggerType": "RealTime", "groupBy": "asset"})])
    drafts = [draft("Email", "a", event=EVENT._replace(entity_id=asset)) for asset in ("orders", "revenue")]
    keys = [key for _, key in due(drafts, timings, now_ms=NOON_MS)]
    assert keys == ["alert:a|asset:orders", "alert:a|asset:revenue"]


def test_what_several_alerts_notify_goes_out_at_the_earliest_of_their_times() -> None:
    triggers = {"hourly": HOURLY, "daily": DAILY}
    drafts = [draft("Email", "daily", "hourly"), draft("Email", "daily", "hourly", "now"), draft("Email", "daily")]
    midnight_ms = (NOON_MS // (24 * HOUR_MS) + 1) * 24 * HOUR_MS
    assert due(drafts, triggers, now_ms=NOON_MS + 1) == [
        (NOON_MS + HOUR_MS, SCHEDULED),
        (NOON_MS + 1, None),
        (midnight_ms, SCHEDULED),
    ]


def test_messages_gather_per_recipient_channel_and_time() -> None:
    def message_of(channel: str = "Email", *, event: str = "e", key: str = "k", now_ms: int = NOON_MS) -> object:
        unscheduled = draft(channel, "a", event=EVENT._replace(event_id=event), key=key)
        (notification,) = notifications_of([unscheduled], {"a": HOURLY}, now_ms=now_ms)
        return notification.message_id

    assert message_of() == message_of(event="f") == message_of(now_ms=NOON_MS + HOUR_MS - 1)
    assert len({message_of(), message_of(key="l"), message_of(now_ms=NOON_MS + HOUR_MS)}) == 3
    assert message_of("Webhook", event="f") == message_id(ORDERED_IDS.of(EVENT.offset, "f", "Webhook", "k"))
    assert message_of("ActivityFeed") is None


def test_what_comes_too_late_gets_the_next_time() -> None:
    (notification,) = notifications_of([draft("Email", "a")], {"a": HOURLY}, now_ms=NOON_MS)
    assert next_slot(notification.slot).due_at_ms == NOON_MS + 2 * HOUR_MS


def test_what_the_pipeline_reads_after_its_due_time_is_caught_up_once() -> None:
    """Fault scenario 12."""

    def placement(*alerts: str, event_ms: int, now_ms: int = NOON_MS + 1) -> tuple[object, object]:
        unscheduled = draft("Email", *alerts, event=EVENT._replace(timestamp_ms=event_ms))
        (notification,) = notifications_of([unscheduled], {"a": HOURLY}, now_ms=now_ms)
        return notification.slot.due_at_ms, notification.message_id

    caught_up = placement("a", event_ms=NOON_MS - 5 * HOUR_MS)
    assert caught_up == placement("a", event_ms=NOON_MS - 1)  # several missed times are one message
    assert caught_up[0] == NOON_MS
    assert placement("a", event_ms=NOON_MS)[0] == NOON_MS + HOUR_MS
    assert placement("a", "at once", event_ms=NOON_MS - 1)[0] == NOON_MS + 1
    on_time = placement("a", event_ms=NOON_MS - 1, now_ms=NOON_MS - 1)
    assert on_time == caught_up  # whether it is read in time or not, its message is the same


@given(event=st.text(), channel=st.sampled_from(["Email", "Webhook"]), key=st.text())
def test_ids_of_events_before_the_upgrade_stay_hashes_of_their_causes(event: str, channel: str, key: str) -> None:
    unscheduled = draft(channel, "a", event=EVENT._replace(event_id=event, offset=7), key=key)
    (notification,) = scheduled_notifications([unscheduled], {}, now_ms=5, ids=NotificationIdScheme(hashed_through=7))
    assert notification.id == str(uuid5(NAMESPACE, f"notification|{event}|{channel}|{key}"))
    assert notification.message_id == str(uuid5(NAMESPACE, f"delivery|{notification.id}"))
    slot = notification.slot
    assert (slot.due_at_ms, slot.grouping_key) == (5, None)
    assert (notification.wait_ms, notification.created_at_ms) == (0, 5)


def test_a_digest_with_a_check_waits_for_it_and_what_is_late_goes_into_one_of_its_own() -> None:
    checking = replace(HOURLY, check_id="c")
    slot = Slot(NOON_MS, key_of_check("c"), checking, hold_ms=CHECK_WAIT_MS)
    summary = Gathering.SUMMARY
    assert decide(checking, NOON_MS + 1, gathering=summary) == slot._replace(due_at_ms=NOON_MS + HOUR_MS)
    found_ms = NOON_MS  # the event of a check has the time that it is about
    assert decide(checking, NOON_MS + 5, gathering=summary, event_ms=found_ms) == slot
    assert decide(checking, NOON_MS + 5, event_ms=found_ms) == Slot(NOON_MS, None, checking), "a webhook does not wait"
    daily = replace(DAILY, check_id="c")
    midnight_ms = NOON_MS - 12 * HOUR_MS
    late = decide(daily, NOON_MS, gathering=summary, event_ms=midnight_ms)
    assert (late.due_at_ms, late.hold_ms) == (NOON_MS, CHECK_WAIT_MS)
    assert next_slot(late) == late._replace(due_at_ms=NOON_MS + CHECK_WAIT_MS)


def test_what_shares_a_digest_with_a_check_is_sent_by_the_alert_that_is_sure_to_be_first() -> None:
    """A check may be stuck for an hour, and must not delay what another alert sends before."""
    sooner = Timing(Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 5 * * * ?"))
    later = Timing(Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 0/3 * * ?"))
    shared, now_ms = [draft("Email", "a", "b")], NOON_MS + HOUR_MS // 10
    sent = {
        name: [(one.slot.subscription_id, one.sent_at_ms) for one in notifications_of(shared, timings, now_ms=now_ms)]
        for name, timings in (
            ("sooner", {"a": replace(HOURLY, check_id="c"), "b": sooner}),
            ("later", {"a": replace(HOURLY, check_id="c"), "b": later}),
        )
    }
    five_past_ms, held_until_ms = NOON_MS + HOUR_MS + HOUR_MS // 12, NOON_MS + HOUR_MS + CHECK_WAIT_MS
    assert sent == {"sooner": [("b", five_past_ms)], "later": [("a", held_until_ms)]}


def test_the_message_of_a_digest_with_a_check_is_due_when_the_wait_is_over() -> None:
    checking = {"a": replace(HOURLY, check_id="c")}
    (scheduled,) = notifications_of([draft("Email", "a")], checking, now_ms=NOON_MS + 1)
    assert (scheduled.slot.due_at_ms, scheduled.sent_at_ms) == (NOON_MS + HOUR_MS, NOON_MS + HOUR_MS + CHECK_WAIT_MS)
    assert scheduled.wait_ms == HOUR_MS + CHECK_WAIT_MS - 1
