"""Schemas of feed, followers, teams, permissions and tokens."""

from __future__ import annotations

from tocsin.access.resources import RESOURCES
from tocsin.catalogue.feed.requests import REACTIONS
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.thread import TaskStatus, TaskType, ThreadType
from tocsin.server.openapi.json_schema import (
    COUNT,
    FLAG,
    ID,
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

_REFERENCE = ref("EntityReference")
_POST: Document = {"id": ID, "message": TEXT, "postTs": TIME, "from": TEXT}

PEOPLE: dict[str, Document] = {
    "Thread": {
        "type": "object",
        "required": ["id", "type", "about", "entityRef", "message", "createdBy", "threadTs", "href"],
        "properties": {
            "id": ID,
            "type": either(*ThreadType),
            "href": URL,
            "threadTs": TIME,
            "about": {"type": "string", "examples": ["<#E::table::warehouse.shop.public.orders>"]},
            "entityRef": _REFERENCE,
            "createdBy": TEXT,
            "updatedAt": TIME,
            "updatedBy": TEXT,
            "resolved": FLAG,
            "message": TEXT,
            "postsCount": COUNT,
            "posts": array(ref("Post")),
            "reactions": array(ref("Reaction")),
            "domains": array({}),
            "addressedTo": TEXT,
            "generatedBy": TEXT,
            "task": {
                "type": "object",
                "required": ["id", "type", "status"],
                "properties": {
                    "id": WHOLE,
                    "type": either(*TaskType),
                    "status": either(*TaskStatus),
                    "assignees": array(_REFERENCE),
                    "suggestion": TEXT,
                    "oldValue": TEXT,
                    "newValue": TEXT,
                    "closedBy": TEXT,
                    "closedAt": TIME,
                },
            },
            "announcement": closed_object({"description": TEXT, "startTime": TIME, "endTime": TIME}),
            "chatbot": OPEN,
        },
        "additionalProperties": False,
    },
    "Post": whole(_POST, {"reactions": array(ref("Reaction"))}),
    "Reaction": whole({"reactionType": either(*sorted(REACTIONS)), "user": _REFERENCE}),
    "ThreadCounts": whole(
        {
            "entityLink": TEXT,
            **dict.fromkeys(
                ("conversationCount", "openTaskCount", "closedTaskCount", "totalTaskCount", "mentionCount"), COUNT
            ),
        },
        dict.fromkeys(("totalAnnouncementCount", "activeAnnouncementCount", "inactiveAnnouncementCount"), COUNT),
    ),
    "Followers": whole({"entityType": TEXT, "entityId": ID, "followers": array(_REFERENCE), "data": array(_REFERENCE)}),
    "Ancestors": array(_REFERENCE) | {"description": "What a container lies in, the outermost first."},
    "Follows": mapping(array(_REFERENCE)) | {"description": "Lists of assets, by collection."},
    "TeamBranch": whole(
        {"id": ID, "name": TEXT, "href": URL, "isJoinable": FLAG, "children": array(ref("TeamBranch"))},
        {"teamType": TEXT, "description": TEXT, "fullyQualifiedName": TEXT, "displayName": TEXT},
    ),
    "Permission": {
        "type": "object",
        "required": ["operation", "access"],
        "properties": {
            "operation": either(*Operation),
            "access": either("deny", "allow", "conditionalDeny", "conditionalAllow", "notAllow"),
            "policy": TEXT,
            "role": TEXT,
            "rule": OPEN,
        },
        "additionalProperties": False,
    },
    "Permissions": whole({"resource": either(*sorted(RESOURCES)), "permissions": array(ref("Permission"))}),
    "LogIn": whole({"accessToken": TEXT, "tokenType": {"const": "Bearer"}, "expiryDuration": nullable(TIME)}),
    "PersonalToken": whole(
        {
            "token": TEXT,
            "tokenName": nullable(TEXT),
            "userId": ID,
            "tokenType": {"const": "PERSONAL_ACCESS_TOKEN"},
            "expiryDate": nullable(TIME),
        },
        {"jwtToken": {"type": "string", "description": "The token itself: shown once, when it is made."}},
    ),
    "BotMechanism": whole({"authType": TEXT, "config": ref("BotToken")}),
    "BotToken": whole({"JWTToken": TEXT, "JWTTokenExpiry": TEXT}, {"JWTTokenExpiresAt": nullable(TIME)}),
}
"""Feed, followers, teams, permissions, tokens."""
