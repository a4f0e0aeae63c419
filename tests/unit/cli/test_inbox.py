"""Tests of ``tocsin inbox``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1"
ROWS = {"isWithheld": False, "columns": ["id", "email"], "rows": [["7", "********"]], "rowCount": 3, "columnCount": 2}
FAILURE: dict[str, Any] = {
    "id": "n",
    "group": "g",
    "eventId": "e",
    "eventType": "entityUpdated",
    "entityType": "testCase",
    "entityId": "t",
    "entityFullyQualifiedName": "pg.orders.not_null",
    "title": "not_null: failed",
    "changes": ["failed"],
    "semanticChanges": [],
    "breaking": False,
    "breakingReasons": [],
    "reasons": [{"sentence": "you own it (alert Owned)"}],
    "userName": "system",
    "timestamp": 1_760_000_000_000,
    "read": False,
    "severity": "Severity2",
    "runbooks": [{"runbook": "call ann"}],
    "failingRows": ROWS,
    "failure": {"since": 1_760_000_000_000, "count": 3, "usualDuration": 180_000},
    "incident": {"name": "INC-7", "acknowledgedBy": "ben"},
}


def answer_inbox(small_server: SmallServer, *entries: dict[str, Any]) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    page = {"data": list(entries), "paging": {"total": len(entries)}, "counts": {"unread": 1, "total": 1}}
    small_server.answer("GET", f"{API}/users/u/notifications", page)


def test_filters_are_sent_as_the_server_takes_them(run: Run, small_server: SmallServer) -> None:
    answer_inbox(small_server, FAILURE)
    small_server.answer("GET", f"{API}/events/subscriptions/name/Nightly", {"id": "a", "name": "Nightly"})
    options = ("--kind", "tag,tier", "--kind", "owner", "--reason", "follower", "--by", "ben", "--search", "100% _x_")
    run("inbox", *options, "--alert", "Nightly", "--since", "2026-01-31", "--json")
    query = small_server.requests[-1].query
    assert {name: query[name] for name in ("kind", "reason", "alert", "actor", "q", "startTs")} == {
        "kind": "tag,tier,owner",
        "reason": "follower",
        "alert": "a",
        "actor": "ben",
        "q": "100% _x_",
        "startTs": "1769817600000",
    }


def test_failures_are_listed_with_what_mails_say_of_them(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    answer_inbox(small_server, FAILURE, FAILURE | {"failingRows": ROWS | {"isWithheld": True}, "read": True})
    output = " ".join(run("inbox", "--unread").out.split())
    query = small_server.requests[-1].query
    assert (query["tab"], query["fields"]) == ("unread", "severity,runbooks,failingRows,failure,incident")
    for text in (
        "not_null: failed",
        "you own it (alert Owned)",
        "Severity2",
        "call ann",
        "since 2025-10-09 08:53:20 UTC, 3 times, usually takes 3 min",
        "INC-7, acknowledged by ben",
        "id: 7; email: ******** | the first of 3 rows of 2 columns",
        "kept; you may not see them",
    ):
        assert text in output


def test_what_has_no_runbook_is_listed_with_what_mails_advise(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    answer_inbox(small_server, FAILURE | {"runbooks": [], "advice": "repair it"})
    assert " repair it " in run("inbox").out
    answer_inbox(small_server, FAILURE | {"advice": "repair it"})
    output = run("inbox").out
    assert " call ann " in output and "repair it" not in output


@pytest.mark.parametrize(
    ("failing", "text"),
    [
        ({"rows": [['"7; total: 0"', "-3"], ["8", "null"]]}, 'id: "7; total: 0"; total: -3 | id: 8; total: null'),
        ({"rows": [["7, total: 0", "-3"]], "rowCount": 1}, "id: 7, total: 0; total: -3"),
        ({"rows": [["7", "-3"]], "rowCount": 1, "columnCount": 9}, "total: -3 | the first of 1 row of 9 columns"),
    ],
)
def test_no_value_of_a_failing_row_reads_as_another_columns(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch, failing: dict[str, Any], text: str
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    shown_rows = ROWS | {"columns": ["id", "total"], "rowCount": 2} | failing
    answer_inbox(small_server, FAILURE | {"failingRows": shown_rows})
    assert text in " ".join(run("inbox").out.split())


def test_an_inbox_is_shown_as_json_and_says_where_it_is_empty(run: Run, small_server: SmallServer) -> None:
    answer_inbox(small_server, FAILURE)
    assert json.loads(run("inbox", "--json").out) == [FAILURE]
    details = ("severity", "runbooks", "failingRows", "failure", "incident")
    plain = {key: FAILURE[key] for key in FAILURE if key not in details}
    answer_inbox(small_server, plain)
    assert "not_null: failed" in " ".join(run("inbox").out.split())
    answer_inbox(small_server)
    assert run("inbox").out == "Nothing to show.\n"


MARKED: dict[str, Any] = {
    "marked": 1,
    "notificationCount": 1,
    "missing": [],
    "counts": {"unread": 4},
    "undo": {"states": [{"read": False, "seen": True, "done": False, "saved": False, "ids": ["n"]}]},
}


def answer_marks(small_server: SmallServer, answer: dict[str, Any]) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("POST", f"{API}/users/u/notifications/marks", answer)


def test_a_mark_is_sent_and_its_answer_brings_the_state_back(
    run: Run, small_server: SmallServer, tmp_path: Path
) -> None:
    answer_marks(small_server, MARKED)
    assert run("mark", "done", "n").out == "ann has marked as done: 1 entry; 4 unread.\n"
    assert small_server.requests[-1].body == {"as": "done", "ids": ["n"]}
    saved_answer = tmp_path / "answer.json"
    saved_answer.write_text(run("mark", "snoozed", "n", "--until", "changed", "--json").out)
    assert small_server.requests[-1].body == {"as": "snoozed", "ids": ["n"], "until": "changed"}
    assert run("mark", "--undo", str(saved_answer)).out == "ann has brought back: 1 entry; 4 unread.\n"
    assert small_server.requests[-1].body == MARKED["undo"]


def test_what_is_not_there_is_named_and_a_file_without_an_undo_is_refused(
    run: Run, small_server: SmallServer, tmp_path: Path
) -> None:
    answer_marks(small_server, MARKED | {"marked": 0, "missing": ["x"]})
    assert run("mark", "read", "x").out == "ann has marked as read: 0 entries; 4 unread. Not there: x.\n"
    saved_answer = tmp_path / "answer.json"
    saved_answer.write_text('{"marked": 0}')
    assert "holds no answer with an undo" in run("mark", "--undo", str(saved_answer)).err
    assert "Say what to mark" in run("mark").err
    says = "--until must be a duration such as 8h or 7d, changed or resolved, not 'tomorrow'."
    assert says in " ".join(run("mark", "snoozed", "x", "--until", "tomorrow").err.split())


def test_the_state_of_an_entry_is_said_in_words(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    state = {"read": False, "seen": True, "done": False, "saved": True}
    answer_inbox(small_server, FAILURE | {"state": state | {"snoozedUntil": "changed"}})
    assert "unread, saved, snoozed until changed" in " ".join(run("inbox", "--tab", "snoozed").out.split())
    answer_inbox(small_server, FAILURE | {"state": state | {"done": True, "snoozedUntil": 1_760_000_000_000}})
    assert "done, saved, snoozed until 2025-10-09" in " ".join(run("inbox").out.split())


def test_all_that_a_filter_finds_is_marked_request_by_request(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    states = [{"read": False, "seen": False, "done": False, "saved": False, "ids": ["n"]}]
    answer = {"marked": 2, "notificationCount": 2, "missing": [], "counts": {"unread": 4}, "matched": 3, "through": 9}
    small_server.answer("POST", f"{API}/users/u/notifications/marks", answer | {"undo": {"states": states}})
    answer_of_all = json.loads(run("mark", "done", "--tab", "unread", "--kind", "tag", "--json").out)
    assert (answer_of_all["marked"], answer_of_all["matched"], answer_of_all["undo"]) == (2, 3, {"states": states})
    assert small_server.requests[-1].body == {
        "as": "done",
        "filter": {"kind": ["tag"]},
        "dryRun": False,
        "tab": "unread",
    }
    output = run("mark", "done", "--by", "ben", "--dry-run").out
    assert "3 entries of ann would be marked as done; nothing has changed." in " ".join(output.split())


@pytest.mark.parametrize("command", [("inbox",), ("inbox", "--by-cause"), ("mark", "done")])
def test_a_filter_that_names_nobody_is_an_error(run: Run, small_server: SmallServer, command: tuple[str, ...]) -> None:
    answer_inbox(small_server)
    small_server.answer("GET", f"{API}/users/u/notifications/causes", {"data": [], "paging": {"total": 0}})
    answer_marks(small_server, MARKED | {"marked": 0, "matched": 0})
    answer = run(*command, "--by", "nope")
    assert (answer.code, "user nope not found" in answer.err) == (3, True), answer
    small_server.answer("GET", f"{API}/users/name/ben", {"id": "b", "name": "ben"})
    assert run(*command, "--by", "ben").code == 0


def test_an_undo_of_more_than_a_request_takes_is_sent_in_portions(
    run: Run, small_server: SmallServer, tmp_path: Path
) -> None:
    answer_marks(small_server, MARKED)
    state = {"read": False, "seen": False, "done": False, "saved": False}
    ids = {False: [f"a{number}" for number in range(20_150)], True: ["b"]}
    states = [{**state, "seen": is_seen, "ids": many} for is_seen, many in ids.items()]
    saved_answer = tmp_path / "answer.json"
    saved_answer.write_text(json.dumps({"undo": {"states": states}}))
    assert run("mark", "--undo", str(saved_answer)).out == "ann has brought back: 2 entries; 4 unread.\n"
    portions = [request.body["states"] for request in small_server.requests if request.body]
    assert [sum(len(one["ids"]) for one in portion) for portion in portions] == [20_000, 151]
    sent_ids = [(one["seen"], each) for portion in portions for one in portion for each in one["ids"]]
    assert sent_ids == [(is_seen, each) for is_seen, many in ids.items() for each in many]


def test_causes_are_listed_with_what_leads_them(run: Run, small_server: SmallServer) -> None:
    cause = {
        "id": "0123456789abcdef.1.9",
        "title": "dbt run 7: 2 changes to 2 tables by dbt",
        "count": 2,
        "unread": 1,
        "timestamp": 0,
        "leading": {"title": "cart removed"},
    }
    alone = {**cause, "title": "cart removed", "count": 1}
    answer_inbox(small_server)
    page = {"data": [cause, alone], "paging": {"total": 2}}
    small_server.answer("GET", f"{API}/users/u/notifications/causes", page)
    lines = run("inbox", "--by-cause", "--cause", "0123456789abcdef.1.9", "--json").out
    assert json.loads(lines) == page
    assert small_server.requests[-1].query["cause"] == "0123456789abcdef.1.9"
    text = " ".join(run("inbox", "--by-cause").out.split())
    assert text.count("cart removed") == 1
    assert "dbt run 7: 2 changes to 2 tables by dbt" in text


def test_counts_say_how_many_there_are_by_tab_need_and_kind(run: Run, small_server: SmallServer) -> None:
    answer_inbox(small_server)
    numbers: dict[str, Any] = {"unread": 1000, "unseen": 3, "total": 1000, "saved": 0, "snoozed": 2, "done": 5}
    numbers |= {"needsMe": 4, "kinds": {"testFailure": 7, "tag": 12}}
    small_server.answer("GET", f"{API}/users/u/notifications/counts", numbers)
    output = " ".join(run("inbox", "--counts", "--unread").out.split())
    for text in ("needs you: 4", "all: 1,000 or more", "snoozed: 2", "by kind: 7 testFailure, 12 tag"):
        assert text in output
    assert small_server.requests[-1].query == {"tab": "unread"}


def test_a_list_that_ends_at_its_limit_says_so(run: Run, small_server: SmallServer) -> None:
    answer_inbox(small_server, FAILURE, FAILURE)
    listed = run("inbox", "--limit", "1")
    assert (listed.out.count("not_null: failed"), listed.err) == (1, "There are more: --limit ends the list at 1.\n")
    assert len(json.loads(run("inbox", "--limit", "1", "--json").out)) == 1
    assert run("inbox", "--limit", "2").err == ""
    page = {"data": [{"name": "pg.orders", "count": 2, "unread": 2, "latest": FAILURE}], "paging": {"total": 9}}
    small_server.answer("GET", f"{API}/users/u/notifications/assets", page)
    assert "more" in run("inbox", "--by-asset", "--limit", "1").err
    assert run("inbox", "--by-asset", "--limit", "1", "--json").err == ""


def test_counts_of_a_filter_are_refused(run: Run, small_server: SmallServer) -> None:
    answer_inbox(small_server)
    refusal = run("inbox", "--counts", "--kind", "tag")
    assert (refusal.code, refusal.err) == (2, "tocsin: --counts counts the whole inbox: leave the filters out.\n")


@pytest.mark.parametrize(("option", "path"), [("--by-asset", "assets"), ("--by-cause", "causes")])
def test_groups_are_read_on_where_a_page_is_empty(run: Run, small_server: SmallServer, option: str, path: str) -> None:
    answer_inbox(small_server)
    group = {"id": "c", "name": "pg.orders", "title": "orders failed", "timestamp": 0, "count": 2, "unread": 2}
    pages: list[dict[str, Any]] = [
        {"data": [], "paging": {"total": 0, "after": "1.a"}},
        {"data": [group | {"leading": FAILURE, "latest": FAILURE}], "paging": {"total": 1, "after": "2.b"}},
    ]
    small_server.answer("GET", f"{API}/users/u/notifications/{path}", *pages)
    listed = run("inbox", option, "--limit", "1")
    assert ("2" in listed.out, "There are more" in listed.err) == (True, True)
    assert [one.query.get("after") for one in small_server.requests[-2:]] == [None, "1.a"]
