"""One event through all seven stages, in order. Read this first.

This is the whole pipeline in plain Python for one event: it serves previews and explanations, and tests compare Spark
with it. In production ``jobs/match_stream.py`` runs the same stages for many events up to *schedule*, and
``worker/deliver.py`` runs the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tocsin.access.views import PolicySnapshot
from tocsin.clock import Clock
from tocsin.flow.match.local import asked_by, matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import StatusReport, with_facts
from tocsin.flow.resolve.audience import audience_of
from tocsin.flow.resolve.directory import Directory
from tocsin.flow.resolve.local import Recipient, recipients
from tocsin.flow.resolve.recipient_rules import recipient_rules
from tocsin.flow.schedule.due import Scheduled, schedule
from tocsin.flow.send.dispatch import Dispatch, Sender
from tocsin.flow.send.retry import wait_s
from tocsin.flow.track.attempts import Finished, next_step
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.message import Attempt, Entry, Message, Retry
from tocsin.model.stored import Written
from tocsin.model.subscription import EventSubscription

_MIDWAY = 0.5
"""Jitter that neither shortens nor lengthens a wait."""


@dataclass(frozen=True)
class World:
    """External dependencies of the stages.

    ``read`` returns an event from the log; ``channels`` are the delivery channels, by name; without
    ``policies`` everybody may see everything. ``earlier`` returns the previous reports of an event's entity.
    """

    read: Callable[[str], LoggedEvent | None]
    subscriptions: Sequence[EventSubscription]
    directory: Directory
    channels: Mapping[str, Sender]
    clock: Clock
    policies: PolicySnapshot | None = None
    earlier: Callable[[LoggedEvent], Sequence[StatusReport]] = lambda _logged: ()


@dataclass(frozen=True)
class Notified:
    """One notification, and the outcome of its message; the inbox needs none."""

    scheduled: Scheduled
    finished: Finished | None


async def once(write: Callable[[], Written], world: World) -> tuple[Notified, ...]:
    """Make one write, notify the recipients, and return the notifications with their outcomes."""
    written = write()  # 1 capture: compare, next version, change event; nothing changed means no event
    logged = world.read(written.event.id) if written.event else None  # 2 eventlog: at its place in the order
    if logged is None:
        return ()
    logged = with_facts(logged, world.earlier(logged))
    matched = [one for one in world.subscriptions if matches(plan_of(one), logged)]  # 3 match
    due = scheduled_for(logged, matched, world)  # 4 resolve, 5 schedule
    return tuple([await _sent(one, logged.event, matched, world) for one in due])  # 6 send, 7 track


def scheduled_for(logged: LoggedEvent, matched: Sequence[EventSubscription], world: World) -> list[Scheduled]:
    """Return the notifications that ``logged`` gives when exactly these subscriptions match it."""
    plans = {one.id: plan_of(one) for one in matched}
    rows = [row for one in matched for row in recipient_rules(one, plans[one.id].questions)]
    asked = {key: asked_by(plan, logged) for key, plan in plans.items()}
    audience = audience_of({logged.event.entity_id}, rows, world.directory)
    return [
        schedule(
            logged.event.id,
            logged.offset,
            channel=one.channel,
            key=one.key,
            target=one.target,
            user_id=one.user_id,
            reasons=one.reasons,
            now_ms=world.clock.now_ms(),
        )
        for one in recipients(logged, rows, audience, asked)
        if _may_be_notified(one, logged.event, world)
    ]


def _may_be_notified(recipient: Recipient, event: ChangeEvent, world: World) -> bool:
    if world.policies is None or recipient.user_id is None:
        return True
    return world.policies.of(recipient.user_id).may(Operation.VIEW_BASIC, event.entity_type, event.entity or {})


async def _sent(due: Scheduled, event: ChangeEvent, matched: Sequence[EventSubscription], world: World) -> Notified:
    if due.message_id is None:
        return Notified(due, None)  # the inbox row is all there is
    subscription = next(one for one in matched if one.id == due.reason.subscription_id)
    destination = next(one for one in subscription.destinations if one.id == due.reason.destination_id)
    message = _message(due, due.message_id)
    started_at_ms = world.clock.now_ms()
    entry = Entry(due.notification.id, due.notification.log_offset, event, due.notification.reasons)
    dispatch = Dispatch(message, (entry,))
    outcome = await world.channels[message.channel].send(dispatch, destination, now_ms=started_at_ms)
    attempt = Attempt(message.id, 1, started_at_ms, world.clock.now_ms() - started_at_ms, outcome)
    pause_s = wait_s(outcome, attempt.number, jitter=_MIDWAY) if isinstance(outcome, Retry) else 0.0
    step = next_step(attempt, retries=subscription.retries, wait_s=pause_s)
    return Notified(due, Finished(message, attempt, step, dispatch.entries))


def _message(due: Scheduled, identity: str) -> Message:
    notification = due.notification
    return Message(
        id=identity,
        subscription_id=due.reason.subscription_id,
        destination_id=due.reason.destination_id,
        channel=notification.channel,
        target=due.target,
        attempt_count=0,
        due_at_ms=notification.due_at_ms,
        created_at_ms=notification.created_at_ms,
    )
