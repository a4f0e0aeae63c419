"""What surrounds failures as far as the readers of their messages may see it.

Next: ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tocsin.delivery.dispatch import Dispatch, FailureContext
from tocsin.model.message import Entry


class ReaderRights(Protocol):
    """What the readers of messages may see."""

    def names_seen(self, dispatch: Dispatch, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of these full names that a message may show."""

    def people_seen(self, dispatch: Dispatch, user_ids: Collection[str]) -> frozenset[str]:
        """Return the ids of those of these people whom a message may show."""


def visible_context(dispatch: Dispatch, context: FailureContext, rights: ReaderRights) -> FailureContext:
    """Return what surrounds the event of a message with what its readers may see."""
    return _visible_contexts(dispatch, {"": context}, rights)[""]


def visible_streaks(dispatch: Dispatch, rights: ReaderRights) -> Mapping[str, FailureContext]:
    """Return what surrounds the failures of a digest, by notification, with what their readers may see.

    Those that have the same readers are asked about together.
    """
    entries_by_readers: dict[Hashable, list[Entry]] = defaultdict(list)
    for entry in dispatch.entries:
        if entry.notification_id in dispatch.streaks:
            ways = frozenset((reason.kind, reason.subscription_id) for reason in entry.reasons)
            entries_by_readers[entry.recipient_id, ways].append(entry)
    streaks: dict[str, FailureContext] = {}
    for entries in entries_by_readers.values():
        contexts = {entry.notification_id: dispatch.streaks[entry.notification_id] for entry in entries}
        streaks |= _visible_contexts(replace(dispatch, entries=tuple(entries[:1])), contexts, rights)
    return streaks


def has_names(context: FailureContext) -> bool:
    """Return whether a message with this context names anything that its readers may have no right to see."""
    return bool(_names_in(context) or _people_in([context]))


def _visible_contexts(
    dispatch: Dispatch, contexts: Mapping[str, FailureContext], rights: ReaderRights
) -> dict[str, FailureContext]:
    """Return contexts, by any key, with what the readers of a message may see."""
    names = sorted({name for context in contexts.values() for name in _names_in(context)})
    user_ids = _people_in(contexts.values())
    visible_names = frozenset(rights.names_seen(dispatch, names)) if names else frozenset[str]()
    visible_people = rights.people_seen(dispatch, user_ids) if user_ids else frozenset[str]()
    return {key: _with_visible(context, visible_names, visible_people) for key, context in contexts.items()}


def _names_in(context: FailureContext) -> list[str]:
    """Return the full names of what a message with this context names, but for people."""
    upstream = (name for cause in context.causes for name in (cause.failing, cause.asset))
    definitions = (context.runbook.definition,) if context.runbook else ()
    return [*context.downstream, *upstream, *definitions]


def _people_in(contexts: Collection[FailureContext]) -> set[str]:
    """Return who acknowledged the incidents of these and has a display name, and whom else they were told to."""
    incidents = (context.incident for context in contexts)
    told_ids = {user_id for context in contexts if context.audience for user_id in context.audience.ids}
    return told_ids | {one.acknowledger_id for one in incidents if one and one.acknowledger and one.acknowledger_id}


def _with_visible(
    context: FailureContext, visible_names: frozenset[str], visible_people: frozenset[str]
) -> FailureContext:
    """Return a context with only what these names belong to, and the names of these people."""
    audience, runbook, incident = context.audience, context.runbook, context.incident
    if incident and incident.acknowledger and incident.acknowledger_id not in visible_people:
        incident = incident.without_display_name()
    return replace(
        context,
        downstream=tuple(name for name in context.downstream if name in visible_names),
        causes=tuple(one for one in context.causes if one.failing in visible_names and one.asset in visible_names),
        audience=audience and audience.among(visible_people),
        runbook=runbook if runbook and runbook.definition in visible_names else None,
        incident=incident,
    )
