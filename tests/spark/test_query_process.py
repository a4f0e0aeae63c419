"""Tests of the process for queries: it answers, is stopped at every limit, and starts again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.sparksession import SHORT_LIVED
from tests.waiting import until

from tocsin.clock import SystemClock
from tocsin.errors import TooLarge
from tocsin.flow.eventlog.lake_query import LakeQuery
from tocsin.jobs import query_runner
from tocsin.jobs.query_process import ProcessLimits, QueryCancelled, QueryProcess, query_process
from tocsin.model.entity import Document
from tocsin.model.requested_job import JobState
from tocsin.settings import Settings
from tocsin.store.eventlog.lake_queries import RequestedQueries
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

COUNT = "SELECT count(*) AS n FROM change_events"
NO_END = "SELECT count(*) FROM change_events a, change_events b, range(1000000000000) WHERE a.id > b.id"
TOO_MUCH = "SELECT max(length(concat(repeat(entity, 2000000), 'x'))) FROM change_events"
TOO_DEEP = "SELECT count(*) FROM change_events WHERE repeat(id, 10000) RLIKE '^(a|.)*$'"


@pytest.fixture
def company(sqlite_engine: Engine) -> SmallCompany:
    company = SmallCompany(sqlite_engine)
    company.put("user", {"name": "root", "email": "root@example.com", "isAdmin": True})
    return company


@pytest.fixture
def settings(company: SmallCompany, tmp_path: Path) -> Settings:
    url = company.engine.url.render_as_string(hide_password=False)
    return Settings(
        data_dir=tmp_path,
        database_url=url,
        spark_conf=SHORT_LIVED,
        lake_query_memory="512m",
        lake_query_seconds=300,  # a Java that has just started may need minutes where many tests run
    )


@pytest.fixture
def process(settings: Settings) -> Iterator[QueryProcess]:
    process = query_process(settings)
    yield process
    process.close()


def answer(process: QueryProcess, company: SmallCompany, sql: str) -> Document:
    question = {"sql": sql, "through": None, "untilMs": None, "sinceMs": None, "viewer": company.ids["root"]}
    return process.answer(question, lambda: True)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_it_answers_and_is_stopped_at_every_limit(
    company: SmallCompany, process: QueryProcess, settings: Settings
) -> None:
    end = EventLog(company.engine).readable_end()
    assert answer(process, company, COUNT) == {"columns": [{"name": "n", "type": "bigint"}], "rows": [{"n": end}]}
    first = process._process
    wrong = answer(process, company, "SELECT nothing FROM change_events")
    assert wrong["code"] == "INVALID_INPUT" and "nothing" in wrong["reason"]
    demand_checks = iter([True, True, False])
    question = {"sql": NO_END, "through": None, "untilMs": None, "sinceMs": None, "viewer": company.ids["root"]}
    with pytest.raises(QueryCancelled):
        process.answer(question, lambda: next(demand_checks))
    assert first is not None and first.poll() is not None, "the process is gone, and with it the query"
    for sql in (TOO_MUCH, TOO_DEEP):
        with pytest.raises(TooLarge, match="memory"):
            answer(process, company, sql)
    assert answer(process, company, COUNT)["rows"] == [{"n": end}]
    process._limits = replace(process._limits, seconds=2)
    assert answer(process, company, NO_END)["code"] == "TOO_LARGE"
    process._limits = ProcessLimits(row_count=10_000, answer_bytes=100, seconds=30, disk_bytes=10**9)
    with pytest.raises(TooLarge, match="more than 100 bytes"):
        answer(process, company, "SELECT id FROM change_events")
    scratch = process._scratch
    process.close_if_idle(0)
    assert scratch is not None and not scratch.exists()


@pytest.mark.timeout(600)
def test_a_runner_answers_what_is_asked_until_it_stops(company: SmallCompany, settings: Settings) -> None:
    queries, stopping = RequestedQueries(company.engine), threading.Event()
    thread = threading.Thread(target=query_runner.runner(settings, company.engine).run, args=(stopping,))
    thread.start()
    try:
        now_ms = SystemClock().now_ms()
        identities = []
        for viewer in ("root", "ana"):
            query = LakeQuery(str(uuid4()), company.ids[viewer], now_ms, COUNT, asked_at_ms=now_ms + 600_000)
            queries.add(query, most_open=1)
            identities.append(query.id)
        until(lambda: all(not one.is_open for one in queries.page(None, limit=9)), within_s=400)
        of_root, of_ana = (queries.find(identity) for identity in identities)
        end = EventLog(company.engine).readable_end()
        assert of_root and (of_root.state, of_root.answer and of_root.answer["rows"]) == (JobState.DONE, [{"n": end}])
        assert of_ana and of_ana.answer and of_ana.answer["rows"] == [{"n": 0}], "there are no policies"
    finally:
        stopping.set()
        thread.join(30)
    assert not thread.is_alive()
