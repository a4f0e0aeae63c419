"""Tests of the output of ``tocsin history``, ``diff`` and ``rollback``."""

from __future__ import annotations

import json
import sys

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/tables"
ORDERS = {"id": "t", "name": "orders", "fullyQualifiedName": "a.orders"}
CHANGE = {
    "fieldsAdded": [{"name": "tags", "newValue": [{"tagFQN": "PII.Email"}]}],
    "fieldsUpdated": [{"name": "description", "oldValue": "a", "newValue": "b" * 100}],
    "fieldsDeleted": [{"name": "columns", "oldValue": [{"name": "id"}, {"name": "note"}]}],
    "previousVersion": 0.1,
}
DIFFERENCE = {**CHANGE, "breaking": False, "breakingReasons": [], "announcements": [], "renames": [], "reasons": []}
VERSIONS = [
    {**ORDERS, "version": 0.2, "updatedAt": 1_700_000_000_000, "updatedBy": "ada", "changeDescription": CHANGE},
    {**ORDERS, "version": 0.1, "updatedAt": 1_600_000_000_000, "updatedBy": "bob"},
]

CHANGES = ["column id removed", "description changed", "tag PII.Email added", "name a → b"]
WORDS = {"entityType": "table", "words": [CHANGES, ["created"]], "reasons": ["", ""], "authors": ["Ada King", "bob"]}


@pytest.fixture(autouse=True)
def orders(small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/name/a.orders", ORDERS)


def test_a_history_says_when_who_and_what(run: Run, small_server: SmallServer) -> None:
    texts = [json.dumps(one) for one in VERSIONS]
    small_server.answer("GET", f"{API}/t/versions", {**WORDS, "versions": texts, "breaking": [[], []]})
    lines = run("history", "a.orders").out.splitlines()
    assert [line.split()[:6] for line in lines[1:3]] == [
        ["0.2", "2023-11-14", "22:13:20", "UTC", "Ada", "King"],
        ["0.1", "2020-09-13", "12:26:40", "UTC", "bob", "created"],
    ]
    assert lines[1].rstrip().endswith("column id removed; description changed; tag PII.Email added; … and 1 more")
    assert lines[2].rstrip().endswith("created")
    small_server.answer("GET", f"{API}/t/versions", {**WORDS, "versions": texts, "breaking": [[], []]})
    assert json.loads(run("history", "a.orders", "--json").out) == VERSIONS


def test_a_history_and_a_difference_say_what_breaks_readers(run: Run, small_server: SmallServer) -> None:
    texts, reasons = [json.dumps(one) for one in VERSIONS], [{"kind": "fieldRemoved", "text": "column id removed"}]
    small_server.answer("GET", f"{API}/t/versions", {**WORDS, "versions": texts, "breaking": [reasons, []]})
    assert "column id removed" in run("history", "a.orders").out
    small_server.answer("GET", f"{API}/t/versions", {**WORDS, "versions": texts, "breaking": [reasons, []]})
    newest, first = json.loads(run("history", "a.orders", "--json").out)
    assert (newest["breakingReasons"], first) == (["column id removed"], VERSIONS[1])
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE | {"breaking": True, "breakingReasons": reasons})
    assert "Breaking: column id removed." in run("diff", "a.orders", "0.1", "0.2").out


def test_a_history_says_why_where_somebody_did(run: Run, small_server: SmallServer) -> None:
    answer = {**WORDS, "versions": [json.dumps(one) for one in VERSIONS], "breaking": [[], []]}
    small_server.answer("GET", f"{API}/t/versions", answer | {"reasons": ["the auditors asked", ""]})
    output = run("history", "a.orders").out
    assert (output.splitlines()[0].split()[-1], "auditors" in output) == ("why", True)
    small_server.answer("GET", f"{API}/t/versions", answer | {"reasons": ["the auditors asked", ""]})
    newest, first = json.loads(run("history", "a.orders", "--json").out)
    assert (newest["reason"], first) == ("the auditors asked", VERSIONS[1])
    stated = [{"version": 0.2, "reason": "the auditors asked"}]
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE | {"reasons": stated})
    assert "Why 0.2: the auditors asked\n" in run("diff", "a.orders", "0.1", "0.2").out
    small_server.answer("GET", f"{API}/t/versions", answer | {"reasons": ["", ""]})
    assert "why" not in run("history", "a.orders").out


def test_a_rollback_may_say_why(run: Run, small_server: SmallServer) -> None:
    answer = {"changeDescription": CHANGE, "leftOut": [], "entity": {**ORDERS, "version": 0.3}}
    small_server.answer("POST", f"{API}/t/rollback", answer)
    run("rollback", "a.orders", "--to", "0.1", "--why", "zurück, für Zoë")
    assert small_server.requests[-1].headers["X-Tocsin-Why"] == "UTF-8''zur%C3%BCck%2C%20f%C3%BCr%20Zo%C3%AB"
    asked_count = len(small_server.requests)
    assert run("rollback", "a.orders", "--to", "0.1", "--why", "a\nb").code == 2
    assert len(small_server.requests) == asked_count


def test_a_difference_is_a_line_per_field(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE)
    output = run("diff", "a.orders", "0.1", "0.2").out
    assert small_server.requests[-1].query == {"from": "0.1", "to": "0.2"}
    for words in ("PII.Email", "id, note", "added", "removed", "…"):
        assert words in output


def test_a_column_renamed_as_announced_is_one_row_of_a_difference(run: Run, small_server: SmallServer) -> None:
    change = {
        "fieldsAdded": [{"name": "columns", "newValue": [{"name": "mail"}, {"name": "size"}]}],
        "fieldsUpdated": [],
        "fieldsDeleted": [{"name": "columns", "oldValue": [{"name": "email"}]}],
        "renames": [{"field": "columns.email", "to": "mail", "request": "CR-1"}],
    }
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE | change)
    cells = [line.split() for line in run("diff", "a.orders", "0.1", "0.2").out.splitlines()[1:]]
    assert cells == [["columns.email", "renamed", "email", "mail"], ["columns", "added", "size"]]


def test_a_difference_says_what_was_announced(run: Run, small_server: SmallServer) -> None:
    announcement = {"request": "CR-1", "field": "columns.email", "text": "as announced by CR-1"}
    of_asset = {"request": "CR-2", "text": "as announced by CR-2"}
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE | {"announcements": [announcement, of_asset]})
    lines = run("diff", "a.orders", "0.1", "0.2").out.splitlines()
    assert "columns.email: as announced by CR-1." in lines
    assert "a.orders: as announced by CR-2." in lines
    early = announcement | {"text": "earlier than CR-1 announced"}
    removal = {"kind": "fieldRemoved", "field": "columns.email", "text": "column email TEXT removed"}
    unlike = {"kind": "unlikeAnnounced", "text": "the asset changed otherwise than CR-2 announced"}
    otherwise = of_asset | {"text": "otherwise than CR-2 announced"}
    facts = {"breaking": True, "breakingReasons": [removal, unlike], "announcements": [early, otherwise]}
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE | facts)
    lines = run("diff", "a.orders", "0.1", "0.2").out.splitlines()
    assert lines[-2:] == [
        "Breaking, earlier than CR-1 announced: column email TEXT removed.",
        "Breaking: the asset changed otherwise than CR-2 announced.",
    ]
    assert not [line for line in lines if line.startswith(("columns.email: ", "a.orders: "))]


def test_a_difference_has_the_words_of_messages(run: Run, small_server: SmallServer) -> None:
    added = [
        {"name": "columns", "newValue": [{"name": "status", "dataType": "VARCHAR", "dataLength": 16}]},
        {"name": "owners", "newValue": [{"type": "user", "id": "1", "name": "ann", "displayName": "Ann Lee"}]},
        {"name": "entityLink", "newValue": "<#E::table::a.b.orders::columns::email>"},
        {"name": "retention", "newValue": {"days": 5, "isStrict": True}},
    ]
    small_server.answer("GET", f"{API}/t/diff", {**DIFFERENCE, "fieldsAdded": added})
    output = run("diff", "a.orders", "0.1", "0.2").out
    for words in ("status VARCHAR(16)", "Ann Lee", "orders.email", "days 5; is strict yes"):
        assert words in output
    assert "{" not in output and "#E::" not in output


def test_what_is_too_long_for_a_line_is_shown_whole_where_it_is_piped(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE)
    lines = run("diff", "a.orders", "0.1", "0.2").out.splitlines()
    at = lines.index("description changed:")
    assert lines[at : at + 3] == ["description changed:", "-a", f"+{'b' * 100}"]
    assert not any("--full" in line for line in lines)


def test_what_is_too_long_for_a_line_is_cut_on_a_terminal_unless_it_is_asked_for(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    small_server.answer("GET", f"{API}/t/diff", DIFFERENCE, DIFFERENCE)
    cut = run("diff", "a.orders", "0.1", "0.2").out
    assert "b" * 100 not in cut
    assert "Long texts are shortened; use --full to see them in full." in cut
    assert f"+{'b' * 100}" in run("diff", "a.orders", "0.1", "0.2", "--full").out


def test_a_dry_run_says_what_would_change_and_what_would_not_come_back(run: Run, small_server: SmallServer) -> None:
    left_out = {"field": "owners", "value": {"id": "u", "name": "jane"}, "reason": "it no longer exists"}
    answer = {"changeDescription": CHANGE, "leftOut": [left_out], "entity": {**ORDERS, "version": 0.3}}
    small_server.answer("POST", f"{API}/t/rollback", answer, answer)
    output = run("rollback", "a.orders", "--to", "0.1", "--dry-run").out
    assert small_server.requests[-1].body == {"version": "0.1", "dryRun": True}
    assert "Not restored: owners jane: it no longer exists." in output
    assert "Would create version 0.3 of a.orders." in output
    assert json.loads(run("rollback", "a.orders", "--to", "0.1", "--json").out) == answer
