"""Tests of ``tocsin alerts backtest``: waiting, cancellation on interrupt, and the drawn result."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.backtested import RESULT
from tests.commandline import Run
from tests.unit.small_server import SmallServer

from tocsin.cli.backtest import MOST_BARS, await_end, bars
from tocsin.client import Client
from tocsin.errors import Unavailable
from tocsin.model.entity import Document

PATH = "/api/v1/events/subscriptions/backtest"
WAITING = {"id": "b0", "alert": {"name": "a"}, "state": "waiting", "progress": {"done": 0, "total": 0}}
RUNNING = {**WAITING, "state": "running", "progress": {"done": 1, "total": 2}}
DONE = {**WAITING, "state": "done", "progress": {"done": 2, "total": 2}, "result": RESULT}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "alert.json"
    path.write_text(json.dumps({"name": "a", "resources": ["table"]}))
    return str(path)


def test_a_stored_alert_is_asked_of_by_its_name(run: Run, small_server: SmallServer) -> None:
    alerts = "/api/v1/events/subscriptions"
    small_server.answer("GET", f"{alerts}/name/Pii", {"id": "a1", "name": "Pii"})
    small_server.answer("GET", alerts, {"data": [{"id": "a1", "name": "Pii"}], "paging": {}})
    small_server.answer("POST", PATH, DONE)
    assert "30 of 1,200 events match" in run("alerts", "backtest", "Pii", "--since", "90d").out
    assert small_server.requests[-1].body == {"id": "a1", "since": "90d"}
    ended = run("alerts", "backtest", "Pij")
    message = "tocsin: alert Pij not found; did you mean Pii? (and there is no file Pij)\n"
    assert (ended.code, ended.err) == (3, message)
    assert run("alerts", "backtest", "none.toml").err == "tocsin: file none.toml not found\n"


def test_it_waits_for_the_result_and_draws_it(run: Run, small_server: SmallServer, file: str) -> None:
    small_server.answer("POST", PATH, WAITING, status=202)
    small_server.answer("GET", f"{PATH}/b0", WAITING, RUNNING, DONE)
    command = run("alerts", "backtest", file, "--since", "90d")
    assert command.code == 0, command.err
    (start,) = (one for one in small_server.requests if one.method == "POST")
    assert start.body == {"name": "a", "resources": ["table"], "since": "90d"}
    assert "30 of 1,200 events match" in command.out
    assert "1 asset; 4 of them notify nobody" in " ".join(command.out.split())
    assert "4 of them notify nobody; incidents hold back 3 of them" in " ".join(command.out.split())
    assert "OnCall" in command.out and "an alert that you may not view" in command.out
    assert "5 duplicates merged" in " ".join(command.out.split())
    plot = [line for line in command.out.splitlines() if line.startswith("2026-03")]
    assert [line.count("█") for line in plot] == [30, 0, 60]
    assert "Matches per day" in command.out
    for name in (
        "ana",
        "a person",
        "#data-alerts (https://hooks.slack.com/*********)",
        "pg.store.orders",
        "as of today",
    ):
        assert name in command.out
    assert json.loads(run("alerts", "backtest", file, "--json").out)["result"] == RESULT


def test_what_comes_to_nothing_is_said_and_not_drawn(run: Run, small_server: SmallServer, file: str) -> None:
    nothing = {**RESULT, "matched": 0, "perDay": [], "assets": [], "recipients": [], "samples": [], "channels": []}
    small_server.answer("POST", PATH, {**DONE, "result": nothing})
    assert "0 of 1,200 events match" in run("alerts", "backtest", file).out


def test_events_are_listed_in_the_words_of_messages(run: Run, small_server: SmallServer, file: str) -> None:
    change = {
        "fieldsAdded": [],
        "fieldsUpdated": [],
        "fieldsDeleted": [{"name": "columns", "oldValue": [{"name": "id"}]}],
    }
    event = {
        "id": "00000000-0000-0000-0000-000000000001",
        "entityType": "table",
        "entityId": "00000000-0000-0000-0000-000000000002",
        "eventType": "entityUpdated",
        "entityFullyQualifiedName": "pg.store.orders",
        "timestamp": 0,
        "changeDescription": change,
    }
    small_server.answer("POST", PATH, {**DONE, "result": {**RESULT, "samples": [event]}})
    output = " ".join(run("alerts", "backtest", file).out.split())
    assert "orders: column id removed" in output
    assert "entityUpdated" not in output


def test_failing_ends_with_the_reason(run: Run, small_server: SmallServer, file: str) -> None:
    small_server.answer("POST", PATH, {**WAITING, "state": "failed", "reason": "no such luck"})
    ended = run("alerts", "backtest", file)
    assert ended.code != 0
    assert "no such luck" in ended.err


class Backtests(Client):
    """A client of a server that has one backtest, in this state."""

    def __init__(self, state: Document) -> None:
        self._state, self.cancelled_ids = state, list[str]()

    def get_backtest(self, backtest_id: str, *, wait: float | None = None) -> Document:
        return self._state

    def cancel_backtest(self, backtest_id: str) -> Document:
        self.cancelled_ids.append(backtest_id)
        return self._state


def test_breaking_off_cancels_it() -> None:
    def break_off(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    backtests = Backtests(RUNNING)
    with pytest.raises(KeyboardInterrupt):
        await_end(backtests, WAITING, break_off)
    assert backtests.cancelled_ids == ["b0"]


def test_nobody_coming_for_it_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    backtests = Backtests({**WAITING, "message": "Waiting for a pipeline"})
    with pytest.raises(Unavailable, match="Waiting for a pipeline"):
        await_end(backtests, WAITING, lambda _done, _total: None, patience_s=0.0)
    assert capsys.readouterr().err == "Waiting for a pipeline\n"
    assert backtests.cancelled_ids == ["b0"]


def test_a_file_of_several_alerts_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    path.write_text(json.dumps([{"name": "a"}, {"name": "b"}]))
    assert "2 alerts" in run("alerts", "backtest", str(path)).err


def test_many_days_are_drawn_by_weeks_and_months() -> None:
    days = [{"date": "2026-01-01", "matched": 1}, {"date": "2026-03-31", "matched": 2}]
    weekly = bars(days, {})
    assert len(weekly.counts) == 13 and sum(count for _, count in weekly.counts) == 3
    assert weekly.title == "Matches per week, starting on"
    long_ago = round(datetime(2019, 1, 1, tzinfo=UTC).timestamp() * 1000)
    longest = bars(days, {"since": long_ago})
    assert len(longest.counts) <= MOST_BARS and sum(count for _, count in longest.counts) == 3
    assert longest.counts[0][0] == "2019-01-01"
    april = {"endedAt": round(datetime(2026, 4, 3, tzinfo=UTC).timestamp() * 1000)}
    assert bars(days[:1], april).counts[-1] == ("2026-04-02", 0), "days without any up to now are part of it"
    long = {"until": 2 * april["endedAt"]}
    assert bars(days[:1], april | long) == bars(days[:1], april), "what is still to come is not"


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_bars_keep_their_shares_however_wide_the_terminal_is(
    run: Run, small_server: SmallServer, file: str, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    small_server.answer("POST", PATH, DONE)
    ended = run("alerts", "backtest", file)
    few, _, many = (line.count("█") for line in ended.out.splitlines() if line.startswith("2026-03"))
    assert few * 2 == pytest.approx(many, abs=1) and "…" not in ended.out
