"""Tests of suggestions as OpenMetadata 1.x has them, over the same tasks as ``/tasks`` and ``/feed``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.standards import needs_standards, problems
from tests.contract.test_access import restrict
from tests.contract.test_bot_puts import bot
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import EMAIL, ORDERS, alice, bob, events, patch
from tests.notifying import notify_all
from tests.serving import Json, Served, table

__all__ = ["alice", "bob", "person"]  # fixtures

from tocsin.catalogue.feed.thread_writes import task_end_of
from tocsin.model.task import TaskState

User = tuple[str, httpx.Client]
EMAIL_COLUMN = EMAIL.removesuffix("::description>") + ">"
SENSITIVE = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Suggested"}


def suggest(client: httpx.Client, text: str = "Where to write to.", about: str = EMAIL_COLUMN, **fields: Json) -> Json:
    request = {"entityLink": about, "description": text, "type": "SuggestDescription", **fields}
    answer = client.post("/suggestions", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def suggest_tags(client: httpx.Client, *labels: Json, about: str = ORDERS) -> Json:
    return suggest(client, type="SuggestTagLabel", description=None, tagLabels=list(labels), about=about)


def texts(client: httpx.Client, **query: str) -> list[str]:
    return [one["description"] for one in client.get("/suggestions", params=query).json()["data"]]


def email_of(client: httpx.Client, orders: Json) -> Json:
    columns = client.get(f"/tables/{orders['id']}", params={"fields": "columns,tags"}).json()["columns"]
    return next(one for one in columns if one["name"] == "email")


@pytest.fixture
def owned(administrator: httpx.Client, orders: Json, alice: User) -> Json:
    """The table, which alice owns."""
    owners = [{"id": alice[0], "type": "user"}]
    assert patch(administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/owners", "value": owners}).is_success
    return orders


def test_a_suggestion_is_a_task_of_its_owners_and_accepting_writes_it_as_who_accepts(
    administrator: httpx.Client, owned: Json, alice: User, bob: User
) -> None:
    suggestion = suggest(bob[1])
    task = alice[1].get(f"/tasks/{suggestion['id']}").json()
    assert (task["type"], task["status"], [one["name"] for one in task["assignees"]]) == (
        "Suggestion",
        "Open",
        ["alice"],
    )
    assert suggestion["entityLink"] == EMAIL_COLUMN
    assert (suggestion["createdBy"]["name"], suggestion["status"]) == ("bob", "Open")
    assert texts(alice[1], entityFQN=owned["fullyQualifiedName"], userId=bob[0]) == ["Where to write to."]
    accepted_suggestion = alice[1].put(f"/suggestions/{suggestion['id']}/accept").json()
    assert accepted_suggestion["status"] == "Accepted"
    assert email_of(administrator, owned)["description"] == "Where to write to."
    assert alice[1].get(f"/tables/{owned['id']}").json()["updatedBy"] == "alice"
    assert events(administrator)[-2:] == [("entityUpdated", "table"), ("taskResolved", "thread")]
    assert (texts(alice[1]), texts(alice[1], status="Accepted")) == ([], ["Where to write to."])
    second_answer = alice[1].put(f"/suggestions/{suggestion['id']}/accept")
    assert second_answer.status_code == 409


@needs_standards
def test_suggestions_are_what_the_schema_says(owned: Json, alice: User, bob: User) -> None:
    of_tags = suggest_tags(bob[1], {"tagFQN": "PII.Sensitive", "source": "Classification"})
    payload = {"suggestionType": "Tag", "fieldPath": "tags", "suggestedValue": "PII.None"}
    about = {"about": ORDERS, "category": "MetadataUpdate", "type": "Suggestion", "payload": payload}
    of_2 = bob[1].post("/tasks", json=about).json()
    suggestions = [suggest(bob[1]), of_tags, alice[1].get(f"/suggestions/{of_2['id']}").json()]
    assert [one["tagLabels"][0]["tagFQN"] for one in suggestions[1:]] == ["PII.Sensitive", "PII.None"]
    for suggestion in (*suggestions, *alice[1].get("/suggestions").json()["data"]):
        assert problems("entity/feed/suggestion.json", suggestion) == []


def test_of_two_who_accept_at_once_one_does(administrator: httpx.Client, owned: Json, alice: User, bob: User) -> None:
    suggestion = suggest(bob[1])
    with ThreadPoolExecutor(2) as pool:
        path = f"/suggestions/{suggestion['id']}/accept"
        answers = list(pool.map(lambda one: one.put(path), (administrator, alice[1])))
    assert sorted(one.status_code for one in answers) == [200, 409]
    assert [kind for kind, _ in events(administrator)].count("taskResolved") == 1


def test_who_may_not_edit_accepts_nothing_and_strangers_decide_nothing(
    administrator: httpx.Client, owned: Json, alice: User, bob: User, person: Person
) -> None:
    suggestion = suggest(bob[1])
    stranger_id, stranger = person("stranger")
    for end in ("accept", "reject"):
        assert stranger.put(f"/suggestions/{suggestion['id']}/{end}").status_code == 403
    deny = {"effect": "deny", "resources": ["table"], "operations": ["EditDescription", "EditAll"]}
    restrict(administrator, alice[0], deny)
    assert alice[1].put(f"/suggestions/{suggestion['id']}/accept").status_code == 403
    assert "description" not in email_of(administrator, owned)
    assert alice[1].put(f"/suggestions/{suggestion['id']}/reject").json()["status"] == "Rejected"
    restrict(administrator, stranger_id, {"effect": "deny", "resources": ["table"]})
    path = f"/suggestions/{suggestion['id']}"
    answers = [
        stranger.get(path),
        stranger.put(f"{path}/accept"),
        stranger.put(f"{path}/reject"),
        stranger.put(path, json={"description": "x"}),
        stranger.delete(path),
    ]
    assert {one.status_code for one in answers} == {404}
    assert stranger.get("/suggestions?status=Rejected").json()["paging"] == {"total": 0}


def test_what_nobody_owns_is_decided_by_who_may_edit_it(
    administrator: httpx.Client, orders: Json, bob: User, person: Person
) -> None:
    suggestion = suggest(bob[1])
    stranger_id, stranger = person("stranger")
    deny = {"effect": "deny", "resources": ["table"], "operations": ["EditDescription", "EditAll"]}
    restrict(administrator, stranger_id, deny)
    for end in ("accept", "reject"):
        assert stranger.put(f"/suggestions/{suggestion['id']}/{end}").status_code == 403
    assert administrator.put(f"/suggestions/{suggestion['id']}/accept").json()["status"] == "Accepted"
    assert email_of(administrator, orders)["description"] == "Where to write to."


def test_all_of_one_person_are_accepted_and_others_stay(
    administrator: httpx.Client, owned: Json, alice: User, bob: User, person: Person
) -> None:
    suggest(bob[1], "First.")
    suggest(bob[1], "Second.")
    suggest(bob[1], "An order.", about=ORDERS)
    suggest_tags(bob[1], SENSITIVE)
    suggest(person("carol")[1], "Hers.")
    name = owned["fullyQualifiedName"]
    accepted_suggestion = alice[1].put("/suggestions/accept-all", params={"userId": bob[0], "entityFQN": name}).json()
    assert [one["description"] for one in accepted_suggestion] == ["First.", "Second.", "An order."]
    assert email_of(administrator, owned)["description"] == "Second."
    assert len(alice[1].get("/suggestions").json()["data"]) == 2
    query = {"userId": bob[0], "entityFQN": name, "suggestionType": "SuggestTagLabel"}
    assert len(alice[1].put("/suggestions/reject-all", params=query).json()) == 1
    assert alice[1].put("/suggestions/reject-all", params=query).json() == []
    assert texts(alice[1]) == ["Hers."]


def test_all_of_one_person_are_accepted_in_one_transaction_or_none_is(
    owned: Json, alice: User, bob: User, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggest(bob[1], "First.")
    suggest(bob[1], "Second.", about=ORDERS)
    query = {"userId": bob[0], "entityFQN": owned["fullyQualifiedName"]}
    ends = count()

    def task_end_but_the_second(state: TaskState, comment: str | None, details: Json) -> Json:
        if next(ends) == 1:
            raise RuntimeError("crash")
        return task_end_of(state, comment, details)

    monkeypatch.setattr("tocsin.catalogue.feed.task_operations.task_end_of", task_end_but_the_second)
    assert alice[1].put("/suggestions/accept-all", params=query).status_code == 500
    assert len(texts(alice[1])) == 2, "the first is open as well"
    assert "First." not in alice[1].get(f"/tables/{owned['id']}?fields=columns").text
    assert len(alice[1].put("/suggestions/accept-all", params=query).json()) == 2


def test_of_all_those_are_accepted_that_the_caller_may_decide(
    administrator: httpx.Client, owned: Json, bob: User, person: Person
) -> None:
    _, carol = person("carol")
    payload = {"suggestionType": "Description", "suggestedValue": "First."}
    request = {"about": ORDERS, "category": "MetadataUpdate", "type": "Suggestion", "payload": payload}
    assert bob[1].post("/tasks", json=request | {"assignees": ["carol"]}).status_code == 201
    suggest(bob[1], "Second.", about=ORDERS)
    query = {"userId": bob[0], "entityFQN": owned["fullyQualifiedName"]}
    answer = carol.put("/suggestions/accept-all", params=query)
    assert (answer.status_code, [one["description"] for one in answer.json()]) == (200, ["First."])
    assert texts(carol) == ["Second."]
    assert carol.put("/suggestions/accept-all", params=query).status_code == 403
    assert administrator.get(f"/tables/{owned['id']}").json()["description"] == "First."


def test_one_of_a_column_that_is_gone_stays_open_beside_those_that_are_accepted(
    administrator: httpx.Client, owned: Json, alice: User, bob: User
) -> None:
    lost_suggestion = suggest(bob[1])
    suggest(bob[1], "An order.", about=ORDERS)
    place = [one["name"] for one in owned["columns"]].index("email")
    removal = {"op": "remove", "path": f"/columns/{place}"}
    assert patch(administrator, f"/tables/{owned['id']}", removal).is_success
    query = {"userId": bob[0], "entityFQN": owned["fullyQualifiedName"]}
    accepted_suggestion = alice[1].put("/suggestions/accept-all", params=query).json()
    assert [one["description"] for one in accepted_suggestion] == ["An order."]
    assert alice[1].get(f"/suggestions/{lost_suggestion['id']}").json()["status"] == "Open"
    answer = alice[1].put("/suggestions/accept-all", params=query)
    assert (answer.status_code, "email" in answer.json()["message"]) == (400, True)


def test_a_description_that_changed_meanwhile_is_replaced_and_its_version_is_kept(
    administrator: httpx.Client, owned: Json, alice: User, bob: User
) -> None:
    suggestion = suggest(bob[1], "An order.", about=ORDERS)
    answer = patch(administrator, f"/tables/{owned['id']}", {"op": "add", "path": "/description", "value": "Mine."})
    assert alice[1].put(f"/suggestions/{suggestion['id']}/accept").is_success
    (change,) = alice[1].get(f"/tables/{owned['id']}").json()["changeDescription"]["fieldsUpdated"]
    assert (change["oldValue"], change["newValue"]) == ("Mine.", "An order.")
    version_before = alice[1].get(f"/tables/{owned['id']}/versions/{answer.json()['version']}").json()
    assert version_before["description"] == "Mine."


def test_suggestions_of_deleted_assets_wait_and_those_of_bots_count(
    served: Served, administrator: httpx.Client, owned: Json, alice: User
) -> None:
    with bot(served, "suggester") as suggester:
        suggestion = suggest(suggester, "Said by a bot.", about=ORDERS)
    assert administrator.delete(f"/tables/{owned['id']}").is_success
    answer = alice[1].put(f"/suggestions/{suggestion['id']}/accept")
    assert (answer.status_code, "is deleted" in answer.json()["message"]) == (409, True)
    assert administrator.put("/tables/restore", json={"id": owned["id"]}).is_success
    accepted_suggestion = alice[1].put(f"/suggestions/{suggestion['id']}/accept").json()
    assert (accepted_suggestion["status"], accepted_suggestion["createdBy"]["name"]) == ("Accepted", "suggester")
    assert alice[1].get(f"/tables/{owned['id']}").json()["description"] == "Said by a bot."


def test_the_author_changes_and_deletes_an_open_one(
    administrator: httpx.Client, owned: Json, alice: User, bob: User
) -> None:
    suggestion = suggest_tags(bob[1], SENSITIVE)
    path = f"/suggestions/{suggestion['id']}"
    new_suggestion = suggestion | {"tagLabels": [SENSITIVE | {"tagFQN": "PII.None"}]}
    assert alice[1].put(path, json=new_suggestion).status_code == 403
    assert bob[1].put(path, json=new_suggestion).json()["tagLabels"][0]["tagFQN"] == "PII.None"
    assert alice[1].put(f"{path}/accept").is_success
    tags = alice[1].get(f"/tables/{owned['id']}?fields=tags").json()["tags"]
    assert [one["tagFQN"] for one in tags] == ["PII.None"]
    assert bob[1].put(path, json={"tagLabels": [SENSITIVE]}).status_code == 409
    for fixed_part in ({"entityLink": EMAIL}, {"type": "SuggestDescription"}, {"status": "Rejected"}):
        assert bob[1].put(path, json=new_suggestion | fixed_part).status_code == 400
    own_suggestion = suggest(bob[1])
    assert alice[1].delete(f"/suggestions/{own_suggestion['id']}").status_code == 403
    assert bob[1].delete(f"/suggestions/{own_suggestion['id']}").is_success
    assert alice[1].get(f"/tasks/{own_suggestion['id']}").status_code == 404


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"description": "  "}, "description"),
        ({"description": 7}, "description"),
        ({"type": "SuggestOwner"}, "type"),
        ({"type": ["SuggestDescription"]}, "type"),
        ({"tagLabels": [SENSITIVE]}, "tagLabels"),
        ({"type": "SuggestTagLabel", "tagLabels": []}, "tagLabels"),
        ({"type": "SuggestTagLabel", "tagLabels": [{"tagFQN": 1}]}, "tagLabels"),
        ({"entityLink": "orders"}, "entityLink"),
        ({"entityLink": "<#E::table::no.such.table.there>"}, "not found"),
        ({"entityLink": ORDERS.removesuffix(">") + "::columns::gone>"}, "gone"),
        ({"assignees": ["alice"]}, "assignees"),
    ],
)
def test_mistaken_suggestions_are_refused(orders: Json, bob: User, fields: Json, place: str) -> None:
    request = {"entityLink": ORDERS, "description": "x", "type": "SuggestDescription", **fields}
    answer = bob[1].post("/suggestions", json=request)
    assert (answer.status_code in (400, 404), place in answer.json()["message"]) == (True, True), answer.text


def test_other_tasks_are_no_suggestions(administrator: httpx.Client, orders: Json, alice: User) -> None:
    request = {"about": ORDERS, "category": "MetadataUpdate", "type": "DescriptionUpdate", "assignees": ["alice"]}
    task = administrator.post("/tasks", json=request).json()
    assert alice[1].get("/suggestions").json() == {"data": [], "paging": {"total": 0}}
    path = f"/suggestions/{task['id']}"
    answers = (alice[1].get(path), alice[1].put(f"{path}/accept"), alice[1].delete(path))
    assert {one.status_code for one in answers} == {404}


def test_pages_go_forth_and_back(owned: Json, bob: User) -> None:
    for number in range(3):
        suggest(bob[1], str(number))
    first = bob[1].get("/suggestions?limit=2").json()
    second = bob[1].get("/suggestions", params={"limit": 2, "after": first["paging"]["after"]}).json()
    back = bob[1].get("/suggestions", params={"limit": 2, "before": second["paging"]["before"]}).json()
    assert ([len(one["data"]) for one in (first, second)], back["data"]) == ([2, 1], first["data"])


def test_owners_are_told_of_a_suggestion_and_its_author_of_its_end(
    owned: Json, alice: User, bob: User, sqlite_engine: Engine
) -> None:
    suggestion = suggest(bob[1])
    notify_all(sqlite_engine)
    titles = [one["title"] for one in alice[1].get(f"/users/{alice[0]}/notifications").json()["data"]]
    assert any("bob" in one for one in titles), titles
    assert alice[1].put(f"/suggestions/{suggestion['id']}/accept").is_success
    notify_all(sqlite_engine)
    titles = [one["title"] for one in bob[1].get(f"/users/{bob[0]}/notifications").json()["data"]]
    assert any("alice" in one for one in titles), titles


def test_nobody_suggests_about_what_is_hidden(administrator: httpx.Client, orders: Json, person: Person) -> None:
    user_id, mallory = person("mallory")
    salaries = table(administrator, "salaries_hidden")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    link = f"<#E::table::{salaries['fullyQualifiedName']}>"
    answers = [
        mallory.post("/suggestions", json={"entityLink": about, "description": "x"})
        for about in (link, "<#E::table::warehouse.shop.public.nothing>")
    ]
    assert {one.status_code for one in answers} <= {403, 404}


def test_all_of_a_hidden_asset_are_none_as_of_one_that_is_not_there(
    administrator: httpx.Client, owned: Json, bob: User, person: Person
) -> None:
    suggest(bob[1])
    user_id, mallory = person("mallory")
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    for name in (owned["fullyQualifiedName"], "warehouse.shop.public.nothing"):
        for end in ("accept-all", "reject-all"):
            answer = mallory.put(f"/suggestions/{end}", params={"userId": bob[0], "entityFQN": name})
            assert (answer.status_code, answer.json()) == (200, [])


@pytest.mark.parametrize("kind", ["task", "announcement"])
def test_who_wants_no_such_kind_in_the_app_has_it_in_the_feed_alone(
    owned: Json, alice: User, bob: User, sqlite_engine: Engine, kind: str
) -> None:
    alice_id, client = alice
    if kind == "task":
        suggest(bob[1])
    client.put(f"/tables/{owned['id']}/followers/{alice_id}")
    choices = {"kinds": {kind: {"ActivityFeed": "never"}}}
    assert client.put(f"/users/{alice_id}/preferences", json=choices).is_success
    if kind == "announcement":
        announcement = {"entityLink": ORDERS, "description": "It moves.", "startTime": 1, "endTime": 9_000_000_000_000}
        assert bob[1].post("/announcements", json=announcement).is_success
    notify_all(sqlite_engine)
    titles = [one["title"] for one in client.get(f"/users/{alice_id}/notifications").json()["data"]]
    assert not [one for one in titles if one.startswith("bob")], titles
    feed_titles = [one["title"] for one in client.get(f"/users/{alice_id}/activity").json()["data"]]
    expected_title = "bob asks you to review" if kind == "task" else "bob announced for orders: It moves."
    assert any(one.startswith(expected_title) for one in feed_titles), feed_titles
