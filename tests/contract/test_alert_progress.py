"""Tests of an alert's diagnostics, failed and sent events, offsets and log, in OpenMetadata's shapes."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.standards import ROOT, problems
from tests.contract.test_access import restrict
from tests.contract.test_alert_incidents import report_result
from tests.contract.test_deliveries import BROKEN, HOOK, Outbox
from tests.contract.test_subscriptions import alert
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.flow.eventlog.readers import STREAK_STREAM
from tocsin.model.message import Delivered, Outcome, OutcomeReason, Rejected
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications

PATH = "/events/subscriptions"


@pytest.fixture
def outbox(sqlite_engine: Engine) -> Outbox:
    return Outbox(sqlite_engine)


@pytest.fixture
def hooks(administrator: httpx.Client, orders: Json, sqlite_engine: Engine, outbox: Outbox) -> Json:
    """An alert of whose five events one arrived, one failed, one was muted, one waits, and one is not read yet."""
    request = alert(name="Hooks", filteringRules={"resources": ["table"]}, destinations=[HOOK])
    response = administrator.post(PATH, json=request)
    assert response.status_code == 201, response.text
    ends: dict[str, Outcome] = {"arrived": Delivered(200), "failed": BROKEN, "muted": Rejected(OutcomeReason.MUTED)}
    for name, outcome in ends.items():
        table(administrator, name)
        notify_all(sqlite_engine)
        assert outbox.end(outcome) == 1
    table(administrator, "waits")
    notify_all(sqlite_engine)
    table(administrator, "unread")
    return response.json()


@pytest.fixture
def ana(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("ana")
    with client:
        yield user_id, client


def read(client: httpx.Client, hooks: Json, subject: str, **query: Json) -> Json:
    """Return an answer, which is the same at all paths."""
    answers = []
    for path in (hooks["id"], f"id/{hooks['id']}", "name/Hooks"):
        answer = client.get(f"{PATH}/{path}/{subject}", params=query)
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
    assert answers[0] == answers[1] == answers[2]
    return answers[0]


def check_against(schema: str, document: Json) -> None:
    """Check a document by a published schema, where these are."""
    assert not ROOT.is_dir() or problems(schema, document) == []


def names(events: list[Json]) -> list[str]:
    return [one["entityFullyQualifiedName"].rpartition(".")[2] for one in events]


def test_the_record_counts_every_event_once(administrator: httpx.Client, hooks: Json) -> None:
    record = read(administrator, hooks, "eventsRecord")
    assert record == {
        "totalEventsCount": 5,
        "pendingEventsCount": 2,
        "successfulEventsCount": 2,
        "failedEventsCount": 1,
    }, "what was muted is not sent, and not failed"
    check_against("events/api/eventsRecord.json", record)


def test_the_diagnosis_says_how_far_it_is(administrator: httpx.Client, hooks: Json) -> None:
    diagnosis = read(administrator, hooks, "diagnosticInfo")
    assert diagnosis["currentOffset"] == diagnosis["latestOffset"] - 1
    assert 0 < diagnosis["startingOffset"] < diagnosis["currentOffset"]
    assert not diagnosis["hasProcessedAllEvents"]
    assert (diagnosis["relevantUnprocessedEventsCount"], diagnosis["totalUnprocessedEventsCount"]) == (1, 1)
    assert (
        names(diagnosis["relevantUnprocessedEventsList"])
        == names(diagnosis["totalUnprocessedEventsList"])
        == ["unread"]
    )
    assert (diagnosis["successfulEventsCount"], diagnosis["failedEventsCount"]) == (2, 1)
    check_against("events/api/eventSubscriptionDiagnosticInfo.json", diagnosis)
    counts = read(administrator, hooks, "diagnosticInfo", listCountOnly=True)
    assert counts == {key: value for key, value in diagnosis.items() if not key.endswith("List")}
    assert read(administrator, hooks, "diagnosticInfo", paginationOffset=1)["relevantUnprocessedEventsList"] == []


def test_other_events_do_not_wait_for_the_query_that_reads_only_reports(
    administrator: httpx.Client, hooks: Json, orders: Json, sqlite_engine: Engine
) -> None:
    log, path = EventLog(sqlite_engine), f"{PATH}/{hooks['id']}/processedEvents"
    request = {
        "name": "positive",
        "entityLink": f"<#E::table::{orders['fullyQualifiedName']}>",
        "testDefinition": "tableCustomSQLQuery",
    }
    case = administrator.post("/dataQuality/testCases", json=request)
    assert case.is_success, case.text
    Notifications(sqlite_engine).advance(STREAK_STREAM, 0, now_ms=1)
    notify_all(sqlite_engine)
    record = read(administrator, hooks, "eventsRecord")
    assert record["totalEventsCount"] == 5, "each event once"
    diagnosis = read(administrator, hooks, "diagnosticInfo")
    assert (diagnosis["hasProcessedAllEvents"], diagnosis["currentOffset"]) == (True, log.readable_end())
    assert administrator.get(path).json() is True
    report_result(administrator, case.json()["fullyQualifiedName"], "Failed", case.json()["updatedAt"])
    notify_all(sqlite_engine)
    assert administrator.get(path).json() is False, "a report waits for that query"
    Notifications(sqlite_engine).advance(STREAK_STREAM, log.readable_end(), now_ms=2)
    assert administrator.get(path).json() is True


def test_failed_and_sent_events_are_listed(administrator: httpx.Client, hooks: Json) -> None:
    (failed,) = read(administrator, hooks, "failedEvents")
    assert names([failed["changeEvent"]]) == ["failed"]
    assert (failed["failingSubscriptionId"], failed["reason"]) == (hooks["id"], "serverError (500)")
    check_against("events/failedEventResponse.json", failed)
    assert read(administrator, hooks, "failedEvents", paginationOffset=1) == []
    assert read(administrator, hooks, "failedEvents", source="PUBLISHER") == []
    assert administrator.get(f"{PATH}/listAllFailedEvents").json() == [failed]
    assert names(read(administrator, hooks, "listSuccessfullySentChangeEvents")) == ["muted", "arrived"]
    assert names(read(administrator, hooks, "listSuccessfullySentChangeEvents", limit=1, paginationOffset=1)) == [
        "arrived"
    ]


def test_typed_events_say_what_became_of_each(administrator: httpx.Client, hooks: Json) -> None:
    page = read(administrator, hooks, "listEvents")["data"]
    assert sorted(one["status"] for one in page) == ["failed", "successful", "successful"]
    for typed_event in page:
        check_against("events/api/typedEvent.json", typed_event)
    assert [one["status"] for one in read(administrator, hooks, "listEvents", status="failed")["data"]] == ["failed"]
    assert len(read(administrator, hooks, "listEvents", limit=1, paginationOffset=2)["data"]) == 1
    refused = administrator.get(f"{PATH}/{hooks['id']}/listEvents", params={"status": "lost"})
    assert (refused.status_code, "status" in refused.json()["message"]) == (400, True)


def test_destinations_come_with_their_status(administrator: httpx.Client, hooks: Json) -> None:
    (destination,) = read(administrator, hooks, "destinations")
    assert destination["statusDetails"]["status"] == "retryLimitReached"
    assert "canary" not in str(destination)


def test_a_skipped_backlog_is_never_sent(
    administrator: httpx.Client, hooks: Json, sqlite_engine: Engine, outbox: Outbox
) -> None:
    assert administrator.get(f"{PATH}/{hooks['id']}/processedEvents").json() is False
    for path in (f"{hooks['id']}", "name/Hooks"):
        answer = administrator.put(f"{PATH}/{path}/syncOffset")
        assert answer.status_code == 200, answer.text
        check_against("events/eventSubscriptionOffset.json", answer.json())
        assert answer.json()["startingOffset"] > answer.json()["currentOffset"] - 1
    assert administrator.get(f"{PATH}/{hooks['id']}").json()["enabled"] is True
    notify_all(sqlite_engine)
    assert administrator.get(f"{PATH}/{hooks['id']}/processedEvents").json() is True
    assert outbox.end(Delivered(200)) == 1, "what waited before is sent, what was not read is not"
    table(administrator, "later")
    notify_all(sqlite_engine)
    assert outbox.end(Delivered(200)) == 1


def test_the_log_says_to_whom_what_was_sent_and_what_came_of_it(administrator: httpx.Client, hooks: Json) -> None:
    path = f"{PATH}/{hooks['id']}/logs"
    page = administrator.get(path).json()
    assert names(page["data"]) == ["waits", "muted", "failed", "arrived"]
    assert [one["status"] for one in page["data"]] == ["pending", "failed", "retryLimitReached", "delivered"]
    assert [one["reason"] for one in page["data"]] == [None, "muted", "serverError", "ok"]
    assert page["data"][0]["title"] == "waits: created"
    assert page["data"][0]["recipient"].startswith("https://hooks.example.org/services/*********?*********")
    first = administrator.get(path, params={"limit": 3}).json()
    next_page = administrator.get(path, params={"limit": 3, "after": first["paging"]["after"]}).json()
    assert [*first["data"], *next_page["data"]] == page["data"]
    days = {"startDate": "2020-01-01", "endDate": "2020-01-31"}
    assert administrator.get(path, params=days).json()["data"] == []
    assert len(administrator.get(path, params={"startDate": "2020-01-01"}).json()["data"]) == 4
    for query in ({"startDate": "soon"}, {"startDate": "2020-02-01", "endDate": "2020-01-01"}, {"after": "x"}):
        assert administrator.get(path, params=query).status_code == 400


def test_what_may_not_be_seen_is_not_shown(
    administrator: httpx.Client, hooks: Json, ana: tuple[str, httpx.Client]
) -> None:
    user_id, client = ana
    assert len(read(client, hooks, "failedEvents")) == 1
    assert client.get(f"{PATH}/listAllFailedEvents").json() == []
    assert client.get(f"{PATH}/{hooks['id']}/logs").status_code == 403
    assert client.put(f"{PATH}/{hooks['id']}/syncOffset").status_code == 403
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"], "operations": ["ViewAll", "ViewBasic"]})
    for listing in ("failedEvents", "listSuccessfullySentChangeEvents"):
        assert read(client, hooks, listing) == []
    assert read(client, hooks, "listEvents")["data"] == []
    assert read(client, hooks, "diagnosticInfo")["relevantUnprocessedEventsList"] == []


@pytest.mark.parametrize("listing", ["diagnosticInfo", "eventsRecord", "failedEvents", "listEvents", "destinations"])
def test_an_alert_that_is_not_there_is_not_found(administrator: httpx.Client, listing: str) -> None:
    nobody = "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001"
    for path, status in ((nobody, 404), (f"id/{nobody}", 404), ("id/x", 400), ("name/Nobody", 404), ("x/y", 400)):
        assert administrator.get(f"{PATH}/{path}/{listing}").status_code == status, path
