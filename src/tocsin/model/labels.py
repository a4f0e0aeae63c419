"""Labels of a document at all depths: lookup and replacement.

A label names its tag by FQN. Next: ``flow/capture/removal.py``, ``flow/capture/renames.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from tocsin.model import fqn as names
from tocsin.model.entity import Document

Value = Any  # Any: a JSON value at any depth of a document
Relabel = Callable[[Document], Document | None]
"""Returns the replacement of a label, or None for none."""

LabelNames = Mapping[tuple[str, str], str]
"""New FQN of a tag or term by what a label says of it: its source and its FQN."""

SOURCES = {"tag": "Classification", "glossaryTerm": "Glossary"}
"""Per type that can be put on things as a label: what such a label calls its source."""

CERTIFICATION = "certification"
"""The key of an asset's certification: one label, and its validity."""

_NOT_LABELS = frozenset({"extension", "changeDescription", "incrementalChangeDescription"})
"""Keys under which people and the server keep what they like."""
_NESTING = (dict, list)


def carries_labels(document: Document) -> bool:
    """Return whether a document may carry labels; for most a text search suffices, without a walk."""
    return b'"tagFQN"' in orjson.dumps(document)


def labels_of(value: Value) -> Iterator[Document]:
    """Yield every label of a document and of its members."""
    for labels in _label_places(value):
        if isinstance(labels, dict):
            yield labels["tagLabel"]
        else:
            yield from (label for label in labels if isinstance(label, dict) and "tagFQN" in label)


def certification_of(document: Document) -> Document | None:
    """Return the label that certifies an asset; None if none does."""
    value: Value = document.get(CERTIFICATION)
    return value["tagLabel"] if _certifies(value) else None


def label_lists(value: Value) -> Iterator[list[Document]]:
    """Yield every list with labels of a document and of its members: the lists themselves, to be changed."""
    return (labels for labels in _label_places(value) if isinstance(labels, list))


def _label_places(value: Value) -> list[list[Document] | Document]:
    """Return every list with labels, and every certification that names one."""
    places: list[list[Document] | Document] = []
    _add_label_places(value, places)
    return places


def _add_label_places(value: Value, places: list[list[Document] | Document]) -> None:
    """Add the places in a value, in its order: half the time of generators that pass on what others yield."""
    if type(value) is list:
        for member in value:
            if type(member) in _NESTING:
                _add_label_places(member, places)
    elif type(value) is dict:
        for key, inner in value.items():
            if type(inner) not in _NESTING or not inner or key in _NOT_LABELS:
                continue
            if (key == "tags" and type(inner) is list) or (key == CERTIFICATION and _certifies(inner)):
                places.append(inner)
            else:
                _add_label_places(inner, places)


def replace_labels(value: Value, relabel: Relabel) -> Value:
    """Return a document with every label replaced by what ``relabel`` makes of it; the document is not changed."""
    if isinstance(value, list):
        return [replace_labels(member, relabel) for member in value]
    if not isinstance(value, dict):
        return value
    new_values = {key: _relabelled_value(key, held, relabel) for key, held in value.items()}
    return {key: held for key, held in new_values.items() if key != CERTIFICATION or held is not None}


def rename_labels(document: Document, new_names: LabelNames) -> Document:
    """Return a document whose labels have their new names; the document is not changed."""

    def relabel(label: Document) -> Document:
        fqn = new_names.get((str(label.get("source", "")), label["tagFQN"]))
        if fqn is None:
            return label
        return label | {"tagFQN": fqn} | ({"name": names.split(fqn)[-1]} if "name" in label else {})

    relabelled_document: Document = replace_labels(document, relabel)
    return relabelled_document


def _relabelled_value(key: str, value: Value, relabel: Relabel) -> Value:
    if key == "tags" and isinstance(value, list):
        return _labels(value, relabel)
    if key == CERTIFICATION and _certifies(value):
        label = relabel(value["tagLabel"])
        return None if label is None else value | {"tagLabel": label}
    return value if key in _NOT_LABELS else replace_labels(value, relabel)


def _certifies(value: Value) -> bool:
    return isinstance(value, dict) and isinstance(value.get("tagLabel"), dict) and "tagFQN" in value["tagLabel"]


def _labels(values: list[Value], relabel: Relabel) -> list[Value]:
    new_values = [relabel(label) if isinstance(label, dict) and "tagFQN" in label else label for label in values]
    return [label for label in new_values if label is not None]
