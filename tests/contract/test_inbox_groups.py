"""Tests of entries of the inbox that stand for many notifications, by HTTP, and of what of them may be seen."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_inbox import ALL_ZERO, Listener
from tests.notifying import notify_all
from tests.serving import Json, Served, table

_ALERT = {
    "name": "mine",
    "alertType": "Notification",
    "filteringRules": {"resources": ["table"]},
    "destinations": [{"category": "Followers", "type": "ActivityFeed"}],
}
_TABLES = {"aa": "Tier.Tier1", "bb": "Tier.Tier2", "cc": "Tier.Tier3"}


class Reader:
    """A person who follows three tables of a schema that was deleted, and their inbox."""

    def __init__(self, served: Served, administrator: httpx.Client, engine: Engine) -> None:
        self.id, self.client = served.person("mallory")
        self._administrator = administrator
        create_entity(self.client, "/events/subscriptions", **_ALERT)
        for name, tag in _TABLES.items():
            table_id = table(administrator, name, tags=[{"tagFQN": tag}])["id"]
            assert self.client.put(f"/tables/{table_id}/followers/{self.id}").is_success
        notify_all(engine)
        self.client.put(f"/users/{self.id}/notifications/read")

        assert administrator.delete("/databaseSchemas/name/warehouse.shop.public?recursive=true").is_success
        notify_all(engine)

    def hide(self, *names: str) -> None:
        """Hide these tables from the reader."""
        tags = ", ".join(f"'{_TABLES[name]}'" for name in names)
        restrict(self._administrator, self.id, {"effect": "deny", "condition": f"matchAnyTag({tags})"})

    def page(self, query: str = "unread=true") -> Json:
        answer = self.client.get(f"/users/{self.id}/notifications?{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def reader(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[Reader]:
    reader = Reader(served, administrator, sqlite_engine)
    yield reader
    reader.client.close()


def names_of(page: Json) -> set[str]:
    return {entry["entityFullyQualifiedName"].rpartition(".")[2] for entry in page["data"]}


def test_one_entry_stands_for_all_tables_that_are_followed(reader: Reader) -> None:
    page = reader.page()
    (entry,) = page["data"]
    assert (entry["notificationCount"], page["counts"]["unread"], page["paging"]) == (3, 1, {"total": 1})
    assert entry["title"].endswith("deleted, and 2 more of the same change")
    of_entry = reader.page(f"entry={entry['id']}")
    assert (names_of(of_entry), of_entry["paging"]) == (set(_TABLES), {"total": 3})
    first = reader.page(f"entry={entry['id']}&limit=2")
    second = reader.page(f"entry={entry['id']}&limit=2&after={first['paging']['after']}")
    assert (len(first["data"]), len(second["data"])) == (2, 1)
    assert names_of(first) | names_of(second) == set(_TABLES)
    part_id = of_entry["data"][-1]["id"]
    assert reader.client.put(f"/users/{reader.id}/notifications/{part_id}/read").is_success
    assert reader.page()["counts"]["unread"] == 0


@pytest.mark.parametrize("hidden", _TABLES)
def test_what_is_hidden_neither_counts_nor_leads(reader: Reader, hidden: str) -> None:
    reader.hide(hidden)
    page = reader.page()
    (entry,) = page["data"]
    assert (entry["notificationCount"], page["counts"]["unread"]) == (2, 1)
    of_entry = reader.page(f"entry={entry['id']}")
    assert (names_of(of_entry), of_entry["paging"]) == (set(_TABLES) - {hidden}, {"total": 2})
    assert f"public.{hidden}" not in str(page)


@pytest.mark.parametrize("hidden", _TABLES)
def test_what_is_hidden_neither_leads_nor_counts_in_the_live_stream(
    served: Served, reader: Reader, hidden: str
) -> None:
    reader.hide(hidden)
    (entry,) = Listener(served, reader.id, "0", name="mallory").wait_for(1)
    assert entry == reader.page()["data"][0]
    assert entry["notificationCount"] == 2


def test_an_entry_of_which_all_is_hidden_is_not_shown(reader: Reader) -> None:
    reader.hide(*_TABLES)
    page = reader.page()
    assert (page["data"], page["counts"]) == ([], ALL_ZERO)


@pytest.mark.parametrize("hidden", _TABLES)
def test_what_is_hidden_of_an_entry_is_not_marked_with_it(
    reader: Reader, administrator: httpx.Client, hidden: str
) -> None:
    reader.hide(hidden)
    (entry,) = reader.page()["data"]
    route = f"/users/{reader.id}/notifications"
    answer = reader.client.post(f"{route}/marks", json={"as": "done", "ids": [entry["id"]]}).json()
    assert (answer["marked"], answer["notificationCount"], answer["counts"]["unread"]) == (1, 2, 0)
    of_entry = administrator.get(f"{route}?entry={entry['id']}").json()
    assert names_of({"data": [each for each in of_entry["data"] if not each["read"]]}) == {hidden}
    undone = reader.client.post(f"{route}/marks", json=answer["undo"]).json()
    assert (undone["missing"], undone["notificationCount"], reader.page()["data"]) == ([], 2, [entry])


def test_the_entries_of_others_are_not_listed(served: Served, reader: Reader) -> None:
    entry_id = reader.page()["data"][0]["id"]
    eve_id, eve = served.person("eve")
    with eve:
        assert eve.get(f"/users/{eve_id}/notifications?entry={entry_id}").status_code == 404
        assert eve.get(f"/users/{reader.id}/notifications?entry={entry_id}").status_code == 403
