"""Rows of an alert in the match index: one per anchor, with the residual condition.

Facts are compared as hashes; only the rest is evaluated by signature. Next: ``spark/match.py``, which joins events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from tocsin.conditions.normal_form import Conjunction, Fact, Term
from tocsin.flow.match.indexing import Alternative, Anchor, ways
from tocsin.flow.match.plan import Plan
from tocsin.spark.anchors import number_of
from tocsin.spark.conditions import is_stored
from tocsin.spark.signatures import TEST, Shapes

SEPARATOR = "&"
"""Separator of the fields of an anchor of several facts."""

_CLAUSE = pa.struct([pa.field("wanted", pa.bool_(), nullable=False), pa.field("tests", pa.list_(TEST))])
"""Some of ``tests`` must pass (``wanted``), or none of them may."""

ROWS = pa.schema(
    [
        pa.field("anchor", pa.int64(), nullable=False),
        pa.field("fields", pa.string(), nullable=False),
        pa.field("subscription_id", pa.string(), nullable=False),
        pa.field("asked", pa.int64(), nullable=False),
        pa.field("created_at_ms", pa.int64(), nullable=False),
        pa.field("since_offset", pa.int64(), nullable=False),
        pa.field("earlier", pa.list_(pa.int64()), nullable=False),
        pa.field("facts", pa.string(), nullable=False),
        pa.field("needed", pa.list_(pa.int64()), nullable=False),
        pa.field("barred", pa.list_(pa.int64()), nullable=False),
        pa.field("guard_shape", pa.int32(), nullable=False),
        pa.field("guard", pa.string()),
        pa.field("ways", pa.list_(pa.list_(_CLAUSE)), nullable=False),
        pa.field("reads_document", pa.bool_(), nullable=False),
    ]
)
"""``spark/match.py`` says what the columns mean."""

UNGUARDED = -1
"""The guard of a row without one."""

_Clause = dict[str, Any]  # Any: columns of ``_CLAUSE`` and ``ROWS``


def rows_of(plan: Plan, shapes: Shapes, worded: Collection[str]) -> Iterable[_Clause]:
    """Yield a row per anchor of ``plan``."""
    found = ways(plan, worded)
    anchors = list(dict.fromkeys(anchor for way in found for anchor in way.anchors))
    numbers = list(map(number_of, anchors))
    for at, anchor in enumerate(anchors):
        left = [_asked(way, anchor) for way in found if not set(way.anchors).isdisjoint(anchors[at:])]
        needed, barred = _needed(left), _barred(left)
        yield {
            "anchor": numbers[at],
            "fields": SEPARATOR.join(anchor.fields),
            "subscription_id": plan.subscription_id,
            "asked": plan.asked,
            "created_at_ms": plan.created_at_ms,
            "since_offset": plan.since_offset,
            "earlier": numbers[:at],
            "facts": SEPARATOR.join(sorted({fact.field for fact in needed | barred})),
            "needed": _numbers(needed),
            "barred": _numbers(barred),
            **_guarded([_clauses(_without(one, needed, barred), shapes) for one in left], shapes),
        }


def _asked(way: Alternative, anchor: Anchor) -> Conjunction:
    """Return what ``way`` asks of an event that states ``anchor``."""
    return way.rest if anchor in way.anchors else way.whole


def _needed(left: Sequence[Conjunction]) -> frozenset[Fact]:
    """Return the facts without which none of these holds, of fields that are quick to read."""
    lone = (frozenset(_stored(term for group in one.groups if len(group) == 1 for term in group)) for one in left)
    return frozenset.intersection(*lone)


def _barred(left: Sequence[Conjunction]) -> frozenset[Fact]:
    """Return the facts with which none of these holds, of fields that are quick to read."""
    return frozenset.intersection(*(frozenset(_stored(one.forbidden)) for one in left))


def _stored(terms: Iterable[Term]) -> Iterator[Fact]:
    return (term for term in terms if isinstance(term, Fact) and is_stored(term.field))


def _numbers(facts: Iterable[Fact]) -> list[int]:
    return sorted(number_of(Anchor((fact.field,), (fact.value,))) for fact in facts)


def _without(asked: Conjunction, needed: Collection[Fact], barred: frozenset[Fact]) -> Conjunction:
    """Return what is left of ``asked`` once it is known that an event states what is needed, and nothing barred."""
    return Conjunction(asked.groups - {frozenset({fact}) for fact in needed}, asked.forbidden - barred)


def _guarded(ways: list[list[_Clause]], shapes: Shapes) -> _Clause:
    """Return the ways with their guard: a cheap condition that all of them have.

    A guard that is sufficient for its test is preferred, and removed from the ways.
    """
    if [] in ways:
        return _left(None, [], shapes)
    asked = [one for one in ways[0] if all(one in way for way in ways) and _may_guard(one, shapes)]
    guard = min(asked, key=lambda one: not _decides(one, shapes), default=None)
    if guard is None or not _decides(guard, shapes):
        return _left(guard, ways, shapes)
    left = [[one for one in way if one != guard] for way in ways]
    return _left(guard, [] if [] in left else left, shapes)


def _may_guard(clause: _Clause, shapes: Shapes) -> bool:
    (test, *others), wanted = clause["tests"], clause["wanted"]
    is_lone = wanted and not others and len(test["texts"]) == 1
    return is_lone and shapes.guard_text(test["shape"], test["texts"][0]) is not None


def _decides(guard: _Clause, shapes: Shapes) -> bool:
    return shapes.decides(guard["tests"][0]["shape"])


def _left(guard: _Clause | None, ways: list[list[_Clause]], shapes: Shapes) -> _Clause:
    """Return the columns of a row with the residual conditions."""
    numbers = {test["shape"] for way in ways for clause in way for test in clause["tests"]}
    asked = {"ways": ways, "reads_document": shapes.read_document(numbers)}
    if guard is None:
        return {"guard_shape": UNGUARDED, "guard": None, **asked}
    (test,) = guard["tests"]
    return {"guard_shape": test["shape"], "guard": shapes.guard_text(test["shape"], test["texts"][0]), **asked}


def _clauses(asked: Conjunction, shapes: Shapes) -> list[_Clause]:
    groups = sorted(asked.groups, key=lambda group: (len(group), repr(sorted(map(repr, group)))))
    wanted = [{"wanted": True, "tests": shapes.tests(group)} for group in groups]
    forbidden = [{"wanted": False, "tests": shapes.tests(asked.forbidden)}] if asked.forbidden else []
    return wanted + forbidden
