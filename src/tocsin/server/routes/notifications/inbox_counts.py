"""Route of what an inbox has, in numbers: entries of each tab and kind of change, and those that need their person.

Next: ``server/access/inbox_numbers.py``.
"""

from __future__ import annotations

from fastapi import Response

from tocsin.model.inbox_filter import FILTER_KINDS
from tocsin.server.access.inbox_numbers import kind_counts, needs_count
from tocsin.server.alerts.event_shape import TAB_COUNTS, counts_json
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.json_schema import COUNT, closed_object, exact_object
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import PartsHere, RequestActor, answer
from tocsin.server.routes.notifications.inbox import AskedTab, Owner, view_of

router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])

_OF_KINDS = closed_object(dict.fromkeys(FILTER_KINDS, COUNT), required=[])
INBOX_NUMBERS = exact_object(schema_of(TAB_COUNTS)["properties"] | {"needsMe": COUNT, "kinds": _OF_KINDS})


@router.get("/counts", openapi_extra=answers("InboxNumbers", INBOX_NUMBERS))
def count_notifications(owner: Owner, sender: RequestActor, parts: PartsHere, tab: AskedTab) -> Response:
    """Return how many entries each tab has, how many need the person, and how many of the tab are of each kind.

    Each number ends at 1,000: kinds are those of the first 1,000 entries of the tab. An entry may be of several kinds.
    """
    parts.inbox.wake(parts.clock.now_ms(), [owner])
    view = view_of(owner, sender, parts)
    numbers = {**counts_json(view.counts()), "needsMe": needs_count(view), "kinds": kind_counts(view, tab)}
    return answer(numbers)
