"""Sample event and dispatch for the tests of sending."""

from __future__ import annotations

from typing import Any

from tocsin.delivery.dispatch import Dispatch, Share
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.message import CarriedEvent, Entry, Message
from tocsin.model.notification import Reason, ReasonKind

NOW_MS = 1_760_000_000_000
MESSAGE_ID = "0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11"


def update_of(name: str, old: Any = None, new: Any = None) -> ChangeDescription:
    return ChangeDescription(fields_updated=(FieldChange(name=name, old_value=old, new_value=new),))


def addition_of(name: str, new: Any) -> ChangeDescription:
    return ChangeDescription(fields_added=(FieldChange(name=name, new_value=new),))


def deletion_of(name: str, old: Any) -> ChangeDescription:
    return ChangeDescription(fields_deleted=(FieldChange(name=name, old_value=old),))


COLUMN_REMOVED = deletion_of("columns", [{"name": "email", "dataType": "VARCHAR"}])


def change_event(described: ChangeDescription | None = COLUMN_REMOVED, **fields: Any) -> ChangeEvent:
    return ChangeEvent(
        **{
            "id": "0199c6f2-7c00-7000-8000-000000000001",
            "event_type": EventType.ENTITY_UPDATED,
            "entity_type": "table",
            "entity_id": "123e4567-e89b-12d3-a456-426614174000",
            "entity_fully_qualified_name": "acme.shop.public.orders",
            "previous_version": "0.9",
            "current_version": "1.9",
            "user_name": "jane.smith",
            "user_id": "789e0123-e89b-12d3-a456-426614174222",
            "timestamp": NOW_MS,
            "change_description": described,
            "entity": {"id": "123e4567-e89b-12d3-a456-426614174000", "name": "orders"},
            **fields,
        }
    )


def dispatch(event: ChangeEvent | None = None, *, target: str = "dana@example.com", **fields: Any) -> Dispatch:
    message = Message(
        id=MESSAGE_ID,
        subscription_id="s",
        destination_id="d",
        channel="Email",
        target=target,
        attempt_count=0,
        due_at_ms=NOW_MS,
        created_at_ms=NOW_MS,
    )
    return Dispatch(
        message, (Entry("n", 42, CarriedEvent.of(event or change_event()), fields.pop("reasons", (OWNER,))),), **fields
    )


SHARES_OF_FIVE = {"s": Share(5)}
OWNER = Reason(
    kind=ReasonKind.OWNER, subscription_id="s", subscription_name="schema changes", destination_id="d", team=None
)
