"""Tests of what people wrote last: after every way to write, and worked out from the versions of older releases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, select, update
from tests.store.catalogues import JANE, ORDERS, Company, add_tags, company

from tocsin.catalogue.writes import BulkWrites
from tocsin.model.entity import Document
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Written
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import entity

ROBOT = "robot"


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def robot(shop: Company) -> Actor:
    return Actor(shop.ids[ROBOT], ROBOT, is_bot=True)


def put(shop: Company, **fields: Any) -> Document:
    return shop.writes.upsert("table", shop.table(**fields), actor=robot(shop)).document


def curated_paths(engine: Engine) -> str | None:
    with reading(engine) as connection:
        paths: str | None = connection.execute(select(entity.c.curated).where(entity.c.fqn == ORDERS)).scalar_one()
    return paths


def forget(engine: Engine) -> None:
    """Leave the store as an older release did."""
    with writing(engine) as connection:
        connection.execute(update(entity).values(curated=None))


def test_it_holds_the_paths_that_people_wrote_last(shop: Company, store_engine: Engine) -> None:
    add_tags(shop.writes, "PII.Sensitive")
    assert curated_paths(store_engine) == ""  # the system made it
    label = {"tagFQN": "PII.Sensitive"}
    shop.patch(
        ("add", "/description", "Jane."), ("add", "/columns/1/tags", [label]), ("add", "/columns/0/displayName", "N")
    )
    assert (
        curated_paths(store_engine)
        == '["columns.email.tags.\\"PII.Sensitive\\"","columns.id.displayName","description"]'
    )
    shop.writes.patch("table", Key.by_name(ORDERS), [_set("/description", "Robot.")], actor=robot(shop))
    assert "description" not in str(curated_paths(store_engine))
    shop.patch(("remove", "/columns/0", None))
    assert curated_paths(store_engine) == '["columns.email.tags.\\"PII.Sensitive\\""]'


@pytest.mark.parametrize("is_bulk", [False, True])
def test_older_stores_have_it_in_their_versions(shop: Company, store_engine: Engine, *, is_bulk: bool) -> None:
    put(shop, description="Robot.", displayName="Robot")
    shop.patch(("replace", "/description", "Jane."), ("add", "/columns/1/description", "Jane."))
    forget(store_engine)
    columns = shop.table()["columns"]
    columns[1]["description"] = "Robot."
    request = shop.table(description="Again.", displayName="New", columns=columns)
    if is_bulk:
        (outcome,) = BulkWrites(shop.catalogue, shop.clock).put("table", [request], actor=robot(shop))
        assert isinstance(outcome, Written)
    else:
        put(shop, **request)
    after = shop.get("table", ORDERS)
    assert (after["description"], after["displayName"]) == ("Jane.", "New")
    assert after["columns"][1]["description"] == "Jane."
    assert curated_paths(store_engine) == '["columns.email.description","description"]'


def test_a_put_that_changes_nothing_works_nothing_out(shop: Company, store_engine: Engine) -> None:
    put(shop, description="Robot.")
    forget(store_engine)
    put(shop, description="Robot.")
    assert curated_paths(store_engine) is None


def test_a_bot_that_is_gone_for_good_wrote_its_values(shop: Company, store_engine: Engine) -> None:
    put(shop, description="Robot.")
    forget(store_engine)
    android = {"name": "android", "email": "android@example.org", "isBot": True}
    later_bot = Actor(shop.writes.create("user", android, actor=JANE).document["id"], "android", is_bot=True)
    shop.writes.delete("user", Key.by_id(shop.ids[ROBOT]), actor=JANE, hard=True)
    again = shop.writes.upsert("table", shop.table(description="Android."), actor=later_bot)
    assert again.document["description"] == "Android."


@pytest.mark.parametrize("was_bot", [True, False])
def test_who_gets_the_name_of_somebody_gone_did_not_write_their_values(
    shop: Company, store_engine: Engine, *, was_bot: bool
) -> None:
    def create(name: str, *, is_bot: bool) -> Actor:
        request = {"name": name, "email": f"{name}-{is_bot}@example.org", "isBot": is_bot}
        return Actor(shop.writes.create("user", request, actor=JANE).document["id"], name, is_bot=is_bot)

    first = create("first", is_bot=was_bot)
    shop.clock.advance(1_000)
    shop.writes.patch("table", Key.by_name(ORDERS), [_set("/description", "First.")], actor=first)
    forget(store_engine)
    shop.writes.delete("user", Key.by_id(first.id), actor=JANE, hard=True)
    shop.clock.advance(1_000)
    create("first", is_bot=not was_bot)
    put(shop, description="Robot.")
    assert shop.get("table", ORDERS)["description"] == ("Robot." if was_bot else "First.")


def test_a_soft_deleted_entity_comes_back_with_what_people_wrote(shop: Company) -> None:
    shop.patch(("add", "/description", "Jane."))
    shop.writes.delete("table", Key.by_name(ORDERS), actor=robot(shop))
    assert put(shop, description="Robot.")["description"] == "Jane."


def test_an_edit_that_is_taken_back_is_nobodys(shop: Company, store_engine: Engine) -> None:
    put(shop, description="Robot.")
    shop.patch(("add", "/description", "Jane."))
    shop.patch(("add", "/description", ""))
    assert put(shop, description="Again.")["description"] == "Again."


def _set(path: str, value: str) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}
