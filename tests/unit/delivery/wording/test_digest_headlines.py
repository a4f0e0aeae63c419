"""Tests of what the subjects of digests count: each kind of notification by its name, the most important first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.delivery.channels.kinds import KINDS, REMOVAL
from tests.unit.delivery.events import addition_of, dispatch

from tocsin.delivery.wording.digest_headlines import digest_headline
from tocsin.model.change import CHANGE_REQUEST, STILL_WITHOUT_OWNER, ChangeEvent, EventType

OBJECTION = KINDS["change_answered"]

WITHDRAWAL = KINDS["change_announced"].model_copy(
    update={"change_description": addition_of(CHANGE_REQUEST, REMOVAL | {"status": "withdrawn"})}
)


def answer_of(verdict: str) -> ChangeEvent:
    assert OBJECTION.change_description is not None
    (change,) = OBJECTION.change_description.fields_added
    answered = {"answer": verdict, "consumers": 1}
    answer = change.model_copy(update={"new_value": change.new_value | {"answered": answered}})
    description = OBJECTION.change_description.model_copy(update={"fields_added": (answer,)})
    return OBJECTION.model_copy(update={"change_description": description})


def without_owner(entity_type: str, name: str) -> ChangeEvent:
    changes = {"change_description": addition_of(STILL_WITHOUT_OWNER, {}), "event_type": EventType.SCHEDULED_CHECK}
    changes |= {"entity_type": entity_type, "entity": {"id": name, "name": name}}
    return OBJECTION.model_copy(update=changes)


@pytest.mark.parametrize(
    ("events", "headline"),
    [
        (
            [without_owner("table", "a"), without_owner("table", "b")],
            "2 tables without owner: a, b",
        ),
        ([without_owner("table", "a")], "1 table without owner: a"),
        ([without_owner("table", "a"), without_owner("glossary", "b")], "2 assets without owner: a, b"),
        ([without_owner("glossary", "a"), without_owner("glossary", "b")], "2 glossaries without owner: a, b"),
        ([answer_of("canMove"), answer_of("objects"), answer_of("needsTime")], "1 objection, 2 answers: orders"),
        ([KINDS["change_announced"], KINDS["change_reminder"]], "2 announced changes: orders"),
        ([WITHDRAWAL, KINDS["change_announced"], OBJECTION], "1 objection, 1 announced change, 1 change: orders"),
    ],
)
def test_a_subject_names_what_it_counts(events: list[ChangeEvent], headline: str) -> None:
    entries = [replace(dispatch(event).first, notification_id=f"n{number}") for number, event in enumerate(events)]
    assert digest_headline(entries) == headline


def test_a_subject_begins_with_the_run_that_all_of_it_is_of_and_who_says_so() -> None:
    first, second = (
        without_owner("table", name).model_copy(update={"user_name": "dbt", "reason": "dbt run 7\n"})
        for name in ("a", "b")
    )
    claimed = second.model_copy(update={"user_name": "mallory"})
    unstated = second.model_copy(update={"reason": None})
    subjects = [
        digest_headline([replace(dispatch(one).first, notification_id=one.entity_id) for one in events])
        for events in ([first, second], [first, claimed], [first, unstated])
    ]
    assert subjects == ["dbt run 7 by dbt: 2 tables without owner: a, b", *["2 tables without owner: a, b"] * 2]
