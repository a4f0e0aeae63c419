"""Tests of nested references: none dangles after a deletion, and fsck finds those that do."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, delete, select
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.stored import Key
from tocsin.store.database import tables
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.upkeep.fsck.finding import Damage
from tocsin.store.upkeep.fsck.inspection import inspect

_CASE = {"name": "not_null", "entityLink": f"<#E::table::{ORDERS}::columns::id>", "testDefinition": "notNull"}
_TERM = {"description": "x", "glossary": "Words"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    sample_company.writes.create("glossary", {"name": "Words", "description": "x"}, actor=JANE)
    for name, related in (("Sale", []), ("Order", ["Words.Sale"]), ("Basket", ["Words.Sale", "Words.Order"])):
        sample_company.writes.create("glossaryTerm", {"name": name, "relatedTerms": related, **_TERM}, actor=JANE)
    sample_company.writes.create("testCase", _CASE, actor=JANE)
    return sample_company


def _related_terms(shop: Company, fqn: str) -> list[str]:
    return [one["term"]["fullyQualifiedName"] for one in shop.get("glossaryTerm", fqn).get("relatedTerms", [])]


def test_related_terms_leave_with_the_term_one_event_each(shop: Company, store_engine: Engine) -> None:
    end = shop.log.readable_end()
    shop.writes.delete("glossaryTerm", Key.by_name("Words.Sale"), actor=JANE, hard=True)
    assert (_related_terms(shop, "Words.Order"), _related_terms(shop, "Words.Basket")) == ([], ["Words.Order"])
    notified = [(event.event_type.value, event.entity_fully_qualified_name) for event in shop.events_after(end)]
    assert sorted(notified) == [
        ("entityDeleted", "Words.Sale"),
        ("entityUpdated", "Words.Basket"),
        ("entityUpdated", "Words.Order"),
    ]
    assert inspect(store_engine, deep=True).findings == []


def test_related_terms_follow_a_new_name(shop: Company, store_engine: Engine) -> None:
    shop.patch(("replace", "/name", "Purchase"), fqn="Words.Sale", entity_type="glossaryTerm")
    assert _related_terms(shop, "Words.Order") == ["Words.Purchase"]
    assert inspect(store_engine, deep=True).findings == []


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("container", ["testDefinition", "testSuite"])
@pytest.mark.soak_on_postgresql
def test_test_cases_go_with_their_definition_or_suite(
    shop: Company, store_engine: Engine, container: str, hard: bool
) -> None:
    key = Key.by_name("notNull" if container == "testDefinition" else f"{ORDERS}.testSuite")
    with pytest.raises(InvalidInput, match="is not empty"):
        shop.writes.delete(container, key, actor=JANE, hard=hard)
    written = shop.writes.delete(container, key, actor=JANE, hard=hard, recursive=True)
    assert [event.entity_type for event in written.cascaded] == ["testCase"]
    case = Key.by_name(f"{ORDERS}.id.not_null")
    with pytest.raises(NotFound):
        shop.catalogue.get("testCase", case)
    if not hard:
        shop.writes.restore(container, written.document["id"], actor=JANE)
        assert shop.catalogue.get("testCase", case)["deleted"] is False
    assert inspect(store_engine, deep=True).findings == []


def test_custom_properties_lose_what_is_gone(shop: Company, store_engine: Engine) -> None:
    for kind in ("entityReference", "entityReferenceList", "string"):
        request = {"name": kind, "category": "field", "description": "x", "nameSpace": "x", "schema": "{}"}
        shop.writes.create("type", request, actor=JANE)
    table_type = shop.writes.create(
        "type",
        {"name": "table", "category": "entity", "description": "x", "nameSpace": "x", "schema": "{}"},
        actor=JANE,
    )
    for name, kind in (("steward", "entityReference"), ("also", "entityReferenceList"), ("word", "string")):
        custom_property = {"name": name, "description": "x", "propertyType": {"type": "type", "name": kind}}
        shop.writes.put_property(Key.by_id(table_type.document["id"]), custom_property, actor=JANE)
    people = [{"id": shop.ids[name], "type": "user"} for name in ("jane", "john.doe")]
    shop.patch(("add", "/extension", {"steward": people[0], "also": people, "word": "x"}))
    with pytest.raises(NotFound, match="steward"):
        shop.patch(("add", "/extension/steward", {"id": "00000000-0000-4000-8000-00000000dead", "type": "user"}))
    shop.writes.delete("user", Key.by_id(shop.ids["jane"]), actor=JANE, hard=True)
    extension = shop.get("table", ORDERS)["extension"]
    assert (extension.keys(), [one["id"] for one in extension["also"]]) == ({"also", "word"}, [shop.ids["john.doe"]])
    with pytest.raises(InvalidInput, match="uses this type"):
        shop.writes.delete("type", Key.by_name("string"), actor=JANE, hard=True)
    assert inspect(store_engine, deep=True).findings == []


def test_a_dangling_reference_inside_a_document_is_found(shop: Company, store_engine: Engine) -> None:
    with store_engine.begin() as connection:
        term = connection.scalar(select(tables.entity.c.id).where(tables.entity.c.fqn == "Words.Sale"))
        connection.execute(delete(tables.entity).where(tables.entity.c.id == term))
        field_query = select(entity_reference.c.field).where(entity_reference.c.target_id == term)
        assert set(connection.scalars(field_query)) == {"relatedTerms"}
    damage_counts = inspect(store_engine).counts
    assert damage_counts[Damage.DANGLING] == 2
