"""One event through all seven stages, in order. Read this first.

This is the whole pipeline in plain Python for one event: it serves previews and explanations, and tests compare Spark
with it. In production ``jobs/match_stream.py`` runs the same stages for many events up to *schedule*, and
``worker/deliver.py`` runs the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.clock import Clock
from tocsin.conditions.relations import EVERYBODY
from tocsin.flow.match.cascade import cascades_of, links_of, with_triggered
from tocsin.flow.match.local import accepted_answers, matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import StatusReport, with_facts
from tocsin.flow.resolve.audience import audience_of
from tocsin.flow.resolve.directory import Directory
from tocsin.flow.resolve.local import Recipient, recipients
from tocsin.flow.resolve.recipient_rules import recipient_rules
from tocsin.flow.schedule.messages import ScheduledNotification, scheduled_notifications, timings_of
from tocsin.flow.schedule.preferences import NO_PREFERENCES, Preferred
from tocsin.flow.schedule.roots import RootsOfAlerts, by_root, under_roots
from tocsin.flow.send.channels.table import GATHERINGS
from tocsin.flow.send.dispatch import Dispatch, Sender
from tocsin.flow.send.retry import wait_s
from tocsin.flow.track.attempts import Finished, next_step
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.message import Attempt, Entry, Message, Retry
from tocsin.model.notification_draft import NotificationDraft, head_of
from tocsin.model.stored import Written
from tocsin.model.subscription import EventSubscription

_MIDWAY = 0.5
"""Jitter that neither shortens nor lengthens a wait."""


@dataclass(frozen=True)
class World:
    """External dependencies of the stages.

    ``read`` returns an event from the log; ``channels`` are the delivery channels, by name; without
    ``policies`` everybody may see everything. ``earlier`` returns the previous reports of an event's entity,
    ``roots`` the lineage roots of an event for those of some alerts that group by them, ``preferred`` what the
    recipients of some notifications prefer.
    """

    read: Callable[[str], LoggedEvent | None]
    subscriptions: Sequence[EventSubscription]
    directory: Directory
    channels: Mapping[str, Sender]
    clock: Clock
    policies: PolicySnapshot | None = None
    earlier: Callable[[LoggedEvent], Sequence[StatusReport]] = lambda _logged: ()
    roots: Callable[[LoggedEvent, Sequence[str]], RootsOfAlerts] = lambda _logged, _alerts: MappingProxyType({})
    preferred: Callable[[Sequence[NotificationDraft]], Preferred] = lambda _drafts: NO_PREFERENCES


@dataclass(frozen=True)
class Notified:
    """One notification, and the outcome of sending its message; None for the inbox and for what is due later."""

    scheduled: ScheduledNotification
    finished: Finished | None


async def once(write: Callable[[], Written], world: World) -> tuple[Notified, ...]:
    """Make one write, notify the recipients, and return the notifications with their outcomes."""
    written = write()  # 1 capture: compare, next version, change event; nothing changed means no event
    logged = world.read(written.event.id) if written.event else None  # 2 eventlog: at its place in the order
    if logged is None:
        return ()
    logged = with_facts(logged, world.earlier(logged))
    matched = [one for one in world.subscriptions if matches(plan_of(one), logged)]  # 3 match
    matched = with_triggered_alerts(matched, logged, world.subscriptions)
    notified = notifications_for(logged, matched, world)  # 4 resolve, 5 schedule
    return tuple([await _send(one, logged.event, matched, world) for one in notified])  # 6 send, 7 track


def with_triggered_alerts(
    matched: Sequence[EventSubscription], logged: LoggedEvent, subscriptions: Sequence[EventSubscription]
) -> list[EventSubscription]:
    """Return the alerts that match, and those of ``subscriptions`` that they trigger."""
    links = {one.id: links_of(one) for one in subscriptions if one.enabled}
    triggered_ids, _ = with_triggered({one.id: 1 for one in matched}, logged.offset, cascades_of(links))
    return [*matched, *(one for one in subscriptions if one.id in triggered_ids and one not in matched)]


def notifications_for(
    logged: LoggedEvent, matched: Sequence[EventSubscription], world: World
) -> list[ScheduledNotification]:
    """Return the notifications that ``logged`` gives when exactly these subscriptions match it."""
    permitted = [one for one in recipients_of(logged, matched, world) if _may_be_notified(one, logged.event, world)]
    timings = timings_of(matched)
    root_alerts = by_root([one.id for one in matched], timings)
    roots = world.roots(logged, root_alerts) if root_alerts else {}
    event = head_of(logged)
    drafts = list(under_roots((recipient.draft(event) for recipient in permitted), roots))
    preferred = world.preferred(drafts)
    return list(  # 5 schedule: now, at a time, or together with others
        scheduled_notifications(
            drafts, timings, now_ms=world.clock.now_ms(), gatherings=GATHERINGS, preferred=preferred
        )
    )


def recipients_of(logged: LoggedEvent, matched: Sequence[EventSubscription], world: World) -> tuple[Recipient, ...]:
    """Return whom these subscriptions notify of ``logged``, each once with all reasons."""
    plans = {one.id: plan_of(one) for one in matched}
    rules = [rule for one in matched for rule in recipient_rules(one, plans[one.id].questions)]
    # what is triggered asks nothing
    accepted = {key: accepted_answers(plan, logged) or EVERYBODY for key, plan in plans.items()}
    audience = audience_of({logged.event.entity_id}, rules, world.directory)
    return recipients(logged, rules, audience, accepted)


def _may_be_notified(recipient: Recipient, event: ChangeEvent, world: World) -> bool:
    if world.policies is None or recipient.user_id is None:
        return True
    return world.policies.of(recipient.user_id).may(Operation.VIEW_BASIC, event.entity_type, event.entity or {})


async def _send(
    scheduled: ScheduledNotification, event: ChangeEvent, matched: Sequence[EventSubscription], world: World
) -> Notified:
    started_at_ms = world.clock.now_ms()
    if scheduled.message_id is None or scheduled.slot.due_at_ms > started_at_ms:
        return Notified(scheduled, None)
    senders = {alert.id: alert for alert in matched}
    message, draft = _message(scheduled, scheduled.message_id), scheduled.draft
    reasons = draft.reasons.in_order
    entry = Entry(scheduled.id, draft.event.offset, event, reasons, draft.recipient_id)
    dispatch = Dispatch(message, (entry,))
    destination = next(to for to in senders[message.subscription_id].destinations if to.id == message.destination_id)
    outcome = await world.channels[message.channel].send(dispatch, destination, now_ms=started_at_ms)
    attempt = Attempt(message.id, 1, started_at_ms, world.clock.now_ms() - started_at_ms, outcome)
    pause_s = wait_s(outcome, attempt.number, jitter=_MIDWAY) if isinstance(outcome, Retry) else 0.0
    retries = max(senders[reason.subscription_id].retries for reason in reasons)
    return Notified(
        scheduled, Finished(message, attempt, next_step(attempt, retries=retries, wait_s=pause_s), (entry,))
    )


def _message(scheduled: ScheduledNotification, identity: str) -> Message:
    subscription_id, destination_id = scheduled.sender
    return Message(
        id=identity,
        subscription_id=subscription_id,
        destination_id=destination_id,
        channel=scheduled.draft.channel,
        target=scheduled.draft.target,
        attempt_count=0,
        due_at_ms=scheduled.slot.due_at_ms,
        created_at_ms=scheduled.created_at_ms,
    )
