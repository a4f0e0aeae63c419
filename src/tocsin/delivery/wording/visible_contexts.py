"""What surrounds failures as far as the readers of their messages may see it.

Next: ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import replace

from tocsin.delivery.dispatch import Dispatch, FailureContext, FailureIncident
from tocsin.model import fqn
from tocsin.model.message import Entry

NamesSeen = Callable[[Dispatch, Sequence[str]], tuple[str, ...]]
"""Returns those of these full names that a message may show."""


def visible_context(dispatch: Dispatch, context: FailureContext, names_seen: NamesSeen) -> FailureContext:
    """Return what surrounds the event of a message with what its readers may see."""
    return _with_names(context, frozenset(names_seen(dispatch, names_in(context))))


def visible_streaks(dispatch: Dispatch, names_seen: NamesSeen) -> Mapping[str, FailureContext]:
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
        names = sorted({name for context in contexts.values() for name in names_in(context)})
        visible_names = frozenset(names_seen(replace(dispatch, entries=tuple(entries[:1])), names))
        streaks |= {identity: _with_names(context, visible_names) for identity, context in contexts.items()}
    return streaks


def names_in(context: FailureContext) -> list[str]:
    """Return the full names of what a message with this context names."""
    upstream = (name for cause in context.causes for name in (cause.failing, cause.asset))
    people = context.audience.names if context.audience else ()
    definitions = (context.runbook.definition,) if context.runbook else ()
    incident = context.incident
    acknowledger = (_full_name_in(incident),) if incident and incident.acknowledger else ()
    return [*context.downstream, *people, *upstream, *definitions, *acknowledger]


def _with_names(context: FailureContext, visible_names: Container[str]) -> FailureContext:
    """Return a context with that only which these names belong to."""
    audience, runbook, incident = context.audience, context.runbook, context.incident
    if incident and incident.acknowledger and _full_name_in(incident) not in visible_names:
        incident = incident.without_display_name()
    return replace(
        context,
        downstream=tuple(name for name in context.downstream if name in visible_names),
        causes=tuple(one for one in context.causes if one.failing in visible_names and one.asset in visible_names),
        audience=audience and audience._replace(names=tuple(name for name in audience.names if name in visible_names)),
        runbook=runbook if runbook and runbook.definition in visible_names else None,
        incident=incident,
    )


def _full_name_in(incident: FailureIncident) -> str:
    """Return the full name of who acknowledged an incident."""
    return fqn.quote(incident.acknowledged_by or "")
