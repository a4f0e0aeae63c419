"""Tests of filters of an inbox by HTTP: kind, asset, actor, reason, time and words; what is hidden finds nothing."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine, select, update
from tests.contract.test_access import create_entity, restrict
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification

_ALERT = {
    "alertType": "Notification",
    "filteringRules": {"resources": ["table"]},
    "destinations": [{"category": "Followers", "type": "ActivityFeed"}],
}


def patch_json(client: httpx.Client, path: str, change: list[Json]) -> None:
    answer = client.patch(path, json=change, headers={"Content-Type": "application/json-patch+json"})
    assert answer.status_code == 200, answer.text


class Reader:
    """A person who follows three tables, one of them secret, and was told of changes of each."""

    def __init__(self, served: Served, administrator: httpx.Client, engine: Engine) -> None:
        self.engine = engine
        self.id, self.client = served.person("mallory")
        self.alert_id = create_entity(self.client, "/events/subscriptions", name="mine", **_ALERT)["id"]
        self.tables: dict[str, str] = {}
        for name in ("aa", "bb", "secret"):
            tags = [{"tagFQN": "Tier.Tier1"}] if name == "secret" else []
            self.tables[name] = table(administrator, name, tags=tags)["id"]
            assert self.client.put(f"/tables/{self.tables[name]}/followers/{self.id}").is_success
        notify_all(engine)
        for name, words in (("aa", "100% of _all_ orders"), ("bb", "1000 of xallx customers"), ("secret", "passwords")):
            change = [{"op": "add", "path": "/description", "value": words}]
            patch_json(administrator, f"/tables/{self.tables[name]}", change)
        name_change = [{"op": "add", "path": "/displayName", "value": "Orders"}]
        patch_json(administrator, f"/tables/{self.tables['aa']}", name_change)
        notify_all(engine)

    def page(self, query: str, *, status: int = 200) -> Json:
        answer = self.client.get(f"/users/{self.id}/notifications?{query}")
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    def mark(self, body: Json, *, status: int = 200) -> Json:
        answer = self.client.post(f"/users/{self.id}/notifications/marks", json=body)
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    def names(self, query: str) -> list[str]:
        """Return the tables of the entries that a filter finds; the total says how many these are."""
        page = self.page(query)
        assert page["paging"]["total"] == len(page["data"])
        return [one["entityFullyQualifiedName"].rpartition(".")[2] for one in page["data"]]


@pytest.fixture
def reader(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[Reader]:
    reader = Reader(served, administrator, sqlite_engine)
    yield reader
    reader.client.close()


def test_each_filter_finds_what_has_it_and_all_of_them_must_hold(reader: Reader) -> None:
    assert reader.names("") == ["aa", "secret", "bb", "aa"]
    assert reader.names("kind=description") == ["secret", "bb", "aa"]
    assert reader.names("kind=name,testFailure") == ["aa"]
    assert reader.names(f"asset={reader.tables['aa']}") == ["aa", "aa"]
    assert reader.names(f"asset={reader.tables['aa']}&kind=description") == ["aa"]
    assert reader.names(f"alert={reader.alert_id}&reason=follower") == ["aa", "secret", "bb", "aa"]
    assert reader.names("reason=owner") == []
    assert reader.names(f"alert={reader.tables['aa']}") == []
    assert (reader.names("actor=admin&q=orders"), reader.names("actor=mallory")) == (["aa", "aa"], [])
    times = [one["timestamp"] for one in reader.page("")["data"]]
    assert reader.names(f"startTs={times[0]}") == ["aa"]
    assert reader.names(f"startTs={times[2]}&endTs={times[1]}") == ["secret", "bb"]
    assert reader.names("tab=done&kind=description") == []


def test_words_find_people_by_their_display_names_and_by_their_names(
    reader: Reader, administrator: httpx.Client
) -> None:
    user = create_entity(administrator, "/users", name="ann.b", email="ann@example.com", displayName="Änne Berg")
    owners = [{"op": "add", "path": "/owners", "value": [{"id": user["id"], "type": "user"}]}]
    patch_json(administrator, f"/tables/{reader.tables['bb']}", owners)
    notify_all(reader.engine)
    assert (reader.names("q=owner ÄNNE berg"), reader.names("q=ann.b added")) == (["bb"], ["bb"])
    everything = reader.names("")
    assert (reader.names("q=Administrator"), reader.names("q=admin")) == (everything, everything)


def test_words_are_no_patterns_and_case_is_ignored(reader: Reader) -> None:
    assert (reader.names("q=100%25"), reader.names("q=_ALL_ oRDers")) == (["aa"], ["aa"])
    assert (reader.names("q=%25"), reader.names("q=.*"), reader.names("q='")) == (["aa"], [], [])


def test_pages_of_a_filter_stay_while_others_arrive(
    reader: Reader, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    first = reader.page("kind=description&limit=1")
    change = [{"op": "replace", "path": "/description", "value": "new"}]
    patch_json(administrator, f"/tables/{reader.tables['bb']}", change)
    notify_all(sqlite_engine)
    following = reader.page(f"kind=description&limit=2&after={first['paging']['after']}")
    names = [one["entityFullyQualifiedName"].rpartition(".")[2] for one in (*first["data"], *following["data"])]
    assert (names, following["paging"]["total"]) == (["secret", "bb", "aa"], 4)


def test_what_is_hidden_is_found_by_no_filter_and_not_counted(
    reader: Reader, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    restrict(administrator, reader.id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
    for query in ("kind=description", "actor=admin&kind=description", "reason=follower&kind=description"):
        assert reader.names(query) == ["bb", "aa"]
    assert (reader.names("q=passwords"), reader.names(f"asset={reader.tables['secret']}")) == ([], [])
    with writing(sqlite_engine) as connection:  # whatever rows say: what of an entry may be seen decides
        connection.execute(update(notification).values(whole_id=notification.c.event_id))
    assert (reader.names("q=passwords"), reader.names(f"asset={reader.tables['secret']}")) == ([], [])


def test_a_filter_of_nothing_that_there_is_is_refused(reader: Reader) -> None:
    reader.page("kind=nothing", status=400)
    reader.page("kind=bot", status=400)
    reader.page("reason=nothing", status=400)
    reader.page("asset=orders", status=400)
    reader.page("startTs=-1", status=400)
    reader.page("actor=", status=400)
    reader.page(f"q={'a' * 201}", status=400)


def test_all_that_a_filter_finds_is_counted_then_marked_then_brought_back(reader: Reader) -> None:
    body: Json = {"as": "done", "tab": "unread", "filter": {"kind": ["description"]}}
    dry_run = reader.mark(body | {"dryRun": True})
    assert (dry_run["matched"], dry_run["marked"], reader.names("tab=done")) == (3, 0, [])
    answer = reader.mark(body | {"through": dry_run["through"]})
    assert (answer["matched"], answer["marked"], reader.names("tab=done")) == (3, 3, ["secret", "bb", "aa"])
    assert "after" not in answer
    assert reader.mark(answer["undo"])["marked"] == 3
    assert (reader.names("tab=done"), len(reader.names("tab=unread"))) == ([], 4)


def test_what_is_marked_as_read_request_by_request_is_counted_once(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.server.access.inbox.MOST_MARKED", 2)
    body: Json = {"as": "read", "filter": {"kind": ["description"]}}
    answers = [reader.mark(body)]
    while "after" in answers[-1]:
        answers.append(reader.mark(body | {name: answers[-1][name] for name in ("after", "through")}))
    assert [sum(one[name] for one in answers) for name in ("matched", "marked")] == [3, 3]


def test_what_has_come_since_it_was_counted_is_left_alone(
    reader: Reader, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    preview = reader.mark({"as": "read", "filter": {}, "dryRun": True})
    change = [{"op": "replace", "path": "/description", "value": "new"}]
    patch_json(administrator, f"/tables/{reader.tables['bb']}", change)
    notify_all(sqlite_engine)
    assert reader.mark({"as": "read", "filter": {}, "through": preview["through"]})["marked"] == preview["matched"] == 4
    assert reader.names("tab=unread") == ["bb"]


def test_what_is_hidden_is_never_marked_by_a_filter_nor_with_all(
    reader: Reader, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    restrict(administrator, reader.id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
    for entry_filter in ({}, {"q": "passwords"}, {"asset": reader.tables["secret"]}):
        reader.mark({"as": "read", "tab": "all", "filter": entry_filter})
    assert reader.client.put(f"/users/{reader.id}/notifications/read").json() == {"marked": 0}
    with sqlite_engine.connect() as connection:
        unread = connection.execute(select(notification.c.id).where(notification.c.read_at_ms.is_(None)))
        assert len(unread.all()) == 1


NO_MARKS: list[Json] = [
    {"filter": {}},
    {"as": "read", "filter": {}, "ids": ["00000000-0000-4000-8000-000000000000"]},
    {"as": "snoozed", "filter": {}},
    {"as": "snoozed", "filter": {}, "until": "resolved"},
    {"as": "read", "filter": {"kind": ["nothing"]}},
    {"as": "read", "filter": {"tab": "all"}},
    {"as": "read", "filter": {}, "after": "!"},
    {"as": "read", "ids": ["00000000-0000-4000-8000-000000000000"], "dryRun": True},
]
"""Requests to mark that are refused."""


def test_marking_by_a_filter_that_is_none_is_refused_and_marks_nothing(reader: Reader) -> None:
    for body in NO_MARKS:
        reader.mark(body, status=400)
    assert len(reader.names("tab=unread")) == 4


def test_others_cannot_mark_what_a_filter_finds(reader: Reader, served: Served) -> None:
    _, bob = served.person("bob")
    with bob:
        answer = bob.post(f"/users/{reader.id}/notifications/marks", json={"as": "read", "filter": {}})
        assert answer.status_code == 403
        assert bob.get(f"/users/{reader.id}/notifications?kind=tag").status_code == 403


def test_an_inbox_by_asset_has_counts_the_latest_and_pages_and_nothing_hidden(
    reader: Reader, administrator: httpx.Client
) -> None:
    def assets_of(query: str = "") -> Json:
        answer = reader.client.get(f"/users/{reader.id}/notifications/assets?{query}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    answer = assets_of()
    counts = [(one["name"], one["count"], one["unread"]) for one in answer["data"]]
    assert (counts, answer["paging"]) == ([("Orders", 2, 2), ("secret", 1, 1), ("bb", 1, 1)], {"total": 3})
    assert answer["data"][0]["latest"] == reader.page("")["data"][0]
    reader.mark({"as": "read", "ids": [reader.page("")["data"][0]["id"]]})
    counts = [(one["name"], one["count"], one["unread"]) for one in assets_of()["data"]]
    assert counts == [("secret", 1, 1), ("bb", 1, 1), ("Orders", 2, 1)]
    names, after = [], ""
    while True:
        page = assets_of(f"limit=1{after}")
        names += [one["name"] for one in page["data"]]
        if "after" not in page["paging"]:
            break
        after = f"&after={page['paging']['after']}"
    assert names == ["secret", "bb", "Orders"]
    assert [one["name"] for one in assets_of("kind=name")["data"]] == ["Orders"]
    restrict(administrator, reader.id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
    assert [one["name"] for one in assets_of()["data"]] == ["bb", "Orders"]
