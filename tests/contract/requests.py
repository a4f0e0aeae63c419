"""Complete create requests for an entity of each type, with every key of the published schema.

Values that the schema does not determine, that is references, are in ``GIVEN``; the rest is generated from the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.contract.standards import CREATES, ROOT, SCHEMAS
from tests.serving import Json

DEEPEST = 9

_TEXTS = {
    "uuid": "00000000-0000-4000-8000-00000000abcd",
    "uri": "https://example.org/it",
    "url": "https://example.org/it",
    "email": "it@example.org",
    "date": "2024-01-15",
    "date-time": "2024-01-15T10:00:00Z",
    "time": "10:00:00",
    "timezone": "Europe/Berlin",
}

LABELS = [{"tagFQN": "Full.First", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}]

ORDER = (
    "policy role user team classification tag domain dataProduct glossary glossaryTerm metric type bot testDefinition "
    "databaseService dashboardService messagingService pipelineService mlmodelService storageService apiService "
    "searchService metadataService database databaseSchema table storedProcedure query dashboard chart report "
    "dashboardDataModel topic pipeline mlmodel container searchIndex apiCollection apiEndpoint ingestionPipeline "
    "testSuite testCase notificationTemplate eventsubscription"
).split()
"""Every type, after those that it names."""

FULL_TABLE = "full.full.full.full"

_MODE = {"type": "Mode", "accessToken": "secret", "accessTokenPassword": "secret", "workspaceName": "full"}
_OPEN_API = {"openAPISchemaURL": "https://example.org/openapi.json"}

GIVEN: dict[str, Json] = {
    "tag": {
        "name": "First",
        "classification": "Full",
        "parent": None,
        "recognizers": [
            {
                "name": "full",
                "recognizerConfig": {
                    "type": "exact_terms",
                    "exactTerms": ["full"],
                    "supportedLanguage": "en",
                    "regexFlags": {"ignoreCase": True},
                },
            }
        ],
    },
    "dashboardService": {"connection": {"config": _MODE}, "serviceType": "Mode"},
    "storageService": {"connection": {"config": {"type": "S3", "awsConfig": {"awsRegion": "us-east-1"}}}},
    "apiService": {"connection": {"config": {"type": "Rest", "openAPISchemaConnection": _OPEN_API}}},
    "classification": {"name": "Full"},
    "domain": {"parent": None, "experts": ["admin"]},
    "dataProduct": {"experts": ["admin"], "assets": None},
    "glossaryTerm": {"glossary": "full", "parent": None, "relatedTerms": None},
    "metric": {"relatedMetrics": None},
    "type": {"name": "fullType"},
    "user": {
        "name": "robot",
        "email": "robot@example.org",
        "isBot": True,
        "password": None,
        "confirmPassword": None,
        "teams": None,
        "roles": None,
        "authenticationMechanism": None,
        "personas": None,
        "defaultPersona": None,
    },
    "team": {
        "parents": None,
        "children": None,
        "users": None,
        "defaultRoles": None,
        "policies": None,
        "teamType": "Department",
    },
    "role": {"policies": ["full"]},
    "policy": {
        "rules": [{"name": "all", "effect": "allow", "operations": ["ViewBasic"], "resources": ["table"]}],
    },
    "bot": {"botUser": "robot"},
    "storedProcedure": {"databaseSchema": "full.full.full"},
    "databaseSchema": {"database": "full.full"},
    "table": {
        "databaseSchema": "full.full.full",
        "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["full"]}],
    },
    "query": {
        "service": "apart",
        "users": ["admin"],
        "triggeredBy": None,
        "queryUsedIn": None,
    },
    "dashboard": {"charts": None, "dataModels": None},
    "chart": {"dashboards": ["full.full"]},
    "report": {
        "domains": None,
        "service": {"id": "{dashboardService}", "type": "dashboardService"},
        **dict.fromkeys(("id", "fullyQualifiedName", "version", "updatedAt", "updatedBy", "impersonatedBy", "href")),
        **dict.fromkeys(("changeDescription", "incrementalChangeDescription", "deleted", "votes", "usageSummary")),
    },
    "mlmodel": {"dashboard": "full.full"},
    "container": {"parent": None},
    "apiCollection": {"apiEndpoints": None},
    "apiEndpoint": {"apiCollection": "full.full"},
    "ingestionPipeline": {"service": {"id": "{databaseService}", "type": "databaseService"}},
    "testSuite": {"basicEntityReference": None, "executableEntityReference": None, "name": "full"},
    "testDefinition": {"name": "full", "entityType": "COLUMN"},
    "testCase": {
        "entityLink": f"<#E::table::{FULL_TABLE}::columns::full>",
        "testDefinition": "full",
        "testSuite": None,
    },
    "eventsubscription": {
        "alertType": "Notification",
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {"resources": ["all"], "rules": [{"effect": "include", "condition": "!isBot()"}]},
        "destinations": [
            {"category": "External", "type": "Webhook", "config": {"endpoint": "https://example.org/hook"}},
            {"category": "Owners", "type": "Email", "config": {"sendToOwners": True}, "notifyDownstream": True},
        ],
        "input": None,
        "notificationTemplate": None,
        "resources": ["all"],
        "className": None,
        "config": None,
    },
}
"""Values of keys that a schema alone does not determine; None leaves the key out."""


def request(entity_type: str, *, owner: Json) -> Json:
    """Return a request with every key of this type's published create request."""
    path = ROOT / CREATES[entity_type.lower()]
    schema = json.loads(path.read_text())
    everywhere: Json = {
        "name": "full",
        "owners": [owner],
        "reviewers": [owner],
        "domains": ["full"],
        "dataProducts": ["full"],
        "service": "full",
        "tags": LABELS,
        "extension": None,
        "connection": {"config": {}},
        "provider": "user",  # what belongs to the system cannot be deleted
        "ingestionRunner": None,
        "processingEngine": None,
        "lifeCycle": {"created": {"timestamp": 1, "accessedBy": owner}},
        "dataContract": None,
    }
    if entity_type in _BEFORE_DOMAINS:
        everywhere |= {"domains": None}
    if entity_type in _BEFORE_TAGS:
        everywhere |= {"tags": None}
    request_body: Json = {}
    for key, node in schema["properties"].items():
        given_values = everywhere | GIVEN.get(entity_type, {})
        value = given_values[key] if key in given_values else value_of(path, node)
        if value is not None:
            request_body[key] = value
    return request_body


_BEFORE_DOMAINS = frozenset({"policy", "role", "user", "team", "classification", "tag"})
_BEFORE_TAGS = frozenset({"policy", "role", "user", "team", "classification", "tag"})


def value_of(base: Path, node: Json, depth: int = 0) -> Json:
    """Return a value that the schema ``node`` of the file ``base`` allows, with every key of every object."""
    if "$ref" in node:
        return _value_of_reference(base, node["$ref"], depth)
    if depth > DEEPEST:
        return None
    if "metadataIngestion" in str(base) and node.get("type") == "object":
        return {}
    if "enum" in node:
        return node["enum"][0]
    if forms := node.get("oneOf") or node.get("anyOf"):
        return value_of(base, forms[0], depth + 1)
    if node.get("type") == "array":
        inner = value_of(base, node.get("items", {}), depth + 1)
        return [] if inner is None else [inner]
    if node.get("type") in _PLAIN:
        return _PLAIN[node["type"]](node)
    values = {key: value_of(base, inner, depth + 1) for key, inner in node.get("properties", {}).items()}
    filled_values = {key: value for key, value in values.items() if value is not None}
    return filled_values if filled_values.keys() >= set(node.get("required", ())) else None


def _value_of_reference(base: Path, reference: str, depth: int) -> Json:
    file, _, inside = reference.partition("#")
    path = (base.parent / file).resolve() if file else base
    target = json.loads(path.read_text())
    for step in filter(None, inside.split("/")):
        target = target[step]
    if inside.endswith("/entityLink"):
        return f"<#E::table::{FULL_TABLE}>"
    if not inside and path.name in _WHOLE:
        return _WHOLE[path.name]
    return value_of(path, target, depth + 1)


_WHOLE = {"tagLabel.json": LABELS[0], "entityReference.json": None}
_PLAIN: dict[str, Callable[[Json], Json]] = {
    "string": lambda node: _TEXTS.get(node.get("format", ""), "full"),
    "integer": lambda node: max(node.get("minimum", 3), 3),
    "number": lambda node: max(node.get("minimum", 0.5), 0.5),
    "boolean": lambda _: True,
    "null": lambda _: None,
}


assert set(ORDER) == set(SCHEMAS)
