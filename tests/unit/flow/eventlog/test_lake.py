"""Do steps cover the history once, and is merging worth it?"""

from __future__ import annotations

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
def test_steps_cover_every_offset_once_and_count_every_event(counts: list[int], logged: int, most: int) -> None:
    extent = Extent(lake(*counts), sum(counts) + logged)
    steps = list(extent.steps(Window(), most))
    covered = [offset for step in steps for offset in range(step.after + 1, step.through + 1)]
    assert covered == list(range(1, extent.log_end + 1))
    assert sum(step.event_count for step in steps) == extent.log_end
    for step in steps:
        held = {one for segment in step.segments for one in range(segment.after + 1, segment.through + 1)}
        assert not step.segments or held >= set(range(step.after + 1, step.through + 1))


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
