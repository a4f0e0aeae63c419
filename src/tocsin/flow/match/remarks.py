"""Warnings about valid conditions that may not mean what their author intended.

Next: ``server/routes/alerts/conditions.py`` and ``cli/conditions.py`` show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tocsin.conditions.certainty import Certainty, certainty, is_never
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.nodes import Has, Node
from tocsin.conditions.normal_form import normal_form
from tocsin.conditions.relations import questions_of
from tocsin.conditions.test_results import TEST_CASE, TEST_SUITE, without_tests
from tocsin.flow.match.indexing import how_found
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.producers import PRODUCERS, simplify_for
from tocsin.flow.match.wrong_words import wrong_words
from tocsin.logic import ALWAYS, conjunction_of, leaves
from tocsin.model.change import EventType
from tocsin.model.subscription import ALL_RESOURCES, EventSubscription, FilteringRules


class RemarkKind(StrEnum):
    """What is worth a remark."""

    ALWAYS_TRUE = "alwaysTrue"
    NEVER_TRUE = "neverTrue"
    NO_DESTINATIONS = "noDestinations"
    NO_EFFECT = "noEffect"
    NO_RESOURCES = "noResources"
    NOT_OFFERED = "notOffered"
    OUTSIDE_RESOURCES = "outsideResources"
    RENAMED = "renamed"
    UNINDEXED = "unindexed"
    UNKNOWN_WORD = "unknownWord"


@dataclass(frozen=True)
class Remark:
    """A warning; ``field`` is the place in the alert, empty for a single condition."""

    kind: RemarkKind
    message: str
    field: str = ""

    def to_wire(self) -> dict[str, str]:
        """Return it as JSON."""
        where = {"field": self.field} if self.field else {}
        return {"kind": self.kind.value, "message": self.message, **where}


def by_itself(node: Node) -> Plan:
    """Return the plan of an alert about everything that asks for ``node`` alone."""
    return Plan("", (ALL_RESOURCES,), node, 0, questions=questions_of(node))


def of_condition(node: Node) -> Iterator[Remark]:
    """Yield the warnings about one condition."""
    yield from of_words(node)
    certain = list(_of_certainty(node))
    yield from certain or _of_index(by_itself(node))


def of_words(node: Node, field: str = "") -> Iterator[Remark]:
    """Yield the warnings about words of a condition that no event has."""
    return (Remark(RemarkKind.UNKNOWN_WORD, message, field) for message in wrong_words(node))


def of_alert(subscription: EventSubscription, plan: Plan) -> tuple[Remark, ...]:
    """Return what is worth knowing about an alert and its plan: of each rule, then of all of them together."""
    remarks = [*_of_rules(subscription.filtering_rules)]
    if not subscription.destinations:
        remarks.append(
            Remark(RemarkKind.NO_DESTINATIONS, "The alert has no destinations, so it notifies nobody", "destinations")
        )
    if not plan.resources:
        return (
            *remarks,
            Remark(RemarkKind.NO_RESOURCES, "The alert has no resources, so it matches nothing", _RESOURCES),
        )
    if plan.node is None and TEST_SUITE in plan.resources and _SUITE_RUN in plan.unnamed:
        remarks.append(Remark(RemarkKind.OUTSIDE_RESOURCES, f"No run of a test suite matches: {_NAMED}", _RESOURCES))
    is_reported = any(remark.kind not in (RemarkKind.UNKNOWN_WORD, RemarkKind.NO_DESTINATIONS) for remark in remarks)
    of_rules = {remark.kind for remark in remarks} & {RemarkKind.OUTSIDE_RESOURCES}
    return (*remarks, *(one for one in _of_plan(plan, is_reported=is_reported) if one.kind not in of_rules))


def can_match(plan: Plan) -> bool:
    """Return whether some event may match an alert; False only if that is certain."""
    node = plan.node or ALWAYS
    return not (is_never(node) or _is_outside(plan, node))


_MOST_NAMED = 8
_SUITE_RUN = EventType.TEST_SUITE_RUN_COMPLETED
_NAMED = f"alerts match {_SUITE_RUN.value} only if they name it, as the action GetTestSuiteStatusUpdates does"
_RULES, _RESOURCES = "filteringRules", "filteringRules.resources"


def _of_rules(filtering: FilteringRules | None) -> Iterator[Remark]:
    for key in ("rules", "actions") if filtering else ():
        for index, rule in enumerate(getattr(filtering, key)):
            node, place = parse_and_check(rule.condition), f"{_RULES}.{key}[{index}].condition"
            yield from of_words(node, place)
            yield from _of_event_types(node, filtering.resources if filtering else (), place)
            yield from _of_certainty(node, place)


def _of_event_types(node: Node, resources: Sequence[str], field: str) -> Iterator[Remark]:
    """Yield each type of event that a condition names and none of the resources produces."""
    named_types = (leaf.values for leaf in leaves(node) if isinstance(leaf, Has) and leaf.field == "eventType")
    for kind in dict.fromkeys(word for words in named_types for word in words):
        producers = PRODUCERS.get(kind)
        if producers == ():
            yield Remark(RemarkKind.UNKNOWN_WORD, f"No event has the type {kind!r}: Tocsin writes none", field)
        elif producers and resources and set(resources).isdisjoint((ALL_RESOURCES, *producers)):
            producers_hint = f"; it is for {', '.join(producers)}" if len(producers) <= _MOST_NAMED else ""
            message = f"No event about {', '.join(resources)} has the type {kind!r}{producers_hint}"
            yield Remark(RemarkKind.OUTSIDE_RESOURCES, message, field)


def _of_certainty(node: Node, field: str = "") -> Iterator[Remark]:
    certain = certainty(node)
    if certain is not None:
        kind = RemarkKind.ALWAYS_TRUE if certain is Certainty.ALWAYS else RemarkKind.NEVER_TRUE
        yield Remark(kind, f"This condition is {certain} true", field)


def _of_plan(plan: Plan, *, is_reported: bool) -> Iterator[Remark]:
    node = plan.node or ALWAYS
    if is_never(node):
        if not is_reported:
            yield Remark(RemarkKind.NEVER_TRUE, "The rules together are never true", _RULES)
    elif _is_outside(plan, node):
        if ALL_RESOURCES in plan.resources:
            return  # a type of event that nothing writes, which the rule that names it is remarked on for
        yield Remark(RemarkKind.OUTSIDE_RESOURCES, _outside_text(plan, node), _RESOURCES)
    else:
        yield from _of_index(plan, _RULES)


def _outside_text(plan: Plan, node: Node) -> str:
    """Say that no event meets the rules of a plan, and which type of event it must name where that would help."""
    text = f"The rules require an event that is no {', '.join(plan.resources)}"
    if _SUITE_RUN in plan.unnamed and not _is_outside(replace(plan, unnamed=()), node):
        return f"{text}; {_NAMED}"
    return text


def _is_outside(plan: Plan, node: Node) -> bool:
    """Return whether no event about the resources of a plan meets its condition, for all that is certain."""
    return is_never(conjunction_of(plan.covers, _within(plan, node)))


def _within(plan: Plan, node: Node) -> Node:
    """Return ``node`` without what none of the alert's resources has, and only tests if it is not about them."""
    of_resources = simplify_for(node, plan.resources, unnamed=plan.unnamed)
    is_about_tests = not {ALL_RESOURCES, TEST_CASE, TEST_SUITE}.isdisjoint(plan.resources)
    return of_resources if is_about_tests else without_tests(of_resources, keep_reports=True)


def _of_index(plan: Plan, field: str = "") -> Iterator[Remark]:
    why = how_found(plan).unindexed
    nodes = (conjunction_of(case.covers, case.node or ALWAYS) for case in plan.cases())
    if why is None and any(normal_form(node) is None for node in nodes):
        why = (
            "The condition is too large to be indexed, so it is evaluated for every event about"
            f" {', '.join(plan.resources)}."
        )
    if why is not None:
        yield Remark(RemarkKind.UNINDEXED, why, field)
