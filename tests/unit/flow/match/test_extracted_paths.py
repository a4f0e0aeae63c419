"""Tests of extracted document paths and the conditions on them."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.fields import is_set_of_numbers, is_taken
from tocsin.conditions.nodes import Compare, FieldValue, Has, Kind, Node, TextTest
from tocsin.flow.match.extracted_paths import MANY, MANY_MORE, MOST, TakenPaths
from tocsin.flow.match.indexing import ways
from tocsin.flow.match.plan import Plan
from tocsin.logic import And, Not

ASKED = "entity.owners.name == 'ann'"


def plan(condition: str) -> Plan:
    return Plan("p", ("all",), parse_and_check(condition), 0)


def paths_after(*conditions: str, times: int = MANY) -> TakenPaths:
    paths = TakenPaths()
    paths.count([plan(one) for one in conditions for _ in range(times)])
    return paths


def rewritten(condition: str) -> Node:
    return paths_after(condition).rewritten(parse_and_check(condition))


def test_a_path_is_taken_out_once_many_ask_about_it() -> None:
    paths = paths_after(ASKED, times=MANY - 1)
    assert paths.names == {}
    assert paths.rewritten(parse_and_check(ASKED)) == parse_and_check(ASKED)
    paths.count([plan("entity.owners.name.startsWith('a')")])
    assert len(paths.names) == 1


def test_a_path_that_only_rare_events_are_asked_about_stays_where_it_is() -> None:
    rarely = f"{ASKED} && domains == 'sales'"
    assert paths_after(rarely, times=10 * MANY).names == {}
    assert len(paths_after(rarely, times=1_000 * MANY).names) == 1


def test_few_questions_are_enough_where_a_document_is_parsed_anyway() -> None:
    assert paths_after("entity.description == 'a'", times=1).names == {}
    assert len(paths_after("entity.version > 5", times=1).names) == 1, "no text of it can be looked for before"
    paths = paths_after(ASKED)
    paths.count([*[plan("entity.description == 'a'")] * MANY_MORE, plan("entity.displayName == 'a'")])
    assert len(paths.names) == 2


def test_no_more_are_taken_out_than_events_can_bear() -> None:
    paths = paths_after(*(f"entity.extension.x{n} == 'a'" for n in range(MOST + 5)))
    assert len(paths.names) == MOST
    names = paths.names
    paths.count([plan("entity.extension.y == 'a'")] * (2 * MANY))
    assert paths.names == names


def test_an_equality_becomes_a_fact_that_alerts_hang_from() -> None:
    node = rewritten("entity.owners.name in {'bob', 'ann'}")
    assert isinstance(node, Has)
    assert (is_taken(node.field), node.values) == (True, ("ann", "bob"))
    (way,) = ways(Plan("p", ("all",), node, 0))
    assert {anchor.fields for anchor in way.anchors} == {(node.field,)}
    assert isinstance(rewritten("entity.owners.name != 'ann'"), Not)


def test_a_text_test_looks_at_the_texts_and_membership_at_both() -> None:
    test = rewritten("entity.description.startsWith('a')")
    assert isinstance(test, TextTest)
    assert isinstance(test.value, FieldValue)
    both = rewritten("entity.description.contains('a')")
    assert isinstance(both, And)
    assert both.operands[1] == parse_and_check("entity.description.contains('a')")


def test_texts_and_numbers_at_a_path_are_apart_and_any_order_is_asked_of_them() -> None:
    paths = paths_after("entity.version >= 0.2", "entity.version < '0.2'")
    assert {kind for _, kind in paths.names} == {Kind.NUMBER, Kind.TEXT}
    for condition, is_of_numbers in (("entity.version == 0.3", True), ("entity.version > 'a'", False)):
        node = paths.rewritten(parse_and_check(condition))
        assert isinstance(node, Compare)
        assert isinstance(node.left, FieldValue)
        assert is_set_of_numbers(node.left.name) is is_of_numbers


def test_a_test_of_what_changed_still_hangs_from_the_change() -> None:
    for condition in ("newValue('tags').startsWith('a')", "oldValue('tags') > 5"):
        (way,) = ways(Plan("p", ("all",), rewritten(condition), 0))
        assert {anchor.fields for anchor in way.anchors} == {("fieldChanged",)}


def test_where_many_search_the_texts_alerts_hang_from_words() -> None:
    paths = paths_after("entity.description.contains('a long word')", "newValue('owners') == 'ann'")
    (worded,) = paths.word_fields
    assert worded == paths.names[next(iter(paths.names))]
    (way,) = ways(
        Plan("p", ("all",), paths.rewritten(parse_and_check("entity.description matches '.* red fox .*'")), 0),
        paths.word_fields,
    )
    assert {(anchor.fields, anchor.values) for anchor in way.anchors} == {((f"{worded}_words",), ("red",))}
    assert paths_after("entity.description.contains('word')").word_fields == frozenset()


@pytest.mark.parametrize(
    "condition",
    [
        "entity.deleted == true",
        "entity.description.toLowerCase() == 'a'",
        "entity.owners.size() > 1",
        "owners == 'ann'",
    ],
)
def test_what_the_values_cannot_tell_is_left_as_it_is(condition: str) -> None:
    assert paths_after(condition).names == {}
