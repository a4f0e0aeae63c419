"""Routes for an alert that a person is writing: when its schedule fires next, and how its messages would look.

Next: ``server/alerts/message_previews.py``, ``flow/schedule/cron.py``.
"""

from __future__ import annotations

from fastapi import Response

from tocsin.flow.schedule.cron import check_new_schedule, next_times_ms
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import TriggerType
from tocsin.server.access.permissions import require
from tocsin.server.alerts.message_previews import message_preview, partial_alert
from tocsin.server.http.body_values import value_in
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, answer

ROW = ENTITY_TYPES["eventsubscription"]
_TIMES = 3

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["subscriptions"])


@router.post("/validation/trigger", openapi_extra=answers("NextTimes", reads="TriggerRequest", never="409"))
def validate_trigger(body: DocumentBody, caller: Asked) -> Response:
    """Validate a `trigger`, and return the next three times at which it fires; none if it is in real time."""
    require(caller, Operation.VIEW_BASIC, ROW)
    trigger = partial_alert({"trigger": value_in(body, "trigger", dict, "must be a trigger, as an object")}).trigger
    check_new_schedule(trigger, {})
    is_scheduled = trigger.trigger_type is TriggerType.SCHEDULED
    return answer({"next": next_times_ms(trigger, caller.parts.clock.now_ms(), _TIMES) if is_scheduled else []})


@router.post("/preview", openapi_extra=answers("MessagePreview", reads="MessagePreviewRequest", never="409"))
def preview(body: DocumentBody, caller: Asked) -> Response:
    """Return a message of an `alert` as a `channel` would show it, about an event (`eventId`) or a made-up one."""
    require(caller, Operation.CREATE, ROW)
    return answer({"message": message_preview(body, caller)})
