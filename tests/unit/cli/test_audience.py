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
