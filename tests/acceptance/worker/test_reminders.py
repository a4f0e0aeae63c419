"""Tests of reminders through a worker: what they say, their button, and that a handled incident is not reminded of."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Engine, select
from tests.acceptance.worker.test_acknowledge import LINKS, OWN, TOKEN, acknowledge
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_worker import until, working
from tests.company import SmallCompany
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.store.test_failing_rows import permit

from tocsin.alerts.reminders import remind
from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender
from tocsin.flow.match.plan import plan_of
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.alerts.incidents import AlertIncidentLog
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.tables import attempt

TRIGGER: dict[str, Any] = {"triggerType": "RealTime", "repeatInterval": 3_600}


def reminding_company(engine: Engine) -> SmallCompany:
    """Return a company one of whose runs has failed, of which an alert reminds Dia by mail."""
    company = SmallCompany(engine)
    permit(company, "dia", OWN)
    company.pipeline("load", owners=[{"type": "user", "name": "dia"}])
    destinations = [{"category": "Owners", "type": "Email"}]
    company.alert("Broken", destinations, "pipelineStatus == 'Failed'", poll_interval_s=0, trigger=TRIGGER)
    company.run("load", "Failed")
    assert notify_all(engine, now_ms=company.clock.now_ms()) == 1
    return company


def remind_later(company: SmallCompany, *, after_ms: int) -> None:
    """Remind of the incident after a time."""
    company.clock.advance(after_ms)
    incident = AlertIncidentLog(company.engine).find("INC-1")
    assert incident is not None
    plans = {alert.id: plan_of(alert) for alert in Subscriptions(company.engine).list_enabled()}
    assert company.writes.within(partial(remind, incident_id=incident.id, plans=plans), actor=SYSTEM)
    assert notify_all(company.engine, now_ms=company.clock.now_ms()) == 1


def outcomes(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(connection.execute(select(attempt.c.reason)).scalars())


async def test_a_reminder_says_for_how_long_and_carries_the_link_and_none_is_sent_of_what_is_handled(
    store_engine: Engine,
) -> None:
    mailbox, company = Mailbox(), reminding_company(store_engine)
    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as channel,
    ):
        async with working(store_engine, senders={"Email": channel}, **LINKS):
            await until(lambda: len(mailbox.mails) == 1)
            remind_later(company, after_ms=2 * 3_600_000)
            await until(lambda: len(mailbox.mails) == 2)
        remind_later(company, after_ms=3_600_000)
        acknowledge(company)  # while the third reminder waits
        async with working(store_engine, senders={"Email": channel}, **LINKS):
            await until(lambda: outcomes(store_engine) == ["handled", "ok", "ok"])
    failure, reminder = (read_mail(content) for _, content in mailbox.mails)
    text = text_of(reminder)
    assert reminder["Subject"] == (
        "load: has been failing since 2025-10-09 08:54 UTC, nobody has acknowledged it (1st reminder)"
    )
    assert "- Incident: INC-1" in text
    assert "Failing since" not in text, "the subject says it"
    assert TOKEN.findall(text)
    assert TOKEN.findall(text_of(failure))
