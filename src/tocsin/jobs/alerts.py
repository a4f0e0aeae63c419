"""Which alerts does the pipeline match against right now? Reads them anew when, and only when, they have changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.resolve.categories import Wanted, wanted
from tocsin.model.subscription import EventSubscription
from tocsin.spark.match import Index, index_of

_LOG = structlog.get_logger(__name__)


class SubscriptionStore(Protocol):
    """Knows the alerts, and whether they have changed."""

    def revision(self) -> int:
        """Return a number that grows with every change of any alert; cheap to ask."""

    def list_enabled(self) -> list[EventSubscription]:
        """Return the alerts that are switched on."""


@dataclass(frozen=True)
class Alerts:
    """The alerts at one revision: indexed for matching, and whom each of them asks for."""

    revision: int
    index: Index
    asked: dict[str, tuple[Wanted, ...]] = field(repr=False)

    def wanted_by(self, subscription_ids: Collection[str]) -> list[Wanted]:
        """Return whom these alerts ask for."""
        return [row for one in sorted(subscription_ids) for row in self.asked.get(one, ())]


class CurrentAlerts:
    """Keeps the newest alerts; asking costs one small query unless they have changed."""

    def __init__(self, store: SubscriptionStore) -> None:
        self._store = store
        self._alerts: Alerts | None = None

    def read(self) -> Alerts:
        """Return the alerts as they stand now."""
        revision = self._store.revision()
        if self._alerts is None or self._alerts.revision != revision:
            self._alerts = _load(self._store.list_enabled(), revision)
            _LOG.info("alerts_loaded", revision=revision, count=len(self._alerts.asked))
        return self._alerts


def _load(subscriptions: Sequence[EventSubscription], revision: int) -> Alerts:
    plans: list[Plan] = []
    asked: dict[str, tuple[Wanted, ...]] = {}
    for subscription in subscriptions:
        try:
            plans.append(plan_of(subscription))
        except InvalidInput as error:
            # Saving checks conditions, so this one was stored by an older Tocsin; it must not stop the others.
            _LOG.warning("alert_unreadable", subscription_id=subscription.id, reason=error.message)
            continue
        asked[subscription.id] = wanted(subscription)
    return Alerts(revision=revision, index=index_of(plans), asked=asked)
