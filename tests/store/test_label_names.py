"""Tests of labels in earlier versions, after renames of their tags: by the names of a moment, and by those of now."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, func, select
from tests.store.catalogues import JANE, ORDERS, Company, add_tags, company

from tocsin.catalogue.writes import Writes
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.history import History
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.database.entity_tables import relabelling
from tocsin.store.upkeep.fsck.inspection import inspect

_MINUTE = 60_000


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    """A company whose table carries the tag ``PII.Old``."""
    sample_company = company(store_engine)
    add_tags(sample_company.writes, "PII.Old")
    _tag(sample_company, "PII.Old")
    return sample_company


def _tag(shop: Company, fqn: str) -> None:
    shop.clock.advance(_MINUTE)
    shop.patch(("add", "/tags/-", {"tagFQN": fqn, "source": "Classification"}))


def _rename(shop: Company, fqn: str, name: str) -> None:
    shop.clock.advance(_MINUTE)
    shop.patch(("replace", "/name", name), entity_type="tag", fqn=fqn)


def _tags(document: Document) -> list[str]:
    return [label["tagFQN"] for label in document["tags"]]


def test_a_new_tag_with_an_earlier_name_is_another_one(shop: Company, store_engine: Engine) -> None:
    _rename(shop, "PII.Old", "New")
    between_ms = shop.clock.now_ms()
    add_tags(shop.writes, "PII.Old")
    _tag(shop, "PII.Old")
    history, key = History(store_engine), Key.by_id(shop.ids["orders"])
    assert _tags(history.as_of("table", key, between_ms - 1)) == ["PII.Old"]
    assert _tags(history.as_of("table", key, between_ms)) == ["PII.New"]
    assert _tags(history.as_of("table", key, shop.clock.now_ms())) == ["PII.New", "PII.Old"]
    _rename(shop, "PII.Old", "Newest")
    assert _tags(history.version("table", key, "0.2")) == ["PII.New"]
    assert _tags(history.newest("table", key)) == ["PII.New", "PII.Newest"]
    assert inspect(store_engine, deep=True).findings == []


def test_a_name_that_comes_back_is_the_same_tag(shop: Company, store_engine: Engine) -> None:
    for old, new in (("Old", "New"), ("New", "Old")):
        _rename(shop, f"PII.{old}", new)
    assert _tags(shop.get("table", ORDERS)) == ["PII.Old"]
    assert shop.get("table", ORDERS)["version"] == 0.2
    assert inspect(store_engine, deep=True).findings == []


def test_edits_around_a_rename_share_a_version(shop: Company, store_engine: Engine) -> None:
    writes = Writes(shop.catalogue, shop.clock, consolidate_ms=10 * _MINUTE)
    key = Key.by_name(ORDERS)

    def describe(text: str) -> Document:
        return writes.patch("table", key, [{"op": "add", "path": "/description", "value": text}], actor=JANE).document

    shop.clock.advance(60 * _MINUTE)
    assert describe("a")["version"] == 0.3
    _rename(shop, "PII.Old", "New")
    after = describe("b")
    assert (after["version"], _tags(after)) == (0.3, ["PII.New"])
    changes = after["changeDescription"]
    assert [[one["name"] for one in changes[f"fields{how}"]] for how in ("Added", "Updated", "Deleted")] == [
        ["description"],
        [],
        [],
    ]
    assert inspect(store_engine, deep=True).findings == []
    _rename(shop, "PII.New", "Newest")
    undone = describe("")
    assert (undone["version"], _tags(undone)) == (0.2, ["PII.Newest"])
    assert inspect(store_engine, deep=True).findings == []


def test_lists_find_what_carries_a_label_by_its_new_name(shop: Company) -> None:
    _rename(shop, "PII.Old", "New")
    listed = {tag: shop.catalogue.list_entities("table", Listing(tags=(tag,))).documents for tag in _BOTH}
    assert {tag: len(documents) for tag, documents in listed.items()} == {"PII.Old": 0, "PII.New": 1}


def test_a_rename_that_is_taken_back_leaves_nothing(shop: Company, store_engine: Engine) -> None:
    with pytest.raises(InvalidInput):
        shop.writes.rehearsal().patch("tag", Key.by_name("PII.Old"), [_TO_NOTHING], actor=JANE)
    shop.writes.rehearsal().patch("tag", Key.by_name("PII.Old"), [_TO_NEW], actor=JANE)
    assert _tags(shop.get("table", ORDERS)) == ["PII.Old"]
    with store_engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(relabelling)).scalar_one() == 0


_BOTH = ("PII.Old", "PII.New")
_TO_NEW = {"op": "replace", "path": "/name", "value": "New"}
_TO_NOTHING = {"op": "replace", "path": "/name", "value": ""}
