"""Tests of consolidation: successive edits by one person share a version, and every edit has its event."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.catalogue.writes import Writes
from tocsin.model.change import ChangeEvent
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.upkeep.fsck.inspection import inspect

JOHN = Actor("00000000-0000-4000-8000-000000000002", "john")
_MINUTE = 60_000


class _SampleStore:
    """The company, written to with consolidation switched on; ``orders`` is at version 0.2, described by Jane."""

    def __init__(self, engine: Engine) -> None:
        self.company: Company = company(engine)
        clock = self.company.clock
        self.writes = Writes(self.company.catalogue, clock, consolidate_ms=10 * _MINUTE)
        self.describe("first")

    def describe(self, text: str | None, *, actor: Actor = JANE, after_ms: int = _MINUTE, **options: Any) -> Written:
        self.company.clock.advance(after_ms)
        operation = {"op": "add", "path": "/description", "value": text} if text else _REMOVE
        return self.writes.patch("table", Key.by_name(ORDERS), [operation], actor=actor, **options)

    def name(self, text: str) -> Written:
        operation = {"op": "add", "path": "/displayName", "value": text}
        return self.writes.patch("table", Key.by_name(ORDERS), [operation], actor=JANE)

    def versions(self) -> list[tuple[float, str | None, str | None]]:
        documents = self.company.catalogue.versions(self.company.ids["orders"])
        return [(row["version"], row.get("description"), row.get("displayName")) for row in documents]


_ALL = Listing()
_REMOVE = {"op": "remove", "path": "/description"}


@pytest.fixture
def shop(store_engine: Engine) -> _SampleStore:
    return _SampleStore(store_engine)


def _facts(event: ChangeEvent | None) -> tuple[Decimal | None, Decimal | None, tuple[str, ...]]:
    assert event is not None
    assert event.change_description is not None
    return event.previous_version, event.current_version, event.change_description.paths()


def test_edits_in_a_row_are_one_version_and_as_many_events(shop: _SampleStore, store_engine: Engine) -> None:
    end = shop.company.log.readable_end()
    second, third = shop.describe("second"), shop.name("Orders")
    assert shop.versions() == [(0.2, "second", "Orders"), (0.1, None, None)]
    events = shop.company.events_after(end)
    assert events == [second.event, third.event]
    assert [_facts(event) for event in events] == [
        (Decimal("0.1"), Decimal("0.2"), ("description",)),
        (Decimal("0.1"), Decimal("0.2"), ("displayName",)),
    ]
    change = events[0].change_description
    assert change is not None
    assert change.to_wire()["fieldsUpdated"] == [{"name": "description", "oldValue": "first", "newValue": "second"}]
    assert change.previous_version == Decimal("0.2")
    now = shop.company.get("table", ORDERS)
    assert sorted(one["name"] for one in now["changeDescription"]["fieldsAdded"]) == ["description", "displayName"]
    assert now["changeDescription"]["previousVersion"] == 0.1
    assert [one["name"] for one in now["incrementalChangeDescription"]["fieldsAdded"]] == ["displayName"]
    assert inspect(store_engine, deep=True).findings == []


def test_a_version_with_a_reason_is_merged_with_none_before_or_after_it(
    shop: _SampleStore, store_engine: Engine
) -> None:
    jane = replace(JANE, reason="the auditors asked")
    shop.describe("second", actor=jane)
    shop.describe("third", actor=jane)
    shop.describe(None)
    shop.describe("fourth")
    assert shop.versions() == [
        (0.5, "fourth", None),
        (0.4, "third", None),
        (0.3, "second", None),
        (0.2, "first", None),
        (0.1, None, None),
    ]
    reasons = shop.company.catalogue.reasons(shop.company.ids["orders"])
    assert reasons == {"0.3": "the auditors asked", "0.4": "the auditors asked"}
    assert inspect(store_engine, deep=True).findings == []


def test_a_version_that_is_taken_back_leaves_the_reason_of_the_one_before(shop: _SampleStore) -> None:
    shop.describe("second", actor=replace(JANE, reason="the auditors asked"))
    shop.describe("third")
    shop.describe("second")
    assert [version for version, *_ in shop.versions()] == [0.3, 0.2, 0.1]
    assert shop.company.catalogue.reasons(shop.company.ids["orders"]) == {"0.3": "the auditors asked"}


def test_an_edit_that_takes_everything_back_takes_the_version_back_and_is_reported(
    shop: _SampleStore, store_engine: Engine
) -> None:
    before = shop.company.catalogue.version(shop.company.ids["orders"], "0.1")
    written = shop.describe(None)
    assert shop.versions() == [(0.1, None, None)]
    assert shop.company.get("table", ORDERS) == before == written.document
    assert _facts(written.event) == (Decimal("0.2"), Decimal("0.1"), ("description",))
    shop.describe("again")
    assert shop.versions() == [(0.2, "again", None), (0.1, None, None)]
    assert inspect(store_engine, deep=True).findings == []


def test_the_version_after_a_consolidated_one_has_its_own_change(shop: _SampleStore, store_engine: Engine) -> None:
    shop.describe("second")
    shop.describe("third", actor=JOHN)
    now = shop.company.get("table", ORDERS)
    assert (now["version"], now["changeDescription"]["previousVersion"]) == (0.3, 0.2)
    assert "incrementalChangeDescription" not in now
    assert inspect(store_engine, deep=True).findings == []


def test_what_is_no_edit_in_a_row_is_a_version(shop: _SampleStore, store_engine: Engine) -> None:
    shop.describe("too late", after_ms=10 * _MINUTE + 1)
    shop.describe("somebody else", actor=JOHN)
    shop.describe("with a tag", actor=JOHN, if_match="*")
    dropped = [{"op": "remove", "path": "/columns/1"}]
    assert shop.writes.patch("table", Key.by_name(ORDERS), dropped, actor=JOHN).document["version"] == 1.5
    put = shop.company.table(description="put")
    put["columns"] = put["columns"][:1]
    assert shop.writes.upsert("table", put, actor=JOHN).document["version"] == 1.6
    assert [row[0] for row in shop.versions()] == [1.6, 1.5, 0.5, 0.4, 0.3, 0.2, 0.1]
    assert inspect(store_engine, deep=True).findings == []


def test_a_restored_or_renamed_entity_begins_anew(shop: _SampleStore, store_engine: Engine) -> None:
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE)
    shop.writes.restore("table", shop.company.ids["orders"], actor=JANE)
    assert shop.describe("x").document["version"] == 0.5
    shop.writes.create("team", {"name": "crew"}, actor=JANE)
    for path, value in (("/description", "x"), ("/description", "y")):
        operation = [{"op": "add", "path": path, "value": value}]
        shop.writes.patch("team", Key.by_name("crew"), operation, actor=JANE)
    assert shop.company.get("team", "crew")["version"] == 0.3
    shop.writes.create("glossary", {"name": "g", "description": "x"}, actor=JANE)
    for name in ("h", "i", "g"):
        fqn = shop.company.catalogue.list_entities("glossary", _ALL).documents[0]["fullyQualifiedName"]
        rename = [{"op": "replace", "path": "/name", "value": name}]
        shop.writes.patch("glossary", Key.by_name(fqn), rename, actor=JANE)
    assert shop.company.get("glossary", "g")["version"] == 0.4
    assert inspect(store_engine, deep=True).findings == []


def test_it_is_off_unless_it_is_set(shop: _SampleStore) -> None:
    for text in "ab":
        shop.company.patch(("add", "/description", text))
    assert [row[0] for row in shop.versions()] == [0.4, 0.3, 0.2, 0.1]


def test_somebody_new_with_the_name_of_who_edited_before_makes_a_version_of_their_own(shop: _SampleStore) -> None:
    shop.describe("second", actor=Actor("00000000-0000-4000-8000-000000000009", JANE.name))
    assert [version for version, *_ in shop.versions()] == [0.3, 0.2, 0.1]


def test_an_edit_that_breaks_nothing_joins_the_version_that_a_breaking_one_began(shop: _SampleStore) -> None:
    shop.company.clock.advance(_MINUTE)
    drop = {"op": "remove", "path": "/columns/0"}
    shop.writes.patch("table", Key.by_name(ORDERS), [drop], actor=JANE)
    assert shop.versions()[0][0] == 1.2
    shop.name("Orders")
    assert shop.versions()[0] == (1.2, "first", "Orders")
    shop.writes.patch("table", Key.by_name(ORDERS), [drop], actor=JANE)
    assert shop.versions()[0][0] == 2.2
