"""Queue of an alert as a source of a consumer: claims, and acknowledgements of what was handled.

Any number of consumers share a queue. Next: ``client/alert_calls.py``.
"""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import cast

from tocsin.client import alert_calls
from tocsin.client.answers import Change
from tocsin.client.consume.loop import EventPortion
from tocsin.client.consume.steps import Pause, Steps
from tocsin.errors import InvalidInput, TocsinError, Unavailable
from tocsin.model.entity import Document

MOST_CLAIMED = 100
LONGEST_LEASE_S = 3600
_EVERY_S = 1.0
_log = logging.getLogger("tocsin.client")


@dataclass
class QueueSource:
    """The queue of an alert; its rules select what is in it.

    Parameters
    ----------
    alert_id : id of the alert
    lease_seconds : how long handling a portion may take, 5 to 3600; what takes longer is handled again
    stop_at_end : end where the queue has no free event, instead of waiting
    """

    alert_id: str
    lease_seconds: int = 300
    stop_at_end: bool = False
    _waits: bool = field(default=False, init=False, repr=False)

    def open(self, _server: str) -> Steps[None]:
        """Do nothing: a claim says whether there is a queue."""
        self._waits = False
        yield from ()

    def read(self, limit: int, group_by: str | None) -> Steps[EventPortion]:
        """Claim events; where there were none, wait first.

        Raises
        ------
        InvalidInput : a claim cannot be that large
        """
        if limit > MOST_CLAIMED:
            raise InvalidInput(f"batch_size must be from 1 to {MOST_CLAIMED} for a queue", field="batch_size")
        if self._waits:
            yield Pause(_EVERY_S)
        answer = yield alert_calls.claim_events(
            self.alert_id, limit=limit, lease_seconds=self.lease_seconds, group_by=group_by
        )
        items = answer["data"]
        self._waits = not items and not answer["hasMore"]
        changes = tuple(change_of(one["event"], one.get("idempotencyKey", "")) for one in items)
        return EventPortion(changes, token=items, is_last=self._waits)

    def keep(self, portion: EventPortion, wait_s: float) -> Steps[bool]:
        """Extend the leases; where one is lost, give back the others."""
        lease_seconds = min(LONGEST_LEASE_S, int(wait_s) + self.lease_seconds)
        items = _items_of(portion)
        try:
            answer = yield alert_calls.extend_events(self.alert_id, items, lease_seconds=lease_seconds)
        except Unavailable:
            return True  # whether the lease has held is found out when the events are acknowledged
        if all(one["state"] == "extended" for one in answer["data"]):
            return True
        yield from self.give_back(portion)
        return False

    def commit(self, portion: EventPortion) -> Steps[None]:
        """Acknowledge what was handled."""
        if items := _items_of(portion):
            answer = yield alert_calls.acknowledge_events(self.alert_id, items)
            states = Counter(one["state"] for one in answer["data"])
            if late_count := states.total() - states["acknowledged"]:
                _log.warning("%d events took longer than their lease and may be handled again", late_count)

    def give_back(self, portion: EventPortion) -> Steps[None]:
        """Release what was not handled; where the server is away, the leases end by themselves."""
        if items := _items_of(portion):
            with suppress(TocsinError):
                yield alert_calls.release_events(self.alert_id, items)

    def close(self) -> Steps[None]:
        """Do nothing."""
        yield from ()


def change_of(event: Document, key: str) -> Change:
    """Return a change event of any format, with its idempotency key; a CloudEvent has it as its data."""
    document = event["data"] if "specversion" in event and isinstance(event.get("data"), dict) else event
    return Change(document, key=key)


def _items_of(portion: EventPortion) -> list[Document]:
    return cast("list[Document]", portion.token or [])
