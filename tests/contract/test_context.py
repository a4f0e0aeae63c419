"""Tests of an entity's context: one markdown document."""

from __future__ import annotations

import httpx
from tests.contract.test_access import restrict
from tests.serving import Json, Served, table


def test_the_context_of_a_table_says_what_it_is_whose_and_what_it_is_made_from(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, client = served.person("alice")
    columns = [{"name": "id", "dataType": "BIGINT", "description": "Its\nnumber."}, {"name": "paid", "dataType": "INT"}]
    tags = [{"tagFQN": "PII.Sensitive"}]
    owners = [{"id": user_id, "type": "user"}]
    paid_orders = table(
        administrator, "paid_orders", columns=columns, tags=tags, owners=owners, description="Every *paid* order."
    )
    edge = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": paid_orders["id"], "type": "table"}}
    assert administrator.put("/lineage", json={"edge": edge}).is_success
    answer = administrator.get("/tables/name/warehouse.shop.public.paid_orders/context")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    lines = answer.text.splitlines()
    assert lines[:5] == ["# paid_orders", "", "table `warehouse.shop.public.paid_orders`", "", "Every *paid* order."]
    assert {"- alice", "- `id` BIGINT: Its number.", "- table `warehouse.shop.public.orders`"} <= set(lines)
    assert any(line.startswith("- PII.Sensitive: ") for line in lines)
    restrict(administrator, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with client:
        assert client.get("/tables/name/warehouse.shop.public.paid_orders/context").status_code == 403
        of_orders = client.get("/tables/name/warehouse.shop.public.orders/context")
    assert of_orders.status_code == 200
    assert "paid_orders" not in of_orders.text


def test_the_context_of_what_is_not_there_is_404(administrator: httpx.Client, orders: Json) -> None:
    del orders
    assert administrator.get("/tables/name/warehouse.shop.public.nowhere/context").status_code == 404
