"""Tests of inherited owners and domains."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine, select, update
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.catalogue.writes import BulkWrites
from tocsin.model.entity import Document
from tocsin.model.inheritance import types_above
from tocsin.model.notification import ReasonKind
from tocsin.model.stored import Key
from tocsin.store.database.tables import entity
from tocsin.store.migrations.versions.v0027_domains_of_products import fill
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.upkeep.fsck.inspection import inspect

ENTRY = ("table", ORDERS)


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    _assign_owner(sample_company, "databaseService", "pg", "john.doe")
    sample_company.patch(
        ("add", "/domains", [{"type": "domain", "id": sample_company.ids["commerce"]}]),
        entity_type="database",
        fqn="pg.shop",
    )
    return sample_company


def _assign_owner(shop: Company, entity_type: str, fqn: str, name: str) -> None:
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
    _assign_owner(shop, "databaseSchema", SCHEMA, "jane")
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
    answer = shop.patch(("replace", "/owners/0", {"type": "user", "id": shop.ids["john.doe"]}))
    assert [one.get("inherited") for one in answer.document["owners"]] == [None]


def test_the_owners_who_are_notified_are_the_inherited_ones(shop: Company, store_engine: Engine) -> None:
    def owner_ids() -> list[str]:
        principals = SqlDirectory(store_engine).stakeholders([shop.ids["orders"]], ReasonKind.OWNER)
        return [principal.principal_id for principal in principals]

    assert owner_ids() == [shop.ids["john.doe"]]
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE, hard=True)
    assert owner_ids() == [shop.ids["john.doe"]]


def _product(shop: Company) -> Document:
    """Return a data product of a domain below ``commerce``, made by a bulk request."""
    domain = {"name": "retail", "parent": "commerce", "domainType": "Aggregate", "description": "x"}
    shop.writes.create("domain", domain, actor=JANE)
    request = {"name": "parcel", "description": "x", "domains": ["commerce.retail"]}
    BulkWrites(shop.catalogue, shop.clock).put("dataProduct", [request], actor=JANE)
    return shop.get("dataProduct", "parcel")


def test_a_data_product_inherits_the_owners_of_its_domain(shop: Company, store_engine: Engine) -> None:
    """Like an asset of its container: on reading, in events, and for recipients at the event's place."""
    _assign_owner(shop, "domain", "commerce", "jane")
    product = _product(shop)
    event = shop.log.read(shop.log.readable_end() - 1, 1)[0].event
    assert event.entity is not None
    assert [(one["name"], one["inherited"]) for one in event.entity["owners"]] == [("jane", True)]
    shop.writes.create("domain", {"name": "other", "domainType": "Aggregate", "description": "x"}, actor=JANE)
    _assign_owner(shop, "domain", "other", "john.doe")
    before = shop.log.readable_end()
    other_domain = {"type": "domain", "id": shop.get("domain", "other")["id"]}
    shop.patch(("replace", "/domains", [other_domain]), entity_type="dataProduct", fqn="parcel")
    owners = list(SqlDirectory(store_engine).stakeholders([product["id"]], ReasonKind.OWNER))
    names = {identity: name for name, identity in shop.ids.items()}
    spans = {names[one.principal_id]: (one.since_offset <= before, one.until_offset > before) for one in owners}
    assert spans == {"jane": (True, False), "john.doe": (False, True)}
    assert inspect(store_engine, deep=True).findings == []


def test_stored_data_products_get_the_place_of_their_domain(shop: Company, store_engine: Engine) -> None:
    _product(shop)
    with store_engine.begin() as connection:
        is_product = entity.c.entity_type == "dataProduct"
        parents = connection.execute(select(entity.c.parent_id).where(is_product)).scalars().all()
        connection.execute(update(entity).where(is_product).values(parent_id=None))
        connection.exec_driver_sql(fill(connection.dialect.name))
        assert connection.execute(select(entity.c.parent_id).where(is_product)).scalars().all() == parents != [None]


@pytest.mark.parametrize("is_erased", [False, True])
def test_a_transaction_sees_what_it_changes_itself(shop: Company, is_erased: bool) -> None:
    with shop.catalogue.transaction() as transaction:
        service = transaction.find("databaseService", Key.by_name("pg"))
        jane = transaction.reference("user", Key.by_name("jane"))
        assert service is not None and jane is not None
        assert [one["name"] for one in transaction.heritage(*ENTRY)["owners"]] == ["john.doe"]
        if is_erased:
            john = transaction.find("user", Key.by_name("john.doe"))
            assert john is not None
            transaction.erase([john])
        else:
            version = service.version + 1
            document = service.document | {"owners": [jane]}
            transaction.update(service, replace(service, document=document, version=version))
        owners = transaction.heritage(*ENTRY).get("owners", [])
        assert [one["id"] for one in owners] == ([] if is_erased else [jane["id"]])


def test_another_change_of_the_asset_looks_up_its_heritage_once(shop: Company) -> None:
    with shop.catalogue.transaction() as transaction:
        orders = transaction.find("table", Key.by_name(ORDERS))
        assert orders is not None
        before = transaction.heritage(*ENTRY)
        transaction.update(orders, replace(orders, document=orders.document | {"description": "x"}))
        assert transaction.heritage(*ENTRY) is before
