"""How are alerts written, tried and watched? Event subscriptions; reading one is in ``routes/entities.py``.

Secrets are split off before the subscription becomes an entity (``store/masking.py``).
Next: ``server/alerts/request.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool

from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed
from tocsin.flow.capture import etag, json_patch
from tocsin.flow.capture.operations import Writes, new_entity_id
from tocsin.flow.capture.ports import Key, Written
from tocsin.flow.track.standing import Standing
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import AlertType, SubscriptionState
from tocsin.server.alerts.request import Alert, checked_alert, checked_destination
from tocsin.server.alerts.trial import try_destination
from tocsin.server.permissions import check_alert
from tocsin.server.request import Asked, Caller, DocumentBody, Fields, JsonBody, Limit, PathId, PathText, answer
from tocsin.server.routes.entities import IfMatch, found, written_answer
from tocsin.server.view import parse_fields, shown
from tocsin.store.listing import Listing, cursor_of, fqn_of

ROW = ENTITY_TYPES["eventsubscription"]

_REMOVABLE = frozenset(
    {"displayName", "description", "owners", "domains", "input", "config", "className", "notificationTemplate"}
)
_MOST = 1_000_000
_TRIES = 5
_MOST_TRIALS = 20

router = APIRouter(prefix=f"/{ROW.collection}", tags=["subscriptions"])


@router.post("", status_code=201)
def create(body: DocumentBody, caller: Asked) -> Response:
    """Create an alert; every field is checked, and the answer says what would work."""
    alert = _checked(body, None, caller)
    return written_answer(ROW, _create(alert, caller), caller)


@router.put("")
def create_or_update(body: DocumentBody, caller: Asked) -> Response:
    """Create an alert, or bring the one of that name to this state; keys left out stay as they are."""
    name = body.get("name")
    before = _named(name, caller) if isinstance(name, str) else None
    if before is None:
        return written_answer(ROW, _create(_checked(body, None, caller), caller), caller)
    return _change(Key.by_id(before["id"]), caller, lambda document: _put(document, body))


@router.get("")
def list_alerts(
    caller: Asked,
    *,
    alert_type: Annotated[AlertType | None, Query(alias="alertType")] = None,
    fields: Fields = None,
    limit: Limit = 10,
    after: Annotated[str | None, Query(max_length=8000)] = None,
) -> Response:
    """Return a page of alerts in the order of their names."""
    asked = parse_fields(ROW, fields)
    every = caller.parts.catalogue.list_entities(ROW.name, Listing(limit=_MOST)).documents
    wanted = [one for one in every if alert_type is None or one["alertType"] == alert_type]
    start = fqn_of(after) if after else ""
    rest = [one for one in wanted if one["fullyQualifiedName"] > start]
    page = rest[:limit]
    more = {"after": cursor_of(page[-1]["fullyQualifiedName"])} if page and len(rest) > limit else {}
    data = [shown(ROW, one, caller.root, fields=asked) for one in page]
    paging: Document = {"total": len(wanted), **more}
    return answer({"data": data, "paging": paging})


@router.patch("/name/{name}")
def patch_by_name(name: PathText, body: JsonBody, caller: Asked, *, if_match: IfMatch = None) -> Response:
    """Apply a JSON Patch to the alert of that name."""
    return _patch(Key.by_name(name), body, caller, if_match)


@router.patch("/{subscription_id}")
def patch(subscription_id: PathId, body: JsonBody, caller: Asked, *, if_match: IfMatch = None) -> Response:
    """Apply a JSON Patch to an alert; what comes out is checked as a new one is."""
    return _patch(Key.by_id(str(subscription_id)), body, caller, if_match)


@router.delete("/name/{name}")
def delete_by_name(name: PathText, caller: Asked) -> Response:
    """Delete the alert of that name for good."""
    return _delete(Key.by_name(name), caller)


@router.delete("/{subscription_id}")
def delete(subscription_id: PathId, caller: Asked) -> Response:
    """Delete an alert for good."""
    return _delete(Key.by_id(str(subscription_id)), caller)


@router.get("/{subscription_id}/status")
def list_status(subscription_id: PathId, caller: Asked) -> Response:
    """Return how every destination fares, as destinations with ``statusDetails``."""
    document = found(ROW, Key.by_id(str(subscription_id)), caller)
    standings = caller.parts.standings.of(document["id"])
    data = [
        {**destination, "statusDetails": _status(document, destination, standings.get(destination["id"]))}
        for destination in document["destinations"]
    ]
    return answer({"data": data, "paging": {"total": len(data)}})


@router.get("/{subscription_id}/status/{destination_id}")
def read_status(subscription_id: PathId, destination_id: PathId, caller: Asked) -> Response:
    """Return how one destination fares."""
    return _one_status(Key.by_id(str(subscription_id)), str(destination_id), caller)


@router.get("/name/{name}/status/{destination_id}")
def read_status_by_name(name: PathText, destination_id: PathId, caller: Asked) -> Response:
    """Return how one destination of the alert of that name fares."""
    return _one_status(Key.by_name(name), str(destination_id), caller)


@router.post("/validation/destination")
async def try_one(body: DocumentBody, caller: Asked) -> Response:
    """Send a made-up event to one destination (``{"destination": …}``) and return how that went."""
    return answer(await _tried(body.get("destination"), caller))


@router.post("/testDestination")
async def try_many(body: DocumentBody, caller: Asked) -> Response:
    """Send a made-up event to several destinations (``{"destinations": […]}``); each answers for itself."""
    given = body.get("destinations")
    if not isinstance(given, list) or not 0 < len(given) <= _MOST_TRIALS:
        raise InvalidInput(f"must be a list of 1 to {_MOST_TRIALS}", field="destinations")
    return answer([await _tried(one, caller) for one in given])


async def _tried(given: object, caller: Caller) -> Document:
    destination = await run_in_threadpool(checked_destination, given, caller.parts.people)
    now_ms = caller.parts.clock.now_ms()
    status = await try_destination(destination, caller.parts.settings, caller.actor, now_ms=now_ms)
    return {"category": destination.category.value, "type": destination.type.value, "statusDetails": status}


def _named(name: str, caller: Caller) -> Document | None:
    try:
        return found(ROW, Key.by_name(name), caller)
    except NotFound:
        return None


def _checked(request: Document, before: Document | None, caller: Caller) -> Alert:
    secrets = caller.parts.subscriptions.secrets_of(before["id"]) if before else {}
    return checked_alert(request, before=before, secrets=secrets, names=caller.parts.people, new_id=new_entity_id)


def _create(alert: Alert, caller: Caller) -> Written:
    """Store the secrets first, under an id chosen here: an alert must never be seen without them."""
    chosen = new_entity_id()
    subscriptions = caller.parts.subscriptions
    subscriptions.keep_secrets(chosen, alert.secrets)
    try:
        writes = Writes(caller.parts.catalogue, caller.parts.clock, lambda: chosen)
        return writes.create(ROW.name, alert.document, actor=caller.actor)
    except (Conflict, InvalidInput, NotFound):
        subscriptions.forget(chosen)
        raise


def _patch(key: Key, operations: object, caller: Caller, if_match: str | None) -> Response:
    if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
        raise InvalidInput("A JSON Patch is a list of operations.")
    return _change(key, caller, lambda document: json_patch.apply(ROW.name, document, operations), if_match=if_match)


def _change(
    key: Key, caller: Caller, change: Callable[[Document], Document], *, if_match: str | None = None
) -> Response:
    """Read, change, check and write; when somebody else wrote in between, do it again on what they wrote."""
    for _ in range(_TRIES):
        before = found(ROW, key, caller)
        if if_match is not None and not etag.holds(if_match, before):
            raise PreconditionFailed()
        _check_writer(before, caller)
        try:
            return written_answer(ROW, _replace(before, _checked(change(before), before, caller), caller), caller)
        except PreconditionFailed:
            continue
    raise PreconditionFailed()


def _replace(before: Document, alert: Alert, caller: Caller) -> Written:
    """Write what differs. New secrets come before the alert that needs them, old ones go after it."""
    subscriptions, subscription_id = caller.parts.subscriptions, before["id"]
    known = subscriptions.secrets_of(subscription_id)
    subscriptions.keep_secrets(subscription_id, {**alert.secrets, **known})
    gone = [key for key in before if key in _REMOVABLE and key not in alert.document]
    operations: list[Document] = [{"op": "remove", "path": f"/{key}"} for key in gone]
    operations += [
        {"op": "add", "path": f"/{key}", "value": value}
        for key, value in alert.document.items()
        if before.get(key) != value
    ]
    written = caller.parts.writes.patch(
        ROW.name, Key.by_id(subscription_id), operations, actor=caller.actor, if_match=etag.strong_tag(before)
    )
    subscriptions.keep_secrets(subscription_id, alert.secrets)
    return written


def _put(before: Document, request: Document) -> Document:
    """Return what a PUT asks for: what it gives, and the rest as it was."""
    given = {key: value for key, value in request.items() if value is not None}
    rules_given = {"filteringRules", "resources", "input"} & given.keys()
    kept = {key: value for key, value in before.items() if not (rules_given and key in ("filteringRules", "input"))}
    return {**kept, **given}


def _delete(key: Key, caller: Caller) -> Response:
    document = found(ROW, key, caller)
    _check_writer(document, caller)
    if document.get("provider") == "system":
        raise Forbidden("This alert belongs to Tocsin: it can be disabled, not deleted.")
    written = caller.parts.writes.delete(ROW.name, Key.by_id(document["id"]), actor=caller.actor, hard=True)
    caller.parts.subscriptions.forget(document["id"])
    return answer(shown(ROW, written.document, caller.root))


def _check_writer(document: Document, caller: Caller) -> None:
    if caller.actor.is_admin:
        return
    first = caller.parts.catalogue.versions(document["id"])[-1]
    user = caller.parts.catalogue.get("user", Key.by_id(caller.actor.id))
    check_alert(caller.actor, document, first["updatedBy"], [team["id"] for team in user.get("teams") or ()])


def _one_status(key: Key, destination_id: str, caller: Caller) -> Response:
    document = found(ROW, key, caller)
    destination = next((one for one in document["destinations"] if one["id"] == destination_id), None)
    if destination is None:
        raise NotFound(f"Alert {document['name']} has no destination {destination_id}.")
    return answer(_status(document, destination, caller.parts.standings.of(document["id"]).get(destination_id)))


def _status(alert: Document, destination: Document, standing: Standing | None) -> Document:
    """Return upstream's ``subscriptionStatus``: what is switched off is disabled, what never failed active."""
    known: Document = standing.to_wire() if standing else {"timestamp": alert["updatedAt"]}
    if not alert.get("enabled", True) or not destination.get("enabled", True):
        return {**known, "status": SubscriptionState.DISABLED.value}
    return {"status": SubscriptionState.ACTIVE.value, **known}
