"""Tests of ``tocsin addresses``: what is sent, and what people read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1"
MASKED = "https://hooks.slack.com/services/*********"
STATE: dict[str, Any] = {
    "channel": "Slack",
    "address": MASKED,
    "state": "unverified",
    "verifiedAt": None,
    "verifiedBy": None,
    "setBy": {"id": "u", "type": "user", "name": "ann"},
    "codeExpiresAt": None,
    "triesLeft": None,
}


@pytest.fixture
def server(small_server: SmallServer) -> SmallServer:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", f"{API}/teams/name/crew", {"id": "t", "name": "crew"})
    small_server.answer("GET", f"{API}/users/u/preferences", {"timezone": "Europe/Berlin"})
    for holder in ("u", "t"):
        path = f"{API}/addresses/{holder}/Slack"
        small_server.answer("PUT", path, STATE)
        small_server.answer("DELETE", path, {"data": []})
        small_server.answer("POST", f"{path}/code", {"statusDetails": {"status": "Success"}, "address": STATE})
        small_server.answer("POST", f"{path}/verify", STATE | {"state": "verified"})
    verified = STATE | {"state": "verified", "verifiedAt": 1_764_460_800_000}
    small_server.answer("GET", f"{API}/addresses/u", {"data": [verified]})
    return small_server


def test_an_address_is_set_and_its_code_sent(run: Run, server: SmallServer) -> None:
    ended = run("addresses", "set", "slack", "https://hooks.slack.com/services/T/B/x")
    assert ended.out.splitlines() == [
        f"A code was sent to {MASKED}. Enter it within 15 minutes:",
        "tocsin addresses verify slack CODE",
    ]
    put, code = server.requests[-2:]
    assert (put.method, put.body) == ("PUT", {"endpoint": "https://hooks.slack.com/services/T/B/x"})
    assert code.path.endswith("/u/Slack/code")


def test_the_address_of_a_team_is_verified(run: Run, server: SmallServer) -> None:
    assert run("addresses", "verify", "slack", "7KQM-X2TB-WH4C", "--team", "crew").out == (
        f"Verified: Slack messages go to {MASKED}.\n"
    )
    assert server.requests[-1].body == {"code": "7KQM-X2TB-WH4C"}
    assert server.requests[-1].path.endswith("/addresses/t/Slack/verify")
    assert "--team" in run("addresses", "code", "Slack", "--team", "crew").out


def test_a_code_that_did_not_arrive_is_said(run: Run, server: SmallServer) -> None:
    failure = {"status": "Failed", "reason": "gone", "statusCode": 404}
    server.answer("POST", f"{API}/addresses/u/Slack/code", {"statusDetails": failure, "address": STATE})
    lines = run("addresses", "code", "slack").out.splitlines()
    assert lines[0] == f"No code arrived at {MASKED} (gone, status 404). The address is not verified."


def test_addresses_are_listed_and_removed(run: Run, server: SmallServer) -> None:
    header, row = [" ".join(line.split()) for line in run("addresses", "list").out.splitlines()]
    assert header == "channel address state since set by"
    assert row == f"Slack {MASKED} verified 2025-11-30 01:00:00 CET ann"
    assert run("addresses", "remove", "slack").out == "Removed: Slack messages go nowhere.\n"
    assert server.requests[-1].method == "DELETE"


def test_other_channels_have_no_addresses(run: Run, server: SmallServer) -> None:
    ended = run("addresses", "remove", "email")
    assert (ended.code, server.requests) == (2, server.requests)
    assert "CHANNEL must be slack, msTeams, gchat or webhook, not 'email'." in ended.err
