"""Queues of alerts as the API shows them: what is claimed and may be seen, and what becomes of it.

A claimed event is checked as a worker checks what it sends: alert, destination, and the rights of the alert's creator
and editors, of whom the claimer becomes one. What may not be seen is ended. Next: ``store/outbox/queue.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from tocsin.alerts.writes import add_editor
from tocsin.delivery.dispatch import Dispatch, Route
from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.errors import InvalidInput
from tocsin.flow.track.attempts import Finished, next_step
from tocsin.model.entity import Document
from tocsin.model.message import Attempt, Delivered, DroppedReason, Message, MessageStatus, OutcomeReason, Rejected
from tocsin.server.alerts.event_shape import reason_json
from tocsin.server.http.body_values import list_in, parse_id
from tocsin.server.request import Caller
from tocsin.store.outbox.queue import Lease

MOST_ITEMS = 100
LEASE_S = (5, 3600)
DEFAULT_LEASE_S = 60
_PORTIONS = 10
"""After so many portions of which nothing may be seen, a claim answers: the next one goes on."""


@dataclass(frozen=True)
class Held:
    """A message that a consumer says it holds, and under which lease."""

    id: str
    lease: str


def claim(alert_id: str, limit: int, lease_s: int, caller: Caller, *, by_type: bool = False) -> Document:
    """Claim events of an alert's queue; ``hasMore`` says that another claim may find some at once.

    ``by_type``: all of them are about entities of one type, that of the oldest free event which may be seen.
    """
    if not caller.actor.is_admin:
        caller.parts.writes.within(partial(add_editor, alert_id=alert_id), actor=caller.actor)
    stores, lease_id = caller.parts.alert_stores, str(uuid4())
    routes, items, has_more, entity_type = stores.routes.of(alert_id), list[Document](), False, None
    for _ in range(_PORTIONS):
        now_ms, room = caller.parts.clock.now_ms(), limit - len(items)
        if by_type and not items:
            entity_type = stores.queue.first_entity_type(alert_id, now_ms=now_ms)
        lease = Lease(lease_id, now_ms, now_ms + lease_s * 1000)
        messages = stores.queue.claim(alert_id, lease, room, entity_type=entity_type)
        terms = {"lease": lease.id, "leaseExpiresAt": lease.ends_at_ms}
        for dispatch, route in _open(messages, routes, lease.id, caller):
            items.append(_claimed_event(dispatch, route, caller) | terms)
        has_more = len(messages) == room
        if not messages or len(items) == limit:
            break
    if by_type:
        has_more = stores.queue.first_entity_type(alert_id, now_ms=caller.parts.clock.now_ms()) is not None
    return {"data": items, "hasMore": has_more} | ({"entityType": entity_type} if entity_type and items else {})


def acknowledge(alert_id: str, claims: Sequence[Held], caller: Caller) -> Document:
    """Record what consumers have dealt with; saying it again changes nothing."""
    stores, now_ms = caller.parts.alert_stores, caller.parts.clock.now_ms()
    queued_by_id = stores.queue.find(alert_id, {claim.id for claim in claims})
    outcome = Delivered(detail=f"acknowledged by {caller.actor.name}")
    finished_by_lease: dict[str, dict[str, Finished]] = {}
    for claim in claims:
        queued = queued_by_id.get(claim.id)
        if queued is not None and queued.status is MessageStatus.QUEUED and queued.lease == claim.lease:
            finished = _finished_message(queued.message, outcome, queued.updated_at_ms, now_ms)
            finished_by_lease.setdefault(claim.lease, {})[claim.id] = finished
    for lease, ended in sorted(finished_by_lease.items()):
        stores.messages.record(lease, list(ended.values()), now_ms=now_ms)
    return _outcomes_json(alert_id, claims, set(), {}, caller)


def release(alert_id: str, claims: Sequence[Held], caller: Caller) -> Document:
    """Give claimed events back before their lease ends."""
    queue, now_ms = caller.parts.alert_stores.queue, caller.parts.clock.now_ms()
    changed = {
        (lease, message_id)
        for lease, ids in _by_lease(claims).items()
        for message_id in queue.release(alert_id, lease, ids, now_ms=now_ms)
    }
    return _outcomes_json(alert_id, claims, changed, {"state": "released"}, caller)


def extend(alert_id: str, claims: Sequence[Held], lease_s: int, caller: Caller) -> Document:
    """Let the leases of claimed events end ``lease_s`` seconds from now."""
    queue, now_ms, lease_ms = caller.parts.alert_stores.queue, caller.parts.clock.now_ms(), lease_s * 1000
    changed = {
        (lease, message_id)
        for lease, ids in _by_lease(claims).items()
        for message_id in queue.extend(alert_id, lease, ids, now_ms=now_ms, lease_ms=lease_ms)
    }
    return _outcomes_json(alert_id, claims, changed, {"state": "extended", "leaseExpiresAt": now_ms + lease_ms}, caller)


def parse_claims(body: Document) -> list[Held]:
    """Return the ``items`` of a request.

    Raises
    ------
    InvalidInput : with the place of what is wrong
    """
    message = f"must be a list of 1 to {MOST_ITEMS} objects with id and lease"
    entries = list_in(body, "items", message, min_count=1, max_count=MOST_ITEMS)
    return [_parse_claim(one, f"items[{index}]") for index, one in enumerate(entries)]


def whole_number(body: Document, key: str, bounds: tuple[int, int], default: int) -> int:
    """Return a number of a request, or the default.

    Raises
    ------
    InvalidInput : it is no whole number within its bounds
    """
    value = body.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not bounds[0] <= value <= bounds[1]:
        raise InvalidInput(f"must be a whole number from {bounds[0]} to {bounds[1]}", field=key)
    return value


def check_keys(document: Document, known_keys: Sequence[str], place: str = "") -> None:
    """Refuse keys that are unknown.

    Raises
    ------
    InvalidInput : names the first of them
    """
    if unknown := sorted(document.keys() - set(known_keys)):
        raise InvalidInput(f"is unknown; known keys: {', '.join(known_keys)}", field=f"{place}{unknown[0]}")


def _parse_claim(entry: object, place: str) -> Held:
    if not isinstance(entry, dict):
        raise InvalidInput("must be an object with id and lease", field=place)
    check_keys(entry, ("id", "lease"), f"{place}.")
    item_id = parse_id(entry.get("id"), "must be the id of a claimed item", field=f"{place}.id")
    lease = parse_id(entry.get("lease"), "must be the lease of a claimed item", field=f"{place}.lease")
    return Held(item_id, lease)


def _open(
    messages: Sequence[Message], routes: dict[str, Route], lease: str, caller: Caller
) -> list[tuple[Dispatch, Route]]:
    """Return those of these messages that may be seen now; the others end."""
    stores, now_ms = caller.parts.alert_stores, caller.parts.clock.now_ms()
    dispatches = {one.message.id: one for one in stores.messages.dispatches(messages)} if messages else {}
    visible: list[tuple[Dispatch, Route]] = []
    finished_messages: list[Finished] = []
    for message in messages:
        dispatch, route = dispatches.get(message.id), routes.get(message.destination_id)
        obstacle = _obstacle_of(dispatch, route)
        drops: tuple[DroppedReason, ...] = ()
        if obstacle is None and dispatch is not None and route is not None:
            permitted_dispatch, drops = stores.permitted.permitted_part(dispatch, now_ms=now_ms)
            if permitted_dispatch is not None:
                visible.append((permitted_dispatch, route))
                continue
            says = "; ".join(dict.fromkeys(one.says for one in drops))
            obstacle = Rejected(drops[-1].because if drops else OutcomeReason.DISABLED, detail=f"not sent: {says}")
        outcome = obstacle or Rejected(OutcomeReason.INTERNAL_ERROR)
        finished_messages.append(_finished_message(message, outcome, now_ms, now_ms, drops))
    if finished_messages:
        stores.messages.record(lease, finished_messages, now_ms=now_ms)
    return visible


def _obstacle_of(dispatch: Dispatch | None, route: Route | None) -> Rejected | None:
    """Return what keeps a message from anybody; None if nothing does."""
    if dispatch is None:
        return Rejected(OutcomeReason.INTERNAL_ERROR, detail="its event is no longer stored")
    if route is None:
        return Rejected(OutcomeReason.DISABLED, detail="not sent: the destination no longer exists")
    if route.closed_because is not None:
        return Rejected(OutcomeReason.DISABLED, detail=f"not sent: {route.closed_because}")
    return None


def _claimed_event(dispatch: Dispatch, route: Route, caller: Caller) -> Document:
    settings, entry = caller.parts.settings, dispatch.first
    form = EVENT_FORMATS[route.destination.config.payload_format or settings.event_format]
    reasons = [reason_json(one, entry.event) for one in entry.reasons]
    return {
        "id": dispatch.message.id,
        "idempotencyKey": entry.carried.id,
        "event": form(entry.carried.as_wire(), settings.base_url()),
        "reasons": reasons,
    }


def _finished_message(
    message: Message,
    outcome: Delivered | Rejected,
    started_at_ms: int,
    now_ms: int,
    dropped: tuple[DroppedReason, ...] = (),
) -> Finished:
    duration_ms = max(0, min(now_ms - started_at_ms, 2**31 - 1))
    attempt = Attempt(message.id, message.attempt_count + 1, started_at_ms, duration_ms, outcome, dropped)
    return Finished(message, attempt, next_step(attempt, retries=0, wait_s=0.0))


def _by_lease(claims: Sequence[Held]) -> dict[str, list[str]]:
    ids_by_lease: dict[str, list[str]] = {}
    for claim in claims:
        ids_by_lease.setdefault(claim.lease, []).append(claim.id)
    return ids_by_lease


def _outcomes_json(
    alert_id: str, claims: Sequence[Held], changed: set[tuple[str, str]], change: Document, caller: Caller
) -> Document:
    queued_by_id = caller.parts.alert_stores.queue.find(alert_id, {one.id for one in claims})

    def outcome(claim: Held) -> Document:
        if (claim.lease, claim.id) in changed:
            return change
        if claim.id not in queued_by_id:
            return {"state": "notFound"}
        is_done = queued_by_id[claim.id].status is MessageStatus.DELIVERED
        return {"state": "acknowledged" if is_done else "leaseLost"}

    return {"data": [{"id": one.id, **outcome(one)} for one in claims]}
