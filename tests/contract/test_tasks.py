"""Tests of tasks as OpenMetadata 2 has them, over the same threads as ``/feed``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import Engine, event
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_alert_incidents import case
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import EMAIL, ORDERS, events, patch, task
from tests.serving import Json, Served, table

__all__ = ["case", "person"]  # fixtures

UPDATE = {"category": "MetadataUpdate", "type": "DescriptionUpdate"}
TAG_SUGGESTION = {"suggestionType": "Tag", "suggestedValue": "PII.None"}
PROPOSAL = {"fieldPath": "columns.email.description", "newDescription": "Where to write to."}


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def create(client: httpx.Client, **fields: object) -> Json:
    answer = client.post("/tasks", json={**UPDATE, "about": ORDERS, "assignees": ["alice"], **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def decide(client: httpx.Client, task_id: str, **request: object) -> httpx.Response:
    return client.post(f"/tasks/{task_id}/resolve", json=request)


def ids(client: httpx.Client, **query: str) -> list[str]:
    return [one["id"] for one in client.get("/tasks", params=query).json()["data"]]


def email_description(client: httpx.Client, orders: Json) -> object:
    columns = client.get(f"/tables/{orders['id']}").json()["columns"]
    return {one["name"]: one.get("description") for one in columns}["email"]


def test_a_task_is_a_thread_and_a_thread_of_1_is_a_task(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    new_task = create(administrator, payload=PROPOSAL, description="Please look", priority="High")
    thread = client.get(f"/feed/{new_task['id']}").json()
    assert (thread["about"], thread["message"]) == (EMAIL.removesuffix("::description>") + ">", "Please look")
    assert (thread["task"]["type"], thread["task"]["suggestion"]) == ("UpdateDescription", PROPOSAL["newDescription"])
    assert f"TASK-{thread['task']['id']:05d}" == new_task["taskId"]
    assert "asTask" not in json.dumps(administrator.get("/events?limit=10000").json())
    assert (new_task["status"], new_task["priority"], new_task["about"]["id"]) == ("Open", "High", orders["id"])
    assert client.get(f"/tasks/name/{new_task['taskId']}").json() == client.get(f"/tasks/{new_task['id']}").json()
    for name in ("TASK-1", "1", "task-00001", new_task["id"]):
        assert client.get(f"/tasks/name/{name}").json()["id"] == new_task["id"]

    of_1 = task(administrator, user_id)
    task_of_thread = client.get(f"/tasks/{of_1['id']}").json()
    assert (task_of_thread["type"], task_of_thread["category"], task_of_thread["status"]) == (
        "DescriptionUpdate",
        "MetadataUpdate",
        "Open",
    )
    assert client.put(f"/feed/tasks/{of_1['task']['id']}/close", json={"comment": "no"}).is_success
    closed_task = client.get(f"/tasks/{of_1['id']}").json()
    assert (closed_task["status"], closed_task["resolution"]["resolvedBy"]["name"]) == ("Rejected", "alice")
    assert [one["author"]["name"] for one in closed_task["comments"]] == ["alice"]


def test_an_approved_task_writes_what_it_proposes_as_who_approves_it(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice
    new_task = create(administrator, payload=PROPOSAL)
    approved_task = decide(client, new_task["id"], transitionId="approve", comment="right").json()
    assert (approved_task["status"], approved_task["approvedBy"]["name"], approved_task["availableTransitions"]) == (
        "Approved",
        "alice",
        [],
    )
    assert (approved_task["resolution"]["comment"], approved_task["resolution"]["newValue"]) == (
        "right",
        PROPOSAL["newDescription"],
    )
    assert email_description(client, orders) == PROPOSAL["newDescription"]
    assert client.get(f"/tables/{orders['id']}").json()["updatedBy"] == "alice"
    assert events(administrator)[-2:] == [("entityUpdated", "table"), ("taskResolved", "thread")]
    again = decide(client, new_task["id"], transitionId="approve")
    assert (again.status_code, "closed, by alice" in again.json()["message"]) == (409, True)
    assert decide(client, new_task["id"], transitionId="reopen").status_code == 409


def test_of_two_who_approve_at_once_one_does(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice
    task_id = create(administrator, payload=PROPOSAL)["id"]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda one: decide(one, task_id, transitionId="approve"), (administrator, client)))
    assert sorted(one.status_code for one in answers) == [200, 409]
    kinds = [kind for kind, _ in events(administrator)]
    assert (kinds.count("taskResolved"), kinds.count("entityUpdated")) == (1, 1)
    assert email_description(client, orders) == PROPOSAL["newDescription"]


def test_a_rejected_task_writes_nothing_and_may_be_reopened(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice
    new_task = create(administrator, payload=PROPOSAL)
    rejected_task = decide(client, new_task["id"], resolutionType="Rejected", comment="not true").json()
    assert (rejected_task["status"], [one["id"] for one in rejected_task["availableTransitions"]]) == (
        "Rejected",
        ["reopen"],
    )
    assert email_description(client, orders) != PROPOSAL["newDescription"]
    reopened_task = decide(client, new_task["id"], transitionId="reopen").json()
    assert (reopened_task["status"], "resolution" in reopened_task) == ("Open", False)
    assert client.get(f"/feed/{new_task['id']}").json()["task"]["status"] == "Open"
    assert decide(client, new_task["id"], resolutionType="Completed", newValue="Mine.").json()["status"] == "Approved"
    assert email_description(client, orders) == "Mine."
    assert [one["eventType"] for one in administrator.get("/events?limit=10000").json()["data"]][-4:] == [
        "taskClosed",
        "threadUpdated",
        "entityUpdated",
        "taskResolved",
    ]


def test_tags_are_added_to_those_of_now_and_removed(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice

    def label(name: str) -> Json:
        return {"tagFQN": name, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}

    def tags() -> list[str]:
        labels = client.get(f"/tables/{orders['id']}?fields=tags").json().get("tags") or ()
        return sorted(one["tagFQN"] for one in labels)

    kind = {"category": "MetadataUpdate", "type": "TagUpdate"}
    adding = create(administrator, **kind, payload={"tagsToAdd": [label("PII.Sensitive")]})
    value = [{"op": "add", "path": "/tags/0", "value": label("Tier.Tier1")}]
    assert patch(administrator, f"/tables/{orders['id']}", *value).is_success
    assert client.put(f"/tasks/{adding['id']}/suggestion/apply").json()["status"] == "Approved"
    assert tags() == ["PII.Sensitive", "Tier.Tier1"]
    removing = create(administrator, **kind, payload={"tagsToRemove": [label("PII.Sensitive")], "tagsToAdd": []})
    assert decide(client, removing["id"], transitionId="approve").is_success
    assert tags() == ["Tier.Tier1"]
    suggestion = {"suggestionType": "Tag", "fieldPath": "tags", "suggestedValue": "PII.None"}
    suggestion_task = create(administrator, category="MetadataUpdate", type="Suggestion", payload=suggestion)
    assert client.put(f"/tasks/{suggestion_task['id']}/suggestion/apply?comment=yes").is_success
    assert tags() == ["PII.None", "Tier.Tier1"]


def test_owners_tier_and_domain_are_written_as_who_approves(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    administrator.post("/domains", json={"name": "Sales", "domainType": "Aggregate", "description": "x"})
    tier = {"tagFQN": "Tier.Tier2", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    first_tags = [tier | {"tagFQN": "PII.None"}, tier | {"tagFQN": "Tier.Tier1"}]
    edit = {"op": "add", "path": "/tags", "value": first_tags}
    assert patch(administrator, f"/tables/{orders['id']}", edit).is_success
    proposals = {
        "OwnershipUpdate": {"newOwners": [{"type": "user", "id": user_id}]},
        "TierUpdate": {"newTier": tier},
        "DomainUpdate": {"newDomain": {"type": "domain", "fullyQualifiedName": "Sales"}},
    }
    tasks = {kind: create(administrator, type=kind, payload=payload) for kind, payload in proposals.items()}
    assert tasks["OwnershipUpdate"]["payload"]["newOwners"][0]["name"] == "alice"
    assert decide(client, tasks["OwnershipUpdate"]["id"], transitionId="approve").json()["status"] == "Approved"
    number = int(tasks["TierUpdate"]["taskId"].removeprefix("TASK-"))
    assert client.put(f"/feed/tasks/{number}/resolve", json={"newValue": "so it is"}).is_success
    assert decide(client, tasks["DomainUpdate"]["id"], transitionId="reject").json()["status"] == "Rejected"
    document = client.get(f"/tables/{orders['id']}?fields=owners,tags,domains").json()
    assert ([one["name"] for one in document["owners"]], document.get("domains") or []) == (["alice"], [])
    assert {one["tagFQN"] for one in document["tags"]} == {"PII.None", "Tier.Tier2"}
    assert document["updatedBy"] == "alice"
    assert decide(client, tasks["DomainUpdate"]["id"], transitionId="reopen").is_success
    assert decide(client, tasks["DomainUpdate"]["id"], transitionId="approve").is_success
    assert client.get(f"/tables/{orders['id']}?fields=domains").json()["domains"][0]["name"] == "Sales"


@pytest.mark.parametrize(
    ("kind", "payload", "operation"),
    [
        ("OwnershipUpdate", {"newOwners": [{"type": "user", "name": "alice"}]}, "EditOwners"),
        ("TierUpdate", {"newTier": {"tagFQN": "Tier.Tier2", "source": "Classification"}}, "EditTier"),
        ("DomainUpdate", {"newDomain": {"type": "domain", "fullyQualifiedName": "Sales"}}, "EditAll"),
    ],
)
def test_who_may_not_set_a_field_approves_no_task_that_does(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], kind: str, payload: Json, operation: str
) -> None:
    user_id, client = alice
    administrator.post("/domains", json={"name": "Sales", "domainType": "Aggregate", "description": "x"})
    task_of_kind = create(administrator, type=kind, payload=payload)
    deny = {"effect": "deny", "resources": ["table"], "operations": [operation, "EditAll"]}
    restrict(administrator, user_id, deny)
    number = int(task_of_kind["taskId"].removeprefix("TASK-"))
    answers = (
        decide(client, task_of_kind["id"], transitionId="approve"),
        client.put(f"/feed/tasks/{number}/resolve", json={"newValue": "x"}),
    )
    assert [one.status_code for one in answers] == [403, 403]
    assert client.get(f"/tasks/{task_of_kind['id']}").json()["status"] == "Open"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"type": "OwnershipUpdate"}, "payload"),
        ({"type": "OwnershipUpdate", "payload": {"newOwners": []}}, "newOwners"),
        ({"type": "OwnershipUpdate", "payload": {"newOwners": [{"type": "table", "id": "x"}]}}, "newOwners"),
        ({"type": "OwnershipUpdate", "payload": {"newOwners": [{"type": "user", "name": "nobody"}]}}, "nobody"),
        ({"type": "TierUpdate", "payload": {"newTier": {"tagFQN": "PII.None"}}}, "newTier"),
        ({"type": "TierUpdate", "payload": {"newTier": "Tier.Tier1"}}, "newTier"),
        ({"type": "DomainUpdate", "payload": {"newDomain": [{"type": "domain"}]}}, "newDomain"),
        ({"type": "DomainUpdate", "payload": {"newDomain": {"type": "domain", "name": "None"}}}, "None"),
    ],
)
def test_mistaken_proposals_of_fields_are_refused(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], fields: Json, place: str
) -> None:
    answer = administrator.post("/tasks", json={**UPDATE, "about": ORDERS, "assignees": ["alice"], **fields})
    assert (answer.status_code in (400, 404), place in answer.json()["message"]) == (True, True), answer.text


def test_tasks_are_commented_changed_and_deleted(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], served: Served
) -> None:
    _, client = alice
    new_task = create(administrator, payload=PROPOSAL)
    assert client.post(f"/tasks/{new_task['id']}/comments", content="I look <#E::user::admin>").is_success
    commented_task = client.post(f"/tasks/{new_task['id']}/comments", json={"message": "done"}).json()
    assert [one["message"] for one in commented_task["comments"]] == ["I look <#E::user::admin>", "done"]
    assert ids(client, mentionedUser="admin") == [new_task["id"]]
    edits: list[Json] = [
        {"op": "replace", "path": "/priority", "value": "Critical"},
        {"op": "add", "path": "/dueDate", "value": 1_900_000_000_000},
        {"op": "add", "path": "/displayName", "value": "Describe the address"},
    ]
    changed_task = patch(client, f"/tasks/{new_task['id']}", *edits).json()
    assert (changed_task["priority"], changed_task["dueDate"], changed_task["displayName"]) == (
        "Critical",
        1_900_000_000_000,
        "Describe the address",
    )
    assert ids(client, priority="Critical") == [new_task["id"]]
    mallory_id, mallory = served.person("mallory")
    with mallory:
        for operation in ({**edits[0], "value": "Low"}, {"op": "replace", "path": "/description", "value": "x"}):
            assert patch(mallory, f"/tasks/{new_task['id']}", operation).status_code == 403
        assert decide(mallory, new_task["id"], transitionId="approve").status_code == 403
        assert mallory.delete(f"/tasks/{new_task['id']}").status_code == 403
    status_change = {"op": "replace", "path": "/status", "value": "Approved"}
    assert patch(client, f"/tasks/{new_task['id']}", status_change).status_code == 400
    reassignment = {"op": "replace", "path": "/assignees", "value": [{"id": mallory_id, "type": "user"}]}
    assert patch(client, f"/tasks/{new_task['id']}", reassignment).json()["assignees"][0]["name"] == "mallory"
    assert ids(administrator, assignee="mallory") == [new_task["id"]]
    assert ids(administrator, assignee="alice") == []
    assert administrator.delete(f"/tasks/{new_task['id']}").json()["deleted"] is True
    assert administrator.get(f"/feed/{new_task['id']}").status_code == 404


def test_a_task_without_assignees_is_for_the_owners(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, _ = alice
    refusal = administrator.post("/tasks", json={**UPDATE, "about": ORDERS})
    assert (refusal.status_code, "no owner" in refusal.json()["message"]) == (400, True)
    owner = {"op": "add", "path": "/owners", "value": [{"id": user_id, "type": "user"}]}
    assert patch(administrator, f"/tables/{orders['id']}", owner).is_success
    new_task = create(administrator, assignees=None, about=EMAIL, payload={"newDescription": "x"})
    assert [one["id"] for one in new_task["assignees"]] == [user_id]
    assert new_task["payload"] == {"fieldPath": "columns.email.description", "newDescription": "x"}


def test_bulk_says_of_each_task_what_became_of_it(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice
    first, second = create(administrator, payload=PROPOSAL), create(administrator)
    names = [first["taskId"], second["id"], "TASK-99999", "nonsense"]
    result = client.post("/tasks/bulk", json={"taskIds": names, "operation": "Approve", "params": None}).json()
    assert (result["totalRequested"], result["successful"], result["failed"]) == (4, 1, 3)
    assert [one["status"] for one in result["results"]] == ["success", "failed", "failed", "failed"]
    assert "suggests no value" in result["results"][1]["error"]
    assignment = {"taskIds": [second["id"]], "operation": "Assign", "params": {"assignees": ["admin"]}}
    assert client.post("/tasks/bulk", json=assignment).json()["successful"] == 1
    assert client.get(f"/tasks/{second['id']}").json()["assignees"][0]["name"] == "admin"
    urgent = {"taskIds": [second["id"]], "operation": "UpdatePriority", "params": {"priority": "Low"}}
    assert administrator.post("/tasks/bulk", json=urgent).json()["successful"] == 1
    assert administrator.get("/tasks/count").json() == {
        "open": 1,
        "inProgress": 0,
        "approved": 1,
        "granted": 0,
        "completed": 1,
        "total": 2,
    }


def test_pages_hold_threads_and_incidents_each_once(
    administrator: httpx.Client, orders: Json, case: Json, alice: tuple[str, httpx.Client]
) -> None:
    new_task = [create(administrator)["id"] for _ in range(3)]
    whole_page = administrator.get("/tasks?limit=50").json()
    assert (len(whole_page["data"]), whole_page["paging"]) == (4, {"total": 4})
    assert {one["id"] for one in whole_page["data"] if one["type"] == "DescriptionUpdate"} == set(new_task)
    walked_ids, after = [], ""
    while True:
        page = administrator.get("/tasks", params={"limit": 1, **({"after": after} if after else {})}).json()
        walked_ids += [one["id"] for one in page["data"]]
        assert page["paging"]["total"] == 4
        after, last = page["paging"].get("after"), page
        if not after:
            break
    assert walked_ids == [one["id"] for one in whole_page["data"]]
    before = last["paging"]["before"]
    for expected_ids in (walked_ids[2:3], walked_ids[1:2], walked_ids[:1]):
        page = administrator.get("/tasks", params={"limit": 1, "before": before}).json()
        assert ([one["id"] for one in page["data"]], page["paging"]["total"]) == (expected_ids, 4)
        before = page["paging"].get("before")
    assert before is None
    three = administrator.get("/tasks", params={"limit": 3, "before": last["paging"]["before"]}).json()
    assert [one["id"] for one in three["data"]] == walked_ids[:3]
    onward = administrator.get("/tasks", params={"limit": 3, "after": three["paging"]["after"]}).json()
    assert [one["id"] for one in onward["data"]] == walked_ids[3:]
    for bad_cursor in ("x", "~~", "x~", "~x", "9_~", "9_0_", "9_2_00000000-0000-4000-8000-000000000000"):
        for parameter in ("after", "before"):
            assert administrator.get("/tasks", params={parameter: bad_cursor}).status_code == 400, bad_cursor
    both = {"after": three["paging"]["after"], "before": last["paging"]["before"]}
    assert administrator.get("/tasks", params=both).status_code == 400


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"status": "Open"}, 1),
        ({"status": "Approved"}, 0),
        ({"statusGroup": "open"}, 1),
        ({"statusGroup": "closed"}, 0),
        ({"category": "MetadataUpdate", "type": "DescriptionUpdate"}, 1),
        ({"category": "Approval"}, 0),
        ({"type": "TagUpdate"}, 0),
        ({"assignee": "alice"}, 1),
        ({"assignee": "nobody"}, 0),
        ({"createdBy": "admin"}, 1),
        ({"createdBy": "alice"}, 0),
        ({"aboutEntity": "warehouse.shop.public.orders"}, 1),
        ({"aboutEntity": "nothing"}, 0),
        ({"domain": "nothing"}, 0),
        ({"priority": "Medium"}, 1),
    ],
)
def test_tasks_are_filtered(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], query: Json, count: int
) -> None:
    create(administrator)
    page = administrator.get("/tasks", params=query).json()
    assert (len(page["data"]), page["paging"]["total"]) == (count, count)


@pytest.mark.parametrize(
    ("request_body", "field"),
    [
        ({"type": "Unknown"}, "type"),
        ({"type": ["DescriptionUpdate"]}, "type"),
        ({"category": "Custom"}, "category"),
        ({"type": "TestCaseResolution", "category": "Incident"}, "incident"),
        ({"type": "GlossaryApproval", "category": "Approval"}, "reviewers"),
        ({"about": None}, "about"),
        ({"about": "orders"}, "about"),
        ({"assignees": "alice"}, "assignees"),
        ({"assignees": [1]}, "assignees"),
        ({"assignees": ["nobody at all"]}, "assignees"),
        ({"payload": []}, None),
        ({"payload": "text"}, "payload"),
        ({"payload": {"newDescription": 1}}, "newDescription"),
        ({"payload": {"fieldPath": "columns.nope.description"}}, "nope"),
        ({"payload": {"fieldPath": "columns"}}, "fieldPath"),
        ({"payload": {"fieldPath": '"'}}, None),
        ({"payload": {"big": "x" * 70_000}}, "payload"),
        ({"priority": "Urgent"}, "priority"),
        ({"dueDate": "tomorrow"}, "dueDate"),
        ({"externalReference": {"system": "jira"}}, "externalReference"),
        ({"externalReference": {"system": "jira", "externalId": "1", "externalUrl": "javascript:1"}}, "externalUrl"),
        ({"tags": [{}]}, "tags"),
        ({"domain": "sales"}, "domain"),
        ({"surprise": 1}, "surprise"),
        ({"type": "Suggestion", "payload": {"suggestionType": "Owner", "suggestedValue": "x"}}, "suggestionType"),
        ({"type": "Suggestion", "payload": {"suggestionType": "Tag"}}, "suggestedValue"),
        ({"type": "TagUpdate", "payload": {"tagsToAdd": [1]}}, "tagsToAdd"),
        ({"type": "Suggestion", "payload": {**TAG_SUGGESTION, "tagsToRemove": [{}]}}, "tagsToRemove"),
        ({"type": "Suggestion", "payload": {**TAG_SUGGESTION, "tagsToRemove": 5}}, "tagsToRemove"),
        ({"type": "Suggestion", "payload": {**TAG_SUGGESTION, "suggestedValue": '[{"x": 1}]'}}, "tag labels"),
        ({"type": "Suggestion", "payload": {**TAG_SUGGESTION, "suggestedValue": '[{"tagFQN": [1]}]'}}, "tag labels"),
    ],
)
def test_garbage_is_refused_in_words(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], request_body: Json, field: str | None
) -> None:
    answer = administrator.post("/tasks", json={**UPDATE, "about": ORDERS, "assignees": ["alice"], **request_body})
    if field is None:
        assert answer.status_code in (201, 400), answer.text
    else:
        assert (answer.status_code in (400, 404), field in answer.json()["message"]) == (True, True), answer.text


@pytest.mark.parametrize(
    "decision", [{}, {"transitionId": "explode"}, {"transitionId": ["approve"]}, {"resolutionType": "TimedOut"}]
)
def test_decisions_that_there_are_not_are_refused(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], decision: Json
) -> None:
    assert decide(administrator, create(administrator)["id"], **decision).status_code == 400


def test_tasks_about_hidden_assets_do_not_exist(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], person: Person
) -> None:
    user_id, mallory = person("mallory")
    new_task = create(administrator, assignees=["mallory"], payload=PROPOSAL)
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    assert mallory.get("/tasks").json()["paging"]["total"] == 0
    assert mallory.get("/tasks/count").json()["total"] == 0
    path = f"/tasks/{new_task['id']}"
    answers = [
        mallory.get(path),
        decide(mallory, new_task["id"], transitionId="approve"),
        mallory.post(f"{path}/close"),
        mallory.put(f"{path}/suggestion/apply"),
        mallory.post(f"{path}/comments", json={"message": "x"}),
        patch(mallory, path, {"op": "replace", "path": "/priority", "value": "Low"}),
        mallory.delete(path),
    ]
    absent = mallory.get("/tasks/00000000-0000-4000-8000-000000000000").json()["message"]
    for answer in answers:
        assert answer.status_code == 404, answer.request.url
        assert answer.json()["message"].replace(new_task["id"], "*").endswith("not found")
    assert "00000000" in absent
    number = int(new_task["taskId"].removeprefix("TASK-"))
    by_number = [
        mallory.get(f"/tasks/name/{new_task['taskId']}"),
        mallory.get(f"/feed/tasks/{number}"),
        mallory.put(f"/feed/tasks/{number}/close", json={"comment": "x"}),
        mallory.put(f"/feed/tasks/{number}/resolve", json={"newValue": "x"}),
        patch(mallory, f"/feed/tasks/{number}", {"op": "replace", "path": "/message", "value": "x"}),
        mallory.post("/tasks/bulk", json={"taskIds": [new_task["taskId"]], "operation": "Approve"}),
    ]
    assert not [one.request.url for one in by_number if new_task["id"] in one.text]
    names = (new_task["taskId"], "TASK-99999")
    messages = {mallory.get(f"/tasks/name/{one}").json()["message"].replace(one, "*") for one in names}
    assert messages == {"task * not found"}
    bulk = mallory.post("/tasks/bulk", json={"taskIds": [new_task["id"]], "operation": "Approve"}).json()
    assert (bulk["failed"], "not found" in bulk["results"][0]["error"]) == (1, True)
    assert mallory.post("/tasks", json={**UPDATE, "about": ORDERS, "assignees": ["mallory"]}).status_code in (403, 404)


def test_who_may_not_edit_the_asset_approves_nothing(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    new_task = create(administrator, payload=PROPOSAL)
    deny = {"effect": "deny", "resources": ["table"], "operations": ["EditDescription", "EditAll"]}
    restrict(administrator, user_id, deny)
    for answer in (
        decide(client, new_task["id"], transitionId="approve"),
        client.put(f"/tasks/{new_task['id']}/suggestion/apply"),
    ):
        assert answer.status_code == 403
    assert email_description(administrator, orders) != PROPOSAL["newDescription"]
    assert decide(client, new_task["id"], transitionId="reject").json()["status"] == "Rejected"


def test_only_a_suggestion_of_a_tag_writes_tags(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    _, client = alice
    payload = {"suggestionType": "Tag", "newDescription": "Where to write to."}
    new_task = create(administrator, payload=payload)
    assert client.get(f"/feed/{new_task['id']}").json()["task"]["type"] == "UpdateDescription"
    assert decide(client, new_task["id"], transitionId="approve").is_success
    assert client.get(f"/tables/{orders['id']}").json()["description"] == "Where to write to."


@pytest.mark.parametrize("path", ["/tasks", "/feed?type=Task", "/announcements"])
def test_lists_ask_no_statement_per_asset(
    administrator: httpx.Client, orders: Json, served: Served, sqlite_engine: Engine, path: str
) -> None:
    served.person("alice")[1].close()
    user_id, reader = served.person("reader")
    rule = {"effect": "deny", "resources": ["table"], "condition": "matchAnyTag('PII.Sensitive')"}
    restrict(administrator, user_id, rule)
    for number in range(4):
        about = f"<#E::table::{table(administrator, f'asked{number}')['fullyQualifiedName']}>"
        create(administrator, about=about)
        times = {"startTime": 1_000_000_000_000, "endTime": 1_000_000_000_001}
        announcement = {"description": "x", "entityLink": about, **times}
        assert administrator.post("/announcements", json=announcement).is_success
    statements: list[object] = []

    def statement_count(client: httpx.Client, limit: int) -> int:
        counts = []
        for _ in range(3):
            statements.clear()
            page = client.get(path, params={**dict(httpx.URL(path).params), "limit": limit}).json()
            assert len(page["data"]) == limit
            counts.append(len(statements))
        return min(counts)

    def note(*arguments: object) -> None:
        statements.append(arguments[2])

    event.listen(sqlite_engine, "before_cursor_execute", note)
    with reader:
        for client in (administrator, reader):
            assert statement_count(client, 4) == statement_count(client, 2) > 0
    event.remove(sqlite_engine, "before_cursor_execute", note)


def test_views_have_what_concerns_the_caller_and_their_teams(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], person: Person, case: Json
) -> None:
    user_id, client = alice
    bob_id, bob = person("bob")
    team = create_entity(administrator, "/teams", name="tills", teamType="Group", users=[user_id])
    owners = [{"type": "team", "id": team["id"]}]
    assert patch(administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/owners", "value": owners}).is_success
    other_table = table(administrator, "other")
    about_other = f"<#E::table::{other_table['fullyQualifiedName']}>"
    of_team = create(administrator, assignees=["tills"], about=about_other)["id"]
    of_asset = create(administrator, assignees=["bob"])["id"]
    of_bob = create(client, assignees=["bob"], about=about_other)["id"]

    def view_ids(reader: httpx.Client, view: str) -> set[str]:
        page = reader.get(f"/tasks/{view}").json()
        counts = reader.get("/tasks/count", params={"view": view}).json()
        assert counts["total"] == page["paging"]["total"] == len(page["data"])
        return {one["id"] for one in page["data"]}

    assert view_ids(client, "assigned") == {of_team}
    assert view_ids(client, "owned") == {of_asset}
    assert view_ids(client, "visible") == {of_team, of_asset}
    assert view_ids(client, "created") == {of_bob}
    assert view_ids(bob, "assigned") == {of_asset, of_bob}
    assert view_ids(bob, "owned") == view_ids(bob, "created") == set()
    assert client.get("/tasks/count?view=all").status_code == 400
    (incident,) = (one for one in administrator.get("/tasks").json()["data"] if one["category"] == "Incident")
    assigning = {"transitionId": "assign", "payload": {"assignee": {"type": "user", "id": bob_id}}}
    assert decide(administrator, incident["id"], **assigning).is_success
    for assignee, count in (("bob", 3), ("alice", 0), ("nobody", 0)):
        assert bob.get("/tasks/assigned", params={"assignee": assignee}).json()["paging"]["total"] == count, assignee
    restrict(administrator, bob_id, {"effect": "deny", "resources": ["table"]})
    assert view_ids(bob, "assigned") == set()
