"""Routes for validating conditions before saving, and for listing functions, names and resources.

Next: ``flow/match/remarks.py``, ``alerts/offers.py``.
"""

from __future__ import annotations

from dataclasses import replace

from fastapi import Response

from tocsin.alerts.capabilities import capabilities_of, selection_of
from tocsin.alerts.offers import functions, offers
from tocsin.catalogue.observations import field_checks
from tocsin.catalogue.observations.field_checks import list_check_of, mapping, shape, text
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.relations import questions_of
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.flow.match.indexing import how_found
from tocsin.flow.match.remarks import by_itself, of_condition
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import ALL_RESOURCES, AlertType
from tocsin.server.access.misspelt_names import misspelt_names
from tocsin.server.access.permissions import require
from tocsin.server.http.body_values import value_in
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathText, answer, list_answer

ROW = ENTITY_TYPES["eventsubscription"]
_SELECTION = shape({"alertType": text}, {"sources": list_check_of(text), "input": mapping})

router = DeclaredRoutes(tags=["conditions"])


@router.post("/conditions/validate", openapi_extra=answers("ValidatedCondition", reads="ConditionRequest", never="409"))
def validate(body: DocumentBody, caller: Asked) -> Response:
    """Validate a condition (``{"condition": …}``): errors with positions, or warnings."""
    require(caller, Operation.VIEW_BASIC, ROW)
    return answer(_validation_json(value_in(body, "condition", str, "must be a condition, as a string"), caller))


@router.get(f"/{ROW.collection}/validation/condition/{{expression}}", status_code=204, openapi_extra=answers(None))
def validate_in_path(expression: PathText, caller: Asked) -> Response:
    """Return nothing for a valid condition, 400 with position and expectation otherwise."""
    require(caller, Operation.VIEW_BASIC, ROW)
    parse_and_check(expression)
    return Response(status_code=204)


@router.get(f"/{ROW.collection}/functions", openapi_extra=answers("EventFilterRuleList"))
def list_functions(caller: Asked) -> Response:
    """Return all named filters and actions with their conditions and arguments."""
    require(caller, Operation.VIEW_BASIC, ROW)
    return answer(functions())


@router.get(f"/{ROW.collection}/resources", openapi_extra=answers("AlertResourceNamePage"))
def list_names(caller: Asked) -> Response:
    """Return the resources of alerts with the names of their filters."""
    require(caller, Operation.VIEW_BASIC, ROW)
    offered = offers(AlertType.NOTIFICATION)
    data = [{**one, "supportedFilters": [row["name"] for row in one["supportedFilters"]]} for one in offered]
    return list_answer([{key: one[key] for key in ("name", "supportedFilters")} for one in data])


@router.get(f"/{ROW.collection}/{{alert_type}}/resources", openapi_extra=answers("FilterResourceDescriptorPage"))
def list_resources(alert_type: PathText, caller: Asked) -> Response:
    """Return the resources of alerts of this type with their filters and actions."""
    require(caller, Operation.VIEW_BASIC, ROW)
    return list_answer(offers(_alert_type(alert_type)))


@router.post(
    f"/{ROW.collection}/capabilities", openapi_extra=answers("AlertCapabilities", reads="AlertSelection", never="409")
)
def list_capabilities(body: DocumentBody, caller: Asked) -> Response:
    """Return filters and triggers for alerts on ``sources``, and resources that can join; ``input`` adds warnings."""
    require(caller, Operation.VIEW_BASIC, ROW)
    request = field_checks.checked_document(_SELECTION, body)
    selection = selection_of(_alert_type(request["alertType"]), request.get("sources", ()), request.get("input", {}))
    return answer(capabilities_of(selection))


def _alert_type(name: str) -> AlertType:
    """Return the type of alert of this name, in any case."""
    alert_type = next((one for one in AlertType if one.lower() == name.replace("_", "").lower()), None)
    if alert_type is not None:
        return alert_type
    raise InvalidInput(f"unknown type of alert {name!r}; {suggestion_for(name, tuple(AlertType))}", field="alertType")


def _validation_json(condition: str, caller: Caller) -> Document:
    try:
        node = parse_and_check(condition)
    except InvalidCondition as error:
        return {"valid": False, "errors": [_error(error)], "warnings": []}
    alert = {"filteringRules": {"resources": [ALL_RESOURCES], "rules": [{"condition": condition}]}}
    remarks = (*of_condition(node), *(replace(one, field="") for one in misspelt_names(alert, caller)))
    return {
        "valid": True,
        "errors": [],
        "warnings": [remark.to_wire() for remark in remarks],
        "indexedBy": [list(fields) for fields in how_found(by_itself(node)).by],
        "asksOfPeople": list(questions_of(node)),
    }


def _error(error: InvalidCondition) -> Document:
    suggested = {"suggestion": error.suggestion} if error.suggestion else {}
    return {
        "message": error.message,
        "line": error.line,
        "column": error.column,
        "expected": list(error.expected),
        **suggested,
    }
