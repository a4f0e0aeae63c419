"""Tests of the comparison of two trees."""

from __future__ import annotations

import pytest
from bench.compare import Comparison, Row, compare

RATE = Row("api", "single writes", "writes/s")
TIME = Row("latency", "commit to inbox, p50", "ms")


@pytest.mark.parametrize(
    ("row", "speeds_here", "speeds_there", "speed", "verdict"),
    [
        (RATE, (220, 198, 231), (200, 180, 210), 1.1, "no difference"),
        (RATE, (230, 220, 231), (200, 180, 210), 1.15, "better"),
        (RATE, (90, 80, 100), (200, 180, 210), 0.45, "worse"),
        (TIME, (90, 80, 100), (180, 160, 200), 2.0, "better"),
        (TIME, (180, 160, 200), (90, 80, 100), 0.5, "worse"),
        (TIME, (100, 100, 100), (100, 100, 100), 1.0, "no difference"),
    ],
)
def test_only_a_tree_whose_every_figure_is_better_is_better(
    row: Row, speeds_here: tuple[float, ...], speeds_there: tuple[float, ...], speed: float, verdict: str
) -> None:
    (comparison,) = compare(
        [({row: at_here}, {row: at_there}) for at_here, at_there in zip(speeds_here, speeds_there, strict=True)]
    )
    assert sorted(comparison.speeds)[1] == pytest.approx(speed)
    assert comparison.verdict == verdict


def test_speeds_are_of_the_same_round() -> None:
    assert Comparison(RATE, figures_here=(100, 10, 1), figures_there=(200, 20, 2)).speeds == [0.5, 0.5, 0.5]


def test_rows_that_a_tree_lacks_in_a_round_or_that_are_0_are_left_out() -> None:
    assert compare([({RATE: 1.0, TIME: 1.0}, {RATE: 1.0}), ({RATE: 1.0, TIME: 1.0}, {TIME: 1.0})]) == []
    assert compare([({RATE: 0.0, TIME: 1.0}, {RATE: 1.0, TIME: 0.0})]) == []
