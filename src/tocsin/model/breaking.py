"""Reasons why a change breaks who reads an asset, and their words.

``conditions/breaking.py`` finds them in a change.
"""

from __future__ import annotations

from enum import StrEnum

from tocsin.model import fqn
from tocsin.model.entity import Document, WireModel


class BreakingKind(StrEnum):
    """What breaks who reads an asset."""

    FIELD_REMOVED = "fieldRemoved"
    TYPE_NARROWED = "typeNarrowed"
    SIZE_CUT = "sizeCut"
    NOT_NULL_ADDED = "notNullAdded"
    KEY_CHANGED = "keyChanged"
    SCHEMA_INCOMPATIBLE = "schemaIncompatible"
    SIGNATURE_CHANGED = "signatureChanged"
    VALUE_CHANGED = "valueChanged"
    DELETED_WHILE_READ = "deletedWhileRead"
    UNLIKE_ANNOUNCED = "unlikeAnnounced"
    """What a change request announced happened early, otherwise or despite an objection, and breaks no rule beside."""


SCHEMAS = {
    "messageSchema": "schema of the messages",
    "requestSchema": "schema of the request",
    "responseSchema": "schema of the response",
    "dataModel": "data model",
}
"""What people call the parts of an asset that hold its columns or fields."""

SIDES = {"requestSchema": "the request", "responseSchema": "the response"}
"""What people call the sides of an API, which may have fields of the same names, by the keys of their schemas."""

_COLUMN_LISTS = ("columns",)
_FIELD_LISTS = ("schemaFields", "fields")
_MADE_OF_WORDS = SCHEMAS | {"tableConstraints": "primary or unique key"}


_PHRASES = {
    BreakingKind.FIELD_REMOVED: "{} removed",
    BreakingKind.TYPE_NARROWED: "{} narrowed",
    BreakingKind.SIZE_CUT: "{} shortened",
    BreakingKind.NOT_NULL_ADDED: "{} made NOT NULL",
    BreakingKind.KEY_CHANGED: "{} changed",
    BreakingKind.SCHEMA_INCOMPATIBLE: "{} incompatible",
    BreakingKind.SIGNATURE_CHANGED: "signature changed",
    BreakingKind.VALUE_CHANGED: "{} changed",
    BreakingKind.DELETED_WHILE_READ: "deleted while something reads it",
    BreakingKind.UNLIKE_ANNOUNCED: "{} changed",
}


class BreakingReason(WireModel):
    """One reason: its kind, the path of what it is about (``columns.email``), and how that was and is, in words."""

    kind: BreakingKind
    field: str | None = None
    before: str | None = None
    after: str | None = None

    def in_words(self) -> str:
        """Return the reason as a phrase, such as ``column status narrowed: VARCHAR(20) → INT``."""
        return f"{self._event_in_words()}{self._values_in_words()}"

    def as_json(self) -> Document:
        """Return the reason as JSON, with its words."""
        return self.to_wire() | {"text": self.in_words()}

    def _event_in_words(self) -> str:
        subject = name_of(self.field or "")
        if self.kind is BreakingKind.KEY_CHANGED and self.field != "tableConstraints":
            return f"primary or unique key changed at {subject}"
        if self.kind is BreakingKind.SIZE_CUT and "," in (self.after or ""):
            return f"{subject} holds less"  # of two numbers, either may be what makes it smaller
        return _PHRASES[self.kind].format(subject).lstrip()

    def _values_in_words(self) -> str:
        if self.kind is BreakingKind.UNLIKE_ANNOUNCED:
            return f" {self.after}"
        if self.before is not None and self.after is not None:
            return f": {self.before} → {self.after}"
        if self.kind is BreakingKind.FIELD_REMOVED:
            return "" if self.before is None else f" ({self.before})"
        if self.before is not None:
            return f": {self.before} removed"
        return "" if self.after is None else f": {self.after}"


def name_of(path: str) -> str:
    """Return what people call what is at a path: ``column address.zip``, ``field amount of the request``."""
    steps = fqn.steps_of(path)
    around = ""
    if steps[0] in _MADE_OF_WORDS and len(steps) > 1:
        side, steps = SIDES.get(steps[0]), steps[1:]
        around = f" of {side}" if side else ""
    if len(steps) > 1 and steps[0] in (*_COLUMN_LISTS, *_FIELD_LISTS):
        noun = "column" if steps[0] in _COLUMN_LISTS else "field"
        return f"{noun} {fqn.join(steps[1::2])}{around}"
    return _MADE_OF_WORDS.get(path.partition(".")[0], path)


def list_in_words(reasons: tuple[BreakingReason, ...]) -> list[str]:
    """Return each reason as a phrase."""
    return [reason.in_words() for reason in reasons]
