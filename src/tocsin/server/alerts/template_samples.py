"""Made-up events, for a look at what a template says where no real one is at hand.

Next: ``server/alerts/template_previews.py``.
"""

from __future__ import annotations

from uuid import uuid4

from tocsin.model.change import (
    SESSION_EVENTS,
    STILL_FAILING,
    STILL_WITHOUT_OWNER,
    SUITE_SUMMARY,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
)
from tocsin.model.entity import FIRST_VERSION, Document
from tocsin.model.people import Actor

_TAG: Document = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
_OWNER: Document = {"id": str(uuid4()), "type": "user", "name": "sample.owner", "displayName": "Sample Owner"}
_RESULT: Document = {
    "testCaseName": "sample.shop.public.orders.not_null",
    "status": "Failed",
    "timestamp": 1_767_225_600_000,
    "testCase": {"id": str(uuid4()), "type": "testCase", "name": "not_null"},
    "table": {"id": str(uuid4()), "type": "table", "name": "orders"},
}
_SUMMARY: Document = {
    "timestamp": 1_767_225_600_000,
    "status": "Failed",
    "failed": 1,
    "aborted": 0,
    "success": 9,
    "total": 10,
    "testCaseResultSummary": [_RESULT],
}
_STILL_FAILING: Document = {"since": 1_767_132_000_000, "failures": 3}
_REPORTING = ("testCase", "pipeline", "ingestionPipeline")
_OLD, _NEW = "Orders of the shop.", "Orders of the shop, one row per order."


def sample_event(resource: str, event_type: EventType | None, actor: Actor, now_ms: int) -> ChangeEvent:
    """Return an event of this type, ``entityUpdated`` if none is given, about a made-up asset of a type."""
    kind, name = event_type or EventType.ENTITY_UPDATED, f"sample_{resource}"
    fqn = f"sample.shop.public.{name}"
    return ChangeEvent(
        id=str(uuid4()),
        event_type=kind,
        entity_type=resource,
        entity_id=str(uuid4()),
        entity_fully_qualified_name=fqn,
        previous_version=None if kind is EventType.ENTITY_CREATED else FIRST_VERSION,
        current_version=FIRST_VERSION,
        user_name=actor.name,
        user_id=actor.id,
        timestamp=now_ms,
        change_description=_changes(resource, kind),
        entity=_entity(resource, name, fqn, kind),
    )


def _changes(resource: str, kind: EventType) -> ChangeDescription | None:
    if kind is EventType.ENTITY_CREATED:
        return None
    if kind in SESSION_EVENTS:
        return ChangeDescription()
    if kind is EventType.ENTITY_SOFT_DELETED:
        return ChangeDescription(fields_updated=(FieldChange(name="deleted", old_value=False, new_value=True),))
    if kind is EventType.TEST_SUITE_RUN_COMPLETED:
        return ChangeDescription(fields_added=(FieldChange(name=SUITE_SUMMARY, new_value=_SUMMARY),))
    if kind is EventType.SCHEDULED_CHECK:
        state = (STILL_FAILING, _STILL_FAILING) if resource in _REPORTING else (STILL_WITHOUT_OWNER, {})
        return ChangeDescription(fields_added=(FieldChange(name=state[0], new_value=state[1]),))
    if resource == "testCase":
        result = {"timestamp": 1_767_225_600_000, "testCaseStatus": "Failed", "result": "3 of 100 rows are null"}
        return ChangeDescription(fields_added=(FieldChange(name="testCaseResult", new_value=result),))
    return ChangeDescription(
        fields_added=(FieldChange(name="tags", new_value=[_TAG]),),
        fields_updated=(FieldChange(name="description", old_value=_OLD, new_value=_NEW),),
        fields_deleted=(FieldChange(name="owners", old_value=[_OWNER]),),
    )


def _entity(resource: str, name: str, fqn: str, kind: EventType) -> Document:
    entity: Document = {"id": str(uuid4()), "name": name, "displayName": name.replace("_", " ").title()}
    entity |= {"fullyQualifiedName": fqn, "description": _NEW, "tags": [_TAG], "owners": [_OWNER]}
    if kind is EventType.SCHEDULED_CHECK and resource not in _REPORTING:
        entity["owners"] = []
    if resource == "table":
        entity["columns"] = [{"name": "order_id", "dataType": "BIGINT"}, {"name": "email", "dataType": "STRING"}]
    return entity
