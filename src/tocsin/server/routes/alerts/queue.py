"""Routes of an alert's queue: consumers claim its events, acknowledge them, give them back, or keep them longer.

Next: ``server/alerts/queue.py``.
"""

from __future__ import annotations

from fastapi import Response

from tocsin.errors import InvalidInput
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.subscription import BATCH_BY_ENTITY_TYPE, Channel
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts import queue
from tocsin.server.alerts.queue import DEFAULT_LEASE_S, LEASE_S, MOST_ITEMS, check_keys, parse_claims, whole_number
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, OptionalBody, PathId, answer
from tocsin.server.routes.alerts.subscriptions import check_writer

ROW = ENTITY_TYPES["eventsubscription"]

router = DeclaredRoutes(prefix=f"/{ROW.collection}/{{subscription_id}}/queue", tags=["subscriptions"])


@router.post("/claim", openapi_extra=answers("QueueItems", reads="QueueClaim"))
def claim(subscription_id: PathId, body: OptionalBody, caller: Asked) -> Response:
    """Claim the oldest free events of an alert's queue (`limit`, `leaseSeconds`); nobody else gets them meanwhile.

    With `groupBy` `entityType`, all of them are about entities of one type: that of the oldest free event.
    """
    alert_id = _queue_of(subscription_id, caller)
    check_keys(body, ("limit", "leaseSeconds", "groupBy"))
    if body.get("groupBy") not in (None, BATCH_BY_ENTITY_TYPE):
        raise InvalidInput(f"must be {BATCH_BY_ENTITY_TYPE}, or omitted", field="groupBy")
    limit = whole_number(body, "limit", (1, MOST_ITEMS), 1)
    lease_s = whole_number(body, "leaseSeconds", LEASE_S, DEFAULT_LEASE_S)
    return answer(queue.claim(alert_id, limit, lease_s, caller, by_type=body.get("groupBy") is not None))


@router.post("/acknowledge", openapi_extra=answers("QueueOutcomes", reads="QueueHeld"))
def acknowledge(subscription_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Acknowledge claimed events (`items` of `id` and `lease`): they are delivered; repeating it changes nothing."""
    alert_id = _queue_of(subscription_id, caller)
    check_keys(body, ("items",))
    return answer(queue.acknowledge(alert_id, parse_claims(body), caller))


@router.post("/release", openapi_extra=answers("QueueOutcomes", reads="QueueHeld"))
def release(subscription_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Give claimed events back (`items`): they can be claimed again at once."""
    alert_id = _queue_of(subscription_id, caller)
    check_keys(body, ("items",))
    return answer(queue.release(alert_id, parse_claims(body), caller))


@router.post("/extend", openapi_extra=answers("QueueOutcomes", reads="QueueExtension"))
def extend(subscription_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Keep claimed events longer (`items`, `leaseSeconds` from now)."""
    alert_id = _queue_of(subscription_id, caller)
    check_keys(body, ("items", "leaseSeconds"))
    lease_s = whole_number(body, "leaseSeconds", LEASE_S, DEFAULT_LEASE_S)
    return answer(queue.extend(alert_id, parse_claims(body), lease_s, caller))


def _queue_of(subscription_id: PathId, caller: Caller) -> str:
    """Return the id of an alert that the caller may edit and that has a queue."""
    document = visible_document(ROW, Key.by_id(str(subscription_id)), caller)
    check_writer(document, caller, Operation.EDIT_ALL)
    if not any(one["type"] == Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT for one in document["destinations"]):
        raise InvalidInput(
            f"Alert {document['name']} has no queue: it needs a destination of type"
            f" {Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT}."
        )
    return str(document["id"])
