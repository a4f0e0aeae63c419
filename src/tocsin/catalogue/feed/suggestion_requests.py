"""Validation of requests for suggestions as OpenMetadata 1.x has them, which become tasks of type ``Suggestion``.

*Source:* OpenMetadata 1.13, ``api/feed/createSuggestion.json``. Next: ``catalogue/feed/task_operations.py``.
"""

from __future__ import annotations

from typing import Any

import orjson

from tocsin.catalogue.feed.requests import LONGEST_MESSAGE
from tocsin.catalogue.feed.task_requests import TaskRequest, checked_labels, parse_task
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link
from tocsin.model.phrases import hint
from tocsin.model.suggestion import SUGGESTION, SuggestionType

_KEYS = frozenset({"description", "tagLabels", "type", "entityLink"})
_FIXED = ("type", "entityLink", "status")
_SHOWN = _KEYS | {"id", "href", "createdAt", "createdBy", "updatedAt", "updatedBy", "impersonatedBy", "status"}
_PARTS = {SuggestionType.DESCRIPTION: ("Description", "description"), SuggestionType.TAGS: ("Tag", "tags")}
Value = Any  # Any: whatever JSON was sent


def parse_suggestion(request: Document) -> TaskRequest:
    """Return the task that a request for a suggestion makes; nulls are left out.

    Raises
    ------
    InvalidInput : a key is unknown, a value has the wrong form, or nothing is suggested
    """
    document = {key: value for key, value in request.items() if value is not None}
    _check_keys(document, _KEYS)
    link, kind = parse_link(document.get("entityLink"), "entityLink"), _type_of(document)
    name, key = _PARTS[kind]
    payload = {"suggestionType": name, "fieldPath": ".".join(link.steps) or key, **_proposal_of(document, kind)}
    return parse_task({"about": str(link), "category": "MetadataUpdate", "type": SUGGESTION, "payload": payload})


def parse_proposal(request: Document, shown_suggestion: Document) -> Document:
    """Return what a suggestion is to suggest instead, as part of the payload of its task.

    Raises
    ------
    InvalidInput : as ``parse_suggestion``, or something else of it is to change
    """
    document = {key: value for key, value in request.items() if value is not None}
    _check_keys(document, _SHOWN)
    for key in _FIXED:
        if key in document and document[key] != shown_suggestion[key]:
            raise InvalidInput("cannot be changed; only description and tagLabels can", field=key)
    return _proposal_of(document, SuggestionType(shown_suggestion["type"]))


def _type_of(document: Document) -> SuggestionType:
    """Return the type that a request states, or that its content has."""
    stated = document.get("type")
    if stated is None:
        return SuggestionType.TAGS if "tagLabels" in document else SuggestionType.DESCRIPTION
    if stated not in list(SuggestionType):
        raise InvalidInput(f"must be one of {', '.join(SuggestionType)}{hint(stated, SuggestionType)}", field="type")
    return SuggestionType(stated)


def _proposal_of(document: Document, kind: SuggestionType) -> Document:
    text = document.get("description")
    if text is not None and (not isinstance(text, str) or len(text) > LONGEST_MESSAGE):
        raise InvalidInput(f"must be a string of at most {LONGEST_MESSAGE} characters", field="description")
    if kind is SuggestionType.DESCRIPTION:
        if "tagLabels" in document:
            raise InvalidInput("not allowed in a suggestion of a description", field="tagLabels")
        if not text or not text.strip():
            raise InvalidInput("is missing: what is suggested", field="description")
        return {"suggestedValue": text}
    labels = checked_labels(document.get("tagLabels") or [], "tagLabels")
    if not labels:
        raise InvalidInput("is missing: what is suggested", field="tagLabels")
    stated_labels = [{key: value for key, value in one.items() if value is not None} for one in labels]
    return {"suggestedValue": orjson.dumps(stated_labels).decode(), **({"reasoning": text} if text else {})}


def _check_keys(document: Document, valid_keys: frozenset[str]) -> None:
    unknown = sorted(document.keys() - valid_keys)
    if unknown:
        raise InvalidInput(f"unknown key; valid keys: {', '.join(sorted(valid_keys))}", field=unknown[0])
