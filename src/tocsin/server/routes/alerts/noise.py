"""Routes of alert noise: counts over a time window, and suggestions for one alert.

Next: ``server/alerts/noise.py``.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from tocsin.errors import Forbidden, NotFound
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.subscription import EventSubscription
from tocsin.server.access.permissions import require, visible_document
from tocsin.server.alerts.explanations import may_edit_alert, visible_alerts
from tocsin.server.alerts.noise import detail, overview
from tocsin.server.alerts.time_arguments import moment
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.administration_schemas import DESTINATION_FIGURES
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, PathId, answer

ROW = ENTITY_TYPES["eventsubscription"]
Since = Annotated[str, Query(max_length=40)]

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["subscriptions"])


@router.get("/noise", openapi_extra=answers("NoiseOverview"))
def list_noise(caller: Asked, *, since: Since = "30d", limit: Annotated[int, Query(ge=0, le=1000)] = 10) -> Response:
    """Rank alerts by unread notifications since ``since`` (``30d``, a date, epoch ms)."""
    require(caller, Operation.VIEW_BASIC, ROW)
    begins = moment(since, "since", caller.parts.clock.now_ms())
    return answer(overview(visible_alerts(caller), begins, limit, caller))


@router.get("/{subscription_id}/destinationFigures", openapi_extra=answers("DestinationFigures"))
def read_destination_figures(subscription_id: PathId, caller: Asked) -> Response:
    """Return of each destination its sent messages, of the newest 1,000, its waiting ones, and their delay."""
    alert = _editable_alert(subscription_id, caller, "how its destinations fare")
    figures = caller.parts.alert_stores.figures_of_destinations.of(alert.id, [one.id for one in alert.destinations])
    return answer({"data": [json_of(DESTINATION_FIGURES, one) for one in figures]})


@router.get("/{subscription_id}/noise", openapi_extra=answers("Noise"))
def read_noise(subscription_id: PathId, caller: Asked, *, since: Since = "30d") -> Response:
    """Return an alert's noise per asset and rule, with suggested conditions."""
    begins = moment(since, "since", caller.parts.clock.now_ms())
    alert = _editable_alert(subscription_id, caller, "what others opened")
    return answer(detail(alert, begins, visible_alerts(caller), caller))


def _editable_alert(subscription_id: UUID, caller: Caller, subject: str) -> EventSubscription:
    document = visible_document(ROW, Key.by_id(str(subscription_id)), caller)
    alert = caller.parts.subscriptions.find(document["id"])
    if alert is None:
        raise NotFound(f"alert {subscription_id} not found")
    if not may_edit_alert(alert, caller):
        raise Forbidden(f"Only administrators and editors of the alert may see {subject}.")
    return alert
