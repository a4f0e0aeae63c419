"""Plan of a subscription: its rules as one checked condition, ready for either engine.

Next: ``flow/match/local.py`` (one event), ``spark/match.py`` (many).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf

from tocsin.conditions.asset_states import at_times_of, states_asked
from tocsin.conditions.breaking import IS_BREAKING
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.fields import PLACE, has
from tocsin.conditions.nodes import Compare, FieldValue, Has, Kind, Literals, Node, Operator, Present
from tocsin.conditions.recovery import with_recovery
from tocsin.conditions.references import parts_read
from tocsin.conditions.relations import ANYBODY, MOST_QUESTIONS, cases_of, questions_of
from tocsin.conditions.reminders import REPEAT_INTERVAL, with_reminders
from tocsin.conditions.streaks import asks_of_reports, asks_of_streaks, durations_asked, fields_of, without_reports
from tocsin.conditions.test_results import TEST_CASE, TEST_SUITE, about_results, without_tests
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.flow.match.actions import TYPES_NAMED, actions_by_resources
from tocsin.flow.match.producers import can_produce
from tocsin.logic import ALWAYS, NEVER, conjunction_of, disjunction_of, leaves, negation_of
from tocsin.model.alert_incident import reminder_key
from tocsin.model.change import NAMED_ONLY, LoggedEvent
from tocsin.model.subscription import (
    ALL_RESOURCES,
    AlertType,
    Effect,
    EventSubscription,
    FilteringRule,
    FilteringRules,
    PrefixCondition,
    TriggerType,
)
from tocsin.model.thread import RESOURCES as THREADS

_REPORTING = frozenset({"pipeline", "ingestionPipeline"})
"""Types that report runs; besides them only tests and test suites report anything."""

_checked = lru_cache(maxsize=20_000)(parse_and_check)
"""Conditions are read again and again, whenever any alert changes; they mean the same every time."""


@dataclass(frozen=True)
class Plan:
    """A subscription as the engines see it.

    Attributes
    ----------
    subscription_id : whose plan it is
    resources : types of entity or thread it is about; ``all`` means every type, none at all matches nothing; of tables
        with a condition on test results also ``testCase``
    node : the condition that rules and actions add up to; None when there is none
    created_at_ms : when the alert was made, epoch milliseconds
    since_offset : the first log offset that it covers; earlier events match nothing
    is_observability : whether it is an Observability alert
    unnamed : types of event that it does not match because it does not name them
    states : what it asks of assets at the times of its schedule (``conditions/asset_states.py``)
    repeat_ms : milliseconds between two reminders of an incident that it watches; None: it reminds of none
    enabled : a disabled subscription matches nothing
    questions : its conditions on the recipient (``conditions/relations.py``)
    accepted_answers : the sets of answers with which a person is a recipient
    """

    subscription_id: str
    resources: tuple[str, ...]
    node: Node | None
    created_at_ms: int
    enabled: bool = True
    questions: tuple[str, ...] = ()
    accepted_answers: int = ANYBODY
    since_offset: int = 0
    is_observability: bool = False
    unnamed: tuple[str, ...] = ()
    states: frozenset[str] = frozenset()
    repeat_ms: int | None = None

    def cases(self) -> tuple[Plan, ...]:
        """Return one plan for each thing that may be left to ask of a person; events alone decide these."""
        if not self.questions:
            return (self,)
        cases = cases_of(self.node or ALWAYS, self.questions)
        return tuple(replace(self, node=one.node, questions=(), accepted_answers=one.accepted_answers) for one in cases)

    def stood_before(self, logged: LoggedEvent) -> bool:
        """Return whether the alert existed and was enabled before an event: by offset in the log, whatever the clocks.

        Events of a replayed history have the times of the history.
        """
        if logged.offset < self.since_offset:
            return False
        return not logged.is_recorded or logged.event.timestamp >= self.created_at_ms

    def is_news(self, logged: LoggedEvent) -> bool:
        """Return whether what an event reports is neither older than the alert nor late; True if it reports nothing."""
        at_ms = logged.reported_at_ms
        return not logged.is_late and (at_ms is None or at_ms >= self.created_at_ms)

    @property
    def about(self) -> Node:
        """Return the condition that an event is about one of its resources: a type of entity, or of thread."""
        return _about(self.resources)

    @cached_property
    def covers(self) -> Node:
        """Return what must hold of an event before any rule counts: its resource, and no type to be named."""
        return conjunction_of(self.about, negation_of(has("eventType", self.unnamed)))

    @cached_property
    def reads(self) -> frozenset[str]:
        """Return the parts of events that its condition reads and that can refer to other entities."""
        return frozenset() if self.node is None else parts_read(self.node)

    @property
    def asks_of_streaks(self) -> bool:
        """Return whether it asks for something that depends on earlier reports (``flow/match/streak.py``)."""
        return self.node is not None and asks_of_streaks(self.node)

    @property
    def asks_of_breaking(self) -> bool:
        """Return whether it asks whether the change breaks who reads the asset."""
        return self.node is not None and any(IS_BREAKING in fields_of(leaf) for leaf in leaves(self.node))

    @property
    def opens_incidents(self) -> bool:
        """Return whether a failure that it matches opens an incident (``flow/track/alert_incidents.py``)."""
        return self.is_observability or (self.node is not None and asks_of_reports(self.node))

    @property
    def durations_ms(self) -> frozenset[int]:
        """Return the times without success that it asks for."""
        return frozenset(durations_asked(self.node)) if self.enabled and self.node is not None else frozenset()


RECOVERY = "recovery"
"""Stands for an alert in the matches of events that report a success: these resolve incidents."""


def recovery_plan() -> Plan:
    """Return the plan that every success of a test or run matches; it notifies nobody."""
    node = _checked("testStatus == 'Success' || pipelineStatus == 'Success' || pipelineStatus == 'Successful'")
    return Plan(RECOVERY, (ALL_RESOURCES,), node, created_at_ms=0)


def at_reports(plans: Iterable[Plan]) -> list[Plan]:
    """Return the plans that need to know of earlier reports: they are matched where streaks are kept."""
    return [plan for plan in plans if plan.asks_of_streaks]


def between_reports(plans: Iterable[Plan]) -> list[Plan]:
    """Return the plans for events without streaks: those of ``at_reports`` only match events without a report."""
    return [narrowed for plan in plans if (narrowed := _without_streaks(plan)) is not None]


def _without_streaks(plan: Plan) -> Plan | None:
    if plan.node is None or not plan.asks_of_streaks:
        return plan
    is_report = Present(FieldValue("reportedAt"))
    node = conjunction_of(without_reports(plan.node), negation_of(is_report))
    return None if node == NEVER else replace(plan, node=node)


def plan_of(subscription: EventSubscription) -> Plan:
    """Return what ``subscription`` asks for. Without filtering rules it matches nothing, as upstream's newer versions.

    Raises
    ------
    InvalidCondition : a rule's condition is wrong; the message names the rule and its place, as ``field`` does.
    InvalidInput : it has too many conditions on recipients, or is to send what no condition of it can resolve.
    """
    filtering_rules = subscription.filtering_rules or FilteringRules(resources=())
    resources, node = _resources_and_condition(filtering_rules, subscription)
    node = _by_names_then(node, subscription)
    states = states_asked(node)
    if states:
        node = _at_its_times(node, states, subscription)
    repeat_s = subscription.trigger.repeat_interval
    if repeat_s is not None:
        node = _with_its_reminders(node, subscription)
    questions = questions_of(node)
    if len(questions) > MOST_QUESTIONS:
        raise InvalidInput(
            f"contains more than {MOST_QUESTIONS} different conditions on recipients", field="filteringRules"
        )
    return Plan(
        subscription_id=subscription.id,
        resources=resources,
        node=None if node == ALWAYS else node,
        created_at_ms=subscription.created_at_ms,
        since_offset=subscription.since_offset,
        enabled=subscription.enabled,
        questions=questions,
        is_observability=subscription.alert_type is AlertType.OBSERVABILITY,
        unnamed=_unnamed_types(resources, node, filtering_rules),
        states=states,
        repeat_ms=None if repeat_s is None else repeat_s * 1_000,
    )


def _at_its_times(node: Node, states: frozenset[str], subscription: EventSubscription) -> Node:
    """Return the condition of an alert that asks for the state of assets: at the times of its schedule."""
    trigger = subscription.trigger
    if trigger.trigger_type is not TriggerType.SCHEDULED:
        names = ", ".join(sorted({f"{state.partition(':')[0]}()" for state in states}))
        raise InvalidInput(
            f"{names} asks for the state at the times of a schedule: set trigger.triggerType to Scheduled, with a"
            " cronExpression; to be told when it begins, use firstFailure(), noSuccessFor('6h') or fieldChanged",
            field="trigger.triggerType",
        )
    return at_times_of(node, trigger.schedule_id)


def _with_its_reminders(node: Node, subscription: EventSubscription) -> Node:
    """Return the condition of an alert that reminds of its incidents."""
    if subscription.trigger.trigger_type is not TriggerType.REAL_TIME:
        raise InvalidInput(
            "is only for RealTime triggers; to be told at the times of a schedule what still fails, use stillFailing()",
            field=REPEAT_INTERVAL,
        )
    if subscription.alert_type is not AlertType.OBSERVABILITY and not asks_of_reports(node):
        raise InvalidInput(
            "reminds of incidents, which this alert does not open: set alertType to Observability, or add a condition"
            " on the status of tests or runs, such as firstFailure()",
            field=REPEAT_INTERVAL,
        )
    return with_reminders(node, reminder_key(subscription.id))


def _unnamed_types(resources: Sequence[str], node: Node, filtering: FilteringRules) -> tuple[str, ...]:
    """Return the types of ``NAMED_ONLY`` that the resources have and that neither a condition nor an action names."""
    named_types = {
        value for leaf in leaves(node) if isinstance(leaf, Has) and leaf.field == "eventType" for value in leaf.values
    }
    named_types |= {TYPES_NAMED[action.name] for action in filtering.actions if action.name in TYPES_NAMED}
    produced_types = (one for one in NAMED_ONLY if any(can_produce(resource, one) for resource in resources))
    return tuple(one for one in produced_types if one not in named_types)


def _resources_and_condition(
    filtering: FilteringRules, subscription: EventSubscription
) -> tuple[tuple[str, ...], Node]:
    """Return the resources and the condition that rules and actions add up to."""
    node = conjunction_of(_chain("rules", enumerate(filtering.rules)), _actions(filtering))
    return _with_results(filtering.resources, with_recovery(node) if subscription.trigger.send_resolved else node)


def _by_names_then(node: Node, subscription: EventSubscription) -> Node:
    """Return the condition that asks of events before a rename what the rules said then."""
    ways, until_offset = list[Node](), inf
    for past in subscription.past_rules:
        ways.append(conjunction_of(_is_placed(past.until_offset, until_offset), node))
        until_offset = past.until_offset
        _, node = _resources_and_condition(past.rules, subscription)
    return disjunction_of(*ways, conjunction_of(_is_placed(0, until_offset), node))


def _is_placed(since_offset: int, until_offset: float) -> Node:
    """Return the condition that an event is at the first of these offsets or after it, and before the second."""
    place = FieldValue(PLACE)
    begins = Compare(Operator.GE, place, Literals(Kind.NUMBER, (float(since_offset),))) if since_offset else ALWAYS
    ends = Compare(Operator.LT, place, Literals(Kind.NUMBER, (float(until_offset),))) if until_offset < inf else ALWAYS
    return conjunction_of(begins, ends)


def _about(resources: Sequence[str]) -> Node:
    if ALL_RESOURCES in resources:
        return ALWAYS
    threads = tuple(THREADS[one] for one in resources if one in THREADS)
    entities = tuple(one for one in resources if one not in THREADS)
    return disjunction_of(has("entityType", entities), has("threadType", threads))


def _with_results(resources: tuple[str, ...], node: Node) -> tuple[tuple[str, ...], Node]:
    """Return what an alert is about and asks for: one about tables that asks for test results is about tests as well.

    Of a test, only an event counts that matches because of its result (``conditions/test_results.py``).
    """
    if "table" not in resources or not {ALL_RESOURCES, TEST_CASE}.isdisjoint(resources):
        return resources, node
    of_tests = about_results(node)
    if of_tests == NEVER:
        return resources, node
    without_results = without_tests(node, keep_reports=not _REPORTING.isdisjoint(resources))
    without_suites = tuple(one for one in resources if one != TEST_SUITE)
    of_suites = conjunction_of(_about([TEST_SUITE]), node) if TEST_SUITE in resources else NEVER
    of_others = conjunction_of(_about(without_suites), without_results)
    return (*resources, TEST_CASE), disjunction_of(of_others, of_suites, of_tests)


def _actions(filtering: FilteringRules) -> Node:
    """Return the actions, those of each resource for itself (``flow/match/actions.py``)."""
    together = actions_by_resources(filtering) or {tuple(range(len(filtering.actions))): []}
    nodes = {chosen: _chain("actions", [(index, filtering.actions[index]) for index in chosen]) for chosen in together}
    if len(nodes) == 1:
        return next(iter(nodes.values()))
    return disjunction_of(*(conjunction_of(_about(resources), nodes[chosen]) for chosen, resources in together.items()))


def _chain(key: str, rules: Iterable[tuple[int, FilteringRule]]) -> Node:
    """Return rules, with their positions, joined left to right, AND before OR; always, when there are none."""
    alternatives: list[list[Node]] = [[]]
    for index, rule in rules:
        if alternatives[-1] and rule.prefix_condition is PrefixCondition.OR:
            alternatives.append([])
        alternatives[-1].append(_rule_node(f"filteringRules.{key}[{index}].condition", rule))
    return disjunction_of(*(conjunction_of(*together) for together in alternatives))


def _rule_node(field: str, rule: FilteringRule) -> Node:
    try:
        node = _checked(rule.condition)
    except InvalidCondition as error:
        raise error.of_rule(rule.name, field) from error
    return negation_of(node) if rule.effect is Effect.EXCLUDE else node
