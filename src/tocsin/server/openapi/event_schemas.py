"""Schemas that everything shares: errors, pages, events, jobs, health, followers, tokens."""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.server.openapi.json_schema import (
    COUNT,
    FLAG,
    ID,
    OPEN,
    TEXT,
    TIME,
    URL,
    array,
    closed_object,
    either,
    mapping,
    nullable,
    ref,
    whole,
)

_ENTITY_TYPE: Document = {"type": "string", "examples": ["table"]}

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
    "Setting": whole({"config_type": TEXT, "config_value": OPEN}),
    "Followers": whole(
        {
            "entityType": TEXT,
            "entityId": ID,
            "followers": array(ref("EntityReference")),
            "data": array(ref("EntityReference")),
        }
    ),
    "Ancestors": array(ref("EntityReference")) | {"description": "What a container lies in, the outermost first."},
    "Follows": mapping(array(ref("EntityReference"))) | {"description": "Lists of assets, by collection."},
    "LogIn": whole({"accessToken": TEXT, "tokenType": {"const": "Bearer"}, "expiryDuration": nullable(TIME)}),
    "BotMechanism": whole({"authType": TEXT, "config": ref("BotToken")}),
    "BotToken": whole({"JWTToken": TEXT, "JWTTokenExpiry": TEXT}, {"JWTTokenExpiresAt": nullable(TIME)}),
}
"""What everything shares: errors, pages, events, jobs, health, followers, tokens."""
