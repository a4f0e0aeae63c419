"""Tests of queries of people on both stores: claimed once, ended once, forgotten in two steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from sqlalchemy import Engine

from tocsin.errors import TooManyRequests
from tocsin.flow.eventlog.lake import Cut
from tocsin.flow.eventlog.lake_query import LakeQuery
from tocsin.model.requested_job import JobState
from tocsin.store.eventlog.lake_queries import LONGEST_REASON, LOST_MS, UNASKED_MS, RequestedQueries

QUERY = LakeQuery("q0", "ana", 1_000, "SELECT 1", Cut(through=5, since_ms=7), asked_at_ms=1_000)
ANSWER = {"columns": [{"name": "1", "type": "int"}], "rows": [{"1": 1}]}


@pytest.fixture
def queries(store_engine: Engine) -> RequestedQueries:
    queries = RequestedQueries(store_engine)
    queries.add(QUERY, most_open=2)
    return queries


def test_a_query_is_run_once_and_its_answer_is_kept_for_a_while(queries: RequestedQueries) -> None:
    assert queries.find("q0") == QUERY
    claimed_query = queries.claim("first", now_ms=2_000)
    assert claimed_query == replace(QUERY, state=JobState.RUNNING)
    assert queries.claim("second", now_ms=2_000) is None
    assert queries.is_wanted(claimed_query, "first", now_ms=3_000)
    assert not queries.is_wanted(claimed_query, "second", now_ms=3_000)
    assert not queries.finish(claimed_query, "second", ANSWER, now_ms=4_000)
    assert queries.finish(claimed_query, "first", ANSWER, now_ms=4_000)
    finished_query = replace(QUERY, state=JobState.DONE, answer=ANSWER, row_count=1, ended_at_ms=4_000)
    assert queries.find("q0") == finished_query
    assert not queries.cancel("q0", now_ms=5_000)
    assert not queries.fail(claimed_query, "late", "X", now_ms=5_000)
    queries.forget(answers_before_ms=4_001, before_ms=4_000)
    assert queries.find("q0") == replace(finished_query, answer=None)
    queries.forget(answers_before_ms=4_001, before_ms=4_001)
    assert queries.find("q0") is None


def test_a_query_that_nobody_waits_for_is_cancelled(queries: RequestedQueries) -> None:
    queries.add(replace(QUERY, id="q1", requested_at_ms=1_001, asked_at_ms=9_000), most_open=2)
    claimed = queries.claim("first", now_ms=1_001 + UNASKED_MS)
    assert claimed is not None and claimed.id == "q1"
    cancelled = queries.find("q0")
    assert cancelled and cancelled.state is JobState.CANCELLED
    assert not queries.is_wanted(claimed, "first", now_ms=9_001 + UNASKED_MS)
    queries.note_asked("q1", now_ms=9_001)
    assert queries.is_wanted(claimed, "first", now_ms=9_001 + UNASKED_MS)


def test_a_query_whose_pipeline_died_fails_and_one_that_is_given_back_waits(queries: RequestedQueries) -> None:
    claimed = queries.claim("first", now_ms=2_000)
    assert claimed is not None
    queries.release(claimed, "first")
    assert queries.claim("second", now_ms=3_000) == claimed
    assert queries.claim("third", now_ms=3_001 + LOST_MS) is None
    failed = queries.find("q0")
    assert failed and (failed.state, failed.code) == (JobState.FAILED, "UNAVAILABLE")


def test_one_person_has_a_few_open_queries_and_the_list_has_those_of_all(queries: RequestedQueries) -> None:
    queries.add(replace(QUERY, id="q1"), most_open=2)
    with pytest.raises(TooManyRequests, match="You have 2 open queries"):
        queries.add(replace(QUERY, id="q2"), most_open=2)
    queries.add(replace(QUERY, id="q3", requested_by="ben", requested_at_ms=2_000), most_open=1)
    assert [one.id for one in queries.page(None, limit=9)] == ["q3", "q1", "q0"]
    assert [one.id for one in queries.page("ana", limit=9)] == ["q1", "q0"]
    assert [one.id for one in queries.page(None, limit=9, before=(1_000, "q1"))] == ["q0"]
    assert queries.ahead_of(replace(QUERY, id="q3", requested_at_ms=2_000)) == 2


def test_of_many_who_ask_at_once_for_one_person_few_have_open_queries(queries: RequestedQueries) -> None:
    start = Barrier(8)

    def is_added(query_id: str, requester: str) -> bool:
        start.wait()
        try:
            queries.add(replace(QUERY, id=query_id, requested_by=requester), most_open=3)
        except TooManyRequests:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        for requester in map(str, range(5)):  # the first time, most wait for their connection
            identities = [f"{requester}-{number}" for number in range(8)]
            assert sum(threads.map(is_added, identities, [requester] * 8)) == 3


def test_the_reason_of_a_failure_quotes_no_more_than_people_read(queries: RequestedQueries) -> None:
    assert queries.fail(QUERY, f"The value '{'x' * 10**6}' cannot be cast.", "INVALID_INPUT", now_ms=2_000)
    failed = queries.find("q0")
    assert failed and failed.reason and (len(failed.reason), failed.reason[:12]) == (LONGEST_REASON, "The value 'x")
