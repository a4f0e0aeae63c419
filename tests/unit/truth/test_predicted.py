"""Tests of which events the truth expects of a change."""

from __future__ import annotations

import pytest
from truth.expected_state import ExpectedState
from truth.history import Json
from truth.predicted import events_of
from truth.steps import BULK, PATCH, PUT, SHEET, Change, Make, Remove, Report

ORDERS = ("table", "s.d.p.orders")
A, B = (
    {"name": "a", "dataType": "INT"},
    {"name": "b", "dataType": "INT", "tags": [{"tagFQN": "C.x"}, {"tagFQN": "C.y"}]},
)


@pytest.mark.parametrize(
    ("key", "old", "new", "is_change"),
    [
        ("columns", [A, B], [B, A], False),
        ("columns", [A, B], [A, B | {"tags": B["tags"][::-1]}], False),
        ("columns", [A | {"children": [A, B]}], [A | {"children": [B, A]}], False),
        ("columns", [A, B], [A], True),
        ("columns", [A], [A | {"dataType": "STRING"}], True),
        ("owners", [{"name": "jane"}, {"name": "john"}], [{"name": "john"}, {"name": "jane"}], False),
        ("tableConstraints", [{"columns": ["a"]}, {"columns": ["b"]}], [{"columns": ["b"]}, {"columns": ["a"]}], True),
        ("sourceHash", "x", "y", False),
    ],
)
def test_order_and_bookkeeping_make_no_event(key: str, old: Json, new: Json, *, is_change: bool) -> None:
    world = ExpectedState()
    world.apply(Make("jane", ORDERS, {key: old}))
    assert bool([*events_of(Change("jane", ORDERS, {key: new}), world)]) == is_change


def test_a_bots_put_leaves_what_people_wrote() -> None:
    world = ExpectedState()
    world.apply(Make("bot_1", ORDERS, {"description": "Bot."}))
    for actor, by, text, is_change in (
        ("bot_2", PUT, "Other.", True),
        ("jane", SHEET, "Jane.", True),
        ("bot_1", PUT, "Bot.", False),
        ("bot_1", BULK, "Bot.", False),
        ("bot_1", PATCH, "Patched.", True),
        ("bot_1", PUT, "Put.", True),
    ):
        step = Change(actor, ORDERS, {"description": text}, by)
        assert bool([*events_of(step, world)]) == is_change
        world.apply(step)
    assert world.document(ORDERS) == {"description": "Put."}


def test_a_report_completes_the_run_of_a_suite_when_every_test_has_reported() -> None:
    world, suite = ExpectedState(), ("testSuite", f"{ORDERS[1]}.testSuite")
    tests = {name: ("testCase", f"{ORDERS[1]}.{name}") for name in "abc"}
    for key in (ORDERS, *tests.values()):
        world.apply(Make("jane", key, {}))

    def is_completed(name: str) -> bool:
        step = Report("jane", tests[name], "Success")
        events = [*events_of(step, world)]
        world.apply(step)
        return ("testSuiteRunCompleted", suite) in events

    assert [is_completed(name) for name in "abbcacb"] == [False, False, False, True, False, False, True]
    assert [is_completed(name) for name in "abab"] == [False, False, False, False]
    world.apply(Remove("jane", tests["c"], is_hard=True))
    assert [is_completed(name) for name in "abab"] == [False, True, False, True]
