"""Alerts that an alert names: each must be there, loops are refused, and what is depended on must open incidents.

Next: ``flow/match/cascade.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tocsin.errors import InvalidInput
from tocsin.flow.match.cascade import path_between
from tocsin.flow.match.plan import plan_of
from tocsin.model.entity import Document, EntityReference
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import EventSubscription

MOST_RELATED = 20
"""Alerts that one alert may trigger, or depend on, directly."""

_ALERT = "eventsubscription"
TRIGGERS, DEPENDS_ON = "triggers", "dependsOn"
RELATIONS = (TRIGGERS, DEPENDS_ON)
"""Keys of an alert that name other alerts."""


@dataclass(frozen=True)
class NameableAlerts:
    """Alerts that a person may name, by id: those that they see, and hidden ones that the alert has named before."""

    visible: Mapping[str, EventSubscription] = field(default_factory=dict)
    hidden: Mapping[str, EventSubscription] = field(default_factory=dict)


@dataclass(frozen=True)
class RelatedAlerts:
    """The alerts that an alert names under a key of ``RELATIONS``, and the ids of those that it named before."""

    key: str
    alerts: Sequence[EventSubscription]
    old_ids: Collection[str]


def check_references(key: str, value: object) -> list[object]:
    """Return the references under a key of ``RELATIONS``, if they are a list and not too many.

    Raises
    ------
    InvalidInput : they are not
    """
    if not isinstance(value, list) or len(value) > MOST_RELATED:
        raise InvalidInput(f"must be a list of at most {MOST_RELATED} alerts", field=key)
    return value


def find_related(key: str, references: Iterable[object], alerts: NameableAlerts) -> list[EventSubscription]:
    """Return the alerts of references: their ids, or their names or full names, also as plain texts.

    Raises
    ------
    InvalidInput : one is none, or is not there
    """
    by_name = {one.name: one for one in alerts.visible.values()}
    related_alerts = []
    for number, value in enumerate(references):
        reference, place = {"name": value} if isinstance(value, str) else value, f"{key}[{number}]"
        if not isinstance(reference, dict) or reference.get("type", _ALERT) != _ALERT:
            raise InvalidInput("must be a reference to an alert: its id or name", field=place)
        keys = ("id", "fullyQualifiedName", "name")
        name = next((one for each in keys if isinstance(one := reference.get(each), str)), "")
        alert = alerts.visible.get(name) or alerts.hidden.get(name) or by_name.get(name)
        if alert is None:
            raise InvalidInput(f"unknown alert {name!r}; {suggestion_for(name, sorted(by_name))}", field=place)
        related_alerts.append(alert)
    return related_alerts


def check_loops(
    relation: RelatedAlerts,
    alert_id: str,
    *,
    name: str,
    visible: Mapping[str, EventSubscription],
    all_alerts: Iterable[EventSubscription],
) -> None:
    """Refuse a related alert that leads back to the alert, through alerts that the person may not see as well.

    Raises
    ------
    InvalidInput : one does; the message names the way
    """
    key = relation.key
    links = {one.id: [each.id for each in _links(one, key)] for one in all_alerts if one.id != alert_id}
    for number, alert in enumerate(relation.alerts):
        if way := path_between(alert.id, alert_id, links):
            names = [visible[step].name if step in visible else "another alert" for step in way[:-1]]
            raise InvalidInput(f"makes a loop: {' -> '.join((name, *names, name))}", field=f"{key}[{number}]")


def check_incidents(relation: RelatedAlerts) -> None:
    """Refuse alerts to depend on that open no incidents, but those that the alert named before.

    Raises
    ------
    InvalidInput : one opens none
    """
    for number, alert in enumerate(relation.alerts):
        if alert.id not in relation.old_ids and not plan_of(alert).opens_incidents:
            raise InvalidInput(
                f"alert {alert.name} opens no incidents: it needs alertType Observability or a condition on results",
                field=f"{relation.key}[{number}]",
            )


def references_to(alerts: Iterable[EventSubscription]) -> list[Document]:
    """Return references to alerts, each once."""
    references = {
        alert.id: {"id": alert.id, "type": _ALERT, "name": alert.name, "fullyQualifiedName": alert.fully_qualified_name}
        for alert in alerts
    }
    return list(references.values())


def _links(alert: EventSubscription, key: str) -> tuple[EntityReference, ...]:
    return alert.triggers if key == TRIGGERS else alert.depends_on
