"""Tests of splitting conditions on the recipient from conditions on the event."""

from __future__ import annotations

from itertools import product

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.fields import derive
from tocsin.conditions.relations import Case, answers_of, cases_of, is_asked, questions_of, with_answers
from tocsin.logic import ALWAYS
from tocsin.model.change import ChangeEvent, LoggedEvent

CONDITIONS = (
    "user.follows(entity)",
    "!user.follows(entity)",
    "user.follows(entity) && isBot()",
    "user.follows(entity) || isBot()",
    "user.follows(entity) == false && (user.owns(table) || isBot())",
    "(user.follows(entity) && isBot()) || (!user.follows(entity) && !isBot())",
    "user.isMemberOf({'a','b'}) && !(user.owns(entity) && entityType == 'table')",
    "user.follows(entity) && !user.follows(entity)",
    "isBot() && true",
)


def event_of_type(entity_type: str, *, is_bot: bool) -> LoggedEvent:
    wire = {"id": "1", "eventType": "entityUpdated", "entityType": entity_type, "entityId": "2", "timestamp": 3}
    event = ChangeEvent.model_validate(wire)
    return LoggedEvent(1, event, derive(event, actor_is_bot=is_bot))


@pytest.mark.parametrize("text", CONDITIONS)
def test_the_cases_hold_for_whom_the_condition_holds(text: str) -> None:
    node = parse_and_check(text)
    questions = questions_of(node)
    cases = cases_of(node, questions)
    facts_held = [
        [one for one, is_so in zip(questions, flags, strict=True) if is_so] for flags in _flags(len(questions))
    ]
    for event, facts in product(
        [event_of_type(t, is_bot=b) for t in ("table", "topic") for b in (True, False)], facts_held
    ):
        by_cases = any(
            is_asked(case.accepted_answers, answers_of(questions, facts)) and holds(case.node, event) for case in cases
        )
        assert by_cases == holds(with_answers(node, facts), event)


def _flags(count: int) -> list[tuple[bool, ...]]:
    return list(product((True, False), repeat=count))


def _cases(text: str) -> tuple[Case, ...]:
    node = parse_and_check(text)
    return cases_of(node, questions_of(node))


def test_the_event_decides_its_part_alone() -> None:
    assert _cases("user.follows(entity) && isBot()") == (Case(0b10, parse_and_check("isBot()")),)
    assert _cases("user.follows(entity)") == (Case(0b10, ALWAYS),)
    assert _cases("user.follows(entity) && false") == ()
    assert _cases("isBot()") == (Case(0b1, parse_and_check("isBot()")),)
