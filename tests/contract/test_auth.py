"""Tests of log-in and tokens by HTTP."""

from __future__ import annotations

import base64

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from sqlalchemy import Engine
from tests.serving import Served

from tocsin.clock import FixedClock
from tocsin.errors import Unauthenticated
from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.server.login.tokens import Tokens, issue_token
from tocsin.store.catalogue.people.identities import People

OPEN = ["/system/version", "/healthcheck"]


def test_without_a_token_only_what_is_open_answers(served: Served) -> None:
    with served.client() as client:
        assert [client.get(path).status_code for path in OPEN] == [200, 200]
        assert client.get("/system/version").json()["version"].startswith("2.0.")
        for method, path in (
            ("GET", "/tables"),
            ("PUT", "/tables"),
            ("GET", "/users/loggedInUser"),
            ("GET", "/events"),
        ):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (401, 401)
            assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("encoded", [True, False])
def test_log_in_takes_a_plain_and_an_encoded_password(served: Served, encoded: bool) -> None:
    password = base64.b64encode(served.password.encode()).decode() if encoded else served.password
    with served.client() as client:
        answer = client.post("/users/login", json={"email": ADMINISTRATOR["email"].upper(), "password": password})
    assert answer.status_code == 200
    assert answer.json()["tokenType"] == "Bearer"
    assert answer.json()["expiryDuration"] > 0


@pytest.mark.parametrize(
    "body",
    [
        {"email": "admin@tocsin.example.org", "password": "wrong"},
        {"email": "nobody@example.org", "password": "wrong"},
        {"email": "admin@tocsin.example.org", "password": "x" * 50_000},
        {"email": "%", "password": "wrong"},
    ],
)
def test_a_wrong_log_in_says_nothing_of_what_was_wrong(served: Served, body: dict[str, str]) -> None:
    with served.client() as client:
        answer = client.post("/users/login", json=body)
    assert (answer.status_code, answer.json()["message"]) == (401, "Wrong e-mail address or password.")


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")  # we forge with 'none'
@pytest.mark.parametrize("forge", ["none", "other key", "other issuer", "garbage", "basic", "empty"])
def test_a_forged_token_opens_nothing(served: Served, forge: str) -> None:
    claims = {"sub": served.app.state.parts.people.by_name("admin").id, "iat": 1, "iss": "tocsin"}
    key = OctKey.import_key(served.app.state.parts.people.secret("token-key", lambda: ""))
    header = {
        "none": f"Bearer {jwt.encode({'alg': 'none'}, claims, key, ['none'])}",
        "other key": f"Bearer {jwt.encode({'alg': 'HS256'}, claims, OctKey.import_key('x' * 32))}",
        "other issuer": f"Bearer {jwt.encode({'alg': 'HS256'}, {**claims, 'iss': 'x'}, key)}",
        "garbage": "Bearer a.b.c",
        "basic": "Basic YWRtaW46YWRtaW4=",
        "empty": "Bearer",
    }[forge]
    answer = httpx.get(f"{served.url}/api/v1/tables", headers={"Authorization": header})
    assert answer.status_code == 401


def test_a_token_expires_and_a_bots_does_not(served: Served, sqlite_engine: Engine) -> None:
    _, client = served.person("alice")
    client.close()
    _, bot = served.person("robot", isBot=True)
    bot.close()
    people, clock = People(sqlite_engine), FixedClock(1_000_000)
    tokens = Tokens(people, clock, lifetime_s=60)
    alice, robot = people.by_name("alice"), people.by_name("robot")
    assert alice is not None
    assert robot is not None
    of_alice, of_robot = tokens.issue(alice), issue_token(people, clock, "robot", lifetime_s=60)
    assert tokens.actor(f"Bearer {of_alice.text}").name == "alice"
    clock.advance(61_000)
    with pytest.raises(Unauthenticated, match="expired"):
        tokens.actor(f"Bearer {of_alice.text}")
    assert of_robot.expires_at_ms is None
    assert tokens.issue(robot).expires_at_ms is not None
    assert tokens.actor(f"Bearer {of_robot.text}").is_bot


def test_whoever_is_deleted_is_out_at_once(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    with alice:
        assert alice.get("/tables").status_code == 200
        assert administrator.delete(f"/users/{user_id}").status_code == 200
        assert alice.get("/tables").status_code == 401
    with served.client() as client:
        again = client.post("/users/login", json={"email": "alice@example.org", "password": "alice-password"})
    assert again.status_code == 401


def test_a_password_is_changed_by_who_knows_the_old_one(served: Served) -> None:
    _, alice = served.person("alice")
    with alice:
        wrong = {"oldPassword": "guess", "newPassword": "another-password"}
        assert alice.put("/users/changePassword", json=wrong).status_code == 401
        short = {"oldPassword": "alice-password", "newPassword": "short"}
        assert alice.put("/users/changePassword", json=short).status_code == 400
        right = {"oldPassword": "alice-password", "newPassword": "another-password"}
        assert alice.put("/users/changePassword", json=right).status_code == 200
        change_for_admin = {"username": "admin", "oldPassword": "another-password", "newPassword": "another-password"}
        assert alice.put("/users/changePassword", json=change_for_admin).status_code == 404
    served.tokens.clear()
    assert served.log_in("alice@example.org", "another-password")
