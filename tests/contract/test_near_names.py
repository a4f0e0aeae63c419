"""Tests of suggestions for names that differ in one character: wherever that is, and never what is hidden."""

from __future__ import annotations

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.contract.test_search import index_all
from tests.serving import Json, Served

ORDERS = "warehouse.shop.public.orders"


NEAR_NAMES = [
    ("/tables/name/xarehouse.shop.public.orders", ORDERS),
    ("/tables/name/warehouse.xhop.public.orders", ORDERS),
    ("/tables/name/warehouse.shop.ublic.orders", ORDERS),
    ("/tables/name/warehouse.shop.public.xrders", ORDERS),
    ("/tables/name/warehouse_shop.public.orders", ORDERS),
    ("/users/name/xana.whitlock", "dana.whitlock"),
    ("/users/name/danaXwhitlock", "dana.whitlock"),
    ("/teams/name/xata-engineering", "data-engineering"),
    ("/changes?asset=xrders", ORDERS),
    ("/changes?asset=xarehouse.shop.public.orders", ORDERS),
    ("/changes?author=xana.whitlock", "dana.whitlock"),
    ("/incidents?asset=xarehouse.shop.public.orders.no_nulls", ""),
]
"""Paths that name something nearly right, and the right name."""


def test_a_name_with_one_wrong_character_is_answered_with_the_right_one_that_may_be_seen(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    create_entity(administrator, "/users", name="dana.whitlock", email="dana@example.org")
    create_entity(administrator, "/teams", name="data-engineering", teamType="Group")
    index_all(sqlite_engine)
    mallory_id, mallory = served.person("mallory")
    restrict(administrator, mallory_id, {"effect": "deny", "resources": ["user", "table", "team"]})
    with mallory:
        for path, right_name in NEAR_NAMES:
            refusal = mallory.get(path)
            assert (refusal.status_code in (403, 404), "did you mean" in refusal.text) == (True, False), refusal.text
            answer = administrator.get(path)
            assert answer.status_code == 404, path
            words = f"did you mean {right_name}?" if right_name else "not found"
            assert words in answer.json()["message"], path
