"""Tests of mails about an incident that was assigned, on both stores: what failed, where, how bad, and what to do."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_incident_handling import Way, handle_number, take_step_of_test, take_transition_of_task
from tests.store.test_incident_records import Case

from tocsin.delivery.dispatch import Dispatch, FailureIncident
from tocsin.delivery.links.acknowledge import LinkSigner, buttons_of
from tocsin.delivery.wording.changes import event_text
from tocsin.model.people import SYSTEM
from tocsin.store.outbox.failure_messages import FailureMessages
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

LATER_MS = 10**15
FOUND = {
    "result": "found 3 rows",
    "testResultValue": [{"name": "nullCount", "value": "3"}],
    "minBound": 0,
    "maxBound": 1,
}


def mail_to_ben(company: SmallCompany) -> Dispatch:
    notify_all(company.engine)
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    (dispatch,) = messages.dispatches(messages.claim("worker", 64, now_ms=LATER_MS))
    return dispatch


@pytest.fixture
def case(store_engine: Engine) -> Case:
    """A test that failed, with an alert that opens its incident, and one whose mails go to the assignees."""
    company = SmallCompany(store_engine)
    company.alert("failed", [], "testStatus == 'Failed'", resources=("testCase",), alertType="Observability")
    handled = "eventType == 'alertIncidentUpdated'"
    company.alert("mine", [{"category": "Assignees", "type": "Email"}], handled, resources=("testCase",))
    failing_case = Case(company)
    company.clock.advance(1_000)
    report = {"timestamp": company.clock.now_ms(), "testCaseStatus": "Failed", **FOUND}
    company.writes.add_test_result(f"pg.store.public.orders.{failing_case.name}", report, actor=SYSTEM)
    notify_all(store_engine)
    company.clock.advance(1_000)
    return failing_case


@pytest.mark.parametrize("way", [handle_number, take_step_of_test, take_transition_of_task])
def test_a_mail_about_an_assignment_says_what_failed_and_what_to_do(case: Case, way: Way) -> None:
    way(case, "assign")
    mail = mail_to_ben(case.company)
    context = FailureMessages(case.company.engine).context_of(mail)
    text = event_text(mail.event, mail.first.reasons, context, reader_id=mail.first.recipient_id)
    assert text.headline == f"{case.name} of orders: INC-1 assigned to you"
    lines = {line.label: line.text for line in text.lines}
    assert (lines["found"], lines["expected"]) == ("3 rows; nullCount 3", "at least 0; at most 1")
    assert "failing since" in lines
    assert lines["what to do"] == "repair it, then resolve its incident: tocsin incidents resolve INC-1"
    assert mail.incidents == {mail.first.notification_id: FailureIncident("INC-1")}
    (buttons,) = buttons_of(mail, LinkSigner("https://tocsin.example", b"key"), now_ms=1).values()
    assert [one.text for one in buttons] == ["Acknowledge INC-1"]


def test_a_mail_about_an_incident_whose_test_passes_again_repeats_no_failure(case: Case) -> None:
    case.do("succeed")
    take_step_of_test(case, "assign")
    mail = mail_to_ben(case.company)
    assert "found" not in {line.label for line in event_text(mail.event).lines}
