"""Which subscriptions does each event match? All events against all subscriptions at once.

Subscriptions are rows, not code: each condition's normal form becomes rows that hang from an anchor fact, events
explode into their facts, and a broadcast join finds the candidates (``docs/decisions/0002-facts-and-anchors.md``).
Next: ``spark/resolve.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # the name everybody knows it by

from tocsin.conditions.fields import has
from tocsin.conditions.nodes import Constant, Node, conjoined
from tocsin.conditions.normal_form import Conjunction, Disjunction, Fact, normal_form
from tocsin.flow.match.plan import ALL_RESOURCES, Plan
from tocsin.spark.conditions import DOCUMENT, Expression, expression, literal, texts_of, with_document

EVERY = "*"
"""The fact that every event has: the anchor of what has no other."""

_BY_RARITY = (
    *("entityId", "fqnPath", "entityFullyQualifiedName", "testedNames", "testedEntityFqn", "testSuites", "userId"),
    *("tags", "owners", "userName", "tier", "service", "domains", "testStatus", "pipelineStatus"),
    *("fieldsDeleted", "fieldsAdded", "fieldsUpdated", "fieldChanged", "eventType", "entityType", "isBot"),
)
"""Fields from the one whose values are rarest among events to the one whose values are commonest."""

_ROWS = pa.schema(
    [
        pa.field("anchor", pa.string(), nullable=False),
        pa.field("subscription_id", pa.string(), nullable=False),
        pa.field("created_at_ms", pa.int64(), nullable=False),
        pa.field("earlier", pa.list_(pa.string()), nullable=False),
        pa.field(
            "ways",
            pa.list_(
                pa.struct(
                    [
                        pa.field("groups", pa.list_(pa.list_(pa.string()))),
                        pa.field("forbidden", pa.list_(pa.string())),
                    ]
                )
            ),
            nullable=False,
        ),
    ]
)


_FOUND = """
    fact = anchor AND timestamp_ms >= created_at_ms AND NOT arrays_overlap(earlier, facts) AND exists(ways, way ->
        forall(way.groups, alternatives -> arrays_overlap(alternatives, facts))
        AND NOT arrays_overlap(way.forbidden, facts))
"""
"""Whether a fact leads to a subscription that matches and that no earlier anchor of it has found already."""


@dataclass(frozen=True)
class Index:
    """All subscriptions, ready to be matched.

    Attributes
    ----------
    rows : one row per (anchor fact, subscription): ``earlier`` anchors of the same subscription, which would have
        found the event already, and the ``ways`` its condition can hold
    facts : the expression for what an event states: an array of distinct texts, ``field=value`` or the name of a
        test (a condition that is no equality, evaluated once per event) that is true
    """

    rows: pa.Table
    facts: Expression


def index_of(plans: Sequence[Plan]) -> Index:
    """Return the index of ``plans``; disabled ones and those about no resource are left out."""
    names = _Names()
    rows = [row for plan in plans if plan.enabled and plan.resources for row in _rows(plan, names)]
    return Index(pa.Table.from_pylist(rows, schema=_ROWS), names.facts())


def matches(events: DataFrame, index: Index, *, columns: Sequence[str] = ()) -> DataFrame:
    """Return which events match which subscriptions.

    Grain: one row per (event, subscription). Reads the columns of ``schema.EVENTS``; returns ``log_offset``,
    ``subscription_id`` and the ``columns`` asked for. No order. No shuffle; the index is broadcast. Streaming-safe.
    """
    kept = list(dict.fromkeys(("log_offset", *columns)))
    subscriptions = F.broadcast(events.sparkSession.createDataFrame(index.rows))
    parsed = with_document(events) if DOCUMENT in index.facts else events
    stated = parsed.selectExpr(*dict.fromkeys((*kept, "timestamp_ms")), f"{index.facts} AS facts")
    exploded = stated.selectExpr("*", "explode(facts) AS fact")
    return exploded.join(subscriptions, F.expr(_FOUND)).select(*kept, "subscription_id")


class _Names:
    """What the index calls the tests it has met."""

    def __init__(self) -> None:
        self._fields: set[str] = set()
        self._tests: dict[Node, str] = {}

    def of(self, term: Fact | Node) -> str:
        """Return the fact that says ``term`` is true."""
        if isinstance(term, Fact):
            self._fields.add(term.field)
            return f"{term.field}={term.value}"
        return self._tests.setdefault(term, f"?{len(self._tests)}")

    def facts(self) -> Expression:
        """Return the expression for all that an event states of what the index has met."""
        arrays = [f"array({literal(EVERY)})"]
        arrays += [f"transform({texts_of(f)}, v -> concat({literal(f'{f}=')}, v))" for f in sorted(self._fields)]
        if self._tests:
            tests = [f"CASE WHEN {expression(node)} THEN {literal(name)} END" for node, name in self._tests.items()]
            arrays.append(f"array_compact(array({', '.join(tests)}))")
        return f"array_distinct(concat({', '.join(arrays)}))"


@dataclass(frozen=True)
class _Way:
    """One conjunction in the names of the index; ``anchors`` is the group it is found by."""

    anchors: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    forbidden: tuple[str, ...]


def _rows(plan: Plan, names: _Names) -> Iterable[dict[str, object]]:
    """Yield a row per anchor of ``plan``."""
    ways = sorted(
        (_way(c, names) for c in _disjunction(plan)), key=lambda way: (way.anchors, way.groups, way.forbidden)
    )
    anchors = list(dict.fromkeys(anchor for way in ways for anchor in way.anchors))
    for at, anchor in enumerate(anchors):
        found = [way for way in ways if set(way.anchors) & set(anchors[at:])]
        yield {
            "anchor": anchor,
            "subscription_id": plan.subscription_id,
            "created_at_ms": plan.created_at_ms,
            "earlier": anchors[:at],
            "ways": [_row(way, anchor) for way in found],
        }


def _row(way: _Way, anchor: str) -> dict[str, object]:
    """Return one way to match; a group that the anchor itself fulfils need not be asked again."""
    return {"groups": [group for group in way.groups if anchor not in group], "forbidden": way.forbidden}


def _disjunction(plan: Plan) -> Disjunction | frozenset[Conjunction]:
    """Return the normal form of the whole plan; one that is too large becomes one test of its own."""
    about = Constant(True) if ALL_RESOURCES in plan.resources else has("entityType", plan.resources)
    condition_of = plan.node or Constant(True)
    form = normal_form(conjoined(about, condition_of))
    if form is not None:
        return form
    whole: Conjunction = Conjunction(groups=frozenset({frozenset({condition_of})}))  # type: ignore[arg-type]  # any node
    gate = normal_form(about) or frozenset()
    return frozenset(Conjunction(whole.groups | conjunction.groups) for conjunction in gate)


def _way(conjunction: Conjunction, names: _Names) -> _Way:
    groups = tuple(sorted(tuple(sorted(map(names.of, group))) for group in conjunction.groups))
    anchors = min(groups, key=_commonness, default=(EVERY,))
    return _Way(anchors, groups, tuple(sorted(map(names.of, conjunction.forbidden))))


def _commonness(group: tuple[str, ...]) -> tuple[int, int]:
    """Return how often an event can be expected to have a fact of ``group``; what no fact tells comes last."""
    ranks = [_rank(name) for name in group]
    return max(ranks), len(group)


def _rank(name: str) -> int:
    if name.startswith("?"):
        return _BY_RARITY.index("testStatus")
    return _BY_RARITY.index(name.partition("=")[0])
