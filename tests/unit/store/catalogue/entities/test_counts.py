"""Tests of when a total is counted again."""

from __future__ import annotations

from tocsin.store.catalogue.entities.counts import LARGE, Totals


class Counting:
    def __init__(self, total: int) -> None:
        self.total, self.counts, self.now_s = total, 0, 100.0

    def read_s(self) -> float:
        return self.now_s

    def count(self) -> int:
        self.counts += 1
        self.now_s += 0.04
        return self.total


def test_a_small_total_is_always_counted() -> None:
    counting = Counting(LARGE - 1)
    totals = Totals(counting.read_s)
    assert [totals.of("all", counting.count) for _ in range(3)] == [LARGE - 1] * 3
    assert counting.counts == 3


def test_a_large_total_is_trusted_for_twenty_times_as_long_as_it_took() -> None:
    counting = Counting(LARGE)
    totals = Totals(counting.read_s)
    assert totals.of("all", counting.count) == LARGE
    counting.total += 1
    counting.now_s += 0.79
    assert totals.of("all", counting.count) == LARGE
    assert totals.of("others", counting.count) == LARGE + 1
    counting.now_s += 0.02
    assert totals.of("all", counting.count) == LARGE + 1
    assert counting.counts == 3
