"""Tests of the mirror under faults of the store and the source: what could not be written is not passed over."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from tests.mirrored import CLOCK, Mirrored, change_table, put
from tests.notifying import notify_all
from tests.openmetadata import Fault, now_ms, table_id
from tests.waiting import until

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.errors import Unavailable
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.sources.openmetadata.mapping import Mapping
from tocsin.sources.openmetadata.results import MAY_PASS

DAY_MS = 86_400_000
EVERYTHING = Mapping(("*",))


class BlockedWrites(Writes):
    """Writes of which one fails, as with a store that others blocked for too long."""

    failing_number = 0

    def within(self, *args: Any, **keys: Any) -> Any:  # Any: as the writes take and return
        self.failing_number -= 1
        if self.failing_number == 0:
            raise Unavailable("Nothing was written: other writers blocked the store.")
        return super().within(*args, **keys)


def block(mirror: Mirrored, number: int = 1) -> None:
    """Let the write of this number fail."""
    writes = BlockedWrites(mirror.catalogue, CLOCK)
    writes.failing_number, mirror.writes = number, writes


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_load_whose_store_was_blocked_is_not_complete(mirror: Mirrored, number: int) -> None:
    """Fault scenario 69."""
    block(mirror, number)
    report = mirror.run()
    assert (report.error_count, "blocked the store" in report.errors[0]) == (1, True)
    assert mirror.records.state().is_loaded is False
    report = mirror.run()
    assert (report.errors, report.counts["created"]) == ([], 7 - number)
    assert mirror.records.state().is_loaded is True


def test_an_event_whose_store_was_blocked_is_applied_by_the_next_run(mirror: Mirrored) -> None:
    """Fault scenario 69: also one that is further back than the overlap."""
    mirror.run()
    at_ms = now_ms() - 3 * 3_600_000
    mirror.records.save(replace(mirror.records.state(), loaded_at_ms=at_ms - 2, watermark_ms=at_ms - 1))
    event = mirror.fake.tell("entityUpdated", "table", change_table(mirror, at_ms, description="Later."), at_ms)
    block(mirror)
    assert mirror.run().error_count == 1
    assert mirror.records.state().watermark_ms == at_ms - 1
    assert mirror.run().errors == []
    assert (mirror.table()["description"], mirror.events()[-1].id) == ("Later.", event["id"])


def test_a_full_disk_ends_the_run_and_the_next_one_goes_on(mirror: Mirrored) -> None:
    """Fault scenario 69."""
    mirror.alert()
    mirror.run()
    notify_all(mirror.engine)
    settings = ["max_page_count = 1"]

    @event.listens_for(mirror.engine, "begin")
    def limit(connection: Any) -> None:  # Any: the driver's own connection
        connection.connection.dbapi_connection.execute(f"PRAGMA {settings[0]}")

    for number in range(40):
        after = change_table(mirror, now_ms() + number, description=f"{number}" * 4_000)
        mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    until(lambda: now_ms() > after["updatedAt"])  # a run reads no event of the future
    with pytest.raises((OperationalError, *MAY_PASS)):
        mirror.run()
    settings[0] = "max_page_count = 1073741823"
    mirror.engine.dispose()
    assert mirror.run().errors == []
    events = [event for event in mirror.events() if event.entity_id == table_id(0)]
    assert len(events) == len({event.id for event in events}) == 41
    assert notify_all(mirror.engine) == 40


def test_a_server_that_is_away_is_given_up_soon(mirror: Mirrored) -> None:
    mirror.fake.faults = [Fault("/", 503, b"{}", times=10_000)]
    report = mirror.run()
    assert report.errors[0].startswith("teams: ")
    assert (report.error_count, len(mirror.fake.addresses)) == (5, 25)
    assert mirror.records.state().is_loaded is False


def test_a_token_that_ends_between_the_lists_and_the_questions_deletes_nothing(mirror: Mirrored) -> None:
    """Fault scenario 72."""
    mirror.run()
    mirror.fake.lists["tables"].pop(table_id(0))
    mirror.fake.faults = [Fault(f"/tables/{table_id(0)}", 401, b"{}", times=1)]
    report = mirror.run(is_full=True)
    assert "check the token and its rights" in report.errors[0]
    assert mirror.is_deleted("table", table_id(0)) is False
    assert mirror.run(is_full=True).counts["deleted"] == 1


@pytest.mark.parametrize("is_loaded_before", [True, False])
def test_a_clock_that_was_ahead_and_is_set_back_stops_nothing(mirror: Mirrored, *, is_loaded_before: bool) -> None:
    """Fault scenario 70."""
    mirror.alert()
    if is_loaded_before:
        mirror.run()
    mirror.clock = FixedClock(now_ms() + 400 * DAY_MS)
    for _ in range(2):
        assert mirror.run().errors == []
    mirror.clock = FixedClock(now_ms())
    assert mirror.run().errors == []
    notify_all(mirror.engine)
    after = change_table(mirror, description="Later.")
    event = mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    mirror.clock = FixedClock(after["updatedAt"] + 1)
    assert mirror.run().errors == []
    assert (mirror.table()["description"], mirror.events()[-1].id) == ("Later.", event["id"])
    assert notify_all(mirror.engine) == 1


def test_what_happened_while_the_clock_was_ahead_is_told(mirror: Mirrored) -> None:
    """Fault scenario 70."""
    mirror.alert()
    mirror.run()
    mirror.clock = FixedClock(now_ms() + 400 * DAY_MS)
    mirror.run()
    notify_all(mirror.engine)
    after = change_table(mirror, description="Meanwhile.")
    event = mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    mirror.clock = FixedClock(after["updatedAt"] + 1)
    assert mirror.run().errors == []
    assert (mirror.table()["description"], mirror.events()[-1].id) == ("Meanwhile.", event["id"])
    assert notify_all(mirror.engine) == 1


def test_a_source_that_was_restored_from_a_backup_is_followed_and_tells_nobody(each_mirror: Mirrored) -> None:
    """Fault scenario 71."""
    each_mirror.alert()
    each_mirror.run()
    backup = deepcopy(each_mirror.fake.lists)
    at_ms = now_ms() - 3_600_000
    each_mirror.records.save(replace(each_mirror.records.state(), loaded_at_ms=at_ms - 2, watermark_ms=at_ms - 1))
    each_mirror.fake.tell("entityUpdated", "table", change_table(each_mirror, at_ms, description="Later."), at_ms)
    each_mirror.fake.tell("entityDeleted", "table", each_mirror.fake.lists["tables"].pop(table_id(1)), at_ms)
    put(each_mirror, "glossaries", 60, "new", description="d", updatedAt=at_ms)
    assert each_mirror.run(EVERYTHING, is_full=True).errors == []
    assert (each_mirror.table()["description"], each_mirror.is_deleted("table", table_id(1))) == ("Later.", True)
    notify_all(each_mirror.engine)
    each_mirror.fake.lists, each_mirror.fake.events = backup, []
    each_mirror.fake.lists["glossaries"] = {}
    report = each_mirror.run(EVERYTHING, is_full=True)
    assert (report.errors, report.counts["deleted"]) == ([], 1)
    assert (each_mirror.table()["description"], each_mirror.is_deleted("table", table_id(1))) == ("Orders 0.", False)
    assert each_mirror.table()["updatedAt"] > at_ms
    assert each_mirror.is_deleted("glossary", table_id(60))
    end = each_mirror.end()
    assert each_mirror.run(EVERYTHING, is_full=True).errors == []
    assert (each_mirror.end(), notify_all(each_mirror.engine)) == (end, 0)


def test_a_list_that_lags_behind_an_event_takes_nothing_back(mirror: Mirrored) -> None:
    """Fault scenario 71: a replica of the source may be some minutes behind."""
    mirror.run()
    before = deepcopy(mirror.fake.lists)
    after = change_table(mirror, description="Later.")
    mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    mirror.fake.lists = before
    assert mirror.run(is_full=True).errors == []
    assert mirror.table()["description"] == "Later."


def test_what_a_killed_run_created_and_the_source_lost_meanwhile_is_deleted(each_mirror: Mirrored) -> None:
    """Fault scenario 57."""
    each_mirror.run_killed(lambda entity: entity.source_id == table_id(1) and entity.updated_at_ms > 0)
    each_mirror.fake.lists["tables"].pop(table_id(1))
    report = each_mirror.run()
    assert (report.errors, report.counts["deleted"]) == ([], 1)
    assert each_mirror.is_deleted("table", table_id(1))


@pytest.mark.parametrize("name", ["g" * 300, "theirs"])
def test_an_entity_of_ours_is_not_taken_for_one_that_a_killed_run_brought(each_mirror: Mirrored, name: str) -> None:
    """Fault scenario 57: one of the source has its id, and could not be written."""
    ours = each_mirror.writes.create("glossary", {"name": "ours", "description": "Ours."}, actor=SYSTEM).document
    put(each_mirror, "glossaries", 80, name, id=ours["id"], description="Theirs.")
    block(each_mirror, 1 if name == "theirs" else 100)
    assert each_mirror.run().error_count == 1
    each_mirror.fake.lists["glossaries"] = {}
    for mapping in (Mapping(("snow", "other")), Mapping(("other",))):
        each_mirror.run(mapping)
        assert each_mirror.catalogue.get("glossary", Key.by_id(ours["id"]), "all") == ours


def test_names_that_change_hands_are_followed(each_mirror: Mirrored) -> None:
    names = ("one", "two", "three")
    for number, name in enumerate(names):
        put(each_mirror, "glossaries", 60 + number, name, description=name)
    assert each_mirror.run(EVERYTHING).errors == []
    for order in (("four", "one", "two"), ("one", "two", "four"), ("two", "one", "four"), ("one", "four", "two")):
        for number, name in enumerate(order):
            put(each_mirror, "glossaries", 60 + number, name, description="d")
        assert each_mirror.run(EVERYTHING, is_full=True).errors == []
        assert [
            each_mirror.catalogue.get("glossary", Key.by_id(table_id(60 + number)))["name"] for number in range(3)
        ] == [*order]
    end = each_mirror.end()
    assert each_mirror.run(EVERYTHING, is_full=True).errors == []
    assert each_mirror.end() == end


def test_a_name_of_what_is_gone_is_free_for_another(each_mirror: Mirrored) -> None:
    each_mirror.run(EVERYTHING)
    for number, name in enumerate(("one", "two")):
        put(each_mirror, "glossaries", 60 + number, name, description=name)
    assert each_mirror.run(EVERYTHING, is_full=True).errors == []
    each_mirror.fake.tell("entityDeleted", "glossary", each_mirror.fake.lists["glossaries"].pop(table_id(60)), now_ms())
    renamed = put(each_mirror, "glossaries", 61, "one", description="two")
    event = each_mirror.fake.tell("entityUpdated", "glossary", renamed, renamed["updatedAt"])
    assert each_mirror.run(EVERYTHING).errors == []
    glossary = each_mirror.catalogue.get("glossary", Key.by_name("one"))
    assert (glossary["id"], each_mirror.is_deleted("glossary", table_id(60))) == (table_id(61), True)
    assert each_mirror.events()[-1].id == event["id"]
    assert each_mirror.run(EVERYTHING, is_full=True).errors == []


def test_a_restored_backup_gets_what_came_after_it_once_with_the_same_ids(mirror: Mirrored, tmp_path: Path) -> None:
    """Fault scenario 71."""
    mirror.alert()
    mirror.run()
    notify_all(mirror.engine)
    backup, store = tmp_path / "backup.db", Path(str(mirror.engine.url.database))
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(f"VACUUM INTO '{backup}'")
    after = change_table(mirror, description="Later.")
    event = mirror.fake.tell("entityUpdated", "table", after, after["updatedAt"])
    mirror.fake.tell("entityDeleted", "table", mirror.fake.lists["tables"].pop(table_id(1)), now_ms())
    mirror.run()
    before = mirror.events()
    mirror.engine.dispose()
    for ending in ("-wal", "-shm"):
        Path(f"{store}{ending}").unlink(missing_ok=True)
    store.write_bytes(backup.read_bytes())
    assert mirror.run().errors == []
    assert mirror.table()["description"] == "Later."
    assert [event.id for event in mirror.events()] == [event.id for event in before]
    assert event["id"] in {event.id for event in mirror.events()}
    assert notify_all(mirror.engine) == 2
