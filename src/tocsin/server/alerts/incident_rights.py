"""Rights to incidents of alerts: who sees one, and who may change it.

Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.errors import Forbidden, NotFound
from tocsin.model.access import Operation
from tocsin.model.alert_incident import AlertIncident
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.access.permissions import require
from tocsin.server.alerts.incident_json import subjects_of
from tocsin.server.request import Caller

ALERT_ROW = ENTITY_TYPES["eventsubscription"]


def found_incident(name: str, caller: Caller) -> AlertIncident:
    """Return an incident whose alert and asset the caller may see; to others it does not exist.

    Raises
    ------
    NotFound : there is none that the caller may see
    """
    require(caller, Operation.VIEW_BASIC, ALERT_ROW)
    incident = caller.parts.alert_stores.incidents.find(name)
    if incident is None or as_shown(caller, [incident]) == [None]:
        raise NotFound(f"incident {name} not found")
    return incident


def as_shown(caller: Caller, incidents: Sequence[AlertIncident]) -> list[AlertIncident | None]:
    """Return each of these incidents whose alert and asset the caller may see."""
    visible_ids = caller.visibility.sees(reference for one in incidents for reference in subjects_of(one))
    return [one if all(each["id"] in visible_ids for each in subjects_of(one)) else None for one in incidents]


def check_may_change(incident: AlertIncident, caller: Caller) -> None:
    """Refuse who is neither assigned to it nor may edit its alert or asset; who made an alert is one of its owners.

    Raises
    ------
    Forbidden : the caller may not
    """
    permissions, assignee = caller.permissions, incident.assignee
    if caller.actor.is_admin or (assignee and assignee["id"] in {caller.actor.id, *permissions.subject.teams}):
        return
    documents = caller.parts.access.standing.of([incident.subscription_id, incident.entity_id])
    maker = caller.parts.alert_stores.events.creator_of(incident.subscription_id)
    for entity_id, operations in (
        (incident.subscription_id, (Operation.EDIT_ALL,)),
        (incident.entity_id, (Operation.EDIT_ALL, Operation.EDIT_TESTS)),
    ):
        kind, document = documents.get(entity_id, ("", {}))
        if maker and entity_id == incident.subscription_id:
            document = {**document, "owners": [*(document.get("owners") or ()), {"id": maker, "type": "user"}]}
        if any(permissions.may(operation, kind, document) for operation in operations):
            return
    raise Forbidden(f"Only the assignee of {incident.name} and editors of its alert or asset may change it.")
