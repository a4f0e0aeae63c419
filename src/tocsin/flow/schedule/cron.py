"""Due times of scheduled triggers: the times of a cron expression in the alert's time zone, as epoch milliseconds.

Where clocks change: as ``flow/schedule/wall_clock.py`` has it, but an expression that names every hour is due in every
hour that passes. Source: seeds/001 ``trigger``. Next: ``flow/schedule/decide.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from zoneinfo import ZoneInfo

from tocsin.errors import InvalidInput
from tocsin.flow.schedule.expression import FIELD, Expression, check_standard, parse_expression
from tocsin.flow.schedule.wall_clock import (
    change_s,
    check_zone,
    next_shown_s,
    offset_of_s,
    seconds_of,
    wall_at,
    zone_named,
)
from tocsin.model.subscription import ScheduleFrequency, Trigger, TriggerType

_EXPRESSIONS = {
    ScheduleFrequency.DAILY: "0 0 * * *",
    ScheduleFrequency.WEEKLY: "0 0 * * 1",
    ScheduleFrequency.MONTHLY: "0 0 1 * *",
}
"""At midnight, of weeks on Monday and of months on the first day."""

END_MS = 4_102_444_800_000
"""The end of 2099: what is due then waits for a schedule that has no more times."""

_ZONE_FIELD = "trigger.timezone"
_LONGEST_LOOK_BACK_S = 10 * 366 * 86_400


def check_schedule(trigger: Trigger) -> None:
    """Report what is wrong with the times of a scheduled trigger, if anything is.

    Raises
    ------
    InvalidInput : as ``next_time_ms``
    """
    if trigger.trigger_type is TriggerType.SCHEDULED:
        next_time_ms(trigger, 0)


def check_new_schedule(trigger: Trigger, stored_trigger: Mapping[str, object]) -> None:
    """Do the same for a trigger that is to be saved in place of a stored one, whose expression and zone may stay.

    Raises
    ------
    InvalidInput : as ``next_time_ms``, ``check_standard`` and ``check_zone``
    """
    check_schedule(trigger)
    if trigger.trigger_type is not TriggerType.SCHEDULED:
        return
    expression, timezone = trigger.cron_expression, trigger.timezone
    if expression is not None and expression != stored_trigger.get("cronExpression"):
        check_standard(expression)
    if timezone is not None and timezone != stored_trigger.get("timezone"):
        check_zone(timezone, field=_ZONE_FIELD)


@lru_cache(maxsize=4_096)
def next_time_ms(trigger: Trigger, after_ms: int) -> int:
    """Return the first moment after ``after_ms`` at which a scheduled trigger fires; ``END_MS`` if there is no more.

    Raises
    ------
    InvalidInput : the trigger has no expression, one that is wrong or never true, or an unknown time zone
    """
    return 1000 * _next_s(_expression(trigger), _zone_of(trigger), after_ms // 1000)


def next_times_ms(trigger: Trigger, after_ms: int, count: int) -> list[int]:
    """Return the first ``count`` moments after ``after_ms`` at which a scheduled trigger fires; fewer if it ends.

    Raises
    ------
    InvalidInput : as ``next_time_ms``
    """
    times: list[int] = []
    while len(times) < count and (after_ms := next_time_ms(trigger, after_ms)) != END_MS:
        times.append(after_ms)
    return times


@lru_cache(maxsize=1_024)
def last_time_ms(trigger: Trigger, until_ms: int) -> int | None:
    """Return the last moment until ``until_ms`` at which it fires; None if it did not for ten years."""
    expression, zone, until_s = _expression(trigger), _zone_of(trigger), until_ms // 1000
    back_s = 60
    while (found_s := _next_s(expression, zone, until_s - back_s)) > until_s:
        if back_s > _LONGEST_LOOK_BACK_S:
            return None
        back_s *= 4
    low_s, high_s = until_s - back_s, until_s  # it fires after the first of them, and no more after the second
    while high_s - low_s > 1:
        middle_s = (low_s + high_s) // 2
        later_s = _next_s(expression, zone, middle_s)
        low_s, high_s, found_s = (middle_s, high_s, later_s) if later_s <= until_s else (low_s, middle_s, found_s)
    return found_s * 1000


def _next_s(expression: Expression, zone: ZoneInfo, after_s: int) -> int:
    found_s = (
        _hourly(expression, zone, after_s)
        if expression.names_every_hour
        else next_shown_s(expression.after, zone, after_s)
    )
    return END_MS // 1000 if found_s is None else found_s


def _zone_of(trigger: Trigger) -> ZoneInfo:
    """Return the time zone of a trigger, UTC by default.

    Raises
    ------
    InvalidInput : there is none of that name
    """
    return zone_named(trigger.timezone or "UTC", field=_ZONE_FIELD)


def _expression(trigger: Trigger) -> Expression:
    if trigger.cron_expression is not None:
        return parse_expression(trigger.cron_expression)
    if trigger.schedule_info is ScheduleFrequency.CUSTOM:
        raise InvalidInput("is missing; a Custom schedule needs one", field=FIELD)
    return parse_expression(_EXPRESSIONS[trigger.schedule_info or ScheduleFrequency.WEEKLY])


def _hourly(expression: Expression, zone: ZoneInfo, after_s: int) -> int | None:
    """Return the first time, counted on by the hours that pass."""
    known_s, offset_s = after_s, offset_of_s(after_s, zone)
    start = wall_at(after_s + offset_s)
    while (wall := next(expression.after(start), None)) is not None:
        found_s = seconds_of(wall) - offset_s
        if offset_of_s(found_s, zone) == offset_s:
            return found_s
        # The clocks change before that: go on from the change, by the offset that holds then.
        known_s = change_s(known_s, found_s, zone)
        offset_s = offset_of_s(known_s, zone)
        start = wall_at(known_s + offset_s - 1)
    return None
