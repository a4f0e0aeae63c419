"""Epilogue of a script: failures that last and changes that were announced, and weeks that pass.

The clock of the product's processes is set ahead (``truth/ahead``), in all ways at the same steps. Next:
``truth/passing_time.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truth.alerts import AlertPeople
from truth.calls import CHECK_DAY
from truth.change_requests import DATE_DAYS
from truth.expected_state import ExpectedState
from truth.history import Key
from truth.steps import ADMIN, Acknowledge, Announce, Answer, Follow, Make, Remove, Report, Step, Wait

WAITS = (8, CHECK_DAY, DATE_DAYS + 1, DATE_DAYS + 10)
"""Days since the start that are waited for: after a reminder, at the check, after the date of all requests, later."""

_KINDS = ("removal", "removal", "deprecation", "removal")
"""Of the tables: gone on the date, gone although a follower objects, gone although deprecated, still there."""


def epilogue(world: ExpectedState, cast: AlertPeople, tables: Sequence[Key]) -> Iterator[Step]:
    """Yield the steps after a history; ``tables`` are those that everybody may see."""
    tests = [("testCase", f"{table[1]}.lasting") for table in tables[:3]]
    for test in tests:
        yield Make(ADMIN, test, {})
        yield Follow(ADMIN, cast.first, test, begins=True)
        yield Report(ADMIN, test, "Failed")
    awaited = {one.about for one in world.requests.requests_to_come().values()}
    announced = list(zip([one for one in tables if one not in awaited][-4:], _KINDS, strict=False))
    for number, (table, kind) in enumerate(announced):
        yield from _announce(world, cast, table, kind, is_objected=number == 1)
    yield Acknowledge(ADMIN, tests[0])
    reminded, checked, dated, last = WAITS
    yield Wait(reminded)
    yield Report(ADMIN, tests[-1], "Success")
    yield Wait(checked)
    yield Wait(dated)
    for table, _ in announced[:3]:
        yield Remove(ADMIN, table, is_hard=True)
    yield Wait(last)


def _announce(world: ExpectedState, cast: AlertPeople, table: Key, kind: str, *, is_objected: bool) -> Iterator[Step]:
    if cast.second not in world.entities[table].followers:
        yield Follow(ADMIN, cast.second, table, begins=True)
    name = f"CR-{len(world.requests.by_name) + 1}"
    yield Announce(ADMIN, name, table, kind)
    if is_objected:
        yield Answer(cast.second, name, "objects")
