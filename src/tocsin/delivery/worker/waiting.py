"""Messages that wait for a lane of their destination, as they were judged last; those of a moment are judged together.

What is read of rights, preferences and incidents holds for a second: what has waited longer is judged again before it
is sent. Of each lane as many are, beside the message whose turn it is, as have begun in it since: a statement for each
would cost more than sending does, and all of a slow destination's, each second, more than it ever sends.
Next: ``delivery/worker/judgements.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from tocsin.delivery.dispatch import Dispatch


class WaitingDispatches:
    """The claimed messages of a worker that have not begun, by lane, in the order in which they came."""

    def __init__(self) -> None:
        self._by_lane: dict[str, dict[str, Dispatch]] = {}
        self._begun_counts = Counter[str]()

    @contextmanager
    def hold(self, dispatch: Dispatch) -> Iterator[None]:
        """Keep a message until it begins, or this block ends without it."""
        message = dispatch.message
        self._by_lane.setdefault(message.lane, {})[message.id] = dispatch
        try:
            yield
        finally:
            self._take(dispatch)
            if not self._by_lane.get(message.lane):
                self._by_lane.pop(message.lane, None)
                self._begun_counts.pop(message.lane, None)

    def begin(self, dispatch: Dispatch) -> Dispatch:
        """Take out a message whose turn it is; return it as it was judged last."""
        latest = self._take(dispatch)
        if latest is None:
            return dispatch
        self._begun_counts[latest.message.lane] += 1
        return latest

    def next_portion(self, *, judged_before_s: float) -> list[Dispatch]:
        """Return which messages will soon begin, of those judged before a moment (steady seconds)."""
        counts, self._begun_counts = self._begun_counts, Counter()
        return [
            dispatch
            for lane, count in counts.items()
            for dispatch in islice(self._by_lane.get(lane, {}).values(), count)
            if dispatch.judged_at_s is not None and dispatch.judged_at_s < judged_before_s
        ]

    def renew(self, dispatches: Iterable[Dispatch]) -> None:
        """Replace those that still wait by what they are now."""
        for dispatch in dispatches:
            waiting = self._by_lane.get(dispatch.message.lane, {})
            if dispatch.message.id in waiting:
                waiting[dispatch.message.id] = dispatch

    def _take(self, dispatch: Dispatch) -> Dispatch | None:
        message = dispatch.message
        return self._by_lane.get(message.lane, {}).pop(message.id, None)
