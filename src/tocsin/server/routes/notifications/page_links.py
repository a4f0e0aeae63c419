"""Route of the page of a link in a message: what its reader has opened there is read in their inbox as well.

The link is followed with a GET of the page, which marks nothing; the page posts the link's token in the session of who
has logged in. Next: ``delivery/links/pages.py``, ``server/alerts/read_elsewhere.py``.
"""

from __future__ import annotations

from fastapi import Response

from tocsin.delivery.links.pages import parse_opened
from tocsin.errors import Forbidden, NotFound
from tocsin.model.inbox import OpenedRequest
from tocsin.server.alerts.message_buttons import GONE
from tocsin.server.alerts.read_elsewhere import note_read
from tocsin.server.http.errors import parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import DocumentBody, PartsHere, RequestActor, answer
from tocsin.server.routes.notifications.inbox import Owner

router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])


@router.post("/opened", openapi_extra=answers("Marked", reads="OpenedRequest", never="409"))
def note_opened(owner: Owner, sender: RequestActor, body: DocumentBody, parts: PartsHere) -> Response:
    """Mark as read what a link in a message is about, by the ``token`` in its address, and what the same cause did.

    Only its recipient can: of a message that many read, each for themselves. What came after the message stays unread.
    """
    if sender.id != owner:
        raise Forbidden("Only the person themselves has read what they opened.")
    stores, request = parts.alert_stores, parse_as(OpenedRequest, body)
    link = parse_opened(request.token, stores.unsubscribe_key, parts.clock.now_ms())
    record = stores.records.by_id([link.notification_id]).get(link.notification_id) if link else None
    if record is None or record.notification.recipient_id not in (None, owner):
        raise NotFound(GONE)
    return answer({"marked": note_read(record.notification, sender, parts)})
