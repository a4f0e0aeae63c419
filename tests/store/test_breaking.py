"""Tests of breaking changes as they are stored: versions, reasons, and who read what is deleted."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.conditions.breaking import IS_BREAKING, reasons_of_version
from tocsin.conditions.fields import values_of
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.stored import Key

DASHBOARD = {"type": "dashboard", "fullyQualifiedName": "bi.revenue"}
PIPELINE = {"type": "pipeline", "fullyQualifiedName": "airflow.nightly"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def table(name: str) -> Document:
    return {"type": "table", "fullyQualifiedName": f"{SCHEMA}.{name}"}


def feed(shop: Company, from_: Document, to: Document, **details: object) -> None:
    shop.writes.put_edge({"fromEntity": from_, "toEntity": to, "lineageDetails": details}, actor=JANE)


def last_event(shop: Company) -> LoggedEvent:
    return shop.log.read(0, 10_000)[-1]


def words(event: ChangeEvent) -> list[str]:
    return [reason.in_words() for reason in event.breaking_reasons or ()]


def delete(shop: Company, entity_type: str, fqn: str, *, hard: bool = False, recursive: bool = False) -> LoggedEvent:
    shop.writes.delete(entity_type, Key.by_name(fqn), actor=JANE, hard=hard, recursive=recursive)
    return last_event(shop)


def test_reasons_are_kept_with_the_event_and_what_has_none_says_nothing(shop: Company) -> None:
    shop.patch(("replace", "/columns/0/dataType", "INT"))
    narrowed = last_event(shop)
    assert words(narrowed.event) == ["column id BIGINT → INT"]
    assert (narrowed.derived[IS_BREAKING], str(narrowed.event.current_version)) == (True, "1.1")
    shop.patch(("replace", "/columns/0/dataType", "BIGINT"))
    widened = last_event(shop)
    assert words(widened.event) == []
    assert (widened.derived[IS_BREAKING], str(widened.event.current_version)) == (False, "2.1")
    assert "breakingReasons" not in widened.event.to_json()


def test_a_key_that_changes_raises_the_version_by_one(shop: Company) -> None:
    shop.patch(("add", "/tableConstraints", [{"constraintType": "PRIMARY_KEY", "columns": ["id"]}]))
    assert words(last_event(shop).event) == ["constraint PRIMARY KEY (id) added"]
    assert str(last_event(shop).event.current_version) == "1.1"
    shop.patch(("add", "/columns/1/constraint", "NOT_NULL"))
    assert words(last_event(shop).event) == ["column email made NOT NULL"]
    assert str(last_event(shop).event.current_version) == "2.1"


def test_what_is_deleted_while_something_reads_it_breaks_that(shop: Company) -> None:
    feed(shop, table("orders"), DASHBOARD)
    deleted = delete(shop, "table", ORDERS)
    assert words(deleted.event) == ["deleted while something reads it"]
    assert (deleted.derived[IS_BREAKING], str(deleted.event.current_version)) == (True, "0.2")
    assert words(delete(shop, "table", ORDERS, hard=True).event) == []  # it was gone already


def test_the_deletion_of_a_dashboard_that_something_reads_raises_its_version_by_one(shop: Company) -> None:
    feed(shop, DASHBOARD, table("orders"))
    deleted = delete(shop, "dashboard", "bi.revenue")
    assert (words(deleted.event), str(deleted.event.current_version)) == (["deleted while something reads it"], "1.1")
    document = shop.get("dashboard", "bi.revenue")
    assert [one.kind for one in reasons_of_version("dashboard", document)] == ["deletedWhileRead"]


def test_a_pipeline_and_a_hard_deletion_break_who_reads_what_they_move(shop: Company) -> None:
    feed(shop, table("orders"), DASHBOARD, pipeline=PIPELINE)
    deleted = delete(shop, "pipeline", "airflow.nightly", hard=True)
    assert words(deleted.event) == ["deleted while something reads it"]
    assert deleted.derived[IS_BREAKING] is True


def test_readers_that_are_gone_or_go_as_well_do_not_count(shop: Company) -> None:
    shop.writes.create("table", shop.table("a"), actor=JANE)
    feed(shop, table("orders"), table("a"))
    shop.writes.delete("databaseSchema", Key.by_name(SCHEMA), actor=JANE, recursive=True)
    assert [words(event) for event in shop.events_after(0) if event.event_type == "entitySoftDeleted"] == [[]] * 3
    shop.writes.restore("databaseSchema", shop.ids["public"], actor=JANE)
    feed(shop, table("orders"), DASHBOARD)
    shop.writes.delete("databaseSchema", Key.by_name(SCHEMA), actor=JANE, recursive=True)
    deletions = [event for event in shop.events_after(0) if event.event_type == "entitySoftDeleted"][-3:]
    assert {str(event.entity_fully_qualified_name): words(event) for event in deletions} == {
        ORDERS: ["deleted while something reads it"],
        f"{SCHEMA}.a": [],
        SCHEMA: [],
    }


def test_a_deleted_reader_does_not_read(shop: Company) -> None:
    feed(shop, table("orders"), DASHBOARD)
    delete(shop, "dashboard", "bi.revenue")
    deleted = delete(shop, "table", ORDERS)
    assert (words(deleted.event), str(deleted.event.current_version)) == ([], "0.2")


def test_conditions_judge_an_event_of_an_earlier_release_by_its_change(shop: Company, store_engine: Engine) -> None:
    shop.patch(("remove", "/columns/0", None))
    with store_engine.begin() as connection:
        connection.execute(text("UPDATE change_event SET derived = replace(derived, 'isBreaking', 'wasUnknown')"))
    old = last_event(shop)
    assert IS_BREAKING not in old.derived
    assert values_of(IS_BREAKING, old) == (True,)
    assert values_of(IS_BREAKING, shop.log.read(0, 1)[0]) == (False,)
