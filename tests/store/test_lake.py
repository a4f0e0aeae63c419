"""Tests of segment commits: only segments read from the current log are accepted."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.losing import lose

from tocsin.flow.eventlog.lake import Segment
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog


def stage(lake: Lake, after: int, through: int) -> Segment:
    return Segment(lake.stage(after, through, now_ms=1), after, through, through - after, 1, 1)


@pytest.mark.parametrize("written_meanwhile", [0, 1, 5])
def test_nothing_of_another_log_is_kept(store_engine: Engine, written_meanwhile: int) -> None:
    company, lake, log = SmallCompany(store_engine), Lake(store_engine), EventLog(store_engine)
    end = log.readable_end()
    first, second = stage(lake, 0, end - 3), stage(lake, end - 3, end)
    assert lake.keep(first, end=log.position_at(end - 3), now_ms=1)
    position = log.position_at(end)
    lose(store_engine, end - 2)
    offered = log.position_at(end)
    for number in range(written_meanwhile):
        company.describe("orders", f"text {number}")
    assert not lake.keep(second, end=position, now_ms=1)
    assert not lake.keep(second, end=offered, now_ms=1), "it would end beyond the log, or hold less than that does"
    assert lake.end() == end - 3


def test_the_lake_begins_again_at_the_first_segment_whose_files_are_missing(store_engine: Engine) -> None:
    lake = Lake(store_engine)
    segments = [stage(lake, after, after + 5) for after in (0, 5, 10, 15)]
    assert all(lake.keep(one, now_ms=1) for one in segments)
    assert lake.retire_missing(lambda one: one != segments[2].id, now_ms=2) == 2
    assert (lake.end(), lake.leftovers(before_ms=3)) == (10, sorted([segments[2].id, segments[3].id]))
    assert lake.retire_missing(lambda _: True, now_ms=3) == 0
