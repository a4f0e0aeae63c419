"""Route that takes events of other systems from a bot, and where an event of ours came from.

Source: CloudEvents 1.0.2, HTTP protocol binding: binary, structured and batched mode.
Next: ``catalogue/ingest/writes.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import unquote

from fastapi import Query, Request, Response
from pydantic import Field

from tocsin.catalogue.ingest.requests import ENTITY_TYPES_TAKEN, LONGEST_ID, EventArrival, has_attributes
from tocsin.catalogue.ingest.writes import IngestResult, IngestRules, IngestState, outcome_counts
from tocsin.errors import Forbidden, InvalidInput, NotFound, TocsinError
from tocsin.logic import NEVER
from tocsin.model.access import Operation
from tocsin.model.entity import Document, version_to_wire
from tocsin.server.access.events import shown_event
from tocsin.server.http.errors import LONGEST_MESSAGE, explain
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, JsonBody, PathId, QueryParameters, answer

MOST_EVENTS = 1_000
"""Events of one request."""

_BATCH, _STRUCTURED = "application/cloudevents-batch+json", "application/cloudevents+json"
_ATTRIBUTE = "ce-"

router = DeclaredRoutes(prefix="/events", tags=["events"])


class IngestQuery(QueryParameters):
    """Parameters of the route that takes events."""

    dry_run: bool = Field(default=False, description="Whether nothing is kept: the answer says what would happen.")
    source: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_ID,
        description="Where events come from that do not say so themselves. Default: `bot:` and the bot's name.",
    )


@router.post("/ingest", openapi_extra=answers("IngestResults", reads="IngestRequest", refuses="409 429"))
def ingest(request: Request, body: JsonBody, caller: Asked, query: Annotated[IngestQuery, Query()]) -> Response:
    """Apply events of other systems: one, or up to 1,000 in a list, as CloudEvents or as change events.

    Only a bot with the operation `Ingest` may, and each event needs its rights to the entity. An event is applied
    once. Where a single event is refused, the answer is that error.
    """
    _check_sender(caller)
    events = _events_of(body, request.headers)
    is_list = events is body
    caller.parts.traffic.ingest_rate.take(caller.actor.id, len(events))
    arrival = EventArrival(caller.parts.clock.now_ms(), query.source or f"bot:{caller.actor.name}")
    settings = caller.parts.settings
    rules = IngestRules(frozenset({settings.base_url(), caller.root.rstrip("/")}), settings.ingest_keep_days)
    results = caller.parts.entities.ingest.ingest(
        [(event, arrival) for event in events], actor=caller.actor, rules=rules, dry_run=query.dry_run
    )
    if not query.dry_run:
        caller.parts.entities.ingest_outcomes.add(outcome_counts(results))
    if not is_list and results[0].error is not None:
        raise results[0].error
    counts = Counter(result.state.value for result in results)
    data = [_result_json(number, result, is_dry=query.dry_run) for number, result in enumerate(results)]
    return answer({"dryRun": query.dry_run, "counts": {one.value: counts[one] for one in IngestState}, "data": data})


@router.get("/{event_id}/origin", openapi_extra=answers("EventOrigin"))
def read_origin(event_id: PathId, caller: Asked) -> Response:
    """Return the origin of an ingested change event: its source, its id there, and the author that it names."""
    event = shown_event(str(event_id), caller).event
    origin = caller.parts.entities.origins.of_event(event.id)
    if origin is None:
        raise NotFound(f"change event {event_id} was not ingested, or its origin is no longer kept")
    document = {
        "source": origin.source,
        "id": origin.source_event_id,
        "claimedAuthor": origin.author,
        "bot": event.user_name,
        "receivedAt": origin.received_at_ms,
    }
    return answer({key: value for key, value in document.items() if value is not None})


def _check_sender(caller: Caller) -> None:
    """Refuse everybody but a bot that may ingest something.

    Raises
    ------
    Forbidden : it is a person, or a bot without the operation
    """
    if not caller.actor.is_bot:
        raise Forbidden("Only bots send events of other systems: use the token of a bot with the operation Ingest.")
    if caller.actor.is_admin:
        return
    scopes = (caller.permissions.scope(name, Operation.INGEST) for name in ENTITY_TYPES_TAKEN)
    if all(scope is NEVER for scope in scopes):
        raise Forbidden("You may not do this: none of your policies allows Ingest on a type of asset.")


def _events_of(body: object, headers: Mapping[str, str]) -> list[object]:
    """Return the events of a request.

    Raises
    ------
    InvalidInput : there is none, there are too many, or the body is not what its type says
    """
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if not media.startswith("application/cloudevents") and has_attributes(headers, _ATTRIBUTE):
        return [_of_binary(body, headers)]
    if media == _STRUCTURED and not isinstance(body, dict):
        raise InvalidInput(f"The body of {_STRUCTURED} must be one CloudEvent; send a list as {_BATCH}.")
    if media == _BATCH and not isinstance(body, list):
        raise InvalidInput(f"The body of {_BATCH} must be a list of CloudEvents.")
    if not isinstance(body, list):
        return [body]
    if not 1 <= len(body) <= MOST_EVENTS:
        raise InvalidInput(f"A request takes 1 to {MOST_EVENTS} events, not {len(body)}.")
    return body


def _of_binary(data: object, headers: Mapping[str, str]) -> Document:
    """Return a CloudEvent whose attributes are headers, and whose data is the body."""
    attributes: Document = {
        name[len(_ATTRIBUTE) :]: unquote(value) for name, value in headers.items() if name.startswith(_ATTRIBUTE)
    }
    content_type = headers.get("content-type")
    return attributes | ({"datacontenttype": content_type} if content_type else {}) | {"data": data}


def _result_json(number: int, result: IngestResult, *, is_dry: bool) -> Document:
    """Return what the answer says about one event."""
    origin, request, result_write = result.origin, result.request, result.written
    event = result_write.event if result_write else None
    document: Document = {
        "index": number,
        "state": result.state.value,
        "source": origin.source if origin else None,
        "id": origin.id if origin else None,
        "entityType": request.entity_type if request else None,
        "fullyQualifiedName": event.entity_fully_qualified_name if event else request.fqn if request else None,
        "eventId": event.id if event and not is_dry else None,
        "version": version_to_wire(event.current_version) if event and event.current_version is not None else None,
        **(_refusal_json(result.error) if result.error else {}),
    }
    return {key: value for key, value in document.items() if value is not None}


def _refusal_json(error: TocsinError) -> Document:
    place = error.field if isinstance(error, InvalidInput) else None
    return {"reason": error.code, "message": explain(error)[:LONGEST_MESSAGE], "field": place}
