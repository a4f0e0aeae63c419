"""Tests of how tasks share the incidents to remind of."""

from __future__ import annotations

import pytest

from tocsin.jobs.reminders import shares_of
from tocsin.store.catalogue.alerts.reminders import Numbers


@pytest.mark.parametrize(
    ("last", "expected_count"), [(7, 1), (506, 1), (507, 2), (1_006, 2), (64 * 500 + 6, 64), (1_000_000, 64)]
)
def test_tasks_share_all_numbers_and_are_few(last: int, expected_count: int) -> None:
    shares = shares_of(Numbers(7, last))
    assert len(shares) == expected_count
    assert [number for share in shares for number in range(share.first, share.last + 1)] == list(range(7, last + 1))
