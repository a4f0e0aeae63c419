"""Anchors of an alert in the match index, and the residual condition that each leaves to evaluate.

An anchor is a fact, or several facts of one event, that an event must have for one alternative of the condition to
hold. The rarer the anchor, the fewer events need the residual evaluated. Next: ``spark/index_rows.py`` makes rows of
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tocsin.conditions.fields import FQN_PATH, kind_of
from tocsin.conditions.nodes import FieldValue, Kind, Leaf, PathValue, Test, TextTest, plain_value, values_in
from tocsin.conditions.normal_form import Conjunction, Disjunction, Fact, Group, Term, normal_form
from tocsin.conditions.paths import stem
from tocsin.conditions.patterns import literal_prefix
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.required_words import searched_words, words_of
from tocsin.flow.match.selectivity import share_of
from tocsin.logic import ALWAYS, conjunction_of

MAX_ANCHORS = 16
"""Anchors that one way may have because it is refined; a plain list of alternatives may be longer."""

_RARE_ENOUGH = 1e-3
_COMMON = 0.6
_REFINING = (
    "entityType",
    "eventType",
    "testStatus",
    "pipelineStatus",
    "tier",
    "domains",
    "owners",
    "tags",
    "fieldChanged",
)
"""Fields that make an anchor rarer, the cheapest first; few, since each combination is looked up for every event."""

_MAX_SETS = 2
_NAME = FieldValue("entityFullyQualifiedName")


@dataclass(frozen=True, order=True)
class Anchor:
    """Facts that an event states together: each of ``fields`` has, or holds, the value at its place."""

    fields: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


EVERY = Anchor()
"""What every event states: the anchor of what has no other."""


@dataclass(frozen=True)
class Alternative:
    """One way for an alert to match.

    Attributes
    ----------
    anchors : an event for which it holds has at least one of them
    condition : its whole condition
    residual : its residual condition for an event that has one of ``anchors``
    """

    anchors: tuple[Anchor, ...]
    condition: Conjunction
    residual: Conjunction


@dataclass(frozen=True)
class Found:
    """Index entry of an alert.

    Attributes
    ----------
    by : the fields, or combinations of fields, that lead to it; none when it never matches
    unindexed : why it is evaluated for every event, in a sentence; None when it is not
    """

    by: tuple[tuple[str, ...], ...]
    unindexed: str | None = None


def how_found(plan: Plan) -> Found:
    """Return the index entry of ``plan``, for the alert's author."""
    anchors = sorted({anchor for case in plan.cases() for way in ways(case) for anchor in way.anchors})
    by = tuple(dict.fromkeys(anchor.fields for anchor in anchors if anchor != EVERY))
    return Found(by, _why_unindexed(plan) if EVERY in anchors else None)


def ways(plan: Plan, worded: Collection[str] = ()) -> list[Alternative]:
    """Return the ways one case of a plan can match, none for one that never does; always in the same order.

    They may hang from the words of the fields ``worded``.
    """
    if not (plan.enabled and plan.resources):
        return []
    return sorted((_way(asked, worded) for asked in _disjunction(plan)), key=_order)


def share_asked(plan: Plan) -> float:
    """Return the expected share of events for which the residual condition of ``plan`` is evaluated."""
    anchors = {anchor for case in plan.cases() for way in ways(case) for anchor in way.anchors}
    shares = (prod(map(share_of, map(Fact, anchor.fields, anchor.values))) for anchor in anchors)
    return min(1.0, sum(shares))


def _why_unindexed(plan: Plan) -> str:
    if normal_form(plan.node or ALWAYS) is None:
        return (
            "The condition is too large to be indexed and covers all entity types, so it is evaluated for every event."
        )
    if plan.node is None:
        return "It matches every event."
    return (
        "No part of the condition requires a field to equal a value (it has only negations, patterns,"
        " order comparisons or paths into the entity), so it is evaluated for every event. Add a type,"
        " field, owner, tag or service."
    )


def _disjunction(plan: Plan) -> Disjunction:
    """Return the normal form of the whole plan; one that is too large becomes one test of its own."""
    condition = plan.node or ALWAYS
    form = normal_form(conjunction_of(plan.covers, condition))
    if form is not None:
        return form
    single_test: Conjunction = Conjunction(groups=frozenset({frozenset({condition})}))  # type: ignore[arg-type]  # any node
    gate = normal_form(plan.covers) or frozenset()
    return frozenset(Conjunction(single_test.groups | conjunction.groups) for conjunction in gate)


def _order(way: Alternative) -> tuple[object, ...]:
    return way.anchors, sorted(map(repr, way.condition.groups)), sorted(map(repr, way.condition.forbidden))


def _way(conjunction: Conjunction, word_fields: Collection[str]) -> Alternative:
    """Return a conjunction with its rarest anchors: one group of facts, made rarer by others while that is worth it."""
    candidates = [
        *_fact_groups(conjunction),
        *_implied_places(conjunction),
        *_implied_changes(conjunction),
        *_implied_words(conjunction, word_fields),
    ]
    if not candidates:
        return Alternative((EVERY,), conjunction, conjunction)
    groups = [min(candidates, key=lambda group: (_share(group), sorted(map(_field_and_value, group))))]
    for group in _refining_groups(conjunction, groups[0]):
        if prod(map(_share, groups)) <= _RARE_ENOUGH or not _may_refine(groups, group):
            continue
        groups.append(group)
    proven = frozenset(groups) & conjunction.groups
    return Alternative(_anchors(groups), conjunction, Conjunction(conjunction.groups - proven, conjunction.forbidden))


def _anchors(groups: Sequence[Group]) -> tuple[Anchor, ...]:
    """Return every choice of one fact of each group."""
    choices = (
        sorted(combination, key=_field_and_value)
        for combination in product(*(sorted(_facts(group), key=_field_and_value) for group in groups))
    )
    anchors = (Anchor(tuple(fact.field for fact in one), tuple(fact.value for fact in one)) for one in choices)
    return tuple(sorted(set(anchors)))


def _facts(group: Group) -> Iterator[Fact]:
    return (term for term in group if isinstance(term, Fact))


def _field_and_value(fact: Fact) -> tuple[str, str]:
    return fact.field, fact.value


def _fact_groups(conjunction: Conjunction) -> Iterator[frozenset[Fact]]:
    """Yield the groups that facts alone can fulfil."""
    for group in conjunction.groups:
        facts = frozenset(_facts(group))
        if len(facts) == len(group):
            yield facts


def _implied_places(conjunction: Conjunction) -> Iterator[frozenset[Fact]]:
    """Yield groups of facts that a group implies: a name with a given prefix is below a known path."""
    for group in conjunction.groups:
        places = [place for term in group for place in _places(term)]
        if all(places):
            yield frozenset(Fact(FQN_PATH, place) for place in places)


def _implied_changes(conjunction: Conjunction) -> Iterator[frozenset[Fact]]:
    """Yield the same of changes: a field that has an old or a new value has changed."""
    for group in conjunction.groups:
        changed = [_changed_field(term) for term in group]
        if all(changed):
            yield frozenset(Fact("fieldChanged", name) for name in changed if name)


def _changed_field(term: Term) -> str | None:
    """Return a field that must have changed for ``term`` to pass; None when there is none."""
    if isinstance(term, Fact):
        return term.value if term.field == "fieldChanged" else None
    # A size is there, 0, without any change; a condition that is not normalised is no leaf.
    values = map(plain_value, values_in(term)) if isinstance(term, Leaf) else ()
    return next((value.change for value in values if isinstance(value, PathValue) and value.change), None)


def _implied_words(conjunction: Conjunction, worded: Collection[str]) -> Iterator[frozenset[Fact]]:
    """Yield the same of words: a text that holds some other has each whole word of it."""
    for group in conjunction.groups:
        searches = [searched_words(term) for term in group]
        if all(one is not None and one[0] in worded for one in searches):
            yield frozenset(Fact(words_of(name), word) for name, words in filter(None, searches) for word in words)


def _places(term: object) -> Iterator[str]:
    """Yield the path that a name must be below to pass ``term``, one for each of its texts; empty for anywhere."""
    match term:
        case TextTest(test=Test.STARTS_WITH, value=value, texts=texts) if value == _NAME:
            yield from (stem(text) for text in texts)
        case TextTest(test=Test.MATCHES, value=value, texts=texts) if value == _NAME:
            yield from (stem(literal_prefix(text)) for text in texts)
        case Fact(field=field, value=value) if field == FQN_PATH:
            yield value
        case _:
            yield ""


def _share(group: Group) -> float:
    """Return which part of all events can be expected to state a fact of ``group``."""
    return min(1.0, sum(map(share_of, _facts(group))))


def _refining_groups(conjunction: Conjunction, first: Group) -> list[frozenset[Fact]]:
    """Return the other groups, each about one field that may make an anchor rarer, the cheapest field first."""
    other_groups = [
        group for group in _fact_groups(conjunction) if group != first and len({fact.field for fact in group}) == 1
    ]
    refining = [group for group in other_groups if _field(group) in _REFINING and _share(group) <= _COMMON]
    return sorted(refining, key=lambda group: (_REFINING.index(_field(group)), sorted(map(_field_and_value, group))))


def _may_refine(groups: Sequence[Group], group: Group) -> bool:
    """Return whether ``group`` keeps the anchors few and cheap to look up."""
    fields = {fact.field for one in groups for fact in _facts(one)}
    sets = sum(kind_of(field) is Kind.TEXTS for field in {*fields, _field(group)})
    return _field(group) not in fields and sets <= _MAX_SETS and prod(map(len, [*groups, group])) <= MAX_ANCHORS


def _field(group: Group) -> str:
    return next(_facts(group)).field
