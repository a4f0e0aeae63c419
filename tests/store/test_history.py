"""Tests of reading an entity as of a point in time, also after its deletion."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, Company, company

from tocsin.errors import NotFound
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities.history import History


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    for text in ("a", "b"):
        sample_company.clock.advance(1_000)
        sample_company.patch(("add", "/description", text))
    return sample_company


def test_the_version_of_a_moment_is_the_newest_that_was_there(shop: Company, store_engine: Engine) -> None:
    history, now_ms = History(store_engine), shop.clock.now_ms()
    for key in (Key.by_id(shop.ids["orders"]), Key.by_name(ORDERS)):
        at = [history.as_of("table", key, now_ms - ago)["version"] for ago in (2_000, 1_001, 1_000, 1, 0, -(10**9))]
        assert at == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3]
        with pytest.raises(NotFound):
            history.as_of("table", key, now_ms - 2_001)


def test_what_is_gone_is_found_by_id_until_it_went(shop: Company, store_engine: Engine) -> None:
    history, key = History(store_engine), Key.by_id(shop.ids["orders"])
    shop.clock.advance(1_000)
    shop.writes.delete("table", key, actor=JANE, hard=True)
    now_ms = shop.clock.now_ms()
    assert history.as_of("table", key, now_ms - 1)["version"] == 0.3
    assert history.newest("table", key)["version"] == 0.3
    for kind, at_ms in (("table", now_ms), ("dashboard", now_ms - 1)):
        with pytest.raises(NotFound):
            history.as_of(kind, key, at_ms)
    with pytest.raises(NotFound):
        history.as_of("table", Key.by_name(ORDERS), now_ms - 1)


def test_versions_are_found_by_number_and_by_what_comes_next(shop: Company, store_engine: Engine) -> None:
    history, key = History(store_engine), Key.by_name(ORDERS)
    assert history.version("table", key, "0.2")["description"] == "a"
    assert history.newest("table", key, before="0.3")["version"] == 0.2
    with pytest.raises(NotFound):
        history.version("table", key, "9")
    with pytest.raises(NotFound):
        history.newest("table", key, before="0.1")
