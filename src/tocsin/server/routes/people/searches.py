"""Routes of saved searches: save, list, open by address, follow and delete.

A saved search is an alert that its owner only is notified by (``toMeOnly``), disabled while nobody follows it: the
pipeline matches it as any other. Next: ``alerts/saved_searches.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import orjson
from fastapi import Response

from tocsin.alerts.private import TO_ME_ONLY
from tocsin.alerts.saved_searches import SEARCH
from tocsin.delivery.lines import clean_line
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound
from tocsin.logic import NEVER
from tocsin.model.entity import Document
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.saved_search import LONGEST_NAME, SavedSearch, SearchFollow, SearchRequest
from tocsin.model.stored import Key
from tocsin.search.indexes import SEARCHED, entity_types_of
from tocsin.server.access.permissions import scope_on, visible_document, visible_references
from tocsin.server.access.searches import narrowed_search
from tocsin.server.entities.response import with_address
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.errors import parse_as
from tocsin.server.http.json_schema import COUNT, FLAG, ID, TEXT, array, exact_object, ref
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, PathId, answer
from tocsin.server.routes.alerts import subscriptions
from tocsin.server.routes.people.follow_preferences import choose_for_follows
from tocsin.server.routes.people.followers import check_oneself, check_person
from tocsin.server.routes.search import Asking

_COLONS, _LONGEST_ALERT_NAME, _OWNER_DIGITS = re.compile(":{2,}"), 256, 12
_BELL = {"category": "Users", "type": "ActivityFeed"}
_CHOICES = "choicesOfOwner"
_STATES: Shape[Document] = {
    "id": (ID, lambda alert: alert["id"]),
    "name": (TEXT, lambda alert: alert[SEARCH]["name"]),
    "query": (TEXT, lambda alert: alert[SEARCH]["query"]),
    "index": (TEXT, lambda alert: alert[SEARCH]["index"]),
    "follows": (
        {**FLAG, "description": "Whether its owner is notified of changes of what it finds."},
        lambda alert: bool(alert.get("enabled")),
    ),
    "alert": (ref("EntityReference"), lambda alert: alert["reference"]),
    "preferences?": (ref("FollowChoices"), lambda alert: alert.get(_CHOICES)),
}
_SAVED = schema_of(_STATES)
_COUNTED = exact_object(
    {"search": _SAVED, "found": {**COUNT, "description": "Assets that it finds now, of those that you may view."}}
)

router = DeclaredRoutes(tags=["followers"])


@router.post(
    "/users/{user_id}/searches", status_code=201, openapi_extra=answers("SavedSearch", _COUNTED, reads="SearchRequest")
)
def save_search(user_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Save a search; with `follows` its owner is notified in the app of changes of what it finds."""
    owner_id = str(user_id)
    check_oneself(owner_id, caller)
    check_person(owner_id, caller)
    search_request = parse_as(SearchRequest, body)
    search = _without_hidden_types(_search_of(search_request, caller), caller)
    request: Document = {
        "name": _alert_name(owner_id, search),
        "displayName": f"Saved search {search.name}",
        "alertType": "Notification",
        "owners": [{"id": owner_id, "type": "user"}],
        "destinations": [_BELL],
        "enabled": search_request.follows,
        TO_ME_ONLY: True,
        SEARCH: search.model_dump(mode="json"),
    }
    response = subscriptions.create(request, caller)
    alert_id = orjson.loads(response.body)["id"]
    remarks = {key: value for key, value in response.headers.items() if key.lower() == "x-tocsin-remarks"}
    return answer(_with_count(_alert_of(alert_id, caller), caller), status=201, headers=remarks)


@router.get("/users/{user_id}/searches", openapi_extra=answers("SavedSearches", exact_object({"data": array(_SAVED)})))
def list_searches(user_id: PathId, caller: Asked) -> Response:
    """Return the searches that a user has saved, by name. For the user and administrators."""
    owner_id = str(user_id)
    if caller.actor.id != owner_id and not caller.actor.is_admin:
        raise Forbidden("Only the person and administrators may see this list.")
    check_person(owner_id, caller)
    owned = [one for one in caller.parts.catalogue.owns(owner_id) if one["type"] == subscriptions.ROW.name]
    ids = [one["id"] for one in visible_references(caller, owned)]
    alerts = _saved_searches(caller.parts.entities.search.documents(ids).values())
    choices = caller.parts.alert_stores.preferences.choices_for_follows(owner_id)
    stored_choices = {one: it.to_stored() for one, it in choices.items()}
    ordered_alerts = sorted(alerts, key=lambda alert: alert[SEARCH]["name"])
    return answer({"data": [_json(one | {_CHOICES: stored_choices.get(one["id"])}, caller) for one in ordered_alerts]})


@router.get("/searches/{search_id}", openapi_extra=answers("SavedSearch", _COUNTED))
def read_search(search_id: PathId, caller: Asked) -> Response:
    """Return a saved search, also to those with whom its owner has shared the address, and how much it finds now."""
    return answer(_with_count(_alert_of(str(search_id), caller), caller))


@router.put("/searches/{search_id}/follow", openapi_extra=answers("SavedSearch", _COUNTED, reads="SearchFollow"))
def follow_search(search_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Follow a saved search of one's own, or no longer."""
    alert, search_follow = _own_alert(str(search_id), caller), parse_as(SearchFollow, body)
    if not alert.get("owners"):
        raise Conflict("The owner of this saved search was deleted: save it as your own, or delete it.")
    if not search_follow.follows:
        choose_for_follows(str(alert["owners"][0]["id"]), {alert["id"]: FollowChoices()}, caller)
    operation = {"op": "add", "path": "/enabled", "value": search_follow.follows}
    subscriptions.patch(Key.by_id(alert["id"]), [operation], caller)
    return answer(_with_count(_alert_of(alert["id"], caller), caller))


@router.delete("/searches/{search_id}", openapi_extra=answers("DeletedSearch", _SAVED))
def delete_search(search_id: PathId, caller: Asked) -> Response:
    """Delete a saved search of one's own, and with it its follow."""
    alert = _own_alert(str(search_id), caller)
    subscriptions.delete(Key.by_id(alert["id"]), caller)
    return answer(_json(alert, caller))


def _alert_name(owner_id: str, search: SavedSearch) -> str:
    """Return the name of the alert of a search, one of its owner's: one line without ``::``, and without their name.

    Names of entities stay when a person is erased.
    """
    return clean_line(f"{_COLONS.sub(':', search.name)} ({owner_id[-_OWNER_DIGITS:]})", limit=_LONGEST_ALERT_NAME)


def _search_of(request: SearchRequest, caller: Caller) -> SavedSearch:
    """Return the search that is to be saved.

    Raises
    ------
    InvalidInput : neither or both of query and saved search are named
    NotFound : there is no such saved search
    """
    if (request.query is None) == (request.original is None):
        raise InvalidInput("Send a query, or the id of a saved search.", field="query")
    if request.original is not None:
        copied_search = SavedSearch.model_validate(_alert_of(request.original, caller)[SEARCH])
        return copied_search.model_copy(update={"name": _name_of(request)} if request.name else {})
    return SavedSearch(name=_name_of(request), query=str(request.query), index=request.index)


def _without_hidden_types(search: SavedSearch, caller: Caller) -> SavedSearch:
    """Return a search without the types of which the caller may view nothing, which no search finds either."""
    indexed_types = entity_types_of(search.index)
    types = SEARCHED if indexed_types is None else indexed_types
    visible_types = [one for one in types if scope_on(caller, one) is not NEVER]
    if not visible_types or len(visible_types) == len(types):
        return search
    return search.model_copy(update={"index": ",".join(visible_types)})


def _name_of(request: SearchRequest) -> str:
    """Return what the owner calls a search, on one line; unnamed, what it looks for."""
    return clean_line(request.name or str(request.query), limit=LONGEST_NAME) or "*"


def _alert_of(search_id: str, caller: Caller) -> Document:
    """Return the alert that a saved search is.

    Raises
    ------
    NotFound : there is no such saved search that the caller may view
    """
    missing = NotFound(f"saved search {search_id[:100]} not found")
    try:
        alert = visible_document(subscriptions.ROW, Key.by_id(search_id), caller)
    except NotFound as error:
        raise missing from error
    if not _saved_searches([alert]):
        raise missing
    return alert


def _own_alert(search_id: str, caller: Caller) -> Document:
    """Return the alert of a saved search that the caller may change.

    Raises
    ------
    Forbidden : it is another person's
    NotFound : as ``_alert_of``
    """
    alert = _alert_of(search_id, caller)
    if not caller.actor.is_admin and caller.actor.id not in [one["id"] for one in alert.get("owners") or ()]:
        raise Forbidden("This saved search is another person's: save it as your own.")
    return alert


def _saved_searches(alerts: Iterable[Document]) -> list[Document]:
    return [one for one in alerts if one.get(SEARCH) and one.get(TO_ME_ONLY)]


def _with_count(alert: Document, caller: Caller) -> Document:
    """Return a saved search, and how many assets it finds of those that the caller may view."""
    saved_search = SavedSearch.model_validate(alert[SEARCH])
    asking = Asking(q=saved_search.query, index=saved_search.index, size=0)
    search = narrowed_search(caller, asking.search_by_query())
    _, total = caller.parts.entities.search.page(search)
    return {"search": _json(alert, caller), "found": total.value}


def _json(alert: Document, caller: Caller) -> Document:
    reference = {"id": alert["id"], "type": subscriptions.ROW.name, "name": alert["name"]}
    reference["fullyQualifiedName"] = alert["fullyQualifiedName"]
    return json_of(_STATES, alert | {"reference": with_address(reference, caller.root)})
