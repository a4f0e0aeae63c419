"""Tests of the comparison of changes with what was announced of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.conditions.breaking import DELETED_WHILE_READ, breaking_reasons
from tocsin.flow.capture.announced import (
    NOTHING_ANNOUNCED,
    Judgement,
    WrittenChange,
    announcements_of_difference,
    announcements_of_version,
    judgement_of,
    reasons_of_version_left,
)
from tocsin.flow.capture.diff import compare
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.breaking import BreakingReason
from tocsin.model.change_request import AnnouncedChange, ChangeKind, StandingRequest
from tocsin.model.entity import Document

_DUE_MS = 1_000
_EMAIL = {"name": "email", "dataType": "VARCHAR", "dataLength": 20}
_ADDRESS = {"name": "address", "dataType": "STRUCT", "children": [{"name": "zip", "dataType": "INT"}]}
_BEFORE: Document = {"id": "e", "name": "orders", "columns": [{"name": "id", "dataType": "BIGINT"}, _EMAIL, _ADDRESS]}


def request(**fields: Any) -> AnnouncedChange:  # Any: of whatever field
    announced_change = AnnouncedChange(
        id="r",
        entity_id="e",
        entity_type="table",
        kind=ChangeKind.REMOVAL,
        due_at_ms=_DUE_MS,
        why="unused",
        author_id="a",
        author_name="ann",
        announced_at_ms=0,
        updated_at_ms=0,
        number=12,
        column_path="email",
    )
    return replace(announced_change, **fields)


def verdict_of(
    after: Document | None, *requests: AnnouncedChange, at_ms: int = _DUE_MS, is_objected: bool = False
) -> Judgement:
    reasons: tuple[BreakingReason, ...] = (DELETED_WHILE_READ,)
    if after is not None:
        reasons = breaking_reasons("table", compare("table", _BEFORE, after).change, after)
    standing = [StandingRequest(one, 3, is_objected) for one in requests]
    return judgement_of(WrittenChange("table", _BEFORE, after, reasons), standing, at_ms)


def with_columns(*columns: Document) -> Document:
    return _BEFORE | {"columns": list(columns)}


def words(verdict: Judgement) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """Return why the change breaks, how it was announced, and which requests it ends."""
    outcomes = [(one.name, one.outcome.value) for one in verdict.ended_requests if one.outcome]
    announced = [one.in_words() for one in verdict.announcements or ()]
    return [one.in_words() for one in verdict.reasons], announced, outcomes


_ID, _NO_EMAIL = _BEFORE["columns"][0], with_columns(_BEFORE["columns"][0], _ADDRESS)
_REMOVED = "column email VARCHAR(20) removed"


def test_a_column_gone_on_the_date_is_as_announced_and_breaks_nobody() -> None:
    assert words(verdict_of(_NO_EMAIL, request())) == ([], ["as announced by CR-12"], [("CR-12", "asAnnounced")])


def test_a_column_gone_early_breaks_who_reads_it() -> None:
    verdict = verdict_of(_NO_EMAIL, request(), at_ms=_DUE_MS - 1)
    assert words(verdict) == ([_REMOVED], ["earlier than CR-12 announced"], [("CR-12", "early")])


def test_a_column_gone_despite_an_objection_breaks_who_reads_it() -> None:
    verdict = verdict_of(_NO_EMAIL, request(), is_objected=True)
    assert words(verdict) == ([_REMOVED], ["despite an objection to CR-12"], [("CR-12", "objected")])


def test_a_breaking_change_without_a_request_is_not_announced_and_others_need_none() -> None:
    verdict = verdict_of(_NO_EMAIL)
    assert (words(verdict), verdict.announcements) == (([_REMOVED], [], []), ())
    assert verdict_of(_BEFORE) == NOTHING_ANNOUNCED
    assert words(verdict_of(_NO_EMAIL, request(column_path="id"))) == ([_REMOVED], [], [])


@pytest.mark.parametrize(
    ("kind", "new_value", "after", "expected"),
    [
        ("rename", "mail", with_columns(_ID, _EMAIL | {"name": "mail"}, _ADDRESS), "asAnnounced"),
        ("rename", "mail", _NO_EMAIL, "otherwise"),
        ("rename", "id", _NO_EMAIL, "otherwise"),
        ("type", "int", with_columns(_ID, {"name": "email", "dataType": "INT"}, _ADDRESS), "asAnnounced"),
        ("type", "varchar (9)", with_columns(_ID, _EMAIL | {"dataLength": 9}, _ADDRESS), "asAnnounced"),
        ("type", "VARCHAR", with_columns(_ID, _EMAIL | {"dataLength": 9}, _ADDRESS), "asAnnounced"),
        ("type", "TEXT", _NO_EMAIL, "otherwise"),
    ],
)
def test_what_was_announced_is_compared_with_what_was_done(
    kind: str, new_value: str | None, after: Document, expected: str
) -> None:
    verdict = verdict_of(after, request(kind=ChangeKind(kind), new_value=new_value))
    assert [one.outcome for one in verdict.ended_requests] == [expected]
    assert bool(verdict.reasons) == (expected == "otherwise")


def test_another_type_than_announced_breaks_and_the_request_stands() -> None:
    wider = with_columns(_ID, {"name": "email", "dataType": "TEXT"}, _ADDRESS)
    verdict = verdict_of(wider, request(kind=ChangeKind.TYPE, new_value="INT"))
    expected = ["column email changed otherwise than CR-12 announced"]
    assert words(verdict) == (expected, ["otherwise than CR-12 announced"], [])
    narrower = with_columns(_ID, {"name": "email", "dataType": "INT"}, _ADDRESS)
    verdict = verdict_of(narrower, request())
    assert words(verdict) == (
        ["column email VARCHAR(20) → INT"],
        ["otherwise than CR-12 announced"],
        [],
    )
    assert verdict_of(wider, request()) == NOTHING_ANNOUNCED


def test_a_type_that_loses_nothing_but_comes_early_breaks() -> None:
    wider = with_columns(_ID, {"name": "email", "dataType": "TEXT"}, _ADDRESS)
    verdict = verdict_of(wider, request(kind=ChangeKind.TYPE, new_value="TEXT"), at_ms=0)
    expected = ["column email changed earlier than CR-12 announced"]
    assert words(verdict) == (expected, ["earlier than CR-12 announced"], [("CR-12", "early")])


def test_a_column_in_a_column_is_its_own() -> None:
    after = with_columns(_ID, _EMAIL, _ADDRESS | {"children": []})
    assert words(verdict_of(after, request(column_path="address.zip")))[2] == [("CR-12", "asAnnounced")]
    assert words(verdict_of(after, request(column_path="address"))) == (
        ["column zip INT removed from column address"],
        [],
        [],
    )


def test_the_asset_as_a_whole_is_deleted_or_renamed() -> None:
    removal = request(column_path=None)
    assert words(verdict_of(None, removal)) == ([], ["as announced by CR-12"], [("CR-12", "asAnnounced")])
    assert words(verdict_of(None, removal, at_ms=0))[0] == ["deleted while something reads it"]
    rename = request(column_path=None, kind=ChangeKind.RENAME, new_value="sales")
    assert words(verdict_of(_BEFORE | {"name": "sales"}, rename))[2] == [("CR-12", "asAnnounced")]
    assert words(verdict_of(_BEFORE | {"name": "odd"}, rename))[0] == ["changed otherwise than CR-12 announced"]
    assert words(verdict_of(None, rename))[2] == [("CR-12", "asAnnounced")]
    deprecation = request(column_path=None, kind=ChangeKind.DEPRECATION)
    assert words(verdict_of(None, deprecation, at_ms=_DUE_MS - 1))[2] == [("CR-12", "otherwise")]
    assert words(verdict_of(None, request()))[1:] == ([], [])


def test_a_removal_of_what_contains_an_asset_announces_that_of_the_asset_and_does_not_end_with_it() -> None:
    of_schema = request(entity_id="schema", column_path=None)
    assert words(verdict_of(None, of_schema)) == ([], ["as announced by CR-12"], [])


def test_the_newest_request_about_a_column_counts() -> None:
    older = request(number=3, kind=ChangeKind.DEPRECATION)
    assert words(verdict_of(_NO_EMAIL, request(), older))[1] == ["as announced by CR-12"]


def reasons_left(reasons: tuple[BreakingReason, ...], *requests: AnnouncedChange) -> tuple[BreakingReason, ...]:
    return reasons_of_version_left(reasons, announcements_of_version("table", reasons, requests))


def test_keys_that_go_with_an_announced_column_are_no_reason_of_their_own() -> None:
    before = _BEFORE | {"tableConstraints": [{"constraintType": "UNIQUE", "columns": ["email"]}]}
    after = {key: value for key, value in _NO_EMAIL.items() if key != "tableConstraints"}
    reasons = breaking_reasons("table", compare("table", before, after).change, after)
    assert {one.kind for one in reasons} == {"fieldRemoved", "keyChanged"}
    change = WrittenChange("table", before, after, reasons)
    assert judgement_of(change, [StandingRequest(request(), 0, is_objected=False)], _DUE_MS).reasons == ()
    assert judgement_of(change, [], _DUE_MS).reasons == reasons
    assert reasons_left(reasons, request()) == ()
    assert reasons_left(reasons, request(column_path="id")) == reasons
    assert reasons_left((DELETED_WHILE_READ,), request(column_path=None)) == ()


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.booleans())
def test_an_announced_removal_breaks_nobody_exactly_if_it_is_not_early_and_nobody_objects(
    due_at_ms: int, at_ms: int, is_objected: bool
) -> None:
    verdict = verdict_of(_NO_EMAIL, request(due_at_ms=due_at_ms), at_ms=at_ms, is_objected=is_objected)
    is_as_announced = at_ms >= due_at_ms and not is_objected
    assert (verdict.reasons == ()) == is_as_announced
    (ended_request,) = verdict.ended_requests
    assert (ended_request.outcome is ChangeOutcome.AS_ANNOUNCED, ended_request.done_at_ms) == (is_as_announced, at_ms)


def test_a_request_about_a_deleted_asset_ends_though_a_newer_one_is_about_what_contained_it() -> None:
    of_table = request(column_path=None, due_at_ms=_DUE_MS + 1)
    of_schema = request(id="s", entity_id="schema", number=13, column_path=None)
    assert words(verdict_of(None, of_table, of_schema)) == ([], ["as announced by CR-13"], [("CR-12", "early")])


@pytest.mark.parametrize(("at_ms", "ended"), [(_DUE_MS - 1, [("CR-12", "otherwise")]), (_DUE_MS, [])])
def test_a_removal_is_otherwise_than_a_deprecation_and_ends_it_before_its_date_only(
    at_ms: int, ended: list[tuple[str, str]]
) -> None:
    verdict = words(verdict_of(_NO_EMAIL, request(kind=ChangeKind.DEPRECATION), at_ms=at_ms))
    assert verdict[1:] == (["otherwise than CR-12 announced"], ended)


@pytest.mark.parametrize(("at_ms", "announced"), [(_DUE_MS - 1, []), (_DUE_MS, ["as announced by CR-12"])])
def test_a_deprecating_status_is_as_announced_from_the_date_on_and_breaks_nobody(
    at_ms: int, announced: list[str]
) -> None:
    deprecation = request(kind=ChangeKind.DEPRECATION, column_path=None)
    after = _BEFORE | {"entityStatus": "Deprecated"}
    assert words(verdict_of(after, deprecation, at_ms=at_ms, is_objected=True)) == ([], announced, [])


def test_a_rename_as_announced_says_the_new_name_when_written_and_in_its_version() -> None:
    after = with_columns(_ID, _EMAIL | {"name": "mail"}, _ADDRESS)
    rename = request(kind=ChangeKind.RENAME, new_value="mail")
    reasons = breaking_reasons("table", compare("table", _BEFORE, after).change, after)
    written, otherwise = (verdict_of(one, rename).announcements or () for one in (after, _NO_EMAIL))
    assert [(one.field, one.renamed_to) for one in written] == [("columns.email", "mail")]
    assert [one.renamed_to for one in otherwise] == [None]
    of_version = announcements_of_version("table", reasons, [rename])
    assert [(one.in_words(), one.renamed_to) for one in of_version] == [("as announced by CR-12", "mail")]
    early = replace(rename, outcome=ChangeOutcome.EARLY)
    of_early_version = announcements_of_version("table", reasons, [early])
    assert [(one.in_words(), one.renamed_to) for one in of_early_version] == [("earlier than CR-12 announced", "mail")]
    assert reasons_of_version_left(reasons, of_early_version) == reasons, "what is early breaks readers"


def announced_texts(after: Document, *carried_out: AnnouncedChange) -> list[tuple[str, str | None, str | None]]:
    """Return what these requests say of the difference of two versions: in words, of which field, and its new name."""
    change = WrittenChange("table", _BEFORE, after)
    return [(one.in_words(), one.field, one.renamed_to) for one in announcements_of_difference(change, carried_out)]


def ended_request(
    number: int, column_path: str, new_name: str | None, **fields: Any
) -> AnnouncedChange:  # Any: as above
    kind = ChangeKind.REMOVAL if new_name is None else ChangeKind.RENAME
    defaults = {"number": number, "kind": kind, "column_path": column_path, "new_value": new_name, "done_at_ms": number}
    return request(outcome=ChangeOutcome.AS_ANNOUNCED, **defaults | fields)


def test_a_column_renamed_again_or_removed_afterwards_went_as_announced() -> None:
    renamed_column = with_columns(_ID, _EMAIL | {"name": "contact"}, _ADDRESS)
    first, second = ended_request(1, "email", "mail"), ended_request(2, "mail", "contact")
    for requests in ((first, second), (second, first)):
        assert announced_texts(renamed_column, *requests) == [("as announced by CR-2", "columns.email", "contact")]
    assert announced_texts(_NO_EMAIL, first, ended_request(2, "mail", None)) == [
        ("as announced by CR-2", "columns.email", None)
    ]
    early = replace(first, outcome=ChangeOutcome.EARLY)
    assert announced_texts(renamed_column, early, second) == [
        ("earlier than CR-1 announced", "columns.email", "contact")
    ]
    assert announced_texts(renamed_column, first) == [("otherwise than CR-1 announced", "columns.email", None)]
    before = replace(second, done_at_ms=0)
    assert announced_texts(renamed_column, first, before) == [("otherwise than CR-1 announced", "columns.email", None)]
    assert announced_texts(_BEFORE, first, ended_request(2, "mail", "email")) == []
    reasons = breaking_reasons("table", compare("table", _BEFORE, renamed_column).change, renamed_column)
    of_version = announcements_of_version("table", reasons, [first, second])
    assert [(one.request, one.renamed_to) for one in of_version] == [("CR-2", "contact")]


def test_a_column_whose_container_is_renamed_afterwards_went_as_announced() -> None:
    children = [{"name": "code", "dataType": "INT"}]
    after = with_columns(_ID, _EMAIL, _ADDRESS | {"name": "place", "children": children})
    requests = ended_request(1, "address.zip", "code"), ended_request(2, "address", "place")
    fields = ("columns.address.children.zip", "columns.address")
    assert announced_texts(after, *requests) == [
        ("as announced by CR-2", fields[0], None),
        ("as announced by CR-2", fields[1], "place"),
    ]
    removal = ended_request(2, "address", None)
    assert announced_texts(with_columns(_ID, _EMAIL), requests[0], removal) == [
        ("as announced by CR-2", field, None) for field in fields
    ]


def test_of_an_asset_that_nothing_read_the_request_says_how_it_was_renamed() -> None:
    rename = replace(
        request(kind=ChangeKind.RENAME, column_path=None, new_value="wares"), outcome=ChangeOutcome.AS_ANNOUNCED
    )
    of_version = announcements_of_version("table", (), [rename])
    assert [(one.in_words(), one.field, one.renamed_to) for one in of_version] == [
        ("as announced by CR-12", None, None)
    ]
    assert len(announcements_of_version("table", (DELETED_WHILE_READ,), [rename])) == 1
    assert announcements_of_version("table", (), [request()]) == ()
