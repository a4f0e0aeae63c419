"""Test sends to destinations: one artificial event, actually sent, and its outcome.

The receiver's response is reported as a status and a reason, never its body: a test send must not be usable to
probe the internal network. Next: ``flow/send/channels``.
"""

from __future__ import annotations

from uuid import uuid4

from tocsin.flow.send.channels.table import CHANNELS
from tocsin.flow.send.dispatch import Dispatch
from tocsin.flow.send.templates.rich_text import RichText
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import FIRST_VERSION, Document
from tocsin.model.message import Delivered, Entry, Message, Outcome
from tocsin.model.people import Actor
from tocsin.model.subscription import Destination
from tocsin.settings import Settings

NOBODY = "00000000-0000-0000-0000-000000000000"


async def try_destination(
    destination: Destination, settings: Settings, event: ChangeEvent, *, now_ms: int, text: RichText | None = None
) -> Document:
    """Send ``event`` to ``destination``, in the words of a template if given; return ``testDestinationStatus``.

    Destinations inside Tocsin (the inbox, or mail to people by their role) have nowhere to be tried at: they succeed.
    """
    channel = CHANNELS[destination.type]
    targets, opened = channel.targets(destination), channel.open_sender
    if not targets or opened is None:
        return {"status": "Success", "statusInfo": "nothing leaves the house for a trial", "timestamp": now_ms}
    async with opened(settings, b"") as sender:
        dispatches = [trial_dispatch(destination, target, event, now_ms, text=text) for target in targets]
        outcomes = [await sender.send(dispatch, destination, now_ms=now_ms) for dispatch in dispatches]
    failed = [outcome for outcome in outcomes if not isinstance(outcome, Delivered)]
    return _status((failed or outcomes)[0], now_ms)


def trial_event(actor: Actor, now_ms: int) -> ChangeEvent:
    """Return a made-up event that says that it is a test."""
    return ChangeEvent(
        id=str(uuid4()),
        event_type=EventType.ENTITY_UPDATED,
        entity_type="table",
        entity_id=NOBODY,
        entity_fully_qualified_name="tocsin.test.destination",
        previous_version=FIRST_VERSION,
        current_version=FIRST_VERSION,
        user_name=actor.name,
        user_id=actor.id,
        timestamp=now_ms,
        change_description=ChangeDescription(
            fields_updated=(
                FieldChange(name="description", old_value="", new_value="This is a test of a destination."),
            )
        ),
    )


def trial_dispatch(
    destination: Destination, target: str, event: ChangeEvent, now_ms: int, *, text: RichText | None = None
) -> Dispatch:
    """Return a message about an event to an address; nothing of it is stored."""
    message = Message(
        id=str(uuid4()),
        subscription_id=NOBODY,
        destination_id=destination.id,
        channel=destination.type.value,
        target=target,
        attempt_count=0,
        due_at_ms=now_ms,
        created_at_ms=now_ms,
    )
    return Dispatch(message, (Entry(NOBODY, 0, event),), texts={NOBODY: text} if text else {})


def _status(outcome: Outcome, now_ms: int) -> Document:
    code = {} if outcome.status_code is None else {"statusCode": outcome.status_code}
    if isinstance(outcome, Delivered):
        return {"status": "Success", "timestamp": now_ms, **code}
    return {"status": "Failed", "reason": outcome.reason.value, "timestamp": now_ms, **code}
