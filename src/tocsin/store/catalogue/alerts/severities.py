"""Severities of incidents: the worst of the tier of its asset and of the administrators' alerts that watch it.

They are worked out when an alert begins to watch, from the alerts and the tier of that moment, and never become less
bad: messages of the same incident would contradict each other. An incident is everybody's: what another person's alert
says stands in the messages of that alert only.
Next: ``store/catalogue/alerts/incidents.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import Connection, bindparam, select, update

from tocsin.conditions.documents import tag_names, tested_table
from tocsin.model.entity import Document
from tocsin.model.severity import Severity, severity_named
from tocsin.store.catalogue.alerts.subscriptions import IS_OF_ADMINISTRATORS
from tocsin.store.database.alert_tables import alert_incident, incident_watcher
from tocsin.store.database.documents import from_text
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity

_ROW, _WATCHER, _ENTITY = alert_incident.c, incident_watcher.c, entity.c
_BY_TIER = {f"Tier.Tier{number}": severity for number, severity in enumerate(Severity, start=1)}
_ORDER = list(Severity)
_RATE = update(alert_incident).where(_ROW.id == bindparam("incident")).values(severity=bindparam("rated"))


def rate(connection: Connection, incident_ids: Collection[str]) -> None:
    """Store how bad each of these incidents is: never less than it was."""
    query = select(_ROW.id, _ROW.entity_id, _ROW.severity)
    incidents = list(rows_by_key(connection, query, _ROW.id, incident_ids))
    by_alerts = _of_watchers(connection, incident_ids)
    by_tier = _of_assets(connection, {row.entity_id for row in incidents})
    severities = {
        row: _worst_of((severity_named(row.severity), by_alerts.get(row.id), by_tier.get(row.entity_id)))
        for row in incidents
    }
    changes = [
        {"incident": row.id, "rated": severity and severity.value}
        for row, severity in sorted(severities.items())
        if row.severity != severity
    ]
    if changes:
        connection.execute(_RATE, changes)


def _worst_of(severities: Iterable[Severity | None]) -> Severity | None:
    return min(filter(None, severities), key=_ORDER.index, default=None)


def _of_watchers(connection: Connection, incident_ids: Collection[str]) -> Mapping[str, Severity | None]:
    """Return the worst severity of the administrators' alerts that watch each incident, by the incident's id."""
    watching = select(_WATCHER.incident_id, _WATCHER.subscription_id)
    alerts: dict[str, set[str]] = defaultdict(set)
    for incident_id, alert in rows_by_key(connection, watching, _WATCHER.incident_id, incident_ids):
        alerts[incident_id].add(alert)
    documents = select(_ENTITY.id, _ENTITY.document).where(IS_OF_ADMINISTRATORS)
    stored_alerts = rows_by_key(connection, documents, _ENTITY.id, {one for many in alerts.values() for one in many})
    severities = {alert: severity_named(from_text(text).get("severity")) for alert, text in stored_alerts}
    return {incident_id: _worst_of(map(severities.get, many)) for incident_id, many in alerts.items()}


def _of_assets(connection: Connection, entity_ids: Collection[str]) -> Mapping[str, Severity | None]:
    """Return what the tier of each asset says; of a test without a tier, that of its table."""
    assets = rows_by_key(connection, select(_ENTITY.id, _ENTITY.document), _ENTITY.id, entity_ids)
    documents = {entity_id: from_text(text) for entity_id, text in assets}
    severities = {entity_id: _of_tier(document) for entity_id, document in documents.items()}
    untiered = [entity_id for entity_id, severity in severities.items() if severity is None]
    table_names = {case: name for case in untiered if (name := tested_table(documents[case]))}
    tables = select(_ENTITY.fqn, _ENTITY.document).where(_ENTITY.entity_type == "table")
    tested = rows_by_key(connection, tables, _ENTITY.fqn, set(table_names.values()))
    by_table = {fqn: _of_tier(from_text(text)) for fqn, text in tested}
    return severities | {entity_id: by_table.get(name) for entity_id, name in table_names.items()}


def _of_tier(document: Document) -> Severity | None:
    return _worst_of(_BY_TIER.get(name) for name in tag_names(document.get("tags")))
