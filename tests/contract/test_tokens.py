"""Do tokens stop working when they are taken back, and do guesses end? By HTTP."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.founded import Founded
from tests.serving import Json, Served, running_server

from tocsin.clock import FixedClock
from tocsin.errors import Forbidden, Unauthenticated
from tocsin.server.auth import hash_password
from tocsin.server.doorkeeper import Doorkeeper
from tocsin.settings import Settings
from tocsin.store.access.attempts import LoginAttempts
from tocsin.store.access.people import People


def log_in(served: Served, name: str, password: str) -> httpx.Client:
    with served.client() as client:
        answer = client.post("/users/login", json={"email": f"{name}@example.org", "password": password})
    assert answer.status_code == 200, answer.text
    return served.client(answer.json()["accessToken"])


def test_after_logging_out_the_token_opens_nothing(served: Served) -> None:
    _, alice = served.person("alice")
    with alice, log_in(served, "alice", "alice-password") as elsewhere:
        assert alice.get("/tables").status_code == 200
        assert alice.post("/users/logout", json={"username": "alice", "token": "x"}).status_code == 200
        assert alice.get("/tables").status_code == 401
        assert elsewhere.get("/tables").status_code == 200


def test_a_new_password_ends_every_other_session(served: Served) -> None:
    _, alice = served.person("alice")
    with alice, log_in(served, "alice", "alice-password") as elsewhere:
        change = {"oldPassword": "alice-password", "newPassword": "another-password"}
        assert alice.put("/users/changePassword", json=change).status_code == 200
        assert elsewhere.get("/tables").status_code == 401
        assert alice.get("/tables").status_code == 200


def test_personal_tokens_are_made_listed_and_revoked(served: Served) -> None:
    user_id, alice = served.person("alice")
    with alice:
        made = alice.put("/users/security/token", json={"tokenName": "notebook", "JWTTokenExpiry": "7"}).json()
        assert (made["tokenName"], made["userId"]) == ("notebook", user_id)
        other = alice.put("/users/security/token", json={"tokenName": "other", "JWTTokenExpiry": "OneHour"}).json()
        listed = alice.get("/users/security/token").json()["data"]
        assert [one["tokenName"] for one in listed] == ["notebook", "other"]
        assert all("jwtToken" not in one for one in listed)
        with served.client(made["jwtToken"]) as notebook:
            assert notebook.get("/users/loggedInUser").json()["name"] == "alice"
            left = alice.put("/users/security/token/revoke", json={"tokenIds": [made["token"]]}).json()
            assert [one["token"] for one in left["data"]] == [other["token"]]
            assert notebook.get("/tables").status_code == 401
        assert alice.put("/users/security/token/revoke?removeAll=true", json={}).json()["data"] == []
        for body in ({}, {"tokenName": "x", "JWTTokenExpiry": "2"}, {"tokenName": "x", "JWTTokenExpiry": "Unlimited"}):
            assert alice.put("/users/security/token", json=body).status_code == 400


@pytest.fixture
def bot(administrator: httpx.Client) -> Json:
    return administrator.post("/users", json={"name": "bot", "email": "bot@example.org", "isBot": True}).json()


def test_a_bots_token_is_read_replaced_and_revoked(served: Served, administrator: httpx.Client, bot: Json) -> None:
    assert administrator.get(f"/users/token/{bot['id']}").status_code == 404
    first = administrator.put(f"/users/generateToken/{bot['id']}", json={"JWTTokenExpiry": "30"}).json()
    assert (first["JWTTokenExpiry"], first["JWTTokenExpiresAt"] > 0) == ("30", True)
    assert administrator.get(f"/users/token/{bot['id']}").json() == first
    second = administrator.put(f"/users/generateToken/{bot['id']}").json()
    assert (second["JWTTokenExpiry"], second["JWTTokenExpiresAt"]) == ("Unlimited", None)
    with served.client(first["JWTToken"]) as old, served.client(second["JWTToken"]) as new:
        assert old.get("/tables").status_code == 401
        assert new.get("/tables").status_code == 200
        assert administrator.put("/users/revokeToken", json={"id": bot["id"]}).json()["JWTToken"] == ""
        assert new.get("/tables").status_code == 401


def test_only_administrators_get_at_bots_tokens(served: Served, administrator: httpx.Client, bot: Json) -> None:
    user_id, alice = served.person("alice")
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    with alice, served.client(token) as itself:
        for client in (alice, itself):
            assert client.get(f"/users/token/{bot['id']}").status_code == 403
            assert client.put(f"/users/generateToken/{bot['id']}").status_code == 403
            assert client.put("/users/revokeToken", json={"id": bot["id"]}).status_code == 403
    assert administrator.put(f"/users/generateToken/{user_id}").status_code == 400
    assert administrator.put("/users/revokeToken", json={"id": 5}).status_code == 400


def test_who_guesses_must_wait(sqlite_engine: Engine, founded: Founded) -> None:
    settings = Settings(log_level="warning", login_failures=3, login_wait_s=600)
    known = founded.password
    with running_server(sqlite_engine, settings, password=known) as served, served.client() as client:
        guess = {"email": "admin@tocsin.example.org", "password": "guess"}
        assert [client.post("/users/login", json=guess).status_code for _ in range(4)] == [401, 401, 401, 403]
        right = client.post("/users/login", json={**guess, "password": served.password})
        assert right.status_code == 403
        assert "wait" in right.json()["message"]
        nobody = {"email": "nobody@example.org", "password": "guess"}
        assert client.post("/users/login", json=nobody).status_code == 401


def test_a_new_password_lets_a_locked_account_in(sqlite_engine: Engine, founded: Founded) -> None:
    settings = Settings(log_level="warning", login_failures=2, login_wait_s=600)
    with running_server(sqlite_engine, settings, password=founded.password) as served:
        _, alice = served.person("alice")
        with alice, served.client() as client, served.administrator() as administrator:

            def tried(login: str, password: str) -> int:
                return client.post("/users/login", json={"email": login, "password": password}).status_code

            for login in ("Alice@example.org", "alice", "alice"):
                assert [tried(login, "guess") for _ in range(3)][-1] == 403
            change = {"username": "alice", "newPassword": "another-password"}
            assert administrator.put("/users/changePassword", json=change).status_code == 200
            assert tried("alice@example.org", "another-password") == 200
            assert tried("alice", "another-password") == 200


def test_wrong_old_passwords_count_for_the_address_they_come_from(sqlite_engine: Engine, founded: Founded) -> None:
    settings = Settings(log_level="warning", login_failures=3, login_wait_s=600)
    with running_server(sqlite_engine, settings, password=founded.password) as served:
        _, alice = served.person("alice")
        with alice:
            wrong = {"username": "alice", "oldPassword": "guess", "newPassword": "another-password"}
            assert alice.put("/users/changePassword", json=wrong).status_code == 401
    counted = LoginAttempts(sqlite_engine).failures(["address:", "address:127.0.0.1"])
    assert {key: count for key, (count, _) in counted.items()} == {"address:127.0.0.1": 1}


def test_failures_are_forgotten_in_time_and_when_somebody_comes_in(store_engine: Engine) -> None:
    people, clock = People(store_engine), FixedClock(1_000_000)
    door = Doorkeeper(people, LoginAttempts(store_engine), clock, most=2, wait_s=60)

    def guess(login: str = "nobody") -> type[Exception]:
        try:
            door.let_in(login, "guess", "10.0.0.1")
        except (Forbidden, Unauthenticated) as error:
            return type(error)
        raise AssertionError

    assert [guess(), guess(), guess()] == [Unauthenticated, Unauthenticated, Forbidden]
    assert guess("another") is Unauthenticated
    clock.advance(61_000)
    assert guess() is Unauthenticated
    for number in range(25):
        guess(f"n{number}")
    with pytest.raises(Forbidden, match="wait 60 seconds"):
        door.let_in("new", "guess", "10.0.0.1")
    assert hash_password("x") != hash_password("x")
