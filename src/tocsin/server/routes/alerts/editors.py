"""Routes of an alert's editors: who they are, and taking the alert over.

Next: ``server/alerts/editors.py``.
"""

from __future__ import annotations

from functools import partial

from fastapi import Response

from tocsin.alerts.writes import take_over
from tocsin.errors import Forbidden
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.model.subscription import own_names
from tocsin.server.access.permissions import visible_document
from tocsin.server.alerts.editors import editors_json
from tocsin.server.alerts.explanations import may_edit_alert
from tocsin.server.alerts.progress import alert_at
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, PathId, answer
from tocsin.server.routes.alerts.subscriptions import check_resources, check_writer, writes_of

ROW = ENTITY_TYPES["eventsubscription"]

router = DeclaredRoutes(prefix=f"/{ROW.collection}", tags=["subscriptions"])


@router.get("/{subscription_id}/editors", openapi_extra=answers("AlertEditors"))
def list_editors(subscription_id: PathId, caller: Asked) -> Response:
    """Return the editors of an alert, which covers only what all of them may view.

    For those who may edit it; administrators also get what each may view, and how many events were withheld.
    """
    alert = alert_at(Key.by_id(str(subscription_id)), caller)
    if not may_edit_alert(alert, caller):
        raise Forbidden("Only administrators and people who may edit the alert may see its editors.")
    return answer(editors_json(alert, caller))


@router.put("/{subscription_id}/takeOver", openapi_extra=answers("AlertEditors"))
def take_alert_over(subscription_id: PathId, caller: Asked) -> Response:
    """Take an alert over: you are its only editor from now on, and it covers what you may view.

    Check its destinations first: they get all of that.
    """
    document = visible_document(ROW, Key.by_id(str(subscription_id)), caller)
    check_writer(document, caller, Operation.EDIT_ALL)
    check_resources(own_names((document.get("filteringRules") or {}).get("resources") or ()), caller)
    writes_of(caller).within(partial(take_over, alert_id=document["id"]), actor=caller.actor)
    return answer(editors_json(alert_at(Key.by_id(document["id"]), caller), caller))
