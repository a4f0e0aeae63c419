"""Subjects of entities whose visibility follows from another entity: a test's table, a query's tables.

Source: the document alone. ``store/catalogue/access/entity_states.py`` looks the subjects up. Next:
``access/decide.py``.
"""

from __future__ import annotations

from typing import Any

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_link import parse_link

ABOUT: dict[str, tuple[str, ...]] = {
    "testCase": ("table",),
    "testSuite": ("table",),
    "query": ("table", "dashboard", "pipeline", "storedProcedure"),
}
"""Every type whose entities are as visible as what they are about, and the types of that."""

FOUND = "aboutFound"
"""The key under which the document passed to policies holds its subjects: (type, document)."""


GONE: Document = {"goneForGood": True}
"""Placeholder for a hard-deleted table of a query: only people who see all tables see what was about it."""

GONE_KIND = "goneUse:"
"""As what it is attached to a query that it is gone, before its type."""


def gone_kinds(entity_type: str) -> dict[str, str]:
    """Return as what may be attached to an entity of this type that something it was about is gone, and its type."""
    return {f"{GONE_KIND}{one}": one for one in ABOUT[entity_type]} if entity_type == "query" else {}


def subject_references(entity_type: str, document: Document) -> list[Document]:
    """Return references to all that an entity is about: by id, or by the full name where it knows no other."""
    match entity_type:
        case "testCase":
            return _link_references(document.get("entityLink"))
        case "testSuite":
            return _references([document.get("basicEntityReference")])
        case "query":
            return _references(document.get("queryUsedIn"))
        case _:
            return []


def with_found(document: Document, subjects: list[tuple[str, Document]]) -> Document:
    """Return a document with its subjects, for policies."""
    return {**document, FOUND: subjects}


def _link_references(link: object) -> list[Document]:
    try:
        read = parse_link(link, "entityLink")
    except InvalidInput:
        return []
    return [{"type": read.entity_type, "fullyQualifiedName": read.fqn}]


def _references(references: Any) -> list[Document]:  # Any: whatever a document holds
    return [one for one in references or () if isinstance(one, dict) and one.get("type") and one.get("id")]
