"""Tests of lake steps and of the decision to merge segments."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.eventlog.lake import SMALL_SEGMENTS, Extent, Segment, Window, worth_merging

DAY_MS = 86_400_000


def lake(*counts: int) -> tuple[Segment, ...]:
    ends = [sum(counts[: at + 1]) for at in range(len(counts))]
    return tuple(
        Segment(str(at), end - count, end, count, at * DAY_MS, (at + 1) * DAY_MS - 1)
        for at, (end, count) in enumerate(zip(ends, counts, strict=True))
    )


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(0, 60), st.integers(1, 40))
def test_steps_cover_every_offset_once_and_count_every_event(counts: list[int], logged: int, step_size: int) -> None:
    extent = Extent(lake(*counts), sum(counts) + logged)
    steps = list(extent.steps(Window(), step_size))
    covered = [offset for step in steps for offset in range(step.after + 1, step.through + 1)]
    assert covered == list(range(1, extent.log_end + 1))
    assert sum(step.event_count for step in steps) == extent.log_end
    for step in steps:
        offsets = {one for segment in step.segments for one in range(segment.after + 1, segment.through + 1)}
        assert not step.segments or offsets >= set(range(step.after + 1, step.through + 1))


def test_a_window_leaves_out_segments_that_hold_nothing_of_it() -> None:
    extent = Extent(lake(5, 5, 5), 15)
    steps = list(extent.steps(Window(since_ms=DAY_MS, until_ms=2 * DAY_MS - 1), 100))
    assert [(step.after, step.through) for step in steps] == [(5, 10)]


def test_many_small_segments_are_worth_merging_and_large_ones_are_left_alone() -> None:
    assert worth_merging(lake(*[10] * (SMALL_SEGMENTS - 1)), 1_000) == ()
    assert worth_merging(lake(*[10] * SMALL_SEGMENTS), 1_000) == lake(*[10] * SMALL_SEGMENTS)
    grown = lake(1_000, *[10] * SMALL_SEGMENTS)
    assert worth_merging(grown, 1_000) == grown[1:]
    assert worth_merging(lake(500, *[10] * SMALL_SEGMENTS), 1_000)[0].event_count == 10


def test_small_segments_of_older_days_between_large_ones_are_merged_the_newest_of_them_first() -> None:
    old = lake(10, 20, 1_000, 5, 1_000, 10, 20, 30, 1_000, 10)
    assert worth_merging(old, 1_000) == old[5:8]
    assert worth_merging(old[:5], 1_000) == old[:2]
    assert worth_merging(old[2:5], 1_000) == ()


@given(st.lists(st.integers(1, 120), max_size=40))
def test_merging_ends_and_leaves_no_two_small_segments_beside_each_other_further_back(counts: list[int]) -> None:
    full, segments, rewritten = 100, list(lake(*counts)), 0
    while small := worth_merging(segments, full):
        at = segments.index(small[0])
        assert tuple(segments[at : at + len(small)]) == small
        assert sum(one.event_count for one in small) <= 2 * full
        rewritten += sum(one.event_count for one in small)
        merged = Segment("m", small[0].after, small[-1].through, sum(one.event_count for one in small), 0, 0)
        segments[at : at + len(small)] = [merged]
    assert rewritten <= 8 * sum(counts)
    last_full = max((at for at, one in enumerate(segments) if one.event_count >= full), default=0)
    older = segments[:last_full]
    assert not [pair for pair in pairwise(older) if sum(one.event_count for one in pair) <= full]
