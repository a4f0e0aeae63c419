"""Text of what surrounds an event for recipients: how bad it is, since when, what lies downstream, what is to be done.

Next: ``delivery/wording/changes.py``.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Iterator

from tocsin.conditions.documents import TIER_PREFIX, tag_names
from tocsin.delivery.dispatch import FailureContext, FailureIncident, ToldPeople
from tocsin.delivery.lines import (
    ADVICE,
    SHOWN_LIMIT,
    UTC,
    YOU,
    ChangeLine,
    Rank,
    advice_line,
    clean_line,
    moment_text,
)
from tocsin.delivery.wording.facts import fact_lines, moment_lines, names_text
from tocsin.delivery.wording.failing_rows import failing_row_lines
from tocsin.delivery.wording.incidents import (
    INCIDENT,
    INCIDENT_LABEL,
    assigned_incident,
    handling_advice,
    tells_of_incident,
    tells_of_open_incident,
)
from tocsin.delivery.wording.reports import (
    is_failure_report,
    is_recovery,
    is_reminder,
    last_failure_lines,
    span_text,
)
from tocsin.model import fqn
from tocsin.model.change import (
    ALERT_INCIDENT,
    INCIDENT_REMINDER,
    SILENCE,
    STILL_FAILING,
    STILL_STALE,
    STILL_WITHOUT_OWNER,
    SUITE_SUMMARY,
    ChangeDescription,
    ChangeEvent,
    EventType,
)
from tocsin.model.phrases import count_text
from tocsin.model.status import STANDINGS, says_deprecated

_FAILING_SINCE, _FAILED_FOR, _FAILED = STREAKS = ("failing since", "failed for", "failed")
"""Labels of since when something fails, for how long it did, or how often in a row."""

_DELETIONS = frozenset({EventType.ENTITY_SOFT_DELETED, EventType.ENTITY_DELETED})
_STATES = frozenset({SILENCE, STILL_FAILING, STILL_STALE})
"""Fields that say in which bad state an asset is or stays."""

_TIERS = {"Tier1": "1, the highest", **{f"Tier{number}": str(number) for number in range(2, 6)}}
_LOOK = "find out whether it still runs, and why nothing has succeeded"
REPAIR_ADVICE = "repair it"
ENDED_ADVICE = "nothing: it is well again"
_OVER_ADVICE = "nothing: its incident is resolved"
FAILURE_ADVICE = f"{REPAIR_ADVICE}, or acknowledge its incident, so that others know who is looking into it"
"""What helps against a failure whose incident is open, and nobody has acknowledged."""

_NO_READER = "none that may be named here"
"""What lies downstream of a breaking change, or of a failure that nothing else rates, as far as its message may say."""

_BETWEEN_ADVICE = "; "
_ADVICE = {
    SILENCE: _LOOK,
    STILL_STALE: _LOOK,
    STILL_WITHOUT_OWNER: "give it an owner, who is told what happens to it",
}
"""What helps an asset in a state, by the field that says so."""

_OF_FAILED_SUITE = "open the tests that fail, and repair what they found"
_FATES = {
    EventType.ENTITY_SOFT_DELETED: (
        "it can be restored until it is deleted permanently",
        "it can be restored, with all below it, until it is deleted permanently",
        "restore it if that was a mistake",
    ),
    EventType.ENTITY_DELETED: (
        "it cannot be restored",
        "neither it nor what was below it can be restored",
        "create it anew if it is still needed",
    ),
}
"""What follows from a deletion, for an entity alone and for one with others below it, and what helps."""


def is_deletion(event: ChangeEvent) -> bool:
    """Return whether the event tells that an asset was deleted."""
    return event.event_type in _DELETIONS


def is_deprecation(event: ChangeEvent) -> bool:
    """Return whether the event tells that an asset was deprecated."""
    described = event.change_description
    changes = (*described.fields_added, *described.fields_updated) if described else ()
    return any(says_deprecated(change.new_value) for change in changes if change.name in STANDINGS)


def tells_of_failure(event: ChangeEvent) -> bool:
    """Return whether the event tells of a failure, of its end, or reminds of it."""
    return is_failure_report(event) or is_recovery(event) or is_reminder(event)


def has_surroundings(event: ChangeEvent) -> bool:
    """Return whether a message about the event says what surrounds it: an incident, what lies downstream."""
    if event.breaking_reasons or is_deletion(event) or tells_of_failure(event):
        return True
    return is_deprecation(event) or tells_of_incident(event) or not _paths_of(event).isdisjoint({*_STATES, INCIDENT})


def surrounding_lines(
    event: ChangeEvent, context: FailureContext | None, zone: str, *, said_ms: Container[int] = ()
) -> Iterator[ChangeLine]:
    """Yield how bad it is what an event tells: the tier of its asset, its incident, and what lies downstream.

    The times ``said_ms`` are not said again.
    """
    rank = _rank_of(event)
    if rank is None:
        return
    tiers = [one for one in tag_names((event.entity or {}).get("tags")) if one.startswith(TIER_PREFIX)]
    for tier in () if is_recovery(event) else tiers:
        name = tier.removeprefix(TIER_PREFIX)
        yield ChangeLine(_TIERS.get(name) or clean_line(name), rank=rank, label="tier")
    paths = _paths_of(event)
    if is_reminder(event) or STILL_FAILING in paths or tells_of_open_incident(event):
        yield from last_failure_lines(event.entity or {})
    if context is None:
        return
    if tells_of_failure(event):
        yield from failure_lines(context, zone, said_ms=said_ms, is_rated=bool(tiers))
        return
    if context.since_ms is not None and tells_of_open_incident(event):
        since = moment_text(context.since_ms, zone)
        yield from fact_lines(_FAILING_SINCE, since, (since, context.since_ms))
    if context.incident and ALERT_INCIDENT not in paths:  # such an event says itself which and how bad it is
        yield from fact_lines(INCIDENT_LABEL, incident_text(context.incident))
    if INCIDENT not in paths:
        is_breaking = bool(event.breaking_reasons) and not is_deletion(event)
        yield from downstream_lines(context, rank, instead=_NO_READER if is_breaking else "")


def advice_lines(
    event: ChangeEvent, described: ChangeDescription | None, context: FailureContext | None
) -> Iterator[ChangeLine]:
    """Yield what follows from a deletion, and what is to be done about an event, where that is always the same.

    ``described`` are its changes as its reader is told them. It is advised to acknowledge an incident only where it is
    known to be open; a failure is always advised to be repaired, unless another person looks into it.
    """
    if fate := _FATES.get(event.event_type):
        follows, follows_below, advice = fate
        follows = follows_below if event.below_count else follows
        yield ChangeLine(follows, rank=Rank.DELETED, label="what follows")
        yield advice_line(advice)
        return
    if handover := assigned_incident(described):
        resolving = f"tocsin incidents resolve {handover.name}" if handover.name else ""
        by_other = f"{handover.assignee} is to look into it and resolve it"
        advice = "repair it, then resolve its incident" if handover.is_to_reader else by_other
        yield advice_line(f"{advice}: {resolving}" if resolving else advice, resolving)
        return
    if handling := handling_advice(event, described):
        yield advice_line(*handling)
        return
    paths, command = _paths_of(event), _impact_command(event)
    is_failing = is_failure_report(event) or not paths.isdisjoint({STILL_FAILING, INCIDENT_REMINDER})
    texts = [text for path, text in _ADVICE.items() if path in paths and not (is_failing and text is _LOOK)]
    if SUITE_SUMMARY in paths and is_failure_report(event):
        texts.append(_OF_FAILED_SUITE)
    elif is_failing:
        texts.insert(0, _advice_on_failure(context.incident if context else None))
    if event.breaking_reasons:
        texts.append(f"see who reads what changed: {command}")
    elif is_deprecation(event):
        texts.append(f"see who reads it, and move them elsewhere: {command}")
    if texts:
        yield advice_line(_BETWEEN_ADVICE.join(texts), command if command in texts[-1] else "")


def _impact_command(event: ChangeEvent) -> str:
    """Return what shows who reads what changed: of a deprecated asset all that reads it, so its name says enough."""
    name = event.entity_fully_qualified_name or ""
    is_named = is_deprecation(event) and not event.breaking_reasons and 0 < len(name) <= SHOWN_LIMIT
    return f"tocsin impact {clean_line(shlex.quote(name), limit=2 * SHOWN_LIMIT) if is_named else event.id}"


def _advice_on_failure(incident: FailureIncident | None) -> str:
    """Return what helps against a failure: to repair it, unless another person does that or it is over."""
    if incident is None or incident.is_resolved:
        return REPAIR_ADVICE
    if incident.is_over:
        return _OVER_ADVICE
    if not incident.is_handled:
        return FAILURE_ADVICE
    acknowledger = incident.acknowledger or incident.acknowledged_by
    return REPAIR_ADVICE if acknowledger == YOU else f"nothing: {acknowledger} is looking into it"


def with_failure_advice(lines: Iterable[ChangeLine], advice: str) -> Iterator[ChangeLine]:
    """Yield lines with other advice against a failure; empty: a button or a runbook gives it."""
    for line in lines:
        replaced_advice = next((one for one in (FAILURE_ADVICE, REPAIR_ADVICE) if _begins_with(line, one)), None)
        if replaced_advice is None:
            yield line
        elif text := f"{advice}{line.text.removeprefix(replaced_advice)}".removeprefix(_BETWEEN_ADVICE):
            yield line._replace(text=text)


def _begins_with(line: ChangeLine, advice: str) -> bool:
    return line.label == ADVICE and (line.text == advice or line.text.startswith(f"{advice}{_BETWEEN_ADVICE}"))


def _rank_of(event: ChangeEvent) -> Rank | None:
    """Return behind which lines of an event stands what surrounds it; None where nothing does."""
    if not has_surroundings(event):
        return None
    if is_deletion(event):
        return Rank.DELETED
    if event.breaking_reasons:
        return Rank.BREAKING
    return Rank.REMOVED if is_deprecation(event) else Rank.REPORTED


def _paths_of(event: ChangeEvent) -> frozenset[str]:
    return frozenset(event.change_description.paths()) if event.change_description else frozenset()


def failure_lines(
    context: FailureContext, zone: str = UTC, *, said_ms: Container[int] = (), is_rated: bool = False
) -> Iterator[ChangeLine]:
    """Yield since when something fails or has failed, its last success, its incident, and what lies downstream.

    That nothing does is said where neither a tier (``is_rated``) nor a severity says how bad the failure is.
    """
    if context.failing_rows is not None:
        yield from failing_row_lines(context.failing_rows)
    if context.usual_ms is not None:
        yield ChangeLine(span_text(context.usual_ms), rank=Rank.REPORTED, label="usually takes")
    if context.since_ms is not None:
        since = moment_text(context.since_ms, zone), context.since_ms
        times = f"{since[0]}, {count_text(context.count, 'time')} in a row" if context.count > 1 else since[0]
        if context.ended_ms is None:
            is_said = context.since_ms in said_ms
            in_a_row = f"{count_text(context.count, 'time')} in a row" if context.count > 1 else ""
            yield from fact_lines(_FAILED, in_a_row) if is_said else fact_lines(_FAILING_SINCE, times, since)
        else:
            span = span_text(max(0, context.ended_ms - context.since_ms))
            is_said = context.count == 1 and context.since_ms in said_ms
            yield from fact_lines(_FAILED_FOR, span if is_said else f"{span}, since {times}", since)
        if context.last_success_ms is not None and context.ended_ms is None:
            yield from moment_lines("last success", context.last_success_ms, zone)
    yield from fact_lines(INCIDENT_LABEL, incident_text(context.incident) if context.incident else "")
    if context.audience is not None:
        yield from fact_lines("told", _audience_text(context.audience))
    if context.causes:
        cause = context.causes[0]
        yield from fact_lines("probably caused by", f"{cause.incident} on {'.'.join(fqn.split(cause.asset)[-2:])}")
    is_rated = is_rated or bool(context.incident and context.incident.severity)
    is_unread = context.is_lineage_read and context.ended_ms is None and not is_rated
    yield from downstream_lines(context, Rank.REPORTED, instead=_NO_READER if is_unread else "")


def downstream_lines(context: FailureContext, rank: Rank, *, instead: str = "") -> Iterator[ChangeLine]:
    """Yield what lies downstream, in a line of that rank; what is said ``instead`` of nothing."""
    names = [clean_line(fqn.split(one)[-1]) for one in context.downstream]
    if text := names_text(names) or instead:
        yield ChangeLine(text, rank=rank, label="downstream")


def _audience_text(people: ToldPeople) -> str:
    """Return people in words: ``ana, ben and 3 more``; nothing for nobody."""
    left_count = people.total - len(people.names)
    if not people.names:
        return f"{count_text(left_count, 'other person', 'other people')}" if left_count > 0 else ""
    return f"{', '.join(people.names)}{f' and {left_count:,} more' if left_count else ''}"


def incident_text(incident: FailureIncident) -> str:
    """Return an incident in words: ``INC-7, Severity 2 (high), acknowledged by ben``; ``INC-7, resolved``.

    Of a failure whose incident is over: ``INC-7, Severity 2 (high), resolved since``.
    """
    if incident.is_resolved:
        return f"{incident.name}, resolved"
    acknowledger = incident.acknowledger or incident.acknowledged_by
    who = f"acknowledged by {acknowledger}" if acknowledger else ""
    who = "resolved since" if incident.is_over else who
    return ", ".join(filter(None, (incident.name, incident.severity and incident.severity.words, who)))
