"""Times at which scheduled alerts may ask for the state of assets: one in an hour at most.

A check writes an event for each asset that it finds, so an alert that asks every minute would fill the log. Why:
docs/decisions/0192-a-check-is-bounded.md. Next: ``jobs/scheduled_checks.py``.
"""

from __future__ import annotations

from itertools import pairwise

from tocsin.errors import InvalidInput
from tocsin.flow.schedule.cron import last_time_ms, next_time_ms
from tocsin.flow.schedule.expression import FIELD
from tocsin.model.subscription import Trigger

SHORTEST_MS = 3_600_000
"""Between two checks of a schedule, in milliseconds."""

_TIMES_COMPARED = 100


def check_spacing(trigger: Trigger) -> None:
    """Refuse a schedule that comes more often than checks may.

    Raises
    ------
    InvalidInput : two of its times lie less than an hour apart
    """
    times_ms = [next_time_ms(trigger, 0)]
    while len(times_ms) < _TIMES_COMPARED:
        times_ms.append(next_time_ms(trigger, times_ms[-1]))
    if any(0 < after_ms - before_ms < SHORTEST_MS for before_ms, after_ms in pairwise(times_ms)):
        raise InvalidInput(
            "asks for the state of assets more often than once an hour: choose times at least an hour apart; to be told"
            " when a state begins, use firstFailure(), noSuccessFor('6h') or fieldChanged",
            field=FIELD,
        )


def last_check_ms(trigger: Trigger, until_ms: int) -> int | None:
    """Return the last moment until ``until_ms`` at which a scheduled trigger asks for the state of assets; None: none.

    Of the times of a trigger from before ``check_spacing`` that lie in the same hour, the first is one.
    """
    due_at_ms = last_time_ms(trigger, until_ms)
    return None if due_at_ms is None else next_time_ms(trigger, due_at_ms - due_at_ms % SHORTEST_MS - 1)
