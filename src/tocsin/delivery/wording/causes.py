"""Words for causes: what one run, one person's edits of neighbours, or one failure did, as a title.

Next: ``model/causes.py`` for what a cause is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tocsin.delivery.lines import clean_line
from tocsin.delivery.wording.reports import is_report
from tocsin.model.causes import (
    CauseFacts,
    CauseGroup,
    CauseKind,
    PlaceInCauses,
    gather_by_key,
    neighbourhood_of,
    place_in_causes,
)
from tocsin.model.change import ChangeEvent
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.message import Entry
from tocsin.model.phrases import count_text, in_words


class CauseActor(NamedTuple):
    """Who did what a cause is, and what they are called."""

    name: str
    display_name: str | None

    @property
    def in_words(self) -> str:
        """Return what people call them."""
        return clean_line(self.display_name or self.name)


def cause_title(group: CauseGroup, headline: str, actor: CauseActor | None) -> str:
    """Return a cause in words; ``headline`` is that of the event that leads it, and all that a single one says.

    A run always says who did it: what it is called is their claim.
    """
    count, assets = len(group.events), {facts.entity_id for facts in group.events}
    match group.kind:
        case CauseKind.FAILURE:
            return f"{headline}, {len(assets) - 1:,} more below it" if len(assets) > 1 else headline
        case CauseKind.RUN if count > 1:
            who = f" by {actor.in_words}" if actor is not None else ""
            changes = f"{count_text(count, 'change')} to {_assets_text(group, assets)}"
            return f"{clean_line(group.key.place)}: {changes}{who}"
        case CauseKind.SESSION if actor is not None:
            if len(assets) == 1:
                return f"{headline}, and {count_text(count - 1, 'more change')} by {actor.in_words}"
            place = clean_line(neighbourhood_of(group.events[0]))
            return f"{actor.in_words} changed {_assets_text(group, assets)} in {place}"
        case _:
            return headline


class EventCause(NamedTuple):
    """What one run or one actor's edits did, of the events of a message: who did it, and which events are of it."""

    kind: CauseKind
    place: str
    actor_name: str
    entries: tuple[Entry, ...]

    @property
    def in_words(self) -> str:
        """Return what did it, as a headline begins: ``dbt run 7 by dbt``, ``Ann in shop.public``."""
        actor = clean_line(self.actor_name)
        return (
            f"{clean_line(self.place)} by {actor}"
            if self.kind is CauseKind.RUN
            else f"{actor} in {clean_line(self.place)}"
        )


def causes_of_entries(entries: Sequence[Entry]) -> list[EventCause]:
    """Return the runs and edits that a message tells of, by the first event of each, with those in it as they came.

    An actor is told apart by their id: two may be called the same. A report is only of a run that it states.
    """
    in_log = sorted(entries, key=lambda entry: entry.log_offset)
    placed = [(place, entry) for entry in in_log if (place := entry.carried.remember(_place_of)) is not None]
    return [
        EventCause(key.kind, key.place, members[0].event.user_name or "", tuple(members))
        for key, members in gather_by_key(placed)
    ]


def only_cause(entries: Sequence[Entry], causes: Sequence[EventCause]) -> EventCause | None:
    """Return the run or edits that all that a message tells is of; None where it is of several, or of none."""
    return causes[0] if len(causes) == 1 and len(causes[0].entries) == len(entries) else None


def _place_of(event: ChangeEvent) -> PlaceInCauses | None:
    """Return what decides to which run or edits an event belongs; None if it can be of none."""
    about = (event.entity_type, event.entity_id, event.entity_fully_qualified_name)
    actor = f"{event.user_id or ''} {event.user_name}" if event.user_name else None
    place = place_in_causes(CauseFacts(0, *about, actor, True, event.reason, event.timestamp))
    is_of_cause = place.key.kind in (CauseKind.RUN, CauseKind.SESSION) and (event.reason or not is_report(event))
    return place if is_of_cause else None


def _assets_text(group: CauseGroup, assets: Collection[str]) -> str:
    """Return how many assets of which type: ``3 tables``; of several types, ``3 assets``."""
    types = {facts.entity_type for facts in group.events}
    (kind,) = types if len(types) == 1 else ("asset",)
    row = ENTITY_TYPES.get(kind)
    return count_text(len(assets), in_words(kind), in_words(row.collection.rpartition("/")[2]) if row else None)
