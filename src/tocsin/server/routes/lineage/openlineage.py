"""Routes that take OpenLineage events, as its clients send them, and one that lists what they named in vain.

An event needs the rights that its writes need by themselves. Next: ``sources/openlineage/writing.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from tocsin.errors import Forbidden, InvalidInput, TocsinError, Unavailable
from tocsin.flow.capture.ports import Collision
from tocsin.logic import NEVER
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.server.http.body_values import value_in
from tocsin.server.http.errors import explain, parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.openlineage_schemas import MOST_EVENTS, OPENLINEAGE_RESPONSE, UNRESOLVED_LINEAGE
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, QueryParameters, answer
from tocsin.server.routes.system.catalogue_settings import setting_value
from tocsin.sources.openlineage.events import LineageEvent
from tocsin.sources.openlineage.mapping import SETTING, LineageMapping, mapping_of
from tocsin.sources.openlineage.writing import AppliedEvent, apply_event

_RETRIABLE = (Unavailable, Collision)
MOST_NAMED = 10
"""Unresolved datasets and jobs that an answer names."""

_EITHER_NEEDED = (
    ("table", Operation.EDIT_LINEAGE),
    ("topic", Operation.EDIT_LINEAGE),
    ("container", Operation.EDIT_LINEAGE),
    ("pipeline", Operation.EDIT_STATUS),
)
"""Operations without all of which no event can have an effect."""

router = DeclaredRoutes(tags=["lineage"])


class UnresolvedQuery(QueryParameters):
    """Parameters of the list of what is unresolved."""

    limit: int = Field(default=100, ge=1, le=1_000, description="Most entries of the answer.")


@router.post(
    "/openlineage/lineage",
    status_code=201,
    openapi_extra=answers("OpenLineageResponse", OPENLINEAGE_RESPONSE, reads="OpenLineageEvent", refuses="429"),
)
@router.post(
    "/lineage",
    name="receive_at_default_path",
    status_code=201,
    openapi_extra=answers("OpenLineageResponse", OPENLINEAGE_RESPONSE, reads="OpenLineageEvent", refuses="429"),
)
def receive_event(body: DocumentBody, caller: Asked) -> Response:
    """Apply an OpenLineage event: datasets, lineage, and the state of its run."""
    mapping = _mapping_for(caller, 1)
    applied = _apply(caller, body, mapping)
    message = _message_of(applied)
    return answer({"status": "success", "message": message, "lineageEdgesCreated": applied.edge_count}, status=201)


@router.post(
    "/openlineage/lineage/batch",
    openapi_extra=answers("OpenLineageResponse", OPENLINEAGE_RESPONSE, reads="OpenLineageBatchRequest", refuses="429"),
)
def receive_batch(body: DocumentBody, caller: Asked) -> Response:
    """Apply up to 1,000 OpenLineage events; one that fails stops none of the others, and the answer says why."""
    sent_events = body.get("events")
    mapping = _mapping_for(caller, len(sent_events) if isinstance(sent_events, list) else 1)
    events = value_in(body, "events", list, "must be a list of events")
    if not 0 < len(events) <= MOST_EVENTS:
        raise InvalidInput(f"must have 1 to {MOST_EVENTS:,} events, not {len(events):,}", field="events")
    applied_events, failures = _apply_all(caller, events, mapping)
    skipped_count = sum(not applied.is_lineage for applied in applied_events)
    status = "success" if not failures else "partial_success" if applied_events else "failure"
    summary = {
        "received": len(events),
        "successful": len(applied_events) - skipped_count,
        "failed": len(failures),
        "skipped": skipped_count,
    }
    document = {
        "status": status,
        "message": f"Applied {len(applied_events):,} of {len(events):,} events.",
        "summary": summary,
        "failedEvents": failures,
        "lineageEdgesCreated": sum(applied.edge_count for applied in applied_events),
    }
    return answer(document)


@router.get("/openlineage/unresolved", openapi_extra=answers("UnresolvedLineagePage", UNRESOLVED_LINEAGE))
def list_unresolved(caller: Asked, query: Annotated[UnresolvedQuery, Query()]) -> Response:
    """Return the datasets and jobs that OpenLineage events named and nothing stands for; for administrators."""
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators see what OpenLineage events named in vain.")
    entries, total = caller.parts.graph.unresolved.newest(limit=query.limit)
    return answer({"data": [entry.to_wire() for entry in entries], "paging": {"total": total}})


def _mapping_for(caller: Caller, event_count: int) -> LineageMapping:
    """Return the settings, once the sender may send, and so many events are within their rate."""
    if not caller.actor.is_admin and all(caller.permissions.scope(*needed) is NEVER for needed in _EITHER_NEEDED):
        raise Forbidden(
            "You may not do this: none of your policies allows EditLineage or EditStatus on what moves data."
        )
    mapping = mapping_of(setting_value(SETTING, caller))
    if not mapping.is_enabled:
        raise Forbidden("OpenLineage events are not accepted here: openLineageSettings.enabled is false.")
    caller.parts.traffic.ingest_rate.take(caller.actor.id, event_count)
    return mapping


def _apply_all(
    caller: Caller, events: Sequence[object], mapping: LineageMapping
) -> tuple[list[AppliedEvent], list[Document]]:
    """Apply events in their order; return what they did, and for those that failed their place and why."""
    applied_events: list[AppliedEvent] = []
    failures: list[Document] = []
    for index, event in enumerate(events):
        try:
            applied_events.append(_apply(caller, event, mapping))
        except TocsinError as error:
            failures.append({"index": index, "reason": explain(error), "retriable": isinstance(error, _RETRIABLE)})
    return applied_events, failures


def _apply(caller: Caller, body: object, mapping: LineageMapping) -> AppliedEvent:
    if not isinstance(body, dict):
        raise InvalidInput("an event must be an object")
    event = parse_as(LineageEvent, body)
    applied = caller.parts.writes.within(lambda record: apply_event(record, event, mapping), actor=caller.actor)
    reasons: dict[tuple[str, str], str] = {part.identifier: part.reason for part in applied.unresolved_parts}
    log = caller.parts.graph.unresolved
    log.count(reasons, caller.parts.clock.now_ms())
    log.forget(applied.resolved - reasons.keys())
    return applied


def _message_of(applied: AppliedEvent) -> str:
    """Return what an event did in a sentence, with what of it nothing here stands for."""
    names = sorted({part.identifier.name for part in applied.unresolved_parts})
    if not names:
        return "The event was applied."
    further_names = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"The event was applied, but for what is unknown here: {', '.join(names[:MOST_NAMED])}{further_names}."
