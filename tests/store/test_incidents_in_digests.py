"""Tests of incidents in digests and scheduled checks, on both stores: each failure names its own, with a link to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_failure_context import counting
from tests.unit.delivery.wording.test_visible_contexts import Seeing

from tocsin.alerts.incidents import Handling, handle
from tocsin.catalogue.observations.scheduled_checks import AssetState, DueCheck, add_checks
from tocsin.delivery.dispatch import Dispatch, FailureIncident, Guidance
from tocsin.delivery.links.acknowledge import LinkSigner, buttons_of
from tocsin.delivery.wording.content import message_content
from tocsin.delivery.wording.visible_contexts import visible_streaks
from tocsin.flow.match.plan import plan_of
from tocsin.model.alert_incident import StepKind
from tocsin.model.people import SYSTEM
from tocsin.model.severity import Severity
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.failure_messages import FailureMessages
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.send_permission import Permitted
from tocsin.store.outbox.sessions import Sessions

EIGHT = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
LATER_MS = 10**15
LINKS = LinkSigner("https://tocsin.example", b"key")


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company with two tests that fail, an alert that opens incidents, and one that asks at eight what fails."""
    small_company = SmallCompany(store_engine)
    for name in ("rows", "sums"):
        small_company.test_case("orders", name)
    small_company.clock.advance(1_000)
    small_company.alert("failed", [], "testStatus == 'Failed'", resources=("testCase",), alertType="Observability")
    mail = {"category": "Users", "type": "Email", "config": {"receivers": ["cem"]}}
    small_company.alert("at eight", [mail], "stillFailing() || resolved()", resources=("testCase",), trigger=EIGHT)
    for name in ("rows", "sums"):
        small_company.result("orders", "Failed", name)
    notify_all(store_engine)
    return small_company


def acknowledge(company: SmallCompany, name: str) -> None:
    incident = AlertIncidentLog(company.engine).find(name)
    assert incident is not None
    company.clock.advance(1_000)
    acknowledging = Handling(StepKind.ACKNOWLEDGED)
    company.writes.within(lambda record: handle(record, incident.id, acknowledging), actor=company.actor("ben"))


def check(company: SmallCompany, *names: str) -> None:
    """Write what still fails at eight of the tests with these names."""
    at_eight = next(one for one in Subscriptions(company.engine).list_enabled() if one.name == "at eight")
    company.clock.advance(1_000)
    now_ms = company.clock.now_ms()
    states = [AssetState(company.ids[name], "testCase", True, 1, now_ms - 1_000, False) for name in names]
    due = DueCheck(at_eight.trigger.schedule_id, now_ms, (plan_of(at_eight),))
    assert add_checks(company.writes, states, [due], set()) == len(names)
    notify_all(company.engine)


def digest_to_cem(company: SmallCompany) -> Dispatch:
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    (dispatch,) = messages.dispatches(messages.claim("worker", 64, now_ms=LATER_MS))
    return dispatch


def test_a_check_names_the_incident_of_each_failure(company: SmallCompany) -> None:
    acknowledge(company, "INC-2")
    check(company, "rows", "sums")
    dispatch = digest_to_cem(company)
    by_test = {str((entry.event.entity or {})["name"]): entry.notification_id for entry in dispatch.entries}
    assert dispatch.incidents == {
        by_test["rows"]: FailureIncident("INC-1"),
        by_test["sums"]: FailureIncident("INC-2", acknowledged_by="ben", acknowledger_id=company.ids["ben"]),
    }
    buttons = buttons_of(dispatch, LINKS, now_ms=1)
    texts = {key: [button.text for button in of_entry] for key, of_entry in buttons.items()}
    assert texts == {by_test["rows"]: ["Acknowledge INC-1"]}


def test_a_check_of_one_failure_has_the_button_of_its_message(company: SmallCompany) -> None:
    check(company, "rows")
    dispatch = digest_to_cem(company)
    assert len(dispatch.entries) == 1
    (buttons,) = buttons_of(dispatch, LINKS, now_ms=1).values()
    assert [one.text for one in buttons] == ["Acknowledge INC-1"]
    messages, place = FailureMessages(company.engine), ReportPlace(company.ids["rows"], dispatch.first.log_offset)
    incidents, _ = messages.incidents_and_runbooks({place: dispatch.event})
    assert incidents == {place: FailureIncident("INC-1")}, "as an inbox says it"


def test_what_has_ended_before_the_check_names_the_incident_that_it_resolved(company: SmallCompany) -> None:
    company.result("orders", "Success", "rows")
    notify_all(company.engine)
    check(company, "sums")
    dispatch = digest_to_cem(company)
    assert [str((entry.event.entity or {})["name"]) for entry in dispatch.entries] == ["rows", "sums"]
    assert list(dispatch.incidents.values()) == [FailureIncident("INC-1", is_resolved=True), FailureIncident("INC-2")]


def test_incidents_of_many_digests_are_read_together(company: SmallCompany) -> None:
    check(company, "rows", "sums")
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    claim = messages.claim("worker", 64, now_ms=LATER_MS)
    with counting(company.engine) as statements:
        messages.dispatches(claim)
    assert sum("FROM alert_incident " in one for one in statements) == 2, "those to be named, those to acknowledge"


def test_a_digest_says_of_its_failures_what_a_message_about_each_says(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.put("classification", {"name": "Tier", "description": "importance"})
    company.put("tag", {"name": "Tier1", "classification": "Tier", "description": "the highest"})
    tier = {"tagFQN": "Tier.Tier1", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
    for name in ("rows", "sums"):
        company.test_case("orders", name, tags=[tier])
    to_cem = {"category": "Users", "type": "Email", "config": {"receivers": ["cem"]}}
    company.clock.advance(1_000)
    company.alert("failed", [to_cem], "testStatus == 'Failed'", resources=("testCase",), severity="Severity2")
    for name in ("rows", "rows", "sums"):
        company.result("orders", "Failed", name)
    notify_all(store_engine)
    dispatch = digest_to_cem(company)
    guidance = Guidance(Severity.SEVERITY_2)
    message = replace(dispatch, guidance={entry.notification_id: guidance for entry in dispatch.entries})
    sections = message_content(message, message.entries, base_url="https://tocsin.example", lines_each=3).sections
    streak_texts = [{line.label: line.text for line in section.lines}.get("failed") for section in sections]
    assert streak_texts == [None, "2 times in a row", None], "since when says the line of the result before"
    notes = [["".join(span.text for span in note.spans) for note in section.notes] for section in sections]
    assert notes == [[f"Incident: INC-{number}, Severity 1 (critical)"] for number in (1, 1, 2)]


def test_failures_of_many_digests_are_read_together(company: SmallCompany) -> None:
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    for receiver in ("ana", "cem", "dia"):
        mail = {"category": "Users", "type": "Email", "config": {"receivers": [receiver]}}
        company.alert(f"to {receiver}", [mail], "testStatus == 'Failed'", resources=("testCase",))
    for name in ("rows", "sums"):
        company.result("orders", "Failed", name)
    notify_all(company.engine)
    messages = Messages(company.engine)
    claim = messages.claim("worker", 64, now_ms=LATER_MS)
    with counting(company.engine) as statements:
        dispatches = messages.dispatches(claim)
    assert sum(len(one.streaks) for one in dispatches) == 3 * 2
    assert sum("status_report" in one for one in statements) == 1
    failure_messages = FailureMessages(company.engine)
    with counting(company.engine) as of_one:
        failure_messages.with_contexts_in_digests(dispatches[:1])
    with counting(company.engine) as of_all:
        failure_messages.with_contexts_in_digests(dispatches)
    assert len(of_all) == len(of_one)


def test_a_digest_says_what_lies_downstream_of_its_failures_and_to_whom_they_were_told(company: SmallCompany) -> None:
    company.writes.patch("user", company.key("ana"), [{"op": "add", "path": "/isAdmin", "value": True}], actor=SYSTEM)
    for receiver in ("ana", "cem"):
        mail = {"category": "Users", "type": "Email", "config": {"receivers": [receiver]}}
        company.alert(f"to {receiver}", [mail], "testStatus == 'Failed'", resources=("testCase",))
    for name in ("rows", "sums"):
        company.result("orders", "Failed", name)
    company.result("orders", "Success", "rows")
    notify_all(company.engine)
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages, permissions = Messages(company.engine), Permitted(company.engine)
    digests = messages.dispatches(messages.claim("worker", 64, now_ms=LATER_MS))
    texts: dict[str, list[tuple[str | None, str | None]]] = {}
    for digest in FailureMessages(company.engine).with_contexts_in_digests(digests):
        message = replace(digest, streaks=visible_streaks(digest, permissions))
        sections = message_content(message, message.entries, base_url="https://t", lines_each=9).sections
        labels = [{line.label: line.text for line in section.lines} for section in sections]
        texts[message.message.target] = [(one.get("downstream"), one.get("told")) for one in labels]
    assert texts["ana@example.com"] == [("revenue", "cem"), ("revenue", "cem")]
    assert texts["cem@example.com"] == [("revenue", None), ("revenue", None)]
    hidden_streaks = visible_streaks(digest, Seeing()).values()
    assert {(one.downstream, one.audience and one.audience.names) for one in hidden_streaks} <= {((), None), ((), ())}
