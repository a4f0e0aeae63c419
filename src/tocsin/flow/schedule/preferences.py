"""Due times that recipients prefer: the end of their quiet hours, or their next digest.

Pure; asked when a notification is written. What is critical is not asked. Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from tocsin.model.preferences import Frequency, Preferences
from tocsin.model.subscription import Trigger, TriggerType

PREFERRED = "preferences:"
"""What the grouping keys of messages that wait for their recipient's time begin with."""

_DAYS = {Frequency.DAILY: "* * ?", Frequency.WEEKLY: "? * MON"}


@dataclass(frozen=True)
class Preferred:
    """Preferences of some recipients by their ids, and the categories of what changed, by event.

    ``versions`` say, by recipient, which preferences these are: what waited for others does not take more.
    """

    preferences: Mapping[str, Preferences] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def trigger(self, recipient_id: str | None, event_id: str, due_at_ms: int) -> Trigger | None:
        """Return the trigger that an event waits for on its way to a recipient; None if for none."""
        preferences = self.preferences.get(recipient_id or "")
        return None if preferences is None else waiting(preferences, self.categories.get(event_id, ()), due_at_ms)

    def grouping_key(self, recipient_id: str) -> str:
        """Return the key of what waits for a recipient's time."""
        return f"{PREFERRED}{self.versions.get(recipient_id, 0)}"


NO_PREFERENCES = Preferred()


def waiting(preferences: Preferences, categories: tuple[str, ...], due_at_ms: int) -> Trigger | None:
    """Return what somebody waits for who would be notified of changes of these categories at ``due_at_ms``.

    For what is never to come nobody waits: it is dropped when it would be sent (``store/outbox/send_permission.py``).
    """
    frequency, quiet = preferences.frequency_of(categories), preferences.quiet_hours
    if frequency in _DAYS:
        is_quiet = quiet is not None and quiet.include(preferences.digest_at)
        return _at(preferences, quiet.end if quiet and is_quiet else preferences.digest_at, _DAYS[frequency])
    if quiet is None:
        return None
    local = datetime.fromtimestamp(due_at_ms / 1000, UTC).astimezone(ZoneInfo(preferences.timezone))
    return _at(preferences, quiet.end) if quiet.include(f"{local:%H:%M}") else None


def _at(preferences: Preferences, time: str, days: str = "* * ?") -> Trigger:
    hour, minute = (int(part) for part in time.split(":"))
    expression = f"0 {minute} {hour} {days}"
    return Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression=expression, timezone=preferences.timezone)
