"""Route of a person's activity feed: recent events of followed entities, newest first.

Next: ``store/eventlog/activity.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response

from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.event_formats import as_default, own_facts
from tocsin.delivery.wording.meanings import semantic_changes
from tocsin.errors import Forbidden
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.server.access.events import visible_parts
from tocsin.server.access.pages import visible_page
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, PathId, answer
from tocsin.server.routes.events import parse_event_types
from tocsin.store.database.page_bytes import BoundedList

router = DeclaredRoutes(tags=["inbox"])


@router.get("/users/{user_id}/activity", openapi_extra=answers("ActivityPage"))
def list_activity(
    user_id: PathId,
    caller: Asked,
    *,
    since: Annotated[
        str | None, Query(max_length=40, description="Start: `24h`, a date, or epoch milliseconds.")
    ] = None,
    event_type: Annotated[str | None, Query(alias="eventType", max_length=1000)] = None,
    after: Annotated[int | None, Query(ge=0, le=2**62)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Response:
    """Return changes of the assets a user follows, of their tests and threads, as ``{event, title}``.

    For the user and administrators.
    """
    if caller.actor.id != str(user_id) and not caller.actor.is_admin:
        raise Forbidden("Only the person and administrators may see this activity.")
    since_ms = 0 if since is None else moment(since, "since", caller.parts.clock.now_ms())
    named_types = parse_event_types(event_type or "")

    def read(last: LoggedEvent | None, count: int) -> BoundedList[LoggedEvent]:
        below = last.offset if last else after
        return caller.parts.discussion.activity.events_for_follower(
            str(user_id), since_ms=since_ms, event_types=named_types.types, below=below, limit=count
        )

    def show(entries: Sequence[LoggedEvent]) -> list[LoggedEvent | None]:
        visible = visible_parts(caller.visibility, entries)
        return [one if one is not None and named_types.admit(one) else None for one in visible]

    page = visible_page(read, show, limit)
    paging: Document = {"after": str(page.last.offset)} if page.last and page.has_more else {}
    zone = caller.parts.alert_stores.preferences.of(str(user_id)).timezone
    data = [
        {
            "event": as_default(entry.event.as_wire()),
            "title": event_text(entry.event, zone=zone, reader_id=str(user_id)).headline,
            "semanticChanges": semantic_changes(entry.event),
            **own_facts(entry.event),
        }
        for entry in page.entries
    ]
    return answer({"data": data, "paging": paging})
