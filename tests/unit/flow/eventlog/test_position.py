"""Tests of log positions: recognized in their own log only."""

from __future__ import annotations

import pytest

from tocsin.flow.eventlog.position import BEGINNING, LogPosition


@pytest.mark.parametrize("position", [BEGINNING, LogPosition(7), LogPosition(7, "an-event")])
def test_a_position_that_was_noted_is_read_again(position: LogPosition) -> None:
    assert LogPosition.of_json(position.to_json()) == position


@pytest.mark.parametrize("noted", [{}, {"offset": "far"}, {"event": "e"}])
def test_what_is_no_position_is_refused(noted: dict[str, object]) -> None:
    with pytest.raises((KeyError, ValueError)):
        LogPosition.of_json(noted)


def test_a_position_with_an_event_is_known_by_that_event() -> None:
    position = LogPosition(7, "an-event")
    assert position.is_in(9, "an-event")
    assert not position.is_in(9, "another")
    assert not position.is_in(9, None)


def test_a_position_without_an_event_is_known_by_the_length_of_the_log() -> None:
    assert LogPosition(7).is_in(7, "whichever")
    assert not LogPosition(7).is_in(6, "whichever")
