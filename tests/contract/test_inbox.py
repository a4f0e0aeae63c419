"""Tests of the inbox and its live stream by HTTP, with the reasons of notifications."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence

import httpx
import pytest
from sqlalchemy import Engine, insert
from tests.serving import Json, Served, table

from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.model.change import ChangeEvent
from tocsin.model.notification import ORDERED_IDS, Reason, ReasonKind
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import notification
from tocsin.store.outbox.notifications import Notifications

_LONGEST_S = 60
"""How long a test waits for what a stream says at once where nothing else runs."""
_ORDERS_LINK = "<#E::table::warehouse.shop.public.orders>"
ALL_ZERO = {"unread": 0, "unseen": 0, "total": 0, "saved": 0, "snoozed": 0, "done": 0}
BECAUSE = Reason(
    kind=ReasonKind.FOLLOWER, subscription_id="s", subscription_name="ActivityFeedAlert", destination_id="d"
)


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


class CatalogueWriter:
    """Writes notifications as the pipeline does."""

    def __init__(self, served: Served, engine: Engine, client: httpx.Client) -> None:
        self._served, self._engine, self._client = served, engine, client

    def tell(self, user_id: str, name: str, *, due_in_ms: int = 0) -> str:
        """Create a table of that name and notify the user of it."""
        log = self._served.app.state.parts.log
        table(self._client, name)
        logged = log.read(log.readable_end() - 1, 1)[0]
        return self._keep(user_id, logged.offset, logged.event, due_in_ms)

    def tell_together(self, user_id: str, names: Sequence[str], *, whole_id: str) -> list[str]:
        """Create tables and notify the user of all at once, as of parts of a whole; return the ids of the tables."""
        log, ids, part_rows = self._served.app.state.parts.log, [], []
        for name in names:
            ids.append(table(self._client, name)["id"])
            logged = log.read(log.readable_end() - 1, 1)[0]
            part_rows.append(self._row(user_id, logged.offset, logged.event, 0) | {"whole_id": whole_id})
        with writing(self._engine) as connection:
            connection.execute(insert(notification), part_rows)
        Notifications(self._engine).advance(MATCH_STREAM, logged.offset, now_ms=part_rows[-1]["created_at_ms"])
        return ids

    def announce(self, user_id: str, **announcement: int) -> None:
        """Announce something about the table orders and notify the user of it."""
        request = {
            "message": "moves",
            "type": "Announcement",
            "about": _ORDERS_LINK,
            "announcementDetails": announcement,
        }
        created = self._client.post("/feed", json=request)
        assert created.status_code == 201, created.text
        self._tell_of_last(user_id)

    def give_to(self, user_id: str, owner_id: str, name: str) -> None:
        """Create a table of that name, give it an owner, and notify the user of that."""
        change = [{"op": "add", "path": "/owners", "value": [{"id": owner_id, "type": "user"}]}]
        assert self._client.patch(f"/tables/{table(self._client, name)['id']}", json=change).is_success
        self._tell_of_last(user_id)

    def _tell_of_last(self, user_id: str) -> None:
        log = self._served.app.state.parts.log
        logged = log.read(log.readable_end() - 1, 1)[0]
        self._keep(user_id, logged.offset, logged.event, 0)

    def _keep(self, user_id: str, offset: int, event: ChangeEvent, due_in_ms: int) -> str:
        row = self._row(user_id, offset, event, due_in_ms)
        with writing(self._engine) as connection:
            connection.execute(insert(notification), row)
        Notifications(self._engine).advance(MATCH_STREAM, offset, now_ms=row["created_at_ms"])
        return str(row["id"])

    @staticmethod
    def _row(user_id: str, offset: int, event: ChangeEvent, due_in_ms: int) -> Json:
        now_ms = time.time_ns() // 1_000_000
        return {
            "id": ORDERED_IDS.of(offset, event.id, "ActivityFeed", user_id),
            "event_id": event.id,
            "log_offset": offset,
            "channel": "ActivityFeed",
            "recipient": user_id,
            "recipient_id": user_id,
            "reasons": json.dumps([BECAUSE.to_wire()]),
            "due_at_ms": now_ms + due_in_ms,
            "created_at_ms": now_ms,
        }


@pytest.fixture
def teller(served: Served, sqlite_engine: Engine, administrator: httpx.Client, orders: Json) -> CatalogueWriter:
    return CatalogueWriter(served, sqlite_engine, administrator)


def test_a_notification_says_what_happened_and_why(alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, client = alice
    notification_id_of_customers = teller.tell(user_id, "customers")
    page = client.get(f"/users/{user_id}/notifications").json()
    shown_notification = page["data"][0]
    assert (shown_notification["id"], shown_notification["read"], shown_notification["userName"]) == (
        notification_id_of_customers,
        False,
        "admin",
    )
    assert shown_notification["entityFullyQualifiedName"] == "warehouse.shop.public.customers"
    assert shown_notification["title"] == "customers: created"
    assert shown_notification["reasons"][0]["sentence"] == "you follow it (alert ActivityFeedAlert)"
    assert page["counts"] == ALL_ZERO | {"unread": 1, "unseen": 1, "total": 1}
    assert page["paging"] == {"total": 1}


def test_an_owner_is_called_as_in_mails_and_by_name_for_programs(
    served: Served, alice: tuple[str, httpx.Client], teller: CatalogueWriter
) -> None:
    user_id, client = alice
    owner_id, owner_client = served.person("bob", displayName="Bob Barker")
    teller.give_to(user_id, owner_id, "customers")
    with owner_client:
        newest, *_ = owner_client.get(f"/users/{owner_id}/activity").json()["data"]
    assert newest["title"] == "customers: owner Bob Barker (you) added"
    (entry,) = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert (entry["title"], entry["changes"]) == ("customers: owner Bob Barker added", ["owner Bob Barker added"])
    (meaning,) = entry["semanticChanges"]
    assert (meaning["value"], meaning["text"]) == ("bob", "owner bob added")


def test_times_are_in_the_zone_of_the_owner(alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, client = alice
    teller.announce(user_id, startTime=1_000_000_000_000, endTime=20_000_003_600_000)
    (entry,) = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert entry["changes"][-1] == "from 2001-09-09 01:46 UTC until 2603-10-11 12:33 UTC"
    assert client.put(f"/users/{user_id}/preferences", json={"timezone": "Asia/Tokyo"}).status_code == 200
    (entry,) = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert entry["changes"][-1] == "from 2001-09-09 10:46 JST until 2603-10-11 21:33 JST"


def test_unread_comes_first_then_the_newest(alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, client = alice
    ids = [teller.tell(user_id, name) for name in ("a", "b", "c", "d", "e")]
    for read in (ids[4], ids[0]):
        assert client.put(f"/users/{user_id}/notifications/{read}/read").json()["read"] is True
    expected_ids = [ids[3], ids[2], ids[1], ids[4], ids[0]]
    assert [one["id"] for one in client.get(f"/users/{user_id}/notifications").json()["data"]] == expected_ids
    paged_ids: list[str] = []
    after = ""
    while True:
        page = client.get(f"/users/{user_id}/notifications?limit=2{after}").json()
        paged_ids += [one["id"] for one in page["data"]]
        if "after" not in page["paging"]:
            break
        after = f"&after={page['paging']['after']}"
    assert paged_ids == expected_ids
    unread = client.get(f"/users/{user_id}/notifications?unread=true").json()
    assert ([one["id"] for one in unread["data"]], unread["counts"]) == (
        expected_ids[:3],
        ALL_ZERO | {"unread": 3, "unseen": 3, "total": 5},
    )


def test_all_are_marked_read_at_once(alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, client = alice
    for name in ("a", "b"):
        teller.tell(user_id, name)
    assert client.put(f"/users/{user_id}/notifications/read").json() == {"marked": 2}
    assert client.put(f"/users/{user_id}/notifications/read").json() == {"marked": 0}
    assert client.get(f"/users/{user_id}/notifications").json()["counts"] == ALL_ZERO | {"total": 2}


def test_what_is_not_due_yet_is_not_shown(alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, client = alice
    later_id = teller.tell(user_id, "later", due_in_ms=3_600_000)
    page = client.get(f"/users/{user_id}/notifications").json()
    assert (page["data"], page["counts"]["total"]) == ([], 0)
    assert client.put(f"/users/{user_id}/notifications/{later_id}/read").status_code == 404


def test_an_inbox_is_open_to_its_owner_and_to_administrators(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client], teller: CatalogueWriter
) -> None:
    user_id, _ = alice
    secret_id = teller.tell(user_id, "secret")
    bob_id, bob = served.person("bob")
    with bob:
        for method, path in (("GET", ""), ("GET", "/stream"), ("PUT", "/read"), ("PUT", f"/{secret_id}/read")):
            assert bob.request(method, f"/users/{user_id}/notifications{path}").status_code == 403
        assert bob.put(f"/users/{bob_id}/notifications/{secret_id}/read").status_code == 404
    assert administrator.get(f"/users/{user_id}/notifications").json()["counts"]["total"] == 1
    nobody = "00000000-0000-0000-0000-000000000000"
    assert administrator.get(f"/users/{nobody}/notifications").status_code == 404


@pytest.mark.parametrize("query", ["after=!", "after=dTFhYg", "after=eDE", "limit=-1", "limit=1001", "unread=perhaps"])
def test_a_broken_question_is_refused(alice: tuple[str, httpx.Client], query: str) -> None:
    user_id, client = alice
    assert client.get(f"/users/{user_id}/notifications?{query}").status_code == 400


class Listener:
    """Reads a stream in a thread of its own."""

    def __init__(self, served: Served, user_id: str, last_seen: str | None = None, *, name: str = "alice") -> None:
        self._token = served.tokens[f"{name}@example.org"]
        self.events: list[dict[str, str]] = []
        self.arrived, self.opened = threading.Condition(), threading.Event()
        headers = {"Last-Event-ID": last_seen} if last_seen else {}
        self._thread = threading.Thread(target=self._run, args=(served, user_id, headers), daemon=True)
        self._thread.start()
        assert self.opened.wait(_LONGEST_S)

    def _run(self, served: Served, user_id: str, headers: dict[str, str]) -> None:
        with (
            served.client(self._token) as client,
            client.stream("GET", f"/users/{user_id}/notifications/stream", headers=headers) as answer,
        ):
            event: dict[str, str] = {}
            for line in answer.iter_lines():
                self.opened.set()
                key, _, value = line.partition(": ")
                if line:
                    event[key] = value
                    continue
                if "data" in event:
                    with self.arrived:
                        self.events.append(event)
                        self.arrived.notify_all()
                event = {}

    def wait_for(self, count: int) -> list[Json]:
        """Return the first ``count`` notifications, once they are there."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.events) >= count, _LONGEST_S), self.events
        return [json.loads(one["data"]) for one in self.events]


def test_a_notification_rings_at_once(served: Served, alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, client = alice
    start = client.get(f"/users/{user_id}/notifications").json()["streamFrom"]
    listener = Listener(served, user_id, start)
    fresh_id = teller.tell(user_id, "fresh")
    heard = listener.wait_for(1)
    assert heard[0] == client.get(f"/users/{user_id}/notifications").json()["data"][0]
    assert (heard[0]["id"], listener.events[0]["event"]) == (fresh_id, "notification")
    assert listener.events[0]["id"].partition(":")[0].isdigit()


def test_parts_of_a_whole_ring_once_with_the_entry_that_the_inbox_has(
    served: Served, alice: tuple[str, httpx.Client], teller: CatalogueWriter
) -> None:
    user_id, client = alice
    listener, whole_id = Listener(served, user_id), "0199c6f2-7c00-7000-8000-000000000009"
    teller.tell_together(user_id, ("a", "b", "c"), whole_id=whole_id)
    (first,) = listener.wait_for(1)
    assert first == client.get(f"/users/{user_id}/notifications").json()["data"][0]
    assert (first["notificationCount"], first["title"]) == (3, "c: created, and 2 more of the same change")
    teller.tell_together(user_id, ("d", "e"), whole_id=whole_id)
    alone_id = teller.tell(user_id, "alone")
    _, second, alone = listener.wait_for(3)
    assert (second["notificationCount"], second["group"], alone["id"]) == (5, first["group"], alone_id)
    assert first["group"] != second["eventId"] != whole_id != first["group"]
    resumed_listener = Listener(served, user_id, listener.events[0]["id"])
    assert [one["id"] for one in resumed_listener.wait_for(2)] == [second["id"], alone_id]


def test_a_stream_that_goes_on_in_another_store_says_so(
    served: Served, alice: tuple[str, httpx.Client], teller: CatalogueWriter
) -> None:
    user_id, client = alice
    teller.tell(user_id, "a")
    start = client.get(f"/users/{user_id}/notifications").json()["streamFrom"]
    offset = start.partition(":")[0]
    for last_event_id in (f"{int(offset) + 50}", f"{offset}:{BECAUSE.subscription_id}"):
        listener = Listener(served, user_id, last_event_id)
        assert listener.wait_for(1) == [{"streamFrom": start}]
        assert (listener.events[0]["event"], listener.events[0]["id"]) == ("reset", start)
    second_id = teller.tell(user_id, "b")
    assert listener.wait_for(2)[1]["id"] == second_id


def test_a_broken_stream_goes_on_where_it_ended(
    served: Served, alice: tuple[str, httpx.Client], teller: CatalogueWriter
) -> None:
    user_id, _ = alice
    ids = [teller.tell(user_id, name) for name in ("a", "b", "c")]
    first = Listener(served, user_id, "0")
    assert [one["id"] for one in first.wait_for(3)] == ids
    resumed = Listener(served, user_id, first.events[0]["id"])
    assert [one["id"] for one in resumed.wait_for(2)] == ids[1:]
    late = teller.tell(user_id, "d")
    assert [one["id"] for one in resumed.wait_for(3)] == [*ids[1:], late]
    assert [one["id"] for one in first.wait_for(4)] == [*ids, late]


def test_what_becomes_due_rings_then(served: Served, alice: tuple[str, httpx.Client], teller: CatalogueWriter) -> None:
    user_id, _ = alice
    listener = Listener(served, user_id)
    soon = teller.tell(user_id, "soon", due_in_ms=700)
    now = teller.tell(user_id, "now")
    assert [one["id"] for one in listener.wait_for(2)] == [now, soon]


def test_notifications_of_others_are_not_pushed(
    served: Served, administrator: httpx.Client, alice: tuple[str, httpx.Client], teller: CatalogueWriter
) -> None:
    user_id, _ = alice
    bob_id, bob = served.person("bob")
    bob.close()
    listener = Listener(served, user_id)
    teller.tell(bob_id, "for_bob")
    id_for_alice = teller.tell(user_id, "for_alice")
    assert [one["id"] for one in listener.wait_for(1)] == [id_for_alice]
