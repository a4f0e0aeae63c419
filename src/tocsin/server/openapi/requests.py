"""Schemas of request bodies that are not entities, by name. Next: ``operations.py``."""

from __future__ import annotations

from pydantic import BaseModel

from tocsin.model.activity_feed import FeedRequest
from tocsin.model.alert_incident import REASONS
from tocsin.model.change_kinds import KindOfChange
from tocsin.model.change_request import (
    ChangeAnnouncement,
    ChangeAnswer,
    ChangeComment,
    ChangeMove,
    ChangeReminder,
    ChangeWithdrawal,
    ConsumerVerdict,
)
from tocsin.model.consumer import ConsumerRequest, PositionRequest
from tocsin.model.effective_preferences import EffectivePreferences
from tocsin.model.entity import Document
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.follow_review import MOST_SELECTED, Review
from tocsin.model.health_summary import HealthPreview
from tocsin.model.inbox import MarkRequest, OpenedRequest
from tocsin.model.message import OutcomeReason
from tocsin.model.mute import MuteRequest
from tocsin.model.next_digest import NextDigest
from tocsin.model.own_address import AddressCode, OwnAddressRequest
from tocsin.model.preferences import DefaultPreferences, Preferences
from tocsin.model.preferred_month import PreferredMonth
from tocsin.model.proposed_change import ChangeCheck
from tocsin.model.replay import ForgetRequest
from tocsin.model.retention import PRESETS, LegalHoldRequest, RetentionSettings
from tocsin.model.saved_search import SearchFollow, SearchRequest
from tocsin.model.subscription import BATCH_BY_ENTITY_TYPE, AlertType, Channel
from tocsin.model.substitute import SubstituteRequest
from tocsin.server.alerts.queue import DEFAULT_LEASE_S, LEASE_S, MOST_ITEMS
from tocsin.server.http.json_schema import (
    ENTITY_TYPE,
    FLAG,
    ID,
    OPEN,
    TEXT,
    WHOLE,
    array,
    closed_object,
    either,
    exact_object,
    ref,
)
from tocsin.server.login.tokens import LIFETIMES_S
from tocsin.server.openapi.conversation_schemas import CONVERSATION_REQUESTS
from tocsin.server.openapi.draft_schemas import DRAFT_REQUESTS
from tocsin.server.openapi.embed_schemas import EMBED_REQUESTS
from tocsin.server.openapi.openlineage_schemas import OPENLINEAGE_REQUESTS
from tocsin.server.openapi.push_schemas import PUSH_REQUESTS
from tocsin.server.openapi.suggestion_schemas import SUGGESTION_REQUESTS
from tocsin.server.openapi.task_schemas import TASK_REQUESTS

_EXPIRY = either(*LIFETIMES_S)
_REFERENCE = ref("ReferenceRequest")
_TYPED = ref("TypedReference")
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
_SELECTION: Document = {
    "ids": {**array(TEXT), "minItems": 1, "maxItems": MOST_SELECTED},
    "names": {**array(TEXT), "minItems": 1, "maxItems": MOST_SELECTED, "description": "Fully qualified names."},
    "type": {**ENTITY_TYPE, "description": "The type of what is named, or reviewed."},
    "query": {**TEXT, "minLength": 1, "description": "A search query, as of `/search/query`."},
    "index": {**TEXT, "description": "What `query` searches; default: `all`."},
    "queryFilter": {**TEXT, "description": "Further conditions of `query`, as JSON."},
    "column": {**TEXT, "minLength": 1, "description": "Only this column of each asset."},
    "dryRun": FLAG,
}
_OF_ASSETS: Document = {key: value for key, value in _SELECTION.items() if key != "column"}
_ALERT_WINDOW: Document = {
    key: {"type": ["string", "integer"], "description": "`30d`, a date, or epoch milliseconds.", "examples": ["30d"]}
    for key in ("since", "until")
}

MODELS: tuple[type[BaseModel], ...] = (
    MuteRequest,
    SubstituteRequest,
    OwnAddressRequest,
    AddressCode,
    FeedRequest,
    SearchRequest,
    SearchFollow,
    KindOfChange,
    NextDigest,
    HealthPreview,
    MarkRequest,
    OpenedRequest,
    Preferences,
    FollowChoices,
    DefaultPreferences,
    EffectivePreferences,
    PreferredMonth,
    RetentionSettings,
    ForgetRequest,
    LegalHoldRequest,
    ConsumerRequest,
    PositionRequest,
    ChangeCheck,
    ChangeAnnouncement,
    ChangeAnswer,
    ChangeComment,
    ChangeMove,
    ChangeReminder,
    ChangeWithdrawal,
)
"""Models whose schemas are taken as they are."""

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
    "RollbackRequest": exact_object(
        {"version": {"type": ["number", "string"], "description": "The version to restore.", "examples": [0.3]}},
        {"dryRun": FLAG},
    ),
    "StaleRequest": exact_object(
        {"scopeEntityType": TEXT, "scopeFqn": TEXT, "seenFqns": array(TEXT)},
        {"recursive": {"type": "boolean", "default": True}, "dryRun": FLAG},
    ),
    "AssetsRequest": closed_object({"assets": array(_TYPED), "dryRun": FLAG}, required=["assets"]),
    "FollowsRequest": closed_object({"entities": array(_TYPED)}, required=["entities"]),
    "AssetSelection": closed_object(_SELECTION) | {"description": "Assets, by one of `ids`, `names` and `query`."},
    "KeptSelection": closed_object(
        {**_SELECTION, "review": either(Review.EXPIRING), "preferences": ref("FollowChoices")}
    )
    | {"description": "Assets by `ids`, `names` or `query`; or by `review` what is followed and about to end."},
    "FollowSelection": closed_object({**_SELECTION, "review": either(*Review), "q": TEXT})
    | {"description": "What is followed, by `ids`, `names`, `query`, or the filters of the list: `review`, `q`."},
    "TeamAssetSelection": closed_object(_OF_ASSETS) | {"description": "Assets, by one of `ids`, `names` and `query`."},
    "TeamFollowSelection": closed_object({**_OF_ASSETS, "q": TEXT})
    | {"description": "What a team follows, by one of `ids`, `names`, `query` and `q`, a part of their names."},
    "FollowerId": {"type": "string", "format": "uuid", "description": "The id of a user."},
    "VoteRequest": closed_object(
        {"updatedVoteType": either("votedUp", "votedDown", "unVoted")}, required=["updatedVoteType"]
    ),
    "SlackInteraction": exact_object({"payload": {"type": "string", "description": "The interaction as JSON."}}),
    "ChangeAnswerForm": exact_object(
        {"answer": either(*ConsumerVerdict)}, {"until": {"type": "string", "format": "date"}, "comment": TEXT}
    ),
    "UnsubscribeForm": closed_object(
        {"from": either("alerts", "asset", "kind", "everything"), "List-Unsubscribe": either("One-Click")}
    ),
    "Markdown": {"type": "string", "description": "A document in markdown."},
    "RetentionRequest": {
        "anyOf": [closed_object({"preset": either(*PRESETS)}, required=["preset"]), ref("RetentionSettings")]
    },
    "SettingRequest": closed_object(
        {"config_type": TEXT, "config_value": OPEN}, required=["config_type", "config_value"]
    ),
    "Csv": {"type": "string", "description": "A sheet as CSV, with a line of headers."},
    "QueryText": {"type": "string", "description": "A query in SQL."},
    "AlertSelection": closed_object(
        {"alertType": either(*AlertType), "sources": array(TEXT), "input": OPEN}, required=["alertType"]
    ),
    "ConditionRequest": closed_object({"condition": TEXT}, required=["condition"]),
    "LakeQueryRequest": closed_object(
        {"sql": {**TEXT, "description": "One query in SQL over `change_events`."}, "at": OPEN, "since": OPEN},
        required=["sql"],
    ),
    "ErasureRequest": closed_object(
        {
            "dryRun": FLAG,
            "confirm": {**TEXT, "description": "The name of the user; its id where it is deleted already."},
        }
    ),
    "BacktestRequest": {
        "type": "object",
        "description": "The id of an alert, or the fields of a new one; other fields replace those of the alert.",
        "properties": {"id": ID, **_ALERT_WINDOW, "condition": TEXT, "resources": array(TEXT), "filteringRules": OPEN},
    },
    "ReplayRequest": closed_object(
        {
            "message": ID,
            "delivered": FLAG,
            "alert": TEXT,
            "destination": TEXT,
            "reason": either(*OutcomeReason),
            **_ALERT_WINDOW,
        },
    ),
    "TemplateSendRequest": closed_object(
        {
            "renderRequest": ref("NotificationTemplateRenderRequest"),
            "destinations": {
                **array(ref("DestinationRequest")),
                "minItems": 1,
                "description": "External ones; without any, your own mail address.",
            },
        },
        required=["renderRequest"],
    ),
    "Resumption": closed_object({"status": {"const": "active"}}, required=["status"]),
    "QueueClaim": closed_object(
        {
            "limit": {**WHOLE, "minimum": 1, "maximum": MOST_ITEMS},
            "leaseSeconds": _LEASE,
            "groupBy": {"enum": [BATCH_BY_ENTITY_TYPE]},
        }
    ),
    "QueueHeld": closed_object({"items": _HELD}, required=["items"]),
    "QueueExtension": closed_object({"items": _HELD, "leaseSeconds": _LEASE}, required=["items"]),
    **TASK_REQUESTS,
    **CONVERSATION_REQUESTS,
    **EMBED_REQUESTS,
    **PUSH_REQUESTS,
    **SUGGESTION_REQUESTS,
    **DRAFT_REQUESTS,
    **OPENLINEAGE_REQUESTS,
    "IncidentMerge": closed_object({"into": TEXT, "comment": TEXT}, required=["into"]),
    "IncidentCause": closed_object({"cause": TEXT, "comment": TEXT}, required=["cause"]),
    "IncidentComment": closed_object({"comment": TEXT}),
    "IncidentRemark": closed_object({"comment": TEXT}, required=["comment"]),
    "IncidentResolution": closed_object({"comment": TEXT, "reason": either(*REASONS)}),
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
    "ResolveRequest": closed_object({"newValue": TEXT}, required=["newValue"]),
    "LineageEvents": {
        "description": "Change events of lineage: one, or a list of them.",
        "anyOf": [OPEN, array(OPEN)],
    },
    "IngestRequest": {
        "description": "CloudEvents or change events of another system: one, or a list of at most 1,000.",
        "anyOf": [OPEN, {**array(OPEN), "minItems": 1, "maxItems": 1_000}],
    },
    "References": array(_REFERENCE),
    "Names": array(TEXT),
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
    "CountRequest": {
        "type": "object",
        "properties": {"query": TEXT, "index": TEXT, "fieldName": TEXT, "size": WHOLE},
    },
    "BrowserLogIn": {
        "description": "An e-mail address and a password (base64, or plain), or the code of OpenID Connect.",
        "anyOf": [
            {"type": "object", "required": ["email", "password"], "properties": {"email": TEXT, "password": TEXT}},
            ref("LogInCode"),
        ],
    },
    "LogInCode": {
        "type": "object",
        "required": ["code"],
        "properties": {"code": {"type": "string", "description": "What the callback put behind `#login=`."}},
    },
    "BotTokenRequest": {"type": "object", "properties": {"JWTTokenExpiry": _EXPIRY}},
}
"""Every one of them."""
