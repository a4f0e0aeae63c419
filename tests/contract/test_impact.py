"""Tests of the impact routes: downstream assets by type and level, by column, with owners."""

from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import Engine, event
from tests.contract.test_access import restrict
from tests.serving import Json, Served, table

PATCH = {"Content-Type": "application/json-patch+json"}


def feed(client: httpx.Client, from_: Json, to: Json, *columns: str, **details: Json) -> None:
    entries = [
        {"fromColumns": [f"{from_['fullyQualifiedName']}.{name}"], "toColumn": f"{to['fullyQualifiedName']}.{name}"}
        for name in columns
    ]
    ends = {
        key: {"id": entity["id"], "type": entity.get("type", "table")}
        for key, entity in (("fromEntity", from_), ("toEntity", to))
    }
    edge = ends | {"lineageDetails": {"columnsLineage": entries} | details}
    assert client.put("/lineage", json={"edge": edge}).is_success


def create_entity(client: httpx.Client, path: str, entity_type: str, **request: Json) -> Json:
    answer = client.post(path, json=request)
    assert answer.status_code == 201, answer.text
    return answer.json() | {"type": entity_type}


@pytest.fixture
def world(administrator: httpx.Client, orders: Json) -> dict[str, Json]:
    """orders -> clean (email, id; moved by nightly) -> sales; clean -> revenue, a dashboard owned by a team."""
    team = create_entity(administrator, "/teams", "team", name="analysts", teamType="Group")
    create_entity(administrator, "/services/dashboardServices", "dashboardService", name="bi", serviceType="Superset")
    create_entity(administrator, "/services/pipelineServices", "pipelineService", name="flows", serviceType="Airflow")
    nightly = create_entity(administrator, "/pipelines", "pipeline", name="nightly", service="flows")
    owners = [{"id": team["id"], "type": "team"}]
    revenue = create_entity(administrator, "/dashboards", "dashboard", name="revenue", service="bi", owners=owners)
    clean, sales = table(administrator, "clean"), table(administrator, "sales")
    feed(administrator, orders, clean, "id", "email", pipeline={"id": nightly["id"], "type": "pipeline"})
    feed(administrator, clean, sales, "id")
    feed(administrator, clean, revenue)
    return {"orders": orders, "clean": clean, "sales": sales, "revenue": revenue, "nightly": nightly, "team": team}


def names(answer: Json) -> dict[str, list[tuple[str, int]]]:
    return {
        group: [(asset["name"], asset["level"]) for asset in assets] for group, assets in answer["affected"].items()
    }


def by_name(answer: Json) -> dict[str, Json]:
    return {asset["name"]: asset for assets in answer["affected"].values() for asset in assets}


def test_the_impact_of_a_table_is_grouped_by_type_with_levels_and_owners(
    served: Served, administrator: httpx.Client, world: dict[str, Json]
) -> None:
    user_id, _ = served.person("ana", teams=[world["team"]["id"]])
    assert administrator.put(f"/tables/{world['sales']['id']}/followers", json=user_id).is_success
    answer = administrator.get(f"/lineage/table/{world['orders']['id']}/impact").json()
    assert names(answer) == {
        "dashboards": [("revenue", 2)],
        "pipelines": [("nightly", 1)],
        "mlmodels": [],
        "tables": [("clean", 1), ("sales", 2)],
    }
    assert (answer["counts"]["total"], answer["truncated"]) == (4, False)
    assert answer["counts"]["byLevel"] == {"1": 2, "2": 2}
    assert answer["people"] == {"owners": 1, "followers": 1}
    assets = by_name(answer)
    assert [owner["name"] for owner in assets["revenue"]["owners"]] == ["analysts"]
    assert assets["revenue"]["via"]["name"] == "clean"
    assert assets["clean"]["pipeline"]["name"] == "nightly"
    assert assets["clean"]["href"].endswith(f"/api/v1/tables/{world['clean']['id']}")
    assert "basis" not in assets["clean"]


def test_columns_narrow_it(administrator: httpx.Client, world: dict[str, Json]) -> None:
    path = "/lineage/table/name/warehouse.shop.public.orders/impact"
    email = by_name(administrator.get(path, params={"columns": "email"}).json())
    assert {name: one["basis"] for name, one in email.items()} == {
        "clean": "column",
        "nightly": "column",
        "revenue": "table",
    }
    assert email["clean"]["affectedColumns"] == ["warehouse.shop.public.clean.email"]
    both = administrator.get(path, params={"columns": "email,warehouse.shop.public.orders.id"}).json()
    assert by_name(both)["sales"]["affectedColumns"] == ["warehouse.shop.public.sales.id"]
    refusal = administrator.get(path, params={"columns": "colour"})
    assert (refusal.status_code, "colour" in refusal.json()["message"]) == (400, True)


def readers_of_columns(client: httpx.Client, **parameters: int) -> dict[str, tuple[int, int, int]]:
    answer = client.get("/lineage/table/name/warehouse.shop.public.orders/impact/columns", params=parameters).json()
    assert answer["truncated"] is False
    return {one["column"]: (one["assets"], one["people"], one["unowned"]) for one in answer["data"]}


def test_readers_of_every_column_are_counted_at_once(
    served: Served, administrator: httpx.Client, world: dict[str, Json]
) -> None:
    ana, ana_client = served.person("ana", teams=[world["team"]["id"]])
    ana_client.close()
    owners = [{"id": ana, "type": "user"}, {"id": world["team"]["id"], "type": "team"}]
    operations = json.dumps([{"op": "add", "path": "/owners", "value": owners}])
    assert administrator.patch(f"/tables/{world['sales']['id']}", content=operations, headers=PATCH).is_success
    assert readers_of_columns(administrator) == {"email": (2, 0, 2), "id": (3, 1, 2)}
    assert readers_of_columns(administrator, depth=1) == {"email": (2, 0, 2), "id": (2, 0, 2)}
    every_id = f"/lineage/table/{world['orders']['id']}/impact/columns"
    assert len(administrator.get(every_id).json()["data"]) == 2
    assert administrator.get(f"/lineage/dashboard/{world['revenue']['id']}/impact/columns").json()["data"] == []


def test_readers_that_one_may_not_see_are_not_counted(
    served: Served, administrator: httpx.Client, world: dict[str, Json]
) -> None:
    label = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    operations = json.dumps([{"op": "add", "path": "/tags", "value": [label]}])
    assert administrator.patch(f"/tables/{world['sales']['id']}", content=operations, headers=PATCH).is_success
    mallory_id, mallory = served.person("mallory")
    restrict(administrator, mallory_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        assert (readers_of_columns(administrator)["id"][0], readers_of_columns(mallory)["id"][0]) == (3, 2)


def test_readers_of_many_columns_take_no_more_statements(
    administrator: httpx.Client, world: dict[str, Json], sqlite_engine: Engine
) -> None:
    statements: list[object] = []

    def count_statements() -> int:
        counts = []
        for _ in range(3):  # the first after a write reads what is kept between requests
            statements.clear()
            readers_of_columns(administrator)
            counts.append(len(statements))
        return min(counts)

    def note(*arguments: object) -> None:
        statements.append(arguments[2])

    event.listen(sqlite_engine, "before_cursor_execute", note)
    before = count_statements()
    column = {"name": "total", "dataType": "INT"}
    operations = [{"op": "add", "path": "/columns/-", "value": column | {"name": f"c{n}"}} for n in range(20)]
    path = f"/tables/{world['orders']['id']}"
    assert administrator.patch(path, content=json.dumps(operations), headers=PATCH).is_success
    assert (len(readers_of_columns(administrator)), count_statements()) == (22, before)
    event.remove(sqlite_engine, "before_cursor_execute", note)


def test_depth_and_limit_bound_it(administrator: httpx.Client, world: dict[str, Json]) -> None:
    path = f"/lineage/table/{world['orders']['id']}/impact"
    assert administrator.get(path, params={"depth": 1}).json()["counts"]["total"] == 2
    cut = administrator.get(path, params={"limit": 1}).json()
    assert (cut["counts"]["total"], sum(map(len, names(cut).values())), cut["truncated"]) == (4, 1, True)
    for wrong in ({"depth": -1}, {"depth": 51}, {"limit": 0}, {"limit": 1001}):
        assert administrator.get(path, params=wrong).status_code == 400


def test_counts_of_many_assets_are_one_request(
    served: Served, administrator: httpx.Client, world: dict[str, Json]
) -> None:
    ids = [world[name]["id"] for name in ("orders", "clean", "sales")]
    unknown = "00000000-0000-4000-8000-000000000000"
    answer = administrator.get("/lineage/counts", params={"assets": ",".join([*ids, unknown])}).json()
    assert answer["data"] == [
        {"id": ids[0], "total": 4, "isCut": False},
        {"id": ids[1], "total": 2, "isCut": False},
        {"id": ids[2], "total": 0, "isCut": False},
    ]
    label = {"tagFQN": "PII.Sensitive", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    operations = json.dumps([{"op": "add", "path": "/tags", "value": [label]}])
    assert administrator.patch(f"/tables/{ids[2]}", content=operations, headers=PATCH).is_success
    mallory_id, mallory = served.person("mallory")
    restrict(administrator, mallory_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        visible_counts = mallory.get("/lineage/counts", params={"assets": ",".join(ids)}).json()["data"]
    assert [(one["id"], one["total"]) for one in visible_counts] == [(ids[0], 3), (ids[1], 1)]


@pytest.mark.parametrize("assets", ["", "colour", ",".join(["00000000-0000-4000-8000-000000000000"] * 51)])
def test_counts_are_of_1_to_50_ids(administrator: httpx.Client, assets: str) -> None:
    refusal = administrator.get("/lineage/counts", params={"assets": assets})
    assert (refusal.status_code, refusal.json()["message"][:6]) == (400, "assets")


def test_the_impact_of_an_event_follows_the_columns_it_changed(
    administrator: httpx.Client, world: dict[str, Json]
) -> None:
    operations = [{"op": "add", "path": "/columns/1/description", "value": "Where to write."}]
    path = f"/tables/{world['orders']['id']}"
    assert administrator.patch(path, content=json.dumps(operations), headers=PATCH).is_success
    change = administrator.get("/events", params={"entityId": world["orders"]["id"]}).json()["data"][-1]
    answer = administrator.get(f"/events/{change['id']}/impact").json()
    assert answer["event"] == {key: change[key] for key in ("id", "eventType", "timestamp")}
    assert answer["columns"] == ["warehouse.shop.public.orders.email"]
    assert {name: one["basis"] for name, one in by_name(answer).items()} == {
        "clean": "column",
        "nightly": "column",
        "revenue": "table",
    }
    assert answer["counts"]["total"] == 3


def test_a_dropped_column_still_says_whom_it_concerned(administrator: httpx.Client, world: dict[str, Json]) -> None:
    content = json.dumps([{"op": "remove", "path": "/columns/0"}])
    assert administrator.patch(f"/tables/{world['clean']['id']}", content=content, headers=PATCH).is_success
    change = administrator.get("/events", params={"entityId": world["clean"]["id"]}).json()["data"][-1]
    assets = by_name(administrator.get(f"/events/{change['id']}/impact").json())
    assert assets["sales"]["affectedColumns"] == ["warehouse.shop.public.sales.id"]
    assert assets["revenue"]["basis"] == "table"


def test_the_impact_of_a_hard_delete_is_still_known(administrator: httpx.Client, world: dict[str, Json]) -> None:
    assert administrator.delete(f"/tables/{world['clean']['id']}?hardDelete=true").is_success
    change = administrator.get("/events", params={"entityDeleted": "table"}).json()["data"][-1]
    answer = administrator.get(f"/events/{change['id']}/impact").json()
    assert sorted(by_name(answer)) == ["revenue", "sales"]


def test_there_is_no_impact_of_nothing(administrator: httpx.Client, orders: Json) -> None:
    nobody = "00000000-0000-0000-0000-000000000000"
    for path in (f"/lineage/table/{nobody}/impact", f"/events/{nobody}/impact", "/lineage/table/name/x/impact"):
        assert administrator.get(path).status_code == 404
    assert administrator.get(f"/lineage/spaceship/{orders['id']}/impact").status_code == 400
