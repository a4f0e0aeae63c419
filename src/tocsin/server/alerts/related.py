"""Check of the alerts that an alert names, of those that the caller may name; what is triggered they must edit.

Next: ``alerts/related.py``.
"""

from __future__ import annotations

from tocsin.alerts import related
from tocsin.errors import Forbidden
from tocsin.model.entity import Document
from tocsin.server.alerts.explanations import editable_alerts, visible_alerts
from tocsin.server.request import Caller


def check_related(document: Document, before: Document | None, caller: Caller) -> None:
    """Complete the alerts that an alert triggers, and those that it depends on, to references, in ``document``.

    Raises
    ------
    InvalidInput : one is not there, leads back to this alert (the message names the way), or opens no incidents
    Forbidden : the caller may not edit one that is to be triggered: it would notify others' recipients
    """
    for key in related.RELATIONS:
        if document.get(key) is None:
            continue
        references = related.check_references(key, document[key])
        old_ids = {one["id"] for one in (before or {}).get(key) or ()}
        alerts = _read_nameable(old_ids, caller) if references else related.NameableAlerts()
        relation = related.RelatedAlerts(key, related.find_related(key, references, alerts), old_ids)
        if before is not None and relation.alerts:
            all_alerts = caller.parts.subscriptions.list_all()
            name = str(document["name"])
            related.check_loops(relation, before["id"], name=name, visible=alerts.visible, all_alerts=all_alerts)
        if key == related.TRIGGERS:
            _check_rights(relation, caller)
        else:
            related.check_incidents(relation)
        document[key] = related.references_to(relation.alerts)


def _check_rights(relation: related.RelatedAlerts, caller: Caller) -> None:
    new = [alert for alert in relation.alerts if alert.id not in relation.old_ids]
    editable_ids = {alert.id for alert in editable_alerts(new, caller)}
    for alert in new:
        if alert.id not in editable_ids:
            raise Forbidden(f"Only editors of alert {alert.name} may let other alerts trigger it.")


def _read_nameable(old_ids: set[str], caller: Caller) -> related.NameableAlerts:
    """Return the alerts that the caller sees, and others that the alert named before: its editor keeps them."""
    visible = {one.id: one for one in visible_alerts(caller)}
    hidden = map(caller.parts.subscriptions.find, sorted(old_ids - visible.keys()))
    return related.NameableAlerts(visible, {one.id: one for one in hidden if one is not None})
