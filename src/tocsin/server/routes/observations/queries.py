"""Routes of a query's users, tables and costs, as reported by connectors.

Next: ``catalogue/observations/queries.py``.
"""

from __future__ import annotations

from functools import partial

from fastapi import Response

from tocsin.catalogue.observations.queries import KIND, USED_BY, USED_IN, USERS, change_usage, check_cost, put_cost
from tocsin.model.access import Operation
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document
from tocsin.server.entities.reports import WindowAsked, page_answer, write_permitted
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, answer
from tocsin.server.routes.people.followers import event_of

_QUERY = ENTITY_TYPES["query"]

router = DeclaredRoutes(tags=["queries"])


@router.put(f"/{_QUERY.collection}/{{query_id}}/usage", openapi_extra=answers("ChangeEvent", reads="References"))
def add_used_in(query_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Add references (tables, dashboards, pipelines, procedures) that a query uses."""
    return _change(str(query_id), USED_IN, body, caller)


@router.delete(f"/{_QUERY.collection}/{{query_id}}/usage", openapi_extra=answers("ChangeEvent", reads="References"))
def remove_used_in(query_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Remove references that a query uses."""
    return _change(str(query_id), USED_IN, body, caller, belongs=False)


@router.put(f"/{_QUERY.collection}/{{query_id}}/users", openapi_extra=answers("ChangeEvent", reads="Names"))
def add_users(query_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Add users who ran a query, by name."""
    return _change(str(query_id), USERS, body, caller)


@router.put(f"/{_QUERY.collection}/{{query_id}}/usedBy", openapi_extra=answers("ChangeEvent", reads="Names"))
def add_used_by(query_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Add names of people who ran a query and are not users."""
    return _change(str(query_id), USED_BY, body, caller)


@router.post(
    "/queryCostRecord", status_code=201, openapi_extra=answers("QueryCostRecord", reads="CreateQueryCostRecordRequest")
)
def add_cost(body: DocumentBody, caller: Asked) -> Response:
    """Set the cost of a query at a moment: ``queryReference``, ``timestamp`` (ms), ``cost`` and ``count``."""
    key, cost = check_cost(body)
    work = partial(put_cost, request=cost)
    return answer(write_permitted(_QUERY.name, key, caller, Operation.EDIT_USAGE, work).document, 201)


@router.get(f"/{_QUERY.collection}/{{query_id}}/costs", openapi_extra=answers("QueryCostRecordPage"))
def list_costs(query_id: PathId, caller: Asked, window: WindowAsked) -> Response:
    """Return the costs of a query in a time range, newest first."""
    query = permitted_document(_QUERY.name, Key.by_id(str(query_id)), caller, Operation.VIEW_USAGE, include="all")
    return page_answer(caller.parts.reports.observations.page(query["id"], KIND, window))


def _change(query_id: str, field: str, body: object, caller: Caller, *, belongs: bool = True) -> Response:
    work = partial(change_usage, field=field, request=body, belongs=belongs)
    written = write_permitted(_QUERY.name, Key.by_id(query_id), caller, Operation.EDIT_ALL, work)
    return answer(event_of(_QUERY, written, caller))
