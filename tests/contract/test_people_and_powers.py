"""Tests of privileges: only administrators set addresses, names, roles and teams with roles; connectors still work."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.serving import Json, Served

PATCH = {"Content-Type": "application/json-patch+json"}


@pytest.fixture
def connector(served: Served, administrator: httpx.Client) -> Iterator[httpx.Client]:
    bot = {"name": "connector", "email": "connector@example.org", "isBot": True}
    bot_id = administrator.post("/users", json=bot).json()["id"]
    with served.client(administrator.put(f"/users/generateToken/{bot_id}").json()["JWTToken"]) as client:
        yield client


@pytest.fixture
def roles(administrator: httpx.Client) -> dict[str, str]:
    return {one["name"]: one["id"] for one in administrator.get("/roles?limit=100").json()["data"]}


@pytest.fixture
def stewards(administrator: httpx.Client, roles: dict[str, str]) -> Json:
    """A department with a role and a group under it, which has none of its own."""
    above = {"name": "governance", "teamType": "Department", "defaultRoles": [roles["DataSteward"]]}
    parent = administrator.post("/teams", json=above)
    assert parent.status_code == 201, parent.text
    below = administrator.post(
        "/teams", json={"name": "stewards", "teamType": "Group", "parents": [parent.json()["id"]]}
    )
    assert below.status_code == 201, below.text
    return below.json()


@pytest.fixture
def plain(administrator: httpx.Client) -> Json:
    """A group without roles."""
    return administrator.post("/teams", json={"name": "plain", "teamType": "Group"}).json()


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def reference(entity_type: str, entity_id: str) -> Json:
    return {"type": entity_type, "id": entity_id}


def test_a_connector_brings_people_and_puts_them_into_teams_without_roles(connector: httpx.Client, plain: Json) -> None:
    response = connector.put("/users", json={"name": "carl", "email": "carl@example.org", "teams": [plain["id"]]})
    assert response.status_code == 201, response.text
    again = {"name": "carl", "email": "carl@example.org", "displayName": "Carl"}
    assert connector.put("/users", json=again).status_code == 200
    people = [reference("user", response.json()["id"])]
    assert connector.put(f"/teams/{plain['id']}/users", json=people).status_code == 200
    group = {"name": "brought", "teamType": "Group", "users": [response.json()["id"]]}
    assert connector.put("/teams", json=group).status_code == 201


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/email", "mallory@example.org"),
        ("/isAdmin", True),
        ("/roles", [{"type": "role", "id": "DataSteward"}]),
        ("/domains", [{"type": "domain", "fullyQualifiedName": "finance"}]),
    ],
)
def test_who_people_are_and_what_they_may_do_is_not_a_connectors(
    connector: httpx.Client,
    administrator: httpx.Client,
    roles: dict[str, str],
    alice: tuple[str, httpx.Client],
    path: str,
    value: Json,
) -> None:
    administrator.post("/domains", json={"name": "finance", "domainType": "Aggregate", "description": "Money."})
    if path == "/roles":
        value = [reference("role", roles["DataSteward"])]
    before = administrator.get(f"/users/{alice[0]}?fields=*").json()
    patch = [{"op": "add", "path": path, "value": value}]
    refused = connector.patch(f"/users/{before['id']}", json=patch, headers=PATCH)
    assert refused.status_code == 403, refused.text
    assert administrator.get(f"/users/{alice[0]}?fields=*").json() == before


def test_a_connector_changes_no_address_by_put_or_in_bulk(connector: httpx.Client, administrator: httpx.Client) -> None:
    mallory = {"name": "admin", "email": "mallory@example.org"}
    assert connector.put("/users", json=mallory).status_code == 403
    outcome = connector.put("/users/bulk", json=[mallory])
    assert outcome.json()["numberOfRowsFailed"] == 1, outcome.text
    assert administrator.get("/users/name/admin").json()["email"] == "admin@tocsin.example.org"


def test_nobody_but_an_administrator_puts_people_into_a_team_that_brings_a_role(
    connector: httpx.Client, administrator: httpx.Client, stewards: Json, plain: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, _ = alice
    person, group = reference("user", user_id), reference("team", stewards["id"])
    into = [{"op": "add", "path": "/users", "value": [person]}]
    of_user = [{"op": "add", "path": "/teams", "value": [group]}]
    above = [{"op": "add", "path": "/parents", "value": stewards["parents"]}]
    under = {"name": "under", "teamType": "Group", "parents": [stewards["parents"][0]["id"]], "users": [user_id]}
    tries = [
        connector.put(f"/teams/{stewards['id']}/users", json=[person]),
        connector.patch(f"/teams/{stewards['id']}", json=into, headers=PATCH),
        connector.put("/teams", json={"name": "stewards", "teamType": "Group", "users": [user_id]}),
        connector.patch(f"/users/{user_id}", json=of_user, headers=PATCH),
        connector.put("/users", json={"name": "alice", "email": "alice@example.org", "teams": [stewards["id"]]}),
        connector.put("/users", json={"name": "new", "email": "new@example.org", "teams": [stewards["id"]]}),
        connector.put("/teams", json=under),
        connector.patch(f"/teams/{plain['id']}", json=above, headers=PATCH),
    ]
    assert [one.status_code for one in tries] == [403] * len(tries)
    assert administrator.put(f"/teams/{stewards['id']}/users", json=[person]).status_code == 200
    assert connector.put(f"/teams/{stewards['id']}/users", json=[]).status_code == 403
    assert connector.delete(f"/teams/{stewards['id']}/users/{user_id}").status_code == 403


def test_a_team_that_a_rule_names_decides_as_one_with_roles(
    connector: httpx.Client, administrator: httpx.Client, plain: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, _ = alice
    rule = {"name": "r", "effect": "allow", "operations": ["EditAll"], "resources": ["table"]}
    policy = {"name": "p", "rules": [rule | {"condition": "inAnyTeam('plain')"}]}
    assert connector.put(f"/teams/{plain['id']}/users", json=[reference("user", user_id)]).status_code == 200
    assert connector.put(f"/teams/{plain['id']}/users", json=[]).status_code == 200
    assert administrator.post("/policies", json=policy).status_code == 201
    assert connector.put(f"/teams/{plain['id']}/users", json=[reference("user", user_id)]).status_code == 403


def test_the_owner_of_a_team_says_who_is_in_it_while_it_brings_no_role(
    administrator: httpx.Client, plain: Json, stewards: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    owner_patch = [{"op": "add", "path": "/owners", "value": [reference("user", user_id)]}]
    for team in (plain, stewards):
        assert administrator.patch(f"/teams/{team['id']}", json=owner_patch, headers=PATCH).status_code == 200
    people = [reference("user", user_id)]
    assert client.put(f"/teams/{plain['id']}/users", json=people).status_code == 200
    assert client.put(f"/teams/{stewards['id']}/users", json=people).status_code == 403


def test_who_may_edit_people_gives_them_no_roles_and_no_address(
    served: Served, administrator: httpx.Client, roles: dict[str, str], alice: tuple[str, httpx.Client]
) -> None:
    allow = {"name": "a", "effect": "allow", "operations": ["EditAll"], "resources": ["user", "team"]}
    assert administrator.post("/policies", json={"name": "clerks", "rules": [allow]}).status_code == 201
    clerk = administrator.post("/roles", json={"name": "clerk", "policies": ["clerks"]}).json()["id"]
    user_id, _ = alice
    own_id, client = served.person("bob", roles=[clerk])
    with client:
        for target_id in (user_id, own_id):
            steward = [{"op": "add", "path": "/roles", "value": [reference("role", roles["DataSteward"])]}]
            address = [{"op": "add", "path": "/email", "value": "x@example.org"}]
            description = [{"op": "add", "path": "/description", "value": "Works here."}]
            statuses = [
                client.patch(f"/users/{target_id}", json=p, headers=PATCH).status_code
                for p in (steward, address, description)
            ]
            assert statuses == [403, 403, 200]


def test_a_connector_restores_nobody(
    connector: httpx.Client, administrator: httpx.Client, stewards: Json, plain: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, _ = alice
    for path in (f"/users/{user_id}", f"/teams/{stewards['id']}", f"/teams/{plain['id']}"):
        assert administrator.delete(path).status_code == 200
    assert connector.put("/users", json={"name": "alice", "email": "alice@example.org"}).status_code == 403
    assert connector.put("/users/restore", json={"id": user_id}).status_code == 403
    assert connector.put("/teams/restore", json={"id": stewards["id"]}).status_code == 403
    assert connector.put("/teams/restore", json={"id": plain["id"]}).status_code == 200
