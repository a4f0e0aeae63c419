"""Routes that write, test and monitor alerts; they are read like all entities, in ``server/routes/entities/crud.py``.

Secrets are split off before the event subscription is stored as an entity (``delivery/channels/masking.py``).
Next: ``alerts/request.py``.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated
from uuid import uuid4

from fastapi import Query, Response
from starlette.concurrency import run_in_threadpool

from tocsin.alerts.expiry import EXPIRES, check_expiry
from tocsin.alerts.former_names import NamedEntities, with_current_names
from tocsin.alerts.mistakes import mistakes_beside, word_remarks
from tocsin.alerts.private import check_sole_owner
from tocsin.alerts.quotas import check_quotas
from tocsin.alerts.related import RELATIONS
from tocsin.alerts.request import Alert, changed_secrets, check_alert, parse_alert
from tocsin.alerts.writes import add_editor, record_changed_secrets
from tocsin.catalogue.writes import Writes
from tocsin.delivery.lines import moment_text
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound, PreconditionFailed, Unavailable, WrongKey
from tocsin.flow.capture import etag, json_patch
from tocsin.flow.capture.operations import new_entity_id
from tocsin.flow.capture.prepare import merged_tags
from tocsin.flow.capture.redaction import Redaction
from tocsin.flow.match.remarks import Remark
from tocsin.flow.track.destination_status import UNTRIED, DestinationStatus
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, Written
from tocsin.model.subscription import (
    ALL_RESOURCES,
    Destination,
    SubscriptionState,
    with_destination_defaults,
    with_destination_names,
)
from tocsin.model.validation_errors import WARNING
from tocsin.server.access.misspelt_names import missing_references, misspelt_names
from tocsin.server.access.permissions import require, require_on, visible_document
from tocsin.server.alerts.facts import (
    check_trial,
    read_allowance,
    read_destination,
    read_names,
    read_receivers,
)
from tocsin.server.alerts.hourly_counts import count_alert, count_trials, own_address
from tocsin.server.alerts.related import check_related
from tocsin.server.alerts.trial import trial_event, try_destination
from tocsin.server.entities.destination_status import standings_shown, status_json
from tocsin.server.entities.serialize import past
from tocsin.server.http.body_values import list_in, patch_of
from tocsin.server.http.errors import explain
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.remarks import remarks_header
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import (
    Asked,
    Caller,
    DocumentBody,
    HardDelete,
    IfMatch,
    JsonBody,
    PathId,
    answer,
    list_answer,
)
from tocsin.server.routes.entities.crud import written_answer

ROW = ENTITY_TYPES["eventsubscription"]

_REMOVABLE = frozenset(
    "displayName description owners domains tags extension input config className notificationTemplate "
    "triggers dependsOn severity runbook expires toMeOnly search".split()
)
_TRIES = 40
"""Every try that fails is a change by another person: so many may change an alert at the same time."""

_MOST_TRIALS = 20
_MOST_REMARKS = 10
CHANGED_SECRETS = "X-Tocsin-Changed-Secrets"
"""The header of a dry run that names the secrets which would change, a JSON list: masked, they look the same."""

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["subscriptions"])


@router.post("", status_code=201, openapi_extra=answers("EventSubscription", reads="CreateEventSubscription"))
def create(body: DocumentBody, caller: Asked) -> Response:
    """Create an alert; every field is validated."""
    require_on(caller, Operation.CREATE, ROW.name)
    alert = _alert_of_request(body, None, caller)
    return _alert_answer(_create(alert, caller), alert, caller)


@router.put("", openapi_extra=answers("EventSubscription", reads="CreateEventSubscription", also=("200", "201")))
def create_or_update(
    body: DocumentBody, caller: Asked, *, dry_run: Annotated[bool, Query(alias="dryRun")] = False
) -> Response:
    """Create or update an alert by name; omitted keys stay unchanged. `dryRun=true` only returns the result."""
    name = body.get("name")
    before = _find_by_name(name, caller) if isinstance(name, str) else None
    if before is not None:
        write = _rehearse if dry_run else _replace
        return _change(Key.by_id(before["id"]), caller, lambda document: put_over(document, body), write=write)
    require(caller, Operation.CREATE, ROW)
    alert = _alert_of_request(body, None, caller)
    if dry_run:
        created = writes_of(caller).rehearsal().create(ROW.name, alert.document, actor=caller.actor)
        return _alert_answer(Written(created.document, None), alert, caller)
    return _alert_answer(_create(alert, caller), alert, caller)


@by_id_and_name(
    router.patch,
    "/{subscription_id}",
    name_parameter="name",
    openapi_extra=answers("EventSubscription", reads="JsonPatch"),
)
def patch(key: Key, body: JsonBody, caller: Asked, *, if_match: IfMatch = None) -> Response:
    """Apply a JSON Patch to an alert; the result is validated."""
    operations = patch_of(body)

    def change(document: Document) -> Document:
        redaction = Redaction(str(uuid4()))
        completed = with_destination_defaults(document)
        covered = redaction.hide(completed, caller.visibility.hidden_names_in(completed))
        patched: Document = redaction.restore(
            json_patch.apply(ROW.name, covered, operations, caller.parts.writes.bounds)
        )
        return patched

    return _change(key, caller, change, if_match=if_match)


@by_id_and_name(router.delete, "/{subscription_id}", name_parameter="name", openapi_extra=answers("EventSubscription"))
def delete(key: Key, caller: Asked, *, hard_delete: HardDelete = True, recursive: bool = False) -> Response:
    """Hard-delete an alert, whatever ``hardDelete`` and ``recursive`` are."""
    document = visible_document(ROW, key, caller)
    check_writer(document, caller, Operation.DELETE)
    if document.get("provider") == "system":
        raise Forbidden("This alert is required by Tocsin: it can be disabled, not deleted.")
    written = writes_of(caller).delete(ROW.name, Key.by_id(document["id"]), actor=caller.actor, hard=True)
    return answer(past(ROW, written.document, caller))


@router.get("/{subscription_id}/status", openapi_extra=answers("DestinationStatusPage"))
def list_status(subscription_id: PathId, caller: Asked) -> Response:
    """Return the destinations of an alert with ``statusDetails`` and ``breaker``."""
    data = destinations_json(Key.by_id(str(subscription_id)), caller)
    return list_answer(data)


@by_id_and_name(
    router.get,
    "/{subscription_id}/status/{destination_id}",
    name_parameter="name",
    openapi_extra=answers("SubscriptionStatus"),
)
def read_status(key: Key, destination_id: PathId, caller: Asked) -> Response:
    """Return the status of one destination."""
    return _one_status(key, str(destination_id), caller)


@router.put(
    "/{subscription_id}/status/{destination_id}", openapi_extra=answers("SubscriptionStatus", reads="Resumption")
)
def resume(subscription_id: PathId, destination_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Resume a destination that is paused or stopped (`{"status": "active"}`): waiting messages are sent."""
    key = Key.by_id(str(subscription_id))
    document = visible_document(ROW, key, caller)
    check_writer(document, caller, Operation.EDIT_ALL)
    _destination(document, str(destination_id))
    if body != {"status": SubscriptionState.ACTIVE.value}:
        raise InvalidInput('must be {"status": "active"}', field="status")
    caller.parts.standings.resume(document["id"], str(destination_id), now_ms=caller.parts.clock.now_ms())
    return _one_status(key, str(destination_id), caller)


@router.post("/validation/destination", openapi_extra=answers("Trial", reads="TrialRequest"))
async def try_one(body: DocumentBody, caller: Asked) -> Response:
    """Send a test event to one destination (``{"destination": …}``) and return the outcome."""
    return answer((await _try_all([body.get("destination")], caller))[0])


@router.post("/testDestination", openapi_extra=answers("TrialList", reads="TrialsRequest"))
async def try_many(body: DocumentBody, caller: Asked) -> Response:
    """Send a test event to several destinations (``{"destinations": […]}``) and return each outcome."""
    message = f"must be a list of 1 to {_MOST_TRIALS} destinations"
    return answer(await _try_all(list_in(body, "destinations", message, min_count=1, max_count=_MOST_TRIALS), caller))


async def _try_all(requested: list[object], caller: Caller) -> list[Document]:
    destinations = await run_in_threadpool(_to_be_tried, requested, caller)
    asker = await run_in_threadpool(own_address, caller)
    return [await _one_tried(destination, asker, caller) for destination in destinations]


def _to_be_tried(requested: list[object], caller: Caller) -> list[Destination]:
    """Return the destinations when all may be tried, and count what that sends: all of it or none."""
    require(caller, Operation.CREATE, ROW)
    destinations = [read_destination(one, caller) for one in requested]
    for destination in destinations:
        check_trial(destination, caller)
    count_trials(destinations, caller)
    return destinations


async def _one_tried(destination: Destination, asker: str | None, caller: Caller) -> Document:
    now_ms = caller.parts.clock.now_ms()
    event = trial_event(caller.actor, now_ms)
    status = await try_destination(destination, caller.parts.settings, event, now_ms=now_ms, asker=asker)
    return {"category": destination.category.value, "type": destination.type.value, "statusDetails": status}


def _alert_answer(written: Written, alert: Alert, caller: Caller) -> Response:
    """Return the answer to a write, with warnings about the alert's conditions in a header."""
    response = written_answer(ROW, written, caller)
    remarks = [*alert.remarks, *misspelt_names(alert.document, caller)][:_MOST_REMARKS]
    response.headers.update(remarks_header([remark.to_wire() for remark in remarks]))
    return response


def _find_by_name(name: str, caller: Caller) -> Document | None:
    try:
        return visible_document(ROW, Key.by_name(name), caller)
    except NotFound:
        return None


def _alert_of_request(request: Document, before: Document | None, caller: Caller, *, tells_all: bool = True) -> Alert:
    """Return the alert of a request; one that is refused with all of its mistakes, or the first alone."""
    rename_remarks: tuple[Remark, ...] = ()
    entities, asked_request = read_names(request, caller), request
    if entities.former:
        request, rename_remarks = with_current_names(request, before, entities)
    secrets = partial(caller.parts.subscriptions.secrets_of, before["id"]) if before else None
    try:
        draft = parse_alert(request, before=before, secrets=secrets, new_id=new_entity_id)
        alert = check_alert(draft, read_receivers(draft.names, caller.parts.alert_stores.names))
        if alert.needs_owner and not caller.actor.is_bot:
            alert.document["owners"] = [{"id": caller.actor.id, "type": "user"}]
        check_resources(alert.resources, caller)
        if EXPIRES in alert.document:
            check_expiry(alert.document, before or {}, caller.parts.clock.now_ms())
        if alert.subscription.to_me_only:
            check_sole_owner(alert.document, before or {}, caller.actor)
        if not alert.document.keys().isdisjoint(RELATIONS):
            check_related(alert.document, before, caller)
        if not caller.actor.is_admin:
            stored_alert = before or {}
            check_quotas(alert.document, alert.cost, stored_alert, read_allowance(alert.document, stored_alert, caller))
    except InvalidInput as error:
        if not tells_all:
            raise
        check = partial(_alert_of_request, before=before, caller=caller, tells_all=False)
        raise _with_other_mistakes(error, asked_request, entities, caller, check) from error
    return replace(alert, remarks=(*rename_remarks, *alert.remarks))


def _create(alert: Alert, caller: Caller) -> Written:
    """Store the secrets first, under an id chosen here: an alert must never be seen without them."""
    count_alert(caller)
    alert_id = new_entity_id()
    subscriptions = caller.parts.subscriptions
    subscriptions.keep_secrets(alert_id, alert.secrets)
    try:
        return writes_of(caller, lambda: alert_id).create(ROW.name, alert.document, actor=caller.actor)
    except (Conflict, InvalidInput, NotFound):
        subscriptions.forget(alert_id)
        raise


def _change(
    key: Key,
    caller: Caller,
    change: Callable[[Document], Document],
    *,
    if_match: str | None = None,
    write: Callable[[Document, Alert, Caller], Response] | None = None,
) -> Response:
    """Read, change, check and write; retry on a concurrent write."""
    for _ in range(_TRIES):
        before = visible_document(ROW, key, caller)
        if if_match is not None and not etag.holds(if_match, before):
            raise PreconditionFailed()
        check_writer(before, caller, Operation.EDIT_ALL)
        try:
            alert = _alert_of_request(change(before), before, caller)
            return (write or _replace)(before, alert, caller)
        except PreconditionFailed:
            continue
    raise Unavailable("Concurrent changes prevented the change of the alert. Send it again.")


def _rehearse(before: Document, alert: Alert, caller: Caller) -> Response:
    """Return what ``_replace`` would, writing nothing; a header names the secrets that would change."""
    stored_secrets = _known_secrets(before, caller)
    written = _write_difference(writes_of(caller).rehearsal(), before, alert, stored_secrets, caller)
    response = _alert_answer(written, alert, caller)
    if changed := changed_secrets(alert, before, stored_secrets):
        response.headers[CHANGED_SECRETS] = json.dumps(list(changed))
    return response


def _replace(before: Document, alert: Alert, caller: Caller) -> Response:
    """Write what differs. New secrets come before the alert that needs them, old ones go after it."""
    subscriptions, subscription_id = caller.parts.subscriptions, before["id"]
    stored_secrets = _known_secrets(before, caller)
    if alert.secrets != stored_secrets:  # before what is sent can go to where they lead it
        edited = partial(add_editor, alert_id=subscription_id)
        writes_of(caller).within(edited, actor=caller.actor)
    subscriptions.keep_secrets(subscription_id, {**alert.secrets, **stored_secrets})
    written = _write_difference(writes_of(caller), before, alert, stored_secrets, caller)
    subscriptions.keep_secrets(subscription_id, alert.secrets)
    return _alert_answer(written, alert, caller)


def _known_secrets(before: Document, caller: Caller) -> dict[str, Document]:
    with suppress(WrongKey):  # all that the alert needs was sent anew, or it would have been refused
        return caller.parts.subscriptions.secrets_of(before["id"])
    return {}


def _write_difference(
    writes: Writes, before: Document, alert: Alert, stored_secrets: Mapping[str, Document], caller: Caller
) -> Written:
    """Write what differs from ``before``; secrets that differ make a version where nothing else does."""
    removed_keys = [key for key in before if key in _REMOVABLE and key not in alert.document]
    operations: list[Document] = [{"op": "remove", "path": f"/{key}"} for key in removed_keys]
    operations += [
        {"op": "add", "path": f"/{key}", "value": value}
        for key, value in alert.document.items()
        if before.get(key) != value
    ]
    key = Key.by_id(before["id"])
    result = writes.patch(ROW.name, key, operations, actor=caller.actor, if_match=etag.strong_tag(before))
    secret_changes = changed_secrets(alert, before, stored_secrets)
    if result.event is not None or not secret_changes:
        return result
    revision = partial(
        record_changed_secrets, alert_id=before["id"], destination_ids=list(dict.fromkeys(secret_changes.values()))
    )
    return writes.within(revision, actor=caller.actor)


def put_over(before: Document, request: Document) -> Document:
    """Return the result of a PUT: its values, and the rest unchanged; it removes no tag."""
    values = {key: value for key, value in request.items() if value is not None}
    if before.get("tags") and _are_labels(values.get("tags")):
        values["tags"] = merged_tags(before["tags"], values["tags"])
    rules_given = {"filteringRules", "resources", "input"} & values.keys()
    old_values = {
        key: value for key, value in before.items() if not (rules_given and key in ("filteringRules", "input"))
    }
    return with_destination_names({**old_values, **values}, before)


def _are_labels(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and "tagFQN" in one for one in value)


def check_resources(resources: Iterable[str], caller: Caller) -> None:
    """Refuse an alert on what its maker may not view at all; what they may view in part, resolving narrows."""
    for resource in resources:
        require_on(caller, Operation.VIEW_BASIC, ROW.name if resource == ALL_RESOURCES else resource)


def check_writer(document: Document, caller: Caller, operation: Operation) -> None:
    """Refuse who may not; to policies, who made an alert is one of its owners."""
    if caller.actor.is_admin:
        return
    creator_id = caller.parts.alert_stores.events.creator_of(document["id"])
    made_by = [{"id": creator_id, "type": "user"}] if creator_id else []
    require(caller, operation, ROW, {**document, "owners": [*(document.get("owners") or ()), *made_by]})


def writes_of(caller: Caller, new_id: Callable[[], str] = new_entity_id) -> Writes:
    """Return writes without permission checks: an alert's creator counts as its owner, which only this module knows."""
    return Writes(caller.parts.catalogue, caller.parts.clock, new_id, bounds=caller.parts.writes.bounds)


def destinations_json(key: Key, caller: Caller) -> list[Document]:
    """Return the destinations of an alert, each with its status and breaker."""
    document = visible_document(ROW, key, caller)
    standings = standings_shown([document], caller).get(document["id"], {})
    return [
        {**destination, **_state(document, destination, standings.get(destination["id"]), caller)}
        for destination in past(ROW, document, caller)["destinations"]
    ]


def _one_status(key: Key, destination_id: str, caller: Caller) -> Response:
    document = visible_document(ROW, key, caller)
    destination = _destination(document, destination_id)
    standings = standings_shown([document], caller).get(document["id"], {})
    return answer(status_json(document, destination, standings.get(destination_id)))


def _destination(document: Document, destination_id: str) -> Document:
    destination: Document | None = next((one for one in document["destinations"] if one["id"] == destination_id), None)
    if destination is None:
        raise NotFound(f"Alert {document['name']} has no destination {destination_id}.")
    return destination


def _state(alert: Document, destination: Document, standing: DestinationStatus | None, caller: Caller) -> Document:
    pause = (standing or UNTRIED).pause_to_wire()
    if "stoppedAt" in pause:
        pause["message"] = _how_to_resume(alert, pause, caller.zone)
    return {"statusDetails": status_json(alert, destination, standing), "breaker": pause}


def _how_to_resume(alert: Document, pause: Document, zone: str) -> str:
    since, failing_since = (moment_text(pause[key], zone) for key in ("stoppedAt", "failingSince"))
    why = (
        "its receiver answers that it is gone" if pause["because"] == "gone" else f"all failed from {failing_since} on"
    )
    return (
        f"Stopped since {since}: {why}. Its messages wait until it is resumed (tocsin alerts resume"
        f" {shlex.quote(alert['name'])}) or the alert is changed."
    )


def _with_other_mistakes(
    error: InvalidInput,
    request: Document,
    entities: NamedEntities,
    caller: Caller,
    check: Callable[[Document], object],
) -> InvalidInput:
    """Return the error of a request with its other mistakes and the misspelt names in it, each with its field."""
    known_names = entities.existing.keys() | entities.former.keys()
    mistakes = (*mistakes_beside(error, request, known_names, check), *missing_references(request, caller))
    other_texts = [_placed_text(one) for one in mistakes]
    remarks = (*word_remarks(request), *misspelt_names(request, caller))
    other_texts += [f"{one.field}: {WARNING}{one.message}" for one in remarks]
    return InvalidInput("; ".join((_placed_text(error), *other_texts))) if other_texts else error


def _placed_text(error: InvalidInput) -> str:
    """Return what an error says, after its field: a message may name that in other words."""
    text = explain(error)
    return text if error.field is None or text.startswith(f"{error.field}: ") else f"{error.field}: {text}"
