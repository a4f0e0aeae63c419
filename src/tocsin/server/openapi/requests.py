"""Schemas of request bodies that are not entities, by name. Next: ``operations.py``."""

from __future__ import annotations

from tocsin.catalogue.feed.requests import LONGEST_MESSAGE, REACTIONS
from tocsin.catalogue.observations.pipeline_observability import LAST_RUN
from tocsin.catalogue.quality.incidents import STATUSES
from tocsin.conditions.changes import KNOWN_CATEGORIES
from tocsin.delivery.channels.table import WORDED
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.lineage import LineageSource
from tocsin.model.message import OutcomeReason
from tocsin.model.mute import MuteKind
from tocsin.model.preferences import Frequency
from tocsin.model.subscription import AlertType, Channel
from tocsin.model.template import LONGEST_BODY, LONGEST_SUBJECT
from tocsin.model.thread import TaskType, ThreadType
from tocsin.server.alerts.queue import DEFAULT_LEASE_S, LEASE_S, MOST_ITEMS
from tocsin.server.openapi.json_schema import (
    CLOCK,
    COUNT,
    DAY,
    FLAG,
    ID,
    NUMBER,
    OPEN,
    TEXT,
    TIME,
    WHOLE,
    array,
    closed_object,
    either,
    mapping,
    ref,
    whole,
)
from tocsin.server.routes.people.tokens import LIFETIMES_S

_MESSAGE: Document = {"type": "string", "minLength": 1, "maxLength": LONGEST_MESSAGE}
_EXPIRY = either(*LIFETIMES_S)
_REFERENCE = ref("ReferenceRequest")
_TYPED: Document = {
    "type": "object",
    "description": "A reference: a type, and an id or a fully qualified name.",
    "required": ["type"],
    "properties": {"type": either(*ENTITY_TYPES), "id": ID, "fullyQualifiedName": TEXT},
}
_LEASE: Document = {
    **WHOLE,
    "minimum": LEASE_S[0],
    "maximum": LEASE_S[1],
    "description": f"How long nobody else gets them; default: {DEFAULT_LEASE_S}.",
}
_HELD: Document = {
    **array(closed_object({"id": ID, "lease": ID}, required=["id", "lease"])),
    "minItems": 1,
    "maxItems": MOST_ITEMS,
}
_LINK: Document = {"type": "string", "examples": ["<#E::table::warehouse.shop.public.orders::columns::email>"]}
_TEMPLATE: dict[str, Document] = {
    "templateSubject": {"type": "string", "minLength": 1, "maxLength": LONGEST_SUBJECT},
    "templateBody": {"type": "string", "minLength": 1, "maxLength": LONGEST_BODY},
}
_ALERT_WINDOW: Document = {
    key: {"type": ["string", "integer"], "description": "`30d`, a date, or epoch milliseconds.", "examples": ["30d"]}
    for key in ("since", "until")
}

REQUESTS: dict[str, Document] = {
    "JsonPatch": {
        "type": "array",
        "description": "Operations of RFC 6902.",
        "items": {
            "type": "object",
            "required": ["op", "path"],
            "properties": {
                "op": either("add", "remove", "replace", "move", "copy", "test"),
                "path": TEXT,
                "from": TEXT,
                "value": {},
            },
        },
    },
    "RestoreRequest": {
        "type": "object",
        "properties": {"id": ID, "fullyQualifiedName": TEXT},
        "anyOf": [{"required": ["id"]}, {"required": ["fullyQualifiedName"]}],
    },
    "RollbackRequest": whole(
        {"version": {"type": ["number", "string"], "description": "The version to restore.", "examples": [0.3]}},
        {"dryRun": FLAG},
    ),
    "StaleRequest": whole(
        {"scopeEntityType": TEXT, "scopeFqn": TEXT, "seenFqns": array(TEXT)},
        {"recursive": {"type": "boolean", "default": True}, "dryRun": FLAG},
    ),
    "AssetsRequest": closed_object({"assets": array(_TYPED), "dryRun": FLAG}, required=["assets"]),
    "FollowsRequest": closed_object({"entities": array(_TYPED)}, required=["entities"]),
    "FollowerId": {"type": "string", "format": "uuid", "description": "The id of a user."},
    "VoteRequest": closed_object(
        {"updatedVoteType": either("votedUp", "votedDown", "unVoted")}, required=["updatedVoteType"]
    ),
    "SlackInteraction": whole({"payload": {"type": "string", "description": "The interaction as JSON."}}),
    "Markdown": {"type": "string", "description": "A document in markdown."},
    "SettingRequest": closed_object(
        {"config_type": TEXT, "config_value": OPEN}, required=["config_type", "config_value"]
    ),
    "ColumnChange": closed_object(
        {
            **dict.fromkeys(("displayName", "description", "constraint"), TEXT),
            "removeConstraint": FLAG,
            "tags": array(OPEN),
        }
    ),
    "Csv": {"type": "string", "description": "A sheet as CSV, with a line of headers."},
    "QueryText": {"type": "string", "description": "A query in SQL."},
    "AlertSelection": closed_object(
        {"alertType": either(*AlertType), "sources": array(TEXT), "input": OPEN}, required=["alertType"]
    ),
    "ConditionRequest": closed_object({"condition": TEXT}, required=["condition"]),
    "BacktestRequest": {
        "type": "object",
        "description": "The id of an alert, or the fields of a new one; other fields replace those of the alert.",
        "properties": {"id": ID, **_ALERT_WINDOW, "condition": TEXT, "resources": array(TEXT), "filteringRules": OPEN},
    },
    "TemplateTexts": closed_object(_TEMPLATE, required=list(_TEMPLATE)),
    "TemplateRenderRequest": closed_object(
        {
            **_TEMPLATE,
            "resource": {"type": "string", "description": "The type of a made-up asset.", "examples": ["table"]},
            "eventType": either(*EventType),
            "eventId": {**ID, "description": "A real event, in place of a made-up one."},
            "channel": either(*WORDED),
        },
        required=list(_TEMPLATE),
    ),
    "ReplayRequest": closed_object(
        {
            "message": ID,
            "delivered": FLAG,
            "alert": TEXT,
            "destination": ID,
            "reason": either(*OutcomeReason),
            **_ALERT_WINDOW,
        },
    ),
    "TemplateSendRequest": closed_object(
        {
            "renderRequest": ref("TemplateRenderRequest"),
            "destinations": {
                **array(ref("DestinationRequest")),
                "minItems": 1,
                "description": "External ones; without any, your own mail address.",
            },
        },
        required=["renderRequest"],
    ),
    "Resumption": closed_object({"status": {"const": "active"}}, required=["status"]),
    "QueueClaim": closed_object({"limit": {**WHOLE, "minimum": 1, "maximum": MOST_ITEMS}, "leaseSeconds": _LEASE}),
    "QueueHeld": closed_object({"items": _HELD}, required=["items"]),
    "QueueExtension": closed_object({"items": _HELD, "leaseSeconds": _LEASE}, required=["items"]),
    "IncidentComment": closed_object({"comment": TEXT}),
    "IncidentAssignment": closed_object({"assignee": _TYPED, "comment": TEXT}, required=["assignee"]),
    "TrialRequest": closed_object({"destination": ref("DestinationRequest")}, required=["destination"]),
    "TrialsRequest": closed_object(
        {"destinations": {**array(ref("DestinationRequest")), "minItems": 1}}, required=["destinations"]
    ),
    "DestinationRequest": {
        "type": "object",
        "required": ["category", "type"],
        "properties": {"category": TEXT, "type": either(*Channel), "config": OPEN, "enabled": FLAG},
    },
    "MuteRequest": closed_object(
        {
            "kind": either(*MuteKind),
            "id": ID,
            "type": {"type": "string", "description": "The asset's type; default: table."},
            "until": {**TIME, "description": "Epoch milliseconds; left out: for good."},
            "channel": either(Channel.ACTIVITY_FEED, Channel.EMAIL, Channel.SLACK),
        },
        required=["kind", "id"],
    ),
    "PreferencesRequest": closed_object(
        {
            "timezone": {**TEXT, "description": "An IANA name; default: UTC."},
            "quietHours": closed_object({"start": CLOCK, "end": CLOCK}, required=["start", "end"]),
            "digestAt": CLOCK,
            "frequency": either(*Frequency),
            "categories": closed_object({one: either(*Frequency) for one in KNOWN_CATEGORIES}),
        }
    ),
    "ThreadRequest": closed_object(
        {
            "about": _LINK,
            "message": _MESSAGE,
            "type": either(*ThreadType),
            "taskDetails": closed_object(
                {
                    "type": either(*TaskType),
                    "assignees": array(_TYPED),
                    "suggestion": TEXT,
                    "oldValue": TEXT,
                },
                required=["type", "assignees"],
            ),
            "announcementDetails": closed_object(
                {"description": TEXT, "startTime": TIME, "endTime": TIME}, required=["startTime", "endTime"]
            ),
            "chatbotDetails": closed_object({"query": TEXT}),
            "addressedTo": _LINK,
            "domains": array({}),
        },
        required=["about", "message"],
    ),
    "PostRequest": closed_object({"message": _MESSAGE}, required=["message"]),
    "ResolveRequest": closed_object({"newValue": TEXT}, required=["newValue"]),
    "CloseRequest": closed_object({"comment": TEXT, "testCaseFQN": TEXT}, required=["comment"]),
    "ReactionRequest": whole({"reactionType": either(*sorted(REACTIONS)), "user": _TYPED}),
    "LineageRequest": closed_object({"edge": ref("EdgeRequest")}, required=["edge"]),
    "EdgeRequest": {
        "type": "object",
        "required": ["fromEntity", "toEntity"],
        "properties": {
            "fromEntity": _TYPED,
            "toEntity": _TYPED,
            "description": TEXT,
            "lineageDetails": ref("EdgeDetailsRequest"),
        },
    },
    "EdgeDetailsRequest": {
        "type": "object",
        "properties": {
            "sqlQuery": TEXT,
            "columnsLineage": array(closed_object({"fromColumns": array(TEXT), "toColumn": TEXT, "function": TEXT})),
            "pipeline": _TYPED,
            "description": TEXT,
            "source": either(*LineageSource),
        },
    },
    "LineageEvents": {
        "description": "Change events of lineage: one, or a list of them.",
        "anyOf": [OPEN, array(OPEN)],
    },
    "References": array(_REFERENCE),
    "Names": array(TEXT),
    "QueryCostRequest": closed_object(
        {
            "queryReference": {"type": "object", "properties": {"id": ID, "fullyQualifiedName": TEXT, "type": TEXT}},
            "timestamp": TIME,
            "cost": {"type": "number", "minimum": 0},
            "count": {"type": "number", "minimum": 0},
            "totalDuration": {"type": "number", "minimum": 0},
            "jsonSchema": TEXT,
        },
        required=["queryReference", "timestamp", "cost", "count"],
    ),
    "ProfileRequest": closed_object(
        {
            "tableProfile": ref("TableProfile"),
            "columnProfile": array({"allOf": [ref("ColumnProfile"), {"required": ["name"]}]}),
            "systemProfile": array(ref("SystemProfile")),
        },
        required=["tableProfile"],
    ),
    "PipelineObservabilityRequest": closed_object(
        {
            "pipeline": {
                "type": "object",
                "description": "A reference to a pipeline: an id or a fully qualified name.",
                "properties": {"id": ID, "type": either("pipeline"), "fullyQualifiedName": TEXT},
            },
            **dict.fromkeys(("serviceType", "scheduleInterval"), TEXT),
            **dict.fromkeys(("startTime", "endTime", "lastRunTime"), TIME),
            "lastRunStatus": either(*LAST_RUN),
            "averageRunTime": {**NUMBER, "description": "In milliseconds."},
        },
        required=["pipeline"],
    ),
    "PipelineRuns": {
        "description": "Runs: a list, or an object with one.",
        "anyOf": [
            array(ref("PipelinePipelineStatus")),
            {"type": "object", "properties": {"pipelineStatus": array(ref("PipelinePipelineStatus"))}},
        ],
    },
    "SampleRequest": {
        "description": "Rows of a table or container, or messages of a topic or search index.",
        "anyOf": [ref("FailedRowsRequest"), closed_object({"messages": array(TEXT)}, required=["messages"])],
    },
    "FailedRowsRequest": closed_object(
        {"columns": array(TEXT), "rows": array(array({}))}, required=["columns", "rows"]
    ),
    "UsageRequest": closed_object({"date": DAY, "count": COUNT}, required=["date", "count"]),
    "IncidentRequest": closed_object(
        {
            "testCaseReference": {"type": "string", "description": "The fully qualified name of a test case."},
            "testCaseResolutionStatusType": either(*STATUSES),
            "testCaseResolutionStatusDetails": OPEN,
            "severity": either(*(f"Severity{number}" for number in range(1, 6))),
        },
        required=["testCaseReference", "testCaseResolutionStatusType"],
    ),
    "LogicalSuiteRequest": {
        "type": "object",
        "required": ["testSuiteId", "testCaseIds"],
        "properties": {"testSuiteId": ID, "testCaseIds": array(ID)},
    },
    "CountRequest": {
        "type": "object",
        "properties": {"query": TEXT, "index": TEXT, "fieldName": TEXT, "size": WHOLE},
    },
    "LogInRequest": {
        "type": "object",
        "required": ["email", "password"],
        "properties": {
            "email": TEXT,
            "password": {"type": "string", "format": "password", "description": "Plain, or as base64."},
        },
    },
    "LogInCode": {
        "type": "object",
        "required": ["code"],
        "properties": {"code": {"type": "string", "description": "What the callback put behind `#login=`."}},
    },
    "PasswordRequest": {
        "type": "object",
        "required": ["newPassword"],
        "properties": {"oldPassword": TEXT, "newPassword": TEXT, "username": TEXT},
    },
    "PersonalTokenRequest": {
        "type": "object",
        "required": ["tokenName", "JWTTokenExpiry"],
        "properties": {"tokenName": TEXT, "JWTTokenExpiry": _EXPIRY, "password": TEXT},
    },
    "TokenIds": {"type": "object", "properties": {"tokenIds": array(TEXT)}},
    "BotTokenRequest": {"type": "object", "properties": {"JWTTokenExpiry": _EXPIRY}},
    "BotId": {"type": "object", "required": ["id"], "properties": {"id": ID}},
    "Metrics": mapping(NUMBER),
}
"""Every one of them."""
