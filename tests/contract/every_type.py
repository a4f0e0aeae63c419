"""Minimal create requests for an entity of each type, with the entities they depend on.

Made without the published schemas, so that these tests run anywhere.
"""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json

from tocsin.model.entity_types import ENTITY_TYPES

_RULE = {"name": "see", "effect": "allow", "operations": ["ViewBasic"], "resources": ["table"]}
_HOOK = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://example.org/hook"}}
_SERVICE_TYPES = {
    "databaseService": "Postgres",
    "dashboardService": "Superset",
    "messagingService": "Kafka",
    "pipelineService": "Airflow",
    "mlmodelService": "Mlflow",
    "storageService": "S3",
    "apiService": "Rest",
    "searchService": "ElasticSearch",
    "metadataService": "Amundsen",
}

REQUESTS: dict[str, Json] = {
    **{name: {"serviceType": kind} for name, kind in _SERVICE_TYPES.items()},
    "ingestionPipeline": {
        "service": {"type": "databaseService", "fullyQualifiedName": "base"},
        "pipelineType": "metadata",
        "sourceConfig": {"config": {}},
        "airflowConfig": {},
    },
    "database": {"service": "base"},
    "databaseSchema": {"database": "base.base"},
    "table": {"databaseSchema": "base.base.base", "columns": [{"name": "id", "dataType": "BIGINT"}]},
    "storedProcedure": {"databaseSchema": "base.base.base", "storedProcedureCode": {"code": "x", "language": "SQL"}},
    "query": {"service": "base", "query": "select 1 -- {name}"},
    "dashboard": {"service": "base"},
    "chart": {"service": "base"},
    "report": {"service": "base"},
    "dashboardDataModel": {"service": "base", "dataModelType": "SupersetDataModel", "columns": []},
    "topic": {"service": "base", "partitions": 1},
    "pipeline": {"service": "base"},
    "mlmodel": {"service": "base", "algorithm": "x"},
    "container": {"service": "base"},
    "searchIndex": {"service": "base", "fields": []},
    "apiCollection": {"service": "base"},
    "apiEndpoint": {"apiCollection": "base.base"},
    "metric": {},
    "glossary": {"description": "x"},
    "glossaryTerm": {"description": "x", "glossary": "base"},
    "classification": {"description": "x"},
    "tag": {"description": "x", "classification": "base"},
    "domain": {"description": "x", "domainType": "Aggregate"},
    "dataProduct": {"description": "x", "domains": ["base"]},
    "type": {"description": "x", "category": "entity", "nameSpace": "data", "schema": "{}"},
    "user": {"email": "{name}@example.org"},
    "team": {"teamType": "Group"},
    "role": {"policies": ["base"]},
    "policy": {"rules": [_RULE]},
    "bot": {"botUser": "base"},
    "testDefinition": {"description": "x", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]},
    "testSuite": {},
    "testCase": {"entityLink": "<#E::table::base.base.base.base>", "testDefinition": "base"},
    "eventsubscription": {
        "alertType": "Notification",
        "trigger": {"triggerType": "RealTime"},
        "resources": ["table"],
        "destinations": [_HOOK],
    },
    "notificationTemplate": {"templateSubject": "x", "templateBody": "x"},
}
"""What a request needs besides its name."""

ORDER = (
    "policy role user team classification tag domain dataProduct glossary glossaryTerm metric type bot testDefinition "
    "databaseService dashboardService messagingService pipelineService mlmodelService storageService apiService "
    "searchService metadataService database databaseSchema table storedProcedure query dashboard chart report "
    "dashboardDataModel topic pipeline mlmodel container searchIndex apiCollection apiEndpoint ingestionPipeline "
    "testSuite testCase notificationTemplate eventsubscription"
).split()
"""Every type, after those that it names."""

_ALIKE = frozenset(
    "dashboardService messagingService pipelineService mlmodelService storageService apiService searchService "
    "metadataService database storedProcedure chart topic mlmodel searchIndex apiCollection apiEndpoint".split()
)
"""Types whose row differs from another's by the keys alone: a service, or an asset in one."""

ONE_OF_EACH_KIND = [pytest.param(name, marks=pytest.mark.soak) if name in _ALIKE else name for name in ORDER]
"""Types by which ``make test`` looks at what depends on no key; ``make soak`` takes them all."""

assert set(ORDER) == set(REQUESTS) == set(ENTITY_TYPES)


def path_of(entity_type: str) -> str:
    """Return the path of a type's collection."""
    return f"/{ENTITY_TYPES[entity_type].collection}"


def request(entity_type: str, name: str) -> Json:
    """Return a request for an entity of a type, of any name."""
    body = dict(REQUESTS[entity_type])
    if entity_type == "query":
        body["query"] = body["query"].replace("{name}", name)
    if entity_type == "user":
        body["email"] = f"{name.encode().hex()[:60]}@example.org"
    return {"name": name, **body}


def make_one_of_each(client: httpx.Client) -> dict[str, Json]:
    """Create one entity of every type, each called ``base``; return the answers by type."""
    entities: dict[str, Json] = {}
    for entity_type in ORDER:
        body = request(entity_type, "base")
        answer = client.post(path_of(entity_type), json=body)
        assert answer.status_code == 201, (entity_type, answer.text)
        entities[entity_type] = answer.json()
    return entities


def create(client: httpx.Client, entity_type: str, name: str, **fields: Json) -> httpx.Response:
    """Ask for one more entity of a type."""
    return client.post(path_of(entity_type), json=request(entity_type, name) | fields)
