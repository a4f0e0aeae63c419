"""Routes of an alert's progress: OpenMetadata's diagnostics, its failed and sent events, and the log of its deliveries.

OpenMetadata has them at ``/id/{id}/…`` and ``/name/{name}/…``; here they are at ``/{id}/…`` as well.
Next: ``server/alerts/progress.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import Annotated, Literal

from fastapi import Depends, Query, Response

from tocsin.alerts.writes import skip_backlog
from tocsin.clock import LATEST_MS
from tocsin.errors import Forbidden, InvalidInput
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.subscription import EventSubscription
from tocsin.server.access.events import visible_parts
from tocsin.server.access.pages import visible_page
from tocsin.server.access.permissions import require
from tocsin.server.alerts import progress
from tocsin.server.alerts.event_shape import word_entry
from tocsin.server.alerts.explanations import editable_alerts, may_edit_alert, visible_alerts
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.body_values import parse_id
from tocsin.server.http.keyed_routes import Endpoint, by_id_and_name, id_key, with_key
from tocsin.server.http.routing import DeclaredRoutes
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

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["subscriptions"])


async def key_of(by: By, key: PathText) -> Key:
    """Return the key of the alert whose id or name is in the path."""
    if by == "name":
        return Key.by_name(key)
    return Key.by_id(parse_id(key, "must be an id", field="key"))


def _by_id_and_key(path: str, schema: str) -> Callable[[Endpoint], Endpoint]:
    """Add a route at ``/{subscription_id}/…``, and the same at ``/{by}/{key}/…``, under the name ``…_by``."""
    extra = answers(schema)

    def add(endpoint: Endpoint) -> Endpoint:
        by_key = with_key(endpoint, Annotated[Key, Depends(key_of)])
        router.get(f"/{{by}}/{{key}}/{path}", name=f"{endpoint.__name__}_by", openapi_extra=extra)(by_key)
        router.get(f"/{{subscription_id}}/{path}", openapi_extra=extra)(with_key(endpoint, id_key("subscription_id")))
        return endpoint

    return add


@router.get("/listAllFailedEvents", openapi_extra=answers("FailedEventResponseList"))
def list_all_failed(caller: Asked, *, limit: Limit = 15, skip: Skip = 0, source: Source = None) -> Response:
    """Return failed events of all alerts that you may edit, the last failure first."""
    require(caller, Operation.VIEW_BASIC, ROW)
    ids = None
    if not caller.actor.is_admin:
        ids = frozenset(one.id for one in editable_alerts(visible_alerts(caller), caller))
    return answer(_failed_page(ids, progress.PageAsked(limit, skip), source, caller))


@_by_id_and_key("diagnosticInfo", "EventSubscriptionDiagnosticInfo")
def read_diagnosis(
    key: Key, caller: Asked, *, limit: Limit = 15, skip: Skip = 0, counts_only: CountsOnly = False
) -> Response:
    """Return how far an alert is in the log, and which events it has not seen yet (of 1,000 at most)."""
    alert = progress.alert_at(key, caller)
    return answer(progress.diagnosis_json(alert, progress.PageAsked(limit, skip), caller, counts_only=counts_only))


@_by_id_and_key("eventsRecord", "EventsRecord")
def read_record(key: Key, caller: Asked) -> Response:
    """Return how many of an alert's events are pending, successful and failed."""
    return answer(progress.record_json(progress.alert_at(key, caller), caller))


@_by_id_and_key("failedEvents", "FailedEventResponseList")
def list_failed(key: Key, caller: Asked, *, limit: Limit = 15, skip: Skip = 0, source: Source = None) -> Response:
    """Return the events of an alert with a message that was given up, the last failure first."""
    alert = progress.alert_at(key, caller)
    return answer(_failed_page([alert.id], progress.PageAsked(limit, skip), source, caller))


@_by_id_and_key("listSuccessfullySentChangeEvents", "ChangeEventList")
def list_sent(key: Key, caller: Asked, *, limit: Limit = 15, skip: Skip = 0) -> Response:
    """Return the events of an alert whose messages all arrived, newest first."""
    return answer(_sent_page(progress.alert_at(key, caller), progress.PageAsked(limit, skip), caller))


@_by_id_and_key("listEvents", "TypedEventPage")
def list_typed(key: Key, caller: Asked, *, status: EventStatus = None, limit: Limit = 15, skip: Skip = 0) -> Response:
    """Return failed and successful events of an alert, each with its status, newest first."""
    return answer(_typed_page(progress.alert_at(key, caller), status, progress.PageAsked(limit, skip), caller))


@_by_id_and_key("destinations", "DestinationStatusList")
def list_destinations(key: Key, caller: Asked) -> Response:
    """Return the destinations of an alert with their status, as a bare list."""
    return answer(destinations_json(key, caller))


@router.get("/{subscription_id}/processedEvents", openapi_extra=answers("Flag"))
def has_processed_all(subscription_id: PathId, caller: Asked) -> Response:
    """Return whether every event of the log is processed for an alert: `true` or `false`."""
    current, latest = progress.progress_of(progress.alert_at(Key.by_id(str(subscription_id)), caller), caller)
    return answer(current >= latest)


@by_id_and_name(
    router.put, "/{subscription_id}/syncOffset", name_parameter="name", openapi_extra=answers("EventSubscriptionOffset")
)
def skip_to_end(key: Key, caller: Asked) -> Response:
    """Skip events that an alert has not seen yet: it is disabled and enabled, and covers later events."""
    alert = progress.alert_at(key, caller)
    if not may_edit_alert(alert, caller):
        raise Forbidden("Only administrators and editors of the alert may let it skip events.")
    writes_of(caller).within(partial(skip_backlog, alert_id=alert.id), actor=caller.actor)
    changed = progress.alert_at(Key.by_id(alert.id), caller)
    latest = caller.parts.log.readable_end()
    now_ms = caller.parts.clock.now_ms()
    return answer({"startingOffset": changed.since_offset, "currentOffset": latest, "timestamp": now_ms})


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
    """Return whom an alert notified of the events of some days, newest first, over which channel, and the outcome.

    For its editors and administrators. ``endDate`` is the last day; times are allowed as well.
    """
    alert = progress.alert_at(Key.by_id(str(subscription_id)), caller)
    if not may_edit_alert(alert, caller):
        raise Forbidden("Only administrators and editors of the alert may see whom it notified.")
    window = _window(start_date, end_date, caller)
    start = None if after is None else DeliveryPlace(*place_of(after))

    def read(last: LogEntry | None, count: int) -> BoundedList[LogEntry]:
        place = start if last is None else last.place
        return caller.parts.alert_stores.deliveries.log(alert.id, window, limit=count, after=place)

    page = visible_page(read, partial(visible_parts, caller.visibility), limit)
    paging = {"after": place_text(*page.last.place)} if page.has_more and page.last else {}
    zone = caller.zone
    entries = [word_entry(one, zone) for one in page.entries]
    return answer({"data": [json_of(progress.LOG_ENTRY, one) for one in entries], "paging": paging})


def _failed_page(
    ids: Collection[str] | None, page: progress.PageAsked, source: str | None, caller: Caller
) -> list[Document]:
    if source not in (None, progress.TO_SUBSCRIBER):
        return []

    def read(part: progress.PageAsked) -> list[FailedEvent]:
        return caller.parts.alert_stores.deliveries.failed_events(ids, limit=part.limit, skip=part.skip)

    return progress.shown_page(read, lambda found: progress.failed_json(found, caller), page, caller)


def _sent_page(alert: EventSubscription, page: progress.PageAsked, caller: Caller) -> list[Document]:
    def read(part: progress.PageAsked) -> list[ChangeEvent]:
        return caller.parts.alert_stores.deliveries.arrived_events(alert.id, limit=part.limit, skip=part.skip)

    return progress.shown_page(read, lambda found: progress.sent_json(found, caller), page, caller)


def _typed_page(alert: EventSubscription, status: str | None, page: progress.PageAsked, caller: Caller) -> Document:
    """Return a page of typed events; of both kinds, each up to the end of the page is merged by time."""
    whole_page = page if status is not None else progress.PageAsked(page.limit + page.skip, 0)
    failed = _failed_page([alert.id], whole_page, None, caller) if status != "successful" else []
    sent = _sent_page(alert, whole_page, caller) if status != "failed" else []
    typed = [*progress.typed_json("failed", failed), *progress.typed_json("successful", sent)]
    if status is None:
        typed = sorted(typed, key=lambda one: -one["timestamp"])[page.skip : page.skip + page.limit]
    return {"data": typed, "paging": {"total": len(typed)}}


def _window(start: str | None, end: str | None, caller: Caller) -> tuple[int, int]:
    now_ms = caller.parts.clock.now_ms()
    start_ms = 0 if start is None else moment(start, "startDate", now_ms)
    end_ms = LATEST_MS if end is None else moment(end, "endDate", now_ms)
    end_ms += _DAY_MS - 1 if end is not None and _DATE.fullmatch(end) else 0
    if start_ms > end_ms:
        raise InvalidInput("must not be later than endDate", field="startDate")
    return start_ms, end_ms
