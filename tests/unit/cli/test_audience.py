"""Tests of ``tocsin audience``."""

from __future__ import annotations

from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

EVENT = "0195564e-6f0c-7a41-9c3e-2b1f7d90a5c4"
ANSWER: dict[str, Any] = {
    "eventId": EVENT,
    "data": [
        {
            "userId": "u",
            "name": "ann",
            "displayName": "Ann Lee",
            "channels": [{"type": "ActivityFeed", "status": "read"}, {"type": "Email", "status": "delivered"}],
            "readAt": 1_760_000_000_000,
        },
        {"userId": None, "name": "https://x/***", "destinations": ["#data"], "channels": []},
    ],
    "isComplete": False,
    "readCount": 1,
    "incident": "INC-7",
    "acknowledgedBy": "ben",
    "unowned": {"total": 1, "data": [{"fullyQualifiedName": "pg.shop.public.lonely"}]},
    "paging": {"total": 1},
}


def test_it_lists_who_was_told_and_says_what_nobody_owns(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", f"/api/v1/events/{EVENT}/audience", ANSWER)
    output = " ".join(run("audience", EVENT).out.split())
    for text in (
        "Ann Lee ",
        "#data (https://x/***)",
        "ActivityFeed: read; Email: delivered",
        "2025-10-09 08:53:20 UTC",
        "INC-7 is acknowledged by ben.",
        "1 asset downstream nobody owns: pg.shop.public.lonely.",
        "Others may have been told, of whom you may not know.",
    ):
        assert text in output


CAUSE = "0123456789abcdef.1.9"
READER: dict[str, Any] = {"userId": "u", "name": "ann", "channels": ["ActivityFeed", "Email"], "told": 14, "read": 3}


def test_it_lists_who_was_told_of_a_cause_page_by_page(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", "/api/v1/users/u/preferences", {"timezone": "Europe/Berlin"})
    readers = [READER | {"readAt": 1_760_000_000_000}]
    answer = {"causeId": CAUSE, "data": readers, "isComplete": False, "paging": {"total": 1}}
    small_server.answer("GET", f"/api/v1/users/u/notifications/causes/{CAUSE}/audience", answer)
    output = " ".join(run("audience", "--cause", CAUSE, "--tab", "done").out.split())
    for text in ("ann ActivityFeed, Email 14 3 2025-10-09 10:53:20 CEST", "Others may have been told"):
        assert text in output
    assert small_server.requests[-1].query["tab"] == "done"


def test_it_is_of_an_event_or_of_a_cause(run: Run) -> None:
    for arguments in ((), (EVENT, "--cause", CAUSE)):
        assert run("audience", *arguments).code == 2
