"""Tests of narrowing impact to the columns derived from a changed column."""

from __future__ import annotations

from typing import Any

from tocsin.flow.resolve.impact import Reached, Walk, counts, readers_of, used_columns
from tocsin.model.lineage import Edge


def edge(from_: str, to: str, *entries: tuple[str, str | None], pipeline: str | None = None) -> Edge:
    columns = [
        {"fromColumns": [f"{from_}.{used}"]} | ({"toColumn": f"{to}.{produced}"} if produced else {})
        for used, produced in entries
    ]
    details: dict[str, Any] = {"columnsLineage": columns} if columns else {}
    if pipeline:
        details["pipeline"] = {"id": pipeline}
    return Edge({"id": from_}, {"id": to}, details)


def test_a_column_is_followed_through_all_that_is_made_of_it() -> None:
    edges = [
        edge("a", "b", ("x", "y"), ("k", "k")),
        edge("b", "c", ("y", "z")),
        edge("b", "d", ("k", "k")),
        edge("b", "e"),
    ]
    assert used_columns(edges, {"a.x"}) == {"b": {"b.y"}, "c": {"c.z"}}


def test_a_longer_way_counts_as_well_as_a_shorter_one_and_cycles_end() -> None:
    edges = [edge("a", "c"), edge("a", "b", ("x", "x")), edge("b", "c", ("x", "x")), edge("c", "a", ("x", "x"))]
    assert used_columns(edges, {"a.x"}) == {"a": {"a.x"}, "b": {"b.x"}, "c": {"c.x"}}


def test_what_lies_in_a_column_or_around_it_changes_with_it() -> None:
    inner, outer = edge("a", "b", ("address.zip", "zip")), edge("a", "c", ("address", "line"))
    assert used_columns([inner, outer], {"a.address"}) == {"b": {"b.zip"}, "c": {"c.line"}}
    assert used_columns([inner, outer], {"a.address.zip"}) == {"b": {"b.zip"}, "c": {"c.line"}}
    assert used_columns([inner, outer], {"a.address.street"}) == {"c": {"c.line"}}
    assert used_columns([inner], {"a.add"}) == {}


def test_a_column_may_be_used_for_no_column_and_moved_by_a_pipeline() -> None:
    assert used_columns([edge("a", "b", ("x", None))], {"a.x"}) == {"b": set()}
    assert used_columns([edge("a", "b", ("x", "y"), pipeline="p")], {"a.x"}) == {"b": {"b.y"}, "p": set()}


def walk_of(*edges: Edge) -> Walk:
    reached = {one.to["id"]: Reached(one.to, 1, one.from_, None) for one in edges}
    pipelines = [one.details["pipeline"] for one in edges if "pipeline" in one.details]
    return Walk((*reached.values(), *(Reached(one, 1, {}, None) for one in pipelines)), edges, is_cut=False)


def test_what_reads_other_columns_is_no_reader_and_what_is_not_known_may_be_one() -> None:
    walk = walk_of(
        edge("a", "b", ("x", "y")),
        edge("a", "c", ("k", "k")),
        edge("a", "d", pipeline="p"),
        edge("b", "e", ("z", "z")),
        edge("c", "f"),
        edge("d", "g", ("k", "k")),
    )
    assert readers_of(walk, "a", {"a.x"}) == {"b": True, "d": False, "g": False, "p": False}
    assert readers_of(walk, "a", {"a.other"}) == {"d": False, "g": False, "p": False}
    assert set(readers_of(walk, "a", ())) == {"b", "c", "d", "e", "f", "g", "p"}


def test_a_reader_that_is_reached_both_ways_is_certain_and_cycles_end() -> None:
    walk = walk_of(
        edge("a", "b", ("x", "y")), edge("a", "c"), edge("c", "b"), edge("b", "c"), edge("b", "d", ("k", "k"))
    )
    assert readers_of(walk, "a", {"a.x"}) == {"b": True, "c": False, "d": False}


def test_assets_are_counted_by_type_and_level() -> None:
    reached = [
        Reached({"id": str(number), "type": kind}, level, {}, None)
        for number, (kind, level) in enumerate([("table", 1), ("table", 2), ("dashboard", 2)])
    ]
    assert counts(reached) == {
        "total": 3,
        "byType": {"dashboard": 1, "table": 2},
        "byLevel": {"1": 1, "2": 2},
        "byTypeAndLevel": {"dashboard": {"2": 1}, "table": {"1": 1, "2": 1}},
    }
