"""Tests of the decision when a person gets what an alert has for them."""

from __future__ import annotations

from uuid import uuid5

from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.schedule.decide import SCHEDULED, At, Never, Now, Together, decide
from tocsin.flow.schedule.messages import next_slot, scheduled
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.notification import NAMESPACE, message_id, notification_id
from tocsin.model.subscription import Rhythm, Trigger, TriggerType

HOUR_MS = 3_600_000
HOURLY = Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 * * * ?")
DAILY = Trigger(trigger_type=TriggerType.SCHEDULED, schedule_info=Rhythm.DAILY)
NOON_MS = 1_760_011_200_000 // HOUR_MS * HOUR_MS


def row(channel: str, *alerts: str, event: str = "e", key: str = "k", event_ms: int = 10**15) -> dict[str, object]:
    found = {"event_id": event, "timestamp_ms": event_ms, "channel": channel, "key": key}
    return {**found, "subscription_ids": list(alerts)}


def test_an_alert_notifies_now_at_a_time_or_together_with_others_or_never() -> None:
    muted = Mute("ann", MuteKind.ALERT, "a")
    assert decide(Trigger(), None, 5, channel="Email") == Now()
    assert decide(HOURLY, None, NOON_MS, channel="Webhook") == At(NOON_MS + HOUR_MS)
    assert decide(HOURLY, None, NOON_MS, channel="ActivityFeed") == At(NOON_MS + HOUR_MS)
    assert decide(HOURLY, None, NOON_MS, channel="Email") == Together(SCHEDULED, NOON_MS + HOUR_MS)
    assert decide(HOURLY, muted, 5, channel="Email") == Never("the recipient muted this alert permanently")


def test_what_several_alerts_notify_goes_out_at_the_earliest_of_their_times() -> None:
    triggers = {"hourly": HOURLY, "daily": DAILY}
    rows = [row("Email", "daily", "hourly"), row("Email", "daily", "hourly", "now"), row("Email", "daily")]
    found = [(one["due_at_ms"], one["grouping_key"]) for one in scheduled(rows, triggers, now_ms=NOON_MS + 1)]
    midnight_ms = (NOON_MS // (24 * HOUR_MS) + 1) * 24 * HOUR_MS
    assert found == [(NOON_MS + HOUR_MS, SCHEDULED), (NOON_MS + 1, None), (midnight_ms, SCHEDULED)]


def test_messages_gather_per_recipient_channel_and_time() -> None:
    def sent_in(channel: str = "Email", *, event: str = "e", key: str = "k", now_ms: int = NOON_MS) -> object:
        (one,) = scheduled([row(channel, "a", event=event, key=key)], {"a": HOURLY}, now_ms=now_ms)
        return one["message_id"]

    assert sent_in() == sent_in(event="f") == sent_in(now_ms=NOON_MS + HOUR_MS - 1)
    assert len({sent_in(), sent_in(key="l"), sent_in(now_ms=NOON_MS + HOUR_MS)}) == 3
    assert sent_in("Webhook", event="f") == message_id(notification_id("f", "Webhook", "k"))
    assert sent_in("ActivityFeed") is None


def test_what_comes_too_late_gets_the_next_time() -> None:
    (one,) = scheduled([row("Email", "a")], {"a": HOURLY}, now_ms=NOON_MS)
    assert next_slot(one["slot"], "Email").due_at_ms == NOON_MS + 2 * HOUR_MS


def test_what_the_pipeline_reads_after_its_due_time_is_caught_up_once() -> None:
    def placed(*alerts: str, event_ms: int, now_ms: int = NOON_MS + 1) -> tuple[object, object]:
        (one,) = scheduled([row("Email", *alerts, event_ms=event_ms)], {"a": HOURLY}, now_ms=now_ms)
        return one["due_at_ms"], one["message_id"]

    caught_up = placed("a", event_ms=NOON_MS - 5 * HOUR_MS)
    assert caught_up == placed("a", event_ms=NOON_MS - 1)  # several missed times are one message
    assert caught_up[0] == NOON_MS
    assert placed("a", event_ms=NOON_MS)[0] == NOON_MS + HOUR_MS
    assert placed("a", "at once", event_ms=NOON_MS - 1)[0] == NOON_MS + 1
    on_time = placed("a", event_ms=NOON_MS - 1, now_ms=NOON_MS - 1)
    assert on_time == caught_up  # whether it is read in time or not, its message is the same


@given(event=st.text(), channel=st.sampled_from(["Email", "Webhook"]), key=st.text())
def test_ids_are_uuids_of_their_causes(event: str, channel: str, key: str) -> None:
    (one,) = scheduled([row(channel, "a", event=event, key=key)], {}, now_ms=5)
    assert one["id"] == str(uuid5(NAMESPACE, f"notification|{event}|{channel}|{key}"))
    assert one["message_id"] == str(uuid5(NAMESPACE, f"delivery|{one['id']}"))
    assert (one["due_at_ms"], one["wait_ms"], one["created_at_ms"], one["grouping_key"]) == (5, 0, 5, None)
