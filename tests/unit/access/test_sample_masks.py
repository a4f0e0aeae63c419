"""Tests of masking by tags, at all depths."""

from __future__ import annotations

from typing import Any

from tocsin.access.sample_masks import MASK, MASKED, masked_columns, masked_messages, masked_rows, masked_tags_for
from tocsin.access.subject import Subject

TAGS = {"PII.Sensitive"}
_LABELS = [{"tagFQN": "PII.Sensitive"}]


def _column(name: str, *children: dict[str, Any], tagged: bool = False) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name, "dataType": "TEXT"}
    return column | ({"tags": _LABELS} if tagged else {}) | ({"children": list(children)} if children else {})


def test_a_column_is_masked_when_it_or_a_part_of_it_is_tagged() -> None:
    address = _column("address", _column("zip", tagged=True), _column("city"))
    person = _column("person", _column("name"), tagged=True)
    table = {"columns": [_column("id"), _column("e.mail", tagged=True), address, person]}
    assert masked_columns(table, TAGS) == {
        "e.mail",
        '"e.mail"',
        "address",
        "address.zip",
        "person",
        "person.name",
    }
    assert masked_columns(table, {"PII.None"}) == masked_columns(table, ()) == set()


def test_a_tagged_table_is_masked_whole() -> None:
    table = {"columns": [_column("id")], "tags": _LABELS}
    assert masked_columns(table, TAGS) == {"id"}


def test_a_masked_cell_says_only_that_it_is_there() -> None:
    table = {"columns": [_column("id"), _column("email", tagged=True)]}
    sample = {"columns": ["email", "id"], "rows": [["a@b.c", 1], [None, 2]]}
    assert masked_rows(sample, table, TAGS)["rows"] == [[MASK, 1], [MASK, 2]]
    assert masked_rows(sample, table, ()) == sample


def test_a_column_that_the_table_does_not_have_is_masked_where_that_is_asked_for() -> None:
    sample, table = {"columns": ["id", "mail"], "rows": [[7, "ann@example.org"]]}, {"columns": [{"name": "id"}]}
    rows_by_rule = [masked_rows(sample, table, TAGS, masks_unknown=unknown)["rows"] for unknown in (False, True)]
    assert rows_by_rule == [[[7, "ann@example.org"]], [[7, MASK]]]
    assert masked_rows(sample, table, (), masks_unknown=True)["rows"] == [[7, "ann@example.org"]]


def test_what_was_masked_when_the_rows_came_stays_masked_for_those_who_see_masks() -> None:
    sample = {"columns": ["id", "mail"], "rows": [[7, "ann@example.org"]], MASKED: [False, True]}
    table = {"columns": [_column("id"), _column("mail")]}
    shown_rows = [masked_rows(sample, table, tags)["rows"] for tags in (TAGS, ())]
    assert shown_rows == [[[7, MASK]], [[7, "ann@example.org"]]]


def test_messages_are_masked_as_soon_as_anything_of_them_is_tagged() -> None:
    fields = {"messageSchema": {"schemaFields": [_column("key", _column("email", tagged=True))]}}
    assert masked_messages({"messages": ["x", "y"]}, fields, TAGS) == {"messages": [MASK, MASK]}
    assert masked_messages({"messages": ["x"]}, fields, {"PII.None"}) == {"messages": ["x"]}


def test_values_are_masked_for_all_but_owners_administrators_and_bots() -> None:
    teams = [{"id": "sales"}]
    subjects = (
        Subject("ann", "ann"),
        Subject("ann", "ann", is_admin=True),
        Subject("ann", "ann", is_bot=True),
        Subject("ann", "ann", teams=frozenset({"sales"})),
        Subject("sales", "sales"),
    )
    masked = [masked_tags_for(one, TAGS, lambda: teams) for one in subjects]
    assert masked == [frozenset(TAGS), frozenset(), frozenset(), frozenset(), frozenset()]
