"""Tests of conversations as OpenMetadata 2 has them, over the same threads as ``/feed``."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_explain import Person, person
from tests.contract.test_feed import EMAIL, ORDERS, alice, begin, bob, events, patch, task
from tests.notifying import notify_all
from tests.serving import Json, Served

__all__ = ["alice", "bob", "person"]  # fixtures

User = tuple[str, httpx.Client]
COLUMN = EMAIL.removesuffix("::description>") + ">"


def converse(client: httpx.Client, message: str = "What is this?", about: str = ORDERS) -> Json:
    answer = client.post("/conversations", json={"about": about, "message": message})
    assert answer.status_code == 201, answer.text
    return answer.json()


def reply(client: httpx.Client, conversation: Json, message: str = "Orders.") -> Json:
    answer = client.post(f"/conversations/{conversation['id']}/replies", json={"message": message})
    assert answer.status_code == 201, answer.text
    return answer.json()


def ids(client: httpx.Client, **query: Json) -> list[str]:
    page = client.get("/conversations", params=query).json()
    assert page["paging"]["total"] == len(page["data"]), page
    return [one["id"] for one in page["data"]]


def replace(key: str, value: Json) -> Json:
    return {"op": "replace", "path": f"/{key}", "value": value}


def test_a_conversation_is_its_thread(orders: Json, alice: User, bob: User) -> None:
    user_id, client = alice
    conversation = converse(client, about=EMAIL)
    assert (conversation["source"], conversation["about"], conversation["message"]) == ("User", EMAIL, "What is this?")
    assert (conversation["entityRef"]["id"], conversation["createdBy"]["id"]) == (orders["id"], user_id)
    answer_reply = reply(bob[1], conversation)
    assert (answer_reply["author"]["id"], answer_reply["conversationId"]) == (bob[0], conversation["id"])
    thread = client.get(f"/feed/{conversation['id']}").json()
    assert [(one["id"], one["message"]) for one in thread["posts"]] == [(answer_reply["id"], "Orders.")]
    client.post(f"/feed/{conversation['id']}/posts", json={"message": "Thanks."})
    document = client.get(f"/conversations/{conversation['id']}").json()
    assert ([one["message"] for one in document["replies"]], document["replyCount"]) == (["Orders.", "Thanks."], 2)
    thread_of_feed = begin(client)
    assert client.get(f"/conversations/{thread_of_feed['id']}").json()["message"] == "What is this?"


def test_tasks_are_no_conversations(administrator: httpx.Client, orders: Json, alice: User) -> None:
    thread = task(administrator, alice[0])
    path = f"/conversations/{thread['id']}"
    assert ids(administrator) == []
    answers = [
        administrator.get(path),
        administrator.delete(path),
        patch(administrator, path, replace("resolved", True)),
        administrator.put(f"{path}/reaction/heart"),
        administrator.get(f"{path}/replies"),
        administrator.post(f"{path}/replies", json={"message": "x"}),
    ]
    assert [one.status_code for one in answers] == [404] * len(answers)


def test_conversations_are_listed_by_part_person_and_state(
    administrator: httpx.Client, orders: Json, alice: User, bob: User
) -> None:
    of_table, of_column = converse(alice[1]), converse(bob[1], "<#E::user::alice>?", COLUMN)
    assert ids(alice[1]) == [of_column["id"], of_table["id"]]
    assert ids(alice[1], entityLink=ORDERS) == [of_table["id"]]
    assert ids(alice[1], entityLink=ORDERS, includeFields=True) == [of_column["id"], of_table["id"]]
    assert ids(alice[1], entityLink=COLUMN) == [of_column["id"]]
    assert ids(alice[1], userId=alice[0], filterType="OWNER") == [of_table["id"]]
    assert ids(alice[1], userId=alice[0], filterType="MENTIONS") == [of_column["id"]]
    assert ids(alice[1], userId=bob[0], filterType="FOLLOWS") == []
    assert patch(alice[1], f"/conversations/{of_table['id']}", replace("resolved", True)).json()["resolved"] is True
    assert (ids(alice[1]), ids(alice[1], resolved=True)) == ([of_column["id"]], [of_table["id"]])
    refusal = alice[1].get("/conversations", params={"userId": alice[0]})
    assert (refusal.status_code, "filterType" in refusal.json()["message"]) == (400, True)


def test_replies_are_paged_both_ways(orders: Json, alice: User) -> None:
    _, client = alice
    conversation = converse(client)
    replies = [reply(client, conversation, str(number))["id"] for number in range(5)]
    path = f"/conversations/{conversation['id']}/replies"
    first = client.get(f"{path}?limit=2").json()
    second = client.get(path, params={"limit": 2, "after": first["paging"]["after"]}).json()
    third = client.get(path, params={"limit": 2, "after": second["paging"]["after"]}).json()
    assert [one["id"] for page in (first, second, third) for one in page["data"]] == replies
    assert ("after" in third["paging"], third["paging"]["total"]) == (False, 5)
    back = client.get(path, params={"limit": 2, "before": second["paging"]["before"]}).json()
    assert [one["id"] for one in back["data"]] == replies[:2]
    assert client.get(path, params={"before": "1_x", "after": "1_x"}).status_code == 400
    for cursor in ("later", "1_\0", "-1_x", f"{'9' * 20}_x"):
        assert client.get(path, params={"after": cursor}).status_code == 400
        assert client.get("/conversations", params={"before": cursor}).status_code == 400
    last_replies = client.get(f"/conversations/{conversation['id']}").json()["replies"]
    assert [one["id"] for one in last_replies] == replies[-3:]


def test_reactions_are_ones_own_and_there_once(
    administrator: httpx.Client, orders: Json, alice: User, bob: User
) -> None:
    conversation = converse(alice[1])
    answer_reply = reply(alice[1], conversation)
    paths = (
        f"/conversations/{conversation['id']}",
        f"/conversations/{conversation['id']}/replies/{answer_reply['id']}",
    )
    for path in paths:
        for _, client in (alice, alice, bob):
            document = client.put(f"{path}/reaction/heart").json()
        assert [one["user"]["name"] for one in document["reactions"]] == ["alice", "bob"]
        after = alice[1].delete(f"{path}/reaction/heart").json()
        assert alice[1].delete(f"{path}/reaction/heart").json() == after
        assert [one["user"]["name"] for one in after["reactions"]] == ["bob"]
        assert alice[1].put(f"{path}/reaction/skull").status_code == 400
    kinds = [kind for kind, entity_type in events(administrator) if entity_type == "thread"]
    assert kinds == ["threadCreated", "postCreated", *["threadUpdated"] * 3, *["postUpdated"] * 3]


def test_words_belong_to_their_author(administrator: httpx.Client, orders: Json, alice: User, bob: User) -> None:
    conversation = converse(alice[1])
    answer_reply = reply(alice[1], conversation)
    path = f"/conversations/{conversation['id']}"
    reply_path = f"{path}/replies/{answer_reply['id']}"
    for text_path in (path, reply_path):
        assert patch(bob[1], text_path, replace("message", "Mine.")).status_code == 403
        assert patch(administrator, text_path, replace("message", "Mine.")).status_code == 403
        assert bob[1].delete(text_path).status_code == 403
        assert patch(alice[1], text_path, replace("message", "Hers.")).json()["message"] == "Hers."
    assert patch(bob[1], path, replace("resolved", True)).status_code == 403
    assert patch(administrator, path, replace("resolved", True)).json()["resolved"] is True
    conversation_of_bob = converse(bob[1], about=COLUMN)
    elsewhere = f"/conversations/{conversation_of_bob['id']}/replies/{answer_reply['id']}"
    assert bob[1].delete(elsewhere).status_code == 404
    assert bob[1].put(f"{elsewhere}/reaction/heart").status_code == 404
    assert alice[1].delete(reply_path).json()["id"] == answer_reply["id"]
    assert alice[1].get(path).json()["replyCount"] == 0
    assert alice[1].delete(path).json()["id"] == conversation["id"]
    assert [alice[1].get(one).status_code for one in (path, f"/feed/{conversation['id']}")] == [404, 404]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"about": None}, "about"),
        ({"about": "orders"}, "about"),
        ({"message": None}, "message"),
        ({"message": " "}, "message"),
        ({"message": 7}, "message"),
        ({"message": "x" * 70_000}, "message"),
        ({"type": "Task"}, "type"),
        ({"message": "".join(f"<#E::user::u{number}>" for number in range(101))}, "message"),
    ],
)
def test_garbage_is_refused_in_words(orders: Json, alice: User, body: Json, field: str) -> None:
    answer = alice[1].post("/conversations", json={"about": ORDERS, "message": "x", **body})
    assert (answer.status_code, field in answer.json()["message"]) == (400, True), answer.text
    assert ids(alice[1]) == []


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/message", "value": ""},
        {"op": "remove", "path": "/message"},
        {"op": "replace", "path": "/resolved", "value": "yes"},
        {"op": "replace", "path": "/createdBy", "value": "bob"},
        {"op": "add", "path": "/reactions/-", "value": {"reactionType": "heart", "user": {"id": "x"}}},
        {"op": "copy", "from": "/createdBy", "path": "/message"},
        {"op": "replace", "path": "", "value": {}},
        {"op": "replace", "path": 7, "value": "x"},
        {"path": "/message", "value": "x"},
    ],
)
def test_a_patch_changes_what_it_may(orders: Json, alice: User, operation: Json) -> None:
    conversation = converse(alice[1])
    path = f"/conversations/{conversation['id']}"
    assert patch(alice[1], path, operation).status_code == 400
    assert patch(alice[1], f"{path}/replies/{reply(alice[1], conversation)['id']}", operation).status_code == 400
    assert alice[1].get(path).json()["message"] == "What is this?"


def test_conversations_about_hidden_assets_do_not_exist(
    administrator: httpx.Client, orders: Json, person: Person
) -> None:
    user_id, mallory = person("mallory")
    conversation = converse(administrator, f"<#E::user::{mallory.get('/users/loggedInUser').json()['name']}>")
    answer_reply = reply(administrator, conversation)
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    assert ids(mallory, userId=user_id, filterType="MENTIONS") == []
    path = f"/conversations/{conversation['id']}"
    reply_path = f"{path}/replies/{answer_reply['id']}"
    answers = [
        *(mallory.get(one) for one in (path, f"{path}/replies")),
        *(mallory.delete(one) for one in (path, reply_path, f"{path}/reaction/heart", f"{reply_path}/reaction/heart")),
        *(mallory.put(f"{one}/reaction/heart") for one in (path, reply_path)),
        *(patch(mallory, one, replace("message", "x")) for one in (path, reply_path)),
        mallory.post(f"{path}/replies", json={"message": "x"}),
    ]
    assert [one.status_code for one in answers] == [404] * len(answers)
    assert mallory.post("/conversations", json={"about": ORDERS, "message": "x"}).status_code in (403, 404)
    assert administrator.get(path).json()["replyCount"] == 1


def told_count(client: httpx.Client, user_id: str) -> int:
    """Return how many notifications of threads are in a person's inbox."""
    page = client.get(f"/users/{user_id}/notifications?limit=100").json()["data"]
    return sum(one["entityType"] == "thread" for one in page)


def test_each_member_of_a_mentioned_team_hears_once_and_never_the_author(
    served: Served, administrator: httpx.Client, orders: Json, alice: User, bob: User, sqlite_engine: Engine
) -> None:
    carol_id, carol = served.person("carol")
    with carol:
        people = (alice, bob, (carol_id, carol))
        create_entity(administrator, "/teams", name="tills", teamType="Group", users=[one for one, _ in people])
        conversation = converse(alice[1], "<#E::team::tills>, <#E::user::bob>, <#E::user::alice>: who knows?")
        notify_all(sqlite_engine)
        assert [told_count(client, one) for one, client in people] == [0, 1, 1]
        never = {"ActivityFeed": "never"}
        kinds = {"kinds": {"mention": never, "discussion": never}}
        assert carol.put(f"/users/{carol_id}/preferences", json=kinds).is_success
        reply(bob[1], conversation, "Ask <#E::user::carol>, <#E::team::tills>.")
        notify_all(sqlite_engine)
        assert [told_count(client, one) for one, client in people] == [1, 1, 1]
