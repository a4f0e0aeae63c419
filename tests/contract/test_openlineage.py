"""Tests of the routes that take OpenLineage events: assets, edges, runs, rights, and what is unresolved."""

from __future__ import annotations

from uuid import UUID

import httpx
import pytest
from tests.contract import standards
from tests.contract.test_access import restrict
from tests.serving import Json, Served, table

NAMESPACE = "postgres://db.example.org:5432"
SPARK = "spark_prod"
RUN, TASK_RUN, NEXT_RUN = (str(UUID(int=number)) for number in (1, 2, 3))


def dataset(name: str, namespace: str = NAMESPACE, **facets: Json) -> Json:
    return {"namespace": namespace, "name": name, "facets": facets}


def schema(*fields: tuple[str, str]) -> Json:
    return {"_producer": "x", "_schemaURL": "x", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def run_event(
    state: str = "COMPLETE",
    *,
    run: str = RUN,
    job: str = "load",
    at: str = "2025-10-09T08:00:00Z",
    parent: Json | None = None,
    error: str | None = None,
    **parts: Json,
) -> Json:
    facets = {"parent": parent} if parent else {}
    if error:
        facets["errorMessage"] = {"message": error, "programmingLanguage": "SQL"}
    return {
        "eventType": state,
        "eventTime": at,
        "producer": "https://producer.example.org",
        "schemaURL": "https://openlineage.example.org/spec/2-0-2/OpenLineage.json",
        "run": {"runId": run, "facets": facets},
        "job": {"namespace": SPARK, "name": job, "facets": {}},
        **parts,
    }


def job_event(**parts: Json) -> Json:
    """Return an event of a job without a run."""
    event = run_event(**parts)
    return {key: value for key, value in event.items() if key not in ("run", "eventType")}


def parent_of(run: str = RUN, job: str = "nightly") -> Json:
    return {"run": {"runId": run}, "job": {"namespace": SPARK, "name": job}}


def write_setting(client: httpx.Client, **value: Json) -> None:
    body = {"config_type": "openLineageSettings", "config_value": value}
    assert client.put("/system/settings", json=body).is_success


@pytest.fixture
def mapped(administrator: httpx.Client, orders: Json) -> httpx.Client:
    """The administrator, with the namespace mapped to the service of ``orders``."""
    write_setting(administrator, namespaceToServiceMapping={NAMESPACE: orders["service"]["name"]})
    return administrator


@pytest.fixture
def clean(administrator: httpx.Client, orders: Json) -> Json:
    return table(administrator, "clean")


def name_of(entity: Json) -> str:
    """Return a table's name as producers write it: without the service."""
    return str(entity["fullyQualifiedName"]).split(".", 1)[1]


def send(client: httpx.Client, event: Json) -> Json:
    response = client.post("/openlineage/lineage", json=event)
    assert response.status_code == 201, response.text
    return response.json()


def runs_of(client: httpx.Client, pipeline: str) -> list[Json]:
    window = {"startTs": 0, "endTs": 4_000_000_000_000}
    return list(client.get(f"/pipelines/{pipeline}/status", params=window).json()["data"])


def event_count(client: httpx.Client) -> int:
    return len(client.get("/events", params={"limit": 1000, "timestamp": 0}).json()["data"])


def test_an_event_brings_an_edge_with_columns_pipeline_and_statement(
    mapped: httpx.Client, orders: Json, clean: Json
) -> None:
    column = {"inputFields": [{"namespace": NAMESPACE, "name": name_of(orders), "field": "ID"}]}
    event = run_event(
        inputs=[dataset(name_of(orders))],
        outputs=[dataset(name_of(clean), columnLineage={"fields": {"id": column, "gone": column}})],
    )
    event["job"]["facets"] = {"sql": {"query": "insert into clean select id from orders"}}
    answer = send(mapped, event)
    assert answer["lineageEdgesCreated"] == 1
    edge = mapped.get(f"/lineage/getLineageEdge/{orders['id']}/{clean['id']}").json()["edge"]
    assert edge["source"] == "OpenLineage"
    assert edge["sqlQuery"] == "insert into clean select id from orders"
    assert edge["pipeline"]["fullyQualifiedName"] == "openlineage.spark_prod-load"
    from_column, to_column = (f"{one['fullyQualifiedName']}.id" for one in (orders, clean))
    assert [(one["fromColumns"], one["toColumn"]) for one in edge["columnsLineage"]] == [([from_column], to_column)]
    (run,) = runs_of(mapped, "openlineage.spark_prod-load")
    assert (run["executionStatus"], run["executionId"]) == ("Successful", RUN)


def test_an_event_that_is_sent_again_changes_nothing(mapped: httpx.Client, orders: Json, clean: Json) -> None:
    facets = {"schema": schema(("id", "bigint"))}
    event = run_event(inputs=[dataset(name_of(orders))], outputs=[dataset("shop.public.fresh", **facets)])
    send(mapped, event)
    count = event_count(mapped)
    assert send(mapped, event)["lineageEdgesCreated"] == 0
    assert mapped.post("/lineage", json=event).status_code == 201  # where OpenLineage's clients send by default
    assert event_count(mapped) == count


def test_a_table_is_created_below_its_mapped_service_and_follows_its_schema(mapped: httpx.Client, orders: Json) -> None:
    fields = (("id", "bigint"), ("price", "decimal(10,2)"), ("note", "character varying(40)"), ("odd", "frobnicated"))
    send(mapped, run_event(outputs=[dataset("lake.bronze.Events", schema=schema(*fields))]))
    path = f"/tables/name/{orders['service']['name']}.lake.bronze.Events"
    columns = mapped.get(path, params={"fields": "columns"}).json()["columns"]
    kinds = [(one["name"], one["dataType"], one.get("dataLength"), one.get("precision")) for one in columns]
    assert kinds == [
        ("id", "BIGINT", None, None),
        ("price", "DECIMAL", None, 10),
        ("note", "VARCHAR", 40, None),
        ("odd", "UNKNOWN", None, None),
    ]
    send(mapped, run_event(run=NEXT_RUN, outputs=[dataset("lake.bronze.Events", schema=schema(("id", "string")))]))
    columns = mapped.get(path, params={"fields": "columns"}).json()["columns"]
    assert [(one["name"], one["dataType"]) for one in columns] == [("id", "STRING")]


def test_the_schema_of_a_table_that_a_connector_brought_stays(mapped: httpx.Client, orders: Json) -> None:
    before = mapped.get(f"/tables/{orders['id']}").json()
    send(mapped, run_event(outputs=[dataset(name_of(orders), schema=schema(("other", "string")))]))
    assert mapped.get(f"/tables/{orders['id']}").json()["columns"] == before["columns"]


def test_the_description_that_a_person_wrote_stays(served: Served, mapped: httpx.Client, orders: Json) -> None:
    facets = {"schema": schema(("id", "int")), "documentation": {"description": "by the job"}}
    event = run_event(outputs=[dataset("lake.bronze.events", **facets)])
    _bot, sender = served.person("lineage-bot", isBot=True, isAdmin=True)
    with sender:
        check_description_stays(sender, mapped, event, f"{orders['service']['name']}.lake.bronze.events")


def check_description_stays(sender: httpx.Client, person: httpx.Client, event: Json, fqn: str) -> None:
    send(sender, event)
    created = person.get(f"/tables/name/{fqn}").json()
    assert created["description"] == "by the job"
    patch = [{"op": "replace", "path": "/description", "value": "by Dana"}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert person.patch(f"/tables/{created['id']}", json=patch, headers=headers).is_success
    send(sender, event | {"eventTime": "2025-10-10T08:00:00Z"})
    assert person.get(f"/tables/name/{fqn}").json()["description"] == "by Dana"


def test_symlinks_name_the_table_whose_files_a_dataset_is(mapped: httpx.Client, orders: Json, clean: Json) -> None:
    symlink = {"identifiers": [{"namespace": NAMESPACE, "name": name_of(clean), "type": "TABLE"}]}
    files = dataset("warehouse/clean", "s3://bucket", symlinks=symlink)
    assert send(mapped, run_event(inputs=[dataset(name_of(orders))], outputs=[files]))["lineageEdgesCreated"] == 1


def test_what_is_unresolved_is_counted_and_forgotten_once_it_is_found(
    mapped: httpx.Client, orders: Json, served: Served
) -> None:
    event = run_event(inputs=[dataset(name_of(orders)), dataset("x", "unmapped")], outputs=[dataset("one", NAMESPACE)])
    assert "one, x" in send(mapped, event)["message"]
    send(mapped, event)
    page = mapped.get("/openlineage/unresolved").json()
    counts = {(one["namespace"], one["name"]): one["events"] for one in page["data"]}
    assert counts == {("unmapped", "x"): 2, (NAMESPACE, "one"): 2}
    assert "mapped to no service" in next(one["reason"] for one in page["data"] if one["name"] == "x")
    service = orders["service"]["name"]
    write_setting(mapped, namespaceToServiceMapping={NAMESPACE: service, "unmapped": f"{service}.shop"})
    table(mapped, "one")
    send(mapped, run_event(inputs=[dataset("public.one", "unmapped"), dataset("x", "unmapped")]))
    symlink = {"identifiers": [{"namespace": "unmapped", "name": "public.one"}]}
    send(mapped, run_event(inputs=[dataset("x", "unmapped", symlinks=symlink)]))
    page_after = mapped.get("/openlineage/unresolved").json()
    assert ([one["name"] for one in page_after["data"]], page_after["paging"]["total"]) == (["one"], 1)
    _id, somebody = served.person("somebody")
    with somebody:
        assert somebody.get("/openlineage/unresolved").status_code == 403


def test_nothing_is_created_where_the_setting_forbids_it(administrator: httpx.Client, orders: Json) -> None:
    mapping = {NAMESPACE: orders["service"]["name"]}
    write_setting(administrator, namespaceToServiceMapping=mapping, autoCreateEntities=False)
    answer = send(administrator, run_event(outputs=[dataset("lake.bronze.events")]))
    assert "lake.bronze.events, load" in answer["message"]
    assert administrator.get("/pipelines/name/openlineage.spark_prod-load").status_code == 404
    write_setting(administrator, enabled=False)
    assert administrator.post("/lineage", json=run_event()).status_code == 403


def test_a_task_that_failed_and_completed_fails_its_run(mapped: httpx.Client) -> None:
    events = [
        run_event("START", job="nightly", at="2025-10-09T08:00:00Z"),
        run_event("FAIL", job="nightly.write", run=TASK_RUN, parent=parent_of(), error="no space left"),
        run_event("COMPLETE", job="nightly.write", run=TASK_RUN, parent=parent_of(), at="2025-10-09T08:00:05Z"),
        run_event("COMPLETE", job="nightly", at="2025-10-09T08:00:06Z"),
    ]
    for event in events:
        send(mapped, event)
    (run,) = runs_of(mapped, "openlineage.spark_prod-nightly")
    assert run["executionStatus"] == "Failed"
    assert [(task["name"], task["executionStatus"]) for task in run["taskStatus"]] == [("write", "Failed")]
    assert run["error"] == {"errorMessage": "no space left", "failedTask": "write"}


def test_a_task_that_is_tried_again_and_succeeds_lets_its_run_succeed(mapped: httpx.Client) -> None:
    send(mapped, run_event("FAIL", job="nightly.write", run=TASK_RUN, parent=parent_of()))
    tried_again = {"run": NEXT_RUN, "parent": parent_of(), "at": "2025-10-09T08:10:00Z"}
    send(mapped, run_event("COMPLETE", job="nightly.write", **tried_again))
    send(mapped, run_event("COMPLETE", job="nightly", at="2025-10-09T08:11:00Z"))
    (run,) = runs_of(mapped, "openlineage.spark_prod-nightly")
    assert run["executionStatus"] == "Successful"


def test_only_completed_runs_bring_lineage_unless_the_setting_says_otherwise(
    mapped: httpx.Client, orders: Json, clean: Json
) -> None:
    parts: Json = {"inputs": [dataset(name_of(orders))], "outputs": [dataset(name_of(clean))]}
    assert send(mapped, run_event("START", **parts))["lineageEdgesCreated"] == 0
    batch = {"events": [run_event("RUNNING", **parts), run_event("COMPLETE", **parts), {"eventTime": "yesterday"}]}
    response = mapped.post("/openlineage/lineage/batch", json=batch)
    answer = response.json()
    assert answer["status"] == "partial_success"
    assert answer["summary"] == {"received": 3, "successful": 1, "failed": 1, "skipped": 1}
    assert answer["failedEvents"][0]["index"] == 2
    assert answer["lineageEdgesCreated"] == 1


def test_the_first_line_of_sparks_trace_is_the_error(mapped: httpx.Client) -> None:
    event = run_event("FAIL")
    event["run"]["facets"] = {"spark.exception": {"stackTrace": "SparkException: no space\n\tat org.apache.spark"}}
    send(mapped, event)
    (run,) = runs_of(mapped, "openlineage.spark_prod-load")
    assert run["error"] == {"errorMessage": "SparkException: no space"}


def test_a_dataset_is_unresolved_by_the_name_that_can_be_mapped(mapped: httpx.Client) -> None:
    symlink = {"identifiers": [{"namespace": "file:/warehouse", "name": "default.orders", "type": "TABLE"}]}
    send(mapped, run_event(outputs=[dataset("/warehouse/orders", "file", symlinks=symlink)]))
    (entry,) = mapped.get("/openlineage/unresolved").json()["data"]
    assert (entry["namespace"], entry["name"]) == ("file:/warehouse", "default.orders")


@standards.needs_standards
def test_answers_are_as_upstream_publishes_them(mapped: httpx.Client) -> None:
    schema_path = "api/lineage/openlineage/openLineageResponse.json"
    assert standards.problems(schema_path, send(mapped, run_event())) == []
    batch = {"events": [run_event(), {"eventTime": "yesterday"}]}
    assert standards.problems(schema_path, mapped.post("/openlineage/lineage/batch", json=batch).json()) == []


def test_events_of_jobs_and_datasets_need_no_run(mapped: httpx.Client, orders: Json, clean: Json) -> None:
    event = job_event(inputs=[dataset(name_of(orders))], outputs=[dataset(name_of(clean))])
    assert send(mapped, event)["lineageEdgesCreated"] == 1
    facets = {"schema": schema(("id", "int"))}
    send(mapped, {"eventTime": "2025-10-09T08:00:00Z", "dataset": dataset("lake.bronze.events", **facets)})
    assert mapped.get(f"/tables/name/{orders['service']['name']}.lake.bronze.events").is_success


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"eventTime": "yesterday"}, "eventTime"),
        ({"eventTime": "2025-10-09T08:00:00"}, "eventTime"),
        ({"eventType": "DONE"}, "eventType"),
        ({"run": {"runId": "1"}}, "runId"),
        ({"job": None}, "job"),
        ({"outputs": [{"namespace": "a"}]}, "name"),
        ({"outputs": [dataset("a", schema={"fields": [{"type": "int"}]})]}, "fields"),
    ],
    ids=["no time", "no zone", "no state", "no uuid", "no job", "no name", "no field name"],
)
def test_a_malformed_event_is_refused_with_its_place(mapped: httpx.Client, change: Json, place: str) -> None:
    response = mapped.post("/openlineage/lineage", json=run_event() | change)
    assert response.status_code == 400
    assert place in response.json()["message"]


def test_who_may_not_edit_lineage_is_refused_and_nothing_is_kept(
    served: Served, mapped: httpx.Client, orders: Json, clean: Json
) -> None:
    _id, somebody = served.person("somebody")
    event = run_event(inputs=[dataset(name_of(orders))], outputs=[dataset(name_of(clean))])
    with somebody:
        response = somebody.post("/openlineage/lineage", json=event)
    assert response.status_code == 403, response.text
    assert mapped.get(f"/lineage/table/{clean['id']}").json()["upstreamEdges"] == []
    assert mapped.get("/pipelines/name/openlineage.spark_prod-load").status_code == 404


def test_what_is_hidden_is_as_unknown_as_what_is_not_there(served: Served, mapped: httpx.Client, clean: Json) -> None:
    user_id, mallory = served.person("mallory")
    hidden_table = table(mapped, "hidden", tags=[{"tagFQN": "PII.Sensitive"}])
    own_table = table(mapped, "own", owners=[{"id": user_id, "type": "user"}])
    restrict(mapped, user_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    with mallory:
        answers = [
            send(mallory, job_event(inputs=[dataset(name)], outputs=[dataset(name_of(own_table))]))
            for name in (name_of(hidden_table), "shop.public.absent")
        ]
        hidden_answer, absent_answer = answers
        assert hidden_answer["lineageEdgesCreated"] == absent_answer["lineageEdgesCreated"] == 0
        assert hidden_answer["message"].replace(name_of(hidden_table), "shop.public.absent") == absent_answer["message"]
        assert send(mallory, job_event(inputs=[dataset(name_of(clean))], outputs=[dataset(name_of(own_table))]))[
            "lineageEdgesCreated"
        ]


def test_the_setting_is_read_by_administrators_only(served: Served, mapped: httpx.Client) -> None:
    _id, somebody = served.person("somebody")
    with somebody:
        assert somebody.get("/system/settings/openLineageSettings").status_code == 403
        names = [one["config_type"] for one in somebody.get("/system/settings").json()["data"]]
    assert "openLineageSettings" not in names
    value = mapped.get("/system/settings/openLineageSettings").json()["config_value"]
    assert value["namespaceToServiceMapping"][NAMESPACE]
    for wrong in ({"eventTypeFilter": ["DONE"]}, {"namespaceToServiceMapping": {"a": 1}}, {"other": True}):
        body = {"config_type": "openLineageSettings", "config_value": wrong}
        assert mapped.put("/system/settings", json=body).status_code == 400


def test_a_start_forgets_nothing_of_what_is_unresolved(mapped: httpx.Client) -> None:
    parts: Json = {"inputs": [dataset("x", "unmapped")]}
    send(mapped, run_event("COMPLETE", **parts))
    send(mapped, run_event("START", run=NEXT_RUN, **parts))
    assert [one["name"] for one in mapped.get("/openlineage/unresolved").json()["data"]] == ["x"]


def test_a_namespace_that_is_a_services_name_creates_nothing(administrator: httpx.Client, orders: Json) -> None:
    service = orders["service"]["name"]
    answer = send(administrator, run_event(outputs=[dataset("lake.bronze.events", service)]))
    assert "lake.bronze.events" in answer["message"]
    assert administrator.get(f"/databases/name/{service}.lake").status_code == 404


def test_an_older_event_takes_no_newer_schema_back(mapped: httpx.Client, orders: Json) -> None:
    path = f"/tables/name/{orders['service']['name']}.lake.bronze.events"
    for at, fields in (("2025-10-09", [("id", "bigint")]), ("2025-10-08", [("id", "string")])):
        event = run_event(at=f"{at}T08:00:00Z", outputs=[dataset("lake.bronze.events", schema=schema(*fields))])
        send(mapped, event)
    assert [one["dataType"] for one in mapped.get(path).json()["columns"]] == ["BIGINT"]


def test_column_lineage_of_a_person_stays_and_a_gone_column_blocks_nothing(
    mapped: httpx.Client, orders: Json, clean: Json
) -> None:
    names = [one["fullyQualifiedName"] for one in (orders, clean)]
    entry = {"fromColumns": [f"{names[0]}.email"], "toColumn": f"{names[1]}.id"}
    ends = {key: {"type": "table", "id": one["id"]} for key, one in (("fromEntity", orders), ("toEntity", clean))}
    edge = ends | {"lineageDetails": {"source": "Manual", "columnsLineage": [entry], "description": "by Dana"}}
    assert mapped.put("/lineage", json={"edge": edge}).is_success
    patch = [{"op": "remove", "path": "/columns/1"}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert mapped.patch(f"/tables/{orders['id']}", json=patch, headers=headers).is_success
    column = {"inputFields": [{"namespace": NAMESPACE, "name": name_of(orders), "field": "id"}]}
    output = dataset(name_of(clean), columnLineage={"fields": {"id": column}})
    send(mapped, run_event(inputs=[dataset(name_of(orders))], outputs=[output]))
    details = mapped.get(f"/lineage/getLineageEdge/{orders['id']}/{clean['id']}").json()["edge"]
    assert (details["source"], details["description"]) == ("Manual", "by Dana")
    assert [one["fromColumns"] for one in details["columnsLineage"]] == [[f"{names[0]}.id"]]


@pytest.mark.parametrize("statement", ["create user a password 'x'", "copy t credentials 'x'"])
def test_statements_that_may_hold_secrets_are_not_kept(
    mapped: httpx.Client, orders: Json, clean: Json, statement: str
) -> None:
    event = run_event(inputs=[dataset(name_of(orders))], outputs=[dataset(name_of(clean))])
    event["job"]["facets"] = {"sql": {"query": statement}}
    send(mapped, event)
    edge = mapped.get(f"/lineage/getLineageEdge/{orders['id']}/{clean['id']}").json()["edge"]
    assert "sqlQuery" not in edge


def test_a_strange_type_costs_no_time(mapped: httpx.Client) -> None:
    fields = schema(("id", "a" + " " * 50_000 + "!"))
    send(mapped, run_event(outputs=[dataset("lake.bronze.events", schema=fields)]))


def test_a_statement_that_failed_brings_no_lineage_when_it_is_said_to_have_completed(
    mapped: httpx.Client, orders: Json, clean: Json
) -> None:
    parts: Json = {"inputs": [dataset(name_of(orders))], "outputs": [dataset(name_of(clean))]}
    task: Json = {"run": TASK_RUN, "job": "nightly.insert", "parent": parent_of()}
    send(mapped, run_event("FAIL", error="no room", **task, **parts))
    assert send(mapped, run_event("COMPLETE", at="2025-10-09T08:00:01Z", **task, **parts))["lineageEdgesCreated"] == 0
    again = task | {"run": NEXT_RUN}
    assert send(mapped, run_event("COMPLETE", at="2025-10-09T09:00:00Z", **again, **parts))["lineageEdgesCreated"] == 1
