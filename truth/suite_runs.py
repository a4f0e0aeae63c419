"""Runs of test suites as they should be: which report is the last of one.

A run ends when every live test of a table has reported since the end of the run before. Reports are numbered as they
come, because each is of the moment at which it is sent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from truth.history import Key

RUN = "testSuiteRunCompleted"
"""Type of the event of a run; alerts match it only if they name it, and none of the script does."""

_MOST_AT_ONCE = 100
"""Runs that one report may complete; where a silent test kept more from being complete, the suite starts anew."""


class SuiteRuns:
    """The reports of all tests, by their numbers, and the end of the last run of each suite."""

    def __init__(self) -> None:
        self._count = 0
        self._reports: dict[Key, list[int]] = defaultdict(list)
        self._ends: dict[Key, int] = defaultdict(int)

    def completes(self, suite: Key, tests: Collection[Key], test: Key) -> bool:
        """Say whether the next report, of ``test``, is the last of a run of these tests."""
        ends = self._ends_with(suite, tests, test)
        return 0 < len(ends) <= _MOST_AT_ONCE and ends[-1] == self._count + 1

    def report(self, suite: Key, tests: Collection[Key], test: Key) -> None:
        """Take note of the next report."""
        ends = self._ends_with(suite, tests, test)
        self._count += 1
        self._reports[test].append(self._count)
        if len(ends) > _MOST_AT_ONCE:
            self._ends[suite] = self._count - 1
        elif ends:
            self._ends[suite] = ends[-1]

    def forget(self, key: Key) -> None:
        """Take note that a test or a suite is gone for good."""
        self._reports.pop(key, None)
        self._ends.pop(key, None)

    def _ends_with(self, suite: Key, tests: Collection[Key], test: Key) -> Sequence[int]:
        """Return the ends of the runs that are complete with the next report, one more than may be told at most."""
        numbers = {one: self._reports.get(one, []) for one in tests}
        numbers[test] = [*numbers[test], self._count + 1]

        def ends() -> Iterator[int]:
            after = self._ends.get(suite, 0)
            while firsts := _firsts(numbers.values(), after):
                yield (after := max(firsts))

        return list(islice(ends(), _MOST_AT_ONCE + 1))


def _firsts(reports: Collection[Sequence[int]], after: int) -> list[int]:
    """Return the first report of each test after one; nothing where a test has none."""
    firsts = [next((number for number in numbers if number > after), 0) for numbers in reports]
    return firsts if all(firsts) else []
