"""Right to change an incident: of its assignee, and of who may edit its asset, its tests or the table of a test.

Next: ``server/alerts/incidents.py``, and ``store/outbox/send_permission.py`` for the buttons in messages.
"""

from __future__ import annotations

from collections.abc import Mapping

from tocsin.access.decide import Permissions
from tocsin.access.visibility import TypedDocument
from tocsin.model.access import Operation
from tocsin.model.alert_incident import OpenIncident

_EDITING = (Operation.EDIT_ALL, Operation.EDIT_TESTS)
_NOTHING: TypedDocument = ("", {})


def may_change_incident(permissions: Permissions, assignee_id: str | None, asset: TypedDocument | None) -> bool:
    """Return whether a person is assigned to an incident, directly or by a team, or may edit its asset.

    Of a test that is the test itself; ``may_edit_table`` asks for its table.
    """
    person = permissions.subject
    if person.is_admin or (assignee_id is not None and assignee_id in {person.id, *person.teams}):
        return True
    kind, document = asset or _NOTHING
    return any(permissions.may(operation, kind, document) for operation in _EDITING)


def may_acknowledge(
    incident: OpenIncident,
    permissions: Permissions,
    assets: Mapping[str, TypedDocument],
    tables: Mapping[str, TypedDocument],
) -> bool:
    """Return whether a person may acknowledge an incident, or the one that it is part of.

    For buttons in messages and advice in inboxes; the API asks ``may_change`` of ``server/alerts/incidents.py``.
    ``assets`` are by id; ``tables`` are those that tests among them test, by the id of the test.
    """
    return any(
        may_change_incident(permissions, place.assignee_id, assets.get(place.entity_id))
        or may_edit_table(permissions, tables.get(place.entity_id))
        for place in incident.places
    )


def may_edit_table(permissions: Permissions, table: TypedDocument | None) -> bool:
    """Return whether a person may change the incident of a test because they may edit the table that it tests."""
    return table is not None and may_change_incident(permissions, None, table)
