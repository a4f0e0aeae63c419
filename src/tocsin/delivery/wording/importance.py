"""Importance of notifications in one message: what each counts as, the most important first.

What broke or failed comes before what is announced, then what was deleted, what is well again, what was added, and the
rest. Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum

from tocsin.delivery.wording.assets import type_text
from tocsin.delivery.wording.change_requests import is_change_ahead, is_objection
from tocsin.delivery.wording.tones import Tone, is_still_failing, tone_of
from tocsin.model.change import STILL_WITHOUT_OWNER, ChangeEvent, EventType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import Entry
from tocsin.model.phrases import in_words


class ToldKind(IntEnum):
    """What a digest counts its notifications as, the most important first."""

    FAILURE = 1
    STILL_FAILING = 2
    BREAKING = 3
    OBJECTION = 4
    ANNOUNCED = 5
    WARNING = 6
    WITHOUT_OWNER = 7
    DELETION = 8
    RECOVERY = 9
    ANSWER = 10
    ADDITION = 11
    CHANGE = 12

    @property
    def noun(self) -> tuple[str, str]:
        """Return what one is called, and what several are."""
        return _NOUNS[self]

    @property
    def title(self) -> str:
        """Return what stands above those of this kind."""
        return _TITLES[self]


_NOUNS = {
    ToldKind.FAILURE: ("failure", "failures"),
    ToldKind.STILL_FAILING: ("still failing", "still failing"),
    ToldKind.BREAKING: ("breaking change", "breaking changes"),
    ToldKind.OBJECTION: ("objection", "objections"),
    ToldKind.ANNOUNCED: ("announced change", "announced changes"),
    ToldKind.WARNING: ("warning", "warnings"),
    ToldKind.WITHOUT_OWNER: ("asset without owner", "assets without owner"),
    ToldKind.DELETION: ("deletion", "deletions"),
    ToldKind.RECOVERY: ("recovery", "recoveries"),
    ToldKind.ANSWER: ("answer", "answers"),
    ToldKind.ADDITION: ("addition", "additions"),
    ToldKind.CHANGE: ("change", "changes"),
}
_TITLES = {
    ToldKind.FAILURE: "Failed",
    ToldKind.STILL_FAILING: "Still failing",
    ToldKind.BREAKING: "Breaking",
    ToldKind.OBJECTION: "Objections",
    ToldKind.ANNOUNCED: "Announced",
    ToldKind.WARNING: "Needs attention",
    ToldKind.WITHOUT_OWNER: "Without owner",
    ToldKind.DELETION: "Deleted",
    ToldKind.RECOVERY: "Well again",
    ToldKind.ANSWER: "Answers",
    ToldKind.ADDITION: "Added",
    ToldKind.CHANGE: "Changed",
}
_OF_TONES = {Tone.FAILED: ToldKind.FAILURE, Tone.ATTENTION: ToldKind.WARNING, Tone.WELL: ToldKind.RECOVERY}
_OF_TYPES = {
    EventType.ENTITY_SOFT_DELETED: ToldKind.DELETION,
    EventType.ENTITY_DELETED: ToldKind.DELETION,
    EventType.ENTITY_CREATED: ToldKind.ADDITION,
}


def sort_entries(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return notifications by importance; of each kind those of one asset together, as they came."""
    places: dict[tuple[ToldKind, str], int] = {}
    keyed = [((kind_of(entry), entry.event.entity_id), entry) for entry in entries]
    for place, (key, _) in enumerate(keyed):
        places.setdefault(key, place)
    return tuple(entry for key, entry in sorted(keyed, key=lambda pair: (pair[0][0], places[pair[0]])))


def kind_of(entry: Entry) -> ToldKind:
    """Return what a notification is counted as, worded once for all messages that carry the event."""
    return entry.carried.remember(_kind_counted)


def nouns_of(entries: Collection[Entry]) -> dict[ToldKind, tuple[str, str]]:
    """Return the kinds of notifications with what one is called, and what several are: ``tables without owner``."""
    nouns = {kind: kind.noun for kind in map(kind_of, entries)}
    if ToldKind.WITHOUT_OWNER in nouns:
        types = {entry.event.entity_type for entry in entries if kind_of(entry) is ToldKind.WITHOUT_OWNER}
        row = ENTITY_TYPES.get(next(iter(types))) if len(types) == 1 else None
        if row is not None:
            plural = in_words(row.collection.rpartition("/")[2])
            nouns[ToldKind.WITHOUT_OWNER] = (f"{type_text(*types)} without owner", f"{plural} without owner")
    return nouns


def _kind_counted(event: ChangeEvent) -> ToldKind:
    if is_still_failing(event):
        return ToldKind.STILL_FAILING
    if event.breaking_reasons:
        return ToldKind.BREAKING
    if event.event_type is EventType.CHANGE_REQUEST_ANSWERED:
        return ToldKind.OBJECTION if is_objection(event) else ToldKind.ANSWER
    if is_change_ahead(event):
        return ToldKind.ANNOUNCED
    if event.change_description and set(event.change_description.paths()) == {STILL_WITHOUT_OWNER}:
        return ToldKind.WITHOUT_OWNER
    tone = tone_of(event)
    if tone is not Tone.NEUTRAL:
        return _OF_TONES[tone]
    return _OF_TYPES.get(event.event_type, ToldKind.CHANGE)
