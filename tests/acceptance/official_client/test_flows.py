"""Tests of compatibility with OpenMetadata's own Python client, and of the event of each write."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from sqlalchemy import Engine
from tests.acceptance.official_client.conftest import ENVIRONMENTS, Flow, events_of
from tests.acceptance.official_client.indexing import following_index
from tests.notifying import notify_all
from tests.serving import Json, Served
from tests.store.mirror.test_mirrored_answers import RECORDED

_RUNS = {
    "name": "runs",
    "alertType": "Observability",
    "filteringRules": {
        "resources": ["ingestionPipeline"],
        "rules": [{"name": "success", "effect": "include", "condition": "matchIngestionPipelineState('success')"}],
    },
    "destinations": [{"category": "Admins", "type": "ActivityFeed"}],
}

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("official client")]


def test_everything_is_created_once_however_often_it_is_put(served: Served, flow: Flow) -> None:
    versions = flow("everything")
    notified = Counter((event["eventType"], event["entityFullyQualifiedName"]) for event in events_of(served))
    suite = ("entityCreated", "pg.shop.public.orders.testSuite")
    assert notified == Counter({("entityCreated", fqn): 1 for _, fqn, _ in versions} | {suite: 1})
    assert {version for *_, version in versions} == {0.1}


def test_every_patch_is_one_event(served: Served, flow: Flow) -> None:
    flow("patches")
    changed_fields = [
        _changed_fields(event)
        for event in events_of(served)
        if event["eventType"] == "entityUpdated" and event["entityFullyQualifiedName"] == "pg.shop.public.customers"
    ]
    assert changed_fields == [
        ["description"],
        ["description"],
        ["tags"],
        ["tags"],
        ["owners"],
        ["domains"],
        ["columns.email.tags"],
        ["columns.address.children.street.description"],
        ["description"],
        ["displayName"],
        ["owners"],
    ]


def test_what_goes_is_gone_and_what_comes_back_is_there(served: Served, flow: Flow) -> None:
    deleted_types = flow("endings")
    notified = Counter(event["eventType"] for event in events_of(served))
    assert notified["entityDeleted"] == len(deleted_types) + 1, "each of them, and the table's own test suite"
    under_shop = ["shop", "public", "orders", "customers", "refill", "enough", "testSuite"]
    assert notified["entitySoftDeleted"] == 1 + len(under_shop)
    assert notified["entityRestored"] == 1 + len(under_shop)


def test_lineage_is_added_widened_and_taken_away(served: Served, flow: Flow) -> None:
    assert flow("lineage") == ["pg.shop.public.orders.email", "pg.shop.public.orders.id"]
    edges = [event for event in events_of(served) if event["eventType"] == "entityUpdated"]
    about = Counter(event["entityFullyQualifiedName"] for event in edges)
    assert about == {"pg.shop.public.orders": 3, "superset.sales": 2}


def test_a_real_connector_reports_what_changed_at_its_source_and_nothing_else(
    served: Served, flow: Flow, api_version: str
) -> None:
    first, second, third = flow("connector", is_admin=False)
    prefix = "till.default.main"
    tables = [f"{prefix}.{name}" for name in ("customers", "orders", "turnover")]
    is_old = api_version == "1.13.0"  # 2.0 writes a foreign key in the first run
    assert first == dict.fromkeys(tables, 0.1) | ({} if is_old else {tables[1]: 0.2})
    assert second == first | {tables[1]: 0.2}, "the key's table has to be known first"
    assert third == {tables[0]: 0.2, tables[1]: second[tables[1]]}
    event_summaries = [
        (event["eventType"], event["entityFullyQualifiedName"], _changed_fields(event))
        for event in events_of(served)
        if event["eventType"] != "entityCreated" and event["entityFullyQualifiedName"].startswith(prefix)
    ]
    assert event_summaries == [
        ("entityUpdated", tables[1], ["tableConstraints"]),
        ("entityUpdated", tables[0], ["columns"]),
        ("entitySoftDeleted", tables[2], ["deleted"]),
    ]


def test_a_bulk_request_is_one_event_for_each_entity_that_it_changes(served: Served, flow: Flow) -> None:
    assert flow("bulk") == [[100, 0], [100, 0], [1, 1]]
    notified = Counter(
        event["eventType"] for event in events_of(served) if ".bulk_" in event["entityFullyQualifiedName"]
    )
    assert notified == {"entityCreated": 101}


def test_a_connector_leaves_what_people_wrote(served: Served, flow: Flow) -> None:
    untouched = ["Source", "Source.", "Source.", "Source."]
    assert flow("kept", is_admin=False) == [untouched, untouched]
    texts = {"/displayName": "Ours", "/description": "Ours.", "/columns/1/description": "Ours."}
    patch = [{"op": "replace", "path": path, "value": text} for path, text in texts.items()]
    with served.administrator() as administrator:
        for name in ("alone", "many"):
            path, headers = f"/tables/name/pg.shop.public.{name}", {"Content-Type": "application/json-patch+json"}
            assert administrator.patch(path, json=patch, headers=headers).status_code == 200
    before = len(events_of(served))
    assert flow("kept", is_admin=False) == [["Ours", "Ours.", "Source.", "Ours."]] * 2
    assert len(events_of(served)) == before


def test_results_runs_profiles_and_use_are_each_reported_once(served: Served, flow: Flow) -> None:
    assert flow("quality") == [2, 3, 1], "results, runs and profiles, however often they were sent"
    event_counts = Counter(
        (event["eventType"], event["entityType"], event["entityFullyQualifiedName"], *_changed_fields(event))
        for event in events_of(served)
        if event["eventType"] != "entityCreated"
    )
    update_type = "entityUpdated"
    case, table = ("testCase", "pg.shop.public.orders.enough"), ("table", "pg.shop.public.orders")
    assert event_counts == {
        (update_type, *case, "testCaseResult"): 1,
        (update_type, *case, "incidentStatus", "testCaseResult"): 1,
        (update_type, *case, "incidentStatus"): 1,
        ("logicalTestCaseAdded", "testSuite", "nightly_checks", "tests"): 1,
        (update_type, "testSuite", "pg.shop.public.orders.testSuite", "summary"): 2,
        (update_type, "pipeline", "airflow.nightly", "pipelineStatus"): 3,
        (update_type, "ingestionPipeline", "pg.pg_metadata", "pipelineStatus"): 1,
        (update_type, *table, "profile"): 1,
        (update_type, *table, "dataModel"): 1,
        (update_type, *table, "usageSummary"): 1,
    }


def _changes(served: Served, fqn: str) -> Counter[str]:
    """Return how often each field of an entity has changed since it was created."""
    about = [event for event in events_of(served) if event["entityFullyQualifiedName"] == fqn]
    assert about[0]["eventType"] == "entityCreated"
    return Counter(name for event in about[1:] for name in _changed_fields(event))


def _changed_fields(event: Json) -> list[str]:
    description = event["changeDescription"]
    return [one["name"] for key in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted") for one in description[key]]


def test_the_newer_face_of_the_client_works_too(served: Served, flow: Flow) -> None:
    assert flow("sdk") == [0.3, 0.2, 0.1]
    notified = Counter((event["eventType"], event["entityFullyQualifiedName"]) for event in events_of(served))
    assert notified["entityUpdated", "pg.shop.public.customers"] == 4, (
        "a tag, a description, a follower who came and went"
    )
    assert notified["entityUpdated", "pg.shop.public.orders"] == 1, "the edge that leads to it"
    assert notified["entityCreated", "Imported.Basket"] == 1


def test_what_is_described_in_terms_of_ones_own_is_found_by_them(served: Served, flow: Flow) -> None:
    assert flow("governance") == ["retention"]
    notified = [_changed_fields(event) for event in events_of(served) if event["entityFullyQualifiedName"] == "table"]
    assert notified == [["customProperties"]]
    table = "pg.shop.public.customers"
    about = [event for event in events_of(served) if event["entityFullyQualifiedName"] == table]
    assert [_changed_fields(event) for event in about[1:]] == [
        ["extension.retention"],
        ["dataProducts"],
        ["dataProducts"],
    ]


def test_a_strict_reader_knows_every_key_of_an_event(flow: Flow) -> None:
    types = flow("events")
    assert {"entityCreated", "entityUpdated", "entitySoftDeleted"} <= set(types)


def test_every_check_of_what_the_client_gets_back_passes(sqlite_engine: Engine, flow: Flow) -> None:
    assert_every_check_passes(sqlite_engine, flow)


@pytest.mark.soak
@pytest.mark.parametrize("environment", ENVIRONMENTS[:-1], ids=lambda folder: folder.name, indirect=True)
def test_every_check_of_what_an_earlier_client_gets_back_passes(sqlite_engine: Engine, flow: Flow) -> None:
    assert_every_check_passes(sqlite_engine, flow)


def assert_every_check_passes(engine: Engine, flow: Flow) -> None:
    with following_index(engine):
        results = flow("checks")
    assert [(name, failure) for name, failure in results if failure] == []
    names = [name for name, _ in results]
    assert len(set(names)) == len(names) > 110


def test_what_is_written_is_found_and_the_clients_workflows_complete(
    served: Served, sqlite_engine: Engine, flow: Flow
) -> None:
    with served.administrator() as administrator:
        assert administrator.post("/events/subscriptions", json=_RUNS).status_code == 201
    with following_index(sqlite_engine):
        assert flow("search") == ["customers", "orders"]
        assert flow("workflows", is_admin=False) == {
            "profile": [3, 3],
            "tests": {"three_rows": "Success", "total_is_there": "Failed"},
            "usage": 1,
            "lineage": [2],
            "dbt": "models/turnover.sql",
        }
    turnover, orders = (_changes(served, f"till.default.main.{name}") for name in ("turnover", "orders"))
    assert turnover["lineage"] == 1, "dbt writes two texts of one query to each edge, in every run"
    assert (turnover["dataModel"], orders["dataModel"]) == (1, 1), "metadata workflows patch what dbt found away"
    assert orders["tableConstraints"] == 1
    with served.administrator() as administrator:
        me = administrator.get("/users/loggedInUser").json()["id"]
        notify_all(sqlite_engine)
        assert "till.nightly" in administrator.get(f"/users/{me}/notifications").text


@pytest.mark.parametrize(
    "environment",
    [*(pytest.param(earlier, marks=pytest.mark.soak) for earlier in ENVIRONMENTS[:-1]), ENVIRONMENTS[-1]],
    indirect=True,
    ids=lambda folder: folder.name,
)
def test_the_recorded_answers_of_the_mirror_are_those_of_the_client(flow: Flow, api_version: str) -> None:
    recorded = RECORDED / f"{api_version.removesuffix('.0')}.json"
    assert flow("mirror_answers") == json.loads(recorded.read_text(encoding="utf-8"))
