"""Routes that explain one event: why a person was notified or not, per alert and recipient; and who was told.

Next: ``server/alerts/explanations.py``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from fastapi import Query, Response

from tocsin.errors import NotFound
from tocsin.flow.capture.references import keys_of
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Person
from tocsin.model.subscription import EventSubscription
from tocsin.server.access.events import told_event
from tocsin.server.access.permissions import visible_document
from tocsin.server.access.similar_names import similar_names
from tocsin.server.alert_stores import with_streaks
from tocsin.server.alerts.audience import AUDIENCE, audience_of_event
from tocsin.server.alerts.explanation_json import on_wire
from tocsin.server.alerts.explanations import ExplanationScope, explain, reader_of
from tocsin.server.alerts.readers import readers_of_event
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.json_schema import ID, exact_object, ref
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, PathId, answer

ROW = ENTITY_TYPES["eventsubscription"]
Named = Annotated[str | None, Query(max_length=300)]

_AUDIENCE = schema_of(AUDIENCE)
AUDIENCE_PAGE = exact_object(
    {name: _AUDIENCE["properties"][name] for name in _AUDIENCE["required"]} | {"eventId": ID, "paging": ref("Paging")},
    {name: shape for name, shape in _AUDIENCE["properties"].items() if name not in _AUDIENCE["required"]},
)

router = DeclaredRoutes(tags=["events"])


@router.get("/events/{event_id}/explain", openapi_extra=answers("Explanation"))
def explain_event(
    event_id: PathId,
    caller: Asked,
    *,
    subscription: Named = None,
    user: Named = None,
    limit: Annotated[int, Query(ge=0, le=100)] = 20,
    after: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """Explain who was notified of an event and why; ``subscription`` and ``user`` (id or name) narrow it.

    The id of a notification to the caller explains its event for them. Of an alert that has been deleted since, what it
    notified can still be asked for. ``readers``, of an event that breaks them: what reads what it changed, by lineage
    of now.
    """
    visible, is_own_notification = told_event(str(event_id), caller)
    user = caller.actor.id if user is None and is_own_notification else user
    logged_event = caller.parts.log.find(visible.event.id) or visible
    logged_event = visible if logged_event == visible else logged_event
    alert = None if subscription is None else _alert(subscription, caller)
    person = None if user is None else _person(user, caller)
    event_with_streaks = with_streaks(logged_event, caller.parts.alert_stores)
    deleted_alert = subscription if alert is None else None
    scope = ExplanationScope(
        event_with_streaks, visible, alert, person, limit, after, deleted_alert, reader_of(caller, visible.event)
    )
    findings = explain(scope, caller)
    count = findings.explanation.alert_count
    paging = {"total": count} | ({"after": str(after + limit)} if limit and after + limit < count else {})
    now_ms, is_admin = caller.parts.clock.now_ms(), caller.actor.is_admin
    explanation = on_wire(findings, visibility=caller.visibility, now_ms=now_ms, shows_answers=is_admin)
    return answer({**explanation, "paging": paging} | readers_of_event(visible.event, caller))


@router.get("/events/{event_id}/audience", openapi_extra=answers("Audience", AUDIENCE_PAGE))
def audience_of(
    event_id: PathId,
    caller: Asked,
    *,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """Return who was told of an event, by what channel, and who has read it, as far as the caller may know.

    Administrators know of everybody, editors of whom their alert told, others of themselves. ``unowned`` are visible
    assets downstream that nobody owns. The id of a notification to the caller stands for its event.
    """
    visible, _ = told_event(str(event_id), caller)
    return answer({"eventId": visible.event.id} | audience_of_event(visible, caller, limit=limit, skip=after))


def _alert(id_or_name: str, caller: Caller) -> EventSubscription | None:
    for key in keys_of(id_or_name):
        with suppress(NotFound):
            return caller.parts.subscriptions.find(visible_document(ROW, key, caller)["id"])
    return None


def _person(id_or_name: str, caller: Caller) -> Person:
    people = caller.parts.people
    person = people.by_id(id_or_name.lower()) or people.by_name(id_or_name)
    if person is None:
        raise NotFound(f"user {id_or_name} not found{similar_names(id_or_name, ('user',), caller)}")
    return person
