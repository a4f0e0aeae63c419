"""What reminders of incidents need from the store (``store/catalogue/alerts/reminders.py``).

Next: ``alerts/reminders.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol


class IncidentReminders(Protocol):
    """Reads and writes which alerts have reminded of which incidents."""

    def due(self, identity: str, repeats_ms: Mapping[str, int], now_ms: int) -> list[str]:
        """Return those of these alerts that must remind of an incident now, in order, by the milliseconds of each."""

    def note(self, identity: str, alert_ids: Collection[str], at_ms: int) -> None:
        """Note that these alerts have reminded of an incident, and so of all that are merged with it."""

    def behind(self, identity: str, alert_ids: Collection[str]) -> dict[str, set[str]]:
        """Return the incidents behind one that they are merged with, in order, with those of the alerts that watch."""

    def count(self, identity: str) -> int:
        """Return how many reminders of an incident there were."""
