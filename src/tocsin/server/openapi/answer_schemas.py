"""Schemas of answers that upstream does not define, but for those of alerts, by name. Next: ``operations.py``."""

from __future__ import annotations

from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.http.json_schema import (
    COUNT,
    DAY,
    ENTITY_TYPE,
    FLAG,
    ID,
    NUMBER,
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

_REFERENCE = ref("EntityReference")
_LINEAGE_ENDS: Document = {"fromEntity": _REFERENCE, "toEntity": _REFERENCE}
_NODE: Document = {"type": "object", "required": ["id", "type"], "properties": {"id": ID, "type": ENTITY_TYPE}}
_HITS: Document = {"took": COUNT, "timed_out": FLAG}
_TOTAL = whole({"value": COUNT, "relation": either("eq", "gte")})

ANSWERS: dict[str, Document] = {
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
    "LineageEdge": {
        "type": "object",
        "description": "An edge with its ends, or only its details.",
        "required": ["edge"],
        "properties": {"edge": {"allOf": [{"properties": _LINEAGE_ENDS}, ref("LineageDetails")]}},
        "additionalProperties": False,
    },
    "LineageEdges": whole({"edges": array(whole(_LINEAGE_ENDS, {"lineageDetails": ref("LineageDetails")}))}),
    "LineageMap": whole(
        {
            "nodes": mapping(whole({"entity": _NODE, "paging": OPEN, "nodeDepth": COUNT})),
            "upstreamEdges": mapping(ref("EsLineageData")),
            "downstreamEdges": mapping(ref("EsLineageData")),
        }
    ),
    "AffectedAsset": {
        "type": "object",
        "required": ["id", "type", "level", "owners"],
        "properties": {
            "id": ID,
            "type": either(*ENTITY_TYPES),
            "name": TEXT,
            "fullyQualifiedName": TEXT,
            "level": COUNT,
            "owners": array(OPEN),
            "via": OPEN,
            "pipeline": OPEN,
            "basis": either("table", "column"),
            "affectedColumns": array(TEXT),
        },
    },
    "Impact": whole(
        {
            "entity": _NODE,
            "columns": array(TEXT),
            "depth": COUNT,
            "truncated": FLAG,
            "counts": whole(
                {
                    "total": COUNT,
                    "byType": mapping(COUNT),
                    "byLevel": mapping(COUNT),
                    "byTypeAndLevel": mapping(mapping(COUNT)),
                }
            ),
            "people": whole({"owners": COUNT, "followers": COUNT}),
            "affected": mapping(array(ref("AffectedAsset"))),
        },
        {"event": whole({"id": ID, "eventType": either(*EventType), "timestamp": TIME})},
    ),
    "SearchHit": whole(
        {
            "_index": TEXT,
            "_id": ID,
            "_score": nullable(NUMBER),
            "_source": {
                "type": "object",
                "description": "The entity, with `entityType`, or the part of it that was asked for.",
                "properties": {
                    "id": ID,
                    "name": TEXT,
                    "fullyQualifiedName": TEXT,
                    "displayName": TEXT,
                    "description": TEXT,
                    "entityType": either(*ENTITY_TYPES),
                    "tier": OPEN,
                },
            },
            "sort": array({}),
        },
        {"text": TEXT},
    ),
    "SearchAnswer": whole(
        {
            **_HITS,
            "hits": whole({"total": _TOTAL, "max_score": nullable(NUMBER), "hits": array(ref("SearchHit"))}),
        }
    ),
    "SearchCounts": whole(
        {
            **_HITS,
            "hits": whole({"total": _TOTAL, "hits": array(ref("SearchHit"))}),
            "aggregations": mapping(
                whole({"buckets": array(whole({"key": {}, "doc_count": COUNT})), "sum_other_doc_count": COUNT})
            ),
        }
    ),
    "Suggestions": whole(
        {
            "suggest": mapping(
                array(whole({"text": TEXT, "offset": COUNT, "length": COUNT, "options": array(ref("SearchHit"))}))
            )
        }
    ),
    "EntityProfilePage": whole(
        {
            "data": array(ref("EntityProfile")),
            "paging": whole({"total": COUNT, "before": nullable(TEXT), "after": nullable(TEXT)}),
        }
    ),
    "Ranked": whole({"entityType": ENTITY_TYPE, "date": DAY}),
}
"""Errors, pages, jobs, health, people, lineage, impact and search."""
