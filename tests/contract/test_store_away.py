"""Tests of an unavailable, read-only or full store: 503 with Retry-After, and recovery without a restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import Engine, delete, event
from tests.postgres import MISSING, Cluster, binaries, running_cluster
from tests.serving import Served, running_server
from tests.startedstore import StartedStore

from tocsin.server.bootstrap import ADMINISTRATOR
from tocsin.store.database.engine import open_engine, writing
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import pipeline_progress
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.outages import Waits
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.upkeep.health import PIPELINE

NOBODY = str(UUID(int=0))
_RDF = {f"/api/v1/rdf/{name}" for name in ("context", "ontology", "shapes")}
WITHOUT_THE_STORE = {"/api/v1/system/version", "/api/v1/system/config/auth", "/"} | _RDF


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of this test's own, which it may stop."""
    programs = binaries()
    if programs is None:
        pytest.skip(MISSING)
    with running_cluster(programs) as running:
        yield running


@contextmanager
def serving(engine: Engine) -> Iterator[Served]:
    try:
        migrate(engine)
        with running_server(engine) as served:
            yield served
    finally:
        engine.dispose()


def calls_of(client: httpx.Client) -> list[tuple[str, str]]:
    """Return method and path of every route, with an id that nobody has in it."""
    routes = []
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for method in methods:
            filled = path
            while "{" in filled:
                head, _, remainder = filled.partition("{")
                filled = (
                    head + ("table" if "entity" in remainder.split("}")[0] else NOBODY) + remainder.partition("}")[2]
                )
            routes.append((method.upper(), filled))
    return routes


def is_unavailable(answer: httpx.Response) -> bool:
    assert answer.status_code < 500 or answer.status_code == 503, (answer.request.url, answer.text)
    if answer.status_code == 503:
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.json()["code"] == 503
        assert "Internal error" not in answer.json()["message"]
    return answer.status_code == 503


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["immediate", pytest.param("fast", marks=pytest.mark.soak)])
def test_every_route_says_that_the_store_is_away_and_the_next_request_after_it_is_back_works(
    cluster: Cluster, how: str
) -> None:
    cluster.run("CREATE DATABASE away")
    with serving(open_engine(cluster.url("away"))) as server, server.administrator() as client:
        calls = calls_of(client)
        assert len(calls) > 100
        cluster.run("CHECKPOINT")  # the tests' cluster does without the syncs that a stop like this would miss
        cluster.stop(how)
        answers = [(path, answer_to(client, method, path)) for method, path in calls]
        answered_paths = {path for path, answer in answers if not is_unavailable(answer) and answer.is_success}
        assert answered_paths <= WITHOUT_THE_STORE
        assert sum(is_unavailable(answer) for _, answer in answers) > len(calls) / 2, "the others were refused before"
        log_in = {"email": ADMINISTRATOR["email"], "password": server.password}
        assert is_unavailable(client.post("/users/login", json=log_in))
        assert is_unavailable(client.get("/healthcheck"))
        cluster.start()
        for _ in range(12):
            assert client.get("/users/loggedInUser").status_code == 200, "of all connections that had been open"
        assert client.post("/users/login", json=log_in).status_code == 200


@pytest.mark.postgres
def test_a_store_that_does_not_answer_is_given_up_and_an_open_stream_ends_in_order(cluster: Cluster) -> None:
    cluster.run("CREATE DATABASE silent")
    engine = open_engine(cluster.url("silent"), answers_within_s=0.5)
    with serving(engine) as served, served.administrator() as client:
        user = client.get("/users/loggedInUser").json()
        with client.stream("GET", f"/users/{user['id']}/notifications/stream") as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": open"
            with cluster.suspend():
                assert is_unavailable(client.get(f"/users/{user['id']}"))
                assert not any(line.startswith("data") for line in lines), "it ends"
        assert client.get("/users/loggedInUser").status_code == 200


def answer_to(client: httpx.Client, method: str, path: str) -> httpx.Response:
    with client.stream(method, f"{client.base_url}".removesuffix("/api/v1/") + path) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        return answer


@pytest.mark.postgres
def test_a_standby_takes_no_writes_and_says_so(cluster: Cluster) -> None:
    cluster.run("CREATE DATABASE standby")
    with serving(open_engine(cluster.url("standby"))) as served, served.administrator() as client:
        user = client.get("/users/loggedInUser").json()
        cluster.run("ALTER DATABASE standby SET default_transaction_read_only = on")
        cluster.stop("fast")
        cluster.start()
        assert client.get(f"/users/{user['id']}").status_code == 200
        assert is_unavailable(client.post("/glossaries", json={"name": "words", "description": "x"}))
        log_in = {"email": ADMINISTRATOR["email"], "password": served.password}
        assert is_unavailable(client.post("/users/login", json=log_in))


@pytest.mark.parametrize("pragma", ["query_only = ON", "max_page_count = 1"])
def test_a_file_that_is_read_only_or_full_is_no_fault_of_tocsin(
    sqlite_url: str, started_store: StartedStore, pragma: str
) -> None:
    path = sqlite_url.removeprefix("sqlite:///")
    with open(path, "wb") as file:  # noqa: PTH123  # a path as text
        file.write(started_store.path.read_bytes())
    engine, pragmas = open_engine(sqlite_url, synchronous="NORMAL"), [pragma]

    @event.listens_for(engine, "connect")
    def _bind(raw: Any, _record: object) -> None:
        for pragma in pragmas:
            raw.execute(f"PRAGMA {pragma}")

    def create(client: httpx.Client, number: int) -> httpx.Response:
        return client.post("/glossaries", json={"name": f"words{number}", "description": "x" * 20_000})

    server = running_server(engine, password=started_store.password, token=started_store.token)
    with server as open_server, open_server.administrator() as client:
        assert any(is_unavailable(create(client, number)) for number in range(20))
        assert client.get("/healthcheck").status_code == 200, "what is there can be read"
        if "query_only" in pragma:
            log_in = {"email": ADMINISTRATOR["email"], "password": started_store.password}
            assert is_unavailable(client.post("/users/login", json=log_in))
        pragmas.clear()  # somebody made room
        engine.dispose()
        assert create(client, 99).status_code == 201
    engine.dispose()


def test_health_says_how_far_the_pipeline_is_and_what_it_waits_for(store_engine: Engine) -> None:
    waits, notes = Waits(store_engine), Notifications(store_engine)
    with writing(store_engine) as connection:
        connection.execute(delete(pipeline_progress))
    with running_server(store_engine) as server, server.client() as client:
        assert client.get("/healthcheck").json()["pipeline"] == []
        notes.advance("match_stream", 1, now_ms=5)
        notes.advance("match_results", 1, now_ms=5)
        waits.begin("match_stream", "disk_full", since_ms=7)
        (query,) = client.get("/healthcheck").json()["pipeline"]
        assert query == {
            "query": "match_stream",
            "logOffset": 1,
            "reportedAt": 5,
            "waitsFor": "disk_full",
            "waitsSince": 7,
        }
        waits.end("match_stream")
        (query,) = client.get("/healthcheck").json()["pipeline"]
        assert "waitsFor" not in query


def test_a_server_that_serves_answers_200_and_says_what_is_wrong_elsewhere(sqlite_engine: Engine) -> None:
    with running_server(sqlite_engine) as served, served.client() as client:
        degraded = client.get("/healthcheck")
        assert (degraded.status_code, degraded.json()["status"]) == (200, "degraded")
        assert {one["name"] for one in degraded.json()["problems"]} == {"pipelineStopped", "workerStopped"}
        strict = client.get("/healthcheck", params={"strict": "true"})
        assert (strict.status_code, strict.json()) == (503, degraded.json())
        parts = served.app.state.parts
        now_ms = parts.clock.now_ms()
        Notifications(sqlite_engine).advance("match_stream", parts.log.readable_end(), now_ms=now_ms)
        ScheduledJobs(sqlite_engine).record_heartbeat(PIPELINE, now_ms=now_ms)
        Sessions(sqlite_engine).begin("worker", lease_ms=90_000, now_ms=now_ms)
        assert client.get("/healthcheck", params={"strict": "true"}).json()["status"] == "ok"
