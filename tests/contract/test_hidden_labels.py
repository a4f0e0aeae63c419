"""Tests that a reader is shown no label of a tag that they may not view: on assets, in suggestions, tasks and news."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_feed import ORDERS
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served, table

_SECRET = "Deal"
_OPEN = {"tagFQN": "PII.Sensitive", "source": "Classification"}
_BELL = {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["carla"]}}
HIDDEN = {"tagFQN": "Deal.Takeover", "source": "Classification"}


@pytest.fixture
def labelled(administrator: httpx.Client, orders: Json) -> Json:
    """A table that carries a label of everybody's and one of a deal, of which only some may know."""
    create_entity(administrator, "/classifications", name=_SECRET, description="Of the deal.")
    create_entity(administrator, "/tags", name="Takeover", description="Secret words.", classification=_SECRET)
    labels = [{"op": "add", "path": "/tags", "value": [HIDDEN, _OPEN]}]
    assert send_patch(administrator, f"/tables/{orders['id']}", *labels).is_success
    return orders


@pytest.fixture
def carla(served: Served, administrator: httpx.Client, labelled: Json) -> Iterator[httpx.Client]:
    """A follower of the table who may view no tag of the deal."""
    user_id, client = served.person("carla")
    secret = administrator.get("/tags/name/Deal.Takeover").json()
    owner = {"id": administrator.get("/users/loggedInUser").json()["id"], "type": "user"}
    assert send_patch(
        administrator, f"/tags/{secret['id']}", {"op": "add", "path": "/owners", "value": [owner]}
    ).is_success
    deny = {"effect": "deny", "resources": ["tag"], "condition": "!noOwner()"}
    restrict(administrator, user_id, deny)
    with client:
        assert client.put(f"/tables/{labelled['id']}/followers", json=user_id).is_success
        assert client.get("/tags/name/Deal.Takeover").status_code in (403, 404)
        assert client.get("/tags/name/PII.Sensitive").is_success
        yield client


def _suggest(administrator: httpx.Client) -> tuple[str, ...]:
    """Make a suggestion, and tasks as 2.0 and as 1.x have them, that name both labels; return their ids."""
    suggestion = {"entityLink": ORDERS, "type": "SuggestTagLabel", "tagLabels": [HIDDEN, _OPEN]}
    payload = {"suggestionType": "Tag", "fieldPath": "tags", "suggestedValue": "Deal.Takeover"}
    task = {"about": ORDERS, "category": "MetadataUpdate", "type": "Suggestion", "payload": payload}
    update = {"fieldPath": "tags", "tagsToAdd": [HIDDEN, _OPEN], "currentTags": [HIDDEN]}
    of_2 = {"about": ORDERS, "category": "MetadataUpdate", "type": "TagUpdate", "payload": update}
    admin = administrator.get("/users/loggedInUser").json()
    assigned = {"assignees": [admin["name"]]}
    return (
        administrator.post("/suggestions", json=suggestion).json()["id"],
        administrator.post("/tasks", json=task | assigned).json()["id"],
        administrator.post("/tasks", json=of_2 | assigned).json()["id"],
    )


def test_no_view_of_a_table_shows_a_label_that_its_reader_may_not_view(
    administrator: httpx.Client, carla: httpx.Client, labelled: Json, sqlite_engine: Engine
) -> None:
    index_all(sqlite_engine)
    path = f"/tables/{labelled['id']}"
    for address in (
        f"{path}?fields=tags",
        "/tables?fields=tags",
        f"{path}/versions",
        f"{path}/versions/{administrator.get(path).json()['version']}",
        f"/activity/entity/table/{labelled['id']}",
        "/events?entityUpdated=table&entityType=table",
        "/search/query?q=*&index=table",
    ):
        assert "Takeover" in administrator.get(address).text, address
        answer = carla.get(address)
        assert "Takeover" not in answer.text, address
        assert "Secret words" not in answer.text, address
    assert [one["tagFQN"] for one in carla.get(f"{path}?fields=tags").json()["tags"]] == ["PII.Sensitive"]


def test_no_condition_tells_its_author_what_has_a_label_that_they_may_not_see(
    administrator: httpx.Client, carla: httpx.Client, labelled: Json, sqlite_engine: Engine
) -> None:
    counts = {}
    for name, condition in (
        ("has", "tags.contains('Deal.Takeover')"),
        ("lacks", "!tags.contains('Deal.Takeover')"),
        ("any", "matchAnyTag('Deal.Takeover')"),
    ):
        rules = {"resources": ["table"], "rules": [{"name": name, "effect": "include", "condition": condition}]}
        alert = {"name": name, "alertType": "Notification", "filteringRules": rules, "destinations": [_BELL]}
        counts[name] = create_entity(carla, "/events/subscriptions", **alert)["id"]
    text = {"op": "add", "path": "/description", "value": "One row per order."}
    assert send_patch(administrator, f"/tables/{labelled['id']}", text).is_success
    notify_all(sqlite_engine)
    for name, alert_id in counts.items():
        record = carla.get(f"/events/subscriptions/{alert_id}/eventsRecord").json()
        assert record["totalEventsCount"] == 0, name


@pytest.mark.parametrize("label", ["PII.Open", "Deal.Spinoff"])
@pytest.mark.parametrize("condition", ["!matchAnyTag('PII.Nothing')", "fieldChanged.size() >= 0"])
@pytest.mark.parametrize("fate", ["renamed", "deleted"])
def test_a_label_whose_tag_was_renamed_or_deleted_before_the_pipeline_came_is_as_visible_as_that_tag(
    administrator: httpx.Client, carla: httpx.Client, sqlite_engine: Engine, fate: str, condition: str, label: str
) -> None:
    classification, name = label.split(".")
    admin = administrator.get("/users/loggedInUser").json()
    owners = [{"id": admin["id"], "type": "user"}] if classification == _SECRET else []
    tag = create_entity(
        administrator, "/tags", name=name, description="Words.", classification=classification, owners=owners
    )
    rules = {"resources": ["table"], "rules": [{"name": "x", "effect": "include", "condition": condition}]}
    alert = create_entity(
        carla,
        "/events/subscriptions",
        name="x",
        alertType="Notification",
        filteringRules=rules,
        destinations=[_BELL],
    )
    notify_all(sqlite_engine)
    table(administrator, "other", tags=[{"tagFQN": label, "source": "Classification"}])
    if fate == "renamed":
        renaming = {"op": "replace", "path": "/name", "value": "Renamed"}
        assert send_patch(administrator, f"/tags/{tag['id']}", renaming).is_success
    else:
        assert administrator.delete(f"/tags/{tag['id']}?hardDelete=true").is_success
    notify_all(sqlite_engine)
    count = carla.get(f"/events/subscriptions/{alert['id']}/eventsRecord").json()["totalEventsCount"]
    seen_count = 1 if fate == "renamed" else 2  # the table loses its label
    assert count == (0 if owners else seen_count)


def test_suggestions_and_tasks_name_no_label_that_their_reader_may_not_view(
    administrator: httpx.Client, carla: httpx.Client
) -> None:
    suggestion_id, *task_ids = _suggest(administrator)
    addresses = [
        "/suggestions",
        f"/suggestions/{suggestion_id}",
        "/tasks",
        "/feed?type=Task",
        *(f"/tasks/{one}" for one in (suggestion_id, *task_ids)),
        *(f"/feed/{one}" for one in (suggestion_id, *task_ids)),
    ]
    for address in addresses:
        assert "Takeover" in administrator.get(address).text, address
        assert "Takeover" not in carla.get(address).text, address
    assert [one["tagFQN"] for one in carla.get(f"/suggestions/{suggestion_id}").json()["tagLabels"]] == [
        "PII.Sensitive"
    ]


def test_news_name_no_label_that_their_reader_may_not_view(
    administrator: httpx.Client, carla: httpx.Client, labelled: Json, sqlite_engine: Engine
) -> None:
    suggestion_id, *task_ids = _suggest(administrator)
    labels = [{"op": "remove", "path": "/tags/0"}]
    assert send_patch(administrator, f"/tables/{labelled['id']}", *labels).is_success
    for task_id in task_ids:
        administrator.post(f"/tasks/{task_id}/resolve", json={"transitionId": "approve"})
    administrator.put(f"/suggestions/{suggestion_id}/accept")
    notify_all(sqlite_engine)
    user_id = carla.get("/users/loggedInUser").json()["id"]
    for address in (f"/users/{user_id}/notifications?limit=100", f"/users/{user_id}/activity"):
        answer = carla.get(address)
        assert answer.is_success, answer.text
        assert "Takeover" not in answer.text, address


def test_a_patch_by_who_does_not_see_a_label_keeps_it_and_tells_nothing_of_it(
    administrator: httpx.Client, carla: httpx.Client, labelled: Json
) -> None:
    path = f"/tables/{labelled['id']}"
    for at in range(3):
        test = {"op": "test", "path": f"/tags/{at}/tagFQN", "value": "Deal.Takeover"}
        assert send_patch(carla, path, test).status_code == 400
    copy = {"op": "copy", "from": "/tags/1", "path": "/extension"}
    assert "Takeover" not in send_patch(carla, path, copy).text
    tier = {"op": "add", "path": "/tags/-", "value": {"tagFQN": "Tier.Tier1", "source": "Classification"}}
    answer = send_patch(carla, path, tier)
    assert answer.is_success, answer.text
    assert "Takeover" not in answer.text
    removal = {"op": "remove", "path": "/tags/0"}
    assert send_patch(carla, path, removal).is_success
    labels = administrator.get(f"{path}?fields=tags").json()["tags"]
    assert {one["tagFQN"] for one in labels} == {"Deal.Takeover", "Tier.Tier1"}
