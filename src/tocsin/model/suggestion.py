"""Suggestions as OpenMetadata 1.x has them: the tasks of type ``Suggestion``, by the same ids.

*Source:* OpenMetadata 1.13, ``entity/feed/suggestion.json``. Next: ``server/routes/feed/suggestions.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

import orjson

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink
from tocsin.model.task import TaskState, TaskSurroundings, creator_of, state_of
from tocsin.model.thread import FACTS, StoredThread

SUGGESTION = "Suggestion"
"""The type of task that a suggestion is."""


class SuggestionType(StrEnum):
    """What a suggestion would change."""

    DESCRIPTION = "SuggestDescription"
    TAGS = "SuggestTagLabel"


class SuggestionStatus(StrEnum):
    """What has become of a suggestion."""

    OPEN = "Open"
    ACCEPTED = "Accepted"
    REJECTED = "Rejected"


STATES: Mapping[SuggestionStatus, tuple[str, ...]] = MappingProxyType(
    {
        SuggestionStatus.OPEN: (TaskState.OPEN.value,),
        SuggestionStatus.ACCEPTED: (TaskState.APPROVED.value, TaskState.COMPLETED.value),
        SuggestionStatus.REJECTED: (TaskState.REJECTED.value, TaskState.CANCELLED.value),
    }
)
"""The states of tasks that each status stands for."""

_STATUSES = {state: status for status, states in STATES.items() for state in states}
_LABEL_DEFAULTS: Document = {"source": "Classification", "labelType": "Manual", "state": "Suggested"}


def suggestion_type_of(payload: Document) -> SuggestionType:
    """Return what the payload of a task of type ``Suggestion`` would change."""
    return SuggestionType.TAGS if payload["suggestionType"] == "Tag" else SuggestionType.DESCRIPTION


def suggested_labels(text: str) -> list[Document]:
    """Return the labels that a suggestion names: JSON as ``newValue`` has it, or the full name of one tag.

    Raises
    ------
    InvalidInput : it is JSON, but no list of tag labels
    """
    return labels_of(text) if text.lstrip()[:1] in ("[", "{") else [{"tagFQN": text, "source": "Classification"}]


def labels_of(text: str) -> list[Document]:
    """Return the tag labels that a text spells as JSON, as OpenMetadata's page sends them. Raises ``InvalidInput``."""
    try:
        labels: list[Document] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput("must be a JSON list of tag labels, as a string", field="newValue") from error
    is_list = isinstance(labels, list)
    if not is_list or not all(isinstance(one, dict) and isinstance(one.get("tagFQN"), str) for one in labels):
        raise InvalidInput("must be a JSON list of tag labels, as a string", field="newValue")
    return labels


def suggestion_document(thread: StoredThread, around: TaskSurroundings) -> Document:
    """Return the suggestion of 1.x that a task of type ``Suggestion`` is."""
    document, payload = thread.document, (thread.document.get(FACTS) or {})["payload"]
    kind = suggestion_type_of(payload)
    suggestion = {
        "id": thread.id,
        "type": kind.value,
        "entityLink": str(EntityLink(thread.about_type, around.asset["fullyQualifiedName"], thread.steps)),
        "createdAt": document["threadTs"],
        "createdBy": creator_of(thread, around),
        "updatedAt": document["updatedAt"],
        "updatedBy": document["updatedBy"],
        "status": _STATUSES[state_of(document).value].value,
    }
    if kind is SuggestionType.DESCRIPTION:
        return suggestion | {"description": payload["suggestedValue"]}
    reasoning = {"description": payload["reasoning"]} if payload.get("reasoning") else {}
    labels = [_LABEL_DEFAULTS | one for one in suggested_labels(payload["suggestedValue"])]
    return suggestion | reasoning | {"tagLabels": labels}
