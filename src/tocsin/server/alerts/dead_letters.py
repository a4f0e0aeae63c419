"""Dead letters and replays as the API shows them, limited to what the caller may edit and see.

Administrators have access to all, others to those of alerts that they may edit; of these, events that they may not view
are left out. Next: ``server/routes/alerts/deliveries.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from tocsin.delivery.channels.rehearsal import Rehearsed, rehearsed_requests
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.dispatch import Dispatch, without_dropped
from tocsin.delivery.lines import UTC
from tocsin.delivery.templates.accounts import TemplateAccounts
from tocsin.delivery.templates.choice import shares_of, word_message
from tocsin.delivery.templates.message_text import MessagePlace
from tocsin.delivery.transport.request import Recorder
from tocsin.delivery.wording.guidance import guidance_of
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.flow.capture.references import is_uuid
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.message import Entry, MessageStatus, OutcomeReason
from tocsin.model.own_address import own_address_of, shown_target
from tocsin.model.phrases import name_hint, suggestion_for
from tocsin.model.replay import DeadLetter, Replay, ReplayState, Selection
from tocsin.model.subscription import Channel, Destination, EventSubscription
from tocsin.server.alerts.event_shape import Worded, event_shape, word_entry
from tocsin.server.alerts.explanation_json import attempt_json
from tocsin.server.alerts.explanations import editable_alerts, may_edit_alert, visible_alerts
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, ID, TEXT, TIME, array, either, nullable
from tocsin.server.request import Caller

_NOT_EDITABLE = "Only administrators and editors of the alert may see and replay its messages."
_DEAD = (MessageStatus.FAILED, MessageStatus.RETRY_LIMIT_REACHED)


@dataclass(frozen=True)
class Wanted:
    """The filters of a request, as written; None: any value."""

    alert: str | None = None
    destination: str | None = None
    reason: str | None = None
    since: object = None
    until: object = None

    def selection(self, caller: Caller) -> Selection:
        """Return the selection, limited to alerts that the caller may edit.

        Raises
        ------
        InvalidInput : a reason or time that there is not
        NotFound : there is no such alert or destination, or none that the caller may see
        Forbidden : the caller may not edit it
        """
        now_ms = caller.parts.clock.now_ms()
        if self.reason is not None and self.reason not in tuple(OutcomeReason):
            raise InvalidInput(
                f"unknown reason {self.reason!r}; {suggestion_for(self.reason, tuple(OutcomeReason))}", field="reason"
            )
        times = {
            f"{name}_ms": moment(value, name, now_ms)
            for name, value in (("since", self.since), ("until", self.until))
            if value is not None
        }
        alert_ids = self._alerts(caller)
        return Selection(alert_ids, self._destinations(alert_ids, caller), self.reason, **times)

    def _alerts(self, caller: Caller) -> frozenset[str] | None:
        if self.alert is None and caller.actor.is_admin:
            return None
        visible = visible_alerts(caller)
        if self.alert is None:
            return frozenset(one.id for one in editable_alerts(visible, caller))
        alerts = [one for one in visible if self.alert in (one.id, one.name)]
        if not alerts and caller.actor.is_admin and is_uuid(self.alert):
            return frozenset([self.alert])  # a deleted one leaves its messages
        if not alerts:
            raise NotFound(f"alert {self.alert} not found{name_hint(self.alert, [one.name for one in visible])}")
        if not may_edit_alert(alerts[0], caller):
            raise Forbidden(_NOT_EDITABLE)
        return frozenset([alerts[0].id])

    def _destinations(self, alert_ids: frozenset[str] | None, caller: Caller) -> frozenset[str] | None:
        """Return the ids of the destinations with that id or name, of these alerts; a name may be that of several."""
        if self.destination is None:
            return None
        if is_uuid(self.destination):
            return frozenset([self.destination.lower()])  # a removed one leaves its messages
        alerts = caller.parts.subscriptions.list_all()
        destinations = [
            destination
            for alert in alerts
            if alert_ids is None or alert.id in alert_ids
            for destination in alert.destinations
            if destination.name
        ]
        ids = frozenset(one.id for one in destinations if one.name == self.destination)
        if not ids:
            names = {one.name for one in destinations if one.name}
            raise NotFound(f"destination {self.destination} not found{name_hint(self.destination, names)}")
        return ids


def shown_letters(letters: Sequence[DeadLetter], caller: Caller) -> list[DeadLetter | None]:
    """Return each of these messages with the events that the caller may view; None without any."""
    if caller.visibility.is_whole:
        return list(letters)
    events = iter(caller.visibility.visible_events([entry.event for one in letters for entry in one.entries]))
    return [_letter_with(one, list(islice(events, len(one.entries)))) for one in letters]


def found_letter(message_id: str, caller: Caller) -> DeadLetter:
    """Return a message that the caller may replay; raises what ``found_letters`` does."""
    return found_letters([message_id], caller)[0]


def found_letters(message_ids: Sequence[str], caller: Caller) -> list[DeadLetter]:
    """Return messages that the caller may replay: the number of statements does not grow with theirs.

    Raises
    ------
    NotFound : there is none of an id, or none of whose events the caller may view any
    Forbidden : the caller may not edit the alert of one
    """
    stored_letters = list(caller.parts.alert_stores.dead_letters.find_many(message_ids).values())
    visible_letters = {letter.id: letter for letter in shown_letters(stored_letters, caller) if letter}
    missing_id = next((one for one in message_ids if one not in visible_letters), None)
    if missing_id is not None:
        raise NotFound(f"message {missing_id} not found")
    if not caller.actor.is_admin:
        alert_ids = {letter.subscription_id for letter in visible_letters.values()}
        if len(editable_alerts(caller.parts.subscriptions.list_all(alert_ids), caller)) < len(alert_ids):
            raise Forbidden(_NOT_EDITABLE)
    return [visible_letters[one] for one in message_ids]


class ListedLetter(NamedTuple):
    """A dead letter, with its alert if that is still there, and the zone of who reads it."""

    letter: DeadLetter
    alert: EventSubscription | None
    zone: str = UTC

    @property
    def destination(self) -> Destination | None:
        """Return its destination, if that is still there."""
        destinations = self.alert.destinations if self.alert else ()
        return next((one for one in destinations if one.id == self.letter.destination_id), None)

    def events_json(self) -> list[Document]:
        """Return its events, in words with times in the reader's zone."""
        return [json_of(_EVENT, word_entry(entry, self.zone)) for entry in self.letter.entries]

    @property
    def alert_name(self) -> str | None:
        """Return the name of its alert; of a deleted one what it was called when it notified."""
        if self.alert is not None:
            return self.alert.name
        reasons = (reason for entry in self.letter.entries for reason in entry.reasons)
        names = (one.subscription_name for one in reasons if one.subscription_id == self.letter.subscription_id)
        return next((name for name in names if name), None)


_ALERT: Shape[ListedLetter] = {
    "id": (TEXT, lambda listed: listed.letter.subscription_id),
    "name": (nullable(TEXT), lambda listed: listed.alert_name),
    "deleted?": (FLAG, lambda listed: True if listed.alert is None else None),
}
_DESTINATION: Shape[ListedLetter] = {
    "id": (TEXT, lambda listed: listed.letter.destination_id),
    "name?": (TEXT, lambda listed: listed.destination.name if listed.destination else None),
    "category": (nullable(TEXT), lambda listed: listed.destination.category.value if listed.destination else None),
    "type": (either(*Channel), lambda listed: listed.letter.channel),
}
_EVENT: Shape[Worded[Entry]] = {
    **event_shape("id"),
    "offset": (COUNT, lambda worded: worded.entry.log_offset),
    "title": (TEXT, lambda worded: worded.text.headline),
    **event_shape("eventType", "entityType", "entityFullyQualifiedName"),
}
DEAD_LETTER: Shape[ListedLetter] = {
    "id": (ID | {"description": "The id of the message, its `webhook-id`."}, lambda listed: listed.letter.id),
    "alert": (schema_of(_ALERT), lambda listed: json_of(_ALERT, listed)),
    "destination": (schema_of(_DESTINATION), lambda listed: json_of(_DESTINATION, listed)),
    "recipient": (TEXT, lambda listed: shown_target(listed.letter.target)),
    "status": (either(*MessageStatus), lambda listed: listed.letter.status.value),
    "isDeadLetter": (FLAG, lambda listed: listed.letter.status in _DEAD),
    "reason": (nullable(TEXT), lambda listed: listed.letter.reason),
    "statusCode": (nullable(COUNT), lambda listed: listed.letter.status_code),
    "attemptCount": (COUNT, lambda listed: listed.letter.attempt_count),
    "createdAt": (TIME, lambda listed: listed.letter.created_at_ms),
    "updatedAt": (TIME, lambda listed: listed.letter.updated_at_ms),
    "notificationCount": (COUNT, lambda listed: listed.letter.notification_count),
    "events": (array(schema_of(_EVENT)), lambda listed: listed.events_json()),
}
"""A dead letter as a list shows it."""


def letters_json(letters: Sequence[DeadLetter], caller: Caller) -> list[Document]:
    """Return dead letters as a list shows them."""
    zone = caller.zone
    alerts = {one: caller.parts.subscriptions.find(one) for one in {letter.subscription_id for letter in letters}}
    return [json_of(DEAD_LETTER, ListedLetter(letter, alerts[letter.subscription_id], zone)) for letter in letters]


def attempts_json(message_id: str, caller: Caller) -> list[Document]:
    """Return all attempts at a message; receivers' answers are for administrators, why it was forgotten for all."""
    is_admin, attempts = caller.actor.is_admin, caller.parts.alert_stores.records.attempts(message_id)
    return [attempt_json(one, shows_answers=is_admin or one.reason == OutcomeReason.FORGOTTEN) for one in attempts]


def rehearsed_dispatch(letter: DeadLetter, caller: Caller) -> tuple[Dispatch, Destination] | str:
    """Return what a replay would send where, without what the last attempt left out; or why that is not shown."""
    stores = caller.parts.alert_stores
    message = stores.dead_letters.message(letter.id)
    dispatches = [] if message is None else stores.messages.dispatches([message])
    if not dispatches:
        return "its events are no longer stored"
    visible_events = caller.visibility.visible_events([one.event for one in dispatches[0].entries])
    if any(
        event is None or event != entry.event
        for event, entry in zip(visible_events, dispatches[0].entries, strict=True)
    ):
        return "you may not view all of its events"
    if own_address_of(letter.target) is not None:
        return "it goes to an address in the profile of its recipient"
    if letter.channel == Channel.PUSH:
        return "it goes to the browsers of its recipient, encrypted for each"
    route = stores.routes.of(letter.subscription_id).get(letter.destination_id)
    if route is None:
        return "the alert or its destination no longer exists"
    if route.waits_because is not None:
        return route.waits_because
    attempts = stores.records.attempts(letter.id)
    remaining = without_dropped(dispatches[0], attempts[-1].dropped if attempts else ()) or dispatches[0]
    whole_dispatch = replace(
        remaining,
        batch_size=route.batch_size,
        sends_arrays=route.sends_arrays,
        sends_types_apart=route.sends_types_apart,
    )
    whole_dispatch = _in_template_words(whole_dispatch, caller)
    config = route.destination.config.model_copy(update={"verification": None})
    return whole_dispatch, route.destination.model_copy(update={"config": config})


def _in_template_words(dispatch: Dispatch, caller: Caller) -> Dispatch:
    """Return a message with what it shows for each of its alerts, in the words of their templates."""
    stored = caller.parts.alert_stores.routes
    keys = {reason.destination_key for entry in dispatch.entries for reason in entry.reasons}
    routes = {alert: stored.of(alert) for alert, _ in keys}
    place = MessagePlace(dispatch.message.channel, caller.parts.settings.base_url(), zone=dispatch.zone)
    routes_by_key = {(alert, destination): routes[alert].get(destination) for alert, destination in keys}
    guidance = guidance_of(dispatch, routes_by_key)
    sized = replace(dispatch, shares=shares_of(routes_by_key), guidance=guidance)
    return word_message(sized, routes_by_key, stored.system_templates(), place, TemplateAccounts())[0]


async def rehearse(dispatch: Dispatch, destination: Destination, caller: Caller) -> list[Rehearsed]:
    """Return the requests that would carry a message, with masks in place of secrets."""
    from tocsin.delivery.channels.senders import SENDERS  # libraries of HTTP and mail, which no start needs

    open_sender = SENDERS.get(Channel(dispatch.message.channel))
    if open_sender is None:
        return []
    recorder = Recorder()
    async with open_sender(SenderSetup(caller.parts.settings, recorder=recorder)) as sender:
        await sender.send(dispatch, destination, now_ms=caller.parts.clock.now_ms())
    return rehearsed_requests(recorder, destination)


_PROGRESS: Shape[Replay] = {
    "total": (COUNT, lambda replay: replay.total_count),
    "waiting": (COUNT, lambda replay: replay.waiting_count),
    "delivered": (COUNT, lambda replay: replay.delivered_count),
    "failed": (COUNT, lambda replay: replay.failed_count),
    "takenBack": (COUNT, lambda replay: replay.taken_back_count),
}
REPLAY: Shape[Replay] = {
    "id": (ID, lambda replay: replay.id),
    "requestedBy": (ID, lambda replay: replay.requested_by),
    "requestedAt": (TIME, lambda replay: replay.requested_at_ms),
    "state": (either(*ReplayState), lambda replay: replay.state.value),
    "progress": (schema_of(_PROGRESS), lambda replay: json_of(_PROGRESS, replay)),
    "destinations?": (array(ID), lambda replay: _sorted_ids(replay.selection.destination_ids)),
    "reason?": (TEXT, lambda replay: replay.selection.reason),
    "since?": (TIME, lambda replay: replay.selection.since_ms),
    "until?": (TIME, lambda replay: replay.selection.until_ms),
    "endedAt?": (TIME, lambda replay: replay.ended_at_ms),
}
"""A replay as the API shows it."""


def _sorted_ids(ids: Collection[str] | None) -> list[str] | None:
    return None if ids is None else sorted(ids)


def _letter_with(letter: DeadLetter, events: Sequence[ChangeEvent | None]) -> DeadLetter | None:
    """Return a letter with what may be seen of the event of each entry; None where none of any may."""
    pairs = zip(letter.entries, events, strict=True)
    entries = tuple(entry.with_event(event) for entry, event in pairs if event is not None)
    return replace(letter, entries=entries) if entries else None
