"""Validation of requests for tasks as OpenMetadata 2 has them.

Source: OpenMetadata 2.0 ``api/tasks/*.json`` and the payloads in ``type``. Next: ``catalogue/feed/task_operations.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tocsin.catalogue.feed.requests import LONGEST_MESSAGE, MOST_PEOPLE
from tocsin.clock import LATEST_MS
from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_link import EntityLink, parse_link
from tocsin.model.phrases import hint
from tocsin.model.task import (
    CATEGORIES,
    DEFAULT_PRIORITY,
    GLOSSARY_APPROVAL,
    PRIORITIES,
    RESOLUTIONS,
    TRANSITIONS,
    TYPES,
    Transition,
)
from tocsin.model.thread import TaskType

LONGEST_NAME = 256
MOST_TAGS = 100
MOST_TASKS = 100
"""Tasks of one bulk request."""

_KEYS = frozenset(
    "name displayName description category type priority about domain assignees reviewers payload dueDate "
    "externalReference tags".split()
)
_EXTERNAL_KEYS = frozenset("system externalId externalUrl syncStatus lastSyncedAt".split())
_SYNC_STATUSES = ("synced", "pending", "conflict", "error")
_OPENED_BY_THEMSELVES = {
    "TestCaseResolution": "the incident of a test case opens by itself when the test fails",
    GLOSSARY_APPROVAL: "it opens by itself when a term is made, or is put In Review, under reviewers",
}
_NEEDS_PAYLOAD = frozenset({"OwnershipUpdate", "TierUpdate", "DomainUpdate"})
_OPERATIONS = ("Approve", "Reject", "Assign", "UpdatePriority", "Cancel")
_TEXTS = {
    "DescriptionUpdate": "Please describe it.",
    "TagUpdate": "Please tag it.",
    "Suggestion": "Please look at this suggestion.",
    "RequestApproval": "Please approve it.",
    "OwnershipUpdate": "Please look at these owners.",
    "TierUpdate": "Please look at this tier.",
    "DomainUpdate": "Please look at this domain.",
}
Value = Any  # Any: whatever JSON was sent


@dataclass(frozen=True)
class TaskRequest:
    """A checked request for a new task.

    Attributes
    ----------
    link : the asset that it is about, and the part of it
    message, kind : the text, and what 1.x calls the type
    suggestion : the proposed value as text
    assignees, reviewers : names of users and teams, or references to them
    facts : what only 2.x knows
    """

    link: EntityLink
    message: str
    kind: TaskType
    suggestion: str | None
    assignees: list[Value]
    reviewers: list[Value]
    facts: Document


@dataclass(frozen=True)
class Decision:
    """What is done to a task: by which transition, with which value for the asset, and why."""

    transition: Transition
    new_value: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class BulkRequest:
    """What is done to several tasks: either a decision, or an edit of these keys."""

    task_ids: list[str]
    decision: Decision | None
    edits: Document = field(default_factory=dict)


def parse_task(request: Document) -> TaskRequest:
    """Return what a request for a new task says; nulls are left out.

    Raises
    ------
    InvalidInput : a key is unknown, or a value has the wrong form
    """
    document = {key: value for key, value in request.items() if value is not None}
    _check_keys(document, _KEYS)
    kind = _word(document, "type", TYPES.keys() | _OPENED_BY_THEMSELVES.keys())
    if kind in _OPENED_BY_THEMSELVES:
        raise InvalidInput(f"{kind}: {_OPENED_BY_THEMSELVES[kind]}", field="type")
    if _word(document, "category", CATEGORIES) != TYPES[kind].category:
        raise InvalidInput(f"must be {TYPES[kind].category} for a task of type {kind}", field="category")
    if "domain" in document:
        raise InvalidInput("a task is in the domains of what it is about; leave it out", field="domain")
    if "about" not in document:
        raise InvalidInput("is missing: a task is about an asset, <#E::table::shop.public.orders>", field="about")
    payload = _object(document, "payload")
    if kind in _NEEDS_PAYLOAD and not payload:
        raise InvalidInput("is missing: what is proposed", field="payload")
    link, proposal = _place(parse_link(document["about"], "about"), payload), _proposal_of(kind, payload)
    return TaskRequest(
        link,
        _text(document, "description") or _text(document, "displayName", LONGEST_NAME) or _TEXTS.get(kind, kind),
        _kind_of_1(kind, payload, proposal),
        proposal,
        _people(document, "assignees"),
        _people(document, "reviewers"),
        {"type": kind} | checked_facts(document) | ({"payload": payload} if "payload" in document else {}),
    )


def checked_facts(document: Document) -> Document:
    """Return the keys of a task that only 2.x has and that may change, as far as ``document`` has them.

    Raises
    ------
    InvalidInput : a value has the wrong form
    """
    facts: Document = {}
    for key in ("name", "displayName"):
        if (text := _text(document, key, LONGEST_NAME)) is not None:
            facts[key] = text
    if document.get("priority") is not None:
        facts["priority"] = _word(document, "priority", PRIORITIES)
    if document.get("dueDate") is not None:
        facts["dueDate"] = _time(document, "dueDate")
    if document.get("externalReference") is not None:
        facts["externalReference"] = _external(document["externalReference"])
    if document.get("tags"):
        facts["tags"] = checked_labels(document["tags"], "tags")
    return facts


def parse_decision(request: Document) -> Decision:
    """Return the decision in a request: its transition, or the one that its resolution type means.

    Raises
    ------
    InvalidInput : it names neither, or a value has the wrong form
    """
    document = {key: value for key, value in request.items() if value is not None}
    _check_keys(document, {"transitionId", "resolutionType", "comment", "newValue", "payload"})
    if "transitionId" in document:
        transition = TRANSITIONS[_word(document, "transitionId", TRANSITIONS)]
    elif "resolutionType" in document:
        transition = RESOLUTIONS[_word(document, "resolutionType", RESOLUTIONS)]
    else:
        raise InvalidInput(f"is missing; one of {', '.join(TRANSITIONS)}", field="transitionId")
    payload = _object(document, "payload")
    value = _text(document, "newValue")
    if value is None:
        value = _text(payload, "newDescription") or _text(payload, "suggestedValue")
    return Decision(transition, value, _text(document, "comment"))


def parse_comment(text: str) -> str:
    """Return the comment in a body: the text itself, or the ``message`` of a JSON object.

    Raises
    ------
    InvalidInput : it says nothing, or too much
    """
    message: object = text
    if text.lstrip().startswith("{"):
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError:
            document = None
        if isinstance(document, dict) and document.keys() == {"message"}:
            message = document["message"]
    if not isinstance(message, str) or not message.strip() or len(message) > LONGEST_MESSAGE:
        raise InvalidInput(f"must be a string of 1 to {LONGEST_MESSAGE} characters", field="message")
    return message


def parse_bulk(request: Document) -> BulkRequest:
    """Return what a bulk request does, and to which tasks; each once.

    Raises
    ------
    InvalidInput : a value has the wrong form, or there are too many tasks
    """
    document = {key: value for key, value in request.items() if value is not None}
    _check_keys(document, {"taskIds", "operation", "params"})
    task_ids = document.get("taskIds")
    if not isinstance(task_ids, list) or not 0 < len(task_ids) <= MOST_TASKS:
        raise InvalidInput(f"must be a list of 1 to {MOST_TASKS} ids", field="taskIds")
    if not all(isinstance(one, str) and len(one) <= LONGEST_NAME for one in task_ids):
        raise InvalidInput("each must be the id of a task, or its taskId", field="taskIds")
    params = _object(document, "params")
    _check_keys(params, {"comment", "assignees", "priority"})
    unique_ids = list(dict.fromkeys(task_ids))
    match _word(document, "operation", _OPERATIONS):
        case "Assign":
            return BulkRequest(unique_ids, None, {"assignees": _people(params, "assignees")})
        case "UpdatePriority":
            values = {"priority": params.get("priority") or DEFAULT_PRIORITY}
            return BulkRequest(unique_ids, None, {"priority": _word(values, "priority", PRIORITIES)})
        case operation:
            return BulkRequest(unique_ids, Decision(TRANSITIONS[operation.lower()], None, _text(params, "comment")))


def checked_labels(labels: Value, place: str) -> list[Document]:
    """Return tag labels, each an object that names its tag.

    Raises
    ------
    InvalidInput : not a list of these, or too many
    """
    if not isinstance(labels, list) or len(labels) > MOST_TAGS:
        raise InvalidInput(f"must be a list of at most {MOST_TAGS} tag labels", field=place)
    if not all(isinstance(one, dict) and isinstance(one.get("tagFQN"), str) for one in labels):
        raise InvalidInput("each must be a tag label with a tagFQN", field=place)
    return labels


def _kind_of_1(kind: str, payload: Document, proposal: str | None) -> TaskType:
    if kind == "TagUpdate" or (kind == "Suggestion" and payload.get("suggestionType") == "Tag"):
        return TaskType.REQUEST_TAG if proposal is None and "tagsToRemove" not in payload else TaskType.UPDATE_TAG
    if kind == "DescriptionUpdate" and proposal is None:
        return TaskType.REQUEST_DESCRIPTION
    return TYPES[kind].type


def _proposal_of(kind: str, payload: Document) -> str | None:
    """Return the value that a payload proposes, as text; None if it proposes none, or tags to add and remove."""
    if kind == "DescriptionUpdate":
        return _text(payload, "newDescription")
    if kind in ("TagUpdate", "Suggestion"):
        for key in ("tagsToAdd", "tagsToRemove"):
            checked_labels(payload.get(key) or [], f"payload.{key}")
    if kind == "TagUpdate":
        return None if payload.get("tagsToAdd") is None else ""
    if kind == "Suggestion":
        if payload.get("suggestionType") not in ("Description", "Tag"):
            raise InvalidInput("must be Description or Tag", field="payload.suggestionType")
        value = _text(payload, "suggestedValue")
        if not value:
            raise InvalidInput("is missing: what is suggested", field="payload.suggestedValue")
        return value
    return None


def _place(link: EntityLink, payload: Document) -> EntityLink:
    """Return the link to the part of the asset that a payload names, unless the link itself leads to one."""
    path = _text(payload, "fieldPath") or ""
    if link.steps or not path:
        return link
    names = fqn.split(path)
    if names[-1] in ("description", "tags"):
        names = names[:-1]
    if len(names) == 1:
        raise InvalidInput("must be like columns.email.description, or description", field="payload.fieldPath")
    return EntityLink(link.entity_type, link.fqn, (names[0], fqn.join(names[1:])) if names else ())


def _people(document: Document, key: str) -> list[Value]:
    people = document.get(key) or []
    if not isinstance(people, list) or len(people) > MOST_PEOPLE:
        raise InvalidInput(f"must be a list of at most {MOST_PEOPLE} names of users and teams", field=key)
    for person in people:
        is_reference = isinstance(person, dict) and person.get("type") in ("user", "team")
        if not is_reference and not (isinstance(person, str) and 0 < len(person) <= LONGEST_NAME):
            raise InvalidInput("each must be the name of a user or a team", field=key)
    return people


def _external(reference: Value) -> Document:
    place = "externalReference"
    if not isinstance(reference, dict):
        raise InvalidInput("must be an object", field=place)
    document = {key: value for key, value in reference.items() if value is not None}
    _check_keys(document, _EXTERNAL_KEYS, f"{place}.")
    if not all(_text(document, key) for key in ("system", "externalId")):
        raise InvalidInput("must have a system and an externalId", field=place)
    url = _text(document, "externalUrl")
    if url is not None and not url.startswith(("https://", "http://")):
        raise InvalidInput("must be a web address", field=f"{place}.externalUrl")
    if "syncStatus" in document:
        _word(document, "syncStatus", _SYNC_STATUSES)
    if "lastSyncedAt" in document:
        _time(document, "lastSyncedAt")
    return document


def _check_keys(document: Document, valid_keys: Collection[str], place: str = "") -> None:
    unknown = sorted(document.keys() - set(valid_keys))
    if unknown:
        raise InvalidInput(f"unknown key; valid keys: {', '.join(sorted(valid_keys))}", field=place + unknown[0])


def _word(document: Document, key: str, words: Collection[str] | Mapping[str, object]) -> str:
    value = document.get(key)
    if not isinstance(value, str) or value not in words:
        raise InvalidInput(f"must be one of {', '.join(words)}{hint(value, list(words))}", field=key)
    return value


def _object(document: Document, key: str) -> Document:
    value = document.get(key) or {}
    if not isinstance(value, dict):
        raise InvalidInput("must be an object", field=key)
    if len(orjson.dumps(value)) > LONGEST_MESSAGE:
        raise InvalidInput(f"must be at most {LONGEST_MESSAGE} bytes of JSON", field=key)
    return value


def _text(document: Document, key: str, longest: int = LONGEST_MESSAGE) -> str | None:
    value = document.get(key)
    if value is not None and (not isinstance(value, str) or len(value) > longest):
        raise InvalidInput(f"must be a string of at most {longest} characters", field=key)
    return value or None


def _time(document: Document, key: str) -> int:
    at = document.get(key)
    if not isinstance(at, int) or isinstance(at, bool) or not 0 <= at <= LATEST_MS:
        raise InvalidInput("must be epoch milliseconds", field=key)
    return at
