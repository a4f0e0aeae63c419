"""Status of destinations as the API shows it, and what of it a person may know.

An alert covers only what all its editors may view, so its status tells them nothing else. Next:
``flow/track/destination_status.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.flow.track.destination_status import DestinationStatus
from tocsin.model.entity import Document
from tocsin.model.subscription import SubscriptionState
from tocsin.server.request import Caller

Standings = Mapping[str, DestinationStatus]
"""The status of an alert's destinations, by their ids; none yet: no entry."""


def standings_shown(alerts: Sequence[Document], caller: Caller) -> dict[str, Standings]:
    """Return the status of destinations by alert, as far as it depends on what the caller may view.

    Who may not view everything gets it as an editor of the alert, of attempts since they became one.
    """
    alert_ids = [alert["id"] for alert in alerts]
    if caller.visibility.is_whole:
        return dict(caller.parts.standings.of(alert_ids))
    editors = caller.parts.alert_stores.editors.find(alert_ids, caller.actor.id)
    edited_ids = [one["id"] for one in alerts if one["id"] in editors and one.get("provider") != "system"]
    standings = caller.parts.standings.of(edited_ids)
    return {key: _standings_since(editors[key].since_ms, standings.get(key, {})) for key in edited_ids}


def _standings_since(since_ms: int, standings: Standings) -> Standings:
    """Return what attempts since a time say of each destination; nothing where there were none."""
    recent_standings = ((destination, standing.since(since_ms)) for destination, standing in standings.items())
    return {destination: standing for destination, standing in recent_standings if standing is not None}


def status_json(alert: Document, destination: Document, standing: DestinationStatus | None) -> Document:
    """Return upstream's ``subscriptionStatus``: what was sent to has the status of that, also when it is switched off.

    Source: ``events/eventSubscription.json``: disabled is what is switched off and "never started publishing events".
    """
    if standing is not None:
        return standing.to_wire()
    is_on = alert.get("enabled", True) and destination.get("enabled", True)
    status = SubscriptionState.ACTIVE if is_on else SubscriptionState.DISABLED
    return {"status": status.value, "timestamp": alert["updatedAt"]}


def with_statuses(alerts: Sequence[Document], caller: Caller) -> list[Document]:
    """Return alerts whose destinations have their status, ``statusDetails``, as upstream's schema has it."""
    standings = standings_shown(alerts, caller) if alerts else {}
    return [
        alert | {"destinations": _destinations_with_status(alert, standings.get(alert["id"], {}))} for alert in alerts
    ]


def _destinations_with_status(alert: Document, standings: Standings) -> list[Document]:
    return [
        destination | {"statusDetails": status_json(alert, destination, standings.get(destination["id"]))}
        for destination in alert["destinations"]
    ]
