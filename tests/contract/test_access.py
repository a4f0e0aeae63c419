"""Tests of policy decisions by HTTP: reads, lists, writes, and the records of denied requests."""

from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract import standards
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served, table
from tests.waiting import until


def create_entity(client: httpx.Client, path: str, **request: Json) -> Json:
    answer = client.post(path, json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def restrict(client: httpx.Client, user_id: str, *rules: Json) -> Json:
    """Give somebody a role of their own that brings these rules; return its policy."""
    full_rules = [
        {"name": f"r{at}", "resources": ["all"], "operations": ["All"], **rule} for at, rule in enumerate(rules)
    ]
    policy = create_entity(client, "/policies", name=f"P{user_id}", rules=full_rules)
    role = create_entity(client, "/roles", name=f"R{user_id}", policies=[policy["name"]])
    patch = [{"op": "add", "path": "/roles", "value": [{"id": role["id"], "type": "role"}]}]
    patch_type = {"Content-Type": "application/json-patch+json"}
    assert client.patch(f"/users/{user_id}", json=patch, headers=patch_type).status_code == 200
    return policy


def send_patch(client: httpx.Client, path: str, *operations: Json) -> httpx.Response:
    return client.patch(path, json=list(operations), headers={"Content-Type": "application/json-patch+json"})


@pytest.fixture
def tables(administrator: httpx.Client, orders: Json) -> list[Json]:
    """Three tables, every other one tagged."""
    personal_tables = [
        table(administrator, name, tags=[{"tagFQN": "PII.Sensitive"}]) for name in ("people", "salaries")
    ]
    return [orders, *personal_tables]


def test_a_plain_user_describes_and_tags_and_follows_and_does_no_more(served: Served, orders: Json) -> None:
    user_id, alice = served.person("alice")
    path = f"/tables/{orders['id']}"
    with alice:
        assert send_patch(alice, path, {"op": "add", "path": "/description", "value": "x"}).status_code == 200
        assert send_patch(alice, path, {"op": "add", "path": "/columns/0/description", "value": "x"}).status_code == 200
        assert alice.put(f"{path}/followers/{user_id}").status_code == 200
        refusal = send_patch(alice, path, {"op": "add", "path": "/displayName", "value": "x"})
        assert refusal.status_code == 403
        assert "EditDisplayName" in refusal.json()["message"]
        assert send_patch(alice, path, {"op": "remove", "path": "/columns/0"}).status_code == 403
        assert alice.delete(path).status_code == 403
        request = {"name": "t", "databaseSchema": "warehouse.shop.public", "columns": orders["columns"]}
        assert alice.post("/tables", json=request).status_code == 403


def test_whoever_names_themselves_owner_of_what_has_none_may_everything_with_it(served: Served, orders: Json) -> None:
    user_id, alice = served.person("alice")
    path = f"/tables/{orders['id']}"
    with alice:
        handover = {"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}
        assert send_patch(alice, path, handover).status_code == 200
        assert send_patch(alice, path, {"op": "add", "path": "/displayName", "value": "x"}).status_code == 200
        assert alice.delete(path).status_code == 200


def test_what_one_may_not_see_is_nowhere(
    served: Served, administrator: httpx.Client, tables: list[Json], sqlite_engine: Engine
) -> None:
    index_all(sqlite_engine)
    user_id, alice = served.person("alice")
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    hidden_table = tables[1]
    with alice:
        for path in (f"/tables/{hidden_table['id']}", f"/tables/name/{hidden_table['fullyQualifiedName']}"):
            assert alice.get(path).status_code == 403
        assert alice.get(f"/tables/{hidden_table['id']}/versions").status_code == 403
        assert alice.put(f"/tables/{hidden_table['id']}/followers/{user_id}").status_code == 403
        history = alice.get("/tables/history", params={"startTs": 0, "endTs": hidden_table["updatedAt"] + 10**6}).json()
        assert {one["name"] for one in history["data"]} == {"orders"}
        page = alice.get("/tables?limit=1").json()
        assert ([one["name"] for one in page["data"]], page["paging"]) == (["orders"], {"total": 1})
        events = alice.get("/events?entityType=table&limit=100").json()["data"]
        assert {one["entityFullyQualifiedName"] for one in events} == {tables[0]["fullyQualifiedName"]}
        query = "/search/query?q=*&index=table_search_index&size=10"
        hits = alice.get(query).json()["hits"]
        assert ([hit["_source"]["name"] for hit in hits["hits"]], hits["total"]["value"]) == (["orders"], 1)


def test_lists_that_are_filtered_keep_their_pages(served: Served, administrator: httpx.Client, orders: Json) -> None:
    user_id, alice = served.person("alice")
    for number in range(12):
        tags = [{"tagFQN": "PII.Sensitive"}] if number % 3 else []
        table(administrator, f"t{number:02}", tags=tags)
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    names, after = [], ""
    with alice:
        while True:
            page = alice.get(f"/tables?limit=2{after}").json()
            assert page["paging"]["total"] == 5
            names.append([one["name"] for one in page["data"]])
            if "after" not in page["paging"]:
                break
            after = f"&after={page['paging']['after']}"
        events = alice.get("/events?entityType=table&limit=3").json()
        assert len(events["data"]) == 3
        next_page = alice.get(f"/events?entityType=table&limit=3&after={events['paging']['after']}").json()
        assert len(next_page["data"]) == 2
    assert names == [["orders", "t00"], ["t03", "t06"], ["t09"]]


def test_nobody_gives_powers_by_owning_things(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    team = create_entity(administrator, "/teams", name="Shop", owners=[{"id": user_id, "type": "user"}])
    role = administrator.get("/roles/name/DataSteward").json()
    policy = administrator.get("/policies/name/DataConsumerPolicy").json()
    owners = [{"id": user_id, "type": "user"}]
    steward = [{"id": role["id"], "type": "role"}]
    with alice:
        assert send_patch(alice, f"/teams/{team['id']}", {"op": "add", "path": "/description", "value": "x"}).is_success
        for path, key, value in (
            (f"/users/{user_id}", "isAdmin", True),
            (f"/users/{user_id}", "roles", steward),
            (f"/teams/{team['id']}", "defaultRoles", steward),
            (f"/teams/{team['id']}", "policies", [{"id": policy["id"], "type": "policy"}]),
            (f"/policies/{policy['id']}", "owners", owners),
            (f"/policies/{policy['id']}", "rules", []),
        ):
            assert send_patch(alice, path, {"op": "add", "path": f"/{key}", "value": value}).status_code == 403, key
        rules = [{"name": "r", "effect": "allow", "operations": ["All"], "resources": ["all"]}]
        assert alice.post("/policies", json={"name": "mine", "rules": rules}).status_code == 403


def test_what_the_system_needs_is_changed_not_deleted(administrator: httpx.Client) -> None:
    for path in ("/policies/name/OrganizationPolicy", "/roles/name/DataConsumer", "/teams/name/Organization"):
        assert administrator.delete(path).status_code == 403


def test_a_policy_that_cannot_be_understood_is_refused_with_its_place(administrator: httpx.Client) -> None:
    rule = {"name": "r", "effect": "allow", "operations": ["All"], "resources": ["all"], "condition": "isOwnr()"}
    refused = administrator.post("/policies", json={"name": "p", "rules": [rule]})
    assert refused.status_code == 400
    assert "Line 1, column 1" in refused.json()["message"]
    assert "did you mean isOwner?" in refused.json()["message"]


def test_one_alerts_only_on_what_one_may_view(served: Served, administrator: httpx.Client) -> None:
    user_id, alice = served.person("alice")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["topic"], "operations": ["ViewAll"]})
    alert = {"name": "mine", "alertType": "Notification", "destinations": [], "resources": ["table"]}
    with alice:
        assert alice.post("/events/subscriptions", json={**alert, "resources": ["topic"]}).status_code == 403
        assert alice.post("/events/subscriptions", json=alert).status_code == 201


def test_a_domain_that_comes_from_above_opens_and_closes_what_lies_below(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    for name in ("Sales", "Web"):
        create_entity(administrator, "/domains", name=name, domainType="Aggregate", description="x")
    customers = table(administrator, "other", domains=["Web"])
    domain = administrator.get("/domains/name/Sales").json()
    reference = [{"id": domain["id"], "type": "domain"}]
    service = administrator.get("/services/databaseServices/name/warehouse").json()
    path = f"/services/databaseServices/{service['id']}"
    assert send_patch(administrator, path, {"op": "add", "path": "/domains", "value": reference}).status_code == 200
    index_all(sqlite_engine)
    user_id, alice = served.person("alice", domains=["Sales"])
    rules = {"effect": "deny", "condition": "!hasDomain()", "resources": ["table"]}
    restrict(administrator, user_id, rules, {"effect": "allow", "resources": ["table"]})
    with alice:
        assert alice.get(f"/tables/{orders['id']}").status_code == 200
        assert alice.get(f"/tables/{customers['id']}").status_code == 403
        assert [one["name"] for one in alice.get("/tables").json()["data"]] == ["orders"]
        hits = alice.get("/search/query?q=*&index=table_search_index").json()["hits"]["hits"]
        assert [hit["_source"]["name"] for hit in hits] == ["orders"]
        description_operation = {"op": "add", "path": "/description", "value": "x"}
        assert send_patch(alice, f"/tables/{orders['id']}", description_operation).status_code == 200
        assert send_patch(alice, f"/tables/{customers['id']}", description_operation).status_code == 403
        new = {"name": "new", "databaseSchema": "warehouse.shop.public", "columns": []}
        assert alice.put("/tables/bulk", json=[new]).json()["numberOfRowsPassed"] == 1
        operations = alice.get(f"/permissions/table/{orders['id']}").json()["permissions"]
        assert {"deny"} != {one["access"] for one in operations}
        away = administrator.get("/domains/name/Web").json()
        domain_operation = {"op": "add", "path": "/domains", "value": [{"id": away["id"], "type": "domain"}]}
        assert send_patch(administrator, path, domain_operation).status_code == 200
        assert alice.get(f"/tables/{orders['id']}").status_code == 403
        assert send_patch(alice, f"/tables/{orders['id']}", description_operation).status_code == 403
        assert alice.post("/tables", json=new | {"name": "more"}).status_code == 403
        assert alice.get("/tables").json()["paging"]["total"] == 0


def test_who_owns_what_something_lies_in_owns_it_until_somebody_else_does(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, alice = served.person("alice")
    rules = {"effect": "deny", "condition": "!isOwner() && !noOwner()", "resources": ["table"]}
    restrict(administrator, user_id, rules)
    schema = administrator.get("/databaseSchemas/name/warehouse.shop.public").json()
    customers = {"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}
    assert send_patch(administrator, f"/databaseSchemas/{schema['id']}", customers).status_code == 200
    bob_id, bob = served.person("bob")
    handover = table(administrator, "other", owners=[{"id": bob_id, "type": "user"}])
    index_all(sqlite_engine)
    with alice, bob:
        assert [one["name"] for one in alice.get("/tables").json()["data"]] == ["orders"]
        hits = alice.get("/search/query?q=*&index=table_search_index").json()["hits"]["hits"]
        assert [hit["_source"]["name"] for hit in hits] == ["orders"]
        naming = {"op": "add", "path": "/displayName", "value": "Orders"}
        assert send_patch(alice, f"/tables/{orders['id']}", naming).status_code == 200
        assert send_patch(bob, f"/tables/{orders['id']}", naming | {"value": "x"}).status_code == 403
        assert send_patch(alice, f"/tables/{handover['id']}", naming).status_code == 403
        new = {"name": "new", "databaseSchema": "warehouse.shop.public", "columns": []}
        assert alice.post("/tables", json=new).status_code == 201
        assert bob.post("/tables", json=new | {"name": "more"}).status_code == 403
        operations = alice.get(f"/permissions/table/{orders['id']}").json()["permissions"]
        assert {one["operation"]: one["access"] for one in operations}["EditAll"] == "allow"
        takeover = customers | {"value": [{"id": bob_id, "type": "user"}]}
        assert send_patch(bob, f"/tables/{orders['id']}", takeover).status_code == 403


def test_a_refused_access_is_an_event_on_the_policy_and_a_loop_of_them_is_one(
    served: Served, administrator: httpx.Client, tables: list[Json]
) -> None:
    user_id, alice = served.person("alice")
    policy = restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with alice:
        for _ in range(20):
            assert alice.get(f"/tables/{tables[1]['id']}").status_code == 403
        assert alice.delete(f"/tables/{tables[0]['id']}").status_code == 403

    def violations() -> Json:
        return administrator.get("/events?eventType=policyViolation&format=tocsin").json()["data"]

    until(lambda: len(violations()) == 2, within_s=10)
    denial, not_allowed = violations()
    (change,) = denial["changeDescription"]["fieldsAdded"]
    violation = change["newValue"] if isinstance(change["newValue"], dict) else json.loads(change["newValue"])
    assert (denial["entityType"], denial["entityId"], denial["userName"]) == ("policy", policy["id"], "alice")
    assert (violation["operation"], violation["tags"], violation["rule"]) == ("ViewBasic", ["PII.Sensitive"], "r0")
    assert violation["entity"]["fullyQualifiedName"] == tables[1]["fullyQualifiedName"]
    assert not_allowed["entityFullyQualifiedName"] == "OrganizationPolicy"
    served.app.state.parts.access.refusals.close()
    last = violations()[-1]["changeDescription"]["fieldsAdded"][0]["newValue"]
    assert (last if isinstance(last, dict) else json.loads(last))["repeated"] == 19


def test_permissions_say_what_one_may_and_by_which_rule(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    _, alice = served.person("alice")
    with alice:
        of_tables = alice.get("/permissions/table").json()
        of_orders = alice.get(f"/permissions/table/{orders['id']}").json()
        by_name = alice.get(f"/permissions/table/name/{orders['fullyQualifiedName']}").json()
        permissions = alice.get("/permissions").json()
        assert alice.get("/permissions?user=admin").status_code == 403
        assert alice.get("/permissions/nothing").status_code == 404
        policy = administrator.get("/policies/name/TeamOnlyPolicy").json()
        together = alice.get(f"/permissions/policies?ids={policy['id']}").json()
    access = {one["operation"]: one for one in of_tables["permissions"]}
    assert access["EditTags"]["access"] == "allow"
    assert (access["EditTags"]["role"], access["EditTags"]["policy"]) == ("DataConsumer", "DataConsumerPolicy")
    assert access["EditAll"]["access"] == "conditionalAllow"
    assert access["GenerateToken"]["access"] == "notAllow"
    assert {one["operation"]: one["access"] for one in of_orders["permissions"]}["EditOwners"] == "allow"
    assert by_name == of_orders
    assert "table" in {one["resource"] for one in permissions["data"]}
    assert {one["access"] for one in together["data"][0]["permissions"]} <= {"deny", "notAllow"}
    of_somebody = administrator.get("/permissions/table?user=alice").json()
    assert of_somebody == of_tables


@standards.needs_standards
def test_permissions_and_tokens_have_upstreams_shape(administrator: httpx.Client, served: Served) -> None:
    _, alice = served.person("alice")
    bot = create_entity(administrator, "/users", name="bot", email="bot@example.org", isBot=True)
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()
    assert standards.problems("auth/jwtAuth.json", {key: value for key, value in token.items() if value}) == []
    with alice:
        shape = "entity/policies/accessControl/resourcePermission.json"
        assert standards.problems(shape, alice.get("/permissions/table").json()) == []
        personal_token = alice.put("/users/security/token", json={"tokenName": "x", "JWTTokenExpiry": "1"}).json()
    assert standards.problems("auth/personalAccessToken.json", personal_token) == []


def test_an_alert_on_policies_and_roles_tells_of_changed_access(
    administrator: httpx.Client, served: Served, sqlite_engine: Engine
) -> None:
    officer_id, officer = served.person("officer")
    rules = {"resources": ["policy", "role"], "rules": []}
    ways = [{"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["officer"]}}]
    alert = {"name": "Access", "alertType": "Notification", "filteringRules": rules, "destinations": ways}
    create_entity(administrator, "/events/subscriptions", **alert)
    policy = restrict(administrator, officer_id, {"effect": "deny", "operations": ["ViewSampleData"]})
    change = {"op": "add", "path": "/rules/0/operations", "value": ["ViewSampleData", "ViewUsage"]}
    assert send_patch(administrator, f"/policies/{policy['id']}", change).is_success
    notify_all(sqlite_engine)
    with officer:
        entries = officer.get(f"/users/{officer_id}/notifications?tab=all").json()["data"]
    titles = {entry["title"].partition(":")[0] for entry in entries}
    assert {policy["name"], f"R{officer_id}"} <= titles
