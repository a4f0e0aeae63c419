"""Tests of one event with very many changes: the work of wording it grows with their number, not with its square."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.delivery.events import change_event, deletion_of

from tocsin.delivery.wording.changes import event_text
from tocsin.model.announcement import Announcement, ChangeOutcome
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeDescription, ChangeEvent, FieldChange

COUNT = 300
MOST_STEPS_EACH = 30


class CountedText(str):
    """A text that counts how often it is compared or looked up."""

    __slots__ = ()
    steps = 0

    def __hash__(self) -> int:
        CountedText.steps += 1
        return super().__hash__()

    def __eq__(self, value: object) -> bool:
        CountedText.steps += 1
        return super().__eq__(value)


@pytest.fixture(autouse=True)
def counter() -> None:
    CountedText.steps = 0


def type_change(place: int) -> FieldChange:
    return FieldChange(name=f"columns.c{place}.dataType", old_value="BIGINT", new_value="INT")


def breaking_event(described: ChangeDescription, kind: BreakingKind) -> ChangeEvent:
    """Return an event of which each column breaks readers, each announced."""
    fields = [CountedText(f"columns.c{place}") for place in range(COUNT)]
    reason = BreakingReason(kind=kind, before="BIGINT", after="INT")
    announcement = Announcement(request="CR-1", outcome=ChangeOutcome.AS_ANNOUNCED)
    reasons = tuple(reason.model_copy(update={"field": field}) for field in fields)
    announcements = tuple(announcement.model_copy(update={"field": field}) for field in fields)
    return change_event(described).model_copy(update={"breaking_reasons": reasons, "announcements": announcements})


def test_each_column_of_many_that_break_readers_is_looked_up_a_few_times() -> None:
    described = ChangeDescription(fields_updated=tuple(map(type_change, range(COUNT))))
    lines = event_text(breaking_event(described, BreakingKind.TYPE_NARROWED)).lines
    assert [line.text for line in lines[:2]] == [
        f"breaking, as announced by CR-1: column c{place} BIGINT → INT" for place in range(2)
    ]
    assert CountedText.steps < MOST_STEPS_EACH * COUNT


def test_each_removed_column_is_looked_up_a_few_times() -> None:
    columns: list[dict[str, Any]] = [{"name": f"c{place}", "dataType": "INT"} for place in range(COUNT)]
    lines = event_text(breaking_event(deletion_of("columns", columns), BreakingKind.FIELD_REMOVED)).lines
    assert lines[0].text == "breaking, as announced by CR-1: column c0 INT removed"
    assert CountedText.steps < MOST_STEPS_EACH * COUNT


def test_the_columns_of_a_table_are_read_once_for_all_that_are_retyped() -> None:
    columns = [{"name": CountedText(f"c{place}"), "dataType": "INT"} for place in range(COUNT)]
    described = ChangeDescription(fields_updated=tuple(map(type_change, range(COUNT))))
    event = change_event(described).model_copy(update={"entity": {"name": "orders", "columns": columns}})
    assert event_text(event).lines[0].text == "column c0 BIGINT → INT"
    assert CountedText.steps < MOST_STEPS_EACH * COUNT
