"""Conversion of lists, labels, people and extensions to and from CSV cells.

Members are separated by ``;``. A member with a ``;``, or with quotation marks or spaces at its ends, is quoted.
Next: ``columns.py``, ``terms.py``, ``children.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tocsin.errors import InvalidInput
from tocsin.flow.capture.normalize import TAG_DEFAULTS
from tocsin.flow.capture.ports import Transaction
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.labels import SOURCES
from tocsin.model.stored import Key

_PART = re.compile(r'\s*"((?:[^"]|"")*)"\s*(?:;|$)|([^;]*)(?:;|$)')
_DERIVED = "Derived"
_LOOKS_LIKE_JSON = re.compile(r'\s*["\[{\d+-]|true$|false$|null$')


@dataclass(frozen=True)
class SheetField:
    """How one cell of a row is read from a document, and how its text is put into one."""

    text: Callable[[Document], str]
    put: Callable[[Transaction, Document, str], object]


SheetFields = Mapping[str, SheetField]
"""The fields of a sheet by header; headers without one are passed over."""


def texts_of(fields: SheetFields, document: Document) -> dict[str, str]:
    """Return the cells of a document, by header."""
    return {name: field.text(document) for name, field in fields.items()}


def text_field(key: str) -> SheetField:
    """Return the field of a text."""
    return SheetField(
        lambda document: document.get(key) or "", lambda _transaction, document, text: document.update({key: text})
    )


def people_field(key: str) -> SheetField:
    """Return the field of a list of people and teams."""
    return SheetField(
        lambda document: people_cell(document.get(key) or []),
        lambda _transaction, document, text: document.update({key: people(text)}),
    )


def labels_field(entity_type: str) -> SheetField:
    """Return the field of the labels that name tags, or glossary terms."""

    def put(transaction: Transaction, document: Document, text: str) -> None:
        document["tags"] = with_labels(transaction, document.get("tags") or [], entity_type, text)

    return SheetField(lambda document: labels_cell(document.get("tags") or [], entity_type), put)


def join_parts(parts: Iterable[str]) -> str:
    """Return the parts as one cell."""
    return ";".join(_quote(part) for part in parts)


def split_parts(cell: str) -> list[str]:
    """Return the parts of a cell, empty ones left out."""
    cell_parts: list[str] = []
    at = 0
    while at < len(cell):
        part = _PART.match(cell, at)
        assert part is not None, "the second way matches anything"  # noqa: S101
        quoted_text, plain_text = part.groups()
        cell_parts += (
            [quoted_text.replace('""', '"')]
            if quoted_text is not None
            else [plain_text.strip()]
            if plain_text.strip()
            else []
        )
        at = max(part.end(), at + 1)
    return cell_parts


def labels_cell(labels: Iterable[Document], entity_type: str) -> str:
    """Return the labels that name tags, or glossary terms; those that follow from others are left out."""
    source = SOURCES[entity_type]
    return join_parts(label["tagFQN"] for label in labels if label.get("source") == source and not _is_derived(label))


def with_labels(transaction: Transaction, labels: list[Document], entity_type: str, cell: str) -> list[Document]:
    """Return the labels with those of one type replaced by what a cell names.

    Raises
    ------
    InvalidInput : there is no such tag or glossary term.
    """
    source = SOURCES[entity_type]
    old_labels = {
        label["tagFQN"]: label for label in labels if label.get("source") == source and not _is_derived(label)
    }
    cell_labels = [
        old_labels.get(name) or _label(transaction, entity_type, name) for name in dict.fromkeys(split_parts(cell))
    ]
    other_labels = [label for label in labels if label not in old_labels.values()]
    if entity_type == "glossaryTerm" and not cell_labels:
        other_labels = [
            label for label in other_labels if not _is_derived(label)
        ]  # nothing is left that they follow from
    return [*other_labels, *cell_labels]


def people_cell(references: Iterable[Document]) -> str:
    """Return owners or reviewers as ``user:jane;team:sales``."""
    return join_parts(f"{one['type']}:{one['name']}" for one in references if not one.get("inherited"))


def people(cell: str) -> list[Document]:
    """Return references to the people and teams that a cell names; ``user;jane`` is OpenMetadata's older way.

    Raises
    ------
    InvalidInput : a part of the cell names neither a user nor a team
    """
    references: list[Document] = []
    parts = iter(split_parts(cell))
    for part in parts:
        kind, colon, name = part.partition(":")
        if part in ("user", "team"):
            kind, name = part, next(parts, "")
        elif not colon or kind not in ("user", "team"):
            kind, name = "user", part
        if not name.strip():
            raise InvalidInput(f"{part!r} is not an owner; write user:jane or team:sales")
        references.append({"type": kind, "fullyQualifiedName": fqn.quote(name.strip())})
    return references


def extension_cell(extension: Document) -> str:
    """Return custom properties as ``name:value``; what is no plain text is written as JSON."""
    return join_parts(f"{key}:{_value_text(value)}" for key, value in extension.items())


def extension(cell: str) -> Document:
    """Return the custom properties that a cell names.

    Raises
    ------
    InvalidInput : a part of the cell has no value
    """
    properties: Document = {}
    for part in split_parts(cell):
        key, colon, text = part.partition(":")
        if not colon or not key.strip():
            raise InvalidInput(f"{part!r} is not a custom property; write name:value")
        properties[key.strip()] = _value(text)
    return properties


EXTENSION = SheetField(
    lambda document: extension_cell(document.get("extension") or {}),
    lambda _transaction, document, text: document.update(extension=extension(text)),
)
"""The field of the custom properties."""


def _quote(part: str) -> str:
    plain = part and part == part.strip() and ";" not in part and not part.startswith('"')
    return part if plain else '"' + part.replace('"', '""') + '"'


def _is_derived(label: Document) -> bool:
    return label.get("labelType") == _DERIVED


def _label(transaction: Transaction, entity_type: str, name: str) -> Document:
    reference = transaction.reference(entity_type, Key.by_name(name))
    if reference is None or reference.get("deleted"):
        raise InvalidInput(f"unknown {'tag' if entity_type == 'tag' else 'glossary term'} {name}")
    return {"tagFQN": reference["fullyQualifiedName"], **TAG_DEFAULTS, "source": SOURCES[entity_type]}


def _value_text(value: Any) -> str:  # Any: whatever a custom property holds
    if isinstance(value, str) and not _LOOKS_LIKE_JSON.match(value):
        return value
    return orjson.dumps(value).decode()


def _value(text: str) -> Any:  # Any: as above
    if not _LOOKS_LIKE_JSON.match(text):
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
