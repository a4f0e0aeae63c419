"""Tests of ``tocsin queue``: events are taken, shown, and named by id and lease or by what ``take --json`` printed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

ALERTS = "/api/v1/events/subscriptions"
QUEUE = f"{ALERTS}/a1/queue"
EVENT = {"timestamp": 1_760_000_000_000, "eventType": "entityCreated", "entityFullyQualifiedName": "words.order"}
ITEM: dict[str, Any] = {"id": "i1", "lease": "l1", "leaseExpiresAt": 1_760_000_060_000, "event": EVENT, "reasons": []}
TAKEN = {"data": [ITEM, {**ITEM, "id": "i2", "event": {"specversion": "1.0", "data": EVENT}}], "hasMore": False}
HELD = [{"id": "i1", "lease": "l1"}, {"id": "i2", "lease": "l1"}]


@pytest.fixture(autouse=True)
def words(small_server: SmallServer) -> None:
    small_server.answer("GET", f"{ALERTS}/name/Words", {"id": "a1", "name": "Words"})


def outcomes(*states: str, **fields: object) -> dict[str, Any]:
    return {"data": [{"id": f"i{number}", "state": state, **fields} for number, state in enumerate(states, start=1)]}


def test_events_are_taken_and_shown_with_what_to_do_next(run: Run, small_server: SmallServer) -> None:
    small_server.answer("POST", f"{QUEUE}/claim", TAKEN)
    ended = run("queue", "take", "Words", "--limit", "5", "--seconds", "60")
    assert small_server.requests[-1].body == {"limit": 5, "leaseSeconds": 60}
    assert [ended.out.count(word) for word in ("i1", "i2", "words.order", "entityCreated")] == [1, 1, 2, 2]
    assert "Yours until 2025-10-09 08:54:20 UTC" in ended.out
    assert "tocsin queue acknowledge Words --lease l1 ID…" in ended.out
    assert json.loads(run("queue", "take", "Words", "--json").out) == TAKEN


@pytest.mark.parametrize(
    ("has_more", "message"), [(False, "The queue has no free events.\n"), (True, "Take again: there may be more.\n")]
)
def test_a_queue_without_free_events_says_so(run: Run, small_server: SmallServer, has_more: bool, message: str) -> None:
    small_server.answer("POST", f"{QUEUE}/claim", {"data": [], "hasMore": has_more})
    ended = run("queue", "take", "Words")
    assert (ended.code, ended.out) == (0, message)


@pytest.mark.parametrize(("action", "state"), [("acknowledge", "acknowledged"), ("release", "released")])
def test_taken_events_are_named_by_id_and_lease_or_by_the_file(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch, action: str, state: str
) -> None:
    small_server.answer("POST", f"{QUEUE}/{action}", outcomes(state, state))
    ended = run("queue", action, "Words", "i1", "i2", "--lease", "l1")
    assert (ended.code, ended.out.count(state), "until" in ended.out) == (0, 2, False)
    assert small_server.requests[-1].body == {"items": HELD}
    Path("taken.json").write_text(json.dumps(TAKEN))
    assert run("queue", action, "Words", "--claims", "taken.json", "--json").code == 0
    assert small_server.requests[-1].body == {"items": HELD}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(TAKEN)))
    assert run("queue", action, "Words", "--claims", "-").code == 0


def test_leases_are_extended(run: Run, small_server: SmallServer) -> None:
    extended = outcomes("extended", leaseExpiresAt=1_760_000_600_000)
    extended["data"].append({"id": "i2", "state": "leaseLost"})
    small_server.answer("POST", f"{QUEUE}/extend", extended)
    ended = run("queue", "extend", "Words", "i1", "i2", "--lease", "l1", "--seconds", "600")
    assert small_server.requests[-1].body == {"items": HELD, "leaseSeconds": 600}
    assert "2025-10-09 09:03:20" in ended.out
    assert ended.code == 5


def test_what_is_no_longer_held_ends_with_five(run: Run, small_server: SmallServer) -> None:
    small_server.answer("POST", f"{QUEUE}/acknowledge", outcomes("acknowledged", "leaseLost"))
    ended = run("queue", "acknowledge", "Words", "i1", "i2", "--lease", "l1")
    assert (ended.code, "leaseLost" in ended.out) == (5, True)
    assert ended.err.startswith("tocsin: 1 of 2 events were not acknowledged")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Say which events"),
        (("i1",), "Say which events"),
        (("i1", "--claims", "taken.json"), "cannot be combined"),
        (("--claims", "other.json"), "other.json is not what tocsin queue take --json prints"),
        (("--claims", "empty.json"), "empty.json contains no events"),
    ],
)
def test_what_does_not_name_events_is_refused(run: Run, options: tuple[str, ...], message: str) -> None:
    Path("other.json").write_text('{"data": [{"id": "i1"}]}')
    Path("empty.json").write_text('{"data": []}')
    ended = run("queue", "acknowledge", "Words", *options)
    assert (ended.code, message in ended.err) == (2, True), ended.err


def test_an_unknown_alert_or_file_ends_with_three(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", ALERTS, {"data": [{"id": "a1", "name": "Words"}], "paging": {}})
    ended = run("queue", "take", "Word")
    assert (ended.code, ended.err) == (3, "tocsin: alert Word not found; did you mean Words?\n")
    assert run("queue", "release", "Words", "--claims", "none.json").code == 3
