"""Epilogue of a script: failures that last and changes that were announced, and weeks that pass.

The clock of the product's processes is set ahead (``truth/ahead``), in all ways at the same steps. Next:
``truth/passing_time.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from truth.alerts import AlertPeople
from truth.calls import CHECK_DAY
from truth.change_requests import DATE_DAYS
from truth.expected_state import ExpectedState
from truth.history import Key
from truth.steps import (
    ADMIN,
    Acknowledge,
    Announce,
    Answer,
    Change,
    Edge,
    Follow,
    Make,
    Remove,
    Report,
    Step,
    Wait,
)

WAITS = (8, CHECK_DAY, DATE_DAYS + 1, DATE_DAYS + 10)
"""Days since the start that are waited for: after a reminder, at the check, after the date of all requests, later."""

_KINDS = ("removal", "removal", "deprecation", "removal")
"""Of the first tables: gone on the date, gone although a follower objects, gone although deprecated, still there."""


def epilogue(
    world: ExpectedState, cast: AlertPeople, steps_to_contain: Callable[[Key], Iterator[Step]]
) -> Iterator[Step]:
    """Yield the steps after a history, about tables of a dataset; ``steps_to_contain`` makes what a table lies in."""
    tables = [("table", f"{cast.dataset}.last_{number}") for number in range(len(_KINDS) + 2)]
    yield from steps_to_contain(tables[0])
    for table in tables:
        yield Make(ADMIN, table, {})
    read, tests = tables[: len(_KINDS)], [("testCase", f"{table[1]}.lasting") for table in tables[-3:]]
    for test in tests:
        yield Make(ADMIN, test, {})
        yield Follow(ADMIN, cast.first, test, begins=True)
        yield Report(ADMIN, test, "Failed")
    yield Change(ADMIN, tables[-1], {"owners": [{"type": "team", "name": cast.group}]})
    for number, (table, kind) in enumerate(zip(read, _KINDS, strict=True), len(world.requests.by_name) + 1):
        yield Edge(ADMIN, table, tables[-1], is_there=True)
        yield Follow(ADMIN, cast.second, table, begins=True)
        yield Announce(ADMIN, f"CR-{number}", table, kind)
        if table == read[1]:
            yield Answer(cast.second, f"CR-{number}", "objects")
    yield Acknowledge(ADMIN, tests[0])
    reminder_days, check_days, date_days, last = WAITS
    yield Wait(reminder_days)
    yield from (Report(ADMIN, tests[1], status) for status in ("Success", "Failed"))  # fails, and is not stale
    yield Report(ADMIN, tests[-1], "Success")
    yield Wait(check_days)
    yield Wait(date_days)
    for table in read[:-1]:
        yield Remove(ADMIN, table, is_hard=True)
    yield Wait(last)
