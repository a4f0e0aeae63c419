"""Routes of destinations: the current address, and whether sending is allowed.

Read shortly before sending, so that a disabled, deleted or removed destination receives nothing.
Next: ``flow/send/channels``.
"""

from __future__ import annotations

from sqlalchemy import Engine, select

from tocsin.errors import StaleSecrets, WrongKey
from tocsin.flow.send.dispatch import Route
from tocsin.flow.track.destination_status import DestinationStatus, asked_to_stop
from tocsin.model.subscription import Destination, EventSubscription
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.engine import reading
from tocsin.store.outbox.status import DestinationStatuses
from tocsin.store.tables import entity


class Routes:
    """The destinations of one store, secrets in clear."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._subscriptions = Subscriptions(engine)
        self._standings = DestinationStatuses(engine)

    def of(self, subscription_id: str) -> dict[str, Route]:
        """Return the routes of a subscription by destination id; none when it is gone.

        Where its secrets cannot be opened, or are being changed, all its destinations wait.
        """
        subscription, waits_because = self._found(subscription_id)
        if subscription is None:
            return {}
        standings = self._standings.of(subscription_id)
        changed_at_ms = self._changed_at_ms(subscription_id)
        return {
            destination.id: Route(
                destination=destination,
                retries=subscription.retries,
                batch_size=subscription.batch_size,
                closed_because=_closed(subscription, destination, standings.get(destination.id), changed_at_ms),
                waits_because=waits_because,
            )
            for destination in subscription.destinations
        }

    def _found(self, subscription_id: str) -> tuple[EventSubscription | None, str | None]:
        try:
            return self._subscriptions.with_secrets(subscription_id), None
        except (StaleSecrets, WrongKey) as unreadable:
            return self._subscriptions.find(subscription_id), unreadable.message

    def _changed_at_ms(self, subscription_id: str) -> int:
        with reading(self._engine) as connection:
            query = select(entity.c.updated_at_ms).where(entity.c.id == subscription_id)
            return int(connection.execute(query).scalar() or 0)


def _closed(
    subscription: EventSubscription, destination: Destination, standing: DestinationStatus | None, changed_at_ms: int
) -> str | None:
    if not subscription.enabled:
        return "the alert is disabled"
    if not destination.enabled:
        return "the destination is disabled"
    if asked_to_stop(standing, configured_at_ms=changed_at_ms):
        return "the receiver answered 410 Gone; change the alert to resume"
    return None
