"""Match results: the number of notifications that one event produced for one alert, possibly zero.

Written in the transaction of the notifications, so that the audit can prove that nothing is lost or duplicated.
Next: ``store/outbox/match_results.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

Pair = tuple[int, str]
"""The offset of an event, and the id of an alert that it matched."""


@dataclass(frozen=True)
class MatchResult:
    """How many notifications ``log_offset`` gave for ``subscription_id``.

    ``triggered_by`` is the alert that matched, where this one did not, and was triggered by it. ``withheld_for`` is an
    editor of the alert who may not view the event: for that reason nobody was notified.
    """

    log_offset: int
    subscription_id: str
    notified_count: int
    resolved_at_ms: int
    triggered_by: str | None = None
    withheld_for: str | None = None

    @property
    def pair(self) -> Pair:
        """Return which event and which alert it is about."""
        return self.log_offset, self.subscription_id


class MatchCounts:
    """Counts the notifications of some matches, a part at a time."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._pairs = sorted(set(pairs))
        self._counts: Counter[Pair] = Counter()
        self.row_count = 0

    def add(self, notifications: Iterable[tuple[int, tuple[str, ...]]]) -> None:
        """Count notifications, given by the offset of their event and the alerts that share each."""
        alike = Counter(notifications)
        self.row_count += alike.total()
        for (offset, subscription_ids), count in alike.items():
            for subscription_id in subscription_ids:
                self._counts[offset, subscription_id] += count

    def results(
        self,
        *,
        now_ms: int,
        triggered: Mapping[Pair, str] = MappingProxyType({}),
        withheld: Mapping[Pair, str] = MappingProxyType({}),
    ) -> list[MatchResult]:
        """Return the result of each match, once all of their notifications are counted, and of those ``withheld``.

        ``triggered`` says which alert triggered each of those that only that gives, ``withheld`` for which editor.
        """
        counted_results = [MatchResult(*pair, self._counts[pair], now_ms, triggered.get(pair)) for pair in self._pairs]
        left_out = sorted(withheld.items())
        return counted_results + [
            MatchResult(*pair, 0, now_ms, triggered.get(pair), editor) for pair, editor in left_out
        ]


@dataclass(frozen=True)
class Firing:
    """Notifications of one alert for one event: all, those to people, in-app ones, and of these the opened ones."""

    log_offset: int
    notified_count: int
    person_count: int
    app_count: int
    opened_count: int
