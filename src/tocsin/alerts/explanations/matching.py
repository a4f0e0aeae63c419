"""Trace of an alert against an event: each gate and each rule in order, none skipped.

The verdict is that of ``flow/match/local.py``; the trace shows how it was reached.
Next: ``alerts/explanations/people.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tocsin.conditions.asset_states import states_for
from tocsin.conditions.evaluate import holds
from tocsin.conditions.parse import parse
from tocsin.conditions.trace import Trace, decisive, trace_condition
from tocsin.delivery.lines import UTC, exact_moment_text
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.alert_incident import reminder_key
from tocsin.model.change import INCIDENT_REMINDER, NAMED_ONLY, STATE_AT_SCHEDULE, EventType, LoggedEvent
from tocsin.model.phrases import value_in_words
from tocsin.model.subscription import Effect, EventSubscription, FilteringRule

_MOST_TESTS = 3
_READABLE = "readable"


@dataclass(frozen=True)
class Gate:
    """What must hold before any rule applies: its name, whether it holds, and that in words."""

    name: str
    holds: bool
    says: str


@dataclass(frozen=True)
class RuleTrace:
    """One rule and its result. ``part`` is ``rules`` or ``actions``; ``trace`` is None where it has no meaning.

    ``holds`` is None where it depends on the recipient.
    """

    part: str
    number: int
    rule: FilteringRule
    holds: bool | None
    trace: Trace | None = None
    refused: str | None = None

    def says(self) -> str:
        """Return what of the rule did not hold, or did, in words."""
        name = f"the rule {self.rule.name or self.number + 1}"
        if self.trace is not None and self.holds is None:
            return f"{name} depends on the recipient: {self.trace.text}"
        if self.trace is None:
            return f"{name} is invalid: {self.refused}"
        tests = [f"{one.text}{seen_in_words(one)}" for one in decisive(self.trace)]
        tests_text = ", ".join(tests[:_MOST_TESTS]) + (
            f" and {len(tests) - _MOST_TESTS} more" if tests[_MOST_TESTS:] else ""
        )
        if self.rule.effect is Effect.EXCLUDE:
            verb = "does not exclude the event" if self.holds else "excludes the event"
        else:
            verb = "is true" if self.holds else "is false"
        return f"{name} {verb}: {tests_text}"


@dataclass(frozen=True)
class MatchTrace:
    """Whether an alert matches an event, and all that was asked."""

    matched: bool
    gates: tuple[Gate, ...]
    rules: tuple[RuleTrace, ...]

    def obstacles(self) -> list[str]:
        """Return why the alert did not match, in words, in order of evaluation."""
        texts = [gate.says for gate in self.gates if not gate.holds]
        return texts + [rule.says() for rule in self.rules if rule.holds is False]

    def as_triggered_by(self, name: str) -> MatchTrace:
        """Return the verdict for an alert that another one triggers, of that name if it may be said."""
        says = f"alert {name} triggers it" if name else "another alert triggers it"
        return replace(self, matched=True, gates=(*self.gates, Gate("triggered", True, says)))

    def as_held_back_by(self, incident: str) -> MatchTrace:
        """Return the verdict for an alert that an incident of another alert, named if it may be, holds back."""
        reason = f"{incident} of an alert that it depends on holds it back, upstream"
        says = reason if incident else "an alert that it depends on holds it back"
        return replace(self, matched=False, gates=(*self.gates, Gate("dependsOn", False, says)))

    def withheld_for(self, editor: str) -> MatchTrace:
        """Return the verdict for an alert of which this editor, named if that may be said, may not view the event."""
        says = f"withheld because {editor or 'an editor of the alert'} may not view the event"
        return replace(self, matched=False, gates=(*self.gates, Gate("editors", False, says)))

    def without_rules(self) -> MatchTrace:
        """Return the verdict without the conditions, for people who may not read the alert's rules."""
        return replace(self, rules=(), gates=tuple(gate for gate in self.gates if gate.name != _READABLE))


def match_trace(subscription: EventSubscription, logged: LoggedEvent, zone: str = UTC) -> MatchTrace:
    """Return how ``subscription`` takes ``logged``, with times in an IANA zone."""
    rules = tuple(_rules(subscription, logged))
    try:
        plan = plan_of(subscription)
    except InvalidInput as error:
        return MatchTrace(False, (Gate(_READABLE, False, f"the alert is invalid: {error.message}"),), rules)
    gates = [*_gates(plan, logged, zone), *_own_gates(subscription, plan, logged)]
    return MatchTrace(matches(plan, logged), tuple(gates), rules)


def seen_in_words(trace: Trace) -> str:
    """Return what a test saw, as a clause: ``tier is missing``."""
    clauses = "; ".join(
        f"{field_value.name} is {_values(field_value.values)}{', inherited' if field_value.is_inherited else ''}"
        for field_value in trace.observations[:4]
    )
    return f" ({clauses})" if clauses else ""


def _values(values: Sequence[object]) -> str:
    if not values:
        return "missing"
    texts = ", ".join(value_in_words(value)[:80] for value in values[:5])
    return texts + (f" and {len(values) - 5} more" if len(values) > 5 else "")


def _gates(plan: Plan, logged: LoggedEvent, zone: str) -> Iterator[Gate]:
    event = logged.event
    yield Gate("enabled", plan.enabled, f"the alert is {'enabled' if plan.enabled else 'disabled'}")
    yield Gate("created", plan.stood_before(logged), _stood(plan, logged, zone))
    if (at_ms := logged.reported_at_ms) is not None:
        yield Gate("reported", plan.is_news(logged), _report_text(plan, logged, at_ms, zone))
    elif late := lateness_text(logged, zone):
        yield Gate("reported", False, late)
    if event.event_type in NAMED_ONLY:
        yield Gate("named", event.event_type not in plan.unnamed, _naming_text(plan, event.event_type))
    is_about = holds(plan.about, logged)
    resources = ", ".join(plan.resources) or "nothing"
    verb = "include" if is_about else "do not include"
    yield Gate("resources", is_about, f"the alert's resources ({resources}) {verb} {event.entity_type}")


def _own_gates(subscription: EventSubscription, plan: Plan, logged: LoggedEvent) -> Iterator[Gate]:
    """Yield whether a check was made at a time of the alert's schedule, or whether a reminder is the alert's.

    An alert without checks or reminders of its own may name the type of those of others.
    """
    is_reminder = logged.event.event_type is EventType.INCIDENT_REMINDER
    if is_reminder and plan.repeat_ms is not None:
        is_own = f"{reminder_key(subscription.id)}|{INCIDENT_REMINDER}" in logged.derived.get(STATE_AT_SCHEDULE, ())
        says = (
            "the alert reminds of the incident: what it asks of the failure is not asked again"
            if is_own
            else "another alert reminds of the incident"
        )
        yield Gate("reminder", is_own, says)
    elif not is_reminder and plan.states and STATE_AT_SCHEDULE in logged.derived:
        is_own = bool(states_for(subscription.trigger.schedule_id, logged.derived[STATE_AT_SCHEDULE]))
        yield Gate("schedule", is_own, f"the check is of {'the alert' if is_own else 'another alert'}'s schedule")


def _stood(plan: Plan, logged: LoggedEvent, zone: str) -> str:
    """Say since when the alert covers events."""
    created = exact_moment_text(plan.created_at_ms, zone)
    if plan.stood_before(logged):
        return f"the alert was created before the event, at {created}"
    if logged.event.timestamp < plan.created_at_ms:
        return f"the alert was created after the event, at {created}"
    return "the alert was created by the event or enabled after it"


def _report_text(plan: Plan, logged: LoggedEvent, at_ms: int, zone: str) -> str:
    """Say of when the reported result or run is, and why that notifies nobody."""
    report = f"the report is of {exact_moment_text(at_ms, zone)}"
    if at_ms < plan.created_at_ms:
        return f"{report}, before the alert was created at {exact_moment_text(plan.created_at_ms, zone)}"
    return lateness_text(logged, zone) or f"{report}, after the alert was created"


def lateness_text(logged: LoggedEvent, zone: str) -> str:
    """Return why an event notifies nobody whatever the alerts: of when it is; nothing of one that is not late."""
    if not logged.is_late:
        return ""
    at_ms = logged.reported_at_ms
    if at_ms is None:
        return "a source brought the event as history, which notifies nobody"
    report = f"the report is of {exact_moment_text(at_ms, zone)}"
    reported = exact_moment_text(logged.event.timestamp, zone)
    if at_ms > logged.event.timestamp:
        return f"{report}, more than 5 min after it was reported at {reported}: check the clock of the reporter"
    return f"{report}, and came more than report_max_age_h later, at {reported}"


def _naming_text(plan: Plan, event_type: str) -> str:
    """Return whether the alert names the type of an event that alerts match only then."""
    if event_type in plan.unnamed:
        return f"the alert does not name {event_type}, and alerts match events of that type only by name"
    return f"the alert may match {event_type}"


def _rules(subscription: EventSubscription, logged: LoggedEvent) -> Iterator[RuleTrace]:
    filtering, logged = subscription.rules_at(logged.offset), _as_checked_for(subscription, logged)
    for part, rules in (("rules", filtering.rules), ("actions", filtering.actions)):
        for number, rule in enumerate(rules):
            yield _rule(part, number, rule, logged)


def _as_checked_for(subscription: EventSubscription, logged: LoggedEvent) -> LoggedEvent:
    """Return an event with what a check found for the alert, as its conditions name it: a check is for many alerts."""
    if STATE_AT_SCHEDULE not in logged.derived:
        return logged
    states = states_for(subscription.trigger.schedule_id, logged.derived[STATE_AT_SCHEDULE])
    with suppress(InvalidInput):  # whose conditions cannot be read says so
        asked_states = plan_of(subscription).states
        states = [state for state in states if state in asked_states]
    return replace(logged, derived={**logged.derived, STATE_AT_SCHEDULE: states})


def _rule(part: str, number: int, rule: FilteringRule, logged: LoggedEvent) -> RuleTrace:
    try:
        trace = trace_condition(parse(rule.condition), logged)
    except InvalidCondition as error:
        return RuleTrace(part, number, rule, False, refused=error.message)
    verdict = None if trace.holds is None else trace.holds is (rule.effect is Effect.INCLUDE)
    return RuleTrace(part, number, rule, verdict, trace)
