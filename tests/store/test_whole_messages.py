"""Tests of messages that carry a whole and its parts: what their readers hear of both."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_failing_rows import all_mails, mails_of, permit

from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.content import REDUCED
from tocsin.model.entity import Document
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.send_permission import Permitted

HOURLY = {"triggerType": "Scheduled", "scheduleInfo": "Custom", "cronExpression": "0 0 * * * ?"}
FOLLOWERS: list[Document] = [{"category": "Followers", "type": "Email"}]
TABLES = ("orders", "revenue", "t0", "t1", "secret")


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Return a company in which cem follows a schema and its tables, by two alerts that share a digest."""
    company = SmallCompany(store_engine)
    company.put("classification", {"name": "PII", "description": ""})
    company.put("tag", {"name": "Sensitive", "classification": "PII", "description": ""})
    for name in TABLES[2:]:
        company.table(name, tags=[{"tagFQN": "PII.Sensitive"}] if name == "secret" else [])
    for kind, name in (("databaseSchema", "public"), *(("table", name) for name in TABLES)):
        company.writes.follow(kind, company.ids[name], company.ids["cem"], actor=company.actor("cem"))
    for name, kind in (("schemas", "databaseSchema"), ("tables", "table")):
        company.alert(name, FOLLOWERS, resources=(kind,), trigger=HOURLY)
    notify_all(store_engine)
    company.clock.advance(1_000)
    return company


def delete_schema(company: SmallCompany) -> None:
    company.writes.delete("databaseSchema", company.key("public"), actor=company.actor("dia"), recursive=True)


def texts_of(message: Dispatch) -> tuple[str, list[str]]:
    """Return the subject of a mail, and what it says of parts."""
    mail = render_texts(message, "https://t")
    return mail["subject"], [line for line in mail["text"].splitlines() if line.startswith(("With it", "Also"))]


def test_a_digest_tells_of_a_deleted_schema_with_the_tables_that_its_reader_follows(company: SmallCompany) -> None:
    delete_schema(company)
    digest = mails_of(company.engine)["cem"]
    assert len(digest.entries) == 6
    subject, (line,) = texts_of(digest)
    assert subject == "public: deleted, and 5 below it"
    names, _, why = line.removeprefix("With it: ").partition("; ")
    directly, through = "you follow it", "you follow the database schema pg.store.public, which contains it"
    reason = f"you hear of each because {directly} (alert tables); {through} (alert tables)"
    assert (set(names.split(", ")), why) == (set(TABLES), reason)


def test_who_may_not_see_a_part_does_not_hear_its_name_nor_how_many_there_are(company: SmallCompany) -> None:
    rule = {"name": "Shut", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
    permit(company, "cem", {**rule, "condition": "matchAnyTag('PII.Sensitive')"})
    delete_schema(company)
    digest = mails_of(company.engine)["cem"]
    permitted, _ = Permitted(company.engine).permitted_part(digest, now_ms=0)
    assert permitted is not None
    subject, (line,) = texts_of(permitted)
    assert subject == "public: deleted"
    assert set(line.removeprefix("With it: ").partition("; ")[0].split(", ")) == set(TABLES) - {"secret"}
    assert "secret" not in render_texts(permitted, "https://t")["text"]


def test_who_may_not_see_the_schema_reads_of_the_tables_as_one(company: SmallCompany) -> None:
    rule = {"name": "Shut", "effect": "deny", "operations": ["ViewAll"], "resources": ["databaseSchema"]}
    delete_schema(company)
    digest = mails_of(company.engine)["cem"]
    permit(company, "cem", rule)
    permitted, _ = Permitted(company.engine).permitted_part(digest, now_ms=0)
    assert permitted is not None
    subject, (line,) = texts_of(permitted)
    assert [REDUCED in render_texts(one, "https://t")["text"] for one in (digest, permitted)] == [False, True]
    assert subject.startswith("5 deletions: ")
    assert line.startswith("Also deleted: ")


def test_an_alert_tells_who_may_not_see_the_schema_of_its_tables_on_every_channel_and_nothing_of_it(
    company: SmallCompany,
) -> None:
    to_followers: list[Document] = [{"category": "Followers", "type": name} for name in ("Email", "ActivityFeed")]
    company.alert("both", to_followers, resources=("databaseSchema", "table"), trigger={"triggerType": "RealTime"})
    notify_all(company.engine)
    company.clock.advance(1_000)
    rule = {"name": "Shut", "effect": "deny", "operations": ["ViewAll"], "resources": ["databaseSchema"]}
    permit(company, "cem", rule)
    delete_schema(company)
    notify_all(company.engine)
    query = select(notification.c.channel, change_event.c.entity_type)
    with reading(company.engine) as connection:
        notification_rows = connection.execute(
            query.join(change_event, change_event.c.id == notification.c.event_id)
        ).all()
    assert Counter(map(tuple, notification_rows)) == {
        ("Email", "table"): len(TABLES),
        ("ActivityFeed", "table"): len(TABLES),
    }
    (mail,) = all_mails(company.engine)
    for channel, render in PREVIEWS.items():
        shown_text = str(render(mail, "https://t"))
        assert "databaseSchema" not in shown_text, channel
        assert "public: deleted" not in shown_text, channel
        assert [name for name in TABLES if name not in shown_text] == [], channel


def test_a_digest_tells_of_a_restored_schema_in_the_same_way(company: SmallCompany) -> None:
    delete_schema(company)
    mails_of(company.engine)
    company.clock.advance(3_600_000)
    company.writes.restore("databaseSchema", company.ids["public"], actor=company.actor("dia"))
    subject, (line,) = texts_of(mails_of(company.engine)["cem"])
    assert subject == "public: restored, and 5 below it"
    assert line.startswith("With it: ")
