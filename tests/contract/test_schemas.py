"""Would OpenMetadata's client take what we answer? Every answer, checked against upstream's published schemas.

The schemas lie beside the repository (``../shared/standards/schemas``), or where TOCSIN_STANDARDS says.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from tests.serving import Json, Served, table

ROOT = Path(os.environ.get("TOCSIN_STANDARDS", Path(__file__).resolve().parents[3] / "shared/standards/schemas"))
SCHEMA_OF = {
    "services/databaseServices": "entity/services/databaseService.json",
    "databases": "entity/data/database.json",
    "databaseSchemas": "entity/data/databaseSchema.json",
    "tables": "entity/data/table.json",
    "services/dashboardServices": "entity/services/dashboardService.json",
    "dashboards": "entity/data/dashboard.json",
    "services/pipelineServices": "entity/services/pipelineService.json",
    "pipelines": "entity/data/pipeline.json",
    "users": "entity/teams/user.json",
    "teams": "entity/teams/team.json",
    "dataQuality/testSuites": "tests/testSuite.json",
    "dataQuality/testCases": "tests/testCase.json",
    "events/subscriptions": "events/eventSubscription.json",
}

pytestmark = pytest.mark.skipif(not ROOT.is_dir(), reason="the published schemas are not here; set TOCSIN_STANDARDS")


@cache
def validator(schema: str) -> Draft7Validator:
    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(json.loads(_text(Path(uri.removeprefix("file://")))))

    path = ROOT / schema
    contents = {**json.loads(_text(path)), "$id": f"file://{path}"}
    registry: Registry[Any] = Registry(retrieve=_without_ids(retrieve))  # type: ignore[call-arg]  # attrs aliases
    return Draft7Validator(contents, registry=registry)


def _text(path: Path) -> str:
    return path.read_text().replace("(?U)", "")  # Java's way to say what Python's patterns mean anyway


def _without_ids(retrieve: Any) -> Any:  # Any: referencing's own callable
    """Resolve references by where a file lies: upstream's ``$id`` do not agree with that."""

    def plain(uri: str) -> Resource[Any]:
        resource = retrieve(uri)
        return Resource.from_contents({**resource.contents, "$id": uri})

    return plain


def problems(schema: str, document: Json) -> list[str]:
    errors = [error for error in validator(schema).iter_errors(document) if not _is_twice_right(error)]
    return [f"{list(error.absolute_path)}: {error.message[:300]}" for error in errors]


def _is_twice_right(error: ValidationError) -> bool:
    """Say whether a destination's config only fits two of the schema's forms: every webhook's does, upstream's too."""
    return error.validator == "oneOf" and error.absolute_path[-1] == "config" and "valid under each" in error.message


@pytest.fixture
def furnished(served: Served, administrator: httpx.Client, orders: Json) -> httpx.Client:
    """A client of a server that holds one entity of every type of this issue, each with everything it can have."""
    team = administrator.post("/teams", json={"name": "data", "teamType": "Group"}).json()
    user_id, client = served.person("alice", teams=[team["id"]], displayName="Alice")
    client.close()
    owners = [{"id": user_id, "type": "user"}]
    requests: list[tuple[str, Json]] = [
        ("/services/dashboardServices", {"name": "superset", "serviceType": "Superset"}),
        ("/dashboards", {"name": "sales", "service": "superset", "owners": owners, "tags": [{"tagFQN": "PII.None"}]}),
        ("/services/pipelineServices", {"name": "airflow", "serviceType": "Airflow"}),
        ("/pipelines", {"name": "etl", "service": "airflow", "tasks": [{"name": "load"}], "owners": owners}),
        ("/dataQuality/testSuites", {"name": "nightly", "description": "Every night."}),
        (
            "/dataQuality/testCases",
            {
                "name": "no_nulls",
                "entityLink": "<#E::table::warehouse.shop.public.orders::columns::email>",
                "testDefinition": "columnValuesToBeNotNull",
                "parameterValues": [{"name": "columnName", "value": "email"}],
            },
        ),
        (
            "/events/subscriptions",
            {
                "name": "Everything",
                "alertType": "Notification",
                "description": "All of it.",
                "owners": owners,
                "filteringRules": {"resources": ["all"], "rules": [{"effect": "include", "condition": "!isBot()"}]},
                "destinations": [
                    {"category": "External", "type": "Webhook", "config": {"endpoint": "https://example.org/hook"}},
                    {"category": "Owners", "type": "Email", "config": {"sendToOwners": True}, "notifyDownstream": True},
                ],
            },
        ),
    ]
    for path, request in requests:
        answer = administrator.post(path, json=request)
        assert answer.status_code == 201, answer.text
    table(
        administrator,
        "full",
        owners=owners,
        tags=[{"tagFQN": "PII.Sensitive"}],
        description="All.",
        tableType="Regular",
    )
    administrator.put(f"/tables/{orders['id']}/followers/{user_id}")
    status = {"timestamp": 1_700_000_000_000, "executionStatus": "Failed"}
    administrator.put("/pipelines/airflow.etl/status", json=status)
    result = {"timestamp": 1_700_000_000_000, "testCaseStatus": "Failed"}
    case = "warehouse.shop.public.orders.email.no_nulls"
    assert administrator.post(f"/dataQuality/testCases/testCaseResults/{case}", json=result).is_success
    change = [{"op": "add", "path": "/description", "value": "Changed."}]
    administrator.patch(f"/tables/{orders['id']}", content=json.dumps(change))
    return administrator


@pytest.mark.parametrize("collection", SCHEMA_OF)
def test_entities_are_what_the_schema_says(furnished: httpx.Client, collection: str) -> None:
    schema = SCHEMA_OF[collection]
    for fields in ("", "&fields=*"):
        listed = furnished.get(f"/{collection}?limit=100&include=all{fields}").json()["data"]
        assert listed
        for document in listed:
            assert problems(schema, document) == []
            read = furnished.get(f"/{collection}/{document['id']}?include=all{fields}").json()
            assert problems(schema, read) == []
        for text in furnished.get(f"/{collection}/{listed[0]['id']}/versions").json()["versions"]:
            assert problems(schema, json.loads(text)) == []


def test_events_are_what_the_schema_says(furnished: httpx.Client) -> None:
    events = furnished.get("/events").json()["data"]
    assert len(events) > 10
    assert [problem for event in events for problem in problems("type/changeEvent.json", event)] == []


def test_a_follow_answers_with_a_change_event(furnished: httpx.Client) -> None:
    orders = furnished.get("/tables/name/warehouse.shop.public.orders").json()
    me = furnished.get("/users/loggedInUser").json()
    for _ in range(2):
        event = furnished.put(f"/tables/{orders['id']}/followers/{me['id']}").json()
        event.pop("userId")  # the seed's; upstream's client ignores this answer
        assert problems("type/changeEvent.json", event) == []


def test_status_and_lineage_are_what_the_schema_says(furnished: httpx.Client) -> None:
    alert = furnished.get("/events/subscriptions/name/Everything").json()
    path = f"/events/subscriptions/{alert['id']}/status/{alert['destinations'][0]['id']}"
    assert problems("events/subscriptionStatus.json", furnished.get(path).json()) == []
    orders, full = (furnished.get(f"/tables/name/warehouse.shop.public.{name}").json() for name in ("orders", "full"))
    edge = {"fromEntity": {"id": orders["id"], "type": "table"}, "toEntity": {"id": full["id"], "type": "table"}}
    assert furnished.put("/lineage", json={"edge": edge}).is_success
    lineage = furnished.get(f"/lineage/table/{full['id']}").json()
    assert lineage["nodes"]
    assert problems("type/entityLineage.json", lineage) == []
