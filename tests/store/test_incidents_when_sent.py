"""Tests of what a message says of an incident that people handle while the message waits, on both stores."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_independence import Collecting, yes
from tests.workers import with_parts, worker_parts

from tocsin.alerts.incidents import Handling, handle
from tocsin.delivery.wording.content import message_content
from tocsin.delivery.worker.attempt import Attempts
from tocsin.delivery.worker.parts import WorkerTime
from tocsin.model.alert_incident import StepKind
from tocsin.model.subscription import Channel
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog

MAIL = {"category": "Users", "type": "Email", "config": {"receivers": ["dia"]}}
LATER_MS = 10**15


def failing_company(engine: Engine, *failing_names: str) -> SmallCompany:
    """Return a company some of whose tests have failed, of which an alert sends a mail to Dia."""
    company = SmallCompany(engine)
    for name in failing_names:
        company.test_case("orders", name)
    company.clock.advance(1_000)
    company.alert("failed", [MAIL], "testStatus == 'Failed'", resources=("testCase",), alertType="Observability")
    for name in failing_names:
        company.result("orders", "Failed", name)
    notify_all(engine)
    return company


def resolve(company: SmallCompany, name: str) -> None:
    incident = AlertIncidentLog(company.engine).find(name)
    assert incident is not None
    company.clock.advance(1_000)
    handling = Handling(StepKind.RESOLVED, reason="MissingData")
    company.writes.within(lambda record: handle(record, incident.id, handling), actor=company.actor("ben"))


async def texts_sent(company: SmallCompany, *, waits_s: float) -> list[str]:
    """Claim what is due, resolve INC-1, and send after so long; return what the messages say of incidents."""
    channel, now_s = Collecting(), [100.0]
    parts = with_parts(worker_parts(company.engine, {Channel.EMAIL: channel}), time=WorkerTime(steady=lambda: now_s[0]))
    parts.queue.sessions.begin("s", lease_ms=90_000, now_ms=0)
    messages, attempts = parts.queue.messages, Attempts(parts.attempts, parts.time)
    dispatches = await attempts.look_ahead(messages.dispatches(messages.claim("s", 64, now_ms=LATER_MS)))
    resolve(company, "INC-1")
    now_s[0] += waits_s
    for dispatch in dispatches:
        assert await attempts.make(dispatch, yes) is not None
    contents = [
        message_content(dispatch, dispatch.entries, base_url="https://tocsin.example", lines_each=9)
        for dispatch in channel.sent
    ]
    return [
        text
        for content in contents
        for section in content.sections
        for text in (
            *(line.text for line in section.lines if line.label == "incident"),
            *("".join(span.text for span in note.spans) for note in section.notes),
        )
    ]


@pytest.mark.parametrize(("waits_s", "text"), [(60.0, "INC-1, resolved since"), (0.5, "INC-1")])
async def test_a_failure_whose_incident_is_resolved_while_its_message_waits_says_so(
    store_engine: Engine, waits_s: float, text: str
) -> None:
    assert await texts_sent(failing_company(store_engine, "rows"), waits_s=waits_s) == [text]


async def test_a_digest_says_which_of_its_incidents_are_resolved_since(store_engine: Engine) -> None:
    company = failing_company(store_engine, "rows", "sums")
    assert await texts_sent(company, waits_s=60.0) == ["Incident: INC-1, resolved since", "Incident: INC-2"]
