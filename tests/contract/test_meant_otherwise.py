"""Tests of plausible but wrong requests: each is rejected with a suggestion."""

from __future__ import annotations

import json

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_feed import EMAIL, ORDERS, begin
from tests.serving import Json, Served

PATCH = {"Content-Type": "application/json-patch+json"}
SECONDS = 1_700_000_000


def assert_refused(answer: httpx.Response, *words: str) -> None:
    assert answer.status_code == 400, (answer.status_code, answer.text)
    message = answer.json()["message"]
    assert all(word in message for word in words), message


@pytest.fixture
def pipeline(administrator: httpx.Client) -> Json:
    administrator.post("/services/pipelineServices", json={"name": "airflow", "serviceType": "Airflow"})
    return create_entity(
        administrator, "/pipelines", name="etl", service="airflow", tasks=[{"name": "load"}, {"name": "clean"}]
    )


@pytest.mark.parametrize("path", ["status", "status/bulk"])
def test_a_status_names_tasks_that_the_pipeline_has(administrator: httpx.Client, pipeline: Json, path: str) -> None:
    def status(task: str) -> httpx.Response:
        tasks = [{"name": task, "executionStatus": "Successful"}]
        run = {"timestamp": 1_700_000_000_000, "executionStatus": "Successful", "taskStatus": tasks}
        return administrator.put(f"/pipelines/airflow.etl/{path}", json=[run] if path.endswith("bulk") else run)

    assert_refused(status("laod"), "airflow.etl has no task laod", "load")
    assert status("load").is_success


def test_a_conversation_is_about_a_column_that_there_is(administrator: httpx.Client, orders: Json) -> None:
    wrong = EMAIL.replace("email", "emial")
    answer = administrator.post("/feed", json={"about": wrong, "message": "What is this?"})
    assert_refused(answer, "about", "'emial'", "columns")
    assert begin(administrator, about=EMAIL)["about"] == EMAIL
    assert begin(administrator, about=ORDERS[:-1] + "::description>")["about"].endswith("::description>")


@pytest.mark.parametrize("assignees", [[], None])
def test_a_task_has_somebody_to_do_it(administrator: httpx.Client, orders: Json, assignees: Json) -> None:
    details = {"type": "RequestDescription", "assignees": assignees, "oldValue": ""}
    request = {"about": EMAIL, "message": "Describe it", "type": "Task", "taskDetails": details}
    assert_refused(administrator.post("/feed", json=request), "assignees")


@pytest.mark.parametrize("key", ["id", "about", "createdBy", "type", "threadTs", "posts", "unheard"])
def test_what_is_fixed_of_a_thread_is_not_patched(administrator: httpx.Client, orders: Json, key: str) -> None:
    thread = begin(administrator)
    body = json.dumps([{"op": "add", "path": f"/{key}", "value": "x"}])
    assert_refused(administrator.patch(f"/feed/{thread['id']}", content=body, headers=PATCH), key)


def test_what_one_may_not_see_has_no_permissions_to_ask_about(served: Served, orders: Json) -> None:
    user_id, alice = served.person("alice")
    with served.administrator() as administrator, alice:
        restrict(administrator, user_id, {"effect": "deny", "resources": ["table"], "operations": ["ViewBasic"]})
        name = orders["fullyQualifiedName"]
        assert alice.get(f"/tables/name/{name}").status_code == 403
        assert alice.get(f"/permissions/table/name/{name}").status_code == 403
        assert alice.get(f"/permissions/table/{orders['id']}").status_code == 403


def test_references_among_custom_properties_lead_somewhere(administrator: httpx.Client, orders: Json) -> None:
    kind = administrator.get("/metadata/types/name/entityReference?category=field").json()["id"]
    type_id = administrator.get("/metadata/types/name/table").json()["id"]
    definition = {
        "name": "steward",
        "description": "x",
        "propertyType": {"id": kind, "type": "type"},
        "customPropertyConfig": {"config": ["user", "table"]},
    }
    assert administrator.put(f"/metadata/types/{type_id}", json=definition).is_success

    def steward(value: Json) -> httpx.Response:
        body = json.dumps([{"op": "add", "path": "/extension", "value": {"steward": value}}])
        return administrator.patch(f"/tables/{orders['id']}", content=body, headers=PATCH)

    assert_refused(steward({"id": "1"}), "steward", "an entityReference")
    assert_refused(steward({"id": orders["id"], "type": "spoon"}), "steward")
    assert steward({"id": orders["id"], "type": "table"}).is_success


def test_milliseconds_are_not_seconds(administrator: httpx.Client, orders: Json, pipeline: Json) -> None:
    profile = {"tableProfile": {"timestamp": SECONDS}}
    assert_refused(
        administrator.put(f"/tables/{orders['id']}/tableProfile", json=profile), "milliseconds", "1700000000000"
    )
    run = {"timestamp": SECONDS, "executionStatus": "Successful"}
    assert_refused(administrator.put("/pipelines/airflow.etl/status", json=run), "milliseconds", "1700000000000")


def test_profiles_are_asked_of_columns_that_there_are(administrator: httpx.Client, orders: Json) -> None:
    answer = administrator.get(f"/tables/{orders['fullyQualifiedName']}.emial/columnProfile")
    assert answer.status_code == 404, answer.text
    assert "has no column emial" in answer.json()["message"]
    assert administrator.get(f"/tables/{orders['fullyQualifiedName']}.email/columnProfile").json()["data"] == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/events?offset=-1", ("offset", "0 or more")),
        ("/events?limit=many", ("limit", "an integer")),
        ("/search/query?q=name:", ("a value must follow name:",)),
        ("/tables?limit=1000001", ("limit", "at most")),
        ("/tables?include=some", ("include", "all", "deleted")),
        ("/tables/x", ("id", "UUID")),
    ],
)
def test_a_refusal_speaks_our_language(administrator: httpx.Client, path: str, words: tuple[str, ...]) -> None:
    answer = administrator.get(path)
    assert_refused(answer, *words)
    assert "Input should be" not in answer.text


def test_a_label_needs_a_source_only_where_it_is_no_tag(administrator: httpx.Client, orders: Json) -> None:
    body = json.dumps([{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive", "source": "Spoon"}]}])
    answer = administrator.patch(f"/tables/{orders['id']}", content=body, headers=PATCH)
    assert_refused(answer, "'Spoon'", "Classification", "Glossary")


def test_what_belongs_to_the_system_is_not_deleted(administrator: httpx.Client) -> None:
    for path in ("/classifications/name/Tier?recursive=true&hardDelete=true", "/tags/name/Tier.Tier1"):
        answer = administrator.delete(path)
        assert (answer.status_code, "not deleted" in answer.text) == (403, True), answer.text
    assert administrator.get("/tags/name/Tier.Tier1").status_code == 200
    own_tag = create_entity(administrator, "/tags", name="Tier9", classification="Tier", description="mine")
    assert administrator.delete(f"/tags/{own_tag['id']}?hardDelete=true").is_success


def test_nobody_gets_the_address_of_somebody_else(served: Served, administrator: httpx.Client) -> None:
    bert = create_entity(administrator, "/users", name="bert", email="Bert@example.org")
    for request in ({"name": "carl", "email": "bert@Example.org"}, {"name": "bernadette", "email": "bert@example.org"}):
        for send in (administrator.post, administrator.put):
            answer = send("/users", json=request)
            assert answer.status_code == 409, answer.text
            assert "bert@example.org is already used by the user bert" in answer.json()["message"]
    assert administrator.put("/users", json={"name": "bert", "email": "bert@example.org"}).status_code == 200
    carl = create_entity(administrator, "/users", name="carl", email="carl@example.org")
    email_patch = json.dumps([{"op": "add", "path": "/email", "value": "bert@example.org"}])
    assert administrator.patch(f"/users/{carl['id']}", content=email_patch, headers=PATCH).status_code == 409
    bulk_users = [{"name": name, "email": "dora@example.org"} for name in ("dora", "dorothea")]
    result = administrator.put("/users/bulk", json=bulk_users).json()
    assert (result["numberOfRowsPassed"], result["numberOfRowsFailed"]) == (1, 1)
    administrator.delete(f"/users/{bert['id']}")
    answer = administrator.patch(f"/users/{carl['id']}", content=email_patch, headers=PATCH)
    assert "soft-deleted" in answer.json()["message"]
    administrator.delete(f"/users/{bert['id']}?hardDelete=true")
    assert administrator.patch(f"/users/{carl['id']}", content=email_patch, headers=PATCH).status_code == 200


def test_a_condition_that_fails_says_in_which_rule(administrator: httpx.Client) -> None:
    good = {"name": "all", "effect": "allow", "operations": ["ViewAll"], "resources": ["table"]}
    rules = [good, good | {"name": "ours", "condition": "isOwner("}]
    assert_refused(administrator.post("/policies", json={"name": "p", "rules": rules}), "Rule 'ours'", "column 9")


def test_a_name_that_stands_twice_is_said(administrator: httpx.Client, orders: Json) -> None:
    columns = [{"name": name, "dataType": "INT"} for name in ("a", "b", "b")]
    request = {"name": "twice", "databaseSchema": "warehouse.shop.public", "columns": columns}
    assert_refused(administrator.post("/tables", json=request), "columns contains the name b twice")


def test_people_are_no_end_of_an_edge(administrator: httpx.Client, orders: Json) -> None:
    me = administrator.get("/users/loggedInUser").json()
    ends = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": me["id"], "type": "user"}}
    assert_refused(administrator.put("/lineage", json={"edge": ends}), "a user cannot have lineage")
