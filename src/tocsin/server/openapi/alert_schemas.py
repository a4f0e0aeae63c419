"""Schemas of what alerts produce: notifications, deliveries, backtests, noise, explanations; mutes and preferences."""

from __future__ import annotations

from tocsin.model.alert_editor import ViewExtent
from tocsin.model.alert_incident import StepKind
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.notification import ReasonKind
from tocsin.model.preferences import Frequency
from tocsin.model.subscription import AlertType, Category, Channel
from tocsin.server.alerts.backtests import BACKTEST
from tocsin.server.alerts.dead_letters import DEAD_LETTER, REPLAY
from tocsin.server.alerts.editors import EDITOR
from tocsin.server.alerts.event_shape import INBOX_ENTRY
from tocsin.server.alerts.explanation_json import ALERT, ATTEMPT, EVENT, NOTIFIED
from tocsin.server.alerts.incident_json import INCIDENT
from tocsin.server.alerts.noise import COUNTS
from tocsin.server.alerts.progress import LOG_ENTRY
from tocsin.server.http.answer_shapes import schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, ID, OPEN, TEXT, TIME, WHOLE, array, either, nullable, ref, whole

_FREQUENCY = either(*Frequency)
_REASON: Document = {
    "kind": either(*ReasonKind),
    "subscriptionId": TEXT,
    "subscriptionName": TEXT,
    "destinationId": TEXT,
    "hops": COUNT,
    "sentence": {"type": "string", "description": "The reason as a person would say it."},
}

ALERTS: dict[str, Document] = {
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
                        "event": {"type": "object", "description": "In the `payloadFormat` of the destination."},
                    }
                )
            ),
            "hasMore": FLAG,
        }
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
"""What alerts made of the events: notifications, mutes, states of deliveries, noise, explanations."""
