"""Tests of reading entities: by page, by filter, by person, by membership."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, add_tags, company

from tocsin.errors import InvalidInput, NotFound
from tocsin.model.people import Person
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.catalogue.people.identities import People


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _names(shop: Company, listing: Listing, entity_type: str = "table") -> list[str]:
    page = shop.catalogue.list_entities(entity_type, listing)
    assert page.total == len(page.documents)
    return [document["name"] for document in page.documents]


def test_pages_follow_one_another_forwards_and_backwards(shop: Company) -> None:
    for number in range(6):
        shop.writes.create("table", shop.table(f"t ü/{number}"), actor=JANE)
    all_fqns = [
        document["fullyQualifiedName"] for document in shop.catalogue.list_entities("table", Listing()).documents
    ]
    assert all_fqns == sorted(all_fqns)
    assert len(all_fqns) == 7

    forwards, page = [], shop.catalogue.list_entities("table", Listing(limit=3))
    assert page.before is None
    forwards += page.documents
    while page.after:
        assert re.fullmatch(r"[A-Za-z0-9_-]+", page.after)
        page = shop.catalogue.list_entities("table", Listing(limit=3, after=page.after))
        forwards += page.documents
    assert [document["fullyQualifiedName"] for document in forwards] == all_fqns

    backwards = page.documents
    while page.before:
        page = shop.catalogue.list_entities("table", Listing(limit=3, before=page.before))
        backwards = page.documents + backwards
    assert [document["fullyQualifiedName"] for document in backwards] == all_fqns
    assert page.total == 7


def test_a_page_of_none_counts(shop: Company) -> None:
    page = shop.catalogue.list_entities("table", Listing(limit=0))
    assert (page.documents, page.total, page.after) == ([], 1, None)


@pytest.mark.parametrize("cursor", ["!", "é", "_w"])
def test_a_cursor_that_is_none_of_ours_is_refused(shop: Company, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        shop.catalogue.list_entities("table", Listing(after=cursor))


def test_entities_are_filtered_by_ancestor_tag_owner_name_and_deletedness(shop: Company) -> None:
    add_tags(shop.writes, "PII.Email")
    shop.writes.create("table", shop.table("100%_sure"), actor=JANE)
    shop.patch(
        ("add", "/columns/0/tags/0", {"tagFQN": "PII.Email"}),
        ("add", "/owners/0", {"id": shop.ids["john.doe"], "type": "user"}),
    )
    for under in ("pg", "pg.shop", SCHEMA):
        assert _names(shop, Listing(under=under)) == ["100%_sure", "orders"]
    assert _names(shop, Listing(under="pg.sho")) == []
    assert _names(shop, Listing(tags=("PII.Email", "Other.Tag"))) == ["orders"]
    assert _names(shop, Listing(tags=("Other.Tag",))) == []
    for owner in (shop.ids["john.doe"], "john.doe"):
        assert _names(shop, Listing(owner=owner)) == ["orders"]
    assert _names(shop, Listing(name_prefix="100%_")) == ["100%_sure"]
    assert _names(shop, Listing(name_prefix="1%")) == []
    shop.writes.delete("table", Key.by_name(ORDERS), actor=JANE)
    assert _names(shop, Listing()) == ["100%_sure"]
    assert _names(shop, Listing(include="deleted")) == ["orders"]
    assert _names(shop, Listing(include="all")) == ["100%_sure", "orders"]


def test_an_entity_is_got_by_id_and_by_name_if_it_is_as_deleted_as_asked(shop: Company) -> None:
    orders = shop.ids["orders"]
    assert shop.catalogue.get("table", Key.by_id(orders)) == shop.catalogue.get("table", Key.by_name(ORDERS))
    for entity_type, key in (("dashboard", Key.by_id(orders)), ("table", Key.by_name("nowhere"))):
        with pytest.raises(NotFound):
            shop.catalogue.get(entity_type, key)
    with pytest.raises(NotFound):
        shop.catalogue.get("table", Key.by_id(orders), include="deleted")


def test_tags_that_go_are_no_longer_found_by(shop: Company) -> None:
    add_tags(shop.writes, "A.b", "A.c")
    shop.patch(("add", "/tags/0", {"tagFQN": "A.b"}), ("add", "/tags/1", {"tagFQN": "A.c"}))
    shop.patch(("remove", "/tags/0", None))
    assert _names(shop, Listing(tags=("A.b",))) == []
    assert _names(shop, Listing(tags=("A.c",))) == ["orders"]


def test_a_person_is_what_their_document_says(shop: Company, store_engine: Engine) -> None:
    people = People(store_engine)
    john = Person(shop.ids["john.doe"], "john.doe", email="john@example.org", is_admin=True)
    assert people.by_id(john.id) == john
    key = Key.by_id(john.id)
    shop.writes.patch("user", key, [{"op": "add", "path": "/displayName", "value": "John"}], actor=JANE)
    shop.writes.delete("user", key, actor=JANE)
    assert people.by_id(john.id) == john._replace(display_name="John", deleted=True)
    assert people.by_id("nobody") is None


def test_a_teams_members_and_a_users_teams_are_the_same_thing(shop: Company) -> None:
    jane, john, sales = (shop.ids[name] for name in ("jane", "john.doe", "sales"))
    shop.writes.upsert("team", {"name": "sales", "users": [jane]}, actor=JANE)
    shop.writes.upsert("user", {"name": "john.doe", "email": "john@example.org", "teams": [sales]}, actor=JANE)
    assert [user["name"] for user in shop.get("team", "sales")["users"]] == ["john.doe", "jane"]
    assert [team["name"] for team in shop.get("user", "jane")["teams"]] == ["sales"]
    listed = shop.catalogue.list_entities("team", Listing()).documents
    assert [[user["id"] for user in team["users"]] for team in listed] == [[john, jane]]
    shop.patch(("remove", "/users/0", None), fqn="sales", entity_type="team")
    assert "teams" not in shop.get("user", "john.doe")
    assert shop.writes.upsert("team", {"name": "sales"}, actor=JANE).event is None


def test_members_that_come_and_go_are_reported(shop: Company) -> None:
    written = shop.writes.upsert("team", {"name": "sales", "users": [shop.ids["jane"]]}, actor=JANE)
    assert written.event is not None
    assert written.event.change_description is not None
    assert [change.name for change in written.event.change_description.fields_added] == ["users"]


def test_what_somebody_owns_is_listed(shop: Company) -> None:
    shop.patch(("add", "/owners/0", {"id": shop.ids["sales"], "type": "team"}))
    assert [one["fullyQualifiedName"] for one in shop.catalogue.owns(shop.ids["sales"])] == [ORDERS]
