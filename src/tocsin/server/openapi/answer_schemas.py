"""Schemas of answers that upstream does not define, by name. Next: ``operations.py``."""

from __future__ import annotations

from tocsin.catalogue.ingest.writes import IngestState
from tocsin.model.alert_editor import ViewExtent
from tocsin.model.alert_incident import StepKind
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import AlertType, Category, Channel
from tocsin.server.alerts.backtests import BACKTEST
from tocsin.server.alerts.dead_letters import DEAD_LETTER, REPLAY
from tocsin.server.alerts.editors import EDITOR
from tocsin.server.alerts.event_shape import INBOX_ENTRY
from tocsin.server.alerts.explanation_json import ALERT, ATTEMPT, EVENT, NOTIFIED
from tocsin.server.alerts.incidents import INCIDENT
from tocsin.server.alerts.noise import COUNTS
from tocsin.server.alerts.progress import LOG_ENTRY
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.consumer_shape import CONSUMER
from tocsin.server.http.erasure_shape import ERASURE
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
    WHOLE,
    array,
    closed_object,
    either,
    mapping,
    nullable,
    ref,
    whole,
)
from tocsin.server.http.retention_shapes import HOLD, READER
from tocsin.server.lag import READER_LAG

_REFERENCE = ref("EntityReference")
_LINEAGE_ENDS: Document = {"fromEntity": _REFERENCE, "toEntity": _REFERENCE}
_NODE: Document = {"type": "object", "required": ["id", "type"], "properties": {"id": ID, "type": ENTITY_TYPE}}
_HITS: Document = {"took": COUNT, "timed_out": FLAG}
_TOTAL = whole({"value": COUNT, "relation": either("eq", "gte")})
_REASON: Document = {
    "kind": either(*ReasonKind),
    "subscriptionId": TEXT,
    "subscriptionName": TEXT,
    "destinationId": TEXT,
    "hops": COUNT,
    "sentence": {"type": "string", "description": "The reason as a person would say it."},
}
_LOSSES = array(whole({"setting": TEXT, "feature": TEXT, "effect": TEXT}))

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
    "LegalHold": schema_of(HOLD),
    "Consumer": schema_of(CONSUMER),
    "Retention": whole(
        {
            "settings": ref("RetentionSettings"),
            "presets": mapping(ref("RetentionSettings")),
            "takesAway": _LOSSES,
            "readers": array(schema_of(READER)),
            "removed": whole({"log": COUNT, "lake": COUNT}),
            "lastRun": nullable(OPEN),
        }
    ),
    "RetentionPreview": whole(
        {
            "log": COUNT,
            "logByType": mapping(COUNT),
            "kept": mapping(COUNT) | {"description": "Expired events that stay, by reason."},
            "isComplete": FLAG,
            "takesAway": _LOSSES,
        }
    ),
    "EventLag": whole(
        {"logOffset": COUNT, "measuredAt": TIME, "readers": array(schema_of(READER_LAG)), "missing": array(TEXT)}
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
    "Reason": whole(_REASON, {"team": TEXT, "via": TEXT, "heldBy": TEXT, "downstreamOf": TEXT, "isInherited": FLAG}),
    "Notification": schema_of(INBOX_ENTRY),
    "NotificationPage": whole(
        {
            "data": array(ref("Notification")),
            "paging": ref("Paging"),
            "counts": whole({"unread": COUNT, "total": COUNT}),
            "streamFrom": {"type": "string", "description": "The `Last-Event-ID` from which the stream goes on."},
        }
    ),
    "Marked": whole({"marked": COUNT}),
    "MarkedOne": whole({"id": ID, "read": {"const": True}}),
    "Unmuted": whole({"id": ID, "muted": {"const": False}}),
    "MutedByLink": whole({"muted": {"const": True}, "until": TIME}),
    "Taken": whole({}),
    "Unsubscribed": whole({"unsubscribed": array(TEXT)}),
    "Activity": whole({"event": ref("ChangeEvent"), "title": TEXT, "semanticChanges": array(ref("SemanticChange"))}),
    "DestinationStatus": {
        "type": "object",
        "description": "A destination of an alert with its status.",
        "required": ["category", "type", "statusDetails", "breaker"],
        "properties": {
            "category": either(*Category),
            "type": either(*Channel),
            "statusDetails": ref("SubscriptionStatus"),
            "breaker": whole(
                {"state": either("closed", "open", "stopped")},
                {
                    "openedAt": TIME,
                    "nextProbeAt": TIME,
                    "stoppedAt": TIME,
                    "because": either("gone", "failing"),
                    "failingSince": TIME,
                    "failureCount": COUNT,
                },
            ),
        },
    },
    "Trial": whole({"category": either(*Category), "type": either(*Channel), "statusDetails": OPEN}),
    "Backtest": schema_of(BACKTEST),
    "Erasure": schema_of(ERASURE),
    "DeadLetter": schema_of(DEAD_LETTER),
    "Delivery": whole(
        {
            **schema_of(DEAD_LETTER)["properties"],
            "attempts": array(schema_of(ATTEMPT)),
            "requests": array(whole({"method": TEXT, "address": TEXT, "headers": OPEN, "body": TEXT})),
        },
        {"requestsNote": TEXT},
    ),
    "QueueItems": whole(
        {
            "data": array(
                whole(
                    {
                        **{"id": ID, "lease": ID, "leaseExpiresAt": TIME, "reasons": array(ref("Reason"))},
                        "idempotencyKey": {**ID, "description": "Id of the event."},
                        "event": {"type": "object", "description": "In the `payloadFormat` of the destination."},
                    }
                )
            ),
            "hasMore": FLAG,
        },
        {"entityType": {**TEXT, "description": "The type that all events are about, with `groupBy`."}},
    ),
    "QueueOutcomes": whole(
        {
            "data": array(
                whole(
                    {"id": ID, "state": either("acknowledged", "released", "extended", "leaseLost", "notFound")},
                    {"leaseExpiresAt": TIME},
                )
            )
        }
    ),
    "IngestResults": whole(
        {
            "dryRun": FLAG,
            "counts": whole({one.value: COUNT for one in IngestState}),
            "data": array(
                whole(
                    {"index": COUNT, "state": either(*IngestState)},
                    {
                        **{"source": TEXT, "id": TEXT, "entityType": ENTITY_TYPE, "fullyQualifiedName": TEXT},
                        **{"eventId": ID, "version": NUMBER, "reason": TEXT, "message": TEXT, "field": TEXT},
                    },
                )
            ),
        }
    ),
    "EventOrigin": whole({"source": TEXT, "id": TEXT, "bot": TEXT, "receivedAt": TIME}, {"claimedAuthor": TEXT}),
    "AlertLogEntry": schema_of(LOG_ENTRY),
    "AlertEditor": whole(
        schema_of(EDITOR)["properties"],
        {"mayView": either(*ViewExtent), "withheld": COUNT},
    ),
    "AlertEditors": whole({"data": array(ref("AlertEditor"))}, {"withheldForFormer": COUNT}),
    "Flag": FLAG,
    "Replay": schema_of(REPLAY),
    "ConditionError": whole(
        {"message": TEXT, "line": WHOLE, "column": WHOLE, "expected": array(TEXT)}, {"suggestion": TEXT}
    ),
    "ValidatedCondition": whole(
        {"valid": FLAG, "errors": array(ref("ConditionError")), "warnings": array(OPEN)},
        {"indexedBy": array(array(TEXT)), "asksOfPeople": array(TEXT)},
    ),
    "AlertConditionCapability": whole({"condition": ref("EventFilterRule"), "sources": array(TEXT)}),
    "AlertSourceCapability": whole(
        {"name": TEXT, "kind": either("all", "activity", "entity"), "selected": FLAG},
        {"canJoin": FLAG, "reason": TEXT, "warning": TEXT},
    ),
    "AlertCapabilities": whole(
        {
            "alertType": either(*AlertType),
            "sources": array(ref("AlertSourceCapability")),
            "filters": array(ref("AlertConditionCapability")),
            "triggers": array(ref("AlertConditionCapability")),
            "eventTypes": array(either(*EventType)),
            "recipientCategories": array(either(*Category)),
        }
    ),
    "AlertResourceName": whole({"name": TEXT, "supportedFilters": array(TEXT)}),
    "TemplateHelper": whole({"name": TEXT, "description": TEXT, "usages": array(OPEN)}),
    "TemplateRendering": whole(
        {"validation": ref("NotificationTemplateValidationResponse")},
        {"render": whole({"subject": TEXT, "body": TEXT}), "message": OPEN},
    ),
    "TemplateSending": whole(
        {"isValid": FLAG, "subjectError": nullable(TEXT), "bodyError": nullable(TEXT)},
        {"destinations": array(ref("Trial"))},
    ),
    "NoiseRow": {
        "type": "object",
        "required": ["id", "name", "noise", "notified"],
        "properties": {
            **{"id": ID, "name": TEXT, "displayName": nullable(TEXT), "enabled": FLAG},
            **schema_of(COUNTS)["properties"],
            **dict.fromkeys(("muted", "unsubscribed"), COUNT),
            "people": nullable(COUNT),
        },
    },
    "NoiseOverview": whole(
        {"since": TIME, "until": TIME, "formula": TEXT, "data": array(ref("NoiseRow")), "paging": ref("Paging")}
    ),
    "Noise": {
        "allOf": [
            ref("NoiseRow"),
            {
                "type": "object",
                "required": ["since", "until", "formula", "assets", "examined", "rules", "suggestions"],
                "properties": {
                    "since": TIME,
                    "until": TIME,
                    "formula": TEXT,
                    "assets": array(OPEN),
                    "examined": COUNT,
                    "rules": array(OPEN),
                    "suggestions": array(OPEN),
                },
            },
        ]
    },
    "AlertIncident": schema_of(INCIDENT),
    "AlertIncidentWithTimeline": whole(
        {
            **schema_of(INCIDENT)["properties"],
            "timeline": array(
                whole(
                    {"kind": either(*StepKind), "timestamp": TIME, "eventId": nullable(ID)},
                    {"user": OPEN, "assignee": OPEN, "comment": TEXT},
                )
            ),
        }
    ),
    "Explanation": whole(
        {
            "answer": {"type": "string", "description": "The answer in a sentence or two."},
            "asOf": TIME,
            "event": schema_of(EVENT),
            "user": nullable(whole({"id": ID, "name": TEXT})),
            "pipeline": whole({"offset": COUNT, "hasReached": FLAG, "isRunning": FLAG}),
            "alerts": array(ref("AlertExplanation")),
            "otherAlerts": whole({"matched": COUNT}),
            "notified": whole({"total": COUNT, "isWhole": FLAG, "data": array(ref("NotifiedPerson"))}),
            "disagreements": array(OPEN),
            "paging": ref("Paging"),
        }
    ),
    "AlertExplanation": whole(
        {
            **schema_of(ALERT)["properties"],
            "reached": whole({"total": COUNT, "data": array(OPEN)}),
        }
    ),
    "NotifiedPerson": schema_of(NOTIFIED),
}
"""Errors, pages, jobs, health, people, lineage, impact, search; what alerts made of the events, and their states."""
