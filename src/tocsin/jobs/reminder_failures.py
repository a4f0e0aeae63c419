"""Reminders apart from each other: an error at one incident or change request keeps no other from being reminded of.

Next: ``jobs/reminders.py`` and ``jobs/change_requests.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from traceback import extract_tb, format_exception
from typing import NamedTuple

import structlog

from tocsin.catalogue.writes import Writes
from tocsin.flow.capture.write import Record
from tocsin.model.people import SYSTEM
from tocsin.store.database.faults import fault_of

_LOG = structlog.get_logger(__name__)


class ReminderFailure(NamedTuple):
    """What cannot be reminded of, by its id: what was raised where, and the traceback."""

    subject: str
    cause: str
    trace: str


class ReminderFailures:
    """What cannot be reminded of, look by look: each is logged once for each cause, and when it is over."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, failures: Sequence[ReminderFailure]) -> None:
        """Take the failures of a look: log those that are new, and those that are over with how many looks they had."""
        present = {(one.subject, one.cause): one for one in failures}
        for key in self._counts.keys() - present.keys():
            _LOG.warning("reminder_failure_over", subject=key[0], cause=key[1], count=self._counts.pop(key))
        for key in present.keys() - self._counts.keys():
            _LOG.error("reminder_failed", subject=key[0], cause=key[1], traceback=present[key].trace)
        self._counts.update(present.keys())


def remind_apart(writes: Writes, subject: str, work: Callable[[Record], bool]) -> bool | ReminderFailure:
    """Remind of one subject in a transaction of its own; return whether an event was written.

    One that cannot be reminded of is looked at again in a minute. Others do not wait for it. A fault of the store is
    raised: all of them have it.
    """
    try:
        return writes.within(work, actor=SYSTEM)
    except Exception as error:  # an error at one of them keeps no other from being reminded of
        if fault_of(error) is not None:
            raise
        place = extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__} in {place.name}, line {place.lineno}"  # not its text, which may vary
        return ReminderFailure(subject, cause, "".join(format_exception(error)))
