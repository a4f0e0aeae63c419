"""Tests of the sample's history: reproducible, in order, and about existing entities."""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Any

import pytest

from tocsin.flow.capture import json_patch
from tocsin.sample.assets import assets
from tocsin.sample.calendar import DAY_MS, Calendar
from tocsin.sample.company import DEMO_FOLLOWS, DEMO_PERSON, PEOPLE
from tocsin.sample.edits import AssetDraft, edit
from tocsin.sample.history import history
from tocsin.sample.steps import ChangeStep, Connect, Create, Follow, ReportResult, ReportRun, Retire, SampleStep

NOW_MS = 1_790_000_000_000

pytestmark = pytest.mark.xdist_group("sample history")  # one worker has what all of them look at


@pytest.fixture(scope="module")
def year() -> list[SampleStep]:
    return history(NOW_MS)


def test_the_same_seed_generates_the_same_history(year: list[SampleStep]) -> None:
    assert history(NOW_MS) == year
    assert history(NOW_MS, seed=1) != year


def test_the_story_fills_the_year_before_now_in_order(year: list[SampleStep]) -> None:
    times = [step.at_ms for step in year]
    assert times == sorted(times)
    assert NOW_MS - 367 * DAY_MS < times[0] < NOW_MS - 364 * DAY_MS
    assert NOW_MS - 2 * DAY_MS < times[-1] < NOW_MS


@pytest.mark.parametrize("hour", range(0, 24, 5))
def test_nothing_lies_in_the_future_at_any_time_of_day(hour: int) -> None:
    now_ms = NOW_MS - NOW_MS % DAY_MS + hour * DAY_MS // 24
    assert max(step.at_ms for step in history(now_ms)) < now_ms


def test_there_are_about_1500_steps_of_every_kind(year: list[SampleStep]) -> None:
    counts = Counter(type(step.act).__name__ for step in year)
    assert 1_300 <= counts.total() <= 1_700
    assert counts["ChangeStep"] > 300
    assert counts["Follow"] > 80
    assert set(counts) == {
        *(
            "Create",
            "Define",
            "Ensure",
            "Enlist",
            "ChangeStep",
            "Retire",
            "RestoreEntity",
            "Connect",
            "Follow",
            "ReportResult",
            "ReportRun",
        ),
    }


def test_tables_change_in_all_the_ways_that_people_ask_about(year: list[SampleStep]) -> None:
    operation_kinds = {
        (operation["op"], operation["path"].split("/")[-1 if "columns" not in operation["path"] else 1])
        for step in year
        if isinstance(step.act, ChangeStep)
        for operation in step.act.operations
    }
    assert {
        ("add", "description"),
        ("add", "columns"),
        ("remove", "columns"),
        ("replace", "columns"),
        ("add", "tags"),
        ("add", "owners"),
    } <= operation_kinds


def test_nothing_is_changed_before_it_is_there_or_after_it_is_gone(year: list[SampleStep]) -> None:
    exists = {asset.fqn: False for asset in assets()}
    names = {(asset.entity_type, asset.request["name"], _parent(asset.request)): asset.fqn for asset in assets()}
    for step in year:
        match step.act:
            case Create(entity_type, request) if (entity_type, request["name"], _parent(request)) in names:
                exists[names[entity_type, request["name"], _parent(request)]] = True
            case Retire(_, fqn):
                exists[fqn] = False
            case ChangeStep(_, fqn) | Follow(_, fqn):
                assert exists[fqn], step
            case Connect() as edge:
                assert exists[edge.from_fqn], step
                assert exists[edge.to_fqn], step


def test_the_demo_person_follows_what_the_documents_name(year: list[SampleStep]) -> None:
    followed = {step.act.fqn for step in year if isinstance(step.act, Follow) and step.actor == DEMO_PERSON}
    assert set(DEMO_FOLLOWS) <= followed


def test_bots_report_and_people_edit(year: list[SampleStep]) -> None:
    people = {person.name for person in PEOPLE}
    for step in year:
        if isinstance(step.act, ReportResult | ReportRun):
            assert step.actor.endswith("-bot")
        if isinstance(step.act, Follow):
            assert step.actor in people


def test_some_tests_and_runs_failed_lately(year: list[SampleStep]) -> None:
    results = [step.act.result["testCaseStatus"] for step in year if isinstance(step.act, ReportResult)]
    runs = [step.act.status["executionStatus"] for step in year if isinstance(step.act, ReportRun)]
    assert 0.02 < results.count("Failed") / len(results) < 0.2
    assert 0.01 < runs.count("Failed") / len(runs) < 0.2


def test_people_work_on_workdays(year: list[SampleStep]) -> None:
    calendar = Calendar(NOW_MS)
    edited = [step for step in year if isinstance(step.act, ChangeStep) and not step.actor.endswith("-bot")]
    assert all(calendar.is_workday(calendar.day_of(step.at_ms)) for step in edited)


def test_an_edit_changes_the_draft_as_it_changes_the_entity() -> None:
    rng = Random(7)
    for asset in assets():
        draft = AssetDraft(asset)
        document = copy.deepcopy(asset.request)
        for _ in range(12):
            document = json_patch.apply(asset.entity_type, document, edit(draft, rng, governs=rng.random() < 0.5))
        assert [label["tagFQN"] for label in document["tags"]] == draft.tags
        assert [_plain(one) for one in document.get("columns", [])] == [_plain(one) for one in draft.columns]
        assert [task["name"] for task in document.get("tasks", [])] == [
            task["name"] for task in draft.document.get("tasks", [])
        ]


@pytest.mark.parametrize("days_later", range(8))
def test_every_change_finds_what_the_one_before_it_left_whatever_day_it_is(days_later: int) -> None:
    """Workdays depend on the day of the week, so every start day gives another history."""
    entities = {asset.fqn: copy.deepcopy(asset.request) for asset in assets()}
    for step in history(NOW_MS + days_later * DAY_MS + days_later * 7_000_000):
        if isinstance(step.act, ChangeStep):
            fqn, before = step.act.fqn, entities[step.act.fqn]
            entities[fqn] = json_patch.apply(step.act.entity_type, before, step.act.operations)
            assert entities[fqn] != before, step
            names = [one["name"] for one in entities[fqn].get("columns", [])]
            assert len(set(names)) == len(names), step
            assert _changed_column_count(before, entities[fqn]) <= 1, step


def _changed_column_count(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Return how many columns came or went."""
    return len({one["name"] for one in before.get("columns", [])} ^ {one["name"] for one in after.get("columns", [])})


def _plain(column: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in column.items() if value}


def _parent(request: dict[str, object]) -> object:
    return request.get("databaseSchema") or request.get("service")
