"""What JSON documents point to: entity references, table names in constraints and joins, tags in labels.

Next: ``access/person_visibility.py`` and ``flow/capture/redaction.py``, which hide references from readers and writers.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import orjson

from tocsin.errors import InvalidInput
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

Json = Any  # Any: a JSON value
ADDED_TO_REFERENCES = frozenset({"href", "deleted"})
"""What answers add to references; it is never stored."""

LABEL_TYPES = ("tag", "glossaryTerm")
"""The types of what labels name."""

LabelName = tuple[str, str]
"""The type of what a label names, and its full name."""

_TABLE_NAMES = 4
_TAG, _TERM = LABEL_TYPES
_SUGGESTED = "suggestedValue"
_NESTING = (dict, list, str)


def references_in(value: Json) -> Iterator[Document]:
    """Yield every entity reference anywhere in a JSON value."""
    if isinstance(value, dict):
        if is_reference(value):
            yield value
        for inner in value.values():
            if type(inner) is dict or type(inner) is list:
                yield from references_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from references_in(inner)


def direct_targets(document: Document) -> set[str]:
    """Return the ids of what references point to that a document has under its keys, alone or in lists."""
    ids: set[str] = set()
    for value in document.values():
        members = value if type(value) is list else (value,) if type(value) is dict else ()
        ids.update(one["id"] for one in members if type(one) is dict and "id" in one and is_reference(one))
    return ids


def is_reference(value: Document) -> bool:
    """Return whether an object points to an entity: it has an id and the name of a type."""
    return isinstance(value.get("id"), str) and isinstance(value.get("type"), str) and value["type"] in ENTITY_TYPES


def as_stored(value: Json) -> Json:
    """Return a reference or a list of references without what answers add to them; any other value as it is."""
    if isinstance(value, list):
        return [as_stored(one) for one in value]
    if not (isinstance(value, dict) and is_reference(value)):
        return value
    return {key: inner for key, inner in value.items() if key not in ADDED_TO_REFERENCES}


def names_in(value: Json) -> Iterator[str]:
    """Yield the full name of every table that a constraint or a join anywhere in a JSON value names."""
    if isinstance(value, dict):
        yield from tables_named(value)
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for inner in value:
        if type(inner) is dict or type(inner) is list:
            yield from names_in(inner)


def tables_named(value: Document) -> list[str]:
    """Return the full names of the tables that a constraint, or a join, leads to: they have no ids there."""
    columns = value.get("referredColumns")
    if isinstance(columns, list):
        return [_table_of(one) for one in columns if isinstance(one, str)]
    joined = value.get("fullyQualifiedName")
    return [_table_of(joined)] if isinstance(joined, str) and "joinCount" in value else []


def labels_in(value: Json) -> Iterator[LabelName]:
    """Yield what every label anywhere in a JSON value names, also in texts that spell labels as JSON, as tasks do."""
    if isinstance(value, dict):
        if (name := label_name(value)) is not None:
            yield name
        value = value.values()
    elif isinstance(value, str):
        value = _spelled_labels(value)
    elif not isinstance(value, list | tuple):
        return
    for inner in value:
        if type(inner) is dict or type(inner) is list or (type(inner) is str and _spells_labels(inner)):
            yield from labels_in(inner)


def label_name(value: Document) -> LabelName | None:
    """Return what an object names as a label, or as the suggestion of a tag by its name; None if it is neither."""
    if isinstance(value.get("tagFQN"), str):
        return _TERM if value.get("source") == "Glossary" else _TAG, value["tagFQN"]
    suggestion = value.get(_SUGGESTED)
    is_by_name = value.get("suggestionType") == "Tag" and isinstance(suggestion, str) and not _spells_labels(suggestion)
    return (_TAG, str(suggestion)) if is_by_name else None


def hidden_label(name: LabelName) -> str:
    """Return the text by which a set of what is hidden contains a label; no id and no full name is like it."""
    return f"{name[0]}\n{name[1]}"


def _spells_labels(text: str) -> bool:
    return text[:1] == "[" and '"tagFQN"' in text


def _spelled_labels(text: str) -> list[Json]:
    """Return the labels that a text spells as JSON; none if it is another text."""
    if not _spells_labels(text):
        return []
    try:
        labels: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    return labels if isinstance(labels, list) else []


def _table_of(name: str) -> str:
    """Return the full name of the table that a full name is, or leads through."""
    try:
        return fqn.join(fqn.split(name)[:_TABLE_NAMES])
    except InvalidInput:
        return name


def lies_in(reference: Document, document: Document) -> bool:
    """Return whether a document is a descendant of the referenced entity, by FQN."""
    fqn = document.get("fullyQualifiedName")
    return isinstance(fqn, str) and fqn.startswith(f"{reference.get('fullyQualifiedName')}.")


def without_hidden(value: Json, hidden: AbstractSet[str], document: Document) -> Json:
    """Return a JSON value without references to hidden entities, edges to them, and labels of hidden tags.

    References to ancestors of ``document`` stay, as far as its own FQN contains their names.
    """
    if isinstance(value, list):
        return [without_hidden(one, hidden, document) for one in value if not is_hidden(one, hidden)]
    if isinstance(value, str):
        return _text_without(value, hidden, document)
    if not isinstance(value, dict):
        return value
    visible: Document = {}
    for key, inner in value.items():
        if not is_hidden(inner, hidden):
            visible[key] = without_hidden(inner, hidden, document) if type(inner) in _NESTING else inner
        elif is_reference(inner) and lies_in(inner, document):
            visible[key] = {name: inner[name] for name in ("id", "type", "name", "fullyQualifiedName") if name in inner}
    return visible


def _text_without(text: str, hidden: AbstractSet[str], document: Document) -> str:
    """Return a text that spells labels as JSON without hidden ones; any other as it is."""
    labels = _spelled_labels(text)
    visible_labels = without_hidden(labels, hidden, document)
    return text if visible_labels == labels else orjson.dumps(visible_labels).decode()


def is_hidden(value: Json, hidden: AbstractSet[str]) -> bool:
    """Return whether a JSON value is itself a reference, edge, constraint or label that leads to what is hidden."""
    if not isinstance(value, dict):
        return False
    if is_reference(value):
        return value["id"] in hidden
    ends = (value.get("fromEntity"), value.get("toEntity"))
    is_edge_there = any(isinstance(end, dict) and end.get("id") in hidden for end in ends)
    return is_edge_there or is_hidden_label(value, hidden) or not hidden.isdisjoint(tables_named(value))


def is_hidden_label(value: Document, hidden: AbstractSet[str]) -> bool:
    """Return whether an object is a label of a hidden tag, certifies with one, or suggests one by name."""
    certificate = value.get("tagLabel")
    name = label_name(certificate if isinstance(certificate, dict) else value)
    return name is not None and hidden_label(name) in hidden
