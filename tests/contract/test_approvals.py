"""Tests of glossary terms under reviewers: in review until a reviewer approves or rejects them."""

from __future__ import annotations

import httpx
import pytest
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import patch
from tests.serving import Json

__all__ = ["person"]  # fixtures


@pytest.fixture
def reviewer(administrator: httpx.Client, person: Person) -> tuple[str, httpx.Client]:
    """A reviewer of the glossary Terms."""
    user_id, client = person("rita")
    reviewers = [{"type": "user", "id": user_id}]
    create_entity(administrator, "/glossaries", name="Terms", description="x", reviewers=reviewers)
    return user_id, client


def define(client: httpx.Client, name: str = "Order", **fields: Json) -> Json:
    answer = client.post("/glossaryTerms", json={"name": name, "description": "x", "glossary": "Terms", **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def status_of(client: httpx.Client, term: Json) -> str | None:
    status: str | None = client.get(f"/glossaryTerms/{term['id']}").json().get("entityStatus")
    return status


def approval_of(client: httpx.Client, term: Json) -> Json:
    query = {"type": "GlossaryApproval", "aboutEntity": term["fullyQualifiedName"]}
    (task,) = client.get("/tasks", params=query).json()["data"]
    return task


def decide(client: httpx.Client, task: Json, **request: str) -> httpx.Response:
    return client.post(f"/tasks/{task['id']}/resolve", json=request)


def set_status(client: httpx.Client, term: Json, status: str) -> httpx.Response:
    return patch(client, f"/glossaryTerms/{term['id']}", {"op": "add", "path": "/entityStatus", "value": status})


@pytest.mark.parametrize(("transition", "status"), [("approve", "Approved"), ("reject", "Rejected")])
def test_a_reviewer_decides_on_a_term(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], transition: str, status: str
) -> None:
    reviewer_id, rita = reviewer
    term = define(administrator)
    assert (term["entityStatus"], status_of(rita, term)) == ("In Review", "In Review")
    task = approval_of(rita, term)
    assert ([one["id"] for one in task["assignees"]], task["category"]) == ([reviewer_id], "Approval")
    assert [one["id"] for one in task["availableTransitions"]] == ["approve", "reject"]
    ended = decide(rita, task, transitionId=transition, comment="so").json()
    assert (ended["status"], ended["availableTransitions"], status_of(rita, term)) == (status, [], status)
    decided_term = rita.get(f"/glossaryTerms/{term['id']}").json()
    assert decided_term["updatedBy"] == "rita"
    assert decide(rita, task, transitionId=transition).status_code == 409
    assert rita.get(f"/feed/{task['id']}").json()["task"]["status"] == "Closed"


def test_nobody_but_a_reviewer_decides(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    _, author = person("author")
    term = define(administrator)
    task = approval_of(administrator, term)
    for client in (administrator, author):
        assert decide(client, task, transitionId="approve").status_code == 403
        assert client.post(f"/tasks/{task['id']}/close").status_code in (403, 409)
        number = client.get(f"/feed/{task['id']}").json()["task"]["id"]
        assert client.put(f"/feed/tasks/{number}/resolve", json={"newValue": "approved"}).status_code == 403
        assert client.put(f"/feed/tasks/{number}/close", json={"comment": "no"}).status_code == 403
    assert status_of(author, term) == "In Review"
    assert set_status(author, term, "Approved").status_code == 403


def test_an_author_cannot_state_that_a_term_is_approved_an_administrator_can(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    author_id, author = person("author")
    restrict(administrator, author_id, {"effect": "allow"})
    term = define(author, entityStatus="Approved")
    assert term["entityStatus"] == "In Review"
    assert approval_of(administrator, term)["status"] == "Open"
    assert set_status(author, term, "Approved").status_code == 403
    assert define(administrator, "Client", entityStatus="Approved")["entityStatus"] == "Approved"


def test_what_a_reviewer_defines_is_approved_at_once(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client]
) -> None:
    reviewer_id, rita = reviewer
    restrict(administrator, reviewer_id, {"effect": "allow"})
    term = define(rita)
    assert term["entityStatus"] == "Approved"
    assert administrator.get("/tasks", params={"type": "GlossaryApproval"}).json()["data"] == []


def test_terms_without_reviewers_are_as_before(administrator: httpx.Client) -> None:
    create_entity(administrator, "/glossaries", name="Terms", description="x")
    assert define(administrator).get("entityStatus") in (None, "Approved")
    assert administrator.get("/tasks").json()["paging"]["total"] == 0


def test_a_status_that_is_set_ends_the_task_and_one_in_review_opens_it(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client]
) -> None:
    reviewer_id, rita = reviewer
    restrict(administrator, reviewer_id, {"effect": "allow"})
    term = define(administrator)
    task = approval_of(rita, term)
    assert set_status(rita, term, "Rejected").is_success
    assert rita.get(f"/tasks/{task['id']}").json()["status"] == "Rejected"
    assert set_status(administrator, term, "In Review").is_success
    query = {"type": "GlossaryApproval", "status": "Open"}
    (second,) = rita.get("/tasks", params=query).json()["data"]
    assert second["id"] != task["id"]
    assert set_status(administrator, term, "Draft").is_success
    assert rita.get(f"/tasks/{second['id']}").json()["status"] == "Cancelled"


def test_1x_resolves_with_approved_or_rejected(administrator: httpx.Client, reviewer: tuple[str, httpx.Client]) -> None:
    _, rita = reviewer
    for name, value, status in (("A", "approved", "Approved"), ("B", "rejected", "Rejected")):
        term = define(administrator, name)
        number = approval_of(rita, term)["taskId"].removeprefix("TASK-")
        assert rita.put(f"/feed/tasks/{int(number)}/resolve", json={"newValue": value}).is_success
        assert status_of(rita, term) == status


def test_a_team_reviews_and_a_bot_does_not(administrator: httpx.Client, person: Person) -> None:
    user_id, member = person("tim")
    team = create_entity(administrator, "/teams", name="stewards", teamType="Group", users=[user_id])
    bot = administrator.get("/users/name/ingestion-bot").json()
    reviewers = [{"type": "team", "id": team["id"]}]
    if "id" in bot:
        reviewers.append({"type": "user", "id": bot["id"]})
    create_entity(administrator, "/glossaries", name="Terms", description="x", reviewers=reviewers)
    term = define(administrator)
    task = approval_of(member, term)
    assert [one["name"] for one in task["assignees"]] == ["stewards"]
    assert decide(member, task, resolutionType="Approved").json()["status"] == "Approved"


def test_a_term_put_again_without_a_status_stays_in_review(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client]
) -> None:
    term = define(administrator)
    body = {"name": "Order", "description": "y", "glossary": "Terms"}
    assert administrator.put("/glossaryTerms", json=body).json()["entityStatus"] == "In Review"
    assert approval_of(administrator, term)["status"] == "Open"
    hard = administrator.delete(f"/glossaryTerms/{term['id']}?hardDelete=true")
    assert hard.is_success
    assert administrator.get("/tasks").json()["paging"]["total"] == 0


def entitled_author(administrator: httpx.Client, person: Person) -> tuple[str, httpx.Client]:
    """Return somebody who may write every term and reviews none."""
    author_id, author = person("author")
    restrict(administrator, author_id, {"effect": "allow"})
    return author_id, author


def test_an_author_cannot_become_a_reviewer_of_their_own_term(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    author_id, author = entitled_author(administrator, person)
    themselves = [{"type": "user", "id": author_id}]
    body = {"name": "Mine", "description": "x", "glossary": "Terms", "reviewers": themselves}
    assert author.post("/glossaryTerms", json=body).status_code == 403
    assert author.put("/glossaryTerms", json=body).status_code == 403
    term = define(author)
    reviewers = {"op": "add", "path": "/reviewers", "value": themselves}
    approval = {"op": "add", "path": "/entityStatus", "value": "Approved"}
    for operations in ([reviewers], [reviewers, approval]):
        assert patch(author, f"/glossaryTerms/{term['id']}", *operations).status_code == 403
    assert status_of(author, term) == "In Review"
    _, rita = reviewer
    friend = [{"type": "user", "id": person("friend")[0]}]
    named_term = define(author, "Other", reviewers=friend)
    assert named_term["entityStatus"] == "In Review"
    assert [one["name"] for one in approval_of(rita, named_term)["assignees"]] == ["friend"]


def test_who_takes_away_the_reviewers_does_not_approve_by_the_same_change(
    administrator: httpx.Client, person: Person
) -> None:
    create_entity(administrator, "/glossaries", name="Terms", description="x")
    _, author = entitled_author(administrator, person)
    term = define(author, reviewers=[{"type": "user", "id": person("rita")[0]}])
    assert term["entityStatus"] == "In Review"
    removal = {"op": "remove", "path": "/reviewers"}
    approval = {"op": "replace", "path": "/entityStatus", "value": "Approved"}
    assert patch(author, f"/glossaryTerms/{term['id']}", removal, approval).status_code == 403


def test_an_author_neither_hands_on_nor_deletes_the_approval_of_their_term(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    reviewer_id, rita = reviewer
    author_id, author = entitled_author(administrator, person)
    term = define(author)
    task = approval_of(author, term)
    assignment = {"op": "replace", "path": "/assignees", "value": [{"id": author_id, "type": "user"}]}
    path_of_1 = {**assignment, "path": "/task/assignees"}
    refusals = (
        patch(author, f"/tasks/{task['id']}", assignment),
        patch(author, f"/feed/{task['id']}", path_of_1),
        author.delete(f"/tasks/{task['id']}"),
        administrator.delete(f"/feed/{task['id']}"),
    )
    assert [one.status_code for one in refusals] == [409] * 4
    bulk = {"taskIds": [task["id"]], "operation": "Assign", "params": {"assignees": ["author"]}}
    assert author.post("/tasks/bulk", json=bulk).json()["failed"] == 1
    assert [one["id"] for one in approval_of(rita, term)["assignees"]] == [reviewer_id]
    assert decide(rita, task, transitionId="approve").is_success
    assert author.delete(f"/tasks/{task['id']}").is_success


def test_1x_and_2x_let_the_reviewers_of_now_decide(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    _, rita = reviewer
    numbers = [int(approval_of(rita, define(administrator, name))["taskId"].removeprefix("TASK-")) for name in "AB"]
    new_id, newcomer = person("newcomer")
    glossary = administrator.get("/glossaries/name/Terms").json()
    reviewers = {"op": "replace", "path": "/reviewers", "value": [{"type": "user", "id": new_id}]}
    assert patch(administrator, f"/glossaries/{glossary['id']}", reviewers).is_success
    task_id = rita.get(f"/feed/tasks/{numbers[0]}").json()["id"]
    assert rita.post(f"/tasks/{task_id}/resolve", json={"transitionId": "approve"}).status_code == 403
    assert rita.put(f"/feed/tasks/{numbers[0]}/resolve", json={"newValue": "approved"}).status_code == 403
    assert newcomer.put(f"/feed/tasks/{numbers[0]}/resolve", json={"newValue": "declined"}).status_code == 400
    assert newcomer.put(f"/feed/tasks/{numbers[0]}/resolve", json={"newValue": "Approved"}).is_success
    assert newcomer.put(f"/feed/tasks/{numbers[1]}/close", json={"comment": "no"}).is_success


def test_the_name_of_a_term_mentions_nobody(administrator: httpx.Client, reviewer: tuple[str, httpx.Client]) -> None:
    _, rita = reviewer
    mentions = " ".join(f"<#E::user::{name}>" for name in ("rita", *(f"u{number}" for number in range(120))))
    term = define(administrator, displayName=mentions)
    assert approval_of(rita, term)["description"] == "Please approve the glossary term."
    assert rita.get("/tasks", params={"mentionedUser": "rita"}).json()["paging"]["total"] == 0


def test_a_rollback_approves_nothing(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    _, author = entitled_author(administrator, person)
    term = define(author)
    for status in ("Approved", "In Review"):
        assert set_status(administrator, term, status).is_success
    approved_version = administrator.get(f"/glossaryTerms/{term['id']}").json()["version"] - 0.1
    request = {"version": round(approved_version, 1)}
    assert author.post(f"/glossaryTerms/{term['id']}/rollback", json=request).status_code == 403
    assert status_of(author, term) == "In Review"
    assert administrator.post(f"/glossaryTerms/{term['id']}/rollback", json=request).is_success
    assert status_of(author, term) == "Approved"


def test_a_term_that_is_moved_under_reviewers_is_in_review(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    _, rita = reviewer
    _, author = entitled_author(administrator, person)
    free = create_entity(administrator, "/glossaries", name="Free", description="x")
    reviewed_glossary = administrator.get("/glossaries/name/Terms").json()

    def move(term: Json, glossary: Json, *edits: Json) -> httpx.Response:
        place = {"op": "replace", "path": "/glossary", "value": {"id": glossary["id"], "type": "glossary"}}
        return patch(author, f"/glossaryTerms/{term['id']}", place, *edits)

    term = define(author)
    approval = {"op": "replace", "path": "/entityStatus", "value": "Approved"}
    assert move(term, free, approval).status_code == 403
    assert move(term, free).is_success
    assert set_status(author, term, "Approved").is_success
    assert move(term, reviewed_glossary).is_success
    assert status_of(author, term) == "In Review"
    query = {"type": "GlossaryApproval", "status": "Open"}
    (task,) = rita.get("/tasks", params=query).json()["data"]
    assert decide(rita, task, transitionId="approve").is_success


def assignees_of(client: httpx.Client, term: Json) -> list[str]:
    return [one["name"] for one in approval_of(client, term)["assignees"]]


def put_reviewers(client: httpx.Client, path: str, *user_ids: str) -> None:
    reviewers = [{"type": "user", "id": one} for one in user_ids]
    assert patch(client, path, {"op": "add", "path": "/reviewers", "value": reviewers}).is_success


def test_an_open_task_follows_the_reviewers_of_its_term_and_those_that_it_inherits(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client], person: Person
) -> None:
    (rene_id, rene), (rosa_id, rosa) = person("rene"), person("rosa")
    glossary = administrator.get("/glossaries/name/Terms").json()
    inherited_term, own_term = define(administrator), define(administrator, "Item")
    below_term = define(administrator, "Part", parent=own_term["fullyQualifiedName"])
    put_reviewers(administrator, f"/glossaryTerms/{own_term['id']}", rosa_id)
    terms = (inherited_term, own_term, below_term)
    names_before = [assignees_of(administrator, one) for one in terms]
    assert names_before[:2] == [["rita"], ["rosa"]]
    put_reviewers(administrator, f"/glossaries/{glossary['id']}", rene_id)
    assert assignees_of(administrator, inherited_term) == ["rene"]
    assert assignees_of(administrator, own_term) == ["rosa"]
    assert decide(reviewer[1], approval_of(rene, inherited_term), transitionId="approve").status_code == 403
    assert [one["id"] for one in rene.get("/tasks?assignee=rene").json()["data"]].count(
        approval_of(rene, inherited_term)["id"]
    ) == 1
    last_event = administrator.get("/events?limit=10000").json()["data"][-1]
    assert last_event["eventType"] == "threadUpdated"
    assert decide(rene, approval_of(rene, inherited_term), transitionId="approve").is_success
    assert decide(rosa, approval_of(rosa, own_term), transitionId="reject").is_success
    put_reviewers(administrator, f"/glossaries/{glossary['id']}")
    assert assignees_of(administrator, below_term), "with no reviewers left, a task stays whose it was"


def test_other_changes_of_a_glossary_leave_tasks_alone(
    administrator: httpx.Client, reviewer: tuple[str, httpx.Client]
) -> None:
    term = define(administrator)
    task = approval_of(administrator, term)
    glossary = administrator.get("/glossaries/name/Terms").json()
    edit = {"op": "add", "path": "/description", "value": "All terms."}
    assert patch(administrator, f"/glossaries/{glossary['id']}", edit).is_success
    put_reviewers(administrator, f"/glossaries/{glossary['id']}", reviewer[0])
    assert approval_of(administrator, term) == task
