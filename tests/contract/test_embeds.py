"""Tests of embeds: a host's back end gets a token for one person's inbox and follows, for ten minutes, and no more."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest
from pydantic import ValidationError
from sqlalchemy import Engine
from tests.contract.test_access import restrict, send_patch
from tests.notifying import notify_all
from tests.serving import Json, Served, running_server, server_settings, table
from tests.startedstore import StartedStore

from tocsin.settings import Settings

PORTAL = "https://portal.example.com"
MAY_IMPERSONATE = {"resources": ["user"], "operations": ["Impersonate"], "effect": "allow"}


@dataclass(frozen=True)
class Portal:
    """A site whose pages may show embeds: its bot, and Alice, who is logged in there."""

    served: Served
    administrator: httpx.Client
    bot: httpx.Client
    bot_id: str
    alice_id: str

    def token(self, user: str = "alice") -> str:
        answer = self.bot.post("/embed/tokens", json={"user": user})
        assert answer.status_code == 201, answer.text
        assert answer.headers["cache-control"] == "no-store"
        return str(answer.json()["token"])

    def page(self, token: str, origin: str = PORTAL) -> httpx.Client:
        """Return what a page of an origin can ask with a token."""
        client = self.served.client(token)
        client.headers["Origin"] = origin
        return client


@pytest.fixture
def portal(sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Portal]:
    settings = server_settings(embed_origins=(PORTAL,))
    with (
        running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as server,
        server.administrator() as administrator,
    ):
        bot = administrator.post("/users", json={"name": "portal", "email": "portal@example.org", "isBot": True}).json()
        restrict(administrator, bot["id"], MAY_IMPERSONATE)
        token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
        alice_id, alice = server.person("alice")
        alice.close()
        with server.client(token) as client:
            yield Portal(server, administrator, client, bot["id"], alice_id)


def test_embeds_are_off_by_default(served: Served, administrator: httpx.Client) -> None:
    assert administrator.post("/embed/tokens", json={"user": "admin"}).status_code == 403
    answer = administrator.get("/embed/inbox", headers={"Origin": served.url})
    assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (403, False)
    preflight = {"Origin": PORTAL, "Access-Control-Request-Method": "GET"}
    assert administrator.options("/embed/inbox", headers=preflight).status_code == 405
    assert httpx.get(f"{served.url}/embed/tocsin.js").status_code == 404


@pytest.mark.parametrize(
    "origin",
    ["*", "null", "https://portal.example.com/", "portal.example.com", "https://p.example.com:443", "https://P.x"],
)
def test_an_origin_is_written_as_browsers_send_it(origin: str) -> None:
    with pytest.raises(ValidationError, match="is not an origin as browsers send it"):
        Settings(embed_origins=(origin,))


def test_a_page_shows_the_bell_of_its_person_and_follows_for_them(
    portal: Portal, orders: Json, sqlite_engine: Engine
) -> None:
    name = orders["fullyQualifiedName"]
    with portal.page(portal.token("alice@example.org")) as page:
        assert page.get("/embed/inbox").json() == {"unread": 0, "entries": [], "url": f"{portal.served.url}/inbox"}
        follow = {"id": orders["id"], "type": "table", "name": "orders", "follows": False}
        follow["url"] = f"{portal.served.url}/table/{name}"
        assert page.get(f"/embed/follows/table/{name}").json() == follow
        for _ in range(2):
            assert page.put(f"/embed/follows/table/{name}").json() == {**follow, "follows": True}
        change = {"op": "add", "path": "/description", "value": "All orders."}
        assert send_patch(portal.administrator, f"/tables/{orders['id']}", change).status_code == 200
        notify_all(sqlite_engine)
        bell = page.get("/embed/inbox").json()
        (entry,) = bell["entries"]
        assert (bell["unread"], entry["read"]) == (1, False)
        assert entry["title"].startswith("orders")
        assert entry["reason"].startswith("you follow")
        assert entry["url"] == f"{portal.served.url}/inbox/{entry['id']}"
        assert page.put("/embed/inbox/seen").json() == {"marked": 1}
        assert page.delete(f"/embed/follows/table/{name}").json() == follow
        restrict(portal.administrator, portal.alice_id, {"effect": "deny"})
        assert page.get("/embed/inbox").json()["entries"] == []
        assert page.get("/embed/inbox").json()["unread"] == 0


def test_what_the_person_may_not_view_can_neither_be_seen_nor_followed(portal: Portal, orders: Json) -> None:
    secret = table(portal.administrator, "salaries", tags=[{"tagFQN": "PII.Sensitive"}])
    restrict(portal.administrator, portal.alice_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    path = f"/embed/follows/table/{secret['fullyQualifiedName']}"
    with portal.page(portal.token()) as page:
        answers = [page.request(method, path) for method in ("GET", "PUT", "DELETE")]
        assert {answer.status_code for answer in answers} == {403}
        assert page.get("/embed/follows/table/nothing").status_code == 404
        assert {page.get(f"/embed/follows/{kind}/x").status_code for kind in ("policy", "x", "..")} <= {400, 404}
    assert portal.administrator.get(f"/tables/{secret['id']}/followers").json()["data"] == []


def test_pages_of_listed_origins_read_these_routes_and_no_others(portal: Portal, orders: Json) -> None:
    preflight = {
        "Origin": PORTAL,
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "authorization",
    }
    with portal.served.client() as browser:
        preflight_answer = browser.options("/embed/follows/table/x", headers=preflight)
        assert (preflight_answer.status_code, preflight_answer.headers["access-control-allow-origin"]) == (200, PORTAL)
        assert "access-control-allow-credentials" not in preflight_answer.headers
        assert "Origin" in preflight_answer.headers["vary"]
        for origin in ("https://evil.example.com", "null", f"{PORTAL}.evil.example.com", "http://portal.example.com"):
            refusal = browser.options("/embed/inbox", headers={**preflight, "Origin": origin})
            assert (refusal.status_code, "access-control-allow-origin" in refusal.headers) == (400, False)
        for path in ("/embed/tokens", "/tables", f"/users/{portal.alice_id}/notifications", "/embed/inboxes"):
            refusal = browser.options(path, headers=preflight)
            assert "access-control-allow-origin" not in refusal.headers, path
    token = portal.token()
    with portal.page(token) as page, portal.page(token, "https://evil.example.com") as evil:
        headers = page.get("/embed/inbox").headers
        assert headers["access-control-allow-origin"] == PORTAL
        assert headers["access-control-expose-headers"] == "Date"
        refusal = evil.get("/embed/inbox")
        assert (refusal.status_code, "access-control-allow-origin" in refusal.headers) == (403, False)
        assert "access-control-allow-origin" not in page.get("/system/version").headers
    with portal.page("nothing") as page:
        refusal = page.get("/embed/inbox")
        assert (refusal.status_code, refusal.headers["access-control-allow-origin"]) == (401, PORTAL)


def test_only_a_bot_that_may_gets_a_token_and_for_people_only(portal: Portal) -> None:
    for body, status in (
        ({"user": "nobody"}, 404),
        ({"user": "portal"}, 400),
        ({"user": 7}, 400),
        ({}, 400),
        ({"user": "alice", "hours": 24}, 400),
    ):
        assert portal.bot.post("/embed/tokens", json=body).status_code == status, body
    _, bob = portal.served.person("bob")
    with bob:
        assert bob.post("/embed/tokens", json={"user": "bob"}).status_code == 403
    assert portal.administrator.post("/embed/tokens", json={"user": "alice"}).status_code == 403
    powerless_bot = portal.administrator.post(
        "/users", json={"name": "other", "email": "o@example.org", "isBot": True}
    ).json()
    token = portal.administrator.put(f"/users/generateToken/{powerless_bot['id']}").json()["JWTToken"]
    with portal.served.client(token) as other_bot:
        assert other_bot.post("/embed/tokens", json={"user": "alice"}).status_code == 403
    with portal.page(portal.token()) as page:
        assert page.post("/embed/tokens", json={"user": "admin"}).status_code == 401


def test_a_token_ends_with_its_time_its_bot_its_person_and_their_password(portal: Portal) -> None:
    token_answer = portal.bot.post("/embed/tokens", json={"user": portal.alice_id}).json()
    assert token_answer["expiresAt"] <= time.time() * 1000 + 600_000

    def revoke_bot() -> httpx.Response:
        return portal.administrator.put("/users/revokeToken", json={"id": portal.bot_id})

    def change_password() -> httpx.Response:
        passwords = {"oldPassword": "alice-password", "newPassword": "another-Password-7"}
        with portal.served.client(portal.served.log_in("alice@example.org", "alice-password")) as alice:
            return alice.put(
                "/users/changePassword",
                json={**passwords, "confirmPassword": passwords["newPassword"], "requestType": "SELF"},
            )

    def deactivate() -> httpx.Response:
        return portal.administrator.delete(f"/users/{portal.alice_id}")

    for end in (change_password, deactivate):
        with portal.page(portal.token()) as page:
            assert page.get("/embed/inbox").status_code == 200
            assert end().is_success
            assert page.get("/embed/inbox").status_code == 401, end.__name__
    assert portal.bot.post("/embed/tokens", json={"user": "alice"}).status_code == 404
    with portal.page(portal.token("admin")) as page:
        assert revoke_bot().is_success
        assert page.get("/embed/inbox").status_code == 401


def test_no_other_token_and_no_cookie_opens_an_embed(portal: Portal) -> None:
    session = {"email": "alice@example.org", "password": "alice-password"}
    with portal.served.client() as browser:
        assert browser.post("/auth/session", json=session, headers={"Origin": portal.served.url}).is_success
        assert browser.get("/auth/session").status_code == 200
        assert browser.get("/embed/inbox").status_code == 401
    token = portal.served.log_in("alice@example.org", "alice-password")
    embed_token = portal.token()
    with portal.served.client() as client:
        for scheme, text in (("Bearer", token), ("embed", token), ("session", embed_token), ("embed", embed_token)):
            answer = client.get("/embed/inbox", headers={"Authorization": f"{scheme} {text}"})
            assert answer.status_code == 401, scheme
        for scheme in ("Bearer", "embed", "Embed", "session"):
            for path in ("/users/loggedInUser", f"/users/{portal.alice_id}/notifications"):
                answer = client.get(path, headers={"Authorization": f"{scheme} {embed_token}"})
                assert answer.status_code == 401, (scheme, path)
