"""Times of scheduled triggers, in UTC: cron expressions, Quartz's with six or seven fields and Unix's with five.

Quartz counts weekdays from Sunday = 1, cronsim and Unix from Sunday = 0: they are translated first.
Source: seeds/001 ``trigger``, Quartz's ``CronExpression``. Next: ``flow/schedule/decide.py``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from cronsim import CronSim, CronSimError

from tocsin.errors import InvalidInput
from tocsin.model.subscription import Rhythm, Trigger

_EXPRESSIONS = {
    Rhythm.DAILY: "0 0 * * *",
    Rhythm.WEEKLY: "0 0 * * 1",
    Rhythm.MONTHLY: "0 0 1 * *",
}
"""At midnight, of weeks on Monday and of months on the first day."""

_WEEKDAY = re.compile(r"(?<![#/\d])([1-7])(?!\d)")
_UNIX_FIELDS, _QUARTZ_FIELDS = 5, (6, 7)


@lru_cache(maxsize=1_024)
def next_time_ms(trigger: Trigger, after_ms: int) -> int:
    """Return the first moment after ``after_ms`` at which a scheduled trigger fires (epoch milliseconds).

    Raises
    ------
    InvalidInput : the trigger has no expression, or one that is wrong or never true
    """
    try:
        found = next(CronSim(_expression(trigger), datetime.fromtimestamp(after_ms / 1000, UTC)))
    except CronSimError as error:
        raise InvalidInput(f"is not a cron expression: {error}", field="trigger.cronExpression") from error
    except StopIteration:
        raise InvalidInput("never comes true", field="trigger.cronExpression") from None
    return round(found.timestamp() * 1000)


def _expression(trigger: Trigger) -> str:
    if trigger.cron_expression is not None:
        return _translated(trigger.cron_expression)
    if trigger.schedule_info is Rhythm.CUSTOM:
        raise InvalidInput("is missing; a Custom schedule needs one", field="trigger.cronExpression")
    return _EXPRESSIONS[trigger.schedule_info or Rhythm.WEEKLY]


def _translated(expression: str) -> str:
    """Return an expression as cronsim reads it."""
    fields = expression.split()
    if len(fields) not in _QUARTZ_FIELDS:
        return expression
    *times, weekday = fields[:6]
    if fields[6:] not in ([], ["*"]):
        raise InvalidInput("has a year; only * is supported there", field="trigger.cronExpression")
    if weekday == "L":
        weekday = "7"
    weekday = _WEEKDAY.sub(lambda day: str(int(day[1]) - 1), weekday)
    return " ".join("*" if one == "?" else one for one in (*times, weekday))
