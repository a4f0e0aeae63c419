"""Tests of downstream impact: assets with owners, and the limits of the walk."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, SCHEMA, Company, company

from tocsin.flow.resolve.impact import Walk
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.store.recipients.impact import Impact

DASHBOARD = {"type": "dashboard", "fullyQualifiedName": "bi.revenue"}
PIPELINE = {"type": "pipeline", "fullyQualifiedName": "airflow.nightly"}


@pytest.fixture
def shop(store_engine: Engine) -> Company:
    sample_company = company(store_engine)
    for name in "abc":
        sample_company.ids[name] = sample_company.writes.create(
            "table", sample_company.table(name), actor=JANE
        ).document["id"]
    feed(sample_company, table("orders"), table("a"), pipeline=PIPELINE)
    feed(sample_company, table("a"), table("b"))
    feed(sample_company, table("b"), DASHBOARD)
    feed(sample_company, table("a"), DASHBOARD)
    feed(sample_company, DASHBOARD, table("orders"))
    return sample_company


def table(name: str) -> Document:
    return {"type": "table", "fullyQualifiedName": f"{SCHEMA}.{name}"}


def feed(shop: Company, from_: Document, to: Document, **details: object) -> None:
    shop.writes.put_edge({"fromEntity": from_, "toEntity": to, "lineageDetails": details}, actor=JANE)


def root(shop: Company, name: str, entity_type: str = "table") -> Document:
    return {"id": shop.ids[name], "type": entity_type, "name": name, "fullyQualifiedName": name}


def reached_assets(walk: Walk) -> list[tuple[str, int, str]]:
    return [(one.asset["name"], one.level, one.via["name"]) for one in walk.reached]


def test_everything_downstream_is_found_once_at_its_shortest_distance(shop: Company, store_engine: Engine) -> None:
    walk = Impact(store_engine).walk(root(shop, "orders"), 9)
    assert reached_assets(walk) == [("a", 1, "orders"), ("nightly", 1, "orders"), ("revenue", 2, "a"), ("b", 2, "a")]
    assert [one.pipeline and one.pipeline["name"] for one in walk.reached] == ["nightly", None, None, None]
    assert not walk.is_cut
    assert reached_assets(Impact(store_engine).walk(root(shop, "orders"), 1)) == [
        ("a", 1, "orders"),
        ("nightly", 1, "orders"),
    ]
    assert reached_assets(Impact(store_engine).walk(root(shop, "orders"), 0)) == []


def test_a_pipeline_reaches_what_it_moves(shop: Company, store_engine: Engine) -> None:
    walk = Impact(store_engine).walk(root(shop, "nightly", "pipeline"), 2)
    assert reached_assets(walk) == [("a", 1, "nightly"), ("revenue", 2, "a"), ("b", 2, "a")]


def test_a_walk_reaches_no_more_than_asked_and_says_so(shop: Company, store_engine: Engine) -> None:
    walk = Impact(store_engine).walk(root(shop, "orders"), 9, max_assets=3)
    assert (len(walk.reached), walk.is_cut) == (3, True)
    assert not Impact(store_engine).walk(root(shop, "orders"), 9, max_assets=4).is_cut


def test_a_wide_fan_is_cut_without_reading_all_of_it(shop: Company, store_engine: Engine) -> None:
    for number in range(30):
        shop.writes.create("table", shop.table(f"t{number:02}"), actor=JANE)
        feed(shop, table("c"), table(f"t{number:02}"))
    walk = Impact(store_engine).walk(root(shop, "c"), 3, max_assets=2)
    assert ([name for name, _, _ in reached_assets(walk)], walk.is_cut) == (["t00", "t01"], True)


def test_what_is_deleted_is_not_reached(shop: Company, store_engine: Engine) -> None:
    shop.writes.delete("table", Key.by_name(f"{SCHEMA}.a"), actor=JANE)
    assert reached_assets(Impact(store_engine).walk(root(shop, "orders"), 9)) == []


def test_what_something_gone_for_good_fed_is_still_known(shop: Company, store_engine: Engine) -> None:
    shop.writes.delete("table", Key.by_name(f"{SCHEMA}.a"), actor=JANE, hard=True)
    assert reached_assets(Impact(store_engine).walk(root(shop, "a"), 1)) == [("revenue", 1, "a"), ("b", 1, "a")]


def test_owners_are_an_assets_own_or_inherited(shop: Company, store_engine: Engine) -> None:
    def own(entity_type: str, fqn: str, owner: str, owner_type: str = "user") -> None:
        reference = {"id": shop.ids[owner], "type": owner_type}
        shop.patch(("add", "/owners/0", reference), fqn=fqn, entity_type=entity_type)

    own("database", "pg.shop", "sales", "team")
    own("table", f"{SCHEMA}.a", "jane")
    reader = Impact(store_engine)
    owners = reader.owners([shop.ids[name] for name in ("a", "b", "revenue")])
    assert {key: [owner["name"] for owner in some] for key, some in owners.items()} == {
        shop.ids["a"]: ["jane"],
        shop.ids["b"]: ["sales"],
    }
    assert [owner.get("inherited") for owner in (*owners[shop.ids["a"]], *owners[shop.ids["b"]])] == [None, True]
    shop.writes.patch(
        "user", Key.by_name('"john.doe"'), [{"op": "add", "path": "/teams", "value": ["sales"]}], actor=JANE
    )
    people = reader.people(owner for some in owners.values() for owner in some)
    assert people == {shop.ids["jane"], shop.ids["john.doe"]}
    shop.writes.follow("table", shop.ids["a"], shop.ids["jane"], actor=JANE)
    shop.writes.follow("table", shop.ids["b"], shop.ids["jane"], actor=JANE)
    assert reader.follower_count([shop.ids[name] for name in "ab"]) == 1
