"""Tests of the alerts of people who are deleted for good: what told only them goes, what others may have stays."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_explain import Person, alert, describe, person
from tests.contract.test_saved_searches import save
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json

from tocsin.store.database.tables import notification

__all__ = ["person"]  # fixture

PATH = "/events/subscriptions"
BY_MAIL = [{"category": "Users", "type": "Email"}]


def ownerless_names(client: httpx.Client, truth: str = "true") -> set[str]:
    answer = client.get(PATH, params={"ownerless": truth, "limit": 100})
    assert answer.status_code == 200, answer.text
    return {one["name"] for one in answer.json()["data"]}


def names(client: httpx.Client) -> set[str]:
    return {one["name"] for one in client.get(PATH, params={"limit": 100}).json()["data"]}


def mails(engine: Engine) -> list[str]:
    query = select(notification.c.recipient).where(notification.c.channel == "Email").order_by(notification.c.recipient)
    with engine.connect() as connection:
        return list(connection.execute(query).scalars())


@pytest.fixture
def searched(person: Person, orders: Json, sqlite_engine: Engine) -> tuple[str, str]:
    """Id of ann, who has an alert to herself, one to all owners, and a saved search that she shared; and its id."""
    ann_id, ann = person("ann")
    index_all(sqlite_engine)
    alert(ann, "Mine", destinations=BY_MAIL, toMeOnly=True)
    alert(ann, "ToOwners", destinations=[{"category": "Owners", "type": "Email"}])
    return ann_id, save(ann, ann_id, query="orders", name="Orders", index="table", follows=True)["search"]["id"]


def test_what_told_only_a_person_goes_with_them_and_what_others_have_stays(
    administrator: httpx.Client, person: Person, orders: Json, searched: tuple[str, str], sqlite_engine: Engine
) -> None:
    ann_id, search_id = searched
    ben_id, ben = person("ben")
    assert administrator.put(f"/tables/{orders['id']}/followers", json=ben_id).is_success
    owner = {"op": "add", "path": "/owners", "value": [{"id": ben_id, "type": "user"}]}
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/tables/{orders['id']}", json=[owner], headers=headers).is_success
    notify_all(sqlite_engine)
    mails_before = mails(sqlite_engine)
    assert administrator.delete(f"/users/{ann_id}?hardDelete=true").is_success
    names_left = names(administrator)
    assert "Mine" not in names_left
    assert "ToOwners" in names_left
    describe(administrator, orders, "after")
    notify_all(sqlite_engine)
    assert mails(sqlite_engine) == sorted([*mails_before, "ben@example.org"])
    assert ben.get(f"/searches/{search_id}").json()["found"] == 1


def test_administrators_find_ownerless_alerts_and_take_them_over(
    administrator: httpx.Client, searched: tuple[str, str]
) -> None:
    ann_id, search_id = searched
    alert(administrator, "NeverOwned")
    alert(administrator, "Owned", owners=[{"id": ann_id, "type": "user"}])
    name = administrator.get(f"{PATH}/{search_id}").json()["name"]
    assert name not in ownerless_names(administrator)
    assert administrator.delete(f"/users/{ann_id}?hardDelete=true").is_success
    assert ownerless_names(administrator) == {name, "Owned"}
    assert name not in ownerless_names(administrator, "false")
    assert not {"Mine", *ownerless_names(administrator, "false")} & ownerless_names(administrator)
    assert administrator.get(PATH, params={"ownerless": "maybe"}).status_code == 400
    assert administrator.put(f"/searches/{search_id}/follow", json={"follows": True}).status_code == 409
    assert administrator.put(f"{PATH}/{search_id}/takeOver").is_success
    assert name not in ownerless_names(administrator)
    assert administrator.put(f"/searches/{search_id}/follow", json={"follows": True}).is_success
    own_id = administrator.get("/users/loggedInUser").json()["id"]
    own_search = administrator.get(f"{PATH}/{search_id}", params={"fields": "owners"}).json()
    assert [owner["id"] for owner in own_search["owners"]] == [own_id]
