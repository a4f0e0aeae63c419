"""What has this worker claimed and not yet finished? Its deliveries in hand, and how long each lease holds.

Next: ``worker/deliver.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tocsin.model.delivery import Delivery


class Hand:
    """The deliveries in hand, counted per destination."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[Delivery, int]] = {}
        self.per_destination: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def take(self, deliveries: Iterable[Delivery], *, until_ms: int) -> None:
        """Add deliveries whose leases hold until ``until_ms``."""
        for delivery in deliveries:
            self._held[delivery.id] = (delivery, until_ms)
            self.per_destination[delivery.destination_id] += 1

    def drop(self, ids: Iterable[str]) -> None:
        """Forget deliveries that are finished or no longer ours; unknown ids are fine."""
        for one in ids:
            if (held := self._held.pop(one, None)) is not None:
                name = held[0].destination_id
                self.per_destination[name] -= 1
                if not self.per_destination[name]:
                    del self.per_destination[name]

    def renew(self, ids: Iterable[str], *, until_ms: int) -> None:
        """Note that the leases of ``ids`` hold until ``until_ms``."""
        for one in ids:
            if one in self._held:
                self._held[one] = (self._held[one][0], until_ms)

    def holds(self, delivery_id: str, now_ms: int) -> bool:
        """Say whether the delivery is in hand and its lease holds."""
        held = self._held.get(delivery_id)
        return held is not None and now_ms < held[1]

    def ids(self) -> list[str]:
        """Return the ids of everything in hand."""
        return list(self._held)
