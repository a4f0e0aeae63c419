"""Tests of inherited owners and domains."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.model.inheritance import types_above
from tocsin.model.notification import ReasonKind
from tocsin.model.stored import Key
from tocsin.store.alerts.directory import SqlDirectory

ENTRY = ("table", ORDERS)


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    made = company(store_engine)
    _own(made, "databaseService", "pg", "john.doe")
    made.patch(
        ("add", "/domains", [{"type": "domain", "id": made.ids["commerce"]}]), entity_type="database", fqn="pg.shop"
    )
    return made


def _own(shop: Company, entity_type: str, fqn: str, name: str) -> None:
    owner = {"type": "user", "id": shop.ids[name]}
    shop.patch(("add", "/owners", [owner]), entity_type=entity_type, fqn=fqn)


def _owners(shop: Company) -> list[str]:
    return [one["name"] for one in shop.catalogue.heritage([ENTRY])[ENTRY].get("owners", ())]


def test_what_a_type_may_lie_under_is_known() -> None:
    assert types_above("table") == ("database", "databaseSchema", "databaseService")
    assert types_above("glossaryTerm") == ("glossary", "glossaryTerm")
    assert types_above("user") == ()
    assert "table" in types_above("testCase")


def test_the_nearest_that_has_some_counts_and_each_key_by_itself(shop: Company) -> None:
    assert _owners(shop) == ["john.doe"]
    _own(shop, "databaseSchema", SCHEMA, "jane")
    assert _owners(shop) == ["jane"]
    heritage = shop.catalogue.heritage([ENTRY, ("databaseService", "pg"), ("table", "pg.other.x.y")])
    assert [one["name"] for one in heritage[ENTRY]["domains"]] == ["commerce"]
    assert heritage.get(("databaseService", "pg"), {}) == {}
    assert [one["name"] for one in heritage["table", "pg.other.x.y"]["owners"]] == ["john.doe"]


def test_an_event_contains_what_is_inherited_and_the_document_does_not(shop: Company) -> None:
    written = shop.patch(("add", "/description", "x"))
    assert "owners" not in written.document
    assert written.event is not None
    assert written.event.entity is not None
    assert [(one["name"], one["inherited"]) for one in written.event.entity["owners"]] == [("john.doe", True)]
    assert written.event.domains == (shop.ids["commerce"],)
    logged = shop.log.read(shop.log.readable_end() - 1, 10)[0]
    assert (logged.derived["owners"], logged.derived["domains"]) == (["john.doe"], ["commerce"])


def test_an_inherited_owner_that_was_read_is_not_stored(shop: Company) -> None:
    jane = {"type": "user", "id": shop.ids["jane"]}
    beside = shop.patch(("add", "/owners/1", jane))
    assert [one["name"] for one in beside.document["owners"]] == ["jane"]
    assert [change.name for change in beside.event.change_description.fields_added] == ["owners"]  # type: ignore[union-attr]
    shop.patch(("remove", "/owners", None))
    assert shop.patch(("remove", "/owners/0", None)).event is None
    taken = shop.patch(("replace", "/owners/0", {"type": "user", "id": shop.ids["john.doe"]}))
    assert [one.get("inherited") for one in taken.document["owners"]] == [None]


def test_the_owners_who_are_notified_are_the_inherited_ones(shop: Company, store_engine: Engine) -> None:
    def notified() -> list[str]:
        principals = SqlDirectory(store_engine).stakeholders([shop.ids["orders"]], ReasonKind.OWNER)
        return [principal.principal_id for principal in principals]

    assert notified() == [shop.ids["john.doe"]]
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, hard=True)
    assert notified() == [shop.ids["john.doe"]]
