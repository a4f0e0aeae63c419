"""Guidance of a message: how bad what it tells of is, and what is to be done, by its alerts and the test that failed.

Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.delivery.dispatch import (
    NO_GUIDANCE,
    Advice,
    Dispatch,
    FailureContext,
    FailureIncident,
    Guidance,
    Routes,
    deciding_routes,
)
from tocsin.delivery.lines import SHOWN_LIMIT, clean_line
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.incidents import tells_of_incident, tells_of_open_incident
from tocsin.delivery.wording.reports import is_recovery
from tocsin.delivery.wording.surroundings import (
    FAILURE_ADVICE,
    REPAIR_ADVICE,
    incident_text,
    is_deletion,
    is_deprecation,
)
from tocsin.delivery.wording.tones import Tone, tone_of
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.change_request import number_in, request_in
from tocsin.model.channels import WORDED
from tocsin.model.message import Entry
from tocsin.model.runbook import link_of

_OF_ALERTS = frozenset({EventType.ALERT_NARROWED, EventType.ALERT_EXPIRING, EventType.ALERT_EXPIRED})
_MOST_ADVICE = 3
_ONLY_LOOK = "only its editors, or the assignee, can acknowledge the incident"
_TELL_OWNER = f"tell its owner what it means to you; {_ONLY_LOOK}"
_TELL_ADMINISTRATOR = "tell an administrator: it has no owner"
"""What a person can do about a failure who may look at its incident but not change it."""


def needs_guidance(event: ChangeEvent) -> bool:
    """Return whether the event tells what has to be looked into: a failure, a breaking change, what is late, a loss.

    Recoveries, other edits, the end of an incident and what becomes of an alert are none.
    """
    if tells_of_incident(event):
        return tells_of_open_incident(event)
    if is_recovery(event) or event.event_type in _OF_ALERTS:
        return False
    return tone_of(event) >= Tone.ATTENTION or is_deletion(event) or is_deprecation(event)


def guidance_of(dispatch: Dispatch, routes: Routes) -> dict[str, Guidance]:
    """Return what the alerts and tests of a message say of its notifications, by their ids; nothing for most.

    People are told of what has to be looked into only; a webhook has it of every event.
    """
    alerts_guide = any(route.severity is not None or route.runbook for route in routes.values() if route is not None)
    if not alerts_guide and all(entry.carried.own_runbook is None for entry in dispatch.entries):
        return {}
    is_worded = dispatch.message.channel in WORDED
    entries = [entry for entry in dispatch.entries if not is_worded or needs_guidance(entry.event)]
    guided = ((entry.notification_id, guidance_of_notification(entry, routes)) for entry in entries)
    return {notification_id: guidance for notification_id, guidance in guided if guidance != NO_GUIDANCE}


def guidance_of_notification(entry: Entry, routes: Routes) -> Guidance:
    """Return the worst severity, and each runbook once: first that of the test."""
    deciding = deciding_routes(entry, routes)
    severity = min((route.severity for _, route in deciding if route.severity is not None), default=None)
    own_runbook = entry.carried.own_runbook
    advice = {} if own_runbook is None else {own_runbook: Advice(own_runbook)}
    for reason, route in deciding:
        if route.runbook:
            advice.setdefault(route.runbook, Advice(route.runbook, reason.subscription_name))
    return Guidance(severity, tuple(advice.values()))


def failure_advice(entry: Entry, dispatch: Dispatch, failure: FailureContext | None) -> str:
    """Return what a message advises against a failure: nothing where a button or runbook does.

    A person who has no button may not acknowledge the incident, as far as anybody knows. One who may only look at it
    can tell the owner.
    """
    guidance = dispatch.guidance.get(entry.notification_id)
    if (guidance and guidance.advice) or (failure and failure.runbook):
        return ""
    if entry.notification_id in (dispatch.read_only or ()):
        return advice_to_onlooker(entry.event)
    if dispatch.buttons.get(entry.notification_id):
        return ""
    return FAILURE_ADVICE if entry.recipient_id is None else REPAIR_ADVICE


def advice_to_onlooker(event: ChangeEvent, *, is_whole: bool = True) -> str:
    """Return what a person can do about a failure whose incident they may look at but not change.

    ``is_whole``: the event names its owner if there is any, also one whom this person may not view.
    """
    if _has_owner(event):
        return _TELL_OWNER
    return _TELL_ADMINISTRATOR if is_whole else _ONLY_LOOK


def _has_owner(event: ChangeEvent) -> bool:
    owners = (event.entity or {}).get("owners")
    present_owners = owners if isinstance(owners, list) else []
    return any(isinstance(owner, dict) and not owner.get("deleted") for owner in present_owners)


def incident_block(incident: FailureIncident, base_url: str) -> RichBlock:
    """Return a line for the incident of a failure, with a link to its page."""
    page = Span(clean_line(incident_text(incident)), link=f"{base_url}/#/incidents/{incident.name}")
    return RichBlock(BlockKind.PARAGRAPH, (Span("Incident: ", bold=True), page))


def request_blocks(event: ChangeEvent, base_url: str) -> tuple[RichBlock, ...]:
    """Return a line for the change request that an event tells of, with a link to its page; none for other events."""
    if (request := request_in(event)) is None or number_in(name := str(request.get("name"))) is None:
        return ()
    page = f"{base_url}/#/changes/{name}"
    return (RichBlock(BlockKind.PARAGRAPH, (Span("Change request: ", bold=True), Span(name, link=page))),)


def guidance_blocks(guidance: Guidance) -> tuple[RichBlock, ...]:
    """Return a line for the severity and one for each runbook."""
    return tuple(RichBlock(BlockKind.PARAGRAPH, spans) for spans in _lines(guidance))


def _lines(guidance: Guidance) -> Iterator[tuple[Span, ...]]:
    if guidance.severity is not None:
        yield (Span(guidance.severity.words),)
    for advice in guidance.advice[:_MOST_ADVICE]:
        label = f"What to do (alert {clean_line(advice.alert)}): " if advice.alert else "What to do: "
        yield Span(label, bold=True), Span(clean_line(advice.runbook, limit=SHOWN_LIMIT), link=link_of(advice.runbook))
