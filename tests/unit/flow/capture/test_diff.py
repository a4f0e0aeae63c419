"""Tests of diffs: comparison by identity, changes named by path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.flow.capture.diff import compare, diff, is_same
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document

_EMPTIES: list[Any] = [None, "", [], {}]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


def _column(name: str, data_type: str = "INT", **fields: Any) -> Document:
    return {"name": name, "dataType": data_type, **fields}


def _tag(tag_fqn: str, **fields: Any) -> Document:
    return {"tagFQN": tag_fqn, "source": "Classification", **fields}


def _user(name: str, user_id: str | None = None) -> Document:
    return {"type": "user", "name": name} | ({"id": user_id} if user_id else {})


def _changes_between(old: Document, new: Document, entity_type: str = "table") -> dict[str, list[tuple[str, Any, Any]]]:
    change = diff(entity_type, old, new)
    kinds = {"added": change.fields_added, "updated": change.fields_updated, "deleted": change.fields_deleted}
    return {
        kind: [(one.name, one.old_value, one.new_value) for one in changes]
        for kind, changes in kinds.items()
        if changes
    }


def test_equal_states_differ_in_nothing() -> None:
    state = {"name": "orders", "columns": [_column("id"), _column("email", tags=[_tag("PII.Email")])]}
    assert diff("table", state, dict(state)).is_empty()


@pytest.mark.parametrize("old", _EMPTIES)
@pytest.mark.parametrize("new", _EMPTIES)
def test_no_value_is_no_value_however_it_is_written(old: Any, new: Any) -> None:
    assert diff("table", {"description": old}, {"description": new}).is_empty()
    assert diff("table", {"description": old}, {}).is_empty()
    assert diff("table", {}, {"description": new}).is_empty()


def test_a_plain_field_is_added_updated_and_deleted() -> None:
    assert _changes_between({}, {"description": "x"}) == {"added": [("description", None, "x")]}
    assert _changes_between({"description": "x"}, {"description": "y"}) == {"updated": [("description", "x", "y")]}
    assert _changes_between({"description": "x"}, {}) == {"deleted": [("description", "x", None)]}


def test_false_and_zero_are_values() -> None:
    assert _changes_between({}, {"extension": {"a": False, "b": 0}}) == {
        "added": [("extension.a", None, False), ("extension.b", None, 0)]
    }


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (775, 775.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        ({"a": [775]}, {"a": [775.0]}, True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": {"x": 1.0, "y": True}}, {"a": {"y": True, "x": 1}}, True),
        ([1, 2], [2, 1], False),
    ],
)
def test_numbers_compare_as_numbers_and_truth_values_do_not(old: Any, new: Any, same: bool) -> None:
    assert is_same(old, new) is same
    assert is_same(new, old) is same


@given(_JSON)
def test_every_value_is_the_same_as_itself(value: Any) -> None:
    assert is_same(value, value)


def test_columns_are_matched_by_name_not_by_position() -> None:
    old = {"columns": [_column("a"), _column("b"), _column("c")]}
    new = {"columns": [_column("new"), _column("a"), _column("b"), _column("c")]}
    assert _changes_between(old, new) == {"added": [("columns", None, [_column("new")])]}


def test_all_members_added_to_one_list_are_one_field_change() -> None:
    new = {"columns": [_column("a"), _column("b"), _column("c")]}
    assert _changes_between({"columns": [_column("b")]}, new) == {
        "added": [("columns", None, [_column("a"), _column("c")])]
    }


def test_all_members_dropped_from_one_list_are_one_field_change() -> None:
    old = {"tags": [_tag("A.x"), _tag("A.y"), _tag("A.z")]}
    assert _changes_between(old, {"tags": [_tag("A.y")]}) == {"deleted": [("tags", [_tag("A.x"), _tag("A.z")], None)]}


def test_a_renamed_column_is_one_dropped_and_one_added() -> None:
    changed = _changes_between({"columns": [_column("a")]}, {"columns": [_column("A")]})
    assert changed == {"added": [("columns", None, [_column("A")])], "deleted": [("columns", [_column("a")], None)]}


def test_a_retyped_column_is_an_update_of_its_type() -> None:
    changed = _changes_between({"columns": [_column("a", "INT")]}, {"columns": [_column("a", "STRING")]})
    assert changed == {"updated": [("columns.a.dataType", "INT", "STRING")]}


def test_nested_changes_are_named_by_their_path() -> None:
    def table(**zip_code: Any) -> Document:
        return {"columns": [_column("address", "STRUCT", children=[_column("zip", **zip_code)])]}

    path = "columns.address.children.zip"
    assert _changes_between(table(), table(description="x")) == {"added": [(f"{path}.description", None, "x")]}
    assert _changes_between(table(), table(tags=[_tag("P.x")])) == {"added": [(f"{path}.tags", None, [_tag("P.x")])]}
    assert _changes_between(table(precision=9), table(precision=4)) == {"updated": [(f"{path}.precision", 9, 4)]}
    assert _changes_between(table(), {"columns": [_column("address", "STRUCT")]}) == {
        "deleted": [("columns.address.children", [_column("zip")], None)]
    }


def test_names_with_dots_are_quoted_in_paths() -> None:
    old, new = {"columns": [_column("a.b")]}, {"columns": [_column("a.b", description="x")]}
    assert _changes_between(old, new) == {"added": [('columns."a.b".description', None, "x")]}


def test_a_changed_tag_is_named_by_its_fqn() -> None:
    old, new = _tag("PII.Sensitive", state="Suggested"), _tag("PII.Sensitive", state="Confirmed")
    assert _changes_between({"tags": [old]}, {"tags": [new]}) == {"updated": [('tags."PII.Sensitive"', old, new)]}


def test_tags_and_domains_are_sets() -> None:
    tags = [_tag("A.x"), _tag("B.y")]
    domains = [{"type": "domain", "name": "a"}, {"type": "domain", "name": "b"}]
    assert _changes_between({"tags": tags, "domains": domains}, {"tags": tags[::-1], "domains": domains[::-1]}) == {}


@given(st.permutations(["A.a", "B.b", "C.c", "D.d"]))
def test_tags_in_another_order_are_no_change_however_deep_they_are(names: list[str]) -> None:
    sorted_tags, tags = [_tag(name) for name in sorted(names)], [_tag(name) for name in names]
    for entity_type, nest in (
        ("table", lambda some: {"tags": some}),
        ("table", lambda some: {"columns": [_column("id", tags=some)]}),
        ("table", lambda some: {"dataModel": {"path": "a.sql", "tags": some, "columns": [_column("id", tags=some)]}}),
        ("mlmodel", lambda some: {"mlFeatures": [{"name": "f", "featureSources": [{"name": "s", "tags": some}]}]}),
    ):
        assert _changes_between(nest(sorted_tags), nest(tags), entity_type) == {}
        assert _changes_between(nest(sorted_tags), nest(tags[1:]), entity_type) != {}
    free = {"extension": {"tags": {"tags": tags}}}
    in_order = {"extension": {"tags": {"tags": sorted_tags}}}
    assert (_changes_between(in_order, free) == {}) == (tags == sorted_tags), (
        "values of one's own are compared as they are"
    )


def test_a_tag_given_twice_is_one_tag() -> None:
    assert _changes_between({"tags": [_tag("A.x")]}, {"tags": [_tag("A.x"), _tag("A.x")]}) == {}


def test_columns_in_another_order_are_stored_and_no_change() -> None:
    columns = [_column("a"), _column("b"), _column("c")]
    comparison = compare("table", {"columns": columns}, {"columns": [columns[2], *columns[:2]]})
    assert (comparison.change.is_empty(), comparison.is_stored, comparison.order) == (
        True,
        True,
        {"columns": ["c", "a", "b"]},
    )
    appended = compare("table", {"columns": columns}, {"columns": [*columns, _column("d")]})
    assert (appended.is_stored, appended.order) == (False, {})


def test_bookkeeping_is_stored_and_no_change() -> None:
    for old, new in (({}, "a"), ("a", "b"), ("a", None)):
        comparison = compare("table", {"name": "x", "sourceHash": old}, {"name": "x", "sourceHash": new})
        assert (comparison.change.is_empty(), comparison.is_stored) == (True, True)
    assert not compare("table", {"sourceHash": "a"}, {"sourceHash": "a"}).is_stored


def test_a_member_that_comes_or_goes_is_the_whole_change() -> None:
    old = {"columns": [_column("a"), _column("b"), _column("c")]}
    new = {"columns": [_column("c"), _column("x"), _column("a")]}
    assert _changes_between(old, new) == {
        "added": [("columns", None, [_column("x")])],
        "deleted": [("columns", [_column("b")], None)],
    }


def test_owners_are_distinguished_by_id_and_their_order_is_no_change() -> None:
    jane, john = _user("jane", "1"), _user("john", "2")
    assert _changes_between({"owners": [jane]}, {"owners": [jane | {"displayName": "Jane"}]}) == {}
    assert _changes_between({"owners": [jane]}, {"owners": [_user("jane", "3")]}) == {
        "added": [("owners", None, [_user("jane", "3")])],
        "deleted": [("owners", [jane], None)],
    }
    assert _changes_between({"owners": [jane, john]}, {"owners": [john, jane]}) == {}


def test_references_without_an_id_are_distinguished_by_type_and_name() -> None:
    team = {"type": "team", "name": "jane"}
    assert _changes_between({"owners": [_user("jane")]}, {"owners": [_user("jane"), team]}) == {
        "added": [("owners", None, [team])]
    }


def test_charts_of_one_name_are_distinguished_by_their_fqn() -> None:
    first, two = ({"fullyQualifiedName": f"bi.{folder}.total", "name": "total"} for folder in "ab")
    changed = _changes_between({"charts": [first]}, {"charts": [first, two]}, "dashboard")
    assert changed == {"added": [("charts", None, [two])]}
    assert _changes_between({"charts": [first, two]}, {"charts": [two, first]}, "dashboard") == {}


def test_the_extension_is_compared_key_by_key_and_each_value_whole() -> None:
    old = {"extension": {"retries": 2, "columns": [{"name": "a"}], "gone": "x"}}
    new = {"extension": {"retries": 2.0, "columns": [{"name": "b"}], "new": "y"}}
    assert _changes_between(old, new) == {
        "added": [("extension.new", None, "y")],
        "updated": [("extension.columns", [{"name": "a"}], [{"name": "b"}])],
        "deleted": [("extension.gone", "x", None)],
    }


def test_what_has_no_identity_is_compared_whole() -> None:
    old, new = {"tablePartition": {"columns": [{"c": 1}]}}, {"tablePartition": {"columns": [{"c": 2}]}}
    assert _changes_between(old, new) == {"updated": [("tablePartition", old["tablePartition"], new["tablePartition"])]}


def test_what_the_server_keeps_is_no_change() -> None:
    old = {"id": "1", "version": 0.1, "updatedAt": 1, "updatedBy": "a", "href": "x", "serviceType": "BigQuery"}
    new = {"id": "2", "version": 0.2, "updatedAt": 2, "updatedBy": "b", "href": "y", "service": {"id": "3"}}
    assert _changes_between(old, new) == {}


def test_the_kind_of_a_service_is_its_own_field() -> None:
    changed = _changes_between({"serviceType": "Mysql"}, {"serviceType": "Postgres"}, "databaseService")
    assert changed == {"updated": [("serviceType", "Mysql", "Postgres")]}


def test_creation_adds_each_field_as_the_document_gives_it() -> None:
    new = {"name": "customers", "columns": [_column("customer_id", "BIGINT"), _column("email", "VARCHAR")], "tags": []}
    assert [one.name for one in diff("table", {}, new).fields_added] == ["name", "columns"]


_MEMBERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abc"), "id": st.sampled_from("123")}, optional={"tags": _JSON}),
    max_size=3,
)
_DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "name": _JSON,
        "columns": _MEMBERS,
        "owners": _MEMBERS,
        "database": _MEMBERS,
        "extension": st.dictionaries(st.sampled_from(["x", "a.b", "columns"]), _JSON | _MEMBERS, max_size=3),
        "messageSchema": st.none()
        | st.fixed_dictionaries({}, optional={"schemaFields": _MEMBERS, "schemaType": _JSON}),
        "version": _JSON,
    },
)


@given(_DOCUMENTS, st.sampled_from(["table", "topic"]))
def test_a_creation_adds_what_a_comparison_with_nothing_finds(new: Document, entity_type: str) -> None:
    assert compare(entity_type, {}, new) == compare(entity_type, {"id": "what the server keeps"}, new)


def test_a_difference_undone_is_reported_both_times() -> None:
    first, two = {"description": "a"}, {"description": "b"}
    assert diff("table", first, two).fields_updated == (FieldChange(name="description", old_value="a", new_value="b"),)
    assert diff("table", two, first).fields_updated == (FieldChange(name="description", old_value="b", new_value="a"),)


@given(_JSON, _JSON)
def test_there_is_a_change_exactly_when_the_values_differ(old: Any, new: Any) -> None:
    change: ChangeDescription = diff("table", {"tablePartition": old}, {"tablePartition": new})
    both_empty = old in _EMPTIES and new in _EMPTIES and not isinstance(old, bool) and not isinstance(new, bool)
    assert change.is_empty() == (both_empty or is_same(old, new))
    assert len(change.paths()) <= 1
