"""Tests of the hierarchy of teams by HTTP: parents, children, counts, inherited roles and domains."""

from __future__ import annotations

import json

import httpx
from tests.serving import Json, Served

PATCH = {"Content-Type": "application/json-patch+json"}


def create_entity(client: httpx.Client, path: str, **request: Json) -> Json:
    answer = client.post(path, json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def names(references: Json) -> list[str]:
    return [one["name"] for one in references]


def test_a_team_shows_its_place_and_can_be_moved(administrator: httpx.Client) -> None:
    north = create_entity(administrator, "/teams", name="north", teamType="Division")
    crew = create_entity(administrator, "/teams", name="crew", teamType="Group", parents=[north["id"]])
    fields = {"fields": "parents,children,childrenCount,userCount,inheritedRoles"}
    root = administrator.get("/teams/name/Organization", params=fields).json()
    assert (names(root["children"]), root["childrenCount"], root["inheritedRoles"]) == (["north"], 1, [])
    north_now = administrator.get("/teams/name/north", params=fields).json()
    assert (names(north_now["parents"]), names(north_now["children"])) == (["Organization"], ["crew"])
    assert names(north_now["inheritedRoles"]) == ["DataConsumer"]
    move_answer = administrator.patch(
        f"/teams/{crew['id']}",
        content=json.dumps([{"op": "remove", "path": "/parents/0"}]),
        headers=PATCH,
    )
    assert (move_answer.status_code, names(move_answer.json()["parents"])) == (200, ["Organization"])
    under = administrator.get("/teams?parentTeam=Organization").json()
    assert (names(under["data"]), under["paging"]["total"]) == (["crew", "north"], 2)
    back = [{"op": "add", "path": "/children/0", "value": {"id": crew["id"], "type": "team"}}]
    assert administrator.patch(f"/teams/{north['id']}", content=json.dumps(back), headers=PATCH).status_code == 200
    assert names(administrator.get("/teams?parentTeam=north").json()["data"]) == ["crew"]
    circle = [{"op": "add", "path": "/parents", "value": [{"id": crew["id"], "type": "team"}]}]
    answer = administrator.patch(f"/teams/{north['id']}", content=json.dumps(circle), headers=PATCH)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert "crew is a Group" in answer.json()["message"]


def test_somebody_has_the_domains_and_roles_of_their_teams(served: Served, administrator: httpx.Client) -> None:
    create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    team = create_entity(administrator, "/teams", name="crew", teamType="Group", domains=["Sales"])
    user_id, alice = served.person("alice", teams=[team["id"]])
    alice.close()
    path = f"/users/{user_id}"
    profile = administrator.get(path, params={"fields": "domains,inheritedRoles"}).json()
    assert [(one["name"], one["inherited"]) for one in profile["domains"]] == [("Sales", True)]
    assert names(profile["inheritedRoles"]) == ["DataConsumer"]
    web_domain = create_entity(administrator, "/domains", name="Web", domainType="Aggregate", description="x")
    patch = [{"op": "add", "path": "/domains/1", "value": {"id": web_domain["id"], "type": "domain"}}]
    change_answer = administrator.patch(path, content=json.dumps(patch), headers=PATCH)
    assert change_answer.status_code == 200, change_answer.text
    assert names(administrator.get(path, params={"fields": "domains"}).json()["domains"]) == ["Web"]


def test_who_is_deleted_softly_is_marked_in_every_list(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    alice.close()
    team = create_entity(administrator, "/teams", name="crew", teamType="Group", users=[user_id])
    owned = create_entity(
        administrator, "/glossaries", name="Words", description="x", owners=[{"id": user_id, "type": "user"}]
    )
    assert administrator.get(f"/glossaries/{owned['id']}?fields=owners").json()["owners"][0]["deleted"] is False
    assert administrator.delete(f"/users/{user_id}").status_code == 200
    assert administrator.get(f"/glossaries/{owned['id']}?fields=owners").json()["owners"][0]["deleted"] is True
    assert administrator.get(f"/teams/{team['id']}?fields=users").json()["users"][0]["deleted"] is True
    (listed,) = administrator.get("/glossaries?fields=owners").json()["data"]
    assert listed["owners"][0]["deleted"] is True


def test_the_people_of_a_group_are_set_as_a_whole_and_taken_out_one_by_one(
    served: Served, administrator: httpx.Client
) -> None:
    ids = []
    for name in ("ann", "bob", "cid"):
        user_id, client = served.person(name)
        client.close()
        ids.append(user_id)
    team = create_entity(administrator, "/teams", name="crew", teamType="Group", users=ids[:1])
    path = f"/teams/{team['id']}/users"
    event = administrator.put(path, json=[{"id": one, "type": "user"} for one in ids[1:]])
    assert event.status_code == 200, event.text
    change = event.json()["changeDescription"]
    assert (event.json()["eventType"], event.json()["entityId"]) == ("entityUpdated", team["id"])
    assert [names(field["newValue"]) for field in change["fieldsAdded"]] == [["bob", "cid"]]
    assert [names(field["oldValue"]) for field in change["fieldsDeleted"]] == [["ann"]]
    assert names(administrator.get(f"/teams/{team['id']}?fields=users").json()["users"]) == ["bob", "cid"]
    same = administrator.put(path, json=[{"id": one, "type": "user"} for one in ids[1:]])
    assert same.json()["eventType"] == "entityNoChange"
    removal = administrator.delete(f"{path}/{ids[1]}")
    assert [names(field["oldValue"]) for field in removal.json()["changeDescription"]["fieldsDeleted"]] == [["bob"]]
    assert administrator.delete(f"{path}/{ids[1]}").json()["eventType"] == "entityNoChange"
    assert names(administrator.get(f"/teams/{team['id']}?fields=users").json()["users"]) == ["cid"]


def test_people_of_a_team_are_not_set_wrongly(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    group = create_entity(administrator, "/teams", name="crew", teamType="Group")["id"]
    unit = create_entity(administrator, "/teams", name="north", teamType="Division")["id"]
    nobody = "00000000-0000-4000-8000-000000000000"
    for path, body, status in (
        (group, None, 400),
        (group, {"id": user_id}, 400),
        (group, [7], 400),
        (group, [{"id": group, "type": "team"}], 400),
        (group, [{"id": nobody, "type": "user"}], 404),
        (nobody, [], 404),
        (unit, [{"id": user_id, "type": "user"}], 400),
    ):
        answer = administrator.put(f"/teams/{path}/users", json=body)
        assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text
    assert administrator.delete(f"/teams/{group}/users/{nobody}").status_code == 404
    assert administrator.delete(f"/teams/{unit}/users/{user_id}").status_code == 400
    with alice:
        alice_alone = [{"id": user_id, "type": "user"}]
        assert alice.put(f"/teams/{group}/users", json=alice_alone).status_code == 403
    assert administrator.put(f"/teams/{group}/users", json=alice_alone).status_code == 200
    assert administrator.delete(f"/users/{user_id}").status_code == 200
    assert administrator.delete(f"/teams/{group}/users/{user_id}").json()["eventType"] == "entityUpdated"


def test_all_teams_are_one_tree(administrator: httpx.Client) -> None:
    north = create_entity(administrator, "/teams", name="north", teamType="Division", isJoinable=False)
    south = create_entity(administrator, "/teams", name="south", teamType="Division", isJoinable=False)
    both = create_entity(
        administrator, "/teams", name="both", teamType="Department", parents=[north["id"], south["id"]]
    )
    create_entity(administrator, "/teams", name="crew", teamType="Group", parents=[both["id"]], isJoinable=False)
    create_entity(administrator, "/teams", name="alone", teamType="Group", displayName="Alone", description="x")

    def names_of_tree(teams: Json) -> Json:
        return {one["name"]: names_of_tree(one["children"]) for one in teams}

    tree = administrator.get("/teams/hierarchy").json()["data"]
    assert names_of_tree(tree) == {"alone": {}, "north": {"both": {"crew": {}}}, "south": {"both": {"crew": {}}}}
    assert tree[0].keys() == {
        *("id", "teamType", "name", "description", "fullyQualifiedName", "displayName", "href"),
        *("isJoinable", "children"),
    }
    joinable = administrator.get("/teams/hierarchy?isJoinable=true").json()["data"]
    assert names_of_tree(joinable) == {"alone": {}, "north": {"both": {}}, "south": {"both": {}}}
    assert administrator.get("/teams/hierarchy?limit=5").status_code == 400


def test_whoever_is_in_no_team_is_shown_in_the_organization(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    team = create_entity(administrator, "/teams", name="crew", teamType="Group")
    path = f"/users/{user_id}"

    def teams() -> list[str]:
        return names(administrator.get(path, params={"fields": "teams"}).json()["teams"])

    assert teams() == ["Organization"]
    assert "teams" not in administrator.get(path).json()
    with alice:
        assert names(alice.get("/users/loggedInUser?fields=teams").json()["teams"]) == ["Organization"]
    listed_users = administrator.get("/users?fields=teams&limit=100").json()["data"]
    assert all(one["teams"] for one in listed_users)
    team_operations = [{"op": "replace", "path": "/teams/0", "value": {"id": team["id"], "type": "team"}}]
    assert administrator.patch(path, content=json.dumps(team_operations), headers=PATCH).status_code == 200
    assert teams() == ["crew"]
    root = administrator.get("/teams/name/Organization").json()
    also = [{"op": "add", "path": "/teams/1", "value": {"id": root["id"], "type": "team"}}]
    version = administrator.get(path).json()["version"]
    assert administrator.patch(path, content=json.dumps(also), headers=PATCH).json()["version"] == version
    assert teams() == ["crew"]
    removal = [{"op": "remove", "path": "/teams/0"}]
    response = administrator.patch(path, content=json.dumps(removal), headers=PATCH)
    assert (response.status_code, names(response.json()["teams"]), teams()) == (200, ["Organization"], ["Organization"])
    back = [{"op": "add", "path": "/displayName", "value": "Alice"}]
    assert "teams" not in administrator.patch(path, content=json.dumps(back), headers=PATCH).json()["changeDescription"]
    new = create_entity(administrator, "/users", name="bob", email="bob@example.org", teams=[root["id"]])
    assert names(new["teams"]) == ["Organization"]
