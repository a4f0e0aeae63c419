"""Tests of an inbox by cause, by HTTP: runs, sessions, failures; what is hidden joins nothing and is never counted."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.server.access import inbox_causes

_ALERT = {
    "alertType": "Notification",
    "filteringRules": {"resources": ["table", "testCase"]},
    "destinations": [{"category": "Followers", "type": "ActivityFeed"}],
}
_WHY = "X-Tocsin-Why"


def change_description(client: httpx.Client, table_id: str, words: str, *, why: str | None = None) -> None:
    headers = {"Content-Type": "application/json-patch+json"} | ({_WHY: why} if why else {})
    change = [{"op": "add", "path": "/description", "value": words}]
    answer = client.patch(f"/tables/{table_id}", json=change, headers=headers)
    assert answer.status_code == 200, answer.text


class CauseReader:
    """A person who follows tables, one of them secret, and reads an inbox by cause."""

    def __init__(self, served: Served, administrator: httpx.Client, engine: Engine) -> None:
        self.id, self.client = served.person("mallory")
        self.engine, self.administrator = engine, administrator
        create_entity(self.client, "/events/subscriptions", name="mine", **_ALERT)
        self.tables: dict[str, str] = {}
        for name in ("aa", "bb", "secret"):
            tags = [{"tagFQN": "Tier.Tier1"}] if name == "secret" else []
            self.tables[name] = table(administrator, name, tags=tags)["id"]
            assert self.client.put(f"/tables/{self.tables[name]}/followers/{self.id}").is_success
        notify_all(engine)

    def edit(self, *names: str, client: httpx.Client | None = None, why: str | None = None) -> None:
        for name in names:
            self.words = getattr(self, "words", 0) + 1
            words = f"words {self.words}"
            change_description(client or self.administrator, self.tables[name], words, why=why)
        notify_all(self.engine)

    def causes(self, query: str = "") -> list[Json]:
        return list(self.page(query)["data"])

    def page(self, query: str = "", *, status: int = 200) -> Json:
        answer = self.client.get(f"/users/{self.id}/notifications/causes?{query}")
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    def titles(self, query: str = "") -> list[str]:
        return [one["title"] for one in self.causes(query)]

    def names_of(self, cause: Json, query: str = "") -> list[str]:
        answer = self.client.get(f"/users/{self.id}/notifications?cause={cause['id']}&limit=100&{query}")
        assert answer.status_code == 200, answer.text
        return [one["entityFullyQualifiedName"].rpartition(".")[2] for one in answer.json()["data"]]

    def mark(self, body: Json) -> Json:
        answer = self.client.post(f"/users/{self.id}/notifications/marks", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


@pytest.fixture
def reader(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[CauseReader]:
    reader = CauseReader(served, administrator, sqlite_engine)
    yield reader
    reader.client.close()


def test_edits_of_neighbours_are_a_row_which_opens_to_them(reader: CauseReader) -> None:
    reader.edit("aa", "bb", "secret", "aa")
    (cause,) = reader.causes()
    assert (cause["kind"], cause["userName"]) == ("session", "admin")
    assert cause["title"] == "Administrator changed 3 tables in warehouse.shop.public"
    assert (cause["count"], cause["assetCount"], cause["unread"]) == (4, 3, 4)
    assert cause["firstTimestamp"] <= cause["timestamp"] == cause["leading"]["timestamp"]
    assert reader.names_of(cause) == ["aa", "secret", "bb", "aa"]


def test_causes_are_counted_beside_notifications_and_hidden_ones_are_not(
    reader: CauseReader, administrator: httpx.Client
) -> None:
    reader.edit("aa", "bb", why="run 1")
    reader.edit("secret", why="run 2")
    counts = reader.page("limit=0")
    assert counts == {"data": [], "paging": {"total": 2}, "counts": {"causes": 2, "unreadCauses": 2}}
    reader.mark({"as": "read", "filter": {"cause": reader.causes()[1]["id"]}})
    assert reader.page("tab=all&limit=0")["counts"] == {"causes": 2, "unreadCauses": 1}
    assert reader.page("tab=unread&limit=1")["counts"] == {"causes": 1, "unreadCauses": 1}
    restrict(administrator, reader.id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
    assert reader.page("tab=all&limit=0")["counts"] == {"causes": 1, "unreadCauses": 0}


def test_a_run_is_a_row_and_another_who_claims_it_is_another(reader: CauseReader, served: Served) -> None:
    _, eve = served.person("eve", isAdmin=True)
    with eve:
        reader.edit("aa", "bb", why="dbt run 4711")
        reader.edit("aa", why="dbt run 4711", client=eve)
        reader.edit("bb", "aa", why="dbt run 4711", client=eve)
        reader.edit("secret")
        reader.edit("secret", why="dbt run 4711")
    assert reader.titles() == [
        "dbt run 4711: 3 changes to 3 tables by Administrator",
        "secret: description added",
        "dbt run 4711: 3 changes to 2 tables by eve",
    ]
    kinds = [(one["kind"], one["userName"]) for one in reader.causes()]
    assert kinds == [("run", "admin"), ("single", "admin"), ("run", "eve")]


def test_a_cause_is_marked_by_its_id_and_back_and_what_comes_later_is_unread(reader: CauseReader) -> None:
    reader.edit("aa", "bb", why="run 1")
    reader.edit("secret")
    run_cause, _ = reader.causes()[::-1]
    reader.edit("aa", why="run 1")  # after the list was shown
    answer = reader.mark({"as": "read", "filter": {"cause": run_cause["id"]}})
    assert (answer["marked"], answer["matched"]) == (2, 2)
    (longer_cause, *_) = reader.causes()
    assert (longer_cause["count"], longer_cause["unread"]) == (3, 1)
    assert (reader.names_of(longer_cause), reader.names_of(longer_cause, "tab=unread")) == (["aa", "bb", "aa"], ["aa"])
    assert [one["count"] for one in reader.causes("tab=unread")] == [1, 1]
    reader.mark(answer["undo"])
    assert [one["unread"] for one in reader.causes()] == [3, 1]
    answer = reader.mark({"as": "done", "filter": {"cause": longer_cause["id"]}})
    assert (answer["marked"], [one["kind"] for one in reader.causes()]) == (3, ["single"])
    assert [one["count"] for one in reader.causes("tab=done")] == [3]


def test_marks_of_two_tabs_at_once_leave_alone_what_joins_a_cause_meanwhile(reader: CauseReader) -> None:
    """Fault scenario 80."""
    reader.edit("aa", "bb", "secret", why="run 1")
    (cause,) = reader.causes()
    bodies = [{"as": mark, "filter": {"cause": cause["id"]}} for mark in ("read", "saved") * 3]
    with ThreadPoolExecutor() as pool:
        answers = [pool.submit(reader.mark, body) for body in bodies]
        reader.edit("aa", why="run 1")
        assert sum(one.result()["marked"] for one in answers) == 6
    entries = reader.client.get(f"/users/{reader.id}/notifications").json()["data"]
    states = [(one["state"]["read"], one["state"]["saved"]) for one in entries]
    assert states == [(False, False), *[(True, True)] * 3]
    assert [(one["count"], one["unread"]) for one in reader.causes()] == [(4, 1)]


def test_what_is_hidden_is_in_no_cause_and_joins_none(reader: CauseReader, administrator: httpx.Client) -> None:
    reader.edit("secret", "aa", "secret", "bb", "secret", why="run 1")
    (before,) = reader.causes()
    assert before["count"] == 5
    restrict(administrator, reader.id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
    (cause,) = reader.causes()
    assert cause["title"] == "run 1: 2 changes to 2 tables by Administrator"
    assert (cause["count"], cause["assetCount"], cause["unread"]) == (2, 2, 2)
    assert reader.names_of(before) == reader.names_of(cause) == ["bb", "aa"]
    assert "secret" not in str(reader.page())
    answer = reader.mark({"as": "read", "filter": {"cause": before["id"]}})
    assert (answer["marked"], answer["matched"]) == (2, 2)


def test_pages_and_filters_of_causes(reader: CauseReader, served: Served) -> None:
    _, eve = served.person("eve", isAdmin=True)
    with eve:
        reader.edit("aa", "bb")
        reader.edit("aa", "bb", client=eve)
    reader.edit("secret", why="run 2")
    titles, after = [], ""
    while True:
        page = reader.page(f"limit=1{after}")
        titles += [one["title"] for one in page["data"]]
        assert page["paging"]["total"] == 3
        if "after" not in page["paging"]:
            break
        after = f"&after={page['paging']['after']}"
    assert titles == reader.titles() and len(titles) == 3
    assert reader.titles("actor=eve") == ["eve changed 2 tables in warehouse.shop.public"]
    assert [one["count"] for one in reader.causes(f"asset={reader.tables['aa']}")] == [1, 1]


@pytest.mark.parametrize("query", ["", "&needsMe=false", "&q=words"])
def test_causes_go_on_behind_the_entries_that_are_gathered_at_once(
    reader: CauseReader, served: Served, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(inbox_causes, "MOST_COUNTED", 2)
    _, eve = served.person("eve", isAdmin=True)
    with eve:
        for writer in (None, eve, None, eve, None):
            reader.edit("aa", client=writer)
    counts, after = [], ""
    while True:
        page = reader.page(f"limit=1{query}{after}")
        counts += [one["count"] for one in page["data"]]
        if "after" not in page["paging"]:
            break
        after = f"&after={page['paging']['after']}"
    assert sum(counts) == 5  # none twice, none left out


@pytest.mark.parametrize("after", ["x.", ".", "dTE.x", "dTE.dTE.dTE"])
def test_a_place_among_causes_that_is_none_is_refused(reader: CauseReader, after: str) -> None:
    reader.page(f"after={after}", status=400)


@pytest.mark.parametrize("cause", ["x", "0123456789abcdef.1", "", "0" * 81])
def test_what_is_no_id_of_a_cause_is_refused(reader: CauseReader, cause: str) -> None:
    assert reader.client.get(f"/users/{reader.id}/notifications?cause={cause}").status_code in (400, 422)
    answer = reader.client.post(
        f"/users/{reader.id}/notifications/marks", json={"as": "read", "filter": {"cause": cause}}
    )
    assert answer.status_code in (400, 422)


def test_others_read_no_causes_and_a_forged_id_finds_nothing(reader: CauseReader, served: Served) -> None:
    reader.edit("aa", "bb")
    (cause,) = reader.causes()
    bob_id, bob = served.person("bob")
    with bob:
        assert bob.get(f"/users/{reader.id}/notifications/causes").status_code == 403
        assert bob.get(f"/users/{bob_id}/notifications?cause={cause['id']}").json()["data"] == []
    assert reader.names_of({"id": "0123456789abcdef.1.999999999999999999"}) == []


def test_the_audience_of_a_cause_has_whom_one_may_know_of_and_counts_what_they_read(
    reader: CauseReader, served: Served, administrator: httpx.Client
) -> None:
    bob_id, bob = served.person("bob")
    with bob:
        assert bob.put(f"/tables/{reader.tables['aa']}/followers/{bob_id}").is_success
        reader.edit("aa", "bb", "secret", why="run 1")
        (cause,) = reader.causes("actor=admin")
        path = f"/users/{reader.id}/notifications/causes/{cause['id']}/audience"
        (bobs,) = bob.get(f"/users/{bob_id}/notifications").json()["data"]
        bob.put(f"/users/{bob_id}/notifications/{bobs['id']}/read")
        answer = administrator.get(path).json()
        counts = [(one["name"], one["told"], one["read"], "readAt" in one) for one in answer["data"]]
        assert (counts, answer["isComplete"]) == ([("bob", 1, 1, True), ("mallory", 3, 0, False)], True)
        assert administrator.get(f"{path}?limit=1").json()["paging"] == {"total": 2, "after": "1"}
        restrict(administrator, reader.id, {"effect": "deny", "condition": "matchAnyTag('Tier.Tier1')"})
        answer = reader.client.get(path).json()
        assert ("mallory", 2) in [(one["name"], one["told"]) for one in answer["data"]]
        assert answer["isComplete"] is False
        assert bob.get(path).status_code == 403
        assert bob.get(f"/users/{bob_id}/notifications/causes/{cause['id']}/audience").json()["causeId"] == cause["id"]
        paths = [f"/users/{reader.id}/notifications/causes/{one}/audience" for one in ("0123456789abcdef.1.2", "x")]
        assert [reader.client.get(one).status_code for one in paths] == [404, 400]
