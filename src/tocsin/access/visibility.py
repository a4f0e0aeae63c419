"""Decision whether a person may see an entity, used by every path that shows or sends anything.

The policies of one revision (``PolicySnapshot``) decide, on the current or last state of the entity; deleted users see
nothing.
Next: ``access/person_visibility.py`` for one person and many entities.
"""

from __future__ import annotations

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.model.access import Operation
from tocsin.model.change import ALERT_INCIDENT, LAG, LINEAGE, SUITE_SUMMARY, VIOLATION, ChangeDescription, ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.people import Actor, Person
from tocsin.model.thread import THREAD

TypedDocument = tuple[str, Document]
"""The type of an entity that an event is about, and its document as it is now, or was last."""

_CONCERNED = {
    LINEAGE: ("fromEntity", "toEntity"),
    VIOLATION: ("entity",),
    ALERT_INCIDENT: ("alert",),
    LAG: ("alert",),
}
"""Field changes that concern other entities more than their own, and the keys that name those."""

CONCERNING = frozenset({*_CONCERNED, SUITE_SUMMARY})
"""Fields by whose changes an event has other subjects than its entity."""


def subjects_of(event: ChangeEvent) -> list[Document]:
    """Return references to all subjects of an event: its entity or, of a thread, the asset that it is about.

    Other entities named by the event, such as the ends of an edge, are subjects, too; of the run of a test suite, its
    tests.
    """
    if event.entity_type == THREAD:
        return [(event.entity or {}).get("entityRef") or {}]
    references: list[Document] = [{"type": event.entity_type, "id": event.entity_id}]
    change = event.change_description or ChangeDescription()
    for field_change in (*change.fields_added, *change.fields_updated, *change.fields_deleted):
        for key in _CONCERNED.get(field_change.name, ()):
            ends = (
                value.get(key) for value in (field_change.old_value, field_change.new_value) if isinstance(value, dict)
            )
            references += [end for end in ends if isinstance(end, dict) and end.get("id")]
        if field_change.name == SUITE_SUMMARY and isinstance(field_change.new_value, dict):
            tests = field_change.new_value.get("testCaseResultSummary") or ()
            references += [one["testCase"] for one in tests]  # which are as visible as their tables
    return references


def may_view(viewer: Actor | Person, resource: str, document: Document, policies: PolicySnapshot) -> bool:
    """Return whether ``viewer`` may see the entity of type ``resource`` in ``document``."""
    if isinstance(viewer, Person) and viewer.deleted:
        return False
    if viewer.is_admin or (not viewer.is_bot and policies.is_open(resource)):
        return True
    return policies.of(viewer.id).may(Operation.VIEW_BASIC, resource, document)
