"""Tests of the state machine of change requests: generated sequences of what people do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.errors import Conflict, InvalidInput
from tocsin.flow.track.change_requests import (
    LONGEST_NOTICE_MS,
    check_date,
    check_open,
    coming_reminder_ms,
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
_ACT = st.sampled_from(("move", "withdraw", "answer", "change", "remind"))
_ACTS = st.lists(st.tuples(_ACT, st.integers(0, 500), st.integers(0, 3_000)))


def after_act(act: str, before: AnnouncedChange, date_ms: int, at_ms: int) -> AnnouncedChange:
    """Return what an act makes of a request; raise where it is refused."""
    if act == "move":
        return move(before, date_ms, at_ms)
    if act == "withdraw":
        return withdraw(before, at_ms)
    if act == "remind":
        return remind(before, at_ms)
    if act == "change":
        return before if before.withdrawn_at_ms else replace(before, done_at_ms=at_ms)
    check_open(before, at_ms)
    return before


@given(_ACTS)
def test_whatever_people_do_a_date_moves_only_later_and_what_is_withdrawn_or_done_stays_so(
    acts: list[tuple[str, int, int]],
) -> None:
    request, at_ms = _REQUEST, 0
    for act, pause_ms, date_ms in acts:
        before, at_ms = request, at_ms + pause_ms
        status = status_at(before, at_ms)
        is_open = True
        try:
            request = after_act(act, before, date_ms, at_ms)
        except (Conflict, InvalidInput):
            is_open = False
        assert request.due_at_ms >= before.due_at_ms
        if status in (RequestStatus.WITHDRAWN, RequestStatus.DONE) and act != "change":
            assert (request, is_open) == (before, False)
        if act == "answer":
            assert is_open == (status is RequestStatus.ANNOUNCED)
        if act == "withdraw" and is_open:
            assert status_at(request, at_ms) is RequestStatus.WITHDRAWN
        if act == "remind":
            is_due = before.remind_at_ms is not None and before.remind_at_ms <= at_ms
            assert is_open == (is_due and status is RequestStatus.ANNOUNCED)
            assert not is_reminder_due(request, at_ms), "it happens once"
        if act == "move" and is_open:
            assert status_at(request, at_ms) is RequestStatus.ANNOUNCED


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
