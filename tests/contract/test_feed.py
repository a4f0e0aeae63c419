"""Tests of the thread routes by HTTP, checked against upstream's schemas."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx
import pytest
from tests.contract.standards import needs_standards, problems
from tests.serving import Json, Served, table

ORDERS = "<#E::table::warehouse.shop.public.orders>"
EMAIL = "<#E::table::warehouse.shop.public.orders::columns::email::description>"


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


@pytest.fixture
def bob(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("bob")
    with client:
        yield user_id, client


def begin(client: httpx.Client, message: str = "What is this?", about: str = ORDERS, **fields: Json) -> Json:
    answer = client.post("/feed", json={"about": about, "message": message, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def task(client: httpx.Client, assignee: str, kind: str = "RequestDescription", about: str = EMAIL) -> Json:
    details = {"type": kind, "assignees": [{"id": assignee, "type": "user"}], "oldValue": ""}
    return begin(client, "Please describe it", about, type="Task", taskDetails=details)


def feed(client: httpx.Client, **query: Json) -> list[str]:
    return [one["id"] for one in client.get("/feed", params=query).json()["data"]]


def events(client: httpx.Client) -> list[tuple[str, str]]:
    listed = client.get("/events?limit=10000").json()["data"]
    return [(one["eventType"], one["entityType"]) for one in listed]


def patch(client: httpx.Client, path: str, *operations: Json) -> httpx.Response:
    return client.patch(path, content=json.dumps(operations))


def test_a_conversation_is_begun_answered_and_read(orders: Json, alice: tuple[str, httpx.Client]) -> None:
    _, client = alice
    thread = begin(client)
    assert (thread["about"], thread["entityRef"]["id"], thread["createdBy"]) == (ORDERS, orders["id"], "alice")
    replied = client.post(f"/feed/{thread['id']}/posts", json={"message": "Orders."})
    assert replied.status_code == 201
    assert [post["message"] for post in replied.json()["posts"]] == ["Orders."]
    assert client.get(f"/feed/{thread['id']}").json()["postsCount"] == 1
    assert client.get(f"/feed/{thread['id']}/posts").json()["data"][0]["from"] == "alice"


@needs_standards
def test_threads_and_their_events_are_what_the_schemas_say(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    now = time.time_ns() // 1_000_000
    times = {"startTime": now - 1_000, "endTime": now + 100_000, "description": "It will be slow."}
    threads = [begin(client), task(administrator, user_id)]
    threads.append(begin(client, "Maintenance", type="Announcement", announcementDetails=times))
    client.post(f"/feed/{threads[0]['id']}/posts", json={"message": "Hello <#E::user::admin>"})
    reaction = {"reactionType": "heart", "user": {"id": user_id, "type": "user"}}
    patch(client, f"/feed/{threads[0]['id']}", {"op": "add", "path": "/reactions/0", "value": reaction})
    client.put(f"/feed/tasks/{threads[1]['task']['id']}/resolve", json={"newValue": "An address."})
    for thread in threads:
        assert problems("entity/feed/thread.json", thread) == []
        assert problems("entity/feed/thread.json", client.get(f"/feed/{thread['id']}").json()) == []
    thread_page = client.get("/feed?limit=50").json()
    assert thread_page["paging"]["total"] == 3
    assert [problem for one in thread_page["data"] for problem in problems("entity/feed/thread.json", one)] == []
    thread_events = [one for one in client.get("/events?limit=10000").json()["data"] if one["entityType"] == "thread"]
    assert [problem for one in thread_events for problem in problems("type/changeEvent.json", one)] == []
    for notification in thread_events:
        assert problems("entity/feed/thread.json", json.loads(notification["entity"])) == []
    kinds = ["threadCreated"] * 3 + ["postCreated", "threadUpdated", "taskResolved"]
    assert [one["eventType"] for one in thread_events] == kinds
    assert {one["entityFullyQualifiedName"] for one in thread_events} == {orders["fullyQualifiedName"]}
    counts = client.get("/feed/count", params={"entityLink": ORDERS}).json()
    assert [problem for one in counts for problem in problems("api/feed/threadCount.json", one)] == []
    assert {one["entityLink"]: one["totalTaskCount"] for one in counts} == {ORDERS: 0, EMAIL: 1}
    assert counts[0]["activeAnnouncementCount"] == 1
    (thread_counts,) = client.get("/feed/count", params={"entityLink": "<#E::user::admin>"}).json()
    assert problems("api/feed/threadCount.json", thread_counts) == []
    assert (thread_counts["closedTaskCount"], thread_counts["totalTaskCount"], thread_counts["mentionCount"]) == (
        1,
        1,
        1,
    )


def test_a_resolved_task_describes_the_column(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    number = task(administrator, user_id)["task"]["id"]
    assert client.get(f"/feed/tasks/{number}").json()["task"]["assignees"][0]["name"] == "alice"
    resolved = client.put(f"/feed/tasks/{number}/resolve", json={"newValue": "Where to write to."})
    assert resolved.json()["task"]["status"] == "Closed", resolved.text
    columns = client.get(f"/tables/{orders['id']}").json()["columns"]
    assert {column["name"]: column.get("description") for column in columns}["email"] == "Where to write to."
    assert events(administrator)[-2:] == [("entityUpdated", "table"), ("taskResolved", "thread")]
    again = client.put(f"/feed/tasks/{number}/resolve", json={"newValue": "Twice."})
    assert again.status_code == 409


def test_a_resolved_task_tags_the_table(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    number = task(administrator, user_id, "RequestTag", ORDERS)["task"]["id"]
    value = json.dumps([{"tagFQN": "PII.Sensitive", "source": "Classification"}])
    assert client.put(f"/feed/tasks/{number}/resolve", json={"newValue": value}).is_success
    tags = client.get(f"/tables/{orders['id']}?fields=tags").json()["tags"]
    assert [tag["tagFQN"] for tag in tags] == ["PII.Sensitive"]
    other_task_id = task(administrator, user_id, "RequestTag", ORDERS)["task"]["id"]
    for broken in ("no list", "{}", "[1]", '[{"tagFQN": 1}]'):
        assert client.put(f"/feed/tasks/{other_task_id}/resolve", json={"newValue": broken}).status_code == 400


def test_a_task_is_decided_by_those_it_concerns(
    served: Served, administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    user_id, client = alice
    number = task(administrator, user_id)["task"]["id"]
    _, stranger = served.person("mallory")
    with stranger:
        assert stranger.put(f"/feed/tasks/{number}/resolve", json={"newValue": "x"}).status_code == 403
        assert stranger.put(f"/feed/tasks/{number}/close", json={"comment": "x"}).status_code == 403
        assigned = {"op": "replace", "path": "/task/assignees", "value": []}
        assert patch(stranger, f"/feed/tasks/{number}", assigned).status_code == 403
    closed = client.put(f"/feed/tasks/{number}/close", json={"comment": "No."})
    assert closed.json()["task"]["closedBy"] == "alice"
    assert events(administrator)[-1] == ("taskClosed", "thread")


def test_a_task_is_handed_on(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], bob: tuple[str, httpx.Client]
) -> None:
    created = task(administrator, alice[0])
    to_bob = {"op": "replace", "path": "/task/assignees", "value": [{"id": bob[0], "type": "user"}]}
    answer = patch(alice[1], f"/feed/tasks/{created['task']['id']}", to_bob)
    assert [one["name"] for one in answer.json()["task"]["assignees"]] == ["bob"]
    query = {"type": "Task", "filterType": "ASSIGNED_TO"}
    assert feed(administrator, userId=bob[0], **query) == [created["id"]]
    assert feed(administrator, userId=alice[0], **query) == []


def test_only_authors_edit_their_words(
    orders: Json, alice: tuple[str, httpx.Client], bob: tuple[str, httpx.Client]
) -> None:
    thread = begin(alice[1])
    post = alice[1].post(f"/feed/{thread['id']}/posts", json={"message": "Mine"}).json()["posts"][0]
    message_operation = {"op": "replace", "path": "/message", "value": "Yours"}
    for path in (f"/feed/{thread['id']}", f"/feed/{thread['id']}/posts/{post['id']}"):
        assert patch(bob[1], path, message_operation).status_code == 403
        assert bob[1].delete(path).status_code == 403
        assert patch(alice[1], path, message_operation).json()["message"] == "Yours"
    reaction = {"op": "add", "path": "/reactions/0", "value": {"reactionType": "eyes", "user": {"id": bob[0]}}}
    assert patch(alice[1], f"/feed/{thread['id']}", reaction).status_code == 403
    assert patch(bob[1], f"/feed/{thread['id']}", reaction).json()["reactions"][0]["user"]["name"] == "bob"
    assert alice[1].delete(f"/feed/{thread['id']}/posts/{post['id']}").is_success
    assert alice[1].delete(f"/feed/{thread['id']}").is_success
    assert alice[1].get(f"/feed/{thread['id']}").status_code == 404


def test_announcements_do_not_overlap(orders: Json, alice: tuple[str, httpx.Client]) -> None:
    def announce(start: int, end: int) -> httpx.Response:
        details = {"startTime": start, "endTime": end}
        request = {"about": ORDERS, "message": "!", "type": "Announcement", "announcementDetails": details}
        return alice[1].post("/feed", json=request)

    assert announce(10_000_000_000, 20_000_000_000).status_code == 201
    assert announce(19_000_000_000, 30_000_000_000).status_code == 400
    assert announce(30_000_000_000, 20_000_000_000).status_code == 400
    in_seconds = announce(20_000_000, 30_000_000)
    assert in_seconds.json()["announcement"] == {"startTime": 20_000_000_000, "endTime": 30_000_000_000}
    query = {"type": "Announcement", "entityLink": ORDERS}
    assert len(feed(alice[1], activeAnnouncement=False, **query)) == 2
    assert feed(alice[1], activeAnnouncement=True, **query) == []


def test_the_list_is_filtered(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], bob: tuple[str, httpx.Client]
) -> None:
    on_table = begin(alice[1], "Ask <#E::user::bob>")["id"]
    on_column = begin(alice[1], "And this?", EMAIL)["id"]
    table(administrator, "invoices")
    elsewhere = begin(bob[1], about="<#E::table::warehouse.shop.public.invoices>")["id"]
    bob[1].put(f"/tables/{orders['id']}/followers/{bob[0]}")
    assert feed(alice[1]) == [elsewhere, on_column, on_table]
    assert feed(alice[1], entityLink=ORDERS) == [on_column, on_table]
    assert feed(alice[1], entityLink=EMAIL) == [on_column]
    assert feed(alice[1], entityLink="<#E::table::warehouse.shop.public.orders::columns>") == [on_column]
    assert feed(alice[1], entityLink="<#E::user::bob>") == [elsewhere]
    assert feed(alice[1], userId=bob[0], filterType="MENTIONS") == [on_table]
    assert feed(alice[1], userId=bob[0], filterType="FOLLOWS") == [on_column, on_table]
    assert feed(alice[1], userId=bob[0], filterType="OWNER_OR_FOLLOWS") == [elsewhere, on_column, on_table]
    assert feed(alice[1], resolved=True) == []
    patch(alice[1], f"/feed/{on_table}", {"op": "replace", "path": "/resolved", "value": True})
    assert feed(alice[1], resolved=True) == [on_table]


def test_pages_are_walked_both_ways(orders: Json, alice: tuple[str, httpx.Client]) -> None:
    thread_ids = [begin(alice[1], f"Number {n}")["id"] for n in range(5)][::-1]
    ids, cursor, back = [], None, None
    while True:
        page = alice[1].get("/feed", params={"limit": 2} | ({"after": cursor} if cursor else {})).json()
        ids += [one["id"] for one in page["data"]]
        assert page["paging"]["total"] == 5
        cursor, back = page["paging"].get("after"), page["paging"].get("before")
        if cursor is None:
            break
    assert ids == thread_ids
    page = alice[1].get("/feed", params={"limit": 2, "before": back}).json()
    assert [one["id"] for one in page["data"]] == thread_ids[2:4]
    assert alice[1].get("/feed?after=rubbish").status_code == 400


def test_threads_go_with_their_asset(administrator: httpx.Client, orders: Json) -> None:
    thread = begin(administrator)["id"]
    administrator.delete(f"/tables/{orders['id']}?hardDelete=true")
    assert administrator.get(f"/feed/{thread}").status_code == 404
    assert feed(administrator) == []
    assert events(administrator)[-1] == ("entityDeleted", "table")


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"about": ORDERS},
        {"about": ORDERS, "message": " "},
        {"about": "orders", "message": "x"},
        {"about": "<#E::table>", "message": "x"},
        {"about": 1, "message": "x"},
        {"about": ORDERS, "message": ["x"]},
        {"about": ORDERS, "message": "x", "type": "Rant"},
        {"about": ORDERS, "message": "x", "type": ["Task"]},
        {"about": ORDERS, "message": "x", "type": "Task"},
        {"about": ORDERS, "message": "x", "type": "Task", "taskDetails": {"type": "Generic", "assignees": [{}]}},
        {"about": ORDERS, "message": "x", "type": "Task", "taskDetails": {"type": "Generic", "assignees": "ann"}},
        {"about": ORDERS, "message": "x", "announcementDetails": {"startTime": 1, "endTime": 2}},
        {"about": ORDERS, "message": "x", "type": "Announcement", "announcementDetails": {"startTime": "1"}},
        {"about": ORDERS, "message": "x", "surprise": 1},
        {"about": ORDERS, "message": "x", "addressedTo": "nobody"},
        {"about": f"{ORDERS[:-1]}::columns::ghost::description>", "message": "x", "type": "Task"}
        | {"taskDetails": {"type": "RequestDescription", "assignees": []}},
    ],
)
def test_what_makes_no_sense_is_refused(administrator: httpx.Client, orders: Json, request_: Json) -> None:
    answer = administrator.post("/feed", json=request_)
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == 400


def test_what_is_not_there_is_not_found(administrator: httpx.Client, orders: Json) -> None:
    nobody = "00000000-0000-4000-8000-000000000000"
    for path in (f"/feed/{nobody}", f"/feed/{nobody}/posts", "/feed/tasks/77"):
        assert administrator.get(path).status_code == 404
    for about in ("<#E::table::no.such>", "<#E::spaceship::x>"):
        assert administrator.post("/feed", json={"about": about, "message": "x"}).status_code == 404
    wrong_patches: tuple[Json, ...] = ([1], {}, [{"op": "replace"}], [{"op": "remove", "path": "/nothing"}], "x")
    for broken in wrong_patches:
        assert administrator.patch(f"/feed/{begin(administrator)['id']}", content=json.dumps(broken)).status_code == 400


def test_threads_are_as_hidden_as_their_asset(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client], bob: tuple[str, httpx.Client]
) -> None:
    about_orders = begin(bob[1], "It is secret, <#E::user::alice>")
    table(administrator, "invoices")
    elsewhere = begin(bob[1], about="<#E::table::warehouse.shop.public.invoices>")
    hide(administrator, alice[0], orders)
    client = alice[1]
    assert feed(client) == [elsewhere["id"]]
    assert feed(bob[1]) == [elsewhere["id"], about_orders["id"]]
    path = f"/feed/{about_orders['id']}"
    assert [client.get(path).status_code, client.get(f"{path}/posts").status_code] == [404, 404]
    assert client.post(f"{path}/posts", json={"message": "x"}).status_code == 404
    assert client.post("/feed", json={"about": ORDERS, "message": "x"}).status_code == 403
    assert client.get("/feed/count", params={"entityLink": ORDERS}).status_code == 403
    thread_events = [one for one in client.get("/events?limit=10000").json()["data"] if one["entityType"] == "thread"]
    assert [one["entityId"] for one in thread_events] == [elsewhere["id"]]
    administrator.delete(f"/tables/{orders['id']}?hardDelete=true")
    thread_events = [one for one in client.get("/events?limit=10000").json()["data"] if one["entityType"] == "thread"]
    assert [one["entityId"] for one in thread_events] == [elsewhere["id"]], "what is gone stays as hidden as it was"


def test_whoever_may_not_edit_the_asset_cannot_resolve_a_task_about_it(
    administrator: httpx.Client, orders: Json, alice: tuple[str, httpx.Client]
) -> None:
    number = task(administrator, alice[0])["task"]["id"]
    forbid(administrator, alice[0], "EditDescription")
    assert alice[1].put(f"/feed/tasks/{number}/resolve", json={"newValue": "x"}).status_code == 403
    assert alice[1].put(f"/feed/tasks/{number}/close", json={"comment": "x"}).status_code == 200


def hide(administrator: httpx.Client, user_id: str, asset: Json) -> None:
    """Let a user not see what is tagged as a table is from now on."""
    tag = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive", "source": "Classification"}]}]
    assert patch(administrator, f"/tables/{asset['id']}", *tag).is_success
    forbid(administrator, user_id, "ViewAll", condition="matchAnyTag('PII.Sensitive')")


def forbid(administrator: httpx.Client, user_id: str, operation: str, **fields: str) -> None:
    """Give a user a role that denies an operation on tables."""
    rule = {"name": "no", "effect": "deny", "operations": [operation], "resources": ["table"], **fields}
    policy = administrator.post("/policies", json={"name": "Refusal", "rules": [rule]})
    assert policy.status_code == 201, policy.text
    role = administrator.post("/roles", json={"name": "Refused", "policies": ["Refusal"]})
    assert role.status_code == 201, role.text
    role_change = {"op": "add", "path": "/roles", "value": [{"id": role.json()["id"], "type": "role"}]}
    answer = patch(administrator, f"/users/{user_id}", role_change)
    assert answer.is_success, answer.text
