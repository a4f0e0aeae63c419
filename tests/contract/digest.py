"""Compiler of the published schemas to ``model/shapes.json``; run as ``python -m tests.contract.digest``.

A shape is one of ``any text integer number boolean object``, or an object with one of: ``use`` (a shape by its name),
``enum`` (the words there are), ``text`` (with a pattern, lengths or a format), ``list`` and ``map`` (of a shape),
``either`` (one of these), ``fields`` (by key; ``required`` ones; ``open`` when others are welcome).
What configures connections and workflows is left open: upstream has hundreds of forms of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.contract.standards import ROOT, SCHEMAS
from tests.serving import Json

from tocsin.catalogue.feed.requests import LONGEST_MESSAGE
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.breaking import BreakingKind
from tocsin.model.change import EventType
from tocsin.model.channels import WORDED

SHAPES = Path(__file__).resolve().parents[2] / "src/tocsin/model/shapes.json"

_OPEN = re.compile(
    r"services/connections|metadataIngestion|automations|ingestionRunner|security/|applications/|configuration/"
)
_PLAIN = frozenset({"integer", "number", "boolean"})
_OF_TEXTS = ("minLength", "maxLength", "pattern", "format")


MESSAGES = (
    "api/data/createQueryCostRecord.json",
    "api/data/createTableProfile.json",
    "api/data/updateColumn.json",
    "api/events/notificationTemplateRenderRequest.json",
    "api/events/notificationTemplateValidationRequest.json",
    "api/events/notificationTemplateValidationResponse.json",
    "api/feed/closeTask.json",
    "api/feed/createPost.json",
    "api/feed/createThread.json",
    "api/feed/threadCount.json",
    "api/lineage/addLineage.json",
    "api/lineage/esLineageData.json",
    "api/openMetadataServerVersion.json",
    "api/tests/createLogicalTestCases.json",
    "api/tests/createTestCaseResolutionStatus.json",
    "auth/changePasswordRequest.json",
    "auth/createPersonalToken.json",
    "auth/loginRequest.json",
    "auth/personalAccessToken.json",
    "auth/revokePersonalToken.json",
    "auth/revokeToken.json",
    "entity/data/queryCostRecord.json",
    "entity/data/table.json#/definitions/systemProfile",
    "entity/feed/thread.json",
    "entity/policies/accessControl/resourcePermission.json",
    "entity/services/connections/testConnectionDefinition.json",
    "entity/teams/teamHierarchy.json",
    "events/api/eventSubscriptionDiagnosticInfo.json",
    "events/api/eventsRecord.json",
    "events/api/typedEvent.json",
    "events/eventSubscriptionOffset.json",
    "events/failedEventResponse.json",
    "events/filterResourceDescriptor.json",
    "tests/testCaseResolutionStatus.json",
    "type/bulkOperationResult.json",
    "type/changeEvent.json",
    "type/csvDocumentation.json",
    "type/csvImportResult.json",
    "type/dailyCount.json",
    "type/entityHistory.json",
    "type/entityLineage.json",
    "type/entityProfile.json",
    "type/entityUsage.json",
    "type/pipelineObservability.json",
)
"""Schemas of what requests and answers hold besides entities; the OpenAPI document has them from here."""


class Digest:
    """Reads schemas; ``named`` collects the shapes that are used more than once."""

    def __init__(self) -> None:
        self.named: dict[str, Json] = {}
        self._names: dict[tuple[str, str], str] = {}

    def fields(self, schema: str) -> Json:
        """Return the shape of every key of a type."""
        path = ROOT / schema
        properties = json.loads(path.read_text())["properties"]
        return {key: self._shape(path, node) for key, node in properties.items()}

    def read(self, schema: str) -> None:
        """Add the shape of a schema to the named ones, even of one that is left open where another one uses it."""
        if _OPEN.search(schema):
            self.named[Path(schema).stem] = self._shape(ROOT / schema, json.loads((ROOT / schema).read_text()))
        else:
            self._reference(ROOT / "none", schema)

    def _shape(self, base: Path, node: Json) -> Json:
        if "$ref" in node:
            return self._reference(base, node["$ref"])
        if "enum" in node:
            return {"enum": node["enum"]}
        if node.get("existingJavaType") == "java.lang.Long":
            return "integer"
        if forms := node.get("oneOf") or node.get("anyOf"):
            shapes = [self._shape(base, form) for form in forms]
            return "any" if {"any", "object"}.intersection(map(str, shapes)) else {"either": shapes}
        match node.get("type"):
            case "string":
                limits = {key: node[key] for key in _OF_TEXTS if key in node}
                return {"text": limits} if limits else "text"
            case str(plain) if plain in _PLAIN:
                return plain
            case "array":
                return {"list": self._shape(base, node.get("items", {}))}
            case "object":
                return self._object(base, node)
        return self._object(base, node) if "properties" in node else "any"

    def _object(self, base: Path, node: Json) -> Json:
        additional = node.get("additionalProperties", True)
        if not node.get("properties"):
            return {"map": self._shape(base, additional)} if isinstance(additional, dict) else "object"
        description = {"fields": {key: self._shape(base, inner) for key, inner in node["properties"].items()}}
        required = {"required": node["required"]} if node.get("required") else {}
        return description | required | ({} if additional is False else {"open": True})

    def _reference(self, base: Path, reference: str) -> Json:
        file, _, inside = reference.partition("#")
        path = (base.parent / file).resolve() if file else base
        place, node = str(path.relative_to(ROOT)), json.loads(path.read_text())
        for step in filter(None, inside.split("/")):
            node = node[step]
        if _OPEN.search(place):
            return "object" if node.get("type", "object") == "object" else "any"
        name = self._names.get((place, inside))
        if name is None:
            name = self._names[place, inside] = self._free_name(place, inside)
            self.named[name] = None
            self.named[name] = self._shape(path, node)
        shape = self.named[name]
        return shape if isinstance(shape, str) else {"use": name}

    def _free_name(self, place: str, inside: str) -> str:
        short = inside.rpartition("/")[2] or Path(place).stem
        return short if short not in self.named else f"{place.removesuffix('.json')}#{short}"


def digest() -> str:
    """Return the file's contents: one line for each shape and each type."""
    reads = Digest()
    types = {name: reads.fields(schema) for name, schema in SCHEMAS.items()}
    required_keys = {
        name: json.loads((ROOT / schema).read_text()).get("required", []) for name, schema in SCHEMAS.items()
    }
    types["type"]["name"] = {"text": {"pattern": r"^[\w-]+$"}}  # upstream's own types have hyphens: date-cp
    types["testCase"]["testSuites"] = {
        "list": {"use": "entityReference"}
    }  # so kept; server/entities/response.py shows suites
    reads.named["statusType"]["enum"].append("PartialSuccess")  # of a pipeline's run, as the seeds have it
    reads.named["trigger"]["fields"]["timezone"] = "text"  # ours: whose clocks a schedule follows
    reads.named["trigger"]["fields"]["groupBy"] = {"enum": ["alert", "asset", "lineageRoot", "none"]}
    reads.named["trigger"]["fields"]["sendResolved"] = "boolean"
    reads.named["trigger"]["fields"]["repeatInterval"] = "integer"
    reads.named["destination"]["fields"]["name"] = "text"  # ours: what people call it
    for schema in MESSAGES:
        reads.read(schema)
    _extend_messages(reads.named)
    shapes = {name: shape for name, shape in reads.named.items() if not isinstance(shape, str)}
    return "\n".join(
        [
            "{",
            _section("required", required_keys) + ",",
            _section("types", types) + ",",
            _section("shapes", shapes),
            "}",
            "",
        ]
    )


def _extend_messages(shapes: dict[str, Json]) -> None:
    """Add to the shapes of messages what they hold here besides."""
    shapes["changeEventType"]["enum"] += sorted(set(EventType) - set(shapes["changeEventType"]["enum"]))
    texts = dict.fromkeys(("category", "operation", "target", "text"), "text")
    shapes["semanticChange"] = {"fields": {**texts, "value": "any"}, "required": list(texts)}
    semantic_changes = {"list": {"use": "semanticChange"}}
    values = dict.fromkeys(("field", "before", "after", "text"), "text")
    shapes["breakingReason"] = {
        "fields": {"kind": {"enum": sorted(BreakingKind)}, **values},
        "required": ["kind", "text"],
    }
    shapes["announcement"] = {
        "fields": {
            "request": "text",
            "outcome": {"enum": sorted(ChangeOutcome)},
            "field": "text",
            "openAnswers": "integer",
            "renamedTo": "text",
            "text": "text",
        },
        "required": ["request", "outcome", "openAnswers", "text"],
    }
    shapes["importedCount"] = {"fields": {"entityType": "text", "created": "integer", "updated": "integer"}}
    shapes["importedCount"]["required"] = sorted(shapes["importedCount"]["fields"])
    shapes["changeEvent"]["fields"] |= {
        "userId": "text",
        "idempotencyKey": "text",
        "title": "text",
        "changes": {"list": "text"},
        "semanticChanges": semantic_changes,
        "breaking": "boolean",
        "breakingReasons": {"list": {"use": "breakingReason"}},
        "announcements": {"list": {"use": "announcement"}},
        "reason": "text",
        "recursive": "boolean",
        "belowCount": "integer",
        "imported": {"list": {"use": "importedCount"}},
        "partOf": {"use": "uuid"},
    }
    shapes["entityHistory"]["fields"]["breaking"] = {"list": {"list": {"use": "breakingReason"}}}
    shapes["entityHistory"]["fields"]["reasons"] = {"list": "text"}
    shapes["entityHistory"]["fields"]["authors"] = {"list": "text"}
    shapes["entityHistory"]["fields"]["words"] = {"list": {"list": "text"}}
    shapes["createPersonalToken"]["fields"]["password"] = "text"
    shapes["personalAccessToken"]["fields"] |= {
        key: {"either": [kind, {"enum": [None]}]} for key, kind in (("tokenName", "text"), ("expiryDate", "integer"))
    }
    del shapes["updateColumn"]["fields"]["extension"]
    shapes["changePasswordRequest"]["required"] = ["newPassword"]
    render_request = shapes["notificationTemplateRenderRequest"]
    render_request["fields"] |= {"eventId": {"use": "uuid"}, "channel": {"enum": sorted(WORDED)}}
    render_request["required"] = ["templateSubject", "templateBody"]
    for name in ("createPost", "createThread"):
        shapes[name]["fields"]["message"] = {"text": {"minLength": 1, "maxLength": LONGEST_MESSAGE}}


def _section(title: str, members: dict[str, Json]) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(members[name], sort_keys=True)}" for name in sorted(members))
    return f'"{title}": {{\n' + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    SHAPES.write_text(digest())
