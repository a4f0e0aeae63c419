"""Tests of a table's joins, data model, profiler configuration and custom metrics."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from tests.contract.standards import problems
from tests.serving import Json, Served, table

_SCHEMA = "warehouse.shop.public"


def _day(ago: int = 0) -> str:
    return (datetime.now(UTC).date() - timedelta(days=ago)).isoformat()


def _put(client: httpx.Client, path: str, body: Json) -> Json:
    answer = client.put(path, json=body)
    assert answer.status_code == 200, answer.text
    assert problems("entity/data/table.json", answer.json()) == []
    return answer.json()


def _events(client: httpx.Client, entity_id: str) -> list[list[str]]:
    answer = client.get("/events", params={"entityId": entity_id, "limit": 1000, "format": "tocsin"}).json()["data"]
    changes = [one["changeDescription"] for one in answer if one["eventType"] != "entityCreated"]
    return [[one["name"] for kind in change if kind.startswith("fields") for one in change[kind]] for change in changes]


def test_joins_add_up_for_both_sides(administrator: httpx.Client, orders: Json) -> None:
    people = table(administrator, "people")
    path = f"/tables/{orders['id']}/joins"
    for ago, times in ((0, 2), (1, 3)):
        joined_columns = [{"fullyQualifiedName": f"{_SCHEMA}.people.id", "joinCount": times}]
        direct = [{"fullyQualifiedName": f"{_SCHEMA}.people", "joinCount": 1}]
        body = {
            "startDate": _day(ago),
            "dayCount": 1,
            "columnJoins": [{"columnName": "id", "joinedWith": joined_columns}],
        }
        answer = _put(administrator, path, body | {"directTableJoins": direct})
    total = [{"fullyQualifiedName": f"{_SCHEMA}.people.id", "joinCount": 5}]
    assert answer["joins"]["columnJoins"] == [{"columnName": "id", "joinedWith": total}]
    assert answer["joins"]["directTableJoins"] == [{"fullyQualifiedName": f"{_SCHEMA}.people", "joinCount": 2}]
    joins_of_people = administrator.get(f"/tables/{people['id']}", params={"fields": "joins"}).json()["joins"]
    assert joins_of_people["columnJoins"][0]["joinedWith"] == [
        {"fullyQualifiedName": f"{_SCHEMA}.orders.id", "joinCount": 5}
    ]
    assert "joins" not in administrator.get(f"/tables/{people['id']}").json()
    assert _events(administrator, orders["id"]) == _events(administrator, people["id"]) == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"startDate": _day(31)}, 400),
        ({"startDate": _day(-2)}, 400),
        ({"startDate": "soon"}, 400),
        ({}, 400),
        ({"startDate": _day(), "columnJoins": [{"columnName": "spoon", "joinedWith": []}]}, 400),
        ({"startDate": _day(), "directTableJoins": [{"fullyQualifiedName": "a.b.c.d", "joinCount": 1}]}, 404),
        ({"startDate": _day(), "directTableJoins": [{"fullyQualifiedName": '"', "joinCount": 1}]}, 400),
        (
            {"startDate": _day(), "directTableJoins": [{"fullyQualifiedName": f"{_SCHEMA}.orders", "joinCount": -1}]},
            400,
        ),
    ],
)
def test_malformed_joins_are_refused(administrator: httpx.Client, orders: Json, body: Json, status: int) -> None:
    answer = administrator.put(f"/tables/{orders['id']}/joins", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, status), answer.text


def test_a_model_is_part_of_the_table_and_fills_what_it_lacks(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    owner_id, client = served.person("alice")
    client.close()
    model = {
        "modelType": "DBT",
        "sql": "SELECT 1",
        "owners": [{"id": owner_id, "type": "user"}],
        "tags": [{"tagFQN": "PII.None"}],
        "columns": [{"name": "email", "dataType": "VARCHAR", "description": "Where to write to."}],
    }
    answer = _put(administrator, f"/tables/{orders['id']}/dataModel", model)
    assert (answer["dataModel"]["sql"], answer["version"]) == ("SELECT 1", 0.2)
    assert [one["id"] for one in answer["owners"]] == [owner_id]
    assert [one["tagFQN"] for one in answer["tags"]] == ["PII.None"]
    assert [column.get("description") for column in answer["columns"]] == [None, "Where to write to."]
    assert _put(administrator, f"/tables/{orders['id']}/dataModel", model)["version"] == answer["version"]
    assert set(_events(administrator, orders["id"])[0]) == {"dataModel", "owners", "tags", "columns.email.description"}
    for wrong in ({}, {"modelType": "Napkin"}, {"modelType": "DBT", "columns": [{"name": "x"}]}):
        assert administrator.put(f"/tables/{orders['id']}/dataModel", json=wrong).status_code == 400


def test_a_profilers_configuration_comes_and_goes(administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}/tableProfilerConfig"
    config = {"profileSample": 10.0, "profileSampleType": "PERCENTAGE", "excludeColumns": ["email"]}
    assert _put(administrator, path, config)["tableProfilerConfig"] == config
    assert administrator.get(path).json()["tableProfilerConfig"] == config
    read = administrator.get(f"/tables/{orders['id']}", params={"fields": "tableProfilerConfig"}).json()
    assert read["tableProfilerConfig"] == config
    assert "tableProfilerConfig" not in administrator.delete(path).json()
    assert "tableProfilerConfig" not in administrator.get(path).json()
    for wrong in (
        {"excludeColumns": ["spoon"]},
        {"profileSampleType": "SOME"},
        {"includeColumns": [{"columnName": "x"}]},
    ):
        assert administrator.put(path, json=wrong).status_code == 400, wrong
    assert _events(administrator, orders["id"]) == []


def test_a_request_for_a_table_may_give_its_profilers_configuration(administrator: httpx.Client, orders: Json) -> None:
    request = {"name": "orders", "databaseSchema": _SCHEMA, "columns": orders["columns"]}
    config = {"profileSample": 10.0, "profileSampleType": "PERCENTAGE"}
    for name, answer in (
        ("orders", administrator.put("/tables", json=request | {"tableProfilerConfig": config})),
        ("made", administrator.post("/tables", json=request | {"name": "made", "tableProfilerConfig": config})),
    ):
        assert answer.is_success, answer.text
        path = f"/tables/name/{_SCHEMA}.{name}"
        assert administrator.get(path, params={"fields": "tableProfilerConfig"}).json()["tableProfilerConfig"] == config
    assert administrator.put("/tables", json=request).is_success
    unchanged_table = administrator.get(f"/tables/{orders['id']}", params={"fields": "tableProfilerConfig"}).json()
    assert unchanged_table["tableProfilerConfig"] == config, "a request without it leaves it"
    wrong = administrator.put("/tables", json=request | {"tableProfilerConfig": {"excludeColumns": ["spoon"]}})
    assert (wrong.status_code, "spoon" in wrong.json()["message"]) == (400, True)


def _pipeline(client: httpx.Client, name: str) -> Json:
    client.put("/services/pipelineServices", json={"name": "airflow", "serviceType": "Airflow"})
    answer = client.post("/pipelines", json={"name": name, "service": "airflow"})
    assert answer.status_code == 201, answer.text
    return {"id": answer.json()["id"], "type": "pipeline", "fullyQualifiedName": f"airflow.{name}"}


def _pipeline_names(answer: Json) -> list[str]:
    return [one["pipeline"]["fullyQualifiedName"] for one in answer["pipelineObservability"]]


def test_a_table_says_when_its_pipelines_ran(administrator: httpx.Client, orders: Json) -> None:
    nightly, hourly = (_pipeline(administrator, name) for name in ("nightly", "hourly"))
    path = f"/tables/{orders['id']}/pipelineObservability"
    ran = {"serviceType": "Airflow", "lastRunTime": 1_700_000_000_000, "lastRunStatus": "Failed", "averageRunTime": 2.5}
    answer = _put(administrator, path, [{"pipeline": nightly, "startTime": None, **ran}, {"pipeline": hourly}])
    assert _pipeline_names(answer) == ["airflow.hourly", "airflow.nightly"]
    assert {key: answer["pipelineObservability"][1].get(key) for key in ran} == ran
    again = {"pipeline": {"fullyQualifiedName": "airflow.nightly"}, "lastRunStatus": "Successful"}
    assert len(_put(administrator, path, [again])["pipelineObservability"]) == 2
    _put(administrator, f"{path}/airflow.hourly", {"pipeline": hourly, "scheduleInterval": "0 * * * *"})
    read = administrator.get(path).json()["pipelineObservability"]
    assert [one.get("lastRunStatus") for one in read] == [None, "Successful"]
    assert [one.get("scheduleInterval") for one in read] == ["0 * * * *", None]
    with_pipelines = administrator.get(f"/tables/{orders['id']}", params={"fields": "pipelineObservability"}).json()
    assert with_pipelines["pipelineObservability"] == read
    assert "pipelineObservability" not in administrator.get(f"/tables/{orders['id']}").json()
    administrator.delete(f"/pipelines/{nightly['id']}", params={"hardDelete": True})
    assert _pipeline_names(administrator.get(path).json()) == ["airflow.hourly"]
    assert _events(administrator, orders["id"]) == []


def test_malformed_observability_is_refused(administrator: httpx.Client, orders: Json) -> None:
    nightly, hourly = (_pipeline(administrator, name) for name in ("nightly", "hourly"))
    path = f"/tables/{orders['id']}/pipelineObservability"
    nobody = {"type": "pipeline", "fullyQualifiedName": "airflow.nobody"}
    for wrong, status in (
        ({}, 400),
        ({"pipeline": "airflow.nightly"}, 400),
        ({"pipeline": {"id": orders["id"], "type": "table"}}, 400),
        ({"pipeline": nobody}, 404),
        ({"pipeline": nightly, "lastRunStatus": "Lost"}, 400),
        ({"pipeline": nightly, "serviceType": "Spoon"}, 400),
        ({"pipeline": nightly, "lastRunTime": "soon"}, 400),
        ({"pipeline": nightly, "colour": "red"}, 400),
    ):
        answer = administrator.put(path, json=[wrong])
        assert (answer.status_code, answer.json()["code"]) == (status, status), (wrong, answer.text)
    assert administrator.put(path, json={"pipeline": nightly}).status_code == 400
    mismatch = administrator.put(f"{path}/airflow.nightly", json={"pipeline": hourly})
    assert (mismatch.status_code, mismatch.json()["message"]) == (
        400,
        "pipeline: must be airflow.nightly, as the path says",
    )
    assert administrator.get(path).json()["pipelineObservability"] == []


def test_a_pipeline_that_one_may_not_see_is_not_named(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    path = f"/tables/{orders['id']}/pipelineObservability"
    _put(administrator, path, [{"pipeline": _pipeline(administrator, name)} for name in ("secret", "open")])
    hidden = {"name": "no", "effect": "deny", "operations": ["All"], "resources": ["pipeline"]}
    rules = [hidden | {"condition": "isOwner() || !isOwner()"}]
    policy = administrator.post("/policies", json={"name": "blind", "rules": rules})
    assert policy.status_code == 201, policy.text
    administrator.post("/roles", json={"name": "Blind", "policies": ["blind"]})
    _, reader = served.person("reader", roles=["Blind"])
    with reader:
        assert reader.get(path).json()["pipelineObservability"] == []
        table_for_reader = reader.get(f"/tables/{orders['id']}", params={"fields": "pipelineObservability"}).json()
    assert table_for_reader["pipelineObservability"] == []


def test_custom_metrics_stand_with_their_table_or_column(administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}/customMetric"
    _put(administrator, path, {"name": "rows", "expression": "count(*)"})
    _put(administrator, path, {"name": "rows", "expression": "count(*)"})
    answer = _put(administrator, path, {"name": "domains", "columnName": "email", "expression": "count(distinct x)"})
    assert [one["name"] for one in answer["customMetrics"]] == ["rows"]
    assert [one["name"] for one in answer["columns"][1]["customMetrics"]] == ["domains"]
    assert _events(administrator, orders["id"]) == [["customMetrics"]] * 2
    read = administrator.get(f"/tables/{orders['id']}", params={"fields": "customMetrics"}).json()
    assert (read["customMetrics"], read["columns"]) == (answer["customMetrics"], answer["columns"])
    for wrong in ({"name": "x"}, {"name": "x", "expression": "y", "columnName": "spoon"}, {"expression": "y"}):
        assert administrator.put(path, json=wrong).status_code == 400, wrong
    assert administrator.delete(f"{path}/domains").status_code == 404
    assert administrator.delete(f"{path}/email/domains").status_code == 200
    assert administrator.delete(f"{path}/rows").json()["customMetrics"] == []
