"""Due time of a new notification: now, at a time, or with others in one message.

Pure. The pipeline asks when it writes a notification. What is paced depends on the recipient's latest messages, so
``store/outbox/gathering.py`` turns it into a time. Retries have their due times from ``flow/track/attempts.py``.
Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tocsin.flow.schedule.cron import last_time_ms, next_time_ms
from tocsin.flow.schedule.preferences import PreferredWait
from tocsin.model.preferences import DEFAULT, FrequencyChoice
from tocsin.model.subscription import EventSubscription, Gathering, GroupBy, Trigger, TriggerType

SCHEDULED = "scheduled"
"""The grouping key of what scheduled triggers gather."""

CHECK_WAIT_MS = 3_600_000
"""How long the digest of a scheduled alert waits at most for what its check finds (``jobs/scheduled_checks.py``)."""

Rank = tuple[bool, int, str]
"""What alerts are ordered by, the leading first: those of administrators before others, then by age, then by id."""

_BY_ASSET = (GroupBy.ASSET, GroupBy.LINEAGE_ROOT)


@dataclass(frozen=True)
class Timing:
    """When an alert notifies: its trigger, and how long it gathers in real time (milliseconds; 0: not at all).

    ``sends_arrays``: channels for machines gather as well. ``is_critical``: it waits for nobody's preferred time.
    ``rank`` decides between alerts that would notify of one event at the same time. ``check_id`` is the schedule whose
    checks find what is still so of the assets; empty: the alert does not ask.
    """

    trigger: Trigger
    window_ms: int = 0
    batch_size: int = 100
    sends_arrays: bool = False
    is_critical: bool = False
    rank: Rank = (True, 0, "")
    check_id: str = ""


IMMEDIATE = Timing(Trigger())


def timing_of(subscription: EventSubscription, *, checks: bool = False) -> Timing:
    """Return the timing of an alert; a critical one gathers nothing in real time.

    ``checks``: at the times of its schedule it asks for the state of assets.
    """
    is_critical = subscription.is_critical
    return Timing(
        subscription.trigger,
        window_ms=0 if is_critical else subscription.poll_interval * 1000,
        batch_size=subscription.batch_size,
        sends_arrays=subscription.sends_arrays,
        is_critical=is_critical,
        rank=rank_of(subscription),
        check_id=subscription.trigger.schedule_id if checks else "",
    )


def rank_of(subscription: EventSubscription) -> Rank:
    """Return the rank of an alert: alerts of administrators come first, then the oldest."""
    return not subscription.is_of_administrators, subscription.created_at_ms, subscription.id


class Slot(NamedTuple):
    """When a notification goes out (epoch milliseconds), and under which key with others, if with any.

    ``timing`` is the scheduled one that determines it, ``wait`` what the recipient prefers to wait for: they give the
    next slot. With ``window_ms`` it is paced: at once, unless the recipient has had a message with that key within
    that time, then with what follows; ``is_first`` until the store has found that out. ``by_asset``: the key is meant
    per asset, or per root of the asset's failure (``flow/schedule/roots.py``). ``subscription_id`` is the alert whose
    slot it is. ``hold_ms``: so much longer its message waits for a check, unless that is done before.
    ``choice`` is how often its recipient prefers what it is about; ``version`` says by which of their preferences it
    waits (``Preferred.versions``), if it waits for them.
    """

    due_at_ms: int
    grouping_key: str | None = None
    timing: Timing | None = None
    window_ms: int = 0
    by_asset: bool = False
    is_first: bool = False
    wait: PreferredWait | None = None
    subscription_id: str = ""
    hold_ms: int = 0
    choice: FrequencyChoice = DEFAULT
    version: int | None = None


def key_of_check(check_id: str) -> str:
    """Return the grouping key of what alerts gather that ask for the state of assets at the times of a schedule."""
    return f"check:{check_id}"


def decide(
    timing: Timing,
    now_ms: int,
    *,
    subscription_id: str = "",
    gathering: Gathering = Gathering.NONE,
    event_ms: int | None = None,
) -> Slot:
    """Return when a recipient is notified of what an alert with this timing matched at ``now_ms``.

    ``gathering`` says what the channel can do; ``event_ms`` is the time of the event. What happened before a due time
    that has passed since is caught up: of several such times at the last one.
    """
    can_gather = {Gathering.NONE: False, Gathering.SUMMARY: True, Gathering.ARRAYS: timing.sends_arrays}
    gathers = can_gather[gathering] and timing.batch_size > 1
    trigger, slot = timing.trigger, Slot(now_ms, subscription_id=subscription_id)
    if trigger.trigger_type is TriggerType.SCHEDULED:
        due_at_ms = _due_at_ms(timing, now_ms, event_ms)
        if gathers and timing.check_id:
            return _held_slot(slot, timing, due_at_ms, now_ms)
        return slot._replace(due_at_ms=due_at_ms, grouping_key=SCHEDULED if gathers else None, timing=timing)
    if not gathers or timing.window_ms == 0 or trigger.group_by is GroupBy.NONE:
        return slot
    key, by_asset = key_of_alert(subscription_id), trigger.group_by in _BY_ASSET
    return slot._replace(grouping_key=key, window_ms=timing.window_ms, by_asset=by_asset, is_first=True)


def key_of_alert(subscription_id: str) -> str:
    """Return the grouping key of what an alert gathers in real time."""
    return f"alert:{subscription_id}"


def _held_slot(slot: Slot, timing: Timing, due_at_ms: int, now_ms: int) -> Slot:
    """Return the slot of a digest that a check completes; long after its time, of a further one of that time."""
    waits = max(0, now_ms - due_at_ms) // CHECK_WAIT_MS
    return slot._replace(
        due_at_ms=due_at_ms + waits * CHECK_WAIT_MS,
        grouping_key=key_of_check(timing.check_id),
        timing=timing,
        hold_ms=CHECK_WAIT_MS,
    )


def _due_at_ms(timing: Timing, now_ms: int, event_ms: int | None) -> int:
    missed_ms = last_time_ms(timing.trigger, now_ms) if event_ms is not None else None
    if event_ms is not None and missed_ms is not None and event_ms < missed_ms + bool(timing.check_id):
        return missed_ms  # the event of a check has the time that it is about
    return next_time_ms(timing.trigger, now_ms)
