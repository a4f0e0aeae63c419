"""Tests that every route checks permissions: all are called by a person whom a policy denies everything."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.serving import Json, Served, running_server, server_settings
from tests.startedstore import StartedStore

from tocsin.server.http.paths import API

OPEN = {
    "GET /system/version": "which version answers is no secret; clients ask before they log in",
    "GET /system/config/auth": "a log-in page asks whether there is OpenID Connect",
    "GET /healthcheck": "whether the server lives is asked by machines",
    "POST /users/login": "it is how one comes in",
    "GET /auth/login": "it is how one comes in by OpenID Connect",
    "GET /auth/callback": "it is how one comes back from there",
    "POST /auth/token": "it is how the page comes in then, with a code and the cookie of its browser",
    "POST /auth/session": "it is how a browser comes in, from a page of this server",
    "GET /acknowledge/{token}": "the token in a message says whose message it was; it asks for that person's rights",
    "POST /acknowledge/{token}": "the same, after the page has asked",
    "GET /answer/{token}": "the token in a mail says whose mail it was; it asks for that person's rights",
    "POST /answer/{token}": "the same, after the page has asked",
    "GET /follow/{token}": "the token in a mail says whose mail it was",
    "POST /follow/{token}": "the same, after the page has asked",
    "GET /mute/{token}": "the token in a message says whose message it was",
    "POST /mute/{token}": "the same, after the page has asked",
    "POST /slack/interactions": "Slack signs it, and says who has pressed the button; it asks for that person's rights",
    "GET /rdf/context": "the same for everybody",
    "GET /rdf/ontology": "the same for everybody",
    "GET /rdf/shapes": "the same for everybody",
    "GET /atom/{token}": "the address says whose feed it is; each event asks",
    "GET /unsubscribe/{token}": "the token in a mail says whose mail it was",
    "POST /unsubscribe/{token}": "one click in a mail program, which has no log-in (RFC 8058)",
}
"""Routes that work without a token, each with its reason."""

OWN = {
    "GET /users/loggedInUser": "one's own name",
    "PUT /users/changePassword": "one's own password, with the old one",
    "POST /users/logout": "one's own token",
    "GET /auth/session": "one's own session",
    "DELETE /auth/session": "one's own session",
    "GET /auth/session/pushBrowser": "one's own session",
    "PUT /auth/session/pushBrowser": "one's own session",
    "POST /auth/session/pushBrowser/test": "one's own session",
    "DELETE /auth/session/pushBrowser": "one's own session",
    "GET /auth/sessions": "one's own sessions",
    "DELETE /auth/sessions/{session_id}": "one's own sessions",
    "GET /users/security/token": "one's own tokens",
    "PUT /users/security/token": "one's own tokens",
    "PUT /users/security/token/revoke": "one's own tokens",
    "GET /services/testConnectionDefinitions/name/{connector}.testConnectionDefinition": "the same for everybody",
    "GET /changeKinds": "the same for everybody",
    "GET /system/preferences": "the same for everybody",
    "GET /system/settings": "the same for everybody",
    "GET /system/settings/{name}": "the same for everybody",
    "POST /tasks/bulk": "each task asks",
    "GET /permissions": "what one may do oneself",
    "GET /permissions/{resource}": "what one may do oneself",
    "GET /users/{user_id}/notifications": "one's own inbox; each entry asks",
    "GET /users/{user_id}/notifications/assets": "one's own inbox; each entry asks",
    "GET /users/{user_id}/notifications/counts": "one's own inbox; each entry asks",
    "GET /users/{user_id}/notifications/causes": "one's own inbox; each entry asks",
    "GET /users/{user_id}/notifications/causes/{cause_id}/audience": "one's own inbox; each entry asks",
    "PUT /users/{user_id}/notifications/read": "one's own inbox",
    "PUT /users/{user_id}/notifications/seen": "one's own inbox",
    "POST /users/{user_id}/notifications/marks": "one's own inbox; each entry asks",
    "POST /users/{user_id}/notifications/opened": "one's own inbox; each entry asks",
    "PUT /users/{user_id}/notifications/{notification_id}/read": "one's own inbox",
    "GET /users/{user_id}/notifications/stream": "one's own inbox; each entry asks",
    "GET /embed/inbox": "one's own, by a token of an embed alone (``test_embeds.py``)",
    "PUT /embed/inbox/seen": "one's own, by a token of an embed alone",
    "GET /embed/follows/{entity_type}/{fqn}": "one's own, by a token of an embed alone; the asset asks",
    "PUT /embed/follows/{entity_type}/{fqn}": "one's own, by a token of an embed alone; the asset asks",
    "DELETE /embed/follows/{entity_type}/{fqn}": "one's own, by a token of an embed alone; the asset asks",
    "GET /users/{user_id}/searches": "one's own searches; each alert asks",
    "GET /users/{user_id}/recommendations": "one's own; each asset and reason asks",
    "PUT /users/{user_id}/recommendations/{asset_id}/dismissal": "one's own dismissals; the asset asks",
    "DELETE /users/{user_id}/recommendations/{asset_id}/dismissal": "one's own dismissals",
    "GET /users/{user_id}/mutes": "one's own mutes; each name asks",
    "PUT /users/{user_id}/mutes": "one's own mutes",
    "DELETE /users/{user_id}/mutes/{about_id}": "one's own mutes",
    "GET /users/{user_id}/substitute": "one's own substitute; each name asks",
    "DELETE /users/{user_id}/substitute": "one's own substitute",
    "DELETE /users/{user_id}/standsInFor/{person_id}": "for whom one stands in oneself",
    "PUT /users/{user_id}/standsInFor/{person_id}": "for whom one stands in oneself",
    "GET /users/{user_id}/preferences": "one's own preferences",
    "PUT /users/{user_id}/preferences": "one's own preferences",
    "PUT /users/{user_id}/following/{followed_id}/preferences": "one's own follows; each asset asks",
    "GET /users/{user_id}/following/summary": "one's own follows; each asset asks",
    "GET /users/{user_id}/preferences/effective": "one's own preferences; each name of a team asks",
    "GET /users/{user_id}/preferences/month": "one's own notifications; each asset asks",
    "GET /users/{user_id}/digest": "one's own digests; each notification asks",
    "GET /users/{user_id}/healthSummary": "one's own week; each asset asks",
    "GET /users/{user_id}/activity": "one's own activity; each event asks",
    "GET /users/{user_id}/feeds": "addresses of one's own feeds",
    "POST /users/{user_id}/feeds": "an address of one's own feed",
    "DELETE /users/{user_id}/feeds/{feed_id}": "an address of one's own feed",
}
"""Routes that show nothing but what is one's own, or no entity at all, each with what it shows."""

_TABLE = {"name": "t", "databaseSchema": "warehouse.shop.public", "columns": [{"name": "a", "dataType": "INT"}]}
_QUERIES = {
    "/{collection:collection}/history": "?startTs=0&endTs=9000000000000",
    "/permissions/policies": "?ids={id}",
    "/feed/count": "?entityLink=<%23E::table::{fullyQualifiedName}>",
    "/search/fieldQuery": "?fieldName=name&fieldValue={name}&index=table_search_index",
    "/lineage/getLineage": "?fqn={fullyQualifiedName}",
    "/lineage/counts": "?assets={id}",
    "/search/suggest": "?q=ord",
    "/activity/about": "?entityLink=<%23E::table::{fullyQualifiedName}>",
    "/suggestions/accept-all": "?userId={id}&entityFQN={fullyQualifiedName}",
    "/suggestions/reject-all": "?userId={id}&entityFQN={fullyQualifiedName}",
    "/search/query": "?q={name}",
}
_FILTERED = 200, 206
_REFUSED = {403, 404}


@pytest.fixture
def denied_person(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[tuple[str, httpx.Client]]:
    """Somebody whom a policy denies everything."""
    domain = {"name": "Sales", "domainType": "Aggregate", "description": "x"}
    assert administrator.post("/domains", json=domain).status_code == 201
    user_id, client = served.person("nobody")
    restrict(administrator, user_id, {"effect": "deny"})
    with client:
        yield user_id, client


def test_every_route_refuses_or_shows_nothing_to_who_may_nothing(
    served: Served, denied_person: tuple[str, httpx.Client], orders: Json
) -> None:
    _, client = denied_person
    answered: list[str] = []
    for method, path in _routes(served):
        if f"{method} {path}" in OPEN or f"{method} {path}" in OWN or path.endswith("/stream"):
            continue
        answer = client.request(method, _filled_path(path, orders), json=_body(method, path, orders))
        if answer.status_code in _REFUSED or (answer.status_code in _FILTERED and _shows_nothing(answer, orders)):
            continue
        answered.append(f"{method} {path}: {answer.status_code} {answer.text[:200]}")
    assert "\n".join(answered) == ""


def test_every_open_route_and_every_route_about_oneself_is_still_there(served: Served) -> None:
    routes = {f"{method} {path}" for method, path in _routes(served)}
    assert set(OPEN) | set(OWN) <= routes


def test_every_other_route_needs_a_token(served: Served, orders: Json) -> None:
    with served.client() as client:
        unasked = {
            f"{method} {path}": status
            for method, path in _routes(served)
            if f"{method} {path}" not in OPEN
            and (status := client.request(method, _filled_path(path, orders)).status_code) != 401
        }
    assert unasked == {}


def test_a_token_of_an_embed_opens_nothing_but_embeds(
    sqlite_engine: Engine, started_store: StartedStore, orders: Json
) -> None:
    settings = server_settings(embed_origins=("https://portal.example.com",))
    password, token = started_store.password, started_store.token
    with running_server(sqlite_engine, settings, password=password, token=token) as server:
        token = _embed_token(server)
        with server.client(token) as client:
            open_routes = {
                f"{method} {path}"
                for method, path in _routes(server)
                if f"{method} {path}" not in OPEN
                and client.request(method, _filled_path(path, orders), json=_body(method, path, orders)).status_code
                != 401
            }
    assert open_routes == {route for route in OWN if "/embed/" in route}


def _embed_token(server: Served) -> str:
    """Return a token of an embed for the administrator, who may do everything."""
    with server.administrator() as administrator:
        bot = administrator.post("/users", json={"name": "portal", "email": "p@example.org", "isBot": True}).json()
        restrict(administrator, bot["id"], {"effect": "allow", "operations": ["Impersonate"]})
        bot_token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    with server.client(bot_token) as client:
        return str(client.post("/embed/tokens", json={"user": "admin"}).json()["token"])


def _routes(served: Served) -> list[tuple[str, str]]:
    routes = [route for route in served.app.router.routes if isinstance(route, APIRoute)]
    return sorted(
        (method, route.path.removeprefix(API))
        for route in routes
        if route.path.startswith(API)
        for method in route.methods or ()
    )


def _filled_path(path: str, orders: Json) -> str:
    """Return the path with something that is there in every place."""
    is_group = "/assets" in path
    fqn = "Sales" if is_group else orders["fullyQualifiedName"]
    values = {"collection:collection": "domains" if is_group else "tables", "fqn": fqn, "version": "0.1"}
    values |= {
        "of": "table",
        "timestamp": "1",
        "number": "1",
        "date": "2026-01-01",
        "connector": "Postgres",
        "group": "Sales",
        "change": "add",
        "by": "id",
        "channel": "Slack",
    }
    values |= {"entity_type": "table", "resource": "table", "from_type": "table", "to_type": "table"}
    values |= {"from_fqn": orders["fullyQualifiedName"], "to_fqn": orders["fullyQualifiedName"]}
    values |= {"fqn": f"{fqn}.id"} if path.endswith("/columnProfile") else {}
    filled_path = re.sub(r"\{([^}]+)\}", lambda found: str(values.get(found[1], orders["id"])), path)
    return filled_path + _QUERIES.get(path, "").format(**orders)


def _body(method: str, path: str, orders: Json) -> Json:
    """Return a body that would do something, were it allowed."""
    reference = {"type": "table", "id": orders["id"]}
    if method == "PATCH":
        return [{"op": "add", "path": "/description", "value": "x"}]
    if method == "DELETE" and path.endswith("/usage"):
        return [reference]
    if path.endswith("/deleteStale"):
        return {"scopeEntityType": "databaseSchema", "scopeFqn": "warehouse.shop.public", "seenFqns": []}
    if method not in ("PUT", "POST"):
        return None
    if path == "/queryCostRecord":
        query = {"id": "00000000-0000-4000-8000-000000000000", "type": "query"}
        return {"queryReference": query, "timestamp": 1, "cost": 1, "count": 1}
    if path.endswith("/bulk") and "{collection" in path:
        return [_TABLE]
    if path.endswith("/followers"):
        return orders["id"]
    if path.endswith("/rollback"):
        return {"version": 0.1}
    if path == "/{collection:collection}":
        return _TABLE
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    return {
        "id": orders["id"],
        "name": "t",
        "entityLink": link,
        "about": link,
        "message": "x",
        "from": "nobody",
        "edge": {"fromEntity": reference, "toEntity": reference},
        "entity": reference,
        "entities": [reference],
        "assets": [reference],
        "data": [],
        "timestamp": 1,
        "testCaseReference": orders["fullyQualifiedName"],
        "testCaseResolutionStatusType": "New",
        "testSuiteId": orders["id"],
        "testCaseIds": [orders["id"]],
        "destination": {"category": "Owners", "type": "ActivityFeed"},
        "destinations": [{"category": "Owners", "type": "ActivityFeed"}],
    }


def _shows_nothing(answer: httpx.Response, orders: Json) -> bool:
    """Return whether an answer holds no entity: an empty page, or only rows that were refused."""
    is_json = answer.headers["content-type"] == "application/json"
    body = answer.json() if is_json else answer.text
    if isinstance(body, dict) and body.get("status") == "failure":
        return True
    return orders["id"] not in answer.text and orders["name"] not in answer.text
