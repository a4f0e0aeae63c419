"""Match results: the number of notifications that one event produced for one alert, possibly zero.

Written in the transaction of the notifications, so that the audit can prove that nothing is lost or duplicated.
Next: ``store/alerts/match_results.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Pair = tuple[int, str]
"""The offset of an event, and the id of an alert that it matched."""


@dataclass(frozen=True)
class MatchResult:
    """How many notifications ``log_offset`` gave for ``subscription_id``."""

    log_offset: int
    subscription_id: str
    notified_count: int
    resolved_at_ms: int

    @property
    def pair(self) -> Pair:
        """Return which event and which alert it is about."""
        return self.log_offset, self.subscription_id


def match_results_of(
    pairs: Iterable[Pair],
    rows: Sequence[Mapping[str, Any]],
    *,
    now_ms: int,  # Any: columns of spark/schedule.py
) -> list[MatchResult]:
    """Return the match result of each of ``pairs``, when ``rows`` are all the notifications written for them."""
    counts: Counter[Pair] = Counter()
    for row in rows:
        counts.update((row["log_offset"], subscription_id) for subscription_id in row["subscription_ids"])
    return [MatchResult(*pair, counts[pair], now_ms) for pair in sorted(set(pairs))]


@dataclass(frozen=True)
class Firing:
    """Notifications of one alert for one event: all, those to people, in-app ones, and of these the opened ones."""

    log_offset: int
    notified_count: int
    person_count: int
    app_count: int
    opened_count: int
