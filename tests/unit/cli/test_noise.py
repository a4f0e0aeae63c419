"""Tests of the plot of ``tocsin alerts noise``."""

from __future__ import annotations

import json
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/events/subscriptions"
COUNTS = {"fired": 80, "notified": 80, "notifiedInApp": 80, "opened": 20, "people": 4, "muted": 1, "unsubscribed": 0}
ROW: dict[str, Any] = {"name": "Loud", **COUNTS}
LOW: dict[str, Any] = {
    "name": "Low",
    **COUNTS,
    "notified": 8,
    "opened": 0,
    "people": 1,
    "muted": 0,
    "notifiedNobody": 72,
}
RANKED = {"data": [ROW, LOW], "formula": "noise = notified - opened", "paging": {"total": 5}}
ONE = {
    **ROW,
    "assets": [{"fullyQualifiedName": "a.b", "fired": 1, "notified": 1, "opened": 0}],
    "rules": [{"condition": "isBot()", "held": 3, "examined": 80}],
    "examined": 80,
    "suggestions": [
        {"says": "without bots", "condition": "isBot() == false", "saved": 62, "notified": 80, "missed": 0},
        {"says": "only Tier1", "condition": "matchAnyTier('Tier.Tier1')", "saved": 71, "notified": 80, "missed": 2},
    ],
}


def test_the_noisiest_alerts_are_bars(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/noise", RANKED)
    assert run("alerts", "noise", "--since", "7d").out.splitlines() == [
        "Loud  ████████░░░░░░░░░░░░░░░░░░░░░░  80 events, 80 notifications to 4 people, 20 opened, 1 muted",
        "Low   ░░░                             80 events (72 notified nobody), 8 notifications to 1 person, 0 opened",
        "█ opened  ░ unopened; 3 more alerts matched events. noise = notified - opened",
    ]
    assert small_server.requests[-1].query == {"since": "7d", "limit": "10"}
    assert json.loads(run("alerts", "noise", "--json").out) == RANKED
    small_server.answer("GET", f"{API}/noise", {**RANKED, "data": []})
    assert run("alerts", "noise").out == "No alert matched any event.\n"


def test_one_alert_shows_what_would_spare_it(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/name/Loud", {"id": "x", "name": "Loud", "fullyQualifiedName": "Loud"})
    small_server.answer("GET", f"{API}/x/noise", ONE)
    assert run("alerts", "noise", "Loud").out.splitlines()[1:] == [
        "",
        "by asset",
        "a.b  ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  1 event, 1 notification, 0 opened",
        "",
        "by rule, over the newest 80 events",
        "true for     3 of 80  isBot()",
        "",
        "notifications that a stricter condition would save",
        "without bots: saves 62 of 80, none of them opened",
        "    isBot() == false",
        "only Tier1: saves 71 of 80; opened of these: 2",
        "    matchAnyTier('Tier.Tier1')",
    ]


def test_of_what_only_programs_get_nothing_is_opened(run: Run, small_server: SmallServer) -> None:
    silent = {**ONE, "people": 0, "notifiedInApp": 0, "opened": 0, "muted": 0}
    idle = {**silent, "name": "Idle", "notified": 0}
    small_server.answer("GET", f"{API}/noise", {**RANKED, "data": [silent, idle]})
    bars = [line.count("░") for line in run("alerts", "noise").out.splitlines()]
    assert bars[:2] == [30, 0]
    small_server.answer("GET", f"{API}/name/Loud", {"id": "x", "name": "Loud"})
    small_server.answer("GET", f"{API}/x/noise", silent)
    assert "without bots: saves 62 of 80" in run("alerts", "noise", "Loud").out.splitlines()
    small_server.answer("GET", f"{API}/x/noise", {**silent, "suggestions": []})
    assert "None: no condition that was tried" in run("alerts", "noise", "Loud").out


def test_an_alert_that_matched_nothing_says_so(run: Run, small_server: SmallServer) -> None:
    quiet = {**ONE, "fired": 0, "notified": 0, "opened": 0, "assets": [], "suggestions": []}
    small_server.answer("GET", f"{API}/name/Loud", {"id": "1", "name": "Loud"})
    small_server.answer("GET", f"{API}/1/noise", quiet)
    assert run("alerts", "noise", "Loud").out == "Loud matched no events in this time.\n"
