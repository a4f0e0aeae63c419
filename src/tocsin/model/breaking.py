"""Reasons why a change breaks who reads an asset, and their words.

``conditions/breaking.py`` finds them in a change.
"""

from __future__ import annotations

import re
from enum import StrEnum

from tocsin.model import fqn
from tocsin.model.entity import Document, WireModel
from tocsin.model.phrases import in_words


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

HOLDERS = SIDES | {"messageSchema": "the messages", "dataModel": "the data model"}
"""What people call that which holds the columns or fields of an asset, by the keys of its schemas."""

_NOUNS = {"columns": "column", "schemaFields": "field", "fields": "field", "mlFeatures": "feature"}
_MADE_OF_WORDS = SCHEMAS | {"tableConstraints": "constraint"}
_KEYS_IN_WORDS = {"NOT_NULL": "NOT NULL", "PRIMARY_KEY": "PRIMARY KEY"}
_KEY_NAME = re.compile(rf"(?:^|(?<=, ))(?:{'|'.join(_KEYS_IN_WORDS)})(?= \(|, |$)")
_LONGEST_INLINE = 60
"""Most characters of values that stand in a sentence without a colon before them."""

_PHRASES = {
    BreakingKind.SCHEMA_INCOMPATIBLE: "{} incompatible",
    BreakingKind.SIGNATURE_CHANGED: "signature changed",
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
        """Return the reason as a phrase, as messages say the change: ``column status VARCHAR(20) → INT``."""
        subject = name_of(self.field or "")
        match self.kind:
            case BreakingKind.FIELD_REMOVED:
                return self._removal_in_words(subject)
            case BreakingKind.TYPE_NARROWED | BreakingKind.SIZE_CUT:
                return f"{subject} {self.before or '?'} → {self.after or '?'}"
            case BreakingKind.NOT_NULL_ADDED:
                return constraint_phrase(subject, None, "NOT_NULL")
            case BreakingKind.KEY_CHANGED:
                return constraint_phrase(subject, self.before, self.after)
            case BreakingKind.VALUE_CHANGED:
                return self._value_in_words(subject)
            case BreakingKind.UNLIKE_ANNOUNCED:
                return f"{self._event_in_words(subject)} {self.after}"
        values = " → ".join(one for one in (self.before, self.after) if one is not None)
        return self._event_in_words(subject) + (f": {values}" if values else "")

    def as_json(self) -> Document:
        """Return the reason as JSON, with its words."""
        return self.to_wire() | {"text": self.in_words()}

    def _event_in_words(self, subject: str) -> str:
        return _PHRASES[self.kind].format(subject).lstrip()

    def _removal_in_words(self, subject: str) -> str:
        noun, names, holder = member_in(self.field or "")
        if not names:
            return f"{subject} removed" if self.before is None else f"{subject} removed: was {self.before}"
        kind = "" if self.before is None else f" {self.before}"
        holder = holder if len(names) == 1 else f"{noun} {'.'.join(names[:-1])}"
        return f"{noun} {names[-1]}{kind} removed{f' from {holder}' if holder else ''}"

    def _value_in_words(self, subject: str) -> str:
        if self.before is None or self.after is None:
            return f"{subject} changed"
        is_short = max(len(self.before), len(self.after)) <= _LONGEST_INLINE
        return f"{subject}{'' if is_short else ' changed:'} {self.before} → {self.after}"


def member_in(path: str) -> tuple[str, tuple[str, ...], str]:
    """Return the noun of a column or field at a path, its names from the outermost, and what holds it.

    ``("field", ("amount",), "the request")``; no names for a path that leads to something else.
    """
    steps = fqn.steps_of(path)
    holder = ""
    if steps[0] in SCHEMAS and len(steps) > 1:
        holder, steps = HOLDERS[steps[0]], steps[1:]
    if len(steps) > 1 and steps[0] in _NOUNS:
        return _NOUNS[steps[0]], tuple(steps[1::2]), holder
    return "", (), holder


def name_of(path: str) -> str:
    """Return what people call what is at a path: ``column address.zip``, ``field amount of the request``."""
    noun, names, holder = member_in(path)
    if names:
        return f"{noun} {'.'.join(names)}" + (f" of {holder}" if holder in SIDES.values() else "")
    head = path.partition(".")[0]
    return _MADE_OF_WORDS.get(head) or in_words(path.replace(".", " "))


def constraint_phrase(subject: str, before: str | None, after: str | None) -> str:
    """Return how the constraints of a column, or of a table, ``constraint``, changed: ``column id made NOT NULL``."""
    old, new = (None if one is None else constraint_name(one) for one in (before, after))
    lead = subject if subject == _MADE_OF_WORDS["tableConstraints"] else f"constraint of {subject}"
    if after == "NOT_NULL" and before in (None, "NULL"):
        return f"{subject} made NOT NULL"
    if old is not None and new is not None:
        return f"{lead} {old} → {new}"
    verb, towards = ("added", "to") if old is None else ("removed", "from")
    if new is None and old is None:
        return f"{lead} changed"
    place = "" if lead == subject else f" {towards} {subject}"
    return f"constraint {old or new} {verb}{place}"


def constraint_name(text: str) -> str:
    """Return constraints as SQL writes them: ``PRIMARY KEY (id)`` for ``PRIMARY_KEY (id)``."""
    return _KEY_NAME.sub(lambda match: _KEYS_IN_WORDS[match[0]], text)


def list_in_words(reasons: tuple[BreakingReason, ...]) -> list[str]:
    """Return each reason as a phrase."""
    return [reason.in_words() for reason in reasons]
