"""Tests that commands show times in the zone that their user prefers, and say which it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.cli.test_backtest import DONE, PATH
from tests.unit.cli.test_explain import ANSWER, EVENT
from tests.unit.cli.test_history import API as TABLES
from tests.unit.cli.test_history import ORDERS, VERSIONS, WORDS
from tests.unit.cli.test_inbox import FAILURE, answer_inbox
from tests.unit.cli.test_lag import ANSWER as LAG
from tests.unit.cli.test_queue import ALERTS, HELD, QUEUE, TAKEN, outcomes
from tests.unit.small_server import SmallServer

API = "/api/v1"


@pytest.fixture(autouse=True)
def zone(small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", f"{API}/users/u/preferences", {"timezone": "Asia/Kolkata"})


def test_an_inbox_is_in_the_zone_of_its_owner(run: Run, small_server: SmallServer) -> None:
    answer_inbox(small_server, FAILURE)
    assert "2025-10-09 14:23:20 IST" in " ".join(run("inbox").out.split())
    small_server.answer("GET", f"{API}/users/name/ben", {"id": "b", "name": "ben"})
    small_server.answer("GET", f"{API}/users/b/preferences", {"timezone": "Europe/Berlin"})
    page = {"data": [FAILURE], "paging": {"total": 1}, "counts": {"unread": 1, "total": 1}}
    small_server.answer("GET", f"{API}/users/b/notifications", page)
    assert "2025-10-09 10:53:20 CEST" in " ".join(run("inbox", "--as", "ben").out.split())


def test_a_history_is_in_the_zone_of_its_reader_on_both_sides_of_a_change_of_clocks(
    run: Run, small_server: SmallServer
) -> None:
    small_server.answer("GET", f"{API}/users/u/preferences", {"timezone": "Europe/Berlin"})
    small_server.answer("GET", f"{TABLES}/name/a.orders", ORDERS)
    texts = [json.dumps(one) for one in VERSIONS]
    small_server.answer("GET", f"{TABLES}/t/versions", {**WORDS, "versions": texts, "breaking": [[], []]})
    out = run("history", "a.orders").out
    assert "2023-11-14 23:13:20 CET" in out
    assert "2020-09-13 14:26:40 CEST" in out


def test_an_explanation_is_in_the_zone_of_who_asks_and_calls_them_you(run: Run, small_server: SmallServer) -> None:
    reached: dict[str, Any] = {**ANSWER["alerts"][0]["reached"], "total": 1}
    narrow = {**ANSWER, "alerts": [{**ANSWER["alerts"][0], "reached": reached}], "paging": {"total": 3}}
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", narrow)
    out = run("explain", EVENT, "--user", "ann").out
    for text in ("2023-11-15 03:43:20 IST  by Bob Uhl", "Mails (you) by mail", "2 more alerts would not notify you"):
        assert text in out, out
    assert "UTC" not in out


def test_json_is_as_it_was_and_asks_for_no_zone(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events/{EVENT}/explain", ANSWER)
    assert json.loads(run("explain", EVENT, "--json").out) == ANSWER
    assert not any("preferences" in one.path for one in small_server.requests)


def test_a_token_of_nobody_is_shown_utc(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"code": 404, "message": "none"}, status=404)
    small_server.answer("GET", f"{API}/incidents", {"data": [], "paging": {}})
    ended = run("incidents", "list")
    assert (ended.code, ended.out) == (0, "Nothing to show.\n")


def test_lags_queues_consumers_and_backtests_are_in_the_zone_of_who_asks(run: Run, small_server: SmallServer) -> None:
    consumer = {"name": "warehouse", "user": "bot", "offset": 3, "committedAt": 1_760_000_000_000}
    small_server.answer("GET", f"{ALERTS}/name/Words", {"id": "a1", "name": "Words"})
    small_server.answer("GET", f"{API}/events/lag", LAG)
    small_server.answer("POST", f"{QUEUE}/claim", TAKEN)
    small_server.answer("POST", f"{QUEUE}/extend", outcomes("extended", leaseExpiresAt=1_760_000_000_000))
    small_server.answer("GET", f"{API}/events/consumers", {"data": [consumer]})
    small_server.answer("POST", PATH, DONE)
    extend = ("queue", "extend", "Words", HELD[0]["id"], "--lease", HELD[0]["lease"])
    commands = (("lag",), ("queue", "take", "Words"), extend, ("consumers", "list"), ("alerts", "backtest", "Words"))
    for command in commands:
        out = run(*command).out
        assert " IST" in out and "UTC" not in out, out
