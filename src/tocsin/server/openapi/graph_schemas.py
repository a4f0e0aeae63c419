"""Schemas of lineage, impact and search, and of what connectors report."""

from __future__ import annotations

from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.openapi.json_schema import (
    COUNT,
    DAY,
    FLAG,
    ID,
    NUMBER,
    OPEN,
    TEXT,
    TIME,
    array,
    either,
    mapping,
    nullable,
    ref,
    whole,
)

_ENTITY_TYPE: Document = {"type": "string", "examples": ["table"]}
_REFERENCE = ref("EntityReference")
_LINEAGE_ENDS: Document = {"fromEntity": _REFERENCE, "toEntity": _REFERENCE}
_NODE: Document = {"type": "object", "required": ["id", "type"], "properties": {"id": ID, "type": _ENTITY_TYPE}}
_HITS: Document = {
    "took": COUNT,
    "timed_out": FLAG,
}
_TOTAL = whole({"value": COUNT, "relation": either("eq", "gte")})

GRAPHS: dict[str, Document] = {
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
    "Ranked": whole({"entityType": _ENTITY_TYPE, "date": DAY}),
}
"""Lineage, impact, search, and what connectors report."""
