"""Test sends to destinations: one artificial event, actually sent, and its outcome.

The receiver's response is reported as a status and a reason, never its body: a test send must not be usable to
probe the internal network. Next: ``delivery/channels``.
"""

from __future__ import annotations

from uuid import uuid4

from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.channels.table import CHANNELS, UNSENT
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.rich_text import RichText
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.entity import FIRST_VERSION, Document
from tocsin.model.message import CarriedEvent, Delivered, Entry, Message, Outcome, OutcomeReason
from tocsin.model.people import Actor
from tocsin.model.subscription import Channel, Destination
from tocsin.settings import Settings

_IN_THE_APP = "Nothing was sent: the inbox shows notifications once the pipeline has processed their event."
_IN_A_QUEUE = "Nothing was sent: consumers claim events from the queue once the pipeline has processed them."
_IN_BROWSERS = "Nothing was sent: a test is about no asset, whose people have browsers that take messages."
_TO_OWN_ADDRESSES = "Nothing was sent: a test is about no asset, whose owners and teams have addresses of their own."
_INSTEAD = "A test is about no asset, whose recipients could be written to: it was addressed to you instead."
_TO_NOBODY = (
    "Nothing was sent: a test is about no asset, whose recipients could be written to, and you have no address."
)
NOBODY = "00000000-0000-0000-0000-000000000000"


def trial_targets(destination: Destination, asker: str | None) -> tuple[str, ...]:
    """Return the addresses that a test of a destination writes to: those that it names, or else that of who asks.

    Owners, followers and the like are those of an asset, and nobody else is written to for a test.
    """
    channel = CHANNELS[destination.type]
    if _is_unsent(destination):
        return ()
    return channel.targets(destination) or ((asker,) if asker else ())


async def try_destination(
    destination: Destination,
    settings: Settings,
    event: ChangeEvent,
    *,
    now_ms: int,
    text: RichText | None = None,
    asker: str | None = None,
) -> Document:
    """Send ``event`` to ``destination``, in the words of a template if given; return ``testDestinationStatus``.

    ``asker`` is the e-mail address of who asks. ``statusInfo`` says what was not tried: the recipients of an asset, or
    the inbox, to which nothing is sent.
    """
    channel, targets = CHANNELS[destination.type], trial_targets(destination, asker)
    if _is_unsent(destination):
        return {"status": "Success", "statusInfo": _unsent(destination), "timestamp": now_ms}
    if not targets:
        bad = OutcomeReason.BAD_ADDRESS.value
        return {"status": "Failed", "reason": bad, "statusInfo": _TO_NOBODY, "timestamp": now_ms}
    from tocsin.delivery.channels.senders import SENDERS  # libraries of HTTP and mail, which no start needs

    async with SENDERS[destination.type](SenderSetup(settings)) as sender:
        dispatches = [trial_dispatch(destination, target, event, now_ms, text=text) for target in targets]
        outcomes = [await sender.send(dispatch, destination, now_ms=now_ms) for dispatch in dispatches]
    failures = [outcome for outcome in outcomes if not isinstance(outcome, Delivered)]
    instead = {} if channel.targets(destination) else {"statusInfo": _INSTEAD}
    return status_of((failures or outcomes)[0], now_ms) | instead


def _is_unsent(destination: Destination) -> bool:
    return destination.type in UNSENT or destination.type is Channel.PUSH or destination.uses_own_addresses


def _unsent(destination: Destination) -> str:
    if destination.uses_own_addresses:
        return _TO_OWN_ADDRESSES
    if destination.type is Channel.PUSH:
        return _IN_BROWSERS
    is_queue = destination.type is Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT
    return _IN_A_QUEUE if is_queue else _IN_THE_APP


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
    return Dispatch(message, (Entry(NOBODY, 0, CarriedEvent.of(event)),), texts={NOBODY: text} if text else {})


def status_of(outcome: Outcome, now_ms: int) -> Document:
    """Return the outcome of a test send as ``testDestinationStatus``: never what the receiver said."""
    code = {} if outcome.status_code is None else {"statusCode": outcome.status_code}
    if isinstance(outcome, Delivered):
        return {"status": "Success", "timestamp": now_ms, **code}
    return {"status": "Failed", "reason": outcome.reason.value, "timestamp": now_ms, **code}
