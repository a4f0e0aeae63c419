"""Tests of tokens by HTTP: issue, expiry and revocation."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json, Served


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
        token = alice.put("/users/security/token", json={"tokenName": "notebook", "JWTTokenExpiry": "7"}).json()
        assert (token["tokenName"], token["userId"]) == ("notebook", user_id)
        other_token = alice.put(
            "/users/security/token", json={"tokenName": "other", "JWTTokenExpiry": "OneHour"}
        ).json()
        listed_tokens = alice.get("/users/security/token").json()["data"]
        assert [one["tokenName"] for one in listed_tokens] == ["notebook", "other"]
        assert all("jwtToken" not in one for one in listed_tokens)
        with served.client(token["jwtToken"]) as notebook:
            assert notebook.get("/users/loggedInUser").json()["name"] == "alice"
            remaining = alice.put("/users/security/token/revoke", json={"tokenIds": [token["token"]]}).json()
            assert [one["token"] for one in remaining["data"]] == [other_token["token"]]
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


def test_a_bot_makes_no_personal_token(served: Served, administrator: httpx.Client, bot: Json) -> None:
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    with served.client(token) as itself:
        response = itself.put("/users/security/token", json={"tokenName": "mine", "JWTTokenExpiry": "90"})
    assert response.status_code == 403


def personal(client: httpx.Client, expiry: str, **fields: str) -> Json:
    response = client.put("/users/security/token", json={"tokenName": "t", "JWTTokenExpiry": expiry, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def test_no_token_makes_one_that_outlives_it(served: Served) -> None:
    _, alice = served.person("alice")
    with alice:
        hour = personal(alice, "OneHour")
        with served.client(hour["jwtToken"]) as client:
            child = personal(client, "90")
        assert child["expiryDate"] == hour["expiryDate"]
        with served.client(child["jwtToken"]) as client:
            assert personal(client, "90")["expiryDate"] == hour["expiryDate"]


def test_a_token_is_revoked_with_the_one_it_was_made_with(served: Served) -> None:
    _, alice = served.person("alice")
    with alice:
        first = personal(alice, "1")
        with served.client(first["jwtToken"]) as client:
            second = personal(client, "1")["jwtToken"]
        with served.client(second) as client:
            third = personal(client, "1")["jwtToken"]
        with served.client(second) as child, served.client(third) as grandchild:
            assert grandchild.get("/tables").status_code == 200
            alice.put("/users/security/token/revoke", json={"tokenIds": [first["token"]]})
            assert [one.get("/tables").status_code for one in (child, grandchild)] == [401, 401]


def test_logging_out_ends_what_was_made_meanwhile_but_not_what_the_password_made(served: Served) -> None:
    _, alice = served.person("alice")
    with alice:
        lasting = personal(alice, "90", password="alice-password")
        passing = personal(alice, "90")
        assert lasting["expiryDate"] - passing["expiryDate"] > 80 * 86_400_000
        wrong = {"tokenName": "t", "JWTTokenExpiry": "90", "password": "guess"}
        assert alice.put("/users/security/token", json=wrong).status_code == 401
        alice.post("/users/logout")
    with served.client(lasting["jwtToken"]) as client:
        assert client.get("/tables").status_code == 200
    with served.client(passing["jwtToken"]) as client:
        assert client.get("/tables").status_code == 401


def test_an_administrators_personal_token_gives_no_bot_a_longer_one(
    served: Served, administrator: httpx.Client, bot: Json
) -> None:
    lasting = administrator.put(f"/users/generateToken/{bot['id']}").json()
    hour = personal(administrator, "OneHour")
    with served.client(hour["jwtToken"]) as client:
        assert client.get(f"/users/token/{bot['id']}").status_code == 403
        bot_token = client.put(f"/users/generateToken/{bot['id']}", json={"JWTTokenExpiry": "90"}).json()
        assert bot_token["JWTTokenExpiresAt"] == hour["expiryDate"]
        assert client.get(f"/users/token/{bot['id']}").json() == bot_token
    administrator.put("/users/security/token/revoke", json={"tokenIds": [hour["token"]]})
    for mechanism in (lasting, bot_token):
        with served.client(mechanism["JWTToken"]) as client:
            assert client.get("/tables").status_code == 401


def test_whoever_is_restored_logs_in_anew(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    with alice:
        assert administrator.delete(f"/users/{user_id}").status_code == 200
        assert alice.get("/tables").status_code == 401
        assert administrator.put("/users/restore", json={"id": user_id}).status_code == 200
        assert alice.get("/tables").status_code == 401
        with log_in(served, "alice", "alice-password") as again:
            assert again.get("/tables").status_code == 200


def test_deleting_a_bot_ends_the_tokens_of_its_user(served: Served, administrator: httpx.Client, bot: Json) -> None:
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    request = {"name": "harvester", "botUser": bot["name"]}
    response = administrator.post("/bots", json=request)
    assert response.status_code == 201, response.text
    with served.client(token) as client:
        assert client.get("/tables").status_code == 200
        assert administrator.delete(f"/bots/{response.json()['id']}").status_code == 200
        assert client.get("/tables").status_code == 401


def test_only_administrators_have_the_token_of_a_bot_that_is_one(served: Served, administrator: httpx.Client) -> None:
    boss = {"name": "boss", "email": "boss@example.org", "isBot": True, "isAdmin": True}
    bot_id = administrator.post("/users", json=boss).json()["id"]
    allow = {"name": "a", "effect": "allow", "operations": ["All"], "resources": ["user"]}
    policy = administrator.post("/policies", json={"name": "p", "rules": [allow]})
    assert policy.status_code == 201, policy.text
    role = administrator.post("/roles", json={"name": "keeper", "policies": ["p"]})
    assert role.status_code == 201, role.text
    _, alice = served.person("alice", roles=[role.json()["id"]])
    with alice:
        for answer in (
            alice.put(f"/users/generateToken/{bot_id}"),
            alice.get(f"/users/token/{bot_id}"),
            alice.put("/users/revokeToken", json={"id": bot_id}),
        ):
            assert (answer.status_code, "administrator" in answer.json()["message"]) == (403, True)
