"""Tests of rows that failed a test in mails: shown to one person, masked, and only those of the result that is told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import count

import pytest
from sqlalchemy import Engine, text
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_failure_context import counting
from tests.stores import drop_columns_after_0056

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.sample_masks import MASK
from tocsin.catalogue.observations.failed_rows import (
    EXCERPT,
    FAILED_ROWS,
    SentRows,
    forget_failed_rows,
    put_failed_rows,
)
from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.dispatch import Dispatch, FailingRows, FailureContext
from tocsin.delivery.wording.failing_rows import MOST_EXCERPT_CHARACTERS
from tocsin.errors import Conflict
from tocsin.model.entity import Document
from tocsin.model.message import Message
from tocsin.model.notification import ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.observations.reads import ObservationReads
from tocsin.store.database.schema import migrate
from tocsin.store.outbox.failing_rows import FailedRowSamples, ResultPlace
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

PII_TAG = "PII.Sensitive"
_SAMPLE: Document = {"columns": ["id", "email"], "rows": [[7, "ann@example.org"], [8, None]]}
WITHHELD = FailingRows(are_withheld=True)
_YEAR_MS = 365 * 86_400_000
_BEFORE_EXCERPTS = "0055_wholes_of_notifications"


def samples_of(engine: Engine, tags: Collection[str] = (PII_TAG,)) -> FailedRowSamples:
    """Return the failed rows of a store, asked anew each time: so much time passes."""
    return FailedRowSamples(engine, tags, PermissionCache(SqlSubjects(engine)), steady=map(float, count()).__next__)


def failing_company(engine: Engine) -> SmallCompany:
    """Return a company whose owner ana and follower cem hear by mail that a test of ``orders`` failed with rows."""
    company = SmallCompany(engine)
    company.put("classification", {"name": "PII", "description": ""})
    company.put("tag", {"name": "Sensitive", "classification": "PII", "description": ""})
    for name in ("ana", "cem"):
        permit(company, name)
    company.test_case("orders")
    tell = [{"category": "Owners", "type": "Email"}, {"category": "Followers", "type": "Email"}]
    company.clock.advance(1_000)
    company.alert("failed", tell, "testStatus == 'Failed'", poll_interval_s=0)
    notify_all(engine)
    fail(company)
    return company


def permit(company: SmallCompany, name: str, *rules: Document) -> None:
    """Let a person view everything but what these rules deny."""
    see = {"name": "See", "effect": "allow", "operations": ["ViewAll"], "resources": ["all"]}
    company.put("policy", {"name": f"Of{name}", "rules": [see, *rules]})
    policies = [{"type": "policy", "id": company.ids[f"Of{name}"]}]
    role = company.put("role", {"name": f"RoleOf{name}", "policies": policies})
    roles = [{"type": "role", "id": role["id"]}]
    company.put("user", {"name": name, "email": f"{name}@example.com", "roles": roles})


def fail(company: SmallCompany, sample: Document = _SAMPLE, name: str = "has_rows") -> None:
    """Report a failure of a test, then the rows that failed."""
    company.clock.advance(60_000)
    company.result("orders", "Failed", name)
    send_rows(company, SentRows(sample, validates=False), name)


def send_rows(company: SmallCompany, sent: SentRows, name: str = "has_rows") -> None:
    """Put rows that failed a test."""
    work = partial(put_failed_rows, sent=sent, masked_tags={PII_TAG})
    company.writes.on_entity("testCase", company.key(name), work, actor=SYSTEM)


def all_mails(engine: Engine) -> list[Dispatch]:
    """Return the messages that are due, in the order of the log."""
    notify_all(engine)
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(engine)
    dispatches = messages.dispatches(messages.claim("worker", 64, now_ms=10**15))
    return sorted(dispatches, key=lambda one: one.first.log_offset)


def mails_of(engine: Engine) -> dict[str, Dispatch]:
    """Return the newest message that is due, by the name of its recipient."""
    return {one.message.target.partition("@")[0]: one for one in all_mails(engine)}


def test_owners_see_the_values_and_followers_those_of_columns_that_are_not_masked(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails, samples = mails_of(store_engine), samples_of(store_engine)
    whole_sample = FailingRows(("id", "email"), (("7", "ann@example.org"), ("8", "null")), 2, 2)
    assert samples.of(mails["ana"]) == samples.of(mails["cem"]) == whole_sample
    columns: list[Document] = [
        {"name": "id", "dataType": "INT"},
        {"name": "email", "dataType": "VARCHAR", "dataLength": 80, "tags": [{"tagFQN": PII_TAG}]},
    ]
    company.table("orders", columns=columns)
    masked_sample = whole_sample._replace(cells=(("7", MASK), ("8", MASK)))
    assert (samples.of(mails["ana"]), samples.of(mails["cem"])) == (whole_sample, masked_sample)
    columns[1]["name"] = "mail"
    company.table("orders", columns=columns)
    assert samples.of(mails["cem"]) == masked_sample, "what a renamed column held stays masked"


def test_rows_of_another_result_are_not_shown(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mail, samples = mails_of(store_engine)["cem"], samples_of(store_engine)
    assert samples.of(mail) is not None
    fail(company)
    newer_mail = mails_of(store_engine)["cem"]
    assert samples.of(mail) is None, "a newer result has rows of its own"
    assert samples.of(newer_mail) is not None
    company.result("orders", "Success")
    assert samples.of(newer_mail) is None


def test_who_may_not_see_samples_reads_that_they_are_kept(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails, samples = mails_of(store_engine), samples_of(store_engine)
    rule = {"name": "Hide", "effect": "deny", "operations": ["ViewSampleData"], "resources": ["testCase"]}
    permit(company, "cem", rule)
    assert samples.of(mails["cem"]) == WITHHELD
    assert samples.of(mails["ana"]) not in (None, WITHHELD)


@pytest.mark.parametrize("change", ["channel", "own address", "named address", "gone"])
def test_rows_stand_only_in_mails_to_one_person(store_engine: Engine, change: str) -> None:
    failing_company(store_engine)
    mail = mails_of(store_engine)["cem"]
    (reason,) = mail.first.reasons
    named_entry = replace(mail.first, reasons=(reason, reason.model_copy(update={"kind": ReasonKind.EXTERNAL})))
    changed_mails = {
        "channel": replace(mail, message=replace(mail.message, channel="Slack")),
        "own address": replace(mail, reaches_recipient=False),
        "named address": replace(mail, entries=(named_entry,)),
        "gone": replace(mail, entries=(replace(mail.first, recipient_gone=True),)),
    }
    samples = samples_of(store_engine)
    assert samples.of(mail) is not None
    assert samples.of(changed_mails[change]) is None


def test_a_mail_shows_few_short_rows_and_no_markup(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails_of(store_engine)
    row: list[object] = ["<b>x</b>\n" + "y" * 500, "", True, 1, {"a": 1}, "left out"]
    fail(company, {"columns": ["<i>id</i>", "b", "c", "d", "e", "f"], "rows": [row] * 9})
    mail = mails_of(store_engine)["cem"]
    texts = render_texts(
        replace(mail, failure=FailureContext(failing_rows=samples_of(store_engine, ()).of(mail))), "http://tocsin"
    )
    assert "<b>x" not in texts["html"]
    assert "<i>" not in texts["html"]
    assert "&lt;b&gt;x&lt;/b&gt; yy" in texts["html"]
    assert texts["text"].count("ailing row") == 3
    assert "left out" not in texts["text"]
    assert "the first of 9 rows of 6 columns that are kept" in texts["text"]
    withheld = render_texts(replace(mail, failure=FailureContext(failing_rows=WITHHELD)), "http://tocsin")
    assert "failing rows are kept; you may not see them" in withheld["text"]


def test_rows_that_are_deleted_are_shown_no_more(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mail, samples = mails_of(store_engine)["cem"], samples_of(store_engine)
    assert samples.of(mail) is not None
    company.writes.on_entity("testCase", company.key("has_rows"), forget_failed_rows, actor=SYSTEM)
    assert samples.of(mail) is None
    assert attachment_of(company, EXCERPT) is None


def test_what_the_mails_of_a_claim_may_show_is_read_together_and_no_sample_is(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    for number in range(6):
        permit(company, f"reader{number}")
        follower = company.actor(f"reader{number}")
        company.writes.follow("table", company.ids["orders"], follower.id, actor=follower)
    company.test_case("orders", "other_rows")
    notify_all(store_engine)
    megabytes: Document = {"columns": ["id", "email"], "rows": [[at, "x" * 1_000] for at in range(10_000)]}
    for name in ("has_rows", "other_rows"):
        fail(company, megabytes, name)
    mails = all_mails(store_engine)
    assert len(mails) == 2 + 2 * 8, "to ana and cem of the first failure, to them and six more of both others"
    now_s = [0.0]
    cache = PermissionCache(SqlSubjects(store_engine))
    samples = FailedRowSamples(store_engine, {PII_TAG}, cache, steady=lambda: now_s[0])
    samples.look_ahead(mails)  # policies and people are known
    counts = []
    for asked_mails in (mails[-2:], mails):
        now_s[0] += 1
        with counting(store_engine) as statements:
            samples.look_ahead(asked_mails)
            rows_of_mails = [samples.of(mail) for mail in asked_mails]
        assert all(rows_of_mails[-2:])
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 10
    assert (
        len(str(attachment_of(company, EXCERPT)))
        < MOST_EXCERPT_CHARACTERS
        < len(str(attachment_of(company, FAILED_ROWS)))
    )


def test_after_a_second_all_readers_of_a_test_are_asked_about_together(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mails, now_s = mails_of(store_engine), [0.0]
    cache = PermissionCache(SqlSubjects(store_engine))
    samples = FailedRowSamples(store_engine, {PII_TAG}, cache, steady=lambda: now_s[0])
    samples.look_ahead(mails.values())
    rule = {"name": "Hide", "effect": "deny", "operations": ["ViewSampleData"], "resources": ["testCase"]}
    permit(company, "cem", rule)
    now_s[0] = 1.0
    assert samples.of(mails["ana"]) not in (None, WITHHELD)
    with counting(store_engine) as statements:
        assert samples.of(mails["cem"]) == WITHHELD, "rights were withdrawn between claim and send"
    assert not statements


def test_a_worker_has_room_for_the_rows_that_its_mails_may_show(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    company.alert("described", [{"category": "Followers", "type": "Email"}], "fieldChanged == 'description'")
    notify_all(store_engine)
    company.describe("orders", "All orders")
    notify_all(store_engine)
    Sessions(store_engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages, sizes = Messages(store_engine), dict[str, int]()

    def fits(message: Message, size: int) -> bool:
        sizes[message.id] = size
        return True

    dispatches = messages.dispatches(messages.claim("worker", 64, now_ms=10**15), fits=fits)
    assert {one.message.id: one.event_bytes for one in dispatches} == sizes
    size_by_type = {one.event.entity_type: one.event_bytes for one in dispatches}
    assert size_by_type["table"] < MOST_EXCERPT_CHARACTERS < size_by_type["testCase"]


def test_rows_from_before_the_upgrade_are_shown(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    mail, excerpt = mails_of(store_engine)["cem"], attachment_of(company, EXCERPT)
    rows_before = samples_of(store_engine).of(mail)
    with store_engine.begin() as connection:
        connection.execute(text("DELETE FROM attachment WHERE kind = :kind"), {"kind": EXCERPT})
        drop_columns_after_0056(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = :one"), {"one": _BEFORE_EXCERPTS})
    assert samples_of(store_engine).of(mail) is None
    migrate(store_engine)
    assert attachment_of(company, EXCERPT) == excerpt
    assert samples_of(store_engine).of(mail) == rows_before is not None


@pytest.mark.parametrize("with_time", [True, False])
def test_rows_of_an_older_failure_are_not_those_of_a_newer_one(store_engine: Engine, *, with_time: bool) -> None:
    company = failing_company(store_engine)
    company.result("orders", "Failed")
    late_rows = SentRows(_SAMPLE, company.clock.now_ms() if with_time else None)
    company.clock.advance(60_000)
    company.result("orders", "Failed")
    mail = mails_of(store_engine)["cem"]
    if not with_time:
        send_rows(company, late_rows)
        assert samples_of(store_engine).of(mail) is not None, "without a time they belong to the newest result"
        return
    with pytest.raises(Conflict, match=r"has a newer one, of \d+; send the rows of that one"):
        send_rows(company, late_rows)
    assert samples_of(store_engine).of(mail) is None


def test_rows_may_come_before_their_result(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    company.clock.advance(60_000)
    send_rows(company, SentRows(_SAMPLE, company.clock.now_ms() + 1_000))
    older_mail = mails_of(store_engine)["cem"]
    assert samples_of(store_engine).of(older_mail) is None
    company.result("orders", "Failed")
    mail = mails_of(store_engine)["cem"]
    assert samples_of(store_engine).of(mail) is not None
    company.result("orders", "Success")
    assert attachment_of(company, EXCERPT) is None


def test_an_older_success_leaves_the_rows_of_a_failure_that_is_reported_later(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    failed_at_ms = company.clock.now_ms() + 60_000
    send_rows(company, SentRows(_SAMPLE, failed_at_ms, validates=False))
    company.clock.advance(54_000)
    company.result("orders", "Success")
    company.clock.advance(4_000)
    company.result("orders", "Failed")
    assert samples_of(store_engine).of(mails_of(store_engine)["cem"]) is not None
    company.result("orders", "Success")
    assert attachment_of(company, FAILED_ROWS) is attachment_of(company, EXCERPT) is None


def test_a_success_drops_rows_of_a_result_that_is_dated_ahead(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    send_rows(company, SentRows(_SAMPLE, company.clock.now_ms() + _YEAR_MS, validates=False))
    company.result("orders", "Success")
    assert attachment_of(company, FAILED_ROWS) is attachment_of(company, EXCERPT) is None


def test_a_result_dated_ahead_refuses_no_rows(store_engine: Engine) -> None:
    company = SmallCompany(store_engine)
    company.test_case("orders")
    ahead = {"timestamp": company.clock.now_ms() + _YEAR_MS, "testCaseStatus": "Failed"}
    company.writes.add_test_result("pg.store.public.orders.has_rows", ahead, actor=SYSTEM)
    send_rows(company, SentRows(_SAMPLE, company.clock.now_ms() + 1_000, validates=False))
    company.result("orders", "Failed")
    excerpt = attachment_of(company, EXCERPT)
    assert excerpt is not None
    assert excerpt["resultTimestamp"] == company.clock.now_ms()


def attachment_of(company: SmallCompany, kind: str) -> Document | None:
    """Return what of this kind is attached to the test."""
    case_id = company.ids["has_rows"]
    return ObservationReads(company.engine).attachments([case_id], kind).get(case_id)


def test_an_inbox_shows_the_rows_of_the_result_that_it_tells_of(store_engine: Engine) -> None:
    company = failing_company(store_engine)
    newest = ResultPlace(company.ids["has_rows"], company.clock.now_ms())
    results = (newest, newest._replace(at_ms=1), newest._replace(case_id=company.ids["orders"]))
    samples = samples_of(store_engine)
    assert [len(samples.visible_to(company.ids["ana"], places)) for places in (results, results[1:], ())] == [1, 0, 0]
    assert samples.visible_to(company.ids["ana"], results) == {
        newest: FailingRows(("id", "email"), (("7", "ann@example.org"), ("8", "null")), 2, 2)
    }
    rule = {"name": "Hide", "effect": "deny", "operations": ["ViewSampleData"], "resources": ["testCase"]}
    permit(company, "ana", rule)
    assert samples.visible_to(company.ids["ana"], results) == {newest: FailingRows(are_withheld=True)}
    company.writes.delete("testCase", company.key("has_rows"), actor=SYSTEM)
    assert samples.visible_to(company.ids["ana"], results) == {}
