"""Which subscriptions does each event match? All events against all subscriptions at once.

Subscriptions are rows, not code: each hangs from anchors (``flow/match/indexing.py``) that an event must state, events
explode into the facts that are anchors, a broadcast join finds the candidates, and what is left of their conditions is
asked of those only, by shape (``spark/shapes.py``, ``docs/decisions/0002-facts-and-anchors.md``).
Next: ``spark/resolve.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.normal_form import Conjunction, Fact, Term
from tocsin.flow.match.indexing import Anchor, Way, ways
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.searched import BETWEEN_WORDS, words_of
from tocsin.flow.match.taken import TakenPaths
from tocsin.spark.anchors import number_of, stated
from tocsin.spark.conditions import DOCUMENT, Expression, is_stored, literal, texts_at, with_document
from tocsin.spark.shapes import TEST, Shapes

_BESIDE = "&"
"""Stands between the fields of an anchor of several facts."""

_CLAUSE = pa.struct([pa.field("wanted", pa.bool_(), nullable=False), pa.field("tests", pa.list_(TEST))])
"""Some of ``tests`` must pass (``wanted``), or none of them may."""

_ROWS = pa.schema(
    [
        pa.field("anchor", pa.int64(), nullable=False),
        pa.field("fields", pa.string(), nullable=False),
        pa.field("subscription_id", pa.string(), nullable=False),
        pa.field("asked", pa.int64(), nullable=False),
        pa.field("created_at_ms", pa.int64(), nullable=False),
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
_UNGUARDED = -1
_Clause = dict[str, Any]  # Any: columns of ``_CLAUSE`` and ``_ROWS``

_CANDIDATE = """
    key = anchor AND timestamp_ms >= created_at_ms
    AND forall(needed, n -> array_contains(facts, n)) AND NOT exists(barred, n -> array_contains(facts, n))
    AND (guard_shape < 0 OR {guard})
    AND (size(earlier) = 0 OR NOT arrays_overlap(earlier, keys))
"""
"""Whether a key leads to a subscription that may match and that no earlier anchor of it has found already."""

_REST = "exists(ways, way -> forall(way, clause -> exists(clause.tests, t -> {test}) = clause.wanted))"
_WITH_DOCUMENT = "exists(array(try_parse_json(event)), {name} -> {rest})"
_APART = "size(array_sort(array(spark_partition_id()), (a, b) -> 0))"
"""Always 1, and twice in the way of Spark's optimiser: the number of a partition keeps the question out of the join, a
comparator keeps it out of the method that is compiled for a whole stage. By itself a question is compiled in small
methods, which no number of shapes makes too large for Java, and the join stays small enough to be compiled early."""

_HOLDS = f"if(size(ways) = 0 OR {_APART} < 1, true, {{rest}})"
"""What is left to ask. The document is parsed once a candidate, unless it was for each event."""


@dataclass(frozen=True)
class Index:
    """All subscriptions, ready to be matched.

    Attributes
    ----------
    rows : one row per (anchor, subscription): the ``fields`` of the anchor, ``earlier`` anchors of the same
        subscription, which would have found the event already, the facts that are ``needed`` or ``barred``, of the
        fields in ``facts``, and the ``ways`` that are left to ask about, none when the facts say it all
    shapes : what the numbers in ``rows`` stand for
    taken : the paths whose texts ``rows`` know by a name of their own
    """

    rows: pa.Table
    shapes: Shapes
    taken: TakenPaths
    _frames: list[DataFrame] = field(default_factory=list, repr=False, compare=False)

    def changed(self, gone: Collection[str], plans: Iterable[Plan]) -> Index:
        """Return the index without the subscriptions ``gone`` and with ``plans``; other rows stay as they are."""
        added = list(plans)
        stale = pa.array([*gone, *(plan.subscription_id for plan in added)], pa.string())
        kept = self.rows.filter(pc.invert(pc.is_in(self.rows["subscription_id"], value_set=stale)))
        rows = pa.concat_tables([kept, _table(added, self.shapes, self.taken)]).combine_chunks()
        return Index(rows, self.shapes, self.taken)

    @cached_property
    def keys(self) -> Expression:
        """Return the expression for the numbers of the anchors that an event states, each once."""
        known = sorted(pc.unique(self.rows["fields"]).to_pylist())
        return stated([tuple(one.split(_BESIDE)) if one else () for one in known])

    @cached_property
    def facts(self) -> Expression:
        """Return the expression for the numbers of the facts that an event states and that some row needs or bars."""
        known = {one for row in pc.unique(self.rows["facts"]).to_pylist() for one in row.split(_BESIDE) if one}
        return stated([(field,) for field in sorted(known)])

    @cached_property
    def candidate(self) -> Expression:
        """Return the expression for whether a key leads to a row that may match."""
        numbers = sorted(set(pc.unique(self.rows["guard_shape"]).to_pylist()) - {_UNGUARDED})
        return _CANDIDATE.format(guard=self.shapes.guard(numbers))

    @cached_property
    def holds(self) -> Expression:
        """Return the expression for whether a candidate matches."""
        tests = pc.list_flatten(pc.struct_field(pc.list_flatten(pc.list_flatten(self.rows["ways"])), "tests"))
        numbers = sorted(pc.unique(pc.struct_field(tests, "shape")).to_pylist())
        rest = _REST.format(test=self.shapes.expression(numbers))
        if self.reads_document and not self.taken.names:
            rest = _WITH_DOCUMENT.format(name=DOCUMENT, rest=rest)
        return _HOLDS.format(rest=rest)

    @cached_property
    def reads_document(self) -> bool:
        """Say whether any condition looks into the document."""
        return bool(self.taken.names) or bool(pc.any(self.rows["reads_document"]).as_py())

    def unindexed(self) -> list[str]:
        """Return the subscriptions that every event is asked about, for want of an anchor."""
        return sorted(self.rows.filter(pc.equal(self.rows["fields"], ""))["subscription_id"].to_pylist())

    def frame(self, session: SparkSession) -> DataFrame:
        """Return ``rows`` as a frame, made by the first session that asks and kept: the rows go to the JVM once."""
        if not self._frames:
            self._frames.append(session.createDataFrame(self.rows.drop_columns(["fields", "facts"])))
        return self._frames[0]


def index_of(plans: Sequence[Plan]) -> Index:
    """Return the index of ``plans``; disabled ones and those about no resource are left out."""
    shapes, taken = Shapes(), TakenPaths()
    return Index(_table(plans, shapes, taken), shapes, taken)


def matches(events: DataFrame, index: Index, *, columns: Sequence[str] = ()) -> DataFrame:
    """Return which events match which subscriptions.

    Grain: one row per (event, subscription, case of what is left to ask of people); ``frames.each_once`` joins cases.
    Reads the columns of ``schema.EVENTS``; returns ``log_offset``, ``subscription_id``, ``asked`` and the ``columns``
    wanted. No order. No shuffle; the index is broadcast. Streaming-safe.
    """
    kept = list(dict.fromkeys(("log_offset", *columns)))
    known = _with_texts(events, index.taken)
    stating = known.selectExpr("*", f"{index.keys} AS keys", f"{index.facts} AS facts")
    keyed = stating.selectExpr("*", "explode(keys) AS key")
    subscriptions = F.broadcast(index.frame(events.sparkSession))
    candidates = keyed.join(subscriptions, F.expr(index.candidate))
    if index.reads_document:  # what is not asked for is not carried along
        carried = DOCUMENT if index.taken.names else "event"
        candidates = candidates.withColumn(carried, F.expr(f"if(reads_document, {carried}, NULL)"))
    return candidates.where(index.holds).select(*kept, "subscription_id", "asked")


def _with_texts(events: DataFrame, taken: TakenPaths) -> DataFrame:
    """Return ``events`` with their document parsed, and the texts at the paths that are taken out of it, if any are.

    Beside texts that many search stand their words.
    """
    if not taken.names:
        return events
    texts = [f"{texts_at(path)} AS {name}" for path, name in taken.names.items()]
    words = [f"{_words_in(name)} AS {words_of(name)}" for name in sorted(taken.worded)]
    return with_document(events).selectExpr("*", *texts).selectExpr("*", *words)


def _words_in(texts: str) -> Expression:
    return f"flatten(transform({texts}, t -> split(t, {literal(BETWEEN_WORDS)})))"


def _table(plans: Sequence[Plan], shapes: Shapes, taken: TakenPaths) -> pa.Table:
    taken.count(plans)
    worded = taken.worded
    cases = (_on_texts(case, taken) for plan in plans for case in plan.cases())
    return pa.Table.from_pylist([row for case in cases for row in _rows(case, shapes, worded)], schema=_ROWS)


def _on_texts(case: Plan, taken: TakenPaths) -> Plan:
    return replace(case, node=taken.rewritten(case.node)) if case.node is not None and taken.names else case


def _rows(plan: Plan, shapes: Shapes, worded: Collection[str]) -> Iterable[_Clause]:
    """Yield a row per anchor of ``plan``."""
    found = ways(plan, worded)
    anchors = list(dict.fromkeys(anchor for way in found for anchor in way.anchors))
    numbers = list(map(number_of, anchors))
    for at, anchor in enumerate(anchors):
        left = [_asked(way, anchor) for way in found if not set(way.anchors).isdisjoint(anchors[at:])]
        needed, barred = _needed(left), _barred(left)
        yield {
            "anchor": numbers[at],
            "fields": _BESIDE.join(anchor.fields),
            "subscription_id": plan.subscription_id,
            "asked": plan.asked,
            "created_at_ms": plan.created_at_ms,
            "earlier": numbers[:at],
            "facts": _BESIDE.join(sorted({fact.field for fact in needed | barred})),
            "needed": _numbers(needed),
            "barred": _numbers(barred),
            **_guarded([_clauses(_without(one, needed, barred), shapes) for one in left], shapes),
        }


def _asked(way: Way, anchor: Anchor) -> Conjunction:
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
    """Return the ways with their guard: a question that all of them ask and that is quick to answer.

    It is taken out of them when it says all that its test asks; such a one is preferred.
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
    """Return the columns of a row that say what is asked beside facts."""
    numbers = {test["shape"] for way in ways for clause in way for test in clause["tests"]}
    asked = {"ways": ways, "reads_document": shapes.read_document(numbers)}
    if guard is None:
        return {"guard_shape": _UNGUARDED, "guard": None, **asked}
    (test,) = guard["tests"]
    return {"guard_shape": test["shape"], "guard": shapes.guard_text(test["shape"], test["texts"][0]), **asked}


def _clauses(asked: Conjunction, shapes: Shapes) -> list[_Clause]:
    groups = sorted(asked.groups, key=lambda group: (len(group), repr(sorted(map(repr, group)))))
    wanted = [{"wanted": True, "tests": shapes.tests(group)} for group in groups]
    forbidden = [{"wanted": False, "tests": shapes.tests(asked.forbidden)}] if asked.forbidden else []
    return wanted + forbidden
