"""What a change request announced of a change that was made, and how the two differ.

``flow/capture/announced.py`` finds it out when the change is written; the event keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.entity import Document, WireModel

NOT_ANNOUNCED = "not announced"


class ChangeOutcome(StrEnum):
    """How a change differs from its announcement."""

    AS_ANNOUNCED = "asAnnounced"
    EARLY = "early"
    """It was made before the date."""
    OTHERWISE = "otherwise"
    """Something else was announced."""
    OBJECTED = "objected"
    """A consumer objects."""


_WORDS = {
    ChangeOutcome.AS_ANNOUNCED: "as announced by {}",
    ChangeOutcome.EARLY: "earlier than {} announced",
    ChangeOutcome.OTHERWISE: "otherwise than {} announced",
    ChangeOutcome.OBJECTED: "despite an objection to {}",
}

OF_MEMBERS = frozenset({BreakingKind.FIELD_REMOVED, BreakingKind.TYPE_NARROWED, BreakingKind.SIZE_CUT})
"""Reasons about a column that a request about the column can announce."""

ANNOUNCEABLE = OF_MEMBERS | {BreakingKind.DELETED_WHILE_READ, BreakingKind.UNLIKE_ANNOUNCED}
_CONSEQUENCES = frozenset({BreakingKind.SCHEMA_INCOMPATIBLE, BreakingKind.KEY_CHANGED})
"""Reasons that follow from changes of columns: a schema as text, a key that names one."""


def outcome_in_words(outcome: ChangeOutcome, request: str) -> str:
    """Return how a change differs from what a request announced: ``earlier than CR-12 announced``."""
    return _WORDS[outcome].format(request)


class Announcement(WireModel):
    """A change that a request is about: its ``field`` (None: the asset), and the answers that were open then.

    ``renamed_to`` is the new name of a column that was renamed as announced.
    """

    request: str
    outcome: ChangeOutcome
    field: str | None = None
    open_answers: int = 0
    renamed_to: str | None = None

    def in_words(self) -> str:
        """Return it as a phrase."""
        return outcome_in_words(self.outcome, self.request)

    def as_json(self) -> Document:
        """Return it as JSON, with its words."""
        return self.to_wire() | {"text": self.in_words()}


def announcement_of(reason: BreakingReason, announcements: Sequence[Announcement]) -> Announcement | None:
    """Return what was announced of that which breaks readers; None: nothing."""
    if reason.kind not in ANNOUNCEABLE:
        return None
    return next((one for one in announcements if one.field == reason.field), None)


def is_consequence(
    reason: BreakingReason, reasons: Sequence[BreakingReason], announcements: Sequence[Announcement]
) -> bool:
    """Return whether a reason follows from others, all of which were announced."""
    if reason.kind not in _CONSEQUENCES or not announcements:
        return False
    fields = {one.field for one in announcements}
    return all(one.field in fields for one in reasons if one.kind in ANNOUNCEABLE)


def words_of_announcement(
    reason: BreakingReason, reasons: Sequence[BreakingReason], announcements: Sequence[Announcement] | None
) -> str:
    """Return how that which breaks readers was announced; empty where nobody looked, or it follows from the rest."""
    if announcements is None or is_consequence(reason, reasons, announcements):
        return ""
    announcement = announcement_of(reason, announcements)
    return NOT_ANNOUNCED if announcement is None else announcement.in_words()


def reasons_unannounced(
    reasons: Sequence[BreakingReason], announcements: Sequence[Announcement]
) -> list[BreakingReason]:
    """Return the reasons of a change that no request announced."""
    return [
        reason
        for reason in reasons
        if not announcement_of(reason, announcements) and not is_consequence(reason, reasons, announcements)
    ]
