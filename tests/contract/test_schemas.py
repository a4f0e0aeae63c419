"""Tests of every response of every type against the published schemas.

One server holds one entity of every type, each created with every key of upstream's create request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from tests.contract import requests, standards
from tests.contract.standards import CREATES, SCHEMAS, problems
from tests.serving import Json, Served, running_server, table, warehouse

from tocsin.model import shapes
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.thread import THREAD
from tocsin.store.database.engine import open_engine

pytestmark = [standards.needs_standards, pytest.mark.xdist_group("furnished")]

PATCH = {"Content-Type": "application/json-patch+json"}


@pytest.fixture(scope="module")
def served(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A running server that all of these tests share."""
    path = tmp_path_factory.mktemp("furnished") / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    with running_server(engine) as server:
        yield server
    engine.dispose()


@pytest.fixture(scope="module")
def entities(served: Served) -> dict[str, Json]:
    """The answer to each type's create request, by the type."""
    with served.administrator() as client:
        user_id, person = served.person("alice", displayName="Alice")
        person.close()
        owner = {"id": user_id, "type": "user"}
        answers: dict[str, Json] = {}
        apart = {"name": "apart", "serviceType": "Mysql"}  # a query goes for good with its service
        assert client.post("/services/databaseServices", json=apart).status_code == 201
        for name in requests.ORDER:
            body = requests.request(name, owner=owner)
            if name in ("ingestionPipeline", "report"):
                body["service"]["id"] = answers[body["service"]["type"]]["id"]
            request = body | (
                {"id": str(UUID(int=1))} if name == "report" else {}
            )  # whose request is the entity itself
            assert problems(CREATES[name.lower()], request) == [], name
            answer = client.post(f"/{ENTITY_TYPES[name].collection}", json=body)
            assert answer.status_code == 201, (name, answer.text)
            answers[name] = answer.json()
        _report(client, answers, user_id)
    return answers


def _report(client: httpx.Client, entities: dict[str, Json], user_id: str) -> None:
    """Write about the entities all that is no part of a create request."""
    for name in SCHEMAS:
        row = ENTITY_TYPES[name]
        if row.is_asset:
            assert client.put(f"/{row.collection}/{entities[name]['id']}/followers/{user_id}").is_success, name
    status = {"timestamp": 1_700_000_000_000, "executionStatus": "Failed"}
    assert client.put("/pipelines/full.full/status", json=status).is_success
    result = {"timestamp": 1_700_000_000_000, "testCaseStatus": "Failed"}
    case = entities["testCase"]["fullyQualifiedName"]
    assert client.post(f"/dataQuality/testCases/testCaseResults/{case}", json=result).is_success


@pytest.fixture(scope="module")
def client(served: Served, entities: dict[str, Json]) -> Iterator[httpx.Client]:
    """The administrator, on a server that holds one entity of every type."""
    with served.administrator() as client:
        yield client


def test_the_digest_of_the_schemas_is_what_they_say() -> None:
    from tests.contract.digest import SHAPES, digest

    assert SHAPES.read_text() == digest(), "run: python -m tests.contract.digest"


@pytest.mark.parametrize("name", requests.ORDER)
def test_what_a_write_answers_is_what_the_schema_says(entities: dict[str, Json], name: str) -> None:
    assert problems(SCHEMAS[name], entities[name]) == []


@pytest.mark.parametrize("name", requests.ORDER)
def test_what_a_read_answers_is_what_the_schema_says(
    client: httpx.Client, entities: dict[str, Json], name: str
) -> None:
    row, schema = ENTITY_TYPES[name], SCHEMAS[name]
    path = f"/{row.collection}"
    for fields in ("", "*", ",".join(sorted(row.keys - row.added.keys()))):
        by_id = client.get(f"{path}/{entities[name]['id']}", params={"fields": fields}).json()
        assert problems(schema, by_id) == []
        by_name = client.get(f"{path}/name/{entities[name]['fullyQualifiedName']}", params={"fields": fields}).json()
        assert by_name == by_id
        listed = client.get(path, params={"fields": fields, "include": "all", "limit": 100}).json()
        assert listed["paging"]["total"] == len(listed["data"])
        assert by_id in listed["data"]
        assert [problem for one in listed["data"] for problem in problems(schema, one)] == []


@pytest.mark.parametrize("name", requests.ORDER)
def test_a_change_and_its_versions_are_what_the_schema_says(
    client: httpx.Client, entities: dict[str, Json], name: str
) -> None:
    path, schema = f"/{ENTITY_TYPES[name].collection}/{entities[name]['id']}", SCHEMAS[name]
    patch = [{"op": "add", "path": "/description", "value": "Changed."}]
    changed = client.patch(path, content=json.dumps(patch), headers=PATCH)
    assert changed.status_code == 200, changed.text
    assert problems(schema, changed.json()) == []
    versions = [json.loads(text) for text in client.get(f"{path}/versions").json()["versions"]]
    assert [problem for one in versions for problem in problems(schema, one)] == []
    assert problems(schema, client.get(f"{path}/versions/0.1").json()) == []
    window = {"startTs": 0, "endTs": changed.json()["updatedAt"], "limit": 500}
    listed = client.get(f"/{ENTITY_TYPES[name].collection}/history", params=window).json()["data"]
    assert all(one in listed for one in versions)
    assert [problem for one in listed for problem in problems(schema, one)] == []


@pytest.mark.parametrize("name", requests.ORDER)
def test_a_put_of_the_same_changes_nothing(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    owner = client.get("/users/name/alice").json()
    body = requests.request(name, owner={"id": owner["id"], "type": "user"})
    if name == "ingestionPipeline":
        body["service"]["id"] = entities["databaseService"]["id"]
    path = f"/{ENTITY_TYPES[name].collection}"
    body["description"] = client.get(f"{path}/{entities[name]['id']}").json()["description"]
    before = client.get(f"{path}/{entities[name]['id']}").json()["version"]
    answer = client.put(path, json=body)
    assert (answer.status_code, answer.json().get("version")) == (200, before), answer.text
    assert problems(SCHEMAS[name], answer.json()) == []


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name in SCHEMAS for key in sorted(ENTITY_TYPES[name].keys) if shapes.enumeration(name, key)],
)
def test_a_word_that_there_is_not_is_refused_with_those_there_are(
    client: httpx.Client, entities: dict[str, Json], name: str, key: str
) -> None:
    patch = [{"op": "add", "path": f"/{key}", "value": "spoon"}]
    path = f"/{ENTITY_TYPES[name].collection}/{entities[name]['id']}"
    answer = client.patch(path, content=json.dumps(patch), headers=PATCH)
    if answer.status_code == 200:  # a key that only the server writes
        assert answer.json().get(key) != "spoon"
        return
    assert answer.status_code == 400
    assert all(word in answer.json()["message"] for word in (key, *shapes.enumeration(name, key)))


@pytest.mark.parametrize("name", [name for name in requests.ORDER if "deleted" in ENTITY_TYPES[name].keys])
def test_a_deletion_and_a_restoring_are_what_the_schema_says(
    client: httpx.Client, entities: dict[str, Json], name: str
) -> None:
    row, schema = ENTITY_TYPES[name], SCHEMAS[name]
    path = f"/{row.collection}/{entities[name]['id']}"
    deleted = client.delete(f"{path}?recursive=true")
    assert (deleted.status_code, deleted.json()["deleted"]) == (200, True), deleted.text
    assert problems(schema, deleted.json()) == []
    assert client.get(path).status_code == 404
    assert client.get(f"/{row.collection}/name/{entities[name]['fullyQualifiedName']}&include=all").status_code == 200
    restored = client.put(f"/{row.collection}/restore", json={"id": entities[name]["id"]})
    assert problems(schema, restored.json()) == []
    assert client.get(path).status_code == 200


def test_events_are_what_the_schemas_say(client: httpx.Client) -> None:
    schemas = {**SCHEMAS, THREAD: "entity/feed/thread.json"}
    page, offset = [None], 0
    entity_types: set[str] = set()
    while page:
        answer = client.get("/events", params={"offset": offset, "limit": 1000}).json()
        page, offset = answer["data"], answer["paging"]["offset"]
        for event in page:
            assert problems("type/changeEvent.json", event) == []
            if "entity" in event:
                inside = json.loads(event["entity"]) if isinstance(event["entity"], str) else event["entity"]
                for suite in inside.get("testSuites", ()):
                    suite.pop("type", None)  # references here; upstream's client reads any value in an event
                assert problems(schemas[event["entityType"]], inside) == []
                entity_types.add(event["entityType"])
        if offset is None:
            break
    assert entity_types == schemas.keys(), "of a term that is in review, a task as well"


def test_a_follow_answers_with_a_change_event(client: httpx.Client, entities: dict[str, Json]) -> None:
    me = client.get("/users/loggedInUser").json()
    for _ in range(2):
        event = client.put(f"/tables/{entities['table']['id']}/followers/{me['id']}").json()
        assert problems("type/changeEvent.json", event) == []


def test_status_and_lineage_are_what_the_schema_says(client: httpx.Client, entities: dict[str, Json]) -> None:
    orders, full = warehouse(client), table(client, "full")
    alert = entities["eventsubscription"]
    path = f"/events/subscriptions/{alert['id']}/status/{alert['destinations'][0]['id']}"
    assert problems("events/subscriptionStatus.json", client.get(path).json()) == []
    edge = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": full["id"], "type": "table"}}
    assert client.put("/lineage", json={"edge": edge}).is_success
    lineage = client.get(f"/lineage/table/{full['id']}").json()
    assert lineage["nodes"]
    assert problems("type/entityLineage.json", lineage) == []
