"""Due times that recipients prefer: the end of their quiet hours, or their next digest.

Pure; asked when a notification is written. What is critical is not asked. Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tocsin.flow.schedule.cron import next_time_ms, zone_of
from tocsin.model.preferences import Frequency, Preferences, QuietHours
from tocsin.model.subscription import Trigger, TriggerType

PREFERRED = "preferences:"
"""What the grouping keys of messages that wait for their recipient's time begin with."""

_DAYS = {Frequency.DAILY: "* * ?", Frequency.WEEKLY: "? * MON"}
_MOMENT_MS = 1_000
"""How much later what comes too late for the message at the end of quiet hours is sent."""


@dataclass(frozen=True)
class PreferredWait:
    """What somebody waits for: a digest, the end of quiet hours, or the end of those in which the digest lies."""

    timezone: str
    quiet: QuietHours | None = None
    digest: Trigger | None = None

    def due_at_ms(self, at_ms: int) -> int:
        """Return when is sent what would be sent at ``at_ms`` (both epoch milliseconds)."""
        moment_ms = at_ms if self.digest is None else next_time_ms(self.digest, at_ms)
        return moment_ms if self.quiet is None else _after_quiet_ms(self.quiet, self.timezone, moment_ms)

    def following_ms(self, due_at_ms: int) -> int:
        """Return when is sent what comes too late for the message that was due at ``due_at_ms``."""
        return due_at_ms + _MOMENT_MS if self.digest is None else self.due_at_ms(due_at_ms)


@dataclass(frozen=True)
class Preferred:
    """Preferences of some recipients by their ids, and the categories of what changed, by event.

    ``versions`` say, by recipient, which preferences these are: what waited for others does not take more.
    """

    preferences: Mapping[str, Preferences] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def wait(self, recipient_id: str | None, event_id: str) -> PreferredWait | None:
        """Return what an event may wait for on its way to a recipient; None if for nothing."""
        preferences = self.preferences.get(recipient_id or "")
        return None if preferences is None else wait_of(preferences, self.categories.get(event_id, ()))

    def grouping_key(self, recipient_id: str) -> str:
        """Return the key of what waits for a recipient's time."""
        return f"{PREFERRED}{self.versions.get(recipient_id, 0)}"


NO_PREFERENCES = Preferred()


def wait_of(preferences: Preferences, categories: tuple[str, ...]) -> PreferredWait | None:
    """Return what somebody waits for who is notified of changes of these categories; None if for nothing.

    For what is never to come nobody waits: it is dropped when it would be sent (``store/outbox/send_permission.py``).
    """
    frequency, quiet = preferences.frequency_of(categories), preferences.quiet_hours
    if frequency in _DAYS:
        digest = _daily(preferences.digest_at, preferences.timezone, _DAYS[frequency])
        return PreferredWait(preferences.timezone, quiet, digest)
    return None if quiet is None else PreferredWait(preferences.timezone, quiet)


def after_quiet_ms(preferences: Preferences, at_ms: int) -> int:
    """Return ``at_ms``, or the end of the quiet hours in which it lies."""
    quiet = preferences.quiet_hours
    return at_ms if quiet is None else _after_quiet_ms(quiet, preferences.timezone, at_ms)


def _after_quiet_ms(quiet: QuietHours, timezone: str, at_ms: int) -> int:
    """Return ``at_ms``, or the end of the quiet hours in which it lies.

    It lies in them if they end before they begin again. The time of the day alone does not tell: when the clocks are
    turned back, quiet hours that ended at 2:30 do not begin once more at the second 2:00.
    """
    if quiet.start == quiet.end:
        return at_ms
    start, end = _daily(quiet.start, timezone), _daily(quiet.end, timezone)
    start_ms, end_ms = next_time_ms(start, at_ms), next_time_ms(end, at_ms)
    if start_ms == end_ms:  # the clocks skip both
        local = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone_of(end))
        return end_ms if quiet.include(f"{local:%H:%M}") else at_ms
    return end_ms if end_ms < start_ms else at_ms


def _daily(time: str, timezone: str, days: str = "* * ?") -> Trigger:
    hour, minute = (int(part) for part in time.split(":"))
    expression = f"0 {minute} {hour} {days}"
    return Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression=expression, timezone=timezone)
