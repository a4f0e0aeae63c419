"""Tests of concurrent writes on both stores: all succeed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, ORDERS, SCHEMA, Company, company

from tocsin.errors import Conflict, NotFound, Unavailable
from tocsin.model.stored import Key


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    return company(store_engine)


def _call_at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make all calls at the same moment; an expected failure is returned as what came of its call."""
    together = Barrier(len(calls))

    def make(call: Callable[[], Any]) -> Any:
        together.wait()
        try:
            return call()
        except (Conflict, NotFound) as refused:
            return refused

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(make, calls))


def test_patches_of_one_entity_at_the_same_moment_all_land(shop: Company) -> None:
    def patch(number: int) -> Callable[[], Any]:
        return lambda: shop.patch(("add", f"/extension/key{number}", number))

    _call_at_once(*(patch(number) for number in range(8)))
    table = shop.get("table", ORDERS)
    assert table["extension"] == {f"key{number}": number for number in range(8)}
    assert table["version"] == 0.9
    assert [one["version"] for one in shop.catalogue.versions(shop.ids["orders"])] == [n / 10 for n in range(9, 0, -1)]


class _Interrupted(list[Any]):
    """Operations of a patch; somebody else writes whenever they are about to be applied."""

    def __init__(self, operations: list[Any], between: Callable[[], Any]) -> None:
        super().__init__(operations)
        self.between = between

    def __iter__(self) -> Iterator[Any]:
        self.between()
        return super().__iter__()


def _long_patch(operations: int = 200) -> list[Any]:
    return [{"op": "add", "path": f"/extension/mine{at}", "value": at} for at in range(operations)]


def test_others_write_while_a_long_patch_is_applied_and_both_land(shop: Company) -> None:
    numbers = iter(range(2))

    def write() -> None:
        if (number := next(numbers, None)) is not None:
            shop.patch(("add", f"/extension/theirs{number}", number))

    patch = _Interrupted(_long_patch(), write)
    shop.writes.patch("table", Key.by_name(ORDERS), patch, actor=JANE)
    table = shop.get("table", ORDERS)
    assert table["extension"] == {f"mine{n}": n for n in range(200)} | {"theirs0": 0, "theirs1": 1}
    assert table["version"] == 0.4


def test_a_long_patch_of_what_others_keep_changing_is_given_up(shop: Company) -> None:
    count = itertools.count()
    patch = _Interrupted(_long_patch(), lambda: shop.patch(("add", "/extension/theirs", next(count))))
    with pytest.raises(Unavailable, match="Send it again"):
        shop.writes.patch("table", Key.by_name(ORDERS), patch, actor=JANE)
    assert list(shop.get("table", ORDERS)["extension"]) == ["theirs"]


def test_one_of_several_creations_at_the_same_moment_wins(shop: Company) -> None:
    outcomes = _call_at_once(*(lambda: shop.writes.create("table", shop.table("new"), actor=JANE) for _ in range(6)))
    assert sorted(type(one).__name__ for one in outcomes) == ["Conflict"] * 5 + ["Written"]


def test_puts_of_something_new_at_the_same_moment_make_one_entity(shop: Company) -> None:
    end = shop.log.readable_end()

    def put(number: int) -> Callable[[], Any]:
        return lambda: shop.writes.upsert("table", shop.table("new", extension={"number": number}), actor=JANE)

    written = _call_at_once(*(put(number) for number in range(6)))
    assert len({one.document["id"] for one in written}) == 1
    assert sorted(one.created for one in written) == [False] * 5 + [True]
    assert len(shop.events_after(end)) == 6


def test_the_first_test_cases_of_a_table_share_one_suite(shop: Company) -> None:
    def add(number: int) -> Callable[[], Any]:
        request = {"name": f"c{number}", "entityLink": f"<#E::table::{ORDERS}>", "testDefinition": "hasRows"}
        return lambda: shop.writes.create("testCase", request, actor=JANE)

    creations = _call_at_once(*(add(number) for number in range(5)))
    assert len({one.document["testSuite"]["id"] for one in creations}) == 1


def test_an_address_is_one_persons_however_many_ask_for_it_at_the_same_moment(shop: Company) -> None:
    def create(number: int) -> Callable[[], Any]:
        return lambda: shop.writes.create("user", {"name": f"u{number}", "email": "new@example.org"}, actor=JANE)

    def patch(name: str) -> Callable[[], Any]:
        return lambda: shop.patch(("replace", "/email", "new@example.org"), fqn=name, entity_type="user")

    outcomes = _call_at_once(*(create(number) for number in range(4)), patch("jane"), patch("robot"))
    refused = [one for one in outcomes if isinstance(one, Conflict)]
    assert len(refused) == 5
    assert all("new@example.org is already used by the user" in one.message for one in refused)


def test_follows_at_the_same_moment_are_one_follow(shop: Company) -> None:
    end = shop.log.readable_end()
    orders, jane = shop.ids["orders"], shop.ids["jane"]
    _call_at_once(*(lambda: shop.writes.follow("table", orders, jane, actor=JANE) for _ in range(5)))
    assert len(shop.catalogue.followers(orders)) == 1
    assert len(shop.events_after(end)) == 1


@pytest.mark.parametrize("hard", [False, True])
def test_nothing_is_left_under_what_goes_while_something_is_added(shop: Company, hard: bool) -> None:
    for number in range(5):
        name = f"s{number}"
        shop.writes.create("databaseSchema", {"name": name, "database": "pg.shop"}, actor=JANE)
        fqn = f"pg.shop.{name}"

        def delete(fqn: str = fqn) -> Any:
            return shop.writes.delete("databaseSchema", Key.by_name(fqn), actor=JANE, recursive=True, hard=hard)

        def add(fqn: str = fqn) -> Any:
            return shop.writes.create("table", shop.table("t", databaseSchema=fqn), actor=JANE)

        _, addition = _call_at_once(delete, add)
        if isinstance(addition, NotFound):
            continue
        if hard:
            with pytest.raises(NotFound):
                shop.get("table", f"{fqn}.t")
        else:
            assert shop.get("table", f"{fqn}.t")["deleted"] is True
    assert shop.get("table", f"{SCHEMA}.orders")["deleted"] is False
