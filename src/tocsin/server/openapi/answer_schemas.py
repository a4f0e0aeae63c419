"""Schemas of answers that upstream does not define, by name. Next: ``operations.py``."""

from __future__ import annotations

from tocsin.catalogue.ingest.writes import IngestState
from tocsin.model.alert_editor import ViewExtent
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import AlertType, Category, Channel
from tocsin.server.alerts.backtests import BACKTEST
from tocsin.server.alerts.dead_letters import DEAD_LETTER, REPLAY
from tocsin.server.alerts.editors import EDITOR
from tocsin.server.alerts.event_shape import INBOX_ENTRY, REASON, TAB_COUNTS
from tocsin.server.alerts.explanation_json import ALERT, ATTEMPT, EVENT, NOTIFIED
from tocsin.server.alerts.incident_messages import MESSAGE_MOMENT
from tocsin.server.alerts.incidents import CAUSE, INCIDENT, PART, STEP_MOMENT
from tocsin.server.alerts.noise import NOISE_COUNTS
from tocsin.server.alerts.progress import LOG_ENTRY
from tocsin.server.alerts.readers import READERS
from tocsin.server.alerts.told_events import NEWEST_TOLD
from tocsin.server.alerts.watching import TELLING
from tocsin.server.entities.version_words import VERSION_DIFFERENCE
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
    exact_object,
    mapping,
    nullable,
    ref,
)
from tocsin.server.http.retention_shapes import HOLD, READER
from tocsin.server.lag import READER_LAG
from tocsin.server.openapi.activity_schemas import ACTIVITY_ANSWERS
from tocsin.server.openapi.administration_schemas import ADMINISTRATION_ANSWERS
from tocsin.server.openapi.conversation_schemas import CONVERSATION_ANSWERS
from tocsin.server.openapi.draft_schemas import DRAFT_ANSWERS
from tocsin.server.openapi.suggestion_schemas import SUGGESTION_ANSWERS
from tocsin.server.openapi.task_schemas import TASK_ANSWERS

_REFERENCE = ref("EntityReference")
_LINEAGE_ENDS: Document = {"fromEntity": _REFERENCE, "toEntity": _REFERENCE}
_NODE: Document = {"type": "object", "required": ["id", "type"], "properties": {"id": ID, "type": ENTITY_TYPE}}
_HITS: Document = {"took": COUNT, "timed_out": FLAG}
_TOTAL = exact_object({"value": COUNT, "relation": either("eq", "gte")})
_LOSSES = array(exact_object({"setting": TEXT, "feature": TEXT, "effect": TEXT}))

ANSWERS: dict[str, Document] = {
    "Error": exact_object(
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
    "Said": exact_object({"message": TEXT}),
    "EndedJob": exact_object({"jobId": ID, "message": TEXT}),
    "CloudEvent": exact_object(
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
    "VersionDifference": VERSION_DIFFERENCE,
    "RolledBack": exact_object(
        {
            "dryRun": FLAG,
            "changeDescription": ref("ChangeDescription"),
            "leftOut": array(exact_object({"field": TEXT, "value": {}, "reason": TEXT})),
            "entity": OPEN,
        }
    ),
    "Health": exact_object(
        {
            "status": either("ok", "degraded", "eventsLost"),
            "problems": array(exact_object({"name": TEXT, "message": TEXT})),
            "alertsWithFindings": COUNT,
            "logOffset": COUNT,
            "pipeline": array(
                exact_object(
                    {"query": TEXT, "logOffset": COUNT, "reportedAt": TIME}, {"waitsFor": TEXT, "waitsSince": TIME}
                ),
            ),
        },
        {"seenBy": array(TEXT)},
    ),
    "LegalHold": schema_of(HOLD),
    "Consumer": schema_of(CONSUMER),
    "Retention": exact_object(
        {
            "settings": ref("RetentionSettings"),
            "presets": mapping(ref("RetentionSettings")),
            "takesAway": _LOSSES,
            "readers": array(schema_of(READER)),
            "removed": exact_object({"log": COUNT, "lake": COUNT}),
            "lastRun": nullable(OPEN),
        }
    ),
    "RetentionPreview": exact_object(
        {
            "log": COUNT,
            "logByType": mapping(COUNT),
            "kept": mapping(COUNT) | {"description": "Expired events that stay, by reason."},
            "isComplete": FLAG,
            "takesAway": _LOSSES,
        }
    ),
    "EventLag": exact_object(
        {"logOffset": COUNT, "measuredAt": TIME, "readers": array(schema_of(READER_LAG)), "missing": array(TEXT)}
    ),
    "Setting": exact_object({"config_type": TEXT, "config_value": OPEN}),
    "Followers": exact_object(
        {
            "entityType": TEXT,
            "entityId": ID,
            "followers": array(ref("EntityReference")),
            "data": array(ref("EntityReference")),
        }
    ),
    "Ancestors": array(ref("EntityReference")) | {"description": "What a container lies in, the outermost first."},
    "Follows": mapping(array(ref("EntityReference"))) | {"description": "Lists of assets, by collection."},
    "BrowserSession": exact_object(
        {
            "id": ID,
            "userId": ID,
            "browser": TEXT,
            "since": TIME,
            "lastUsed": TIME,
            "expiresAt": TIME,
            "isCurrent": FLAG,
        },
        {"csrfToken": TEXT},
    ),
    "LogIn": exact_object({"accessToken": TEXT, "tokenType": {"const": "Bearer"}, "expiryDuration": nullable(TIME)}),
    "BotMechanism": exact_object({"authType": TEXT, "config": ref("BotToken")}),
    "BotToken": exact_object({"JWTToken": TEXT, "JWTTokenExpiry": TEXT}, {"JWTTokenExpiresAt": nullable(TIME)}),
    "LineageEdge": {
        "type": "object",
        "description": "An edge with its ends, or only its details.",
        "required": ["edge"],
        "properties": {"edge": {"allOf": [{"properties": _LINEAGE_ENDS}, ref("LineageDetails")]}},
        "additionalProperties": False,
    },
    "LineageEdges": exact_object(
        {"edges": array(exact_object(_LINEAGE_ENDS, {"lineageDetails": ref("LineageDetails")}))}
    ),
    "LineageMap": exact_object(
        {
            "nodes": mapping(exact_object({"entity": _NODE, "paging": OPEN, "nodeDepth": COUNT})),
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
    "Impact": exact_object(
        {
            "entity": _NODE,
            "columns": array(TEXT),
            "depth": COUNT,
            "truncated": FLAG,
            "counts": exact_object(
                {
                    "total": COUNT,
                    "byType": mapping(COUNT),
                    "byLevel": mapping(COUNT),
                    "byTypeAndLevel": mapping(mapping(COUNT)),
                }
            ),
            "people": exact_object({"owners": COUNT, "followers": COUNT}),
            "affected": mapping(array(ref("AffectedAsset"))),
        },
        {"event": exact_object({"id": ID, "eventType": either(*EventType), "timestamp": TIME})},
    ),
    "ImpactCounts": exact_object(
        {"data": array(exact_object({"id": ID, "total": COUNT, "isCut": FLAG}))},
    ),
    "SearchHit": exact_object(
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
    "SearchAnswer": exact_object(
        {
            **_HITS,
            "hits": exact_object({"total": _TOTAL, "max_score": nullable(NUMBER), "hits": array(ref("SearchHit"))}),
        }
    ),
    "SearchCounts": exact_object(
        {
            **_HITS,
            "hits": exact_object({"total": _TOTAL, "hits": array(ref("SearchHit"))}),
            "aggregations": mapping(
                exact_object(
                    {"buckets": array(exact_object({"key": {}, "doc_count": COUNT})), "sum_other_doc_count": COUNT}
                )
            ),
        }
    ),
    "Suggestions": exact_object(
        {
            "suggest": mapping(
                array(
                    exact_object({"text": TEXT, "offset": COUNT, "length": COUNT, "options": array(ref("SearchHit"))})
                )
            )
        }
    ),
    "EntityProfilePage": exact_object(
        {
            "data": array(ref("EntityProfile")),
            "paging": exact_object({"total": COUNT, "before": nullable(TEXT), "after": nullable(TEXT)}),
        }
    ),
    "Ranked": exact_object({"entityType": ENTITY_TYPE, "date": DAY}),
    "Reason": REASON,
    "Notification": schema_of(INBOX_ENTRY),
    "NotificationPage": exact_object(
        {
            "data": array(ref("Notification")),
            "paging": ref("Paging"),
            "counts": schema_of(TAB_COUNTS),
            "streamFrom": {"type": "string", "description": "The `Last-Event-ID` from which the stream goes on."},
        }
    ),
    "Marked": exact_object({"marked": COUNT}),
    "MarkedOne": exact_object({"id": ID, "read": {"const": True}}),
    "FeedRevoked": exact_object({"id": TEXT, "revoked": {"const": True}}),
    "Unmuted": exact_object({"id": TEXT, "muted": {"const": False}}),
    "FollowedByLink": exact_object({"follows": FLAG}),
    "MutedByLink": exact_object({"muted": {"const": True}, "until": TIME}),
    "Taken": exact_object({}),
    "Unsubscribed": exact_object({"unsubscribed": array(TEXT)}),
    "Activity": exact_object(
        {
            "event": ref("ChangeEvent"),
            "title": TEXT,
            "semanticChanges": array(ref("SemanticChange")),
            "breaking": FLAG,
            "breakingReasons": array(ref("BreakingReason")),
        },
        {
            "announcements": array(ref("Announcement")),
            "reason": {**TEXT, "description": "Why the change was made, as its author says."},
        },
    ),
    "DestinationStatus": {
        "type": "object",
        "description": "A destination of an alert with its status.",
        "required": ["category", "type", "statusDetails", "breaker"],
        "properties": {
            "category": either(*Category),
            "type": either(*Channel),
            "statusDetails": ref("SubscriptionStatus"),
            "breaker": exact_object(
                {"state": either("closed", "open", "stopped")},
                {
                    "openedAt": TIME,
                    "nextProbeAt": TIME,
                    "stoppedAt": TIME,
                    "because": either("gone", "failing"),
                    "failingSince": TIME,
                    "failureCount": COUNT,
                    "message": TEXT,
                },
            ),
        },
    },
    "Trial": exact_object({"category": either(*Category), "type": either(*Channel), "statusDetails": OPEN}),
    "Backtest": schema_of(BACKTEST),
    "Erasure": schema_of(ERASURE),
    "DeadLetter": schema_of(DEAD_LETTER),
    "Delivery": exact_object(
        {
            **schema_of(DEAD_LETTER)["properties"],
            "attempts": array(schema_of(ATTEMPT)),
            "requests": array(exact_object({"method": TEXT, "address": TEXT, "headers": OPEN, "body": TEXT})),
        },
        {"requestsNote": TEXT},
    ),
    "QueueItems": exact_object(
        {
            "data": array(
                exact_object(
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
    "QueueOutcomes": exact_object(
        {
            "data": array(
                exact_object(
                    {"id": ID, "state": either("acknowledged", "released", "extended", "leaseLost", "notFound")},
                    {"leaseExpiresAt": TIME},
                )
            )
        }
    ),
    "IngestResults": exact_object(
        {
            "dryRun": FLAG,
            "counts": exact_object({one.value: COUNT for one in IngestState}),
            "data": array(
                exact_object(
                    {"index": COUNT, "state": either(*IngestState)},
                    {
                        **{"source": TEXT, "id": TEXT, "entityType": ENTITY_TYPE, "fullyQualifiedName": TEXT},
                        **{"eventId": ID, "version": NUMBER, "reason": TEXT, "message": TEXT, "field": TEXT},
                    },
                )
            ),
        }
    ),
    "EventOrigin": exact_object({"source": TEXT, "id": TEXT, "bot": TEXT, "receivedAt": TIME}, {"claimedAuthor": TEXT}),
    "AlertLogEntry": schema_of(LOG_ENTRY),
    "AlertEditor": exact_object(
        schema_of(EDITOR)["properties"],
        {"mayView": either(*ViewExtent), "withheld": COUNT},
    ),
    "WatchingAlert": exact_object(
        {"id": ID, "type": TEXT, "name": TEXT, "tells": array(schema_of(TELLING))},
        {"displayName": TEXT, "fullyQualifiedName": TEXT, "description": TEXT, "through": array(OPEN)},
    ),
    "AlertEditors": exact_object({"data": array(ref("AlertEditor"))}, {"withheldForFormer": COUNT}),
    "Flag": FLAG,
    "Replay": schema_of(REPLAY),
    "ConditionError": exact_object(
        {"message": TEXT, "line": WHOLE, "column": WHOLE, "expected": array(TEXT)}, {"suggestion": TEXT}
    ),
    "ValidatedCondition": exact_object(
        {"valid": FLAG, "errors": array(ref("ConditionError")), "warnings": array(OPEN)},
        {"indexedBy": array(array(TEXT)), "asksOfPeople": array(TEXT)},
    ),
    "AlertConditionCapability": exact_object({"condition": ref("EventFilterRule"), "sources": array(TEXT)}),
    "AlertSourceCapability": exact_object(
        {"name": TEXT, "kind": either("all", "activity", "entity"), "selected": FLAG},
        {"canJoin": FLAG, "reason": TEXT, "warning": TEXT},
    ),
    "AlertCapabilities": exact_object(
        {
            "alertType": either(*AlertType),
            "sources": array(ref("AlertSourceCapability")),
            "filters": array(ref("AlertConditionCapability")),
            "triggers": array(ref("AlertConditionCapability")),
            "eventTypes": array(either(*EventType)),
            "recipientCategories": array(either(*Category)),
        }
    ),
    "AlertResourceName": exact_object({"name": TEXT, "supportedFilters": array(TEXT)}),
    "TemplateHelper": exact_object({"name": TEXT, "description": TEXT, "usages": array(OPEN)}),
    "TemplateRendering": exact_object(
        {"validation": ref("NotificationTemplateValidationResponse")},
        {"render": exact_object({"subject": TEXT, "body": TEXT}), "message": OPEN},
    ),
    "TemplateSending": exact_object(
        {"isValid": FLAG, "subjectError": nullable(TEXT), "bodyError": nullable(TEXT)},
        {"destinations": array(ref("Trial"))},
    ),
    "NoiseRow": {
        "type": "object",
        "required": ["id", "name", "noise", "notified"],
        "properties": {
            **{"id": ID, "name": TEXT, "displayName": nullable(TEXT), "enabled": FLAG},
            **schema_of(NOISE_COUNTS)["properties"],
            **dict.fromkeys(("muted", "unsubscribed"), COUNT),
            **{"people": nullable(COUNT), "newest": nullable(NEWEST_TOLD)},
        },
    },
    "NoiseOverview": exact_object(
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
    **TASK_ANSWERS,
    **CONVERSATION_ANSWERS,
    **SUGGESTION_ANSWERS,
    **DRAFT_ANSWERS,
    **ACTIVITY_ANSWERS,
    **ADMINISTRATION_ANSWERS,
    "AlertIncidentWithTimeline": exact_object(
        {
            **schema_of(INCIDENT)["properties"],
            "probableCauses": array(CAUSE),
            "dismissedCauses": array(PART),
            "timeline": array({"anyOf": [STEP_MOMENT, MESSAGE_MOMENT]}),
            "isWhole": {**FLAG, "description": "False if there are messages that are not shown."},
        }
    ),
    "Explanation": exact_object(
        {
            "answer": {"type": "string", "description": "The answer in a sentence or two."},
            "asOf": TIME,
            "event": schema_of(EVENT),
            "user": nullable(exact_object({"id": ID, "name": TEXT})),
            "pipeline": exact_object({"offset": COUNT, "hasReached": FLAG, "isRunning": FLAG}),
            "alerts": array(ref("AlertExplanation")),
            "otherAlerts": exact_object({"matched": COUNT}),
            "notified": exact_object({"total": COUNT, "isWhole": FLAG, "data": array(ref("NotifiedPerson"))}),
            "disagreements": array(OPEN),
            "paging": ref("Paging"),
        },
        {"readers": schema_of(READERS)},
    ),
    "AlertExplanation": exact_object(
        {
            **schema_of(ALERT)["properties"],
            "reached": exact_object({"total": COUNT, "data": array(OPEN)}),
        }
    ),
    "NotifiedPerson": schema_of(NOTIFIED),
}
"""Errors, pages, jobs, health, people, lineage, impact, search; what alerts made of the events, and their states."""
