"""Tests of rebuilding a state from the old state and the change, on generated edits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.capture.diff import compare, diff
from tocsin.flow.capture.rebuild import apply_change
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document

_NAMES = st.sampled_from(["id", "email", "a.b", 'q"t', "x", "y"])
_VALUES = st.one_of(st.text("ab", max_size=2), st.integers(0, 3), st.booleans(), st.none())
_OPEN = st.recursive(
    _VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("pq"), inner, max_size=2)
)
_LABEL = st.fixed_dictionaries({"tagFQN": st.sampled_from(["A.b", "A.c", "D"])}, optional={"state": _VALUES})
_TAGS = st.lists(_LABEL, max_size=3, unique_by=lambda label: label["tagFQN"])
_PERSON = st.builds(lambda number: {"id": f"u{number}", "type": "user", "name": f"n{number}"}, st.integers(0, 4))
_PEOPLE = st.lists(_PERSON, max_size=4, unique_by=lambda one: one["id"])


def _columns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    column = st.fixed_dictionaries(
        {"name": _NAMES, "dataType": st.sampled_from(["INT", "TEXT"])},
        optional={"description": _VALUES, "tags": _TAGS, "children": inner, "custom": _OPEN},
    )
    return st.lists(column, max_size=4, unique_by=lambda one: one["name"])


_STATES = st.fixed_dictionaries(
    {"name": st.just("t")},
    optional={
        "description": _VALUES,
        "columns": st.recursive(st.just([]), _columns, max_leaves=3),
        "tags": _TAGS,
        "owners": _PEOPLE,
        "domains": _PEOPLE,
        "extension": st.dictionaries(st.sampled_from(["columns", "p.q"]), _OPEN, max_size=2),
        "dataModel": _OPEN,
    },
)


def _rebuilt(old: Document, new: Document) -> Document:
    comparison = compare("table", old, new)
    wire = ChangeDescription.model_validate(comparison.change.to_wire())  # as the log gives it back
    return apply_change(old, wire, comparison.order)


@given(_STATES, _STATES)
def test_a_change_applied_to_the_old_state_gives_the_new_one(old: Document, new: Document) -> None:
    assert diff("table", _rebuilt(old, new), new).is_empty()
    assert diff("table", new, _rebuilt(old, new)).is_empty()


@given(_STATES, _STATES, _STATES)
def test_changes_add_up(first: Document, second: Document, third: Document) -> None:
    rebuilt = _rebuilt(_rebuilt(first, second), third)
    assert diff("table", rebuilt, third).is_empty()


def test_a_member_that_joins_in_the_middle_stands_in_the_middle() -> None:
    def table(*names: str) -> Document:
        return {"columns": [{"name": name, "dataType": "INT"} for name in names]}

    rebuilt = _rebuilt(table("a", "b", "c"), table("c", "new", "a"))
    assert [column["name"] for column in rebuilt["columns"]] == ["c", "new", "a"]


def test_what_is_given_stays_as_it_is() -> None:
    old = {"columns": [{"name": "a", "tags": []}]}
    added = FieldChange(name="columns.a.tags", new_value=[{"tagFQN": "A.b"}])
    assert apply_change(old, ChangeDescription(fields_added=(added,))) == {
        "columns": [{"name": "a", "tags": [{"tagFQN": "A.b"}]}]
    }
    assert old == {"columns": [{"name": "a", "tags": []}]}


def test_a_change_of_another_document_is_refused() -> None:
    change = FieldChange(name="columns.b.description", new_value="x")
    with pytest.raises(ValueError, match=r"no label b for columns\.b\.description"):
        apply_change({"columns": [{"name": "a"}]}, ChangeDescription(fields_added=(change,)))
