"""Notifications of one cause in a digest, together: among those that matter alike, so that importance comes first.

What is alone comes before them, and a line above says what did how much: ``dbt run 7 by dbt: 13 changes of 6 assets``.
Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tocsin.delivery.wording.causes import EventCause
from tocsin.delivery.wording.importance import ToldKind, kind_of, nouns_of
from tocsin.model.message import Entry
from tocsin.model.phrases import count_text


class CauseGroups(NamedTuple):
    """Notifications in the order in which a digest shows them, with what stands above those of one cause.

    ``headings`` are by notification, the same for all of a group.
    """

    entries: tuple[Entry, ...]
    headings: dict[str, str]


def group_by_cause(entries: Sequence[Entry], causes: Sequence[EventCause]) -> CauseGroups:
    """Return notifications that are sorted by importance, of each kind those of one cause together, after the others.

    ``causes`` are what ``causes_of_entries`` makes of them. Where all are of one cause, the headline of the message
    says which, and they stay as they are.
    """
    if len(causes) == 1 and len(causes[0].entries) == len(entries):
        return CauseGroups(tuple(entries), {})
    places: dict[str, int] = {}
    headings: dict[str, str] = {}
    for place, cause in enumerate(causes, start=1):
        if len(cause.entries) < 2:
            continue
        by_kind: dict[ToldKind, list[Entry]] = defaultdict(list)
        for entry in cause.entries:
            by_kind[kind_of(entry)].append(entry)
        for kind, members in by_kind.items():
            if len(members) > 1:
                heading = f"{cause.in_words}: {_counts_text(kind, members)}"
                headings |= {entry.notification_id: heading for entry in members}
                places |= {entry.notification_id: place for entry in members}
    if not headings:
        return CauseGroups(tuple(entries), {})
    order = sorted(entries, key=lambda entry: (kind_of(entry), places.get(entry.notification_id, 0)))
    return CauseGroups(tuple(order), headings)


def _counts_text(kind: ToldKind, entries: Sequence[Entry]) -> str:
    count, assets = sum(entry.told_count for entry in entries), {entry.event.entity_id for entry in entries}
    return f"{count_text(count, *nouns_of(entries)[kind])} of {count_text(len(assets), 'asset')}"
