"""Words for causes: what one run, one person's edits of neighbours, or one failure did, as a title.

Next: ``model/causes.py`` for what a cause is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from tocsin.delivery.lines import clean_line
from tocsin.model.causes import CauseFacts, CauseGroup, CauseKind, gather_causes, neighbourhood_of
from tocsin.model.change import ChangeEvent
from tocsin.model.entity_types import ENTITY_TYPES
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


def run_text(events: Iterable[ChangeEvent]) -> str:
    """Return the run that all of these events are of, and who says so: ``dbt run 7 by dbt: ``; empty for none."""
    groups = gather_causes(_facts_of(event, place) for place, event in enumerate(events))
    if len(groups) != 1 or groups[0].kind is not CauseKind.RUN:
        return ""
    key = groups[0].key
    return f"{clean_line(key.place)} by {clean_line(key.actor)}: "


def _facts_of(event: ChangeEvent, place: int) -> CauseFacts:
    about = (event.entity_type, event.entity_id, event.entity_fully_qualified_name)
    return CauseFacts(place, *about, event.user_name, True, event.reason, event.timestamp)


def _assets_text(group: CauseGroup, assets: Collection[str]) -> str:
    """Return how many assets of which type: ``3 tables``; of several types, ``3 assets``."""
    types = {facts.entity_type for facts in group.events}
    (kind,) = types if len(types) == 1 else ("asset",)
    row = ENTITY_TYPES.get(kind)
    return count_text(len(assets), in_words(kind), in_words(row.collection.rpartition("/")[2]) if row else None)
