"""Tests of ``tocsin lag``: a table, JSON, and an exit code for cron jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer


def reader(name: str, count: int, **fields: Any) -> dict[str, Any]:
    lag = {"reader": name, "kind": "query", "logOffset": 7, "lagEvents": count, "isEstimate": False}
    return {**lag, "lagSeconds": 1.6, "limit": 10, **fields}


ANSWER = {
    "logOffset": 30,
    "measuredAt": 0,
    "readers": [
        reader("group etl", 40, isEstimate=True, exceededSince=0, growingSince=1_000, logOffset=None),
        reader("match_stream", 0, limit=None),
    ],
    "missing": ["Consumer groups of the relay ours: the broker is away"],
}


@pytest.fixture(autouse=True)
def lag_report(small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/events/lag", ANSWER)


def test_lags_are_shown_as_a_table(run: Run) -> None:
    ended = run("lag")
    assert ended.code == 0
    header, first, second = (line.split() for line in ended.out.splitlines())
    assert header == ["READER", "ALERT", "OFFSET", "EVENTS", "SECONDS", "GROWING", "SINCE", "LIMIT", "STATE"]
    assert first == ["group", "etl", "~40", "2", "1970-01-01", "00:00:01", "UTC", "10", "exceeded"]
    assert second == ["match_stream", "7", "0", "2", "not", "watched", "ok"]
    assert "the broker is away" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fail-above", "39"], 9),
        (["--fail-above", "40"], 0),
        (["match_stream", "--fail-above", "0"], 0),
        (["group etl", "--fail-above", "0", "--json"], 9),
        (["match_strem"], 3),
        (["--fail-above", "-1"], 2),
    ],
)
def test_the_exit_code_says_whether_a_reader_lags_more(run: Run, arguments: list[str], code: int) -> None:
    assert run("lag", *arguments).code == code


def test_json_is_the_answer_with_the_chosen_readers(run: Run) -> None:
    answer = json.loads(run("lag", "match_stream", "--json").out)
    assert answer == {**ANSWER, "readers": ANSWER["readers"][1:]}  # type: ignore[index]
