"""Tests of ``tocsin alerts history``."""

from __future__ import annotations

import json

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/events/subscriptions"
EVENT = {"eventId": "e1", "title": "orders: column id removed", "userName": "ana", "timestamp": 1_760_000_000_000}
FIRING = {"kind": "firing", **EVENT, "notified": 3, "suppressed": 1}
EDIT = {"kind": "edit", **EVENT, "eventId": "e0", "title": "Loud: created"}


def test_a_history_says_why_where_somebody_did(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/name/Loud", {"id": "x", "name": "Loud", "fullyQualifiedName": "Loud"})
    edits = [EDIT | {"reason": "on-call moved"}, EDIT]
    small_server.answer("GET", f"{API}/x/history", {"data": edits, "paging": {}})
    heading, explained, plain = run("alerts", "history", "Loud").out.splitlines()
    assert (heading.split()[-1], explained.endswith("on-call moved"), "on-call" in plain) == ("why", True, False)


def test_a_history_is_a_table(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/name/Loud", {"id": "x", "name": "Loud", "fullyQualifiedName": "Loud"})
    small_server.answer("GET", f"{API}/x/history", {"data": [FIRING, EDIT], "paging": {}})
    lines = [line.split() for line in run("alerts", "history", "Loud").out.splitlines()]
    assert lines[0] == ["when", "kind", "what", "by", "notified", "event"]
    assert lines[1][2:4] == ["UTC", "firing"]
    assert "notifications," in lines[1]
    ended = run("alerts", "history", "Loud", "--kind", "firing", "--since", "7d", "--limit", "1", "--json")
    assert json.loads(ended.out) == [FIRING]
    assert small_server.requests[-1].query == {"kind": "firing", "since": "7d", "limit": "100"}
    small_server.answer("GET", f"{API}/x/history", {"data": [], "paging": {}})
    assert run("alerts", "history", "Loud").out == "Nothing to show.\n"
