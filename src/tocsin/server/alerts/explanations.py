"""Collection of everything needed to explain an event, limited to what the requester may see.

People may ask about themselves, and about others only for alerts that they may edit. The conditions of an alert are
shown to its editors; of other alerts, those that reach the requester are named, and the rest is counted.
Next: ``alerts/explanations/answer.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

from tocsin.alerts.explanations.answer import AlertTrace, Explanation
from tocsin.alerts.explanations.matching import MatchTrace, match_trace
from tocsin.alerts.explanations.people import (
    ExplanationInput,
    PossibleRecipient,
    possible_recipients,
    recipient_rules_with_disabled,
)
from tocsin.alerts.explanations.reader import ANYBODY, ExplanationReader
from tocsin.conditions.relations import EVERYBODY
from tocsin.delivery.dispatch import narrow_dispatch, route_objection
from tocsin.errors import Forbidden, InvalidInput, NotFound
from tocsin.flow import pipeline
from tocsin.flow.eventlog.readers import MATCH_STREAM, STREAK_STREAM
from tocsin.flow.match.cascade import cascades_of, links_of
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.match.streak import report_of
from tocsin.flow.resolve.audience import audience_of
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.match_result import Pair
from tocsin.model.message import DroppedReason
from tocsin.model.notification_draft import head_of
from tocsin.model.notification_record import NotificationRecord
from tocsin.model.people import Person
from tocsin.model.subscription import Channel, EventSubscription
from tocsin.server.access.permissions import sees
from tocsin.server.alerts.backtests import UNSEEN_MS
from tocsin.server.alerts.destination_names import DestinationNames, destination_names
from tocsin.server.alerts.next_digest import routes_of
from tocsin.server.request import Caller

MOST_RECORDS = 10_000
"""Notifications of one event that are compared with what should be."""

_MOST_SUGGESTED = 200
_ALERT = "eventsubscription"

Verdict = TypeVar("Verdict")


@dataclass(frozen=True)
class ExplanationScope:
    """Scope of an explanation: the event, one alert or all that the caller may see, one person or everybody.

    ``visible`` is the event without the parts hidden from the requester; alerts are evaluated on the whole event.
    Of all alerts, ``limit`` after the first ``skip`` are explained; those that matched come first. ``deleted_alert`` is
    the id or the name of a deleted alert, for which only its stored notifications are known. Sentences are for
    ``reader``, the caller.
    """

    logged: LoggedEvent
    visible: LoggedEvent
    subscription: EventSubscription | None = None
    person: Person | None = None
    limit: int = 20
    skip: int = 0
    deleted_alert: str | None = None
    reader: ExplanationReader = ANYBODY


@dataclass(frozen=True)
class PagedExplanation:
    """The explanation, which of its alerts are explained in full, and what the destinations of messages are called.

    ``named_event`` is the event with the display names of people, for its words.
    """

    explanation: Explanation
    page: tuple[AlertTrace, ...]
    visible: LoggedEvent
    names: DestinationNames
    named_event: ChangeEvent


def explain(question: ExplanationScope, caller: Caller) -> PagedExplanation:
    """Return the explanation, as far as the caller may see it.

    Raises
    ------
    Forbidden : it asks about another person, of alerts that the caller may not edit
    NotFound : it asks of an alert that does not exist and has no notification visible to the caller
    """
    alerts = _by_names_then(_alerts(question, caller), question.logged, caller)
    editable_ids = frozenset(alert.id for alert in alerts if may_edit_alert(alert, caller))
    about_others = question.person is not None and question.person.id != caller.actor.id
    if about_others and not caller.actor.is_admin:
        alerts = [alert for alert in alerts if alert.id in editable_ids]
        if not alerts:
            raise Forbidden("Only the recipient, administrators and editors of the alert may see this.")
    matching, verdicts = _verdicts_on(alerts, question.logged, caller)
    recipients = _recipients_of(question, caller, (alerts, matching, editable_ids))
    is_asked_of = question.subscription is not None
    listed_alerts = [alert for alert in alerts if is_asked_of or alert.id in editable_ids or recipients.get(alert.id)]
    sorted_alerts = sorted(
        listed_alerts, key=lambda alert: (alert.id not in matching, not recipients.get(alert.id), alert.name)
    )
    is_cut = question.visible.event is not question.logged.event
    records, notified_count = _visible_records(question, caller, editable_ids)
    if question.deleted_alert is not None and not records:
        name = question.deleted_alert
        raise NotFound(f"alert {name} not found", entity_type=_ALERT, fqn=name)
    page = sorted_alerts[question.skip : question.skip + question.limit]
    near = [alert for alert in sorted_alerts if alert.id in matching or recipients.get(alert.id)][:_MOST_SUGGESTED]
    alerts_by_id = {alert.id: alert for alert in (*near, *page)}
    traces = {
        alert.id: AlertTrace(
            subscription=alert,
            match=_visible_trace(alert, question, verdicts[alert.id], is_open=alert.id in editable_ids and not is_cut),
            reached=recipients.get(alert.id, ()),
            is_whole=alert.id in editable_ids or question.person is not None,
        )
        for alert in alerts_by_id.values()
    }
    now_ms = caller.parts.clock.now_ms()
    explanation = Explanation(
        logged=question.logged,
        alerts=tuple(traces[alert.id] for alert in sorted_alerts if alert.id in traces),
        notified=records,
        notified_count=notified_count,
        pipeline_at=_pipeline_at(question.logged, caller),
        is_pipeline_running=now_ms - caller.parts.backtests.pipeline_seen_at_ms() <= UNSEEN_MS,
        alert_count=len(listed_alerts),
        others_matched=len(matching - {alert.id for alert in listed_alerts}),
        person=question.person,
        is_complete=notified_count <= MOST_RECORDS,
        is_narrowed=_is_narrowed(question, caller, editable_ids),
        missing_count=caller.parts.alert_stores.records.missing_relations(question.logged.offset),
        reader=question.reader,
    )
    names, event = _destination_names(records, caller), _named_event(question, caller)
    return PagedExplanation(explanation, tuple(traces[alert.id] for alert in page), question.visible, names, event)


def _with_objections(records: Sequence[NotificationRecord], caller: Caller) -> list[NotificationRecord]:
    """Return records with what their waiting messages will leave out when they are due, as of now."""
    stores, now_ms = caller.parts.alert_stores, caller.parts.clock.now_ms()
    message_ids = {one.message.id for one in records if one.message}
    dispatches = stores.next_digests.unsent(message_ids, {one.notification.id for one in records})
    routes = routes_of(dispatches, caller) if dispatches else {}
    objections: dict[str, list[DroppedReason]] = defaultdict(list)
    for dispatch in dispatches:
        due_ms = max(now_ms, dispatch.message.due_at_ms)
        open_dispatch, drops = narrow_dispatch(dispatch, partial(route_objection, routes, due_ms))
        if open_dispatch is not None:
            drops += stores.permitted.permitted_part(open_dispatch, now_ms=due_ms)[1]
        for drop in drops:
            objections[drop.notification_id].append(drop)
    return [replace(one, objections=tuple(objections[one.notification.id])) for one in records]


def _named_event(question: ExplanationScope, caller: Caller) -> ChangeEvent:
    (event,) = caller.parts.inbox.named_events([question.visible.event], caller.visibility.sees)
    return event


def _destination_names(records: Sequence[NotificationRecord], caller: Caller) -> DestinationNames:
    """Return what the destinations of stored notifications are called, of alerts that the caller may view."""
    alert_ids = {reason.subscription_id for record in records for reason in record.notification.reasons}
    alerts = [{"id": one, "type": _ALERT} for one in sorted(alert_ids)]
    return destination_names(alert_ids & caller.visibility.sees(alerts), caller)


class _Verdicts(NamedTuple):
    """What decides about a match besides the alert: an alert that triggers it, an incident, an editor; by name."""

    trigger: str | None
    incident: str | None
    editor: str | None


def _verdicts_on(
    alerts: Sequence[EventSubscription], logged: LoggedEvent, caller: Caller
) -> tuple[frozenset[str], dict[str, _Verdicts]]:
    """Return which of these alerts notify of an event, and what decides about each."""
    enabled_alerts = _by_names_then(caller.parts.subscriptions.list_enabled(), logged, caller)
    alerts_by_id = {alert.id: alert for alert in (*alerts, *enabled_alerts)}
    batch = _decide(_matching_plans(alerts, enabled_alerts, logged), alerts_by_id, logged, caller)
    triggers, editors = _verdicts_at(logged.offset, batch.triggered), _verdicts_at(logged.offset, batch.withheld)
    holding = {
        alert: by.incident for alert, by in _verdicts_at(logged.offset, batch.held_back).items() if not by.passes
    }
    incidents = _visible_incidents(holding, caller)
    visible_ids = {alert.id for alert in visible_alerts(caller)} if triggers else set()
    names = {alert: alerts_by_id[by].name if by in visible_ids else "" for alert, by in triggers.items()}
    verdicts = {
        alert.id: _Verdicts(
            trigger=names.get(alert.id),
            incident=incidents.get(alert.id),
            editor=_name_of(editors[alert.id], caller) if alert.id in editors else None,
        )
        for alert in alerts
    }
    return frozenset(alert for event in batch.events for alert in event.answers_by_alert if alert in verdicts), verdicts


def _matching_plans(
    alerts: Sequence[EventSubscription], enabled: Sequence[EventSubscription], logged: LoggedEvent
) -> dict[str, Plan]:
    """Return the plans of those of ``alerts``, and of the enabled ones that trigger others, whose conditions hold."""
    triggering = cascades_of({alert.id: links_of(alert) for alert in enabled}).keys()
    candidates = {alert.id: alert for alert in (*(each for each in enabled if each.id in triggering), *alerts)}
    matching: dict[str, Plan] = {}
    for alert in candidates.values():
        with suppress(InvalidInput):  # stored by an older Tocsin; its trace says so
            plan = plan_of(alert)
            if matches(plan, logged):
                matching[alert.id] = plan
    return matching


def _decide(
    matching: Mapping[str, Plan], alerts_by_id: Mapping[str, EventSubscription], logged: LoggedEvent, caller: Caller
) -> pipeline.Batch:
    """Return what the stages of the pipeline decide about the alerts that match an event.

    Where the pipeline has decided about rights before, that counts; otherwise rights are those of now.
    """
    stores, alerts = caller.parts.alert_stores, alerts_by_id.values()

    def decisions_about(judged: Mapping[int, Collection[str]]) -> pipeline.Rights:
        ids = judged.get(logged.offset, ())
        editors = stores.match_results.withheld_at(logged.offset, ids)
        return {(logged.offset, alert): editor for alert, editor in editors.items()}

    facts = pipeline.AlertFacts(
        rules={},
        timings={},
        cascades=cascades_of({alert.id: links_of(alert) for alert in alerts if alert.enabled}),
        depending=pipeline.dependencies_of(alerts),
        of_tocsin=frozenset(alert.id for alert in alerts if alert.is_of_tocsin),
        reads={alert_id: plan.reads for alert_id, plan in matching.items()},
    )
    lookups = replace(stores.lookups(caller.policies), find_decisions=decisions_about)
    matched_event = MatchedEvent(head_of(logged), dict.fromkeys(matching, EVERYBODY))
    return pipeline.run(
        (*pipeline.MATCHING, *pipeline.NOTIFYING),
        pipeline.Batch([matched_event]),
        pipeline.Context(facts, lookups, caller.parts.clock.now_ms()),
    )


def _verdicts_at(offset: int, verdicts: Mapping[Pair, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts about one event, by alert."""
    return {alert: verdict for (at, alert), verdict in verdicts.items() if at == offset}


def reader_of(caller: Caller, event: ChangeEvent) -> ExplanationReader:
    """Return the caller as the reader of an explanation: with their zone, and what a change request asks them for."""
    answerable = caller.parts.alert_stores.asked_consumers.of_event(event, caller.actor.id)
    visible_names = caller.visibility.sees_named(answerable.full_names)
    return ExplanationReader(caller.actor.id, caller.zone, answerable.among(visible_names))


def _name_of(editor: str, caller: Caller) -> str:
    if editor == caller.actor.id:
        return "you"
    person = caller.parts.people.by_id(editor) if caller.actor.is_admin else None
    return person.name if person else ""


def _visible_incidents(incident_by_alert: Mapping[str, str], caller: Caller) -> dict[str, str]:
    """Return the incident that holds each alert back, nothing in place of one that may not be named."""
    visible = caller.visibility.sees_incidents(set(incident_by_alert.values()))
    return {alert: incident if incident in visible else "" for alert, incident in incident_by_alert.items()}


def _visible_trace(
    alert: EventSubscription, question: ExplanationScope, verdicts: _Verdicts, *, is_open: bool
) -> MatchTrace:
    trace = match_trace(alert, question.logged, question.reader.zone)
    trace = trace if verdicts.trigger is None else trace.as_triggered_by(verdicts.trigger)
    trace = trace if verdicts.incident is None else trace.as_held_back_by(verdicts.incident)
    trace = trace if verdicts.editor is None else trace.withheld_for(verdicts.editor)
    return trace if is_open else trace.without_rules()


def _is_narrowed(question: ExplanationScope, caller: Caller, editable_ids: frozenset[str]) -> bool:
    """Return whether there may be more to it than the caller may know: of others, by alerts that they may not edit."""
    about_me = question.person is not None and question.person.id == caller.actor.id
    asked_of = None if question.subscription is None else question.subscription.id
    return not caller.actor.is_admin and not about_me and asked_of not in editable_ids


def _pipeline_at(logged: LoggedEvent, caller: Caller) -> int:
    """Return the offset up to which everything is processed; of a report, by both queries that may notify of one."""
    log = caller.parts.log
    at = log.progress(MATCH_STREAM)
    if report_of(logged) is None or log.reported_at_ms(STREAK_STREAM) is None:
        return at
    return min(at, log.progress(STREAK_STREAM))


def _alerts(question: ExplanationScope, caller: Caller) -> list[EventSubscription]:
    if question.subscription is not None:
        return [question.subscription]
    return [] if question.deleted_alert is not None else visible_alerts(caller)


def _by_names_then(alerts: Sequence[EventSubscription], logged: LoggedEvent, caller: Caller) -> list[EventSubscription]:
    """Return alerts whose conditions name entities as they were called at an event."""
    return caller.parts.subscriptions.with_past_names(alerts, after=logged.offset)


def visible_alerts(caller: Caller) -> list[EventSubscription]:
    """Return the alerts that the caller may view, switched on or not."""
    alerts = caller.parts.subscriptions.list_all()
    if caller.actor.is_admin or caller.policies.is_open(_ALERT):
        return alerts
    return [one for one in alerts if sees(caller, _ALERT, one.to_wire())]


def may_edit_alert(alert: EventSubscription, caller: Caller) -> bool:
    """Return whether the caller may edit the alert; to policies, who made it is one of its owners."""
    return bool(editable_alerts([alert], caller))


def editable_alerts(alerts: Sequence[EventSubscription], caller: Caller) -> list[EventSubscription]:
    """Return those of these alerts that the caller may edit."""
    if caller.actor.is_admin or not alerts:
        return list(alerts)
    makers = caller.parts.alert_stores.events.creators([one.id for one in alerts])
    return [one for one in alerts if _may_edit(one, makers.get(one.id), caller)]


def _may_edit(alert: EventSubscription, maker: str | None, caller: Caller) -> bool:
    document: Document = alert.to_wire()
    owners = [*(document.get("owners") or ()), *([{"id": maker, "type": "user"}] if maker else ())]
    return caller.permissions.may(Operation.EDIT_ALL, _ALERT, {**document, "owners": owners})


def _recipients_of(
    question: ExplanationScope,
    caller: Caller,
    selection: tuple[Sequence[EventSubscription], frozenset[str], frozenset[str]],
) -> dict[str, tuple[PossibleRecipient, ...]]:
    """Return whom the alerts reach: of those that did not match, only whether it is who was asked about."""
    alerts, matching, editable_ids = selection
    logged_event, parts = question.logged, caller.parts
    candidates = [alert for alert in alerts if question.person or alert.id in matching]
    audience_rows = [row for alert in candidates for row in recipient_rules_with_disabled(alert)]
    entity_id = logged_event.event.entity_id
    directory = parts.alert_stores.directory.with_rights(caller.policies)
    directory = directory.with_columns_of({logged_event.offset: entity_id})
    audience = audience_of({entity_id}, audience_rows, directory, everybody=True)
    inputs = ExplanationInput(
        logged=logged_event,
        audience=audience,
        subjects=parts.alert_stores.events.subjects({logged_event.offset})[logged_event.offset],
        policies=caller.policies,
        editors=parts.alert_stores.events.editors_of([alert.id for alert in candidates]),
        records=_records(question, caller),
        ids=parts.alert_stores.notification_ids(),
        telling_alerts=_telling_alerts(logged_event, [alert for alert in candidates if alert.id in matching], caller),
        reader=question.reader,
    )
    everybody = None if question.person is None else question.person.id
    return {
        alert.id: possible_recipients(
            alert, inputs, matched=alert.id in matching, only=everybody if alert.id in editable_ids else caller.actor.id
        )
        for alert in candidates
    }


def _telling_alerts(
    logged: LoggedEvent, matching: Sequence[EventSubscription], caller: Caller
) -> Mapping[tuple[Channel, str], Collection[str]]:
    """Return which alerts tell whom of the whole that an event is part of; nothing if it is not."""
    whole_id = logged.event.part_of
    if whole_id is None:
        return {}
    lookups, now_ms = caller.parts.alert_stores.lookups(caller.policies), caller.parts.clock.now_ms()
    event = MatchedEvent(head_of(logged), dict.fromkeys((alert.id for alert in matching), EVERYBODY))
    context = pipeline.Context(pipeline.alert_facts_of(matching), lookups, now_ms)
    return pipeline.find_telling_alerts(pipeline.Batch([event]), context).get(whole_id, {})


def _records(question: ExplanationScope, caller: Caller) -> dict[str, NotificationRecord]:
    """Return what is stored: of one person what can be theirs, in the app, by mail, or as a name of many."""
    logged, person, alert_stores = question.logged, question.person, caller.parts.alert_stores
    records = alert_stores.records
    if person is None:
        return records.of_event(logged.offset, limit=MOST_RECORDS)
    ways = (Channel.EMAIL, Channel.SLACK) if person.email else ()
    id_of = alert_stores.notification_ids().of
    ids = [id_of(logged.offset, logged.event.id, way, person.email or "") for way in ways]
    return records.of_user(logged.offset, person.id) | records.by_id(ids)


def _visible_records(
    question: ExplanationScope, caller: Caller, editable_ids: frozenset[str]
) -> tuple[tuple[NotificationRecord, ...], int]:
    """Return what is stored that the caller may know of, and how much it is."""
    alert = question.deleted_alert if question.subscription is None else question.subscription.id
    me = caller.actor
    records = _records(question, caller)
    visible_records = [
        record
        for record in records.values()
        if (alert is None or record.names(alert))
        and (me.is_admin or record.notification.recipient_id == me.id or any(record.names(own) for own in editable_ids))
    ]
    is_whole = len(records) < MOST_RECORDS or alert is not None or not me.is_admin
    judged_records = visible_records if question.person is None else _with_objections(visible_records, caller)
    count = len(visible_records) if is_whole else caller.parts.alert_stores.records.count(question.logged.offset)
    return tuple(
        sorted(judged_records, key=lambda record: (record.notification.channel, record.notification.recipient))
    ), count
