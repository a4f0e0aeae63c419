"""Tests of reading change events, lineage events and reports from the log by HTTP."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise

import httpx
import pytest
from tests import seedschema
from tests.serving import Json, table

from tocsin import clock
from tocsin.store.eventlog import log

PATCH = {"Content-Type": "application/json-patch+json"}


def describe(client: httpx.Client, asset: Json, text: str) -> None:
    operations = [{"op": "add", "path": "/description", "value": text}]
    assert client.patch(f"/tables/{asset['id']}", content=json.dumps(operations), headers=PATCH).is_success


def test_events_come_oldest_first_in_upstreams_shape(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    events = administrator.get("/events?entityCreated=table&entityUpdated=table").json()["data"]
    assert [one["eventType"] for one in events] == ["entityCreated", "entityUpdated"]
    assert "userId" not in events[0]
    assert json.loads(events[0]["entity"])["name"] == "orders"
    event = administrator.get(f"/events/{events[1]['id']}").json()
    assert event == events[1]


def test_the_seeds_shape_is_asked_for(administrator: httpx.Client, orders: Json) -> None:
    events = administrator.get("/events?entityCreated=table&format=tocsin").json()["data"]
    assert events[0]["entity"]["name"] == "orders"
    assert len(events[0]["userId"]) == 36


def test_events_as_csv_say_what_breaks_and_why_and_run_in_no_spreadsheet(
    administrator: httpx.Client, orders: Json
) -> None:
    column = orders["columns"][0]["name"]
    operations = json.dumps([{"op": "remove", "path": "/columns/0"}])
    headers = {**PATCH, "X-Tocsin-Why": "=1+1"}
    assert administrator.patch(f"/tables/{orders['id']}", content=operations, headers=headers).is_success
    answer = administrator.get("/events?entityUpdated=table&format=csv&limit=1")
    assert answer.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    (event,) = administrator.get("/events?entityUpdated=table&format=tocsin").json()["data"]
    assert (row["id"], row["time"]) == (
        event["id"],
        clock.to_datetime(event["timestamp"]).isoformat("T", "milliseconds"),
    )
    assert (row["breaking"], row["reason"]) == ("true", "'=1+1")
    assert f"column {column} BIGINT removed" in row["breakingReasons"]
    assert f"column {column}" in row["summary"]
    assert administrator.get(f"/events/{event['id']}?format=csv").text == answer.text
    following = administrator.get(f"/events?format=csv&after={answer.headers['X-Tocsin-Log-Offset']}").text
    assert following.splitlines() == [answer.text.splitlines()[0]]


@pytest.mark.skipif(not seedschema.is_here(), reason=seedschema.MISSING)
def test_every_event_can_be_read_as_the_schema_of_the_seed_has_it(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    follower = administrator.get("/users/loggedInUser").json()["id"]
    assert administrator.put(f"/tables/{orders['id']}/followers", json=follower).is_success
    assert administrator.delete(f"/tables/{orders['id']}").is_success
    assert administrator.put("/tables/restore", json={"id": orders["id"]}).is_success
    assert administrator.delete(f"/tables/{orders['id']}?hardDelete=true").is_success
    validator = seedschema.seed_validator()
    logged_events, in_seed_format = (
        administrator.get(f"/events?format={form}").json()["data"] for form in ("default", "seed")
    )
    assert {"entityRestored", "entityDeleted"} <= {event["eventType"] for event in logged_events}
    for event, document in zip(logged_events, in_seed_format, strict=True):
        validator.validate(document)
        assert document["entityId"] == event["entityId"]
        assert administrator.get(f"/events/{event['id']}?format=seed").json() == document


def test_filters_narrow(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    administrator.delete(f"/services/databaseServices/name/{'warehouse'}?recursive=true")

    def kinds(query: str) -> list[tuple[str, str]]:
        events = administrator.get(f"/events?{query}").json()["data"]
        return [(one["eventType"], one["entityType"]) for one in events]

    assert kinds("entityDeleted=*") == [
        ("entitySoftDeleted", kind) for kind in ("table", "databaseSchema", "database", "databaseService")
    ]
    assert kinds("eventType=entityUpdated&entityType=table,dashboard") == [("entityUpdated", "table")]
    assert kinds(f"entityId={orders['id']}&eventType=entityCreated") == [("entityCreated", "table")]
    assert kinds("entityCreated=*&entityType=database") == [("entityCreated", "database")]
    assert kinds("entityCreated=dashboard") == []
    assert kinds("userName=nobody") == []
    assert kinds("timestamp=99999999999999") == []
    first = administrator.get("/events?limit=1").json()["data"][0]["timestamp"]
    assert kinds(f"endTs={first - 1}") == []
    assert len(kinds(f"timestamp={first}&endTs={first}&limit=1")) == 1
    assert ("entityCreated", "user") in kinds("userName=system")


def test_the_filters_of_the_seed_select_events(administrator: httpx.Client, orders: Json) -> None:
    describe(administrator, orders, "Orders.")
    naming = [{"op": "add", "path": "/displayName", "value": "Orders"}]
    assert administrator.patch(f"/tables/{orders['id']}", content=json.dumps(naming), headers=PATCH).is_success
    assert administrator.delete(f"/tables/{orders['id']}?hardDelete=true").is_success

    def changed_fields(query: str) -> list[str]:
        matching = administrator.get(f"/events?{query}").json()["data"]
        return [
            change["name"]
            for event in matching
            for part in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
            for change in event["changeDescription"][part]
        ]

    of_tables = "eventTypes=entityUpdated,entityDeleted&entityTypes=table,dashboard"
    assert changed_fields(of_tables) == ["description", "displayName", "entity"]
    assert changed_fields(f"{of_tables}&includeFields=tags,description") == ["description", "entity"]
    assert changed_fields(f"{of_tables}&includeFields=tags,owner") == ["entity"]
    assert changed_fields("eventTypes=entityUpdated&entityTypes=dashboard") == []
    assert changed_fields("eventTypes=entityUpdated,entityDeleted&eventType=entityDeleted&entityTypes=table") == [
        "entity"
    ]


def _changed_names(event: Json) -> list[str]:
    """Return the names of the fields that changed; of a thread its type."""
    if event["entityType"] != "table":
        return [json.loads(event["entity"])["type"]]
    parts = (event["changeDescription"].get(part) or () for part in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted"))
    return [change["name"] for part in parts for change in part]


def test_types_of_events_have_the_names_of_upstreams_2_0(administrator: httpx.Client, orders: Json) -> None:
    customers = table(administrator, "customers")
    describe(administrator, orders, "Orders.")
    edge = {"fromEntity": {"id": customers["id"], "type": "table"}, "toEntity": {"id": orders["id"], "type": "table"}}
    assert administrator.put("/lineage", json={"edge": edge}).is_success
    assert administrator.delete(f"/lineage/table/{customers['id']}/table/{orders['id']}").is_success
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    admin = administrator.get("/users/loggedInUser").json()["id"]
    task = {
        "type": "RequestDescription",
        "assignees": [{"id": admin, "type": "user"}],
        "oldValue": "",
        "suggestion": "Orders.",
    }
    for task_fields in ({}, {"type": "Task", "taskDetails": task}):
        response = administrator.post("/feed", json={"about": link, "message": "Why?"} | task_fields)
        assert response.status_code == 201, response.text

    def types_and_fields(query: str) -> list[tuple[str, list[str]]]:
        matching = administrator.get(f"/events?{query}").json()["data"]
        return [(event["eventType"], _changed_names(event)) for event in matching]

    lineage_addition, task_made = ("entityUpdated", ["lineage"]), ("threadCreated", ["Task"])
    assert set(map(str, types_and_fields("eventType=entityLineageAdded"))) == {str(lineage_addition)}
    assert len(types_and_fields("eventType=entityLineageAdded,entityLineageDeleted")) > len(
        types_and_fields("eventType=entityLineageAdded")
    )
    assert types_and_fields("eventType=entityLineageUpdated") == []
    assert (
        types_and_fields("eventType=taskCreated")
        == types_and_fields("eventTypes=threadCreated&eventType=taskCreated")
        == [task_made]
    )
    assert types_and_fields("eventType=taskUpdated") == []
    types = {kind for kind, _ in types_and_fields(f"eventType=entityCreated,taskCreated&entityId={orders['id']}")}
    assert types == {"entityCreated"}
    assert "entityLineageAdded" in administrator.get("/events?eventType=entityLineageAded").json()["message"]


@pytest.mark.parametrize(
    ("query", "wrong", "near"),
    [
        ("eventTypes=entityUpdate", "eventTypes", "entityUpdated"),
        ("entityTypes=tabel", "entityTypes", "table"),
        ("includeFields=tag", "includeFields", "tags"),
    ],
)
def test_a_wrong_filter_of_the_seed_is_refused(administrator: httpx.Client, query: str, wrong: str, near: str) -> None:
    answer = administrator.get(f"/events?{query}")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith(f"{wrong}:")
    assert f"did you mean {near}?" in answer.json()["message"]


@pytest.mark.parametrize("parameter", ["offset", "after"])
def test_an_offset_beyond_the_log_is_a_conflict(administrator: httpx.Client, parameter: str) -> None:
    end = administrator.get("/events?offset=latest").json()["paging"]["offset"]
    assert administrator.get(f"/events?{parameter}={end}").json()["data"] == []
    answer = administrator.get(f"/events?{parameter}={end + 1}")
    assert (answer.status_code, f"ends at offset {end}" in answer.json()["message"]) == (409, True)


@pytest.mark.parametrize("query", ["entityCreated=tabel", "entityDeleted=table,tabel", "entityType=tabel"])
def test_a_type_that_there_is_not_is_refused_with_the_nearest(administrator: httpx.Client, query: str) -> None:
    answer = administrator.get(f"/events?{query}")
    assert answer.status_code == 400
    assert "did you mean table?" in answer.json()["message"]
    assert administrator.get("/events?entityCreated=spaceship").status_code == 400


def test_types_that_upstream_has_may_be_asked_for(administrator: httpx.Client) -> None:
    assert administrator.get("/events?entityCreated=worksheet,thread,%20table").json()["data"] == []


def test_the_log_is_read_on_from_an_offset(administrator: httpx.Client, orders: Json) -> None:
    end = administrator.get("/events?offset=latest").json()
    assert end["data"] == []
    describe(administrator, orders, "one")
    describe(administrator, orders, "two")
    first = administrator.get(f"/events?offset={end['paging']['offset']}&limit=1").json()
    assert (len(first["data"]), first["data"][0]["currentVersion"]) == (1, 0.2)
    second = administrator.get(
        f"/events?offset={end['paging']['offset']}&limit=1&after={first['paging']['after']}"
    ).json()
    assert second["data"][0]["currentVersion"] == 0.3
    next_page = administrator.get(f"/events?offset={second['paging']['offset']}").json()
    assert next_page["data"] == []
    assert "after" not in next_page["paging"]


@pytest.mark.parametrize(
    "query",
    ["eventType=loud", "entityId=1", "timestamp=-1", "timestamp=x", "limit=-1", "after=x", "offset=soon", "format=x"],
)
def test_a_question_that_makes_no_sense_is_refused(administrator: httpx.Client, query: str) -> None:
    assert administrator.get(f"/events?{query}").status_code == 400


def test_an_unknown_event_is_404(administrator: httpx.Client) -> None:
    assert administrator.get("/events/00000000-0000-0000-0000-000000000000").status_code == 404


def test_lineage_is_put_read_and_removed(administrator: httpx.Client, orders: Json) -> None:
    names = ("b", "c", "d")
    chain = [orders, *(table(administrator, name) for name in names)]
    for source, target in [*pairwise(chain), (chain[-1], chain[0])]:  # a cycle
        ends = {"fromEntity": {"id": source["id"], "type": "table"}, "toEntity": {"id": target["id"], "type": "table"}}
        assert administrator.put(
            "/lineage", json={"edge": {**ends, "lineageDetails": {"sqlQuery": "select 1"}}}
        ).is_success
    near = administrator.get(f"/lineage/table/{orders['id']}?upstreamDepth=0&downstreamDepth=1").json()
    assert [node["name"] for node in near["nodes"]] == ["b"]
    assert near["entity"]["id"] == orders["id"]
    details = near["downstreamEdges"][0]["lineageDetails"]
    edge_details = {
        "sqlQuery": "select 1",
        "source": "Manual",
        "createdBy": "admin",
        "updatedBy": "admin",
        "columnsLineage": [],
    }
    assert details == edge_details | {"createdAt": details["createdAt"], "updatedAt": details["createdAt"]}
    assert near["upstreamEdges"] == []
    far = administrator.get("/lineage/table/name/warehouse.shop.public.orders?upstreamDepth=9&downstreamDepth=9").json()
    assert [node["name"] for node in far["nodes"]] == ["b", "c", "d"]
    edge = f"{orders['id']}/{chain[1]['id']}"
    whole_edge = administrator.get(f"/lineage/getLineageEdge/{edge}").json()["edge"]
    assert whole_edge == details | {"columnsLineage": []}  # there for clients that patch it
    path = f"/lineage/table/{orders['id']}/table/{chain[1]['id']}"
    assert administrator.delete(path).status_code == 200
    assert administrator.delete(path).status_code == 404
    assert administrator.get(f"/lineage/getLineageEdge/{edge}").status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"edge": 1}, {"edge": {}}, {"edge": {"fromEntity": {"type": "table"}, "toEntity": 7}}]
)
def test_half_an_edge_is_refused(administrator: httpx.Client, body: Json) -> None:
    assert administrator.put("/lineage", json=body).status_code == 400


@pytest.mark.parametrize("form", ["post", "put"])
def test_a_failed_test_is_reported_and_read(administrator: httpx.Client, orders: Json, form: str) -> None:
    request = {
        "name": "no_nulls",
        "entityLink": "<#E::table::warehouse.shop.public.orders>",
        "testDefinition": "tableCustomSQLQuery",
    }
    case = administrator.post("/dataQuality/testCases", json=request)
    assert case.status_code == 201, case.text
    fqn = case.json()["fullyQualifiedName"]
    result = {"timestamp": 1_700_000_000_000, "testCaseStatus": "Failed", "result": "3 nulls"}
    report_answer = (
        administrator.post(f"/dataQuality/testCases/testCaseResults/{fqn}", json=result)
        if form == "post"
        else administrator.put(f"/dataQuality/testCases/{fqn}/testCaseResult", json=result)
    )
    assert report_answer.status_code == 200, report_answer.text
    read = administrator.get(f"/dataQuality/testCases/testCaseResults/{fqn}?startTs=0").json()
    assert [one["testCaseStatus"] for one in read["data"]] == ["Failed"]
    events = administrator.get("/events?eventType=testCaseFailure&format=tocsin").json()["data"]
    assert [one["entityFullyQualifiedName"] for one in events] == [fqn]
    upstream = administrator.get("/events?eventType=testCaseFailure").json()["data"]
    assert [one["eventType"] for one in upstream] == ["entityUpdated"]


def test_a_pipelines_run_is_reported_and_read(administrator: httpx.Client) -> None:
    administrator.post("/services/pipelineServices", json={"name": "airflow", "serviceType": "Airflow"})
    administrator.post("/pipelines", json={"name": "etl", "service": "airflow"})
    status = {"timestamp": 1_700_000_000_000, "executionStatus": "Failed"}
    answer = administrator.put("/pipelines/airflow.etl/status", json=status)
    assert answer.status_code == 200, answer.text
    assert answer.json()["pipelineStatus"]["executionStatus"] == "Failed"
    assert administrator.get("/pipelines/airflow.etl/status").json()["paging"]["total"] == 1
    for wrong in ({}, {**status, "timestamp": "now"}, {**status, "timestamp": 2**63}, {**status, "timestamp": True}):
        assert administrator.put("/pipelines/airflow.etl/status", json=wrong).status_code == 400
    assert administrator.put("/pipelines/airflow.nothing/status", json=status).status_code == 404


def test_an_event_is_not_skipped_when_the_end_of_the_log_falls_back_meanwhile(
    administrator: httpx.Client, orders: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL a lower offset may be taken after a higher one was readable."""
    describe(administrator, orders, "Orders.")
    end = administrator.get("/events?offset=latest").json()["paging"]["offset"]
    ends = iter([end])
    monkeypatch.setattr(log, "readable_end", lambda _connection: next(ends, end - 1))
    page = administrator.get(f"/events?offset={end - 1}").json()
    assert page["paging"]["offset"] == end
    assert len(page["data"]) == 1


def test_events_are_found_by_words_of_what_is_shown_and_by_several_people(
    administrator: httpx.Client, orders: Json
) -> None:
    table(administrator, "customers")
    describe(administrator, orders, "Every order.")
    fqn = orders["fullyQualifiedName"]

    def count_of(**query: str) -> int:
        return len(administrator.get("/events", params={"entityType": "table", **query}).json()["data"])

    assert count_of(words=f"DESCRIPTION {fqn.upper()} admin") == count_of(words="  description ") == 1
    assert count_of(words="description customers") == count_of(words="100%_") == count_of(words="' OR 1=1 --") == 0
    assert count_of(userNames="nobody, admin") == count_of(words="") == count_of() > count_of(words="created") > 1
    assert count_of(userNames="nobody") == count_of(userNames="") == 0
    assert administrator.get(f"/events?words={'x' * 301}").status_code == 400
    csv = administrator.get("/events?entityType=table&words=description&format=csv").text.splitlines()
    assert len(csv) == 2 and fqn in csv[1]
