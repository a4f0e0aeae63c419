"""Cost of matching an alert, and its limits, so that nobody's alerts use up the capacity that all alerts share.

What grows with alerts is the index (its size), the expressions that Spark plans and compiles (kinds of test), and the
work for an event, which for tests of the document is the document's size times their number. All of it follows from
the plan, whichever way an engine compiles it. Next: ``alerts/quotas.py`` (when an alert is saved),
``jobs/alerts.py`` (when it is matched).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pydantic import ValidationError

from tocsin.conditions.methods import steps_on_values
from tocsin.conditions.nodes import (
    Compare,
    Contains,
    FieldValue,
    Filled,
    Has,
    Kind,
    Leaf,
    Literals,
    Lowered,
    Node,
    Operator,
    PathValue,
    Personal,
    Present,
    Size,
    Test,
    TextTest,
    Value,
    innermost,
    values_in,
)
from tocsin.conditions.normal_form import Conjunction, Fact, Term
from tocsin.errors import InvalidInput
from tocsin.flow.match.indexing import Alternative, ways
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.logic import And, Not, Or, leaves
from tocsin.model.entity import Document
from tocsin.model.subscription import alert_of

_FEW = 16
_MANY_MEMBERS = 12
"""How many times over a pattern counts on members of a list in a document: a table may have thousands of columns."""

MANY_ALIKE = 8
"""Tests that differ in their texts only share a look at the document if more of them must all pass. That is a kind of
test of its own."""

_PER_TERM, _PER_ROW, _PER_NUMBER = 32, 128, 8


@dataclass(frozen=True)
class PlanCost:
    """Cost of one plan, or of several.

    Attributes
    ----------
    shapes : the kinds of test: what is left of a test without its constants and the names in its paths
    document_tests : tests of the document, each as often as it has constants
    looks : how often an event's document is gone through, whose lists may have thousands of members
    pattern_steps : steps of regular expressions in the worst case, on sets and documents many times over
    index_bytes : size of the rows in the match index, about
    """

    shapes: frozenset[Hashable] = frozenset()
    document_tests: int = 0
    looks: int = 0
    pattern_steps: int = 0
    index_bytes: int = 0

    @property
    def weight(self) -> int:
        """Return one number to order plans by, where something must go."""
        return self.index_bytes + 10_000 * (len(self.shapes) + self.document_tests) + self.pattern_steps


@dataclass(frozen=True)
class CostLimits:
    """The most that alerts may cost; ``whose`` says which alerts, for messages."""

    whose: str
    shapes: int
    document_tests: int
    looks: int
    pattern_steps: int
    index_bytes: int

    def exceeded_limit(self, cost: PlanCost) -> str | None:
        """Return the name of the first limit that the cost exceeds; None if it keeps within all."""
        return next((name for name in _WORDING if _amount(name, cost) > getattr(self, name)), None)

    def excess(self, *costs: PlanCost) -> str | None:
        """Return which limit these exceed together, and the way out, in a sentence; None if they keep within all."""
        cost = total(costs)
        name = self.exceeded_limit(cost)
        if name is None:
            return None
        unit, way_out = _WORDING[name]
        return f"{self.whose} have {_amount(name, cost):,} {unit}; the maximum is {getattr(self, name):,}. {way_out}"


_WORDING = {
    "shapes": ("kinds of test", "Use the same functions in several rules, and shorter paths."),
    "document_tests": (
        "tests of paths into documents",
        "Test fields such as tags, owners or fieldChanged instead, or fewer values.",
    ),
    "looks": (
        "looks into lists of documents",
        "Use fewer paths that lead into lists, and alternatives (||) that differ in their constants only.",
    ),
    "pattern_steps": ("steps of regular expressions", "Use startsWith, endsWith or contains instead."),
    "index_bytes": ("bytes in the match index", "Use shorter lists, or split the alert."),
}
"""What each limit counts, and the way out."""

PER_ALERT = CostLimits("The conditions of this alert", 40, 400, 40, 4_000_000, 2**20)
PER_PERSON = CostLimits("The conditions of all alerts that you created", 60, 1_000, 1_000, 20_000_000, 8 * 2**20)
IN_SUM = CostLimits("The conditions of all alerts together", 150, 20_000, 20_000, 400_000_000, 96 * 2**20)
"""On two cores, Spark plans and compiles 100 kinds of test in 20 s and 200 in a minute; 10,000 usual alerts have 16.
For an event of a table with 3,000 columns, a look takes about 0.1 s."""


def cost_of(plan: Plan) -> PlanCost:
    """Return what ``plan`` costs."""
    tests = list(dict.fromkeys(leaves(plan.node))) if plan.node is not None else []
    return PlanCost(
        shapes=frozenset(map(shape_of, tests)) | _joined_shapes(tests),
        document_tests=sum(map(_document_tests, tests)),
        looks=_look_count(plan.node) if plan.node is not None else 0,
        pattern_steps=sum(_pattern_steps(leaf) for leaf in tests if isinstance(leaf, TextTest)),
        index_bytes=_small_index_bytes(tests) or sum(_index_bytes(ways(case)) for case in plan.cases()),
    )


def cost_of_stored(document: Document) -> PlanCost | None:
    """Return what a stored alert costs; None if it is disabled, or an older Tocsin stored what is not matched."""
    try:
        return cost_of(plan_of(alert_of(document))) if document.get("enabled") else None
    except (InvalidInput, ValidationError):
        return None


def total(costs: Iterable[PlanCost]) -> PlanCost:
    """Return what plans cost together; kinds of test that they share count once."""
    plan_costs = list(costs)
    return PlanCost(
        shapes=frozenset[Hashable]().union(*(one.shapes for one in plan_costs)),
        document_tests=sum(one.document_tests for one in plan_costs),
        looks=sum(one.looks for one in plan_costs),
        pattern_steps=sum(one.pattern_steps for one in plan_costs),
        index_bytes=sum(one.index_bytes for one in plan_costs),
    )


def check_cost(plan: Plan) -> PlanCost:
    """Return what ``plan`` costs.

    Raises
    ------
    InvalidInput : more than an alert may; the message says what to do
    """
    cost = cost_of(plan)
    excess = PER_ALERT.excess(cost)
    if excess is not None:
        raise InvalidInput(excess, field="filteringRules")
    return cost


def _joined_shapes(tests: Sequence[Leaf]) -> frozenset[Hashable]:
    """Return the kinds of test that stand for many that must all pass, or may: which it is, the plan does not say."""
    repeatable = (leaf for leaf in tests if isinstance(leaf, Compare | TextTest | Contains))
    alike = Counter((shape_of(leaf), innermost(values_in(leaf)[0])) for leaf in repeatable)
    return frozenset(("joined", shape) for (shape, _), count in alike.items() if count > MANY_ALIKE)


def shape_of(leaf: Leaf) -> Leaf:
    """Return ``leaf`` without its constants and the names in its paths: leaves alike in this share an expression."""
    match leaf:
        case Has(field=field):
            return Has(field, ())
        case Compare(left=left, right=right):
            return replace(leaf, left=_blank(left), right=_blank(right))
        case TextTest(value=value):
            return replace(leaf, value=_blank(value), texts=())
        case Contains(value=value, members=members):
            return replace(leaf, value=_blank(value), members=Literals(members.kind, ()))
        case Present(value=value) | Filled(value=value):
            return replace(leaf, value=_blank(value))
        case Personal():
            return Personal("")


def _blank(value: Value) -> Value:
    match value:
        case Literals(kind=kind):
            return Literals(kind, ())
        case Lowered(value=inner) | Size(value=inner):
            return replace(value, value=_blank(inner))
        case PathValue(root=root, steps=steps, change=change):
            blank = tuple(0 if isinstance(step, int) else "" for step in steps)
            return PathValue(root, blank, None if change is None else "")
        case FieldValue():
            return value


def _document_tests(leaf: Leaf) -> int:
    reads_document = any(isinstance(innermost(value), PathValue) for value in values_in(leaf))
    return max(len(_literals_of(leaf)), 1) if reads_document else 0


def _look_count(node: Node) -> int:
    """Return how often a condition goes through lists in a document.

    Alternatives that differ in their constants only share a look, as many texts do that must all pass
    (``spark/signatures.py``).
    """
    if isinstance(node, Not):
        return _look_count(node.operand)
    if not isinstance(node, And | Or):
        return int(isinstance(node, Leaf) and _goes_through(node))
    nested_count, together, counts_by_place = 0, set[Hashable](), Counter[tuple[Leaf, tuple[Value, ...]]]()
    for operand in node.operands:
        inner = operand.operand if isinstance(operand, Not) else operand
        if isinstance(inner, And | Or | Not):
            nested_count += _look_count(inner)
        elif isinstance(inner, Leaf) and _goes_through(inner):
            values = tuple(value for value in map(innermost, values_in(inner)) if not isinstance(value, Literals))
            place = (shape_of(inner), values)
            is_alternative = isinstance(node, Or) == (inner is operand)
            together.update([place] if is_alternative else [])
            counts_by_place.update([] if is_alternative else [place])
    looks_apart = (
        min(count, 2) if count > MANY_ALIKE and _joins(leaf) else count for (leaf, _), count in counts_by_place.items()
    )
    return nested_count + len(together) + sum(looks_apart)


def _goes_through(leaf: Leaf) -> bool:
    """Return whether a test goes through what an entity holds under a name, such as all columns; not by position."""
    for path in map(innermost, values_in(leaf)):
        if not isinstance(path, PathValue):
            continue
        by_name = [isinstance(step, str) for step in path.steps]
        if all(by_name) or any(map(all, pairwise(by_name))):
            return True
    return False


def _joins(leaf: Leaf) -> bool:
    """Return whether many such tests that must all pass share a look: of texts, without patterns."""
    match leaf:
        case TextTest(test=test):
            return test is not Test.MATCHES
        case Compare(operator=Operator.EQ, right=Literals(kind=kind)) | Contains(members=Literals(kind=kind)):
            return kind is Kind.TEXT
        case _:
            return False


def _pattern_steps(leaf: TextTest) -> int:
    """Return what the patterns of a test count for: those on members of a list, such as columns, much more."""
    value = innermost(leaf.value)
    is_deep = isinstance(value, PathValue) and len(value.steps) > 1
    return steps_on_values(leaf) * (_MANY_MEMBERS if is_deep else 1)


def _small_index_bytes(tests: Sequence[Leaf]) -> int | None:
    """Return the usual size of the rows of a plan with few constants, which a few rows hold; None for a larger one."""
    constants = [str(constant) for leaf in tests for constant in _constants_of(leaf)]
    few = len(constants) + len(tests) <= _FEW
    return 2 * _PER_ROW + _PER_TERM * len(tests) + sum(map(len, constants)) if few else None


def _index_bytes(ways: Sequence[Alternative]) -> int:
    """Return the size of the rows of one case, one for each anchor (``spark/index_rows.py``)."""
    anchors = list(dict.fromkeys(anchor for way in ways for anchor in way.anchors))
    place = {anchor: at for at, anchor in enumerate(anchors)}
    size = len(anchors) * _PER_ROW + _PER_NUMBER * len(anchors) * (len(anchors) - 1) // 2
    for way in ways:
        anchor_count, row_count = len(way.anchors), max((place[anchor] for anchor in way.anchors), default=-1) + 1
        size += anchor_count * _size(way.residual) + (row_count - anchor_count) * _size(way.condition)
    return size


def _size(conjunction: Conjunction) -> int:
    groups = (*conjunction.groups, conjunction.forbidden)
    return sum(_PER_TERM + _constants(term) for group in groups for term in group)


def _constants(term: Term) -> int:
    """Return the size of the constants of a test; of a condition that is not normalised, of all its tests."""
    if isinstance(term, Fact):
        return len(term.value)
    return sum(_PER_TERM + sum(map(len, map(str, _constants_of(leaf)))) for leaf in leaves(term))


def _constants_of(leaf: Leaf) -> Sequence[object]:
    paths = (value for value in map(innermost, values_in(leaf)) if isinstance(value, PathValue))
    return [*_literals_of(leaf), *(name for path in paths for name in (*path.steps, path.change or ""))]


def _literals_of(leaf: Leaf) -> Sequence[object]:
    match leaf:
        case Has(values=values):
            return values
        case TextTest(texts=texts):
            return texts
        case Contains(members=members):
            return members.values
        case Compare(left=left, right=right):
            return [literal for side in (left, right) if isinstance(side, Literals) for literal in side.values]
        case Personal(question=question):
            return (question,)
        case _:
            return ()


def plans_left_out(
    costs: Mapping[str, PlanCost],
    creators: Mapping[str, str],
    exempt: Collection[str] = (),
    *,
    limits: CostLimits = IN_SUM,
) -> dict[str, str]:
    """Return the plans to do without so that the others keep within ``limits``, and why.

    What is exceeded is shared out among the people whose alerts use it, and alerts of the person with the largest share
    go first, those with most of it before others: nobody gets a smaller share by spreading it over more alerts.

    Parameters
    ----------
    costs : the cost of each plan, by alert
    creators : who created an alert; alerts of administrators, which have none here, go after all others
    exempt : Tocsin's own alerts, which always stay
    """
    kept_costs, excess_by_plan = _with_numbers(costs), dict[str, str]()
    while (
        name := limits.exceeded_limit(kept_total := total(kept_costs.values()))
    ) is not None and not kept_costs.keys() <= set(exempt):
        largest = max(kept_costs.keys() - set(exempt), key=_eviction_key(name, kept_costs, creators))
        excess_by_plan[largest] = str(limits.excess(kept_total))
        del kept_costs[largest]
    return excess_by_plan


def _with_numbers(costs: Mapping[str, PlanCost]) -> dict[str, PlanCost]:
    """Return the same costs with numbers for kinds of test, which are compared faster than conditions."""
    numbers: dict[Hashable, int] = {}
    return {
        alert_id: replace(cost, shapes=frozenset(numbers.setdefault(shape, len(numbers)) for shape in cost.shapes))
        for alert_id, cost in costs.items()
    }


def _eviction_key(
    name: str, costs: Mapping[str, PlanCost], creators: Mapping[str, str]
) -> Callable[[str], tuple[bool, float, float, int, str]]:
    """Return the sort key for dropping alerts when a limit is exceeded: the largest is dropped first."""
    shares, of_person = _usage_by_alert(name, costs, creators), defaultdict[str, float](float)
    for alert_id, share in shares.items():
        of_person[_person_of(alert_id, creators)] += share
    return lambda alert_id: (
        alert_id in creators,
        of_person[_person_of(alert_id, creators)],
        shares[alert_id],
        costs[alert_id].weight,
        alert_id,
    )


def _usage_by_alert(name: str, costs: Mapping[str, PlanCost], creators: Mapping[str, str]) -> dict[str, float]:
    """Return how much of a resource each alert uses; a kind of test is divided among the people who use it."""
    if name != "shapes":
        return {alert_id: _amount(name, cost) for alert_id, cost in costs.items()}
    uses = Counter((_person_of(alert_id, creators), shape) for alert_id, cost in costs.items() for shape in cost.shapes)
    people = Counter(shape for _, shape in uses)
    return {
        alert_id: sum(1 / (people[shape] * uses[_person_of(alert_id, creators), shape]) for shape in cost.shapes)
        for alert_id, cost in costs.items()
    }


def _person_of(alert: str, creators: Mapping[str, str]) -> str:
    return creators.get(alert, "")


def _amount(name: str, cost: PlanCost) -> int:
    amount = getattr(cost, name)
    return len(amount) if isinstance(amount, frozenset) else int(amount)
