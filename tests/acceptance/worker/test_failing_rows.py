"""Test of failing rows in mails through a worker: each recipient reads what that person may see."""

from __future__ import annotations

from sqlalchemy import Engine
from tests.acceptance.worker.chat_receivers import statuses
from tests.acceptance.worker.test_email_channel import SENDER, Mailbox, mail_server
from tests.acceptance.worker.test_worker import until, working
from tests.mails import read_mail, text_of
from tests.notifying import notify_all
from tests.store.test_failing_rows import failing_company, permit

from tocsin.delivery.channels.email.connections import MailServer
from tocsin.delivery.channels.email.sender import EmailSender


async def test_a_mail_about_a_failed_test_shows_rows_to_those_who_may_see_them(sqlite_engine: Engine) -> None:
    mailbox, company = Mailbox(), failing_company(sqlite_engine)
    rule = {"name": "Hide", "effect": "deny", "operations": ["ViewSampleData"], "resources": ["testCase"]}
    permit(company, "cem", rule)
    notify_all(sqlite_engine)

    async with (
        mail_server(mailbox) as port,
        EmailSender(MailServer("127.0.0.1", port), SENDER) as email,
        working(sqlite_engine, senders={"Email": email}),
    ):
        await until(lambda: set(statuses(sqlite_engine)) == {("delivered", 1)})
    texts = {to[0].partition("@")[0]: text_of(read_mail(content)) for to, content in mailbox.mails}
    assert "id: 7; email: ann@example.org" in texts["ana"]
    assert "ann@example.org" not in texts["cem"]
    assert "failing rows are kept; you may not see them" in texts["cem"]
