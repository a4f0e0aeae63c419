"""Tests of what an inbox says of failures where it is asked: severity, runbooks, rows that failed a test."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_alert_incidents import report_result
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.access.sample_masks import MASK

_CASES = "/dataQuality/testCases"
_ASKED = "fields=severity,runbooks,failingRows,failure,incident"
_FOR_ONLOOKERS = "tell an administrator: it has no owner"
_SAMPLE = {"columns": ["id", "email"], "rows": [[7, "ann@example.org"], [8, None]]}
_SHOWN = {
    "isWithheld": False,
    "columns": ["id", "email"],
    "rows": [["7", "ann@example.org"], ["8", "null"]],
    "rowCount": 2,
    "columnCount": 2,
}


class Failing:
    """A test that failed with rows, and alice, who follows what it checks."""

    def __init__(self, served: Served, administrator: httpx.Client, orders: Json, engine: Engine) -> None:
        self.administrator, self.orders, self._engine = administrator, orders, engine
        self.id, self.client = served.person("alice")
        assert self.client.put(f"/tables/{orders['id']}/followers/{self.id}").is_success
        link = f"<#E::table::{orders['fullyQualifiedName']}::columns::email>"
        definition = "columnValuesToBeNotNull"
        self.case = create_entity(administrator, _CASES, name="not_null", entityLink=link, testDefinition=definition)
        quality = create_entity(
            administrator,
            "/events/subscriptions",
            name="Quality",
            alertType="Observability",
            severity="Severity2",
            runbook="call ann",
            filteringRules={
                "resources": ["testCase"],
                "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}],
            },
            destinations=[{"category": "Followers", "type": "ActivityFeed"}],
        )
        notify_all(engine)
        self.at_ms = int(quality["updatedAt"])
        self.fail()

    def fail(self) -> None:
        """Report a failure, and the rows that failed."""
        self.report("Failed")
        assert self.administrator.put(f"{_CASES}/{self.case['id']}/failedRowsSample", json=_SAMPLE).is_success
        notify_all(self._engine)

    def report(self, status: str) -> None:
        """Report a result."""
        self.at_ms += 1
        report_result(self.administrator, self.case["fullyQualifiedName"], status, self.at_ms)
        notify_all(self._engine)

    def remove_runbook(self) -> None:
        """Take the runbook off the alert."""
        by_alert = self.administrator.get("/events/subscriptions/name/Quality").json()
        removal = {"op": "remove", "path": "/runbook"}
        assert send_patch(self.administrator, f"/events/subscriptions/{by_alert['id']}", removal).is_success

    def entries(self, query: str = _ASKED, client: httpx.Client | None = None) -> list[Json]:
        """Return the entries about failures of the test."""
        answer = (client or self.client).get(f"/users/{self.id}/notifications?{query}")
        assert answer.status_code == 200, answer.text
        return [one for one in answer.json()["data"] if "alert Quality" in str(one["reasons"])]


@pytest.fixture
def failing(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[Failing]:
    failing = Failing(served, administrator, orders, sqlite_engine)
    yield failing
    failing.client.close()


def test_an_inbox_says_of_a_failure_what_mails_say_where_it_is_asked(failing: Failing) -> None:
    (entry,) = failing.entries()
    assert "advice" not in entry, "the runbook says what is to be done"
    details = {key: entry.pop(key) for key in ("severity", "runbooks", "failingRows", "failure", "incident")}
    assert details == {
        "severity": "Severity2",
        "runbooks": [{"runbook": "call ann", "alert": "Quality"}],
        "failingRows": _SHOWN,
        "failure": {"since": failing.at_ms, "count": 1},
        "incident": {"name": "INC-1"},
    }
    (unasked_entry,) = failing.entries("limit=20")
    assert (unasked_entry.pop("advice"), unasked_entry["changes"].pop()) == ("repair it", "what to do: repair it")
    assert unasked_entry == entry
    (short_entry,) = failing.entries("fields=runbooks")
    assert short_entry["runbooks"] == details["runbooks"]


def test_who_may_not_acknowledge_an_incident_is_told_what_they_can_do(failing: Failing) -> None:
    failing.remove_runbook()
    assert [one["advice"] for one in failing.entries("fields=incident", failing.administrator)] == ["repair it"]
    (entry,) = failing.entries("fields=incident")
    assert entry["advice"] == _FOR_ONLOOKERS
    assert f"what to do: {entry['advice']}" in entry["changes"]
    assert failing.client.put("/incidents/INC-1/acknowledge").status_code == 403
    assert failing.administrator.put("/incidents/INC-1/acknowledge").is_success
    assert [one["advice"] for one in failing.entries("fields=incident")] == ["repair it"]


def test_who_may_not_view_people_is_not_told_that_there_is_no_owner(failing: Failing) -> None:
    failing.remove_runbook()
    restrict(failing.administrator, failing.id, {"effect": "deny", "resources": ["user"]})
    (entry,) = failing.entries("fields=incident")
    assert entry["advice"] == "only its editors, or the assignee, can acknowledge the incident"


def test_the_entry_that_leads_a_cause_has_what_is_asked_of_it(failing: Failing) -> None:
    (entry,) = failing.entries()
    path = f"/users/{failing.id}/notifications/causes"
    leading_entries = [cause["leading"] for cause in failing.client.get(f"{path}?{_ASKED}").json()["data"]]
    assert [one for one in leading_entries if one["id"] == entry["id"]] == [entry]
    assert not any("failure" in cause["leading"] for cause in failing.client.get(path).json()["data"])
    assert failing.client.get(f"{path}?fields=runbook").status_code == 400


def test_the_live_stream_says_what_the_inbox_says_where_it_is_asked(failing: Failing) -> None:
    path = f"/users/{failing.id}/notifications/stream"
    for query in (_ASKED, "fields=runbooks", ""):
        with failing.client.stream("GET", f"{path}?{query}", headers={"Last-Event-ID": "1"}) as answer:
            sent = (json.loads(line.partition(": ")[2]) for line in answer.iter_lines() if line.startswith("data: "))
            assert [next(one for one in sent if "alert Quality" in str(one["reasons"]))] == failing.entries(query)
    refused = failing.client.get(f"{path}?fields=runbook")
    assert (refused.status_code, "did you mean runbooks?" in refused.text) == (400, True)


def test_a_runbook_of_the_definition_is_said_where_there_is_no_other_and_it_may_be_seen(failing: Failing) -> None:
    path = "/dataQuality/testDefinitions"
    definition = failing.administrator.get(f"{path}/name/columnValuesToBeNotNull").json()
    failing.remove_runbook()
    runbook = {"op": "add", "path": "/runbook", "value": "reload"}
    assert send_patch(failing.administrator, f"{path}/{definition['id']}", runbook).is_success
    assert [(one["runbooks"], "advice" in one) for one in failing.entries()] == [([{"runbook": "reload"}], False)]
    restrict(failing.administrator, failing.id, {"effect": "deny", "resources": ["testDefinition"]})
    assert ["runbooks" in one for one in failing.entries()] == [False]


def test_masked_values_are_for_who_may_see_them_when_it_is_read(failing: Failing) -> None:
    hide = {"op": "add", "path": "/columns/1/tags", "value": [{"tagFQN": "PII.Sensitive"}]}
    assert send_patch(failing.administrator, f"/tables/{failing.orders['id']}", hide).is_success
    masked = _SHOWN | {"rows": [["7", MASK], ["8", MASK]]}
    assert [one["failingRows"] for one in failing.entries()] == [masked]
    assert [one["failingRows"] for one in failing.entries(client=failing.administrator)] == [_SHOWN]


def test_who_may_not_see_sample_data_reads_only_that_rows_are_kept(failing: Failing) -> None:
    rule = {"effect": "deny", "resources": ["testCase"], "operations": ["ViewSampleData"]}
    restrict(failing.administrator, failing.id, rule)
    (entry,) = failing.entries()
    assert entry["failingRows"] == {
        "isWithheld": True,
        "columns": [],
        "rows": [],
        "rowCount": 0,
        "columnCount": 0,
    }
    assert "ann@example.org" not in str(entry)


def test_rows_are_those_of_the_newest_result_only(failing: Failing) -> None:
    failing.fail()
    assert ["failingRows" in one for one in failing.entries()] == [True, False]


def test_a_failure_says_since_when_and_how_often_and_its_end_how_long_it_was(failing: Failing) -> None:
    first_ms = failing.at_ms
    failing.fail()
    assert failing.administrator.put("/incidents/INC-1/acknowledge").is_success
    newest, first = failing.entries("fields=failure,incident")
    assert newest["failure"] == {"since": first_ms, "count": 2}
    assert first["failure"] == {"since": first_ms, "count": 1}
    assert [one["incident"] for one in (newest, first)] == [
        {"name": "INC-1", "acknowledgedBy": "admin", "acknowledgedByDisplayName": "Administrator"}
    ] * 2
    failing.report("Success")
    answer = failing.client.get(f"/users/{failing.id}/notifications?fields=failure,incident").json()["data"]
    (recovery,) = [one for one in answer if one.get("failure", {}).get("until")]
    assert recovery["failure"] == {"since": first_ms, "count": 2, "until": failing.at_ms}
    assert "incident" not in recovery


def test_unknown_fields_and_other_readers_are_refused(served: Served, failing: Failing) -> None:
    answer = failing.client.get(f"/users/{failing.id}/notifications?fields=failingrows")
    assert (answer.status_code, "did you mean failingRows?" in answer.text) == (400, True)
    _, bob = served.person("bob")
    with bob:
        assert bob.get(f"/users/{failing.id}/notifications?{_ASKED}").status_code == 403
