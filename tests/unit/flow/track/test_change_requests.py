"""Tests of the state machine of change requests: generated sequences of what people do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.track.change_requests import (
    LONGEST_NOTICE_MS,
    check_date,
    check_open,
    coming_reminder_ms,
    deprecate,
    end_with_asset,
    is_awaited,
    is_reminder_due,
    move,
    next_reminder_ms,
    remind,
    status_at,
    withdraw,
)
from tocsin.model.change_request import AnnouncedChange, ChangeKind, RequestStatus, number_in

_REQUEST = AnnouncedChange(
    id="r",
    entity_id="e",
    entity_type="table",
    kind=ChangeKind.REMOVAL,
    due_at_ms=1_000,
    why="unused",
    author_id="a",
    author_name="ann",
    announced_at_ms=0,
    updated_at_ms=0,
    number=12,
    remind_every_days=1,
    remind_at_ms=400,
)
DAY_MS = 86_400_000
_ACT = st.sampled_from(("move", "withdraw", "answer", "change", "remind", "deprecate", "end with asset"))
_PAUSE_MS = st.sampled_from((0, 1, 300, 400, 600, 999, 1_000))
"""Pauses after which dates and reminders have come, often just so."""

_ACTS = st.lists(st.tuples(_ACT, _PAUSE_MS, st.sampled_from((0, 999, 1_000, 1_001, 1_500, 3_000))), max_size=12)
_OPEN = (RequestStatus.ANNOUNCED, RequestStatus.DUE)
_STATUSES = {
    "move": _OPEN,
    "withdraw": _OPEN,
    "end with asset": _OPEN,
    "answer": (RequestStatus.ANNOUNCED,),
    "remind": (RequestStatus.ANNOUNCED,),
    "deprecate": (RequestStatus.DUE,),
}
"""The statuses in which each act is possible; a change that was made may be found in all."""

_ENDS = {
    "withdraw": RequestStatus.WITHDRAWN,
    "end with asset": RequestStatus.DONE,
    "deprecate": RequestStatus.DONE,
    "move": RequestStatus.ANNOUNCED,
}


def after_act(act: str, before: AnnouncedChange, date_ms: int, at_ms: int) -> AnnouncedChange:
    """Return what an act makes of a request; raise where it is refused."""
    match act:
        case "move":
            return move(before, date_ms, at_ms)
        case "withdraw":
            return withdraw(before, at_ms)
        case "remind":
            return remind(before, at_ms)
        case "deprecate":
            return deprecate(before, at_ms)
        case "end with asset":
            return end_with_asset(before, at_ms)
        case "change":
            return before if before.withdrawn_at_ms else replace(before, done_at_ms=at_ms)
        case _:
            check_open(before, at_ms)
            return before


def is_possible(act: str, before: AnnouncedChange, date_ms: int, at_ms: int) -> bool:
    """Return whether an act may be done to a request, by what the documentation says."""
    has_status = act == "change" or status_at(before, at_ms) in _STATUSES[act]
    match act:
        case "move":
            return has_status and date_ms > at_ms and date_ms >= before.due_at_ms
        case "remind":
            return has_status and before.remind_at_ms is not None and before.remind_at_ms <= at_ms
        case "deprecate":
            return has_status and before.kind is ChangeKind.DEPRECATION
        case _:
            return has_status


@given(_ACTS, st.sampled_from((ChangeKind.REMOVAL, ChangeKind.DEPRECATION)))
@example([("answer", 1_000, 0)], ChangeKind.REMOVAL)
@example([("withdraw", 0, 0), ("end with asset", 0, 0)], ChangeKind.REMOVAL)
@example([("deprecate", 999, 0), ("deprecate", 1, 0), ("withdraw", 0, 0)], ChangeKind.DEPRECATION)
def test_whatever_people_do_only_what_its_status_allows_happens_and_it_ends_once(
    acts: list[tuple[str, int, int]], kind: ChangeKind
) -> None:
    request, at_ms = replace(_REQUEST, kind=kind), 0
    for act, pause_ms, date_ms in acts:
        before, at_ms = request, at_ms + pause_ms
        is_taken = True
        try:
            request = after_act(act, before, date_ms, at_ms)
        except (Conflict, InvalidInput):
            is_taken = False
        assert is_taken == is_possible(act, before, date_ms, at_ms)
        assert request.due_at_ms >= before.due_at_ms, "a date moves only later"
        if is_taken and act in _ENDS:
            assert status_at(request, at_ms) is _ENDS[act]
        if act == "remind":
            assert not is_reminder_due(request, at_ms), "it happens once"


def test_reminders_come_at_their_intervals_and_those_missed_are_one() -> None:
    request = replace(_REQUEST, due_at_ms=100 * DAY_MS, remind_every_days=7)
    request = replace(request, remind_at_ms=next_reminder_ms(request, 0))
    assert [is_reminder_due(request, at_ms) for at_ms in (7 * DAY_MS - 1, 7 * DAY_MS)] == [False, True]
    assert remind(request, 30 * DAY_MS).remind_at_ms == 37 * DAY_MS
    moved = move(request, 101 * DAY_MS, 5 * DAY_MS)
    assert moved.remind_at_ms == 12 * DAY_MS, "who hears that it is moved needs no reminder at once"
    assert not is_reminder_due(request, 100 * DAY_MS)
    by_a_clock_ahead = replace(request, remind_at_ms=50 * DAY_MS)
    assert [is_reminder_due(by_a_clock_ahead, at * DAY_MS) for at in (36, 37, 49)] == [True, False, False]
    assert not is_reminder_due(withdraw(request, 1), 7 * DAY_MS)
    assert next_reminder_ms(replace(request, remind_every_days=0), 0) is None


@pytest.mark.parametrize(
    ("fields", "at_ms", "expected_ms"),
    [
        ({}, 0, 400),
        ({}, 500, 400),  # nothing ran: it is late
        ({}, 1_000, None),
        ({"remind_at_ms": 1_000}, 0, None),
        ({"remind_at_ms": None}, 0, None),
        ({"withdrawn_at_ms": 1}, 2, None),
        ({"done_at_ms": 1}, 2, None),
    ],
)
def test_no_reminder_is_to_come_of_what_has_ended_or_will_have_by_then(
    fields: dict[str, Any], at_ms: int, expected_ms: int | None
) -> None:
    assert coming_reminder_ms(replace(_REQUEST, **fields), at_ms) == expected_ms


@given(st.integers(0, 2_000), st.integers(0, 2_000))
def test_a_request_is_announced_until_its_date_and_then_due(due_at_ms: int, at_ms: int) -> None:
    status = status_at(replace(_REQUEST, due_at_ms=due_at_ms), at_ms)
    assert status is (RequestStatus.ANNOUNCED if at_ms < due_at_ms else RequestStatus.DUE)


def test_a_date_is_ahead_and_at_most_three_years() -> None:
    for date_ms in (1, LONGEST_NOTICE_MS):
        check_date(date_ms, 0)
    for date_ms in (0, LONGEST_NOTICE_MS + 1):
        with pytest.raises(InvalidInput, match="in the future, at most three years"):
            check_date(date_ms, 0)


def test_names_hold_the_number() -> None:
    assert [number_in(one) for one in ("CR-12", "cr-1", "CR-0", "INC-1", "CR-1x")] == [12, 1, None, None, None]
    assert _REQUEST.name == "CR-12"


@pytest.mark.parametrize(
    ("fields", "at_ms", "expected"),
    [
        ({}, 0, True),
        ({}, 1_000, True),
        ({"kind": ChangeKind.DEPRECATION}, 0, True),
        ({"kind": ChangeKind.DEPRECATION}, 1_000, False),
        ({"withdrawn_at_ms": 1}, 1_000, False),
        ({"done_at_ms": 1}, 1_000, False),
    ],
)
def test_a_change_is_awaited_until_it_is_made_and_a_deprecation_until_its_date(
    fields: dict[str, Any], at_ms: int, expected: bool
) -> None:
    assert is_awaited(replace(_REQUEST, **fields), at_ms) is expected
