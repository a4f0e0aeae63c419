"""Schemas of suggestions of OpenMetadata 1.x: requests and answers.

*Source:* OpenMetadata 1.13, ``entity/feed/suggestion.json``. Next: ``model/suggestion.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.model.suggestion import SuggestionStatus, SuggestionType
from tocsin.server.http.json_schema import ID, OPEN, TEXT, TIME, array, closed_object, either, exact_object, nullable

SUGGESTION_ANSWERS: dict[str, Document] = {
    "SuggestionEntity": exact_object(
        {
            "id": ID,
            "type": either(*SuggestionType),
            "entityLink": TEXT,
            "createdAt": TIME,
            "updatedAt": TIME,
            "updatedBy": TEXT,
            "status": either(*SuggestionStatus),
            "href": TEXT,
        },
        {"createdBy": OPEN, "description": TEXT, "tagLabels": array(OPEN)},
    ),
}
"""A suggestion."""

_PROPOSAL: Document = {"description": nullable(TEXT), "tagLabels": nullable(array(OPEN))}
_TYPE: Document = {"type": nullable(either(*SuggestionType)), "entityLink": TEXT}

SUGGESTION_REQUESTS: dict[str, Document] = {
    "CreateSuggestionRequest": closed_object({**_TYPE, **_PROPOSAL}, required=["entityLink"]),
    "SuggestionUpdate": closed_object(
        {
            **_TYPE,
            **_PROPOSAL,
            "id": ID,
            "href": nullable(TEXT),
            "createdAt": nullable(TIME),
            "createdBy": nullable(OPEN),
            "updatedAt": nullable(TIME),
            "updatedBy": nullable(TEXT),
            "impersonatedBy": nullable(TEXT),
            "status": nullable(either(*SuggestionStatus)),
        }
    ),
}
"""What the routes of suggestions read; of an update only what is suggested counts."""
