"""Route of the alerts that watch an asset. Next: ``server/alerts/watching.py``."""

from __future__ import annotations

from fastapi import Response

from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts.watching import watching_alerts
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Kind, PathId, list_answer

router = DeclaredRoutes(tags=["entities"])
"""Included under every collection (``server/app.py``)."""


@router.get("/{entity_id}/alerts", openapi_extra=answers("WatchingAlertPage"))
def list_alerts(kind: Kind, entity_id: PathId, caller: Asked) -> Response:
    """Return the enabled alerts that may notify of this asset, and whom each of them notifies."""
    document = visible_document(kind, Key.by_id(str(entity_id)), caller, include="all")
    return list_answer(watching_alerts(kind, document, caller))
