"""Tests of the lags of readers of the log, for administrators: as JSON and as metrics."""

from __future__ import annotations

import json

import httpx
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.serving import Json, Served

from tocsin.alerts.events import LagLog
from tocsin.clock import SystemClock
from tocsin.flow.eventlog.lag import LagState, ReaderKind, ReaderLag
from tocsin.flow.eventlog.readers import MATCH_STREAM, SEARCH_STREAM
from tocsin.server.routes.system.lag import METRICS_TYPE
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.eventlog.lag_states import ConsumerGroups, LagStates
from tocsin.store.outbox.notifications import Notifications


def metrics_of(client: httpx.Client) -> httpx.Response:
    return client.get(str(client.base_url.join("/metrics")))


def values_of(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_all_readers_are_listed_with_what_they_have_not_read(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    end = administrator.get("/events?offset=latest").json()["paging"]["offset"]
    Notifications(sqlite_engine).advance(SEARCH_STREAM, end, now_ms=7)
    Notifications(sqlite_engine).advance(MATCH_STREAM, end - 2, now_ms=7)
    answer = administrator.get("/events/lag").json()
    assert (answer["logOffset"], answer["missing"]) == (end, [])
    readers = {one["reader"]: one for one in answer["readers"]}
    assert sorted(readers) == ["lake", "match_stream", "search_stream", "streak_stream"]
    assert readers["search_stream"] == {
        "reader": "search_stream",
        "kind": "query",
        "logOffset": end,
        "lagEvents": 0,
        "isEstimate": False,
        "lagSeconds": 0.0,
        "limit": 10_000,
        "readAt": 7,
    }
    late = readers["match_stream"]
    assert (late["lagEvents"], late["logOffset"]) == (2, end - 2)
    assert late["lagSeconds"] == (answer["measuredAt"] - late["oldestUnreadAt"]) / 1000


def test_metrics_say_the_same_in_prometheus_format(administrator: httpx.Client, sqlite_engine: Engine) -> None:
    group = 'group "a\\b"\nc'
    document = {"groups": [{"reader": group, "eventCount": 3, "oldestMs": 1}]}
    ConsumerGroups(sqlite_engine).put("ours", document, now_ms=2**43)
    answer = metrics_of(administrator)
    assert (answer.status_code, answer.headers["content-type"]) == (200, METRICS_TYPE)
    assert "# TYPE tocsin_reader_lag_events gauge" in answer.text
    values = values_of(answer.text)
    assert values['tocsin_reader_lag_events{reader="group \\"a\\\\b\\"\\nc",kind="consumerGroup"}'] == 3
    assert values["tocsin_log_offset"] == administrator.get("/events/lag").json()["logOffset"]
    assert values['tocsin_reader_lag_limit_events{reader="match_stream",kind="query"}'] == 10_000
    assert values['tocsin_reader_lag_exceeded{reader="match_stream",kind="query"}'] == 0


def test_the_group_that_reads_events_of_other_systems_is_among_the_readers(
    administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    document = {"groups": [{"reader": "group tocsin-ingest", "eventCount": 3, "oldestMs": 1}]}
    ConsumerGroups(sqlite_engine).put("ingest tocsin-ingest", document, now_ms=2**43)
    ConsumerGroups(sqlite_engine).put("ingest other", {"groups": []}, now_ms=1)
    answer = administrator.get("/events/lag").json()
    (reader,) = [one for one in answer["readers"] if one["reader"] == "group tocsin-ingest"]
    assert (reader["kind"], reader["lagEvents"], reader["logOffset"]) == ("consumerGroup", 3, None)
    (missing,) = [words for words in answer["missing"] if "other systems" in words]
    assert missing.startswith("Consumer group other of events of other systems: last measured ")
    assert missing.endswith("Is `tocsin ingest` running?")


def test_only_administrators_and_who_may_read_audit_logs_see_lags(served: Served, administrator: httpx.Client) -> None:
    user_id, client = served.person("ann")
    with client:
        for answer in (client.get("/events/lag"), metrics_of(client)):
            assert (answer.status_code, answer.json()["code"]) == (403, 403)
            assert "AuditLogs" in answer.json()["message"]
        with served.client() as nobody:
            assert (nobody.get("/events/lag").status_code, metrics_of(nobody).status_code) == (401, 401)
        rule = {"effect": "allow", "operations": ["AuditLogs"], "resources": ["eventsubscription"]}
        restrict(administrator, user_id, rule)
        assert client.get("/events/lag").status_code == 200
        assert metrics_of(client).status_code == 200
        assert client.get("/events/lag?unknown=1").status_code == 400


def test_that_a_queue_lags_is_shown_to_those_who_may_view_its_alert(
    served: Served, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    user_id, client = served.person("ann")
    hidden_alert = create_entity(
        administrator,
        "/events/subscriptions",
        name="Merger",
        owners=[{"id": administrator.get("/users/name/admin").json()["id"], "type": "user"}],
        alertType="GovernanceWorkflowChangeEvent",
        filteringRules={"resources": ["tag"], "rules": []},
        destinations=[{"category": "External", "type": "GovernanceWorkflowChangeEvent"}],
    )
    rule = {"effect": "deny", "operations": ["ViewAll"], "resources": ["eventsubscription"]}
    restrict(administrator, user_id, rule | {"condition": "!noOwner()"})
    reference = {"id": hidden_alert["id"], "type": "eventsubscription", "name": "Merger"}
    states, log = LagStates(sqlite_engine), LagLog(SqlCatalogue(sqlite_engine), SystemClock())
    for reader, alert in ((MATCH_STREAM, None), (f"queue {hidden_alert['id']}", reference)):
        states.put({reader: LagState(9, 1)})
        assert log.begin(ReaderLag(reader, ReaderKind.QUEUE, 9, alert=alert), 4)
    with client:
        assert client.get(f"/events/subscriptions/{hidden_alert['id']}").status_code == 403
        assert lagging_readers(client) == {MATCH_STREAM}
    assert lagging_readers(administrator) == {MATCH_STREAM, f"queue {hidden_alert['id']}"}


def lagging_readers(client: httpx.Client) -> set[str]:
    events = client.get("/events", params={"offset": 0, "eventTypes": "lagExceeded", "limit": 100}).json()["data"]
    return {json.loads(one["changeDescription"]["fieldsUpdated"][0]["newValue"])["reader"] for one in events}
