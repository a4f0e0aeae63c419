"""JSON schema of the part of Google Chat's cards (``cardsV2``) that messages use: nothing else is allowed in them.

Written from the reference of Google Chat's API (``Card``, ``Message``). Its service ignores what comes after the widget
``MOST_WIDGETS`` of a card, with the whole section that holds it.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

MOST_WIDGETS = 100
MARKUP = frozenset({"b", "i", "u", "s", "font", "a", "br", "code"})
"""Tags that texts of cards may have."""

_TEXT = {"type": "string", "minLength": 1}


def _object(required: Json, optional: Json) -> Json:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def _list_of(item: Json) -> Json:
    return {"type": "array", "minItems": 1, "items": item}


_BUTTON = _object(
    {
        "text": _TEXT,
        "onClick": _object({"openLink": _object({"url": {"type": "string", "pattern": "^https?://"}}, {})}, {}),
    },
    {},
)
_WIDGET = {
    "oneOf": [
        _object({"textParagraph": _object({"text": _TEXT}, {})}, {}),
        _object({"buttonList": _object({"buttons": _list_of(_BUTTON)}, {})}, {}),
    ]
}
_CARD = _object(
    {"sections": _list_of(_object({"widgets": _list_of(_WIDGET)}, {"header": _TEXT}))},
    {"header": _object({"title": _TEXT}, {"subtitle": _TEXT})},
)

SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        {
            "fallbackText": _TEXT,
            "cardsV2": _list_of(_object({"cardId": {**_TEXT, "maxLength": 64}, "card": _CARD}, {})),
        },
        {"thread": _object({"threadKey": {**_TEXT, "maxLength": 4_000}}, {})},
    ),
}
