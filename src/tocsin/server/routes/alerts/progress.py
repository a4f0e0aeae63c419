"""Routes of an alert's progress: OpenMetadata's diagnostics, its failed and sent events, and the log of its deliveries.

OpenMetadata has them at ``/id/{id}/…`` and ``/name/{name}/…``; here they are at ``/{id}/…`` as well.
Next: ``server/alerts/progress.py``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response

from tocsin.alerts.writes import skip_backlog
from tocsin.clock import LATEST_MS
from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.subscription import EventSubscription
from tocsin.server.access.events import as_shown
from tocsin.server.access.pages import visible_page
from tocsin.server.access.permissions import require
from tocsin.server.alerts.explanations import tended_alerts, tends, visible_alerts
from tocsin.server.alerts.progress import (
    TO_SUBSCRIBER,
    PageAsked,
    alert_at,
    diagnosis_json,
    failed_json,
    log_json,
    progress_of,
    record_json,
    sent_json,
    shown_page,
    typed_json,
)
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, PathId, PathText, answer
from tocsin.server.routes.alerts.subscriptions import destinations_json, writes_of
from tocsin.store.database.cursors import place_of, place_text
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.outbox.deliveries import DeliveryPlace, FailedEvent, LogEntry

ROW = ENTITY_TYPES["eventsubscription"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAY_MS = 86_400_000
By = Literal["id", "name"]
Limit = Annotated[int, Query(ge=0, le=100)]
Skip = Annotated[int, Query(alias="paginationOffset", ge=0, le=10_000, description="Number of entries to skip.")]
CountsOnly = Annotated[bool, Query(alias="listCountOnly", description="Whether the events are only counted.")]
Source = Annotated[
    Literal["SUBSCRIBER", "PUBLISHER"] | None, Query(description="Where it failed; all failures here are SUBSCRIBER.")
]
EventStatus = Annotated[Literal["failed", "successful"] | None, Query()]
Day = Annotated[str | None, Query(max_length=40)]

router = APIRouter(prefix=f"/{ROW.collection}", tags=["subscriptions"])


@router.get("/listAllFailedEvents", openapi_extra=answers("FailedEventResponseList"))
def list_all_failed(caller: Asked, *, limit: Limit = 15, skip: Skip = 0, source: Source = None) -> Response:
    """Return failed events of all alerts that you may edit, the last failure first."""
    require(caller, Operation.VIEW_BASIC, ROW)
    ids = None
    if not caller.actor.is_admin:
        ids = frozenset(one.id for one in tended_alerts(visible_alerts(caller), caller))
    return answer(_failed_page(ids, PageAsked(limit, skip), source, caller))


@router.get("/{subscription_id}/diagnosticInfo", openapi_extra=answers("EventSubscriptionDiagnosticInfo"))
def read_diagnosis(
    subscription_id: PathId, caller: Asked, *, limit: Limit = 15, skip: Skip = 0, counts_only: CountsOnly = False
) -> Response:
    """Return how far an alert is in the log, and which events it has not seen yet (of 1,000 at most)."""
    alert = _alert("id", str(subscription_id), caller)
    return answer(diagnosis_json(alert, PageAsked(limit, skip), caller, counts_only=counts_only))


@router.get("/{by}/{key}/diagnosticInfo", openapi_extra=answers("EventSubscriptionDiagnosticInfo"))
def read_diagnosis_by(
    by: By, key: PathText, caller: Asked, *, limit: Limit = 15, skip: Skip = 0, counts_only: CountsOnly = False
) -> Response:
    """Return the same by `id` or `name`, as OpenMetadata's clients ask."""
    return answer(diagnosis_json(_alert(by, key, caller), PageAsked(limit, skip), caller, counts_only=counts_only))


@router.get("/{subscription_id}/eventsRecord", openapi_extra=answers("EventsRecord"))
def read_record(subscription_id: PathId, caller: Asked) -> Response:
    """Return how many of an alert's events are pending, successful and failed."""
    return answer(record_json(_alert("id", str(subscription_id), caller), caller))


@router.get("/{by}/{key}/eventsRecord", openapi_extra=answers("EventsRecord"))
def read_record_by(by: By, key: PathText, caller: Asked) -> Response:
    """Return the same by `id` or `name`, as OpenMetadata's clients ask."""
    return answer(record_json(_alert(by, key, caller), caller))


@router.get("/{subscription_id}/failedEvents", openapi_extra=answers("FailedEventResponseList"))
def list_failed(
    subscription_id: PathId, caller: Asked, *, limit: Limit = 15, skip: Skip = 0, source: Source = None
) -> Response:
    """Return the events of an alert of which a message was given up, the last failure first."""
    alert = _alert("id", str(subscription_id), caller)
    return answer(_failed_page([alert.id], PageAsked(limit, skip), source, caller))


@router.get("/{by}/{key}/failedEvents", openapi_extra=answers("FailedEventResponseList"))
def list_failed_by(
    by: By, key: PathText, caller: Asked, *, limit: Limit = 15, skip: Skip = 0, source: Source = None
) -> Response:
    """Return the same by `id` or `name`, as OpenMetadata's clients ask."""
    return answer(_failed_page([_alert(by, key, caller).id], PageAsked(limit, skip), source, caller))


@router.get("/{subscription_id}/listSuccessfullySentChangeEvents", openapi_extra=answers("ChangeEventList"))
def list_sent(subscription_id: PathId, caller: Asked, *, limit: Limit = 15, skip: Skip = 0) -> Response:
    """Return the events of an alert of which all that was sent arrived, newest first."""
    return answer(_sent_page(_alert("id", str(subscription_id), caller), PageAsked(limit, skip), caller))


@router.get("/{by}/{key}/listSuccessfullySentChangeEvents", openapi_extra=answers("ChangeEventList"))
def list_sent_by(by: By, key: PathText, caller: Asked, *, limit: Limit = 15, skip: Skip = 0) -> Response:
    """Return the same by `id` or `name`, as OpenMetadata's clients ask."""
    return answer(_sent_page(_alert(by, key, caller), PageAsked(limit, skip), caller))


@router.get("/{subscription_id}/listEvents", openapi_extra=answers("TypedEventPage"))
def list_typed(
    subscription_id: PathId, caller: Asked, *, status: EventStatus = None, limit: Limit = 15, skip: Skip = 0
) -> Response:
    """Return failed and successful events of an alert, each with its status, newest first."""
    return answer(_typed_page(_alert("id", str(subscription_id), caller), status, PageAsked(limit, skip), caller))


@router.get("/{by}/{key}/listEvents", openapi_extra=answers("TypedEventPage"))
def list_typed_by(
    by: By, key: PathText, caller: Asked, *, status: EventStatus = None, limit: Limit = 15, skip: Skip = 0
) -> Response:
    """Return the same by `id` or `name`, as OpenMetadata's clients ask."""
    return answer(_typed_page(_alert(by, key, caller), status, PageAsked(limit, skip), caller))


@router.get("/{subscription_id}/destinations", openapi_extra=answers("DestinationStatusList"))
def list_destinations(subscription_id: PathId, caller: Asked) -> Response:
    """Return the destinations of an alert with their status, as a bare list."""
    return answer(destinations_json(Key.by_id(str(subscription_id)), caller))


@router.get("/{by}/{key}/destinations", openapi_extra=answers("DestinationStatusList"))
def list_destinations_by(by: By, key: PathText, caller: Asked) -> Response:
    """Return the same by `id` or `name`, as OpenMetadata's clients ask."""
    return answer(destinations_json(_key(by, key), caller))


@router.get("/{subscription_id}/processedEvents", openapi_extra=answers("Flag"))
def has_processed_all(subscription_id: PathId, caller: Asked) -> Response:
    """Return whether every event of the log is processed for an alert: `true` or `false`."""
    current, latest = progress_of(_alert("id", str(subscription_id), caller), caller)
    return answer(current >= latest)


@router.put("/{subscription_id}/syncOffset", openapi_extra=answers("EventSubscriptionOffset"))
def skip_to_end(subscription_id: PathId, caller: Asked) -> Response:
    """Skip events that an alert has not seen yet: it is switched off and on, and covers what follows."""
    return answer(_skip_to_end(_alert("id", str(subscription_id), caller), caller))


@router.put("/name/{name}/syncOffset", openapi_extra=answers("EventSubscriptionOffset"))
def skip_to_end_by_name(name: PathText, caller: Asked) -> Response:
    """Skip them by name, as OpenMetadata's clients ask."""
    return answer(_skip_to_end(_alert("name", name, caller), caller))


@router.get("/{subscription_id}/logs", openapi_extra=answers("AlertLogEntryPage"))
def list_logs(
    subscription_id: PathId,
    caller: Asked,
    *,
    start_date: Annotated[Day, Query(alias="startDate")] = None,
    end_date: Annotated[Day, Query(alias="endDate")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Return what an alert sent of the events of some days, newest first: to whom, how, and what came of it.

    For its editors and administrators. ``endDate`` is the last day; times are allowed as well.
    """
    alert = _alert("id", str(subscription_id), caller)
    if not tends(alert, caller):
        raise Forbidden("Only administrators and editors of the alert may see whom it notified.")
    window = _window(start_date, end_date, caller)
    start = None if after is None else DeliveryPlace(*place_of(after))

    def read(last: LogEntry | None, count: int) -> BoundedList[LogEntry]:
        place = start if last is None else last.place
        return caller.parts.alert_stores.deliveries.log(alert.id, window, limit=count, after=place)

    page = visible_page(read, partial(as_shown, caller.visibility), limit)
    paging = {"after": place_text(*page.last.place)} if page.has_more and page.last else {}
    return answer({"data": [log_json(one) for one in page.entries], "paging": paging})


def _key(by: str, key: str) -> Key:
    if by == "name":
        return Key.by_name(key)
    try:
        return Key.by_id(str(UUID(key)))
    except ValueError:
        raise InvalidInput("must be an id", field="key") from None


def _alert(by: str, key: str, caller: Caller) -> EventSubscription:
    return alert_at(_key(by, key), caller)


def _failed_page(ids: Collection[str] | None, page: PageAsked, source: str | None, caller: Caller) -> list[Document]:
    if source not in (None, TO_SUBSCRIBER):
        return []

    def read(part: PageAsked) -> list[FailedEvent]:
        return caller.parts.alert_stores.deliveries.failed_events(ids, limit=part.limit, skip=part.skip)

    return shown_page(read, lambda found: failed_json(found, caller), page, caller)


def _sent_page(alert: EventSubscription, page: PageAsked, caller: Caller) -> list[Document]:
    def read(part: PageAsked) -> list[ChangeEvent]:
        return caller.parts.alert_stores.deliveries.arrived_events(alert.id, limit=part.limit, skip=part.skip)

    return shown_page(read, lambda found: sent_json(found, caller), page, caller)


def _typed_page(alert: EventSubscription, status: str | None, page: PageAsked, caller: Caller) -> Document:
    """Return a page of typed events; of both kinds, each up to the end of the page is merged by time."""
    whole_page = page if status is not None else PageAsked(page.limit + page.skip, 0)
    failed = _failed_page([alert.id], whole_page, None, caller) if status != "successful" else []
    sent = _sent_page(alert, whole_page, caller) if status != "failed" else []
    typed = [*typed_json("failed", failed), *typed_json("successful", sent)]
    if status is None:
        typed = sorted(typed, key=lambda one: -one["timestamp"])[page.skip : page.skip + page.limit]
    return {"data": typed, "paging": {"total": len(typed)}}


def _skip_to_end(alert: EventSubscription, caller: Caller) -> Document:
    if not tends(alert, caller):
        raise Forbidden("Only administrators and editors of the alert may let it skip events.")
    writes_of(caller).within(partial(skip_backlog, alert_id=alert.id), actor=caller.actor)
    changed = alert_at(Key.by_id(alert.id), caller)
    latest = caller.parts.log.readable_end()
    now_ms = caller.parts.clock.now_ms()
    return {"startingOffset": changed.since_offset, "currentOffset": latest, "timestamp": now_ms}


def _window(start: str | None, end: str | None, caller: Caller) -> tuple[int, int]:
    now_ms = caller.parts.clock.now_ms()
    start_ms = 0 if start is None else moment(start, "startDate", now_ms)
    end_ms = LATEST_MS if end is None else moment(end, "endDate", now_ms)
    end_ms += _DAY_MS - 1 if end is not None and _DATE.fullmatch(end) else 0
    if start_ms > end_ms:
        raise InvalidInput("must not be later than endDate", field="startDate")
    return start_ms, end_ms
