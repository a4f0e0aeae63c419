"""JSON schema of the part of Slack's Block Kit that messages use, with its limits: nothing else is allowed in them.

Written from Slack's reference of blocks, elements and text objects; ``slack_sdk`` knows no limits of rich text.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def _object(required: Json, optional: Json) -> Json:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _is(name: str) -> Json:
    return {"type": {"const": name}}


def _text(limit: int) -> Json:
    return {"type": "string", "minLength": 1, "maxLength": limit}


def _list_of(item: Json, limit: int) -> Json:
    return {"type": "array", "minItems": 1, "maxItems": limit, "items": item}


def _plain(limit: int) -> Json:
    return _object({**_is("plain_text"), "text": _text(limit)}, {"emoji": {"type": "boolean"}})


_URL = {**_text(3_000), "pattern": "^https?://"}
_STYLE = _object({}, {name: {"const": True} for name in ("bold", "italic", "strike", "underline", "code")})
_MRKDWN = _object({**_is("mrkdwn"), "text": _text(3_000)}, {"verbatim": {"type": "boolean"}})
_RUN = {
    "oneOf": [
        _object({**_is("text"), "text": _text(3_000)}, {"style": _STYLE}),
        _object({**_is("link"), "url": _URL}, {"text": _text(3_000), "style": _STYLE}),
        _object(
            {**_is("date"), "timestamp": {"type": "integer"}, "format": _text(200)},
            {"fallback": _text(200), "style": _STYLE},
        ),
        _object({**_is("user"), "user_id": _text(64)}, {"style": _STYLE}),
    ]
}
_BUTTON = _object(
    {**_is("button"), "text": _plain(75)},
    {
        "url": _URL,
        "value": _text(2_000),
        "action_id": _text(255),
        "style": {"enum": ["primary", "danger"]},
    },
)
_BLOCK = {
    "oneOf": [
        _object({**_is("header"), "text": _plain(150)}, {}),
        _object({**_is("context"), "elements": _list_of({"oneOf": [_plain(3_000), _MRKDWN]}, 10)}, {}),
        _object(
            {
                **_is("rich_text"),
                "elements": _list_of(
                    _object({**_is("rich_text_section"), "elements": {"type": "array", "items": _RUN}}, {}), 100
                ),
            },
            {},
        ),
        _object({**_is("actions"), "elements": _list_of(_BUTTON, 25)}, {"block_id": _text(255)}),
    ]
}
_BLOCKS = _list_of(_BLOCK, 50)
_ATTACHMENT = _object({"blocks": _BLOCKS}, {"color": {"pattern": "^#[0-9a-f]{6}$"}, "fallback": _text(3_000)})

SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {"text": _text(40_000), "blocks": _BLOCKS},
        {
            "attachments": _list_of(_ATTACHMENT, 100),
            **{key: {"const": False} for key in ("mrkdwn", "unfurl_links", "unfurl_media")},
        },
    ),
}
