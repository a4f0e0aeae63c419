"""Matching over DataFrames: all events against all subscriptions at once.

Subscriptions are rows, not code. Each is indexed by anchors (``flow/match/indexing.py``) that an event must have. The
facts of each event are exploded, a broadcast join finds the candidates, and the residual conditions are evaluated for
those only, as programs over signatures (``spark/programs.py``, ``docs/decisions/0002-facts-and-anchors.md``).
Next: ``jobs/resolving.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # the name everybody knows it by
from pyspark.sql.types import ArrayType

from tocsin.conditions.relations import ANYBODY
from tocsin.flow.match.extracted_paths import TakenPaths
from tocsin.flow.match.plan import Plan
from tocsin.spark.anchors import anchor_hashes
from tocsin.spark.extracted_values import with_extracted_values
from tocsin.spark.index_rows import ROWS, SEPARATOR, UNGUARDED, rows_of
from tocsin.spark.programs import accepts
from tocsin.spark.schema import NUMBER, TEXT, struct_of
from tocsin.spark.signatures import Shapes

_CANDIDATE = """
    key = anchor AND log_offset >= since_offset
    AND (NOT coalesce(recorded, false) OR timestamp_ms >= created_at_ms)
    AND NOT coalesce(late, false) AND (reported_at IS NULL OR reported_at >= created_at_ms)
    AND forall(needed, n -> array_contains(facts, n)) AND NOT exists(barred, n -> array_contains(facts, n))
"""
_IS_GUARDED = "guard_shape >= 0"
_IS_FIRST = "size(earlier) = 0 OR NOT arrays_overlap(earlier, keys)"
"""Whether no earlier anchor of the subscription has found the event already."""

SKIPPED = "skipped"
"""The column of events with the alerts that they are not matched with (``with_skipped_alerts``); optional."""

_SKIPPED = struct_of(("log_offset", NUMBER), (SKIPPED, ArrayType(TEXT)))
_APART = "size(array_sort(array(spark_partition_id()), (a, b) -> 0)) < 1"
"""Never true, and twice in the way of Spark's optimiser: the number of a partition keeps the residual conditions out of
the join, a comparator keeps them out of the method that is compiled for a whole stage. By themselves they are compiled
in small methods, which no number of signatures makes too large for Java, and the join stays small enough to be compiled
early."""


@dataclass(frozen=True)
class Index:
    """All subscriptions, ready to be matched.

    Attributes
    ----------
    table : one row per (anchor, subscription): the ``fields`` of the anchor, ``earlier`` anchors of the same
        subscription, which would have found the event already, the facts that are ``needed`` or ``barred``, of the
        fields in ``facts``, and the residual ``ways`` to evaluate, none when the facts decide
    shapes : the signatures that the numbers in ``table`` refer to
    extracted_paths : the paths whose texts or numbers ``table`` knows by a name of their own
    """

    table: pa.Table
    shapes: Shapes
    extracted_paths: TakenPaths
    _columns: dict[str, tuple[object, Column]] = field(default_factory=dict, repr=False, compare=False)
    _frames: list[DataFrame] = field(default_factory=list, repr=False, compare=False)

    def with_plans(self, removed_ids: Collection[str], plans: Iterable[Plan]) -> Index:
        """Return the index without the subscriptions ``removed_ids`` and with ``plans``; other rows stay."""
        added = list(plans)
        stale = pa.array([*removed_ids, *(plan.subscription_id for plan in added)], pa.string())
        kept_rows = self.table.filter(pc.invert(pc.is_in(self.table["subscription_id"], value_set=stale)))
        index_rows = pa.concat_tables([kept_rows, _table(added, self.shapes, self.extracted_paths)]).combine_chunks()
        return Index(index_rows, self.shapes, self.extracted_paths, self._columns)

    @property
    def keys(self) -> Column:
        """Return the numbers of the anchors that an event states, each once."""
        combined_fields = sorted(pc.unique(self.table["fields"]).to_pylist())
        combinations = tuple(tuple(fields.split(SEPARATOR)) if fields else () for fields in combined_fields)
        return self._keep("keys", combinations, lambda: anchor_hashes(combinations))

    @property
    def facts(self) -> Column:
        """Return the numbers of the facts that an event states and that some row needs or bars."""
        field_names = {
            field for row in pc.unique(self.table["facts"]).to_pylist() for field in row.split(SEPARATOR) if field
        }
        combinations = tuple((field,) for field in sorted(field_names))
        return self._keep("facts", combinations, lambda: anchor_hashes(combinations))

    @property
    def candidate(self) -> Column:
        """Return whether a key leads to a row that may match."""
        numbers = sorted(set(pc.unique(self.table["guard_shape"]).to_pylist()) - {UNGUARDED})

        def candidate() -> Column:
            passes_guard = ~F.expr(_IS_GUARDED) | self.shapes.guard(numbers)
            return F.expr(_CANDIDATE) & passes_guard & F.expr(_IS_FIRST)

        return self._keep("candidate", numbers, candidate)

    @property
    def holds(self) -> Column:
        """Return whether a candidate matches.

        The document is parsed once per candidate that asks it for what was not extracted.
        """
        numbers = sorted(pc.unique(pc.struct_field(pc.list_flatten(self.table["program"]), "shape")).to_pylist())

        def passes_residual(document: Column) -> Column:
            return accepts(F.col("program"), lambda test: self.shapes.passes(test, document, numbers))

        def full_condition() -> Column:
            condition = (
                F.exists(F.array(F.try_parse_json("event")), passes_residual)
                if self.reads_candidates_documents
                else passes_residual(F.lit(None))
            )
            return F.when((F.size("program") == 0) | F.expr(_APART), F.lit(True)).otherwise(condition)

        return self._keep("holds", (self.reads_candidates_documents, numbers), full_condition)

    def _keep(self, name: str, made_of: object, column: Callable[[], Column]) -> Column:
        """Return ``column()``, kept for indexes that come of this one and need the same: it takes many JVM calls."""
        kept_column = self._columns.get(name)
        if kept_column is None or kept_column[0] != made_of:
            kept_column = self._columns[name] = (made_of, column())
        return kept_column[1]

    @cached_property
    def reads_document(self) -> bool:
        """Return whether any condition reads the document."""
        return bool(self.extracted_paths.names) or self.reads_candidates_documents

    @cached_property
    def reads_candidates_documents(self) -> bool:
        """Return whether any condition asks the document for what was not extracted."""
        return bool(pc.any(self.table["reads_document"]).as_py())

    def only(self, subscription_ids: Collection[str]) -> Index:
        """Return the index with these subscriptions alone."""
        return self.with_plans(set(self.subscription_ids()).difference(subscription_ids), ())

    def by_facts(self) -> Index:
        """Return the index without residual conditions: every alert whose facts are present matches."""
        unconditional = {
            "guard_shape": pa.repeat(pa.scalar(UNGUARDED, pa.int32()), self.table.num_rows),
            "program": pa.array([[]] * self.table.num_rows, ROWS.field("program").type),
            "reads_document": pa.repeat(pa.scalar(False), self.table.num_rows),
        }
        columns = [unconditional.get(name, self.table[name]) for name in ROWS.names]
        return Index(pa.table(columns, schema=ROWS), self.shapes, self.extracted_paths)

    def subscription_ids(self) -> list[str]:
        """Return the subscriptions that have rows, in order."""
        return sorted(pc.unique(self.table["subscription_id"]).to_pylist())

    def costly_ids(self) -> list[str]:
        """Return the subscriptions that ask candidates for more than facts, in order; others cost little."""
        asks = pc.or_(
            pc.greater(pc.list_value_length(self.table["program"]), 0), pc.greater_equal(self.table["guard_shape"], 0)
        )
        return sorted(pc.unique(self.table.filter(asks)["subscription_id"]).to_pylist())

    def unindexed_ids(self) -> list[str]:
        """Return the subscriptions that are evaluated for every event, for want of an anchor."""
        return sorted(self.table.filter(pc.equal(self.table["fields"], ""))["subscription_id"].to_pylist())

    def frame(self, session: SparkSession) -> DataFrame:
        """Return ``table`` as a frame: one row per (anchor, subscription), columns of ``index_rows.ROWS``.

        The first session creates it and it is cached: the rows go to the JVM once.
        """
        if not self._frames:
            self._frames.append(session.createDataFrame(self.table.drop_columns(["fields", "facts"])))
        return self._frames[0]


def index_of(plans: Sequence[Plan]) -> Index:
    """Return the index of ``plans``; disabled ones and those about no resource are left out."""
    shapes, paths = Shapes(), TakenPaths()
    return Index(_table(plans, shapes, paths), shapes, paths)


def matches(events: DataFrame, index: Index, *, columns: Sequence[str] = ()) -> DataFrame:
    """Return the matches of events and subscriptions.

    One row per (event, subscription, case of conditions on the recipient); ``one_row_per_pair`` joins the cases.
    Needs the columns of ``schema.EVENTS``; returns ``log_offset``, ``subscription_id``, ``asked`` and the ``columns``
    wanted. No shuffle, since the index is broadcast: the matches of an event are in its partition and follow
    each other. Streaming-safe.
    """
    output_columns = list(dict.fromkeys(("log_offset", *columns)))
    events_with_values = with_extracted_values(events, index.extracted_paths)
    events_with_facts = events_with_values.select("*", index.keys.alias("keys"), index.facts.alias("facts"))
    events_by_key = events_with_facts.select("*", F.explode_outer("keys").alias("key"))
    subscriptions = F.broadcast(index.frame(events.sparkSession))
    is_candidate = index.candidate
    if SKIPPED in events.columns:
        is_candidate = ~F.coalesce(F.array_contains(SKIPPED, F.col("subscription_id")), F.lit(False)) & is_candidate
    candidates = events_by_key.join(subscriptions, is_candidate)
    if index.reads_candidates_documents:  # what is not asked for is not carried along
        candidates = candidates.withColumn("event", F.when(F.col("reads_document"), F.col("event")))
    return candidates.where(index.holds).select(*output_columns, "subscription_id", "asked")


def with_skipped_alerts(
    events: DataFrame, skipped: Mapping[int, Collection[str]], *, with_others: bool = True
) -> DataFrame:
    """Return events with the column ``SKIPPED``, from the alerts to skip by offset, whose conditions are not evaluated.

    One row per event as before, or, without ``with_others``, per event that is named. No shuffle.
    """
    skipped_rows = [(offset, sorted(alerts)) for offset, alerts in skipped.items()]
    skipped_alerts = F.broadcast(events.sparkSession.createDataFrame(skipped_rows, _SKIPPED))
    return events.join(skipped_alerts, "log_offset", "left" if with_others else "inner")


def one_row_per_pair(matched: pa.Table) -> pa.Table:
    """Return ``matched`` with one row per (event, subscription): the ``asked`` of several cases combined.

    Columns as they were.
    """
    if not matched.num_rows or pc.max(matched["asked"]).as_py() == ANYBODY:
        return matched
    columns = [name for name in matched.column_names if name != "asked"]
    # Cases of one alert share no answer, so that their sum is what all of them ask for.
    together = matched.group_by(columns, use_threads=False).aggregate([("asked", "sum")])
    return together.rename_columns({"asked_sum": "asked"})


def _table(plans: Sequence[Plan], shapes: Shapes, paths: TakenPaths) -> pa.Table:
    paths.count(plans)
    worded = paths.word_fields
    cases = (_on_values(case, paths) for plan in plans for case in plan.cases())
    return pa.Table.from_pylist([row for case in cases for row in rows_of(case, shapes, worded)], schema=ROWS)


def _on_values(case: Plan, paths: TakenPaths) -> Plan:
    return replace(case, node=paths.rewritten(case.node)) if case.node is not None and paths.names else case
