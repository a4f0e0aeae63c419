"""JSON schema of the part of Adaptive Cards 1.4 that messages use: nothing else is allowed in them.

Written from the schema explorer of adaptivecards.io: elements, their properties, and the values of these.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_SIZES = {"enum": ["default", "small", "medium", "large", "extraLarge", "Medium", "Large"]}
_WEIGHTS = {"enum": ["default", "lighter", "bolder", "Bolder"]}
_SPACINGS = {"enum": ["default", "none", "small", "medium", "large", "extraLarge", "padding", "Small"]}


def _object(required: Json, optional: Json) -> Json:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _is(name: str) -> Json:
    return {"type": {"const": name}}


def _list_of(name: str) -> Json:
    return {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{name}"}}


_TEXT = {"type": "string", "minLength": 1}
_PLACED = {"separator": {"type": "boolean"}, "spacing": _SPACINGS}
_STYLED = {
    "size": _SIZES,
    "weight": _WEIGHTS,
    "isSubtle": {"type": "boolean"},
    "italic": {"type": "boolean"},
    "strikethrough": {"type": "boolean"},
    "underline": {"type": "boolean"},
    "fontType": {"enum": ["default", "monospace", "Monospace"]},
    "selectAction": {"$ref": "#/$defs/action"},
}
_URL = {"type": "string", "pattern": "^https?://"}

SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {
            **_is("message"),
            "attachments": {
                "type": "array",
                "minItems": 1,
                "maxItems": 1,
                "items": _object(
                    {
                        "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                        "content": {"$ref": "#/$defs/card"},
                    },
                    {},
                ),
            },
        },
        {},
    ),
    "$defs": {
        "card": _object(
            {**_is("AdaptiveCard"), "version": {"const": "1.4"}, "body": _list_of("element")},
            {
                "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
                "fallbackText": _TEXT,
                "msteams": _object({"width": {"const": "Full"}}, {}),
                "actions": {**_list_of("action"), "maxItems": 6},
            },
        ),
        "element": {
            "oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("rich", "container", "actions")],
        },
        "rich": _object({**_is("RichTextBlock"), "inlines": _list_of("run")}, _PLACED),
        "run": _object({**_is("TextRun"), "text": _TEXT}, _STYLED),
        "container": _object(
            {**_is("Container"), "items": _list_of("element")},
            {**_PLACED, "style": {"enum": ["emphasis", "attention", "warning", "good"]}, "bleed": {"type": "boolean"}},
        ),
        "actions": _object({**_is("ActionSet"), "actions": {**_list_of("action"), "maxItems": 6}}, _PLACED),
        "action": _object({**_is("Action.OpenUrl"), "url": _URL}, {"title": _TEXT}),
    },
}
