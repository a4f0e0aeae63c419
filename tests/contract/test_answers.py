"""Tests of what answers hold beside the values of an entity: empty lists, addresses, texts of changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server, server_settings, table, warehouse
from tests.startedstore import StartedStore

PATCH = {"Content-Type": "application/json-patch+json"}
LISTS = ("owners", "domains", "tags", "dataProducts")


@pytest.fixture
def start_server_with(sqlite_engine: Engine, started_store: StartedStore) -> Iterator[Callable[..., httpx.Client]]:
    """Start a server with other settings; return a client that is logged in as the administrator."""
    with ExitStack() as running:

        def start(**settings: str) -> httpx.Client:
            own_settings = server_settings(**settings)
            server = running_server(
                sqlite_engine, own_settings, password=started_store.password, token=started_store.token
            )
            return running.enter_context(running.enter_context(server).administrator())

        yield start


def send_patch(client: httpx.Client, path: str, *operations: Json) -> Json:
    answer = client.patch(path, content=json.dumps(operations), headers=PATCH)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_answers_to_writes_show_empty_lists(administrator: httpx.Client, orders: Json) -> None:
    changed = send_patch(
        administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/description", "value": "All of them."}
    )
    body = {"name": "orders", "databaseSchema": "warehouse.shop.public", "columns": [{"name": "id", "dataType": "INT"}]}
    put = administrator.put("/tables", json=body).json()
    for answer in (orders, changed, put):
        assert {key: answer.get(key) for key in LISTS} == {key: [] for key in LISTS}
    read = administrator.get(f"/tables/{orders['id']}").json()
    assert read.keys().isdisjoint(LISTS), "a read shows what it is asked for"


def test_references_have_an_address_and_say_whether_they_are_deleted(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, client = served.person("alice")
    client.close()
    owners = [{"id": user_id, "type": "user"}]
    send_patch(administrator, f"/tables/{orders['id']}", {"op": "add", "path": "/owners", "value": owners})
    administrator.put(f"/tables/{orders['id']}/followers/{user_id}")
    root = served.url

    def read() -> Json:
        return administrator.get(f"/tables/{orders['id']}?fields=owners,followers").json()

    shown_table = read()
    addresses = {key: shown_table[key]["href"] for key in ("service", "database", "databaseSchema")}
    assert addresses == {
        "service": f"{root}/api/v1/services/databaseServices/{shown_table['service']['id']}",
        "database": f"{root}/api/v1/databases/{shown_table['database']['id']}",
        "databaseSchema": f"{root}/api/v1/databaseSchemas/{shown_table['databaseSchema']['id']}",
    }
    person = {"href": f"{root}/api/v1/users/{user_id}", "deleted": False}
    assert [one | person for one in (*shown_table["owners"], *shown_table["followers"])] == [
        *shown_table["owners"],
        *shown_table["followers"],
    ]
    assert administrator.delete(f"/users/{user_id}").is_success
    assert [one["deleted"] for one in read()["owners"]] == [True]
    version = administrator.get(f"/tables/{orders['id']}/versions/0.2").json()
    assert (version["service"]["href"], version["owners"][0]["deleted"]) == (addresses["service"], True)


def test_references_that_are_sent_back_as_they_were_shown_change_nothing(
    served: Served, administrator: httpx.Client, orders: Json
) -> None:
    user_id, client = served.person("alice")
    client.close()
    path = f"/tables/{orders['id']}"
    owners = [{"id": user_id, "type": "user"}]
    updated = send_patch(administrator, path, {"op": "add", "path": "/owners", "value": owners})
    again = send_patch(administrator, path, {"op": "replace", "path": "/owners", "value": updated["owners"]})
    assert again["version"] == updated["version"]
    tested = {"op": "test", "path": "/owners/0", "value": updated["owners"][0]}
    assert send_patch(administrator, path, tested)["version"] == updated["version"]


@pytest.mark.parametrize("event_format", ["default", "openmetadata"])
def test_lists_in_changes_are_texts_for_clients_of_openmetadata(
    start_server_with: Callable[..., httpx.Client], event_format: str
) -> None:
    administrator = start_server_with(event_format=event_format)
    path = f"/tables/{warehouse(administrator)['id']}"
    label = {"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    answers = [send_patch(administrator, path, label), administrator.get(path).json()]
    answers.append(administrator.get(f"{path}/versions/0.2").json())
    answers.append(json.loads(administrator.get(f"{path}/versions").json()["versions"][0]))
    values = [answer["changeDescription"]["fieldsAdded"][0]["newValue"] for answer in answers]
    labels = [json.loads(value) if event_format == "openmetadata" else value for value in values]
    assert [[label["tagFQN"] for label in found] for found in labels] == [["PII.Sensitive"]] * 4


def test_an_edge_shows_that_it_has_no_columns(administrator: httpx.Client, orders: Json) -> None:
    copies = table(administrator, "copies")
    ends = {key: {"id": one["id"], "type": "table"} for key, one in (("fromEntity", orders), ("toEntity", copies))}
    put = administrator.put("/lineage", json={"edge": ends | {"lineageDetails": {"columnsLineage": []}}}).json()
    graph = administrator.get(f"/lineage/table/{orders['id']}").json()
    details = [put["edge"]["lineageDetails"], graph["downstreamEdges"][0]["lineageDetails"]]
    assert [one["columnsLineage"] for one in details] == [[], []]


def test_rules_of_policies_are_shown_as_they_were_sent(administrator: httpx.Client) -> None:
    rule = {"name": "see", "resources": ["all"], "operations": ["ViewAll"], "effect": "allow"}
    policy = administrator.post("/policies", json={"name": "seeing", "rules": [rule]}).json()
    assert policy["rules"] == [rule]
    assert administrator.get(f"/policies/{policy['id']}").json()["rules"] == [rule]
    tested = {"op": "test", "path": "/rules/0", "value": rule}
    assert send_patch(administrator, f"/policies/{policy['id']}", tested)["version"] == policy["version"]


@pytest.mark.parametrize("api_version", ["1.13.0", "2.0.0", "2.1.0"])
def test_ingestion_pipelines_show_their_last_runs_as_clients_of_that_version_read_them(
    start_server_with: Callable[..., httpx.Client], api_version: str
) -> None:
    administrator = start_server_with(api_version=api_version)
    service = warehouse(administrator)["service"]
    config = {"sourceConfig": {"config": {}}, "airflowConfig": {}, "pipelineType": "metadata"}
    request = {"name": "nightly", "service": {"id": service["id"], "type": "databaseService"}, **config}
    pipeline = administrator.post("/services/ingestionPipelines", json=request).json()
    path = f"/services/ingestionPipelines/{pipeline['id']}"
    assert "pipelineStatuses" not in administrator.get(path).json()
    for number in range(7):
        for state in ("running", "success"):
            run = {"runId": f"run-{number}", "pipelineState": state, "timestamp": 1_700_000_000_000 + number}
            report_path = f"/services/ingestionPipelines/{pipeline['fullyQualifiedName']}/pipelineStatus"
            assert administrator.put(report_path, json=run).is_success
    documents = [administrator.get(path).json(), *administrator.get("/services/ingestionPipelines").json()["data"]]
    for document in documents:
        runs = document["pipelineStatuses"]
        listed_runs = [runs] if api_version == "1.13.0" else runs
        assert [(run["runId"], run["pipelineState"]) for run in listed_runs] == [
            (f"run-{number}", "success") for number in range(6, 6 - len(listed_runs), -1)
        ]
        assert len(listed_runs) == (1 if api_version == "1.13.0" else 5)
