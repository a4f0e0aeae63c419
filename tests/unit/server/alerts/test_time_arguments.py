"""Tests of how earlier states of the history are named."""

from __future__ import annotations

import pytest

from tocsin.errors import InvalidInput
from tocsin.flow.eventlog.lake import Cut
from tocsin.server.alerts.time_arguments import history_cut

NOW_MS = 1_790_000_000_000


@pytest.mark.parametrize(
    ("value", "cut"),
    [
        ("0", Cut(through=0)),
        ("2052", Cut(through=2052)),
        (2052, Cut(through=2052)),
        ("999999999999", Cut(through=999_999_999_999)),
        ("1780000000000", Cut(until_ms=1_780_000_000_000)),
        (1_780_000_000_000, Cut(until_ms=1_780_000_000_000)),
        ("2026-01-31", Cut(until_ms=1_769_817_600_000)),
        ("2026-01-31T12:00+01:00", Cut(until_ms=1_769_857_200_000)),
        ("1d", Cut(until_ms=NOW_MS - 86_400_000)),
    ],
)
def test_an_earlier_state_is_an_offset_or_a_moment(value: object, cut: Cut) -> None:
    assert history_cut(value, "at", NOW_MS) == cut


@pytest.mark.parametrize(
    "value", ["", "-1", "yesterday", "2026-13-01", True, None, 1.5, "0x10", "٢", [], "9" * 17, "1e3"]
)
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="must be an offset of the log"):
        history_cut(value, "at", NOW_MS)


def test_what_is_still_to_come_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must not be in the future"):
        history_cut("2030-01-01", "at", NOW_MS)
