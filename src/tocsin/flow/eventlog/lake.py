"""Segments of the lake: contiguous parts of the log, kept as Parquet, and the selection a reader needs.

The lake is complete up to its end; later events are only in the log, so nothing is read twice.
``store/eventlog/lake.py`` stores the segments' metadata, ``spark/lake.py`` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SMALL_SEGMENTS = 8
"""So many segments in a row that are small and alike are worth merging."""


@dataclass(frozen=True)
class Segment:
    """One folder of the lake: the events above offset ``after``, up to and including ``through``.

    ``first_ms`` and ``last_ms`` are the times of its earliest and its latest event (epoch milliseconds).
    """

    id: str
    after: int
    through: int
    event_count: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True)
class Window:
    """Time window of events: epoch milliseconds, both inclusive; None for no limit."""

    since_ms: int | None = None
    until_ms: int | None = None

    def meets(self, segment: Segment) -> bool:
        """Return whether ``segment`` may hold some of them."""
        return self.meets_times(segment.first_ms, segment.last_ms)

    def meets_times(self, first_ms: int, last_ms: int) -> bool:
        """Return whether it has a moment in common with the time from one moment to another."""
        is_early = self.since_ms is not None and last_ms < self.since_ms
        is_late = self.until_ms is not None and first_ms > self.until_ms
        return not (is_early or is_late)

    def covers(self, segment: Segment) -> bool:
        """Return whether it holds all of ``segment``."""
        has_begun = self.since_ms is None or self.since_ms <= segment.first_ms
        return has_begun and (self.until_ms is None or segment.last_ms <= self.until_ms)


ALWAYS = Window()


@dataclass(frozen=True)
class Cut:
    """End of the history as of an earlier state: its last offset, or the time of its latest events (epoch ms).

    ``since_ms`` leaves out what happened before. All are inclusive; None for no limit.
    """

    through: int | None = None
    until_ms: int | None = None
    since_ms: int | None = None


UNCUT = Cut()


@dataclass(frozen=True)
class ReadingStep:
    """One part of a long reading: offsets above ``after``, through ``through``; of ``segments``, or else of the log."""

    segments: tuple[Segment, ...]
    after: int
    through: int
    event_count: int


@dataclass(frozen=True)
class Extent:
    """The whole history at one moment: the lake, and the log from the lake's end to ``log_end``."""

    segments: tuple[Segment, ...]
    log_end: int

    @property
    def lake_end(self) -> int:
        """Return the offset up to which the lake is complete; 0 when there is none."""
        return self.segments[-1].through if self.segments else 0

    def steps(self, window: Window, most_events: int) -> Iterator[ReadingStep]:
        """Yield what must be read for ``window``, in the order of the log, about ``most_events`` events at a time."""
        together: list[Segment] = []
        for segment in filter(window.meets, self.segments):
            if together and (
                _count(together) + segment.event_count > most_events or together[-1].through != segment.after
            ):
                yield from _cut(together, most_events)
                together = []
            together.append(segment)
        yield from _cut(together, most_events)
        for after, through in _ranges(self.lake_end, self.log_end, most_events):
            yield ReadingStep((), after, through, through - after)


def worth_merging(segments: Sequence[Segment], full: int) -> tuple[Segment, ...]:
    """Return adjacent segments that should be merged, oldest first; none when there are none such.

    Only segments of fewer than ``full`` events count. Of the newest, which will be followed by more, it takes several
    and none larger than all after it together: so an event is rewritten a few times in its life, not once per merge.
    Older ones, enclosed by full ones, will not become more: any two of them are merged, the newest first.
    """
    *older, newest = _runs(segments, full)
    while newest and newest[0].event_count > _count(newest[1:]):
        newest.pop(0)
    if len(newest) >= SMALL_SEGMENTS:
        return tuple(newest)
    return next((tuple(run) for run in reversed(older) if len(run) > 1), ())


def _runs(segments: Sequence[Segment], full: int) -> list[list[Segment]]:
    """Return the segments that are not full in runs that may be merged, none above twice ``full``; the newest last.

    The last run is there even if it is empty, and reaches as far back as it may.
    """
    runs: list[list[Segment]] = [[]]
    for segment in reversed(segments):
        if segment.event_count >= full:
            runs.append([])
            continue
        if _count(runs[-1]) + segment.event_count > 2 * full:
            runs.append([])
        runs[-1].insert(0, segment)
    return runs[::-1]


def _cut(together: Sequence[Segment], most_events: int) -> Iterator[ReadingStep]:
    """Yield the steps through segments that are read together: a large one takes several."""
    if not together:
        return
    count = _count(together)
    parts = max(1, -(-count // most_events))
    start, end = together[0].after, together[-1].through
    width = -(-(end - start) // parts)
    ranges = list(_ranges(start, end, width))
    for number, (after, through) in enumerate(ranges):
        share = count * (number + 1) // len(ranges) - count * number // len(ranges)
        met = tuple(one for one in together if one.after < through and one.through > after)
        yield ReadingStep(met, after, through, share)


def _ranges(start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    return pairwise([*range(start, end, max(width, 1)), end]) if end > start else iter(())


def _count(segments: Sequence[Segment]) -> int:
    return sum(segment.event_count for segment in segments)
