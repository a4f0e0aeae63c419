"""Destination failure: what the owners of an alert learn about a destination whose deliveries fail.

Next: ``store/outbox/status.py`` finds them, ``alerts/events.py`` records them.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid5

from tocsin.model.entity import Document
from tocsin.model.notification import NAMESPACE


@dataclass(frozen=True)
class DestinationFailure:
    """A destination with nothing but failures since ``since_ms``, of which ``percent`` of the time granted is over.

    ``count`` counts the attempts. With 100 percent it has been stopped.
    """

    subscription_id: str
    destination_id: str
    since_ms: int
    percent: int
    count: int
    last_reason: str | None = None
    last_status_code: int | None = None

    @property
    def is_stopped(self) -> bool:
        """Return whether nothing is sent there any more."""
        return self.percent == 100

    @property
    def id(self) -> str:
        """Return the id of its event: the same for every reporter and report."""
        return str(
            uuid5(NAMESPACE, f"failing {self.subscription_id} {self.destination_id} {self.since_ms} {self.percent}")
        )

    def to_wire(self, destination: Document) -> Document:
        """Return it as JSON; ``destination`` is that of the alert, its secrets masked."""
        endpoint = (destination.get("config") or {}).get("endpoint")
        wire = {
            "destinationId": self.destination_id,
            "name": destination.get("name"),
            "category": destination.get("category"),
            "type": destination.get("type"),
            "endpoint": endpoint,
            "failingSince": self.since_ms,
            "failureCount": self.count,
            "percent": self.percent,
            "lastFailedReason": self.last_reason,
            "lastFailedStatusCode": self.last_status_code,
        }
        return {key: value for key, value in wire.items() if value is not None}
