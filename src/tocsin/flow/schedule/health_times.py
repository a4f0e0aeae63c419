"""Times of a person's health summaries: once a week, on their day and hour in their zone.

Next: ``jobs/health_summaries.py``.
"""

from __future__ import annotations

from tocsin.flow.schedule.preferences import DailyTime
from tocsin.model.preferences import Preferences

DAY_MS = 24 * 3_600_000
_WEEK_MS = 7 * DAY_MS


def next_due_ms(preferences: Preferences, after_ms: int) -> int | None:
    """Return when the next summary of a person is due; None for one who has chosen none."""
    schedule = preferences.health_summary
    if schedule is None:
        return None
    return DailyTime.of(schedule.at, preferences.timezone, schedule.day.number).next_ms(after_ms)


def last_due_ms(preferences: Preferences, now_ms: int) -> int | None:
    """Return when the last summary of a person was due, within eight days; None for one who has chosen none."""
    due_ms, following_ms = None, next_due_ms(preferences, now_ms - _WEEK_MS - DAY_MS)
    while following_ms is not None and following_ms <= now_ms:
        due_ms, following_ms = following_ms, next_due_ms(preferences, following_ms)
    return due_ms
