"""Schemas that everything shares: errors, pages, versions, change events, results of many writes, health."""

from __future__ import annotations

from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.server.openapi.json_schema import (
    COUNT,
    FLAG,
    ID,
    NUMBER,
    OPEN,
    TEXT,
    TIME,
    URL,
    WHOLE,
    array,
    closed_object,
    either,
    ref,
    whole,
)

_ENTITY_TYPE: Document = {"type": "string", "examples": ["table"]}
_EVENT: Document = {
    "id": ID,
    "eventType": either(*EventType),
    "entityType": _ENTITY_TYPE,
    "entityId": ID,
    "timestamp": TIME,
}
_EVENT_BESIDES: Document = {
    "entityFullyQualifiedName": TEXT,
    "domains": array(TEXT),
    "previousVersion": NUMBER,
    "currentVersion": NUMBER,
    "userName": TEXT,
    "userId": TEXT,
    "changeDescription": ref("ChangeDescription"),
    "entity": {"type": ["object", "string"], "description": "The entity; as JSON text in OpenMetadata's form."},
    "idempotencyKey": {"type": "string", "description": "The same for every delivery of this event."},
    "semanticChanges": array(ref("SemanticChange")),
}
_BULK: Document = {
    "status": either("success", "partialSuccess", "failure"),
    "numberOfRowsProcessed": COUNT,
    "numberOfRowsPassed": COUNT,
    "numberOfRowsFailed": COUNT,
    "successRequest": array(ref("BulkOutcome")),
    "failedRequest": array(ref("BulkOutcome")),
}

EVENTS: dict[str, Document] = {
    "Error": whole(
        {
            "code": {"type": "integer", "description": "The HTTP status."},
            "message": {"type": "string", "description": "What is wrong, where, and what to do."},
        }
    ),
    "Paging": closed_object(
        {
            "total": {"type": "integer", "minimum": 0, "description": "Entries of all pages."},
            "after": {"type": "string", "description": "Cursor of the next page."},
            "before": {"type": "string", "description": "Cursor of the page before."},
            "offset": COUNT,
            "limit": COUNT,
        }
    ),
    "Said": whole({"message": TEXT}),
    "EndedJob": whole({"jobId": ID, "message": TEXT}),
    "VersionHistory": whole(
        {
            "entityType": _ENTITY_TYPE,
            "versions": array({"type": "string", "contentMediaType": "application/json"}),
        },
        {"words": array(array(TEXT))},
    ),
    "SemanticChange": whole({"category": TEXT, "operation": TEXT, "target": TEXT, "text": TEXT}, {"value": {}}),
    "ChangeEvent": whole(_EVENT, _EVENT_BESIDES),
    "CloudEvent": whole(
        {
            "specversion": {"const": "1.0"},
            "id": ID,
            "source": URL,
            "type": TEXT,
            "subject": TEXT,
            "time": {"type": "string", "format": "date-time"},
            "datacontenttype": {"const": "application/json"},
            "data": ref("ChangeEvent"),
        }
    ),
    "Event": {
        "description": "A change event, or, as `format` says, a CloudEvent with it.",
        "anyOf": [ref("ChangeEvent"), ref("CloudEvent")],
    },
    "RolledBack": whole(
        {
            "dryRun": FLAG,
            "changeDescription": ref("ChangeDescription"),
            "leftOut": array(whole({"field": TEXT, "value": {}, "reason": TEXT})),
            "entity": OPEN,
        }
    ),
    "BulkOutcome": whole({"request": {}, "status": WHOLE}, {"message": TEXT}),
    "BulkResult": whole(_BULK, {"dryRun": FLAG}),
    "ImportResult": whole(
        {
            "dryRun": FLAG,
            "status": either("success", "partialSuccess", "failure", "aborted"),
            "numberOfRowsProcessed": COUNT,
            "numberOfRowsPassed": COUNT,
            "numberOfRowsFailed": COUNT,
            "importResultsCsv": TEXT,
        },
        {"abortReason": TEXT},
    ),
    "SheetColumns": whole(
        {
            "summary": TEXT,
            "headers": array(
                whole({"name": TEXT, "required": FLAG, "description": TEXT, "examples": array(TEXT)}),
            ),
        }
    ),
    "Health": whole(
        {
            "status": either("ok", "degraded", "eventsLost"),
            "problems": array(whole({"name": TEXT, "message": TEXT})),
            "alertsWithFindings": COUNT,
            "logOffset": COUNT,
            "pipeline": array(
                whole({"query": TEXT, "logOffset": COUNT, "reportedAt": TIME}, {"waitsFor": TEXT, "waitsSince": TIME}),
            ),
        },
        {"seenBy": array(TEXT)},
    ),
    "Version": whole({"version": TEXT, "revision": TEXT, "timestamp": TIME}),
    "Setting": whole({"config_type": TEXT, "config_value": OPEN}),
    "ConnectionTest": whole(
        {
            "id": ID,
            "name": TEXT,
            "fullyQualifiedName": TEXT,
            "displayName": TEXT,
            "description": TEXT,
            "steps": array(OPEN),
            "version": NUMBER,
            "updatedAt": TIME,
            "updatedBy": TEXT,
            "href": URL,
            "deleted": FLAG,
        }
    ),
}
"""What everything shares: errors, pages, versions, change events, results of many writes, health."""
