"""Routes of destinations: the current address, and whether sending is allowed.

Read shortly before sending, so that a disabled, deleted or removed destination receives nothing.
Next: ``flow/send/channels``.
"""

from __future__ import annotations

from sqlalchemy import Engine

from tocsin.errors import StaleSecrets, WrongKey
from tocsin.flow.send.dispatch import Route
from tocsin.model.subscription import Destination, EventSubscription
from tocsin.store.alerts.subscriptions import Subscriptions


class Routes:
    """The destinations of one store, secrets in clear."""

    def __init__(self, engine: Engine) -> None:
        self._subscriptions = Subscriptions(engine)

    def of(self, subscription_id: str) -> dict[str, Route]:
        """Return the routes of a subscription by destination id; none when it is gone.

        Where its secrets cannot be opened, or are being changed, all its destinations wait.
        """
        subscription, waits_because = self._found(subscription_id)
        if subscription is None:
            return {}
        return {
            destination.id: Route(
                destination=destination,
                retries=subscription.retries,
                batch_size=subscription.batch_size,
                sends_arrays=subscription.sends_arrays,
                closed_because=_closed(subscription, destination),
                waits_because=waits_because,
            )
            for destination in subscription.destinations
        }

    def _found(self, subscription_id: str) -> tuple[EventSubscription | None, str | None]:
        try:
            return self._subscriptions.with_secrets(subscription_id), None
        except (StaleSecrets, WrongKey) as unreadable:
            return self._subscriptions.find(subscription_id), unreadable.message


def _closed(subscription: EventSubscription, destination: Destination) -> str | None:
    if not subscription.enabled:
        return "the alert is disabled"
    if not destination.enabled:
        return "the destination is disabled"
    return None
