"""Tests of Spark's streaks against the fold in Python, on generated histories, many in one Spark job."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.parity.logged import events_frame, logged

from tocsin.conditions.fields import STREAK_FIELDS
from tocsin.flow.match.streak import report_of, with_facts
from tocsin.model.change import SILENCE, LoggedEvent
from tocsin.spark.schema import COLUMNS, EVENTS
from tocsin.spark.streaks import with_streaks

pytestmark = pytest.mark.spark

_START_MS = 1_699_999_000_000
_STATUSES = ["Success", "Successful", "Failed", "Aborted", "Pending", "Skipped"]
_happenings = st.tuples(
    st.sampled_from(["a", "b", "c"]), st.sampled_from([*_STATUSES, "silence", "edit"]), st.integers(0, 20)
)


def event(offset: int, entity: str, what: str, minute: int) -> LoggedEvent:
    """Return an event of an entity at that minute."""
    at_ms = _START_MS + minute * 60_000
    change: dict[str, object]
    match what:
        case "edit":
            change = {"fieldsAdded": [{"name": "tags"}]}
        case "silence":
            change = {"fieldsAdded": [{"name": SILENCE, "newValue": {"timestamp": at_ms}}]}
        case status:
            run = {"executionStatus": status, "timestamp": at_ms}
            change = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": run}]}
    return logged(offset, entityId=entity, entityType="pipeline", eventType="entityUpdated", changeDescription=change)


def history(happenings: list[tuple[str, str, int]]) -> list[LoggedEvent]:
    return [event(offset, *one) for offset, one in enumerate(happenings, start=1)]


def folded(log: list[LoggedEvent]) -> dict[int, dict[str, object]]:
    """Return the facts of every event, each computed from those before it."""
    found: dict[int, dict[str, object]] = {}
    for one in log:
        before = (report_of(other) for other in log[: one.offset - 1] if other.event.entity_id == one.event.entity_id)
        derived = with_facts(one, [report for report in before if report is not None]).derived
        found[one.offset] = {COLUMNS[name]: derived.get(name) for name in STREAK_FIELDS}
    return found


@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(_happenings, min_size=60, max_size=150), st.randoms())
def test_a_batch_has_the_states_of_the_fold(
    spark: SparkSession, happenings: list[tuple[str, str, int]], chance: object
) -> None:
    log = history(happenings)
    shuffled = list(log)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    frame = with_streaks(events_frame(spark, shuffled))
    assert frame.columns == EVENTS.names
    rows = [row.asDict() for row in frame.collect()]
    assert len(rows) == len(log)
    columns = [COLUMNS[name] for name in STREAK_FIELDS]
    assert {row["log_offset"]: {name: row[name] for name in columns} for row in rows} == folded(log)
