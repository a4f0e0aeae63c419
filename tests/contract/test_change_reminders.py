"""Tests of reminding one consumer of a change request by HTTP, and of what is said of who was told."""

from __future__ import annotations

from uuid import uuid4

import httpx
from sqlalchemy import Engine
from sqlalchemy import event as statement_events
from tests.contract.test_changes import announce, consumers, person, world
from tests.contract.test_feed import hide
from tests.contract.test_impact import feed
from tests.notifying import notify_all
from tests.serving import Json, table

__all__ = ["person", "world"]  # fixtures


def remind(client: httpx.Client, consumer: Json) -> int:
    return client.post("/changes/CR-1/reminders", json={"consumer": consumer["id"]}).status_code


def reminders_of(world: dict[str, Json], name: str) -> int:
    inbox = world[f"as_{name}"].get(f"/users/{world[name]}/notifications").json()["data"]
    return sum(one["eventType"] == "changeRequestReminder" for one in inbox)


def test_who_announced_a_change_reminds_who_answers_for_one_consumer_once_a_day(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    announce(administrator, world["orders"])
    assert [remind(world[f"as_{name}"], world["clean"]) for name in ("ann", "bob")] == [403, 403]
    assert [remind(administrator, {"id": one}) for one in (str(uuid4()), world["counts"]["id"], "x")] == [404, 404, 400]
    assert [remind(administrator, world["clean"]) for _ in range(2)] == [200, 409]
    notify_all(sqlite_engine)
    assert [reminders_of(world, name) for name in ("ann", "bob")] == [1, 0]
    steps = administrator.get("/changes/CR-1/timeline").json()["data"]
    assert [(one["kind"], one.get("entity", {}).get("name")) for one in steps] == [
        ("announced", None),
        ("reminded", "clean"),
    ]
    assert consumers(administrator)["clean"]["answer"] is None
    assert world["as_bob"].put("/changes/CR-1/answer", json={"answer": "ready"}).is_success
    assert remind(administrator, world["sales"]) == 409
    assert administrator.put("/changes/CR-1/withdraw").is_success
    assert remind(administrator, world["clean"]) == 409


def test_nobody_is_reminded_of_what_has_no_owner(administrator: httpx.Client, world: dict[str, Json]) -> None:
    announce(administrator, world["orders"], column=None)
    assert remind(administrator, world["counts"]) == 409


def test_consumers_say_the_way_and_who_was_told_to_who_may_know(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    announce(administrator, world["orders"])
    notify_all(sqlite_engine)
    remind(administrator, world["clean"])
    notify_all(sqlite_engine)
    entries = consumers(administrator)
    assert [one["name"] for one in entries["sales"]["chain"]] == ["orders", "clean", "sales"]
    in_app = [
        (name, notice["kind"], notice["user"]["name"], notice["status"])
        for name, entry in entries.items()
        for notice in entry["told"]
        if notice["channel"] == "ActivityFeed"
    ]
    assert in_app == [
        ("clean", "reminded", "ann", "unread"),
        ("clean", "announced", "ann", "unread"),
        ("sales", "announced", "bob", "unread"),
    ]
    of_bob = consumers(world["as_bob"])
    assert (of_bob["clean"]["told"], {one["user"]["name"] for one in of_bob["sales"]["told"]}) == ([], {"bob"})
    hide(administrator, world["bob"], world["clean"])
    assert [(name, one["chain"]) for name, one in consumers(world["as_bob"]).items()] == [("sales", [])]


def test_many_consumers_cost_no_more_statements(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    def statement_count(name: str) -> int:
        statements: list[str] = []

        def note(*arguments: Json) -> None:
            statements.append(arguments[2])

        statement_events.listen(sqlite_engine, "before_cursor_execute", note)
        try:
            assert consumers(administrator, name)
        finally:
            statement_events.remove(sqlite_engine, "before_cursor_execute", note)
        return len(statements)

    announce(administrator, world["orders"])
    notify_all(sqlite_engine)
    few = min(statement_count("CR-1") for _ in range(3))
    administrator.put("/changes/CR-1/withdraw")
    owners = [{"type": "user", "id": world["ann"]}]
    for at in range(4):
        feed(administrator, world["orders"], table(administrator, f"copy{at}", owners=owners), "email")
    announce(administrator, world["orders"])
    notify_all(sqlite_engine)
    assert len(consumers(administrator, "CR-2")) == 6
    assert min(statement_count("CR-2") for _ in range(3)) <= few
