"""Alerts that an alert names: each must be there, and its maker must be allowed to edit it; loops are refused.

Next: ``flow/match/cascade.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tocsin.errors import Forbidden, InvalidInput
from tocsin.flow.match.cascade import path_between
from tocsin.flow.match.plan import plan_of
from tocsin.model.entity import Document, EntityReference
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import EventSubscription
from tocsin.server.alerts.explanations import tended_alerts, visible_alerts
from tocsin.server.request import Caller

MOST_RELATED = 20
"""Alerts that one alert may trigger, or depend on, directly."""

_TRIGGERS, _DEPENDS_ON = "triggers", "dependsOn"
NAMING_ALERTS = frozenset({_TRIGGERS, _DEPENDS_ON})
"""Keys of an alert that name other alerts."""


def check_related(document: Document, before: Document | None, caller: Caller) -> None:
    """Complete the alerts that an alert triggers, and those that it depends on, to references, in ``document``.

    Raises
    ------
    InvalidInput : one is not there, leads back to this alert (the message names the way), or opens no incidents
    Forbidden : the caller may not edit one that is to be triggered: it would notify others' recipients
    """
    for key, check in ((_TRIGGERS, _check_rights), (_DEPENDS_ON, _check_incidents)):
        value = document.get(key)
        if value is None:
            continue
        if not isinstance(value, list) or len(value) > MOST_RELATED:
            raise InvalidInput(f"must be a list of at most {MOST_RELATED} alerts", field=key)
        old = {one["id"] for one in (before or {}).get(key) or ()}
        visible = {one.id: one for one in visible_alerts(caller)} if value else {}
        hidden = {one.id: one for one in _hidden_alerts(old - visible.keys(), caller)} if value else {}
        alerts = [_alert_of(one, f"{key}[{number}]", visible, hidden) for number, one in enumerate(value)]
        _check_loops((document, before), (key, alerts), (visible, caller))
        check(alerts, old, caller)
        document[key] = list({one.id: _reference(one) for one in alerts}.values())


def _check_rights(alerts: list[EventSubscription], old: set[str], caller: Caller) -> None:
    new = [alert for alert in alerts if alert.id not in old]
    editable_ids = {alert.id for alert in tended_alerts(new, caller)}
    for alert in new:
        if alert.id not in editable_ids:
            raise Forbidden(f"Only editors of alert {alert.name} may let other alerts trigger it.")


def _check_incidents(alerts: list[EventSubscription], old: set[str], _caller: Caller) -> None:
    for number, alert in enumerate(alerts):
        if alert.id not in old and not plan_of(alert).opens_incidents:
            raise InvalidInput(
                f"alert {alert.name} opens no incidents: it needs alertType Observability or a condition on results",
                field=f"{_DEPENDS_ON}[{number}]",
            )


def _hidden_alerts(hidden: Collection[str], caller: Caller) -> list[EventSubscription]:
    """Return alerts that the caller may not see and that the alert named before: whoever changes it keeps them."""
    return [one for one in map(caller.parts.subscriptions.find, sorted(hidden)) if one is not None]


def _alert_of(
    value: object, place: str, visible: Mapping[str, EventSubscription], hidden: Mapping[str, EventSubscription]
) -> EventSubscription:
    """Return the alert of a reference: its id, or its name or full name, also as a plain text."""
    reference = {"name": value} if isinstance(value, str) else value
    if not isinstance(reference, dict) or reference.get("type", "eventsubscription") != "eventsubscription":
        raise InvalidInput("must be a reference to an alert: its id or name", field=place)
    name = next((one for key in ("id", "fullyQualifiedName", "name") if isinstance(one := reference.get(key), str)), "")
    by_name = {one.name: one for one in visible.values()}
    alert = visible.get(name) or hidden.get(name) or by_name.get(name)
    if alert is None:
        raise InvalidInput(f"unknown alert {name!r}; {suggestion_for(name, sorted(by_name))}", field=place)
    return alert


def _check_loops(
    documents: tuple[Document, Document | None],
    relation: tuple[str, list[EventSubscription]],
    by: tuple[Mapping[str, EventSubscription], Caller],
) -> None:
    """Refuse what one of the alerts that it names leads back to, through alerts that one may not see as well."""
    (document, before), (key, alerts), (visible, caller) = documents, relation, by
    if before is None or not alerts:
        return
    all_alerts = caller.parts.subscriptions.list_all()
    links = {
        alert.id: [each.id for each in _related_alerts(alert, key)] for alert in all_alerts if alert.id != before["id"]
    }
    for number, alert in enumerate(alerts):
        if way := path_between(alert.id, before["id"], links):
            names = [visible[step].name if step in visible else "another alert" for step in way[:-1]]
            loop = " -> ".join((str(document["name"]), *names, str(document["name"])))
            raise InvalidInput(f"makes a loop: {loop}", field=f"{key}[{number}]")


def _related_alerts(alert: EventSubscription, key: str) -> tuple[EntityReference, ...]:
    return alert.triggers if key == _TRIGGERS else alert.depends_on


def _reference(alert: EventSubscription) -> Document:
    full = alert.fully_qualified_name
    return {"id": alert.id, "type": "eventsubscription", "name": alert.name, "fullyQualifiedName": full}
