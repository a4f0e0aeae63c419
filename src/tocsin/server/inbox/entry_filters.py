"""Filters of an inbox on what its reader may see of entries: what is hidden from them finds nothing.

Next: ``server/access/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tocsin.access.visibility import subjects_of
from tocsin.conditions.event_kinds import kinds_of
from tocsin.conditions.fields import derive
from tocsin.delivery.wording.changes import event_text
from tocsin.errors import InvalidInput
from tocsin.model.causes import parse_token
from tocsin.model.change import ChangeEvent
from tocsin.model.inbox_filter import FILTER_KINDS, EntryFilter
from tocsin.store.outbox.inbox import InboxEntry


def check_filter(entry_filter: EntryFilter) -> None:
    """Refuse a filter by kinds or a cause that there are not.

    Raises
    ------
    InvalidInput : a kind is none, or none that an entry shows; a cause is none
    """
    if entry_filter.cause is not None and parse_token(entry_filter.cause) is None:
        raise InvalidInput("no id of a cause: the list of causes has them", field="cause")
    if unknown := [kind for kind in entry_filter.kinds if kind not in FILTER_KINDS]:
        raise InvalidInput(f"unknown: {', '.join(unknown)}; there are {', '.join(FILTER_KINDS)}", field="kind")


def is_match(
    entry: InboxEntry, entry_filter: EntryFilter, subjects: Mapping[str, str], named_event: ChangeEvent | None = None
) -> bool:
    """Return whether an entry, as its reader sees it, matches.

    ``subjects`` are the assets of tests and threads; ``named_event`` is its event with the display names of people,
    which words find as they find the names of who acts.
    """
    event = entry.event
    return (
        (entry_filter.asset is None or str(entry_filter.asset) in _assets_of(event, subjects))
        and (entry_filter.actor is None or event.user_name == entry_filter.actor)
        and (entry_filter.start_ms is None or event.timestamp >= entry_filter.start_ms)
        and (entry_filter.end_ms is None or event.timestamp <= entry_filter.end_ms)
        and _has_reasons(entry, entry_filter)
        and (not entry_filter.kinds or bool(shown_kinds(event).intersection(entry_filter.kinds)))
        and (not entry_filter.words or _says(entry, named_event or entry.event, entry_filter.words))
    )


def _assets_of(event: ChangeEvent, subjects: Mapping[str, str]) -> set[str]:
    ids = {str(reference.get("id")) for reference in subjects_of(event)}
    return ids | {subjects[one] for one in (*ids, event.entity_id) if one in subjects}


def _has_reasons(entry: InboxEntry, entry_filter: EntryFilter) -> bool:
    alert = None if entry_filter.alert is None else str(entry_filter.alert)
    return (alert is None or any(reason.subscription_id == alert for reason in entry.reasons)) and (
        not entry_filter.reasons or any(reason.kind in entry_filter.reasons for reason in entry.reasons)
    )


def shown_kinds(event: ChangeEvent) -> set[str]:
    """Return the kinds of what is shown of an event: a part that is hidden gives it none."""
    return {kind.kind for kind in kinds_of(event.event_type, derive(event, actor_is_bot=False))}


def _says(entry: InboxEntry, named_event: ChangeEvent, words: str) -> bool:
    """Return whether an entry, as it is shown, holds these words; names for commands count beside display names."""
    events = (named_event,) if named_event == entry.event else (named_event, entry.event)
    texts = [event_text(event, entry.reasons, reader_id=entry.recipient_id) for event in events]
    lines = [line for text in texts for line in (text.headline, *(one.sentence for one in text.lines))]
    names = [entry.event.entity_fully_qualified_name or "", *(event.user_name or "" for event in events)]
    searched_text = "\n".join((*lines, *names)).casefold()
    return all(word in searched_text for word in words.casefold().split())
