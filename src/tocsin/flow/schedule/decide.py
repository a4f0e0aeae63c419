"""Due time of a notification: now, at a time, with others in a digest, or never. Decided here only.

Pure. The pipeline asks when it writes a notification, the worker again when it sends the message.
Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.flow.schedule.cron import last_time_ms, next_time_ms
from tocsin.model.mute import Mute
from tocsin.model.subscription import Channel, Trigger, TriggerType

GATHERING = frozenset({Channel.EMAIL})
"""Channels whose message may carry several notifications."""

SCHEDULED = "scheduled"
"""The grouping key of what scheduled triggers gather."""


@dataclass(frozen=True)
class Now:
    """Immediately, in a separate message."""


@dataclass(frozen=True)
class At:
    """At a time (epoch milliseconds), in a separate message."""

    due_at_ms: int


@dataclass(frozen=True)
class Together:
    """In one message with all notifications of the recipient that have the same key and due time."""

    grouping_key: str
    due_at_ms: int


@dataclass(frozen=True)
class Never:
    """Not at all; ``because`` is the reason as a sentence."""

    because: str


Decision = Now | At | Together | Never


def decide(trigger: Trigger, mute: Mute | None, now_ms: int, *, channel: str, event_ms: int | None = None) -> Decision:
    """Return when a recipient is notified over ``channel`` of what an alert with this trigger matched at ``now_ms``.

    ``mute`` is the recipient's mute of the alert or asset, if any; ``event_ms`` is the time of the event. What happened
    before a due time that has passed since is caught up: of several such times at the last one.
    """
    if mute is not None:
        return Never(f"the recipient {mute.in_words()}")
    if trigger.trigger_type is TriggerType.REAL_TIME:
        return Now()
    due_at_ms = _due_at_ms(trigger, now_ms, event_ms)
    return Together(SCHEDULED, due_at_ms) if channel in GATHERING else At(due_at_ms)


def _due_at_ms(trigger: Trigger, now_ms: int, event_ms: int | None) -> int:
    missed_ms = last_time_ms(trigger, now_ms) if event_ms is not None else None
    if event_ms is not None and missed_ms is not None and event_ms < missed_ms:
        return missed_ms
    return next_time_ms(trigger, now_ms)
