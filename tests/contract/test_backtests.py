"""Tests of backtest requests, results and cancellation by HTTP; the pipeline is simulated."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import restrict
from tests.contract.test_subscriptions import MASK, alert
from tests.serving import Json, Served
from tests.store.test_failure_context import counting

from tocsin.clock import SystemClock
from tocsin.model.backtest import JOB
from tocsin.model.subscription import alert_of
from tocsin.server.alerts.backtests import GIVEN_UP_MS, NO_PIPELINE
from tocsin.store.catalogue.alerts.backtests import MOST_OPEN, Backtests
from tocsin.store.eventlog.job_runs import ScheduledJobs

PATH = "/events/subscriptions/backtest"


@pytest.fixture
def pipeline(sqlite_engine: Engine) -> Backtests:
    """A pipeline is there."""
    ScheduledJobs(sqlite_engine).record_heartbeat(JOB, now_ms=SystemClock().now_ms())
    return Backtests(sqlite_engine)


@pytest.fixture
def ana(served: Served, orders: Json) -> Iterator[httpx.Client]:
    _, client = served.person("ana")
    with client:
        yield client


def ask(client: httpx.Client, wait: float = 0, **fields: Json) -> httpx.Response:
    return client.post(PATH, params={"wait": wait}, json={**alert(), **fields})


def test_it_is_taken_by_the_pipeline_and_its_result_is_shown(
    administrator: httpx.Client, orders: Json, pipeline: Backtests
) -> None:
    answer = ask(administrator, since="90d")
    assert answer.status_code == 202, answer.text
    backtest = answer.json()
    assert (backtest["state"], backtest["progress"]) == ("waiting", {"done": 0, "total": 0})
    assert backtest["requestedAt"] - backtest["since"] == 90 * 86_400_000
    assert "message" not in backtest
    now_ms = SystemClock().now_ms()
    claimed_backtest = pipeline.claim("pipeline", now_ms=now_ms, lost_after_ms=60_000)
    assert claimed_backtest is not None and claimed_backtest.id == backtest["id"]
    destination = claimed_backtest.alert["destinations"][0]
    assert destination["config"]["secretKey"] == MASK
    assert pipeline.note_progress(claimed_backtest, "pipeline", 4, 10, now_ms=now_ms)
    running = administrator.get(answer.headers["Location"]).json()
    assert (running["state"], running["progress"]) == ("running", {"done": 4, "total": 10})
    assert pipeline.finish(claimed_backtest, "pipeline", {"matched": 3}, now_ms=now_ms)
    backtest_answer = administrator.get(f"{PATH}/{backtest['id']}")
    assert (backtest_answer.status_code, backtest_answer.json()["state"], backtest_answer.json()["result"]) == (
        200,
        "done",
        {"matched": 3},
    )


def test_whoever_waits_is_answered_as_soon_as_it_is_over(
    administrator: httpx.Client, orders: Json, pipeline: Backtests
) -> None:
    backtest = ask(administrator).json()
    claimed = pipeline.claim("pipeline", now_ms=1, lost_after_ms=1)
    assert claimed is not None
    ending = threading.Timer(0.3, pipeline.finish, (claimed, "pipeline", {"matched": 3}), {"now_ms": 1})
    assert administrator.get(f"{PATH}/{backtest['id']}").json()["state"] == "running"
    ending.start()
    began_s = time.monotonic()
    assert administrator.get(f"{PATH}/{backtest['id']}", params={"wait": 20}).json()["state"] == "done"
    assert time.monotonic() - began_s < 10
    ending.join()


def test_a_stored_alert_is_taken_with_what_is_different_about_it(
    administrator: httpx.Client, orders: Json, pipeline: Backtests
) -> None:
    created = administrator.post("/events/subscriptions", json=alert()).json()
    rules = {"resources": ["topic"], "rules": []}
    answer = administrator.post(PATH, params={"wait": 0}, json={"id": created["id"], "filteringRules": rules})
    assert answer.status_code == 202, answer.text
    claimed = pipeline.claim("pipeline", now_ms=1, lost_after_ms=1)
    assert claimed is not None
    assert (claimed.alert["id"], claimed.alert["name"]) == (created["id"], created["name"])
    assert claimed.alert["filteringRules"]["resources"] == ["topic"]
    assert claimed.alert["destinations"][0]["id"] == created["destinations"][0]["id"]
    assert administrator.get(f"/events/subscriptions/{created['id']}").json()["version"] == created["version"]


def test_its_owners_and_domains_may_be_names_as_in_the_builder(
    administrator: httpx.Client, ana: httpx.Client, pipeline: Backtests
) -> None:
    domain = {"name": "Sales", "domainType": "Aggregate", "description": "d"}
    assert administrator.post("/domains", json=domain).status_code == 201
    answer = ask(administrator, owners=["ana", "Organization"], domains=["Sales"])
    assert answer.status_code == 202, answer.text
    claimed = pipeline.claim("pipeline", now_ms=1, lost_after_ms=1)
    assert claimed is not None
    owners = [(one.type, one.name) for one in alert_of(claimed.alert).owners]
    assert owners == [("user", "ana"), ("team", "Organization")]
    unknown = ask(administrator, owners=["nobody"])
    assert (unknown.status_code, unknown.json()["message"]) == (404, "user or team nobody not found")


def test_all_names_of_owners_are_looked_up_together(
    administrator: httpx.Client, ana: httpx.Client, pipeline: Backtests, sqlite_engine: Engine
) -> None:
    counts: list[int] = []
    assert ask(administrator, owners=["ana"]).status_code == 202  # what is read once is read
    for names in (["ana"], ["ana", "admin", "Organization"]):
        with counting(sqlite_engine) as statements:
            assert ask(administrator, owners=names).status_code == 202
        counts.append(len(statements))
    assert counts[0] == counts[1]


def test_alerts_that_it_names_are_completed_or_refused_with_their_place(
    administrator: httpx.Client, ana: httpx.Client, orders: Json, pipeline: Backtests
) -> None:
    second = administrator.post("/events/subscriptions", json={**alert(), "name": "Second"}).json()
    answer = ask(administrator, name="First", triggers=["Second"])
    assert answer.status_code == 202, answer.text
    claimed = pipeline.claim("pipeline", now_ms=1, lost_after_ms=1)
    assert claimed is not None and [one["id"] for one in claimed.alert["triggers"]] == [second["id"]]
    unknown = ask(administrator, triggers=["Secnd"])
    assert (unknown.status_code, unknown.json()["message"]) == (
        400,
        "triggers[0]: unknown alert 'Secnd'; did you mean Second?",
    )
    foreign = ask(ana, triggers=["Second"])
    assert (foreign.status_code, "Only editors of alert Second" in foreign.json()["message"]) == (403, True)


def test_alerts_that_it_triggers_are_named_to_those_who_may_see_them_by_now(
    served: Served, administrator: httpx.Client, orders: Json, pipeline: Backtests
) -> None:
    user_id, client = served.person("ann")
    second = administrator.post("/events/subscriptions", json={**alert(), "name": "Second"}).json()
    with client:
        backtest = ask(client).json()
        claimed_backtest = pipeline.claim("pipeline", now_ms=1, lost_after_ms=1)
        assert claimed_backtest is not None
        counts = {"channel": "Webhook", "notified": 2, "because": ["external"]}
        first_id, second_id = claimed_backtest.alert["id"], second["id"]
        outcome = {
            "triggered": [{"id": second_id, "name": "Second", "notified": 2, "heldBack": 0}],
            "overlaps": [{"id": second_id, "name": "Second", "matched": 2}],
            "recipients": [
                counts
                | {"target": "https://own.example.com", "alerts": [first_id, second_id], "destinations": ["#data"]},
                counts | {"target": "https://other.example.com", "alerts": [second_id]},
            ],
        }
        assert pipeline.finish(claimed_backtest, "pipeline", outcome, now_ms=1)
        assert client.get(f"{PATH}/{backtest['id']}").json()["result"] == outcome
        restrict(administrator, user_id, {"effect": "deny", "resources": ["eventsubscription"]})
        assert client.get(f"{PATH}/{backtest['id']}").json()["result"] == {
            "triggered": [{"notified": 2, "heldBack": 0}],
            "overlaps": [],
            "recipients": [
                counts | {"target": "https://own.example.com", "alerts": [first_id]},
                counts | {"alerts": []},
            ],
        }


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"since": "yesterday"}, "since"),
        ({"since": "0d"}, "since"),
        ({"since": "999999w"}, None),
        ({"until": True}, "until"),
        ({"until": 10**18}, "until"),
        ({"since": 2, "until": 1}, "since"),
        ({"since": -1}, "since"),
        ({"id": 5}, "id"),
        ({"colour": "red"}, "colour"),
        ({"destinations": "none"}, "destinations"),
        (
            {"filteringRules": {"resources": ["table"], "rules": [{"condition": "fieldChanged = 'x'"}]}},
            "Line 1, column 14",
        ),
        ({"filteringRules": {"resources": ["tabel"]}}, "filteringRules.resources[0]"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    administrator: httpx.Client, orders: Json, pipeline: Backtests, wrong: Json, place: str | None
) -> None:
    answer = ask(administrator, **wrong)
    if place is None:
        assert answer.status_code == 202
        return
    assert answer.status_code == 400, answer.text
    assert place in answer.text


def test_without_a_pipeline_it_says_so_and_gives_up(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    answer = ask(administrator).json()
    assert answer["message"] == NO_PIPELINE
    with sqlite_engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE backtest SET requested_at_ms = requested_at_ms - {GIVEN_UP_MS + 1}")
    given_up = administrator.get(f"{PATH}/{answer['id']}").json()
    assert (given_up["state"], given_up["reason"]) == ("failed", NO_PIPELINE)


def test_it_is_ones_own(administrator: httpx.Client, ana: httpx.Client, pipeline: Backtests) -> None:
    backtest_id, hers = ask(administrator).json()["id"], ask(ana).json()["id"]
    assert ana.get(f"{PATH}/{hers}").status_code == 200
    assert ana.get(f"{PATH}/{backtest_id}").status_code == ana.delete(f"{PATH}/{backtest_id}").status_code == 404
    assert administrator.get(f"{PATH}/{hers}").status_code == 200
    cancelled = ana.delete(f"{PATH}/{hers}").json()
    assert (cancelled["state"], cancelled["message"]) == ("cancelled", "The backtest was cancelled.")
    assert ana.delete(f"{PATH}/{hers}").status_code == 200
    assert ana.get(f"{PATH}/no-id").status_code in (400, 404, 422)


def test_who_may_not_view_or_create_may_not_backtest(
    served: Served, administrator: httpx.Client, orders: Json, pipeline: Backtests
) -> None:
    created = administrator.post("/events/subscriptions", json=alert()).json()
    user_id, client = served.person("nobody")
    restrict(administrator, user_id, {"effect": "deny"})
    with client:
        assert ask(client).status_code == 403
        assert client.post(PATH, json={"id": created["id"]}).status_code in (403, 404)


def test_one_person_has_a_few_at_once(ana: httpx.Client, pipeline: Backtests) -> None:
    assert {ask(ana).status_code for _ in range(MOST_OPEN)} == {202}
    refused = ask(ana)
    assert refused.status_code == 409
    assert "running backtests" in refused.json()["message"]
