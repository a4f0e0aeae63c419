"""Tests of the states of runs: neither the order of events nor their repetition makes a difference."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from tests.serving import Json

from tocsin.sources.openlineage.events import LineageEvent
from tocsin.sources.openlineage.runs import MOST_RUNS, MOST_TASKS, place_of, status_of, with_event

RUN = str(UUID(int=1))
NOW_MS = 1_800_000_000_000
SECOND = st.integers(0, 59)
STATES = st.sampled_from(("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"))


def event_of(state: str, second: int, run: str = RUN, job: str = "nightly", *, is_task: bool = False) -> LineageEvent:
    parent: Json = {"run": {"runId": RUN}, "job": {"namespace": "spark", "name": "nightly"}}
    return LineageEvent.model_validate(
        {
            "eventType": state,
            "eventTime": f"2025-10-09T08:00:{second:02}Z",
            "run": {"runId": run, "facets": {"parent": parent} if is_task else {}},
            "job": {"namespace": "spark", "name": job},
        }
    )


def own_events() -> st.SearchStrategy[LineageEvent]:
    return st.builds(event_of, STATES, SECOND)


def task_events() -> st.SearchStrategy[LineageEvent]:
    runs = st.sampled_from([str(UUID(int=number)) for number in (2, 3)])
    jobs = st.sampled_from(("nightly.load", "nightly.write"))
    return st.builds(lambda *parts: event_of(*parts, is_task=True), STATES, SECOND, runs, jobs)


def status_after(events: list[LineageEvent]) -> Json:
    runs: Json = {}
    for event in events:
        place = place_of(event)
        assert place is not None
        runs = with_event(runs, place, event, now_ms=NOW_MS)
    status = status_of(RUN, runs[RUN])
    del status["timestamp"]  # that of the event that came first
    return status


@given(st.data(), st.lists(own_events() | task_events(), min_size=1, max_size=8))
def test_neither_order_nor_repetition_makes_a_difference(data: st.DataObject, events: list[LineageEvent]) -> None:
    expected = status_after(events)
    shuffled = data.draw(st.permutations(events))
    repeated = data.draw(st.lists(st.sampled_from(events), max_size=3))
    assert status_after([*shuffled, *repeated]) == expected


@given(st.lists(own_events(), min_size=1, max_size=6))
def test_a_run_that_has_failed_stays_failed(events: list[LineageEvent]) -> None:
    has_failed = any(event.event_type in ("FAIL", "ABORT") for event in events)
    assert (status_after(events)["executionStatus"] == "Failed") is has_failed


def test_the_root_of_a_deep_hierarchy_is_the_pipeline() -> None:
    root = {"run": {"runId": RUN}, "job": {"namespace": "airflow", "name": "dag"}}
    parent = {"run": {"runId": str(UUID(int=5))}, "job": {"namespace": "airflow", "name": "dag.task"}, "root": root}
    event = LineageEvent.model_validate(
        {
            "eventTime": "2025-10-09T08:00:00Z",
            "run": {"runId": str(UUID(int=6)), "facets": {"parent": parent}},
            "job": {"namespace": "spark", "name": "application"},
        }
    )
    place = place_of(event)
    assert place is not None
    assert (place.pipeline, place.run_id, place.task) == (("airflow", "dag"), RUN, "application")


def test_two_runs_of_a_pipeline_never_share_a_moment_and_old_ones_go() -> None:
    runs: Json = {}
    for number in range(MOST_RUNS + 5):
        event = event_of("COMPLETE", 0, str(UUID(int=100 + number)))
        place = place_of(event)
        assert place is not None
        runs = with_event(runs, place, event, now_ms=NOW_MS)
    assert len({run["at"] for run in runs.values()}) == len(runs) == MOST_RUNS


def test_a_run_of_the_future_takes_no_place_from_those_of_today() -> None:
    runs: Json = {}
    for number in range(MOST_RUNS):
        event = event_of("COMPLETE", 59, str(UUID(int=100 + number)))
        place = place_of(event)
        assert place is not None
        runs = with_event(runs, place, event, now_ms=event.at_ms - 60_000)
    event = event_of("COMPLETE", 1)
    place = place_of(event)
    assert place is not None
    assert RUN in with_event(runs, place, event, now_ms=NOW_MS)
    assert max(run["at"] for run in runs.values()) < event.at_ms


def test_a_failed_task_is_kept_among_many() -> None:
    runs: Json = {}
    for number in range(MOST_TASKS + 20):
        state = "FAIL" if number == 0 else "COMPLETE"
        event = event_of(state, number % 60, str(UUID(int=100 + number)), f"nightly.t{number}", is_task=True)
        place = place_of(event)
        assert place is not None
        runs = with_event(runs, place, event, now_ms=NOW_MS)
    status = status_of(RUN, runs[RUN])
    assert len(status["taskStatus"]) == MOST_TASKS
    assert (status["executionStatus"], status["error"]["failedTask"]) == ("Failed", "t0")
