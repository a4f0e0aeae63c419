"""Decision when a person gets what an alert has for them. The one place that decides it.

Pure. The pipeline asks when it writes a notification, the worker again when it sends the message.
Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.flow.schedule.cron import next_time_ms
from tocsin.model.mute import Mute
from tocsin.model.subscription import Channel, Trigger, TriggerType

GATHERING = frozenset({Channel.EMAIL})
"""Channels whose message may carry several notifications."""

SCHEDULED = "scheduled"
"""The grouping key of what scheduled triggers gather."""


@dataclass(frozen=True)
class Now:
    """At once, in a message of its own."""


@dataclass(frozen=True)
class At:
    """At a time, in a message of its own (epoch milliseconds)."""

    due_at_ms: int


@dataclass(frozen=True)
class Together:
    """In one message with all that the recipient is to get under the same key at the same time."""

    grouping_key: str
    due_at_ms: int


@dataclass(frozen=True)
class Never:
    """Not at all; ``because`` is a sentence for people."""

    because: str


Decision = Now | At | Together | Never


def decide(trigger: Trigger, mute: Mute | None, now_ms: int, *, channel: str) -> Decision:
    """Return when somebody gets over ``channel`` what an alert with this trigger finds at ``now_ms``.

    ``mute`` is what the person has muted of it, if anything.
    """
    if mute is not None:
        return Never(f"the recipient {mute.in_words()}")
    if trigger.trigger_type is TriggerType.REAL_TIME:
        return Now()
    due_at_ms = next_time_ms(trigger, now_ms)
    return Together(SCHEDULED, due_at_ms) if channel in GATHERING else At(due_at_ms)
