"""Tests of filtered pages: few reads however little is shown, and each visible entry on one page, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tocsin.server.access.pages import Read, visible_page
from tocsin.store.database.page_bytes import BoundedList

Show = Callable[[Sequence[int]], list[int | None]]


class Numbers:
    """A log of the numbers up to ``length``; notes how many are read at a time."""

    def __init__(self, length: int) -> None:
        self._length = length
        self.counts: list[int] = []

    def read(self, last: int | None, count: int) -> BoundedList[int]:
        self.counts.append(count)
        first = 0 if last is None else last + 1
        return BoundedList(range(first, min(first + count, self._length)))


def show_each(divisor: int) -> Show:
    return lambda entries: [one if one % divisor == divisor - 1 else None for one in entries]


def show_nothing(entries: Sequence[int]) -> list[int | None]:
    return [None for _ in entries]


def read_all(numbers: Numbers, show: Show, limit: int) -> list[int]:
    """Return what all pages show, each read from where the one before ended."""
    shown_numbers: list[int] = []
    page: Read[int] = Read([], None, has_more=True)

    def read(last: int | None, count: int) -> BoundedList[int]:
        return numbers.read(page.last if last is None else last, count)

    while page.has_more:
        page = visible_page(read, show, limit)
        shown_numbers += page.entries
    return shown_numbers


def test_a_page_of_one_entry_that_shows_nothing_takes_few_reads_and_says_where_it_ended() -> None:
    numbers = Numbers(100_000)
    page = visible_page(numbers.read, show_nothing, 1)
    assert page == Read([], 19_999, has_more=True)
    assert numbers.counts[:4] == [1, 2, 4, 8]
    assert len(numbers.counts) <= 30


@pytest.mark.parametrize("limit", [1, 7, 1_000])
@pytest.mark.parametrize("divisor", [1, 2, 300])
def test_each_visible_entry_is_on_one_page(limit: int, divisor: int) -> None:
    assert read_all(Numbers(5_000), show_each(divisor), limit) == list(range(divisor - 1, 5_000, divisor))


def test_no_more_is_looked_at_than_one_request_may() -> None:
    numbers = Numbers(100_000)
    page = visible_page(numbers.read, show_nothing, 20, at_once=500, limit_read=2_000)
    assert (page.last, numbers.counts) == (1_999, [500, 1_000, 500])


def test_what_is_too_large_for_a_page_ends_it() -> None:
    def read(last: int | None, count: int) -> BoundedList[int]:
        entries: BoundedList[int] = Numbers(100).read(last, min(count, 3))
        entries.is_cut = True
        return entries

    assert visible_page(read, show_each(1), 5) == Read([0, 1, 2], 2, has_more=True)
