"""Tests of queries on the lake by HTTP: who may ask, what is shown to whom; the pipeline is simulated."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.serving import Json, Served
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.flow.eventlog.lake_query import QUERY_JOB
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.lake_queries import RequestedQueries

ANSWER = {"columns": [{"name": "n", "type": "bigint"}], "rows": [{"n": 3}]}
SQL = "SELECT count(*) AS n FROM change_events"


@pytest.fixture
def queries(sqlite_engine: Engine) -> RequestedQueries:
    """A pipeline is there."""
    ScheduledJobs(sqlite_engine).record_heartbeat(QUERY_JOB, now_ms=SystemClock().now_ms())
    return RequestedQueries(sqlite_engine)


@pytest.fixture
def ana(served: Served, administrator: httpx.Client) -> Iterator[httpx.Client]:
    """Somebody who may query the lake."""
    user_id, client = served.person("ana")
    restrict(administrator, user_id, {"effect": "allow", "operations": ["QueryLake"], "resources": ["lake"]})
    with client:
        yield client


def ask(client: httpx.Client, wait: float = 0, **fields: Json) -> httpx.Response:
    return client.post("/lake/query", params={"wait": wait}, json={"sql": SQL, **fields})


def end(queries: RequestedQueries, reason: str | None = None, code: str = "INVALID_INPUT") -> None:
    now_ms = SystemClock().now_ms()
    query = queries.claim("pipeline", now_ms=now_ms)
    assert query is not None
    if reason is None:
        assert queries.finish(query, "pipeline", ANSWER, now_ms=now_ms)
    else:
        assert queries.fail(query, reason, code, now_ms=now_ms)


def test_a_query_is_taken_answered_and_recorded(ana: httpx.Client, queries: RequestedQueries) -> None:
    answer = ask(ana, at=5, since="2026-01-31")
    assert answer.status_code == 202, answer.text
    query = answer.json()
    assert (query["state"], query["sql"], query["through"]) == ("waiting", SQL, 5)
    assert query["since"] == 1_769_817_600_000
    end(queries)
    ended = ana.get(answer.headers["Location"]).json()
    assert (ended["state"], ended["columns"], ended["rows"], ended["rowCount"]) == ("done", *ANSWER.values(), 1)
    (recorded,) = ana.get("/lake/queries").json()["data"]
    assert recorded == {key: value for key, value in ended.items() if key not in ("columns", "rows")}


@pytest.mark.parametrize(
    ("reason", "code", "status"),
    [(None, "", 200), ("no such column", "INVALID_INPUT", 400), ("too long", "TOO_LARGE", 413), ("x", "FAULT", 503)],
)
def test_whoever_waits_is_answered_as_soon_as_it_is_over(
    ana: httpx.Client, queries: RequestedQueries, reason: str | None, code: str, status: int
) -> None:
    ending = threading.Timer(0.1, end, (queries, reason, code))
    ending.start()
    answer = ask(ana, wait=20)
    ending.join()
    assert answer.status_code == status, answer.text
    assert answer.json().get("rows", answer.json().get("message")) in (ANSWER["rows"], reason, f"sql: {reason}")


def test_only_who_may_query_the_lake_asks_and_only_who_asked_reads(
    ana: httpx.Client, administrator: httpx.Client, served: Served, queries: RequestedQueries
) -> None:
    _, stranger = served.person("ben")
    query = ask(ana).json()
    end(queries)
    with stranger:
        assert ask(stranger).status_code == 403
        assert stranger.get(f"/lake/queries/{query['id']}").status_code == 403
        assert stranger.delete(f"/lake/queries/{query['id']}").status_code == 404
        assert stranger.get("/lake/queries").json()["data"] == []
    assert administrator.get(f"/lake/queries/{query['id']}").status_code == 404, "rows are of the asker's rights"
    (recorded,) = administrator.get("/lake/queries").json()["data"]
    assert (recorded["id"], recorded["sql"], "rows" in recorded) == (query["id"], SQL, False)
    assert recorded["requestedBy"] == query["requestedBy"]


def test_who_may_not_query_the_lake_any_more_reads_no_answer(
    ana: httpx.Client, administrator: httpx.Client, queries: RequestedQueries
) -> None:
    query = ask(ana).json()
    end(queries)
    patch = [{"op": "add", "path": "/roles", "value": []}]
    kind = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/users/{query['requestedBy']}", json=patch, headers=kind).status_code == 200
    assert ana.get(f"/lake/queries/{query['id']}").status_code == 403


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"sql": ""}, "sql"),
        ({"sql": 5}, "sql"),
        ({"sql": None}, "sql"),
        ({"at": "yesterday"}, "at"),
        ({"at": "2099-01-01"}, "at"),
        ({"since": "yesterday"}, "since"),
        ({"rows": 5}, "rows"),
    ],
)
def test_what_is_no_query_is_refused(ana: httpx.Client, queries: RequestedQueries, fields: Json, says: str) -> None:
    refused = ask(ana, **fields)
    assert refused.status_code == 400
    assert refused.json()["message"].startswith(f"{says}:")
    assert ask(ana, sql="x" * 65_537).status_code == 413


def test_open_queries_are_limited_and_can_be_cancelled(ana: httpx.Client, queries: RequestedQueries) -> None:
    first, *_ = [ask(ana).json() for _ in range(3)]
    assert ask(ana).status_code == 429
    assert ana.delete(f"/lake/queries/{first['id']}").json()["state"] == "cancelled"
    assert ask(ana).status_code == 202


def test_a_query_whose_sender_goes_away_is_cancelled(ana: httpx.Client, queries: RequestedQueries) -> None:
    with pytest.raises(httpx.ReadTimeout):
        ana.post("/lake/query", params={"wait": 30}, json={"sql": SQL}, timeout=0.5)
    until(lambda: queries.page(None, limit=1)[0].state == "cancelled", within_s=20)


def test_without_a_pipeline_it_says_so(ana: httpx.Client) -> None:
    assert "none is running" in ask(ana).json()["message"]
