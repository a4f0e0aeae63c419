"""Tests of Spark's streaks against the fold in Python, on generated histories, many in one Spark job."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from tests.parity.logged import event_at_offset, events_frame

from tocsin.conditions.fields import STREAK_FIELDS
from tocsin.flow.match.streak import report_of, with_facts
from tocsin.model.change import SILENCE, LoggedEvent
from tocsin.spark.schema import COLUMNS, EVENTS
from tocsin.spark.streaks import with_streak_facts

pytestmark = pytest.mark.spark

_START_MS = 1_699_999_000_000
_STATUSES = ["Success", "Successful", "Failed", "Aborted", "Pending", "Skipped"]
_happenings = st.tuples(
    st.sampled_from(["a", "b", "c"]), st.sampled_from([*_STATUSES, "silence", "edit"]), st.integers(0, 20)
)


def event(offset: int, entity: str, happening: str, minute: int) -> LoggedEvent:
    """Return an event of an entity at that minute."""
    at_ms = _START_MS + minute * 60_000
    change: dict[str, object]
    match happening:
        case "edit":
            change = {"fieldsAdded": [{"name": "tags"}]}
        case "silence":
            change = {"fieldsAdded": [{"name": SILENCE, "newValue": {"timestamp": at_ms}}]}
        case status:
            run = {"executionStatus": status, "timestamp": at_ms}
            change = {"fieldsUpdated": [{"name": "pipelineStatus", "newValue": run}]}
    return event_at_offset(
        offset, entityId=entity, entityType="pipeline", eventType="entityUpdated", changeDescription=change
    )


def history(happenings: list[tuple[str, str, int]]) -> list[LoggedEvent]:
    return [event(offset, *one) for offset, one in enumerate(happenings, start=1)]


def facts_by_offset(log: list[LoggedEvent]) -> dict[int, dict[str, object]]:
    """Return the facts of every event, each computed from those before it."""
    facts: dict[int, dict[str, object]] = {}
    for reported_event in log:
        before = (
            report_of(earlier)
            for earlier in log[: reported_event.offset - 1]
            if earlier.event.entity_id == reported_event.event.entity_id
        )
        derived = with_facts(reported_event, [report for report in before if report is not None]).derived
        facts[reported_event.offset] = {COLUMNS[name]: derived.get(name) for name in STREAK_FIELDS}
    return facts


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
    frame = with_streak_facts(events_frame(spark, shuffled))
    assert frame.columns == EVENTS.names
    state_rows = [row.asDict() for row in frame.collect()]
    assert len(state_rows) == len(log)
    columns = [COLUMNS[name] for name in STREAK_FIELDS]
    assert {row["log_offset"]: {name: row[name] for name in columns} for row in state_rows} == facts_by_offset(log)
