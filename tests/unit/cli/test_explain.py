"""Tests of ``tocsin explain``: the answer first, then a tree of what held and what did not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

from tocsin.delivery.wording.event_formats import as_tocsin

API = "/api/v1"
EVENT = "0193a7c1-0000-7000-8000-000000000001"
SEEN = {"name": "tier", "isMissing": True, "isInherited": False, "values": [], "total": 0}
TAGS = {"name": "tags", "isMissing": False, "isInherited": True, "values": ["a", "b", "c", "d", "e"], "total": 25}


def test(text: str, holds: bool, observation: dict[str, Any]) -> dict[str, Any]:
    return {"text": text, "line": 1, "column": 1, "holds": holds, "seen": [observation]}


test.__test__ = False  # type: ignore[attr-defined]  # a test of a condition, not of ours

EITHER = {
    "text": "x",
    "line": 1,
    "column": 1,
    "holds": True,
    "joined": "or",
    "parts": [test("tier == 'a'", False, SEEN), test("tags == 'a'", True, TAGS)],
}
WAY = {"reason": {"sentence": "you own it (alert A)"}, "stoppedBy": None}
SELF = {"reason": {"sentence": "you follow it (alert A)"}, "stoppedBy": {"kind": "self", "says": "ann made the change"}}
MESSAGE = {
    "status": "awaitingRetry",
    "isDeadLetter": False,
    "nextAttempt": 1_700_000_060_000,
    "notificationCount": 3,
    "attempts": [
        {
            **{"number": 1, "startedAt": 1_700_000_000_000, "outcome": "retry", "reason": "timeout", "statusCode": 503},
            "dropped": [{"reason": {"sentence": "you own it (alert D)"}, "says": "the alert is disabled"}],
        }
    ],
}
HAPPENED = {
    "id": EVENT,
    "title": "orders: created",
    "timestamp": 1_700_000_000_000,
    "userName": "bob",
    "userDisplayName": "Bob Uhl",
}
ANSWER: dict[str, Any] = {
    "answer": "Yes: ann was notified.",
    "asOf": 1_700_000_000_000,
    "user": {"id": "u", "name": "ann"},
    "paging": {"total": 1},
    "event": {**HAPPENED, "changes": ["tag PII.Sensitive added to column email"]},
    "alerts": [
        {
            "id": "a",
            "name": "A",
            "matched": True,
            "gates": [{"name": "enabled", "holds": True, "says": "the alert is switched on"}],
            "rules": [
                {"part": "rules", "number": 0, "name": None, "effect": "include", "holds": True, "trace": EITHER},
                {
                    "part": "actions",
                    "number": 0,
                    "name": "odd",
                    "effect": "include",
                    "holds": False,
                    "trace": None,
                    "says": "no",
                },
            ],
            "reached": {
                "total": 3,
                "data": [
                    {
                        "id": "u",
                        "name": "ann",
                        "displayName": "Ann Berg",
                        "destinations": ["Mails"],
                        "channel": "Email",
                        "isDue": True,
                        "notification": "n",
                        "ways": [WAY, SELF],
                        "mergedWith": ["B"],
                    }
                ],
            },
        }
    ],
    "notified": {
        "total": 1,
        "isWhole": True,
        "data": [
            {
                "channel": "Email",
                "destinations": ["Mails"],
                "recipient": "a@x",
                "recipientName": None,
                "recipientId": None,
                "reasons": [{"subscriptionId": "a"}],
                "dueAt": 1_700_000_000_000,
                "preference": {"kind": "tag", "frequency": "daily", "from": "server"},
                "isRead": False,
                "message": MESSAGE,
            }
        ],
    },
    "disagreements": [{"says": "currently A would notify zoe, but no notification is stored"}],
}


def test_the_answer_comes_first_and_the_tree_says_what_held(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", ANSWER)
    assert run("explain", EVENT, "--user", "ann", "--alert", "A").out.splitlines() == [
        "Yes: ann was notified.",
        "orders: created  2023-11-14 22:13:20 UTC  by Bob Uhl",
        "├── tag PII.Sensitive added to column email",
        f"├── event {EVENT}",
        "├── ✓ alert A matched",
        "│   ├── ✓ the alert is switched on",
        "│   ├── ✓ rule 1 (include)",
        "│   │   └── ✓ one of",
        "│   │       ├── ✗ tier == 'a'  tier is missing",
        "│   │       └── ✓ tags == 'a'  tags is a, b, c, d and 21 more, inherited",
        "│   ├── ✗ no",
        "│   ├── ✓ Mails (Ann Berg) by mail",
        "│   │   ├── ✓ you own it (alert A)",
        "│   │   ├── ✗ you follow it (alert A): ann made the change",
        "│   │   └── sent as one notification with B",
        "│   └── and 2 more",
        "├── 1 notification is stored",
        "│   └── Mails (a@x) by mail  due 2023-11-14 22:13:20 UTC",
        "│       ├── the server's defaults send changed tags daily",
        "│       ├── awaiting retry, in one message with 2 other notifications",
        "│       ├── ✗ attempt 1 at 2023-11-14 22:13:20 UTC: timeout 503",
        "│       ├── left out: you own it (alert D): the alert is disabled",
        "│       └── next attempt at 2023-11-14 22:14:20 UTC",
        "├── ! currently A would notify zoe, but no notification is stored",
        "└── alerts and relations as of now, 2023-11-14 22:13:20 UTC",
    ]
    assert small_server.requests[-1].query == {"subscription": "A", "user": "ann", "limit": "100"}


def test_a_follow_that_never_tells_of_it_is_named_with_the_command_that_changes_it(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    choice = {"kind": "testFailure", "frequency": "never", "from": "follow"}
    stored = ANSWER["notified"]["data"][0] | {"preference": choice, "dueAt": None, "message": None}
    answer = ANSWER | {"notified": ANSWER["notified"] | {"data": [stored]}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", answer)
    out = run("explain", EVENT).out
    assert "their follow does not tell of failed tests (to change that: tocsin follow --help)" in out


def other_alert(name: str, *, matched: bool) -> dict[str, Any]:
    reached = {"total": 0, "data": []}
    return {"id": name, "name": name, "matched": matched, "gates": [], "rules": [], "reached": reached}


def test_what_waits_for_a_paused_destination_says_so(run: Run, small_server: SmallServer) -> None:
    held_message = {**MESSAGE, "attempts": [], "nextAttempt": None, "held": "paused", "heldSince": 1_700_000_000_000}
    (recipient,) = ANSWER["notified"]["data"]
    notified = {**ANSWER["notified"], "data": [{**recipient, "message": held_message}]}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", {**ANSWER, "notified": notified})
    output = run("explain", EVENT, "--user", "ann").out.splitlines()
    assert "│       └── waits: its destination is paused since 2023-11-14 22:13:20 UTC" in output


def test_what_a_person_wants_nothing_of_in_the_app_is_not_shown(run: Run, small_server: SmallServer) -> None:
    (recipient,) = ANSWER["notified"]["data"]
    off = {**recipient, "channel": "ActivityFeed", "destinations": [], "dueAt": None, "message": None}
    answer = {**ANSWER, "notified": {**ANSWER["notified"], "data": [off]}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", answer)
    assert "│   └── a@x in the app  not shown" in run("explain", EVENT, "--user", "ann").out.splitlines()


def test_what_does_not_concern_somebody_is_only_counted(run: Run, small_server: SmallServer) -> None:
    other_alerts = [other_alert("B", matched=True), other_alert("C", matched=False)]
    answer = {**ANSWER, "alerts": [*ANSWER["alerts"], *other_alerts], "paging": {"total": 3}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", answer)
    output = run("explain", EVENT, "--user", "ann").out.splitlines()
    assert "├── 2 more alerts would not notify ann; use --all to show them" in output
    assert not [line for line in output if "alert B" in line]
    full_output = run("explain", EVENT, "--user", "ann", "--all").out.splitlines()
    assert full_output[full_output.index("├── ✓ alert B matched") + 1] == "│   └── ✗ it does not notify ann"
    assert "├── ✗ alert C did not match" in full_output


def test_of_everybody_the_alerts_that_matched_are_shown(run: Run, small_server: SmallServer) -> None:
    other_alerts = [other_alert("B", matched=True), other_alert("C", matched=False)]
    answer = {**ANSWER, "user": None, "alerts": other_alerts, "paging": {"total": 2}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", answer)
    output = run("explain", EVENT).out.splitlines()
    assert output[output.index("├── ✓ alert B matched") + 1] == "│   └── ✗ it does not notify anybody"
    assert "├── 1 more alert did not match; use --all to show them" in output
    narrowed = {**answer, "notified": {"total": 0, "isWhole": False, "data": []}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", narrowed)
    output = run("explain", EVENT).out.splitlines()
    assert "├── 2 more alerts would not notify you; use --all to show them" in output
    assert "├── no notification that you may see is stored" in output


def test_of_many_changes_the_first_are_named(run: Run, small_server: SmallServer) -> None:
    answer = {**ANSWER, "event": {**HAPPENED, "changes": [f"column c{number} INT added" for number in range(12)]}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", answer)
    assert run("explain", EVENT).out.splitlines()[11:13] == ["├── column c9 INT added", "├── … and 2 more"]


def test_of_a_breaking_change_its_readers_are_named(run: Run, small_server: SmallServer) -> None:
    names = [{"fullyQualifiedName": name} for name in ("a.b", "a.c")]
    for readers, line in (
        ({"total": 2, "hidden": 0, "data": names}, "├── read by a.b and a.c"),
        ({"total": 22, "hidden": 1, "data": names}, "├── read by a.b, a.c, 20 more and 1 asset that you may not see"),
        ({"total": 0, "hidden": 0, "data": []}, "├── read by nothing, says lineage"),
    ):
        small_server.answer("GET", f"{API}/events/{EVENT}/explain", {**ANSWER, "readers": readers})
        assert line in run("explain", EVENT).out.splitlines()


def test_the_last_event_of_an_asset_is_found(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/tables/name/a", {"id": "t", "name": "a", "fullyQualifiedName": "a"})
    plain_event = {"id": "1", "timestamp": 0, "eventType": "entityUpdated", "entityType": "table", "entityId": "t"}
    widening = {"name": "columns.id.dataType", "oldValue": "INT", "newValue": "BIGINT"}
    retyping_event = {
        **plain_event,
        "id": "2",
        "entity": {"name": "a"},
        "changeDescription": {"fieldsUpdated": [widening]},
    }
    small_server.answer(
        "GET", f"{API}/events", {"data": [plain_event, as_tocsin(retyping_event), {"id": EVENT}], "paging": {}}
    )
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", ANSWER)
    assert json.loads(run("explain", "--asset", "a", "--json").out) == ANSWER
    assert run("explain", "--asset", "a").out.splitlines()[-3:] == [
        "Earlier events of the asset, which `tocsin explain ID` explains:",
        "  2  1970-01-01 00:00:00 UTC  column id INT → BIGINT",
        "  1  1970-01-01 00:00:00 UTC  entity updated",
    ]
    assert run("explain").code == 2
    assert run("explain", "orders").code == 2


def test_an_alert_that_has_changed_since_it_notified_did_match_then(run: Run, small_server: SmallServer) -> None:
    changed = {**ANSWER["alerts"][0], "matched": False}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", {**ANSWER, "alerts": [changed]})
    output = run("explain", EVENT, "--user", "ann").out.splitlines()
    assert "├── ✗ alert A would not match now, but matched then" in output
